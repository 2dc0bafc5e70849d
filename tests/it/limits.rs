//! The limits of the system on a process: an answer is whole, or there is none and the exit code says so. It never hangs.

use crate::cli_program::{PROGRAM, Run, fresh, small};
use std::process::Command;

crate::tests! {
    [] => {
        with_little_address_space_there_is_a_whole_answer_or_an_error,
    }
}

fn with_little_address_space_there_is_a_whole_answer_or_an_error() {
    let (dir, small) = (fresh(), small());
    let out = dir.path().join("out.csv");
    let ask = |limit: &str| {
        let _ = std::fs::remove_file(&out);
        let script = format!(
            "ulimit -v {limit}; exec timeout 120 \"$0\" sql --lake \"$1\" --threads 2 --format csv -o out.csv \
             -c 'select job_id, count(*) from darshan_file group by job_id order by job_id'"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, PROGRAM, small.lake()]);
        shell.current_dir(dir.path()).env_remove("RUST_BACKTRACE");
        Run::of(&mut shell)
    };
    assert_eq!(ask("unlimited").code, Some(0));
    let whole = std::fs::read_to_string(&out).unwrap();
    assert!(whole.lines().count() > 10, "{whole}");

    let mut failed = 0;
    for limit in (600..3000).step_by(100) {
        let run = ask(&(limit * 1000).to_string());
        if run.code == Some(0) {
            assert_eq!(std::fs::read_to_string(&out).unwrap(), whole, "{run:?}");
            continue;
        }
        failed += 1;
        assert!(!out.exists(), "{limit} MB: {run:?}");
        // Where there is no memory at all the process is ended by SIGABRT, as Rust does.
        assert!(matches!(run.code, Some(2 | 134)), "{limit} MB: {run:?}");
        assert!(!run.stderr.is_empty(), "{limit} MB: {run:?}");
        if run.code == Some(2) {
            let ours = run.stderr.lines().all(|line| line.starts_with("iolode: "));
            assert!(ours, "{limit} MB: {run:?}");
        }
    }
    assert!(failed > 0, "no limit was low enough");
}
