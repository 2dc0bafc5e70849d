//! A hundredth of the month of a machine, made straight into a lake by the program.

use crate::cli_program::{fresh, iolode};
use serde_json::Value;

crate::tests! {
    [] => {
        a_hundredth_of_a_machines_month_is_a_sound_lake_with_what_was_planted,
    }
}

fn a_hundredth_of_a_machines_month_is_a_sound_lake_with_what_was_planted() {
    let dir = fresh();
    let run = |args: &[&str]| iolode(dir.path(), args);
    let made = ["synth", "--scale", "0.01", "--lake", "lake", "--seed", "7"];
    run(&made).ok();
    run(&["lake", "check", "lake"]).ok();
    let ask = |sql: &str| {
        let rows = run(&["sql", "--lake", "lake", "--format", "csv", "-c", sql]).ok();
        let row = rows.lines().nth(1).unwrap().to_string();
        row.split(',')
            .map(|cell| cell.parse().unwrap())
            .collect::<Vec<f64>>()
    };
    let logs = ask("select count(*) from darshan_log")[0];
    let slurm = ask("select count(distinct job_id) from slurm_job")[0];
    assert!((logs - 10_000.0).abs() < 300.0, "{logs} logs");
    assert!((9_000.0..13_000.0).contains(&slurm), "{slurm} jobs");
    // A day of samples every 5 s of 248 OSTs, but for the samples that are planted to be missing, on two days of UTC.
    let lmt = ask("select count(*), count(distinct ost) from lmt_ost where fs = 'scratch'");
    assert!((4_270_000.0..4_286_000.0).contains(&lmt[0]), "{lmt:?}");
    assert_eq!(lmt[1], 248.0);

    let truth = std::fs::read_to_string(dir.path().join("lake.truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    assert_eq!(truth["counts"]["damaged"], 7);
    let damaged = ask("select count(*) from lake_input where status = 'damaged'")[0];
    assert_eq!(damaged, 7.0);
    // What was planted in faults is there under the ids of their jobs.
    for fault in truth["faults"].as_array().unwrap() {
        if fault["kind"] == "slow_ost" {
            continue;
        }
        let ids: Vec<String> = (fault["job_ids"].as_array().unwrap().iter())
            .map(Value::to_string)
            .collect();
        let listed = ids.join(", ");
        let found =
            format!("select count(distinct job_id) from darshan_log where job_id in ({listed})");
        assert_eq!(ask(&found)[0], ids.len() as f64, "{}", fault["kind"]);
    }
    // What the servers saw is what the logs moved, and what others did on top.
    let both = ask(
        "select corr(logged, seen), sum(seen) / sum(logged) from
           (select ost_list[1] as ost, sum(bytes_written) as logged from darshan_file
            where fs = 'scratch' and ost_count = 1
              and write_start_time >= (select min(time) from lmt_ost) and write_end_time < (select max(time) from lmt_ost)
            group by 1) files
           join (select ost, sum(bytes_written) as seen from lmt_ost where fs = 'scratch' group by 1) servers on files.ost = servers.ost",
    );
    assert!(both[0] > 0.5, "correlation {}", both[0]);
    assert!(
        both[1] > 0.95,
        "the servers saw {} times what was logged",
        both[1]
    );

    let again = run(&made);
    assert_eq!(again.code, Some(2));
    assert_eq!(
        again.stderr.lines().last(),
        Some("iolode: lake: the directory is not empty; give one that is new")
    );
    for (wrong, why) in [
        (&["--scale", "0.1"][..], "--out"),
        (&["--lake", "other"][..], "--jobs"),
        (&["--scale", "0", "--lake", "other"][..], "above 0"),
        (
            &["--jobs", "3", "--days", "1", "--lake", "other"][..],
            "--scale",
        ),
        (
            &["--jobs", "3", "--out", "a", "--lake", "b"][..],
            "cannot be used with",
        ),
    ] {
        let refused = run(&[&["synth"], wrong].concat());
        assert_eq!(refused.code, Some(2), "{wrong:?}");
        assert!(
            refused.stderr.contains(why),
            "{wrong:?}: {}",
            refused.stderr
        );
    }
}
