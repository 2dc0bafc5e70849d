//! The limits of the system on a process: an answer is whole, or there is none and the exit code says so. It never hangs.

use crate::cli_program::{PROGRAM, Run, fresh, small};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

crate::tests! {
    [] => {
        with_little_address_space_there_is_a_whole_answer_or_an_error,
        a_file_that_may_not_grow_is_an_error_with_its_name,
        a_log_that_inflates_to_a_gibibyte_is_one_damaged_input,
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
    for limit in (600..3000).step_by(25) {
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

/// What a shell runs under a limit, the program as `$0`.
fn limited(dir: &Path, limit: &str, command: &str) -> Run {
    let mut shell = Command::new("sh");
    let script = format!("ulimit {limit}; exec \"$0\" {command}");
    shell.args(["-c", &script, PROGRAM]).current_dir(dir);
    Run::of(&mut shell)
}

fn a_file_that_may_not_grow_is_an_error_with_its_name() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.display();
    // Blocks of 512 bytes: the lake's lists fit, its data does not.
    let ingest = format!("ingest --lake lake --create --darshan {logs}");
    let run = limited(dir.path(), "-f 16", &ingest);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("file too large"), "{run:?}");
    let query = format!(
        "sql --lake {} --format csv -o out.csv -c 'select * from darshan_posix'",
        small.lake()
    );
    let run = limited(dir.path(), "-f 1", &query);
    assert_eq!(run.code, Some(2), "{run:?}");
    let told = run.stderr.contains("out.csv") && run.stderr.contains("file too large");
    assert!(told, "{run:?}");
    assert!(!dir.path().join("out.csv").exists());

    let count = "sql --lake lake --format csv -c 'select count(*) from darshan_log'";
    // One of the logs is broken.
    assert_eq!(limited(dir.path(), "-c 0", &ingest).code, Some(1));
    let whole = limited(dir.path(), "-c 0", count).stdout;
    let count = format!(
        "sql --lake {} --format csv -c 'select count(*) from darshan_log'",
        small.lake()
    );
    let wanted = limited(dir.path(), "-c 0", &count);
    assert_eq!(whole, wanted.stdout);
}

/// A log of 3.41 whose POSIX records are a gibibyte of zeros: its map of regions is the third of those in the header, two numbers each, at byte 32.
fn a_log_that_inflates_to_a_gibibyte_is_one_damaged_input() {
    let (dir, small) = (fresh(), small());
    let logs = dir.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    let mut given = walkdir::WalkDir::new(&small.logs).into_iter().flatten();
    let mut given = given.by_ref().filter(|entry| {
        entry.path().extension().is_some_and(|end| end == "darshan")
            && std::fs::read(entry.path()).unwrap().starts_with(b"3.41\0")
    });
    let (first, second) = (given.next().unwrap(), given.next().unwrap());
    std::fs::copy(first.path(), logs.join(first.file_name())).unwrap();
    let mut bytes = std::fs::read(second.path()).unwrap();
    let at = bytes.len() as u64;
    let mut region = ZlibEncoder::new(vec![], Compression::fast());
    std::io::copy(&mut std::io::repeat(0).take(1 << 30), &mut region).unwrap();
    let region = region.finish().unwrap();
    let map = [at.to_le_bytes(), (region.len() as u64).to_le_bytes()].concat();
    bytes[32 + 2 * 16..32 + 3 * 16].copy_from_slice(&map);
    bytes.write_all(&region).unwrap();
    std::fs::write(logs.join(second.file_name()), bytes).unwrap();

    let ingest = "ingest --lake lake --create --darshan logs";
    let run = limited(dir.path(), "-v 4000000", ingest);
    assert_eq!(run.code, Some(0), "{run:?}");
    let ask = "sql --lake lake --format csv -c \"select status, count(*) as n, max(error) as why from lake_input group by status order by status\"";
    let inputs = limited(dir.path(), "-v 4000000", ask).ok();
    let lines: Vec<&str> = inputs.lines().collect();
    let [_, damaged, "ok,1,"] = lines[..] else {
        panic!("{inputs}");
    };
    assert!(damaged.starts_with("damaged,1,"), "{inputs}");
    assert!(damaged.contains("POSIX"), "{inputs}");
}
