//! Root causes: on real logs, against verdicts that were written by hand before; and on planted months.

use crate::cli_program::{PROGRAM, iolode};
use crate::support::{any_python, lake_of, run_python, shared_data};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

crate::tests! {
    [Data] => {
        real_logs_have_the_causes_and_critical_files_that_were_expected_of_them,
    }
    [Python] => {
        planted_causes_are_found_and_decoys_are_not,
    }
}

/// `tests/oracles/duckdb/named_queries/verdicts.toml`.
#[derive(Deserialize)]
struct Verdicts {
    log: Vec<Verdict>,
    job_44: Job44,
}

/// What a log shows in one direction.
#[derive(Deserialize)]
struct Verdict {
    /// Below the data.
    path: String,
    direction: String,
    /// The file with most time of its own, by windows; None without I/O.
    critical: Option<String>,
    share: Option<f64>,
    /// What holds by windows and by busy times.
    causes: BTreeSet<String>,
    /// What holds by one of them.
    #[serde(default)]
    window_only: BTreeSet<String>,
    #[serde(default)]
    busy_only: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Job44 {
    bytes_read: i64,
    bytes_written: i64,
    io_seconds: f64,
}

fn ask(root: &Path, sql: &str) -> Vec<Value> {
    let arguments = ["sql", "--lake", "lake", "--format", "json", "-c", sql];
    serde_json::from_str(&iolode(root, &arguments).ok()).unwrap()
}

fn real_logs_have_the_causes_and_critical_files_that_were_expected_of_them() {
    let data = shared_data();
    let verdicts = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracles/duckdb/named_queries/verdicts.toml");
    let verdicts: Verdicts = toml::from_str(&std::fs::read_to_string(verdicts).unwrap()).unwrap();
    let logs: BTreeSet<&str> = verdicts.log.iter().map(|log| log.path.as_str()).collect();
    assert!(logs.len() >= 15, "{}", logs.len());
    let root = tempfile::tempdir().unwrap();
    lake_of(
        &root.path().join("lake"),
        &[data.join("darshan"), data.join("linked")],
        false,
    );
    let named = ask(
        root.path(),
        "select l.log_path, c.direction, c.cause, c.share, c.share_busy from root_causes(both => false) c join darshan_log l on l.job_id = c.job_id and l.log_id = c.log_id",
    );
    let critical = |direction: &str| {
        ask(
            root.path(),
            &format!(
                "select l.log_path, '{direction}' as direction, p.critical_files[1]['path'] as path, p.critical_files[1]['share'] as share \
                 from perf_factors(direction => '{direction}') p join darshan_log l on l.job_id = p.job_id and l.log_id = p.log_id"
            ),
        )
    };
    let critical = [critical("read"), critical("write")].concat();
    for verdict in &verdicts.log {
        let of = |row: &&Value| {
            row["log_path"]
                .as_str()
                .unwrap()
                .ends_with(&format!("/{}", verdict.path))
                && row["direction"] == verdict.direction.as_str()
        };
        let what = format!("{} {}", verdict.path, verdict.direction);
        let causes = |window: bool, busy: bool| -> BTreeSet<String> {
            let rows = named.iter().filter(of);
            let rows = rows.filter(|row| {
                row["share"].is_null() != window && row["share_busy"].is_null() != busy
            });
            rows.map(|row| row["cause"].as_str().unwrap().to_string())
                .collect()
        };
        assert_eq!(causes(true, true), verdict.causes, "{what}");
        assert_eq!(causes(true, false), verdict.window_only, "{what}");
        assert_eq!(causes(false, true), verdict.busy_only, "{what}");
        let first = critical.iter().find(of);
        assert_eq!(
            first.and_then(|row| row["path"].as_str()),
            verdict.critical.as_deref(),
            "{what}"
        );
        if let (Some(row), Some(share)) = (first, verdict.share) {
            let found = row["share"].as_f64().unwrap();
            assert!(
                (found - share).abs() <= 0.006,
                "{what}: {found}, expected {share}"
            );
        }
    }
    // Five programs one after another: their bytes add up, their times on the clock.
    let job = &ask(
        root.path(),
        "select count(*) as logs, sum(l.bytes_read - l.bytes_read_streams) as bytes_read, sum(l.bytes_written - l.bytes_written_streams) as bytes_written \
         from darshan_log l where l.job_id = 44",
    )[0];
    assert_eq!(
        (&job["logs"], &job["bytes_read"], &job["bytes_written"]),
        (
            &5.into(),
            &verdicts.job_44.bytes_read.into(),
            &verdicts.job_44.bytes_written.into()
        )
    );
    let union = &ask(
        root.path(),
        "select io_time(a, b) as seconds from (select read_start_time as a, read_end_time as b from darshan_file where job_id = 44 and not is_stream and bytes_read > 0 \
         union all select write_start_time, write_end_time from darshan_file where job_id = 44 and not is_stream and bytes_written > 0)",
    )[0];
    // Windows on the clock are whole microseconds.
    assert!(
        (union["seconds"].as_f64().unwrap() - verdicts.job_44.io_seconds).abs() < 1e-5,
        "{union}"
    );
}

fn planted_causes_are_found_and_decoys_are_not() {
    let python = any_python();
    let arguments = ["--iolode", PROGRAM, "--jobs", "400", "--seeds", "1", "2"];
    run_python(
        &python,
        "../../scripts/confusion.py",
        &arguments.map(Path::new),
    );
}
