//! Darshan, Slurm and LMT in one lake, joined.

use crate::cli_program::{Run, iolode, program};
use crate::support::shared_data;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

crate::tests! {
    [] => {
        what_an_ost_saw_is_the_sum_of_its_parts_in_every_interval_of_a_month,
        planted_neighbours_are_found_with_about_the_bytes_that_were_planted,
        the_job_that_a_neighbour_slowed_down_is_told_so,
        the_findings_of_the_paper_stand_on_the_pages_of_planted_jobs,
        states_requeues_and_logs_outside_slurm_are_those_that_were_planted,
        a_live_sacct_is_run_for_the_period_and_its_failure_is_told,
        a_question_without_its_parameters_says_which,
    }
    [Data] => {
        fifteen_of_sixteen_linked_logs_find_the_record_that_they_ran_in,
        five_minutes_of_lmt_are_the_same_rows_from_every_form,
        of_an_ltop_recording_the_stale_file_system_is_left_out_and_named,
    }
}

/// The rows of an answer, as JSON.
fn ask(dir: &Path, lake: &str, sql: &str) -> Vec<Value> {
    let answer = iolode(dir, &["sql", "--lake", lake, "--format", "json", "-c", sql]).ok();
    serde_json::from_str(&answer).expect("JSON")
}

fn text<'v>(row: &'v Value, name: &str) -> &'v str {
    row[name].as_str().unwrap_or("NULL")
}

fn number(row: &Value, name: &str) -> f64 {
    match &row[name] {
        Value::String(text) => text.parse().expect("a number"),
        value => value.as_f64().unwrap_or(f64::NAN),
    }
}

fn fifteen_of_sixteen_linked_logs_find_the_record_that_they_ran_in() {
    let data = shared_data();
    let dir = tempfile::tempdir().unwrap();
    let linked = data.join("linked");
    let logs = linked.join("darshan_logs");
    for (lake, dump) in [("text", "sacct_P_recommended.psv"), ("json", "sacct.json")] {
        let dump = linked.join(dump);
        let args = [
            "ingest",
            "--lake",
            lake,
            "--create",
            "--darshan",
            logs.to_str().unwrap(),
            "--slurm",
            dump.to_str().unwrap(),
        ];
        iolode(dir.path(), &args).ok();
        let rows = ask(
            dir.path(),
            lake,
            "select job_id, match, job_id_text, state, node_count, uid from job order by job_id, start_time",
        );
        // By the README of the logs: job 44 wrote 5, array 45_[0-3] has the raw ids 58, 59, 60, 45, both components of 46 log as 46,
        // job 48 failed, 2351 is a process id.
        let shown: BTreeMap<i64, &str> = [
            (44, "44"),
            (45, "45_3"),
            (46, "46+0"),
            (48, "48"),
            (58, "45_0"),
            (59, "45_1"),
            (60, "45_2"),
        ]
        .into();
        assert_eq!(rows.len(), 16);
        for row in &rows {
            let id = number(row, "job_id") as i64;
            let Some(shown) = shown.get(&id) else {
                assert_eq!(
                    (id, text(row, "match"), &row["node_count"]),
                    (2351, "none", &Value::Null),
                    "{lake}: {row}"
                );
                continue;
            };
            assert_eq!(text(row, "job_id_text"), *shown, "{lake}: {row}");
            assert_eq!(
                text(row, "state"),
                if id == 48 { "FAILED" } else { "COMPLETED" },
                "{lake}: {row}"
            );
            match id {
                46 => assert_eq!(text(row, "match"), "leader", "{lake}: {row}"),
                _ => assert!(
                    ["step", "job"].contains(&text(row, "match")),
                    "{lake}: {row}"
                ),
            }
            // Every task of the array ran on one node.
            if [45, 58, 59, 60].contains(&id) {
                assert_eq!(
                    (number(row, "node_count"), text(row, "match")),
                    (1.0, "step"),
                    "{lake}: {row}"
                );
            }
        }
    }
}

fn five_minutes_of_lmt_are_the_same_rows_from_every_form() {
    let data = shared_data();
    let dir = tempfile::tempdir().unwrap();
    let mut seen: Option<Vec<Value>> = None;
    for form in [
        "snx11025_2018-01-28.sqlite3",
        "filesystem_snx11025.mysqldump.sql",
        "snx11025_2018-01-28.h5lmt",
        "snx11025_2018-01-28.hdf5",
    ] {
        let path = data.join("lmt").join(form);
        let args = [
            "ingest",
            "--lake",
            form,
            "--create",
            "--timezone",
            "America/Los_Angeles",
            "--lmt",
            path.to_str().unwrap(),
        ];
        iolode(dir.path(), &args).ok();
        let rows = ask(
            dir.path(),
            form,
            "select fs, ost, start_time, time, interval_s, bytes_read, bytes_written from lmt_ost where interval_s is not null order by ost, time",
        );
        assert_eq!(rows.len(), 1440, "{form}");
        let totals = &ask(
            dir.path(),
            form,
            "select sum(bytes_read) as r, sum(bytes_written) as w from lmt_ost",
        )[0];
        assert_eq!(
            (number(totals, "r"), number(totals, "w")),
            (6_347_173_888.0, 119_037_925_429.0),
            "{form}"
        );
        let minutes = ask(
            dir.path(),
            form,
            "select sum(bytes_read) as r, sum(bytes_written) as w from lmt_ost where interval_s is not null group by date_bin(interval '1 minute', start_time) order by date_bin(interval '1 minute', start_time)",
        );
        let expected = [
            (1_308_172_288.0, 24_265_460_328.0),
            (1_182_109_696.0, 22_945_162_677.0),
            (1_348_096_000.0, 29_308_755_940.0),
            (1_295_183_872.0, 15_686_643_886.0),
            (1_213_612_032.0, 26_831_902_598.0),
        ];
        let found: Vec<(f64, f64)> = minutes
            .iter()
            .map(|row| (number(row, "r"), number(row, "w")))
            .collect();
        assert_eq!(found, expected, "{form}");
        let known = seen.get_or_insert_with(|| rows.clone());
        assert!(*known == rows, "{form}: other rows");
    }
}

fn of_an_ltop_recording_the_stale_file_system_is_left_out_and_named() {
    let data = shared_data();
    let dir = tempfile::tempdir().unwrap();
    let recording = data.join("lmt/tycho-newrecov.log");
    let run = iolode(
        dir.path(),
        &[
            "ingest",
            "--lake",
            "l",
            "--create",
            "--lmt",
            recording.to_str().unwrap(),
        ],
    );
    assert!(run.stderr.contains("file system lc2 left out"), "{run:?}");
    run.ok();
    // LMT's own insert code made 4,800 rows of 96 OSTs of it.
    let row = &ask(
        dir.path(),
        "l",
        "select count(*) as n, count(distinct ost) as osts, min(fs) as a, max(fs) as b from lmt_ost",
    )[0];
    assert_eq!(
        (
            number(row, "n"),
            number(row, "osts"),
            text(row, "a"),
            text(row, "b")
        ),
        (4800.0, 96.0, "lc1", "lc1")
    );
}

/// A synthetic month with all three, and a lake of it.
fn month() -> &'static Path {
    static MONTH: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MONTH.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_path_buf();
        iolode(
            &path,
            &["synth", "--jobs", "1000", "--out", "month", "--seed", "5"],
        )
        .ok();
        iolode(
            &path,
            &["lake", "create", "lake", "--site", "month/site.toml"],
        )
        .ok();
        let run = iolode(
            &path,
            &[
                "ingest",
                "--lake",
                "lake",
                "--darshan",
                "month",
                "--slurm",
                "month/slurm",
                "--lmt",
                "month/lmt",
            ],
        );
        // Some months have logs that cannot be read.
        assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
        (dir, path)
    });
    path
}

fn truth() -> Value {
    serde_json::from_str(&fs::read_to_string(month().join("month/truth.json")).unwrap()).unwrap()
}

fn what_an_ost_saw_is_the_sum_of_its_parts_in_every_interval_of_a_month() {
    let sums = ask(
        month(),
        "lake",
        "select count(*) as n, count(distinct time) as intervals, max(abs(own_file + same_job + other_known + unexplained - seen)) as worst, min(coverage) as least, max(coverage) as most \
         from file_traffic_on_osts(\"from\" => '2026-09-11', \"to\" => '2026-09-12')",
    );
    assert!(
        number(&sums[0], "n") > 5_000.0 && number(&sums[0], "intervals") > 1000.0,
        "{sums:?}"
    );
    // Bytes of a few GB as floats.
    assert!(number(&sums[0], "worst") < 1e-3, "{sums:?}");
    assert!(
        number(&sums[0], "least") >= 0.0 && number(&sums[0], "most") <= 1.0 + 1e-9,
        "{sums:?}"
    );
}

fn planted_neighbours_are_found_with_about_the_bytes_that_were_planted() {
    let truth = truth();
    let windows = truth["lmt"]["shares"]["windows"].as_array().unwrap();
    assert!(!windows.is_empty());
    for window in windows
        .iter()
        .filter(|window| window["other_bytes"].as_f64().unwrap_or(0.0) > 1e9)
        .take(8)
    {
        let stamp = |name: &str| {
            chrono::DateTime::from_timestamp(window[name].as_i64().unwrap(), 0)
                .unwrap()
                .to_rfc3339()
        };
        let sql = format!(
            "select sum(own_file) as own, sum(same_job) as same, sum(other_known) as other, sum(seen) as seen, min(coverage) as coverage \
             from file_traffic_on_osts(\"from\" => '2026-09-11', \"to\" => '2026-09-12') where job_id = {} and record_id = {} and ost = {} and direction = '{}' \
             and time > '{}' and time <= '{}'",
            window["job_id"],
            window["record_id"].as_str().unwrap(),
            window["ost"],
            window["direction"].as_str().unwrap(),
            stamp("from"),
            stamp("to")
        );
        let row = &ask(month(), "lake", &sql)[0];
        let planted = |name: &str| window[name].as_f64().unwrap();
        // All of the file was moved in its window; what the neighbour moved there it spread over a longer one.
        assert!(
            (number(row, "own") - planted("own_bytes")).abs() <= 0.02 * planted("own_bytes") + 1.0,
            "{window} {row}"
        );
        assert!(
            (number(row, "other") - planted("other_bytes")).abs() <= 0.25 * planted("other_bytes"),
            "{window} {row}"
        );
        assert_eq!(number(row, "coverage"), 1.0, "{window} {row}");
    }
    // Who was there: the loud neighbour comes first.
    for pair in truth["lmt"]["neighbours"].as_array().unwrap() {
        let slow = &ask(
            month(),
            "lake",
            &format!(
                "select min(write_start_time) as a, max(write_end_time) as b from darshan_file where job_id = {} and bytes_written > 0",
                pair["slow_job_id"]
            ),
        )[0];
        let (ost, from, to) = (
            pair["osts"][0].to_string(),
            text(slow, "a").to_string(),
            text(slow, "b").to_string(),
        );
        let args = [
            "query",
            "logs_at_time",
            "--lake",
            "lake",
            "--format",
            "json",
            "--fs",
            "scratch",
            "--ost",
            &ost,
            "--from",
            &from,
            "--to",
            &to,
        ];
        let rows: Vec<Value> = serde_json::from_str(&iolode(month(), &args).ok()).unwrap();
        assert_eq!(
            rows[0]["job_id"].to_string().trim_matches('"'),
            pair["loud_job_id"].to_string(),
            "{pair} {rows:?}"
        );
    }
}

fn the_job_that_a_neighbour_slowed_down_is_told_so() {
    let truth = truth();
    let span = &truth["lmt"];
    assert!(!span["neighbours"].as_array().unwrap().is_empty());
    for pair in truth["lmt"]["neighbours"].as_array().unwrap() {
        let (slow, loud) = (
            pair["slow_job_id"].to_string(),
            pair["loud_job_id"].to_string(),
        );
        let osts = pair["osts"].as_array().unwrap().len();
        // What others moved is most of what these OSTs did, and all of it is known: it was the loud one.
        let sql = format!(
            "select osts, own, other_known, unexplained, others_share, coverage from lmt_interference(\"from\" => '2026-09-11', \"to\" => '2026-09-12', job => {slow})"
        );
        let rows = ask(month(), "lake", &sql);
        assert_eq!(rows.len(), 1, "{rows:?}");
        let row = &rows[0];
        assert_eq!(number(row, "osts"), osts as f64, "{row}");
        assert!(
            number(row, "others_share") > 0.5 && number(row, "coverage") > 0.99,
            "{row}"
        );
        assert!(
            number(row, "unexplained").abs() < 0.02 * number(row, "other_known"),
            "{row}"
        );
        let sql = format!(
            "select neighbour_job_id, osts, neighbour_bytes, share from ost_neighbours(job => {slow})"
        );
        let neighbours = ask(month(), "lake", &sql);
        assert_eq!(
            neighbours[0]["neighbour_job_id"]
                .to_string()
                .trim_matches('"'),
            loud,
            "{neighbours:?}"
        );
        assert_eq!(number(&neighbours[0], "osts"), osts as f64);
        assert!(number(&neighbours[0], "share") > 0.9, "{neighbours:?}");
        // LMT has it in whole intervals, the windows of the files in microseconds.
        let ratio = number(&neighbours[0], "neighbour_bytes") / number(row, "other_known");
        assert!((0.8..1.1).contains(&ratio), "{ratio} {neighbours:?} {row}");
        // And the other way round: what the one moved meanwhile is what the other calls its own bytes meanwhile.
        let mine = &ask(
            month(),
            "lake",
            &format!(
                "select own_bytes from ost_neighbours(job => {slow}) where neighbour_job_id = {loud}"
            ),
        )[0];
        let theirs = &ask(
            month(),
            "lake",
            &format!(
                "select neighbour_bytes from ost_neighbours(job => {loud}) where neighbour_job_id = {slow}"
            ),
        )[0];
        let ratio = number(mine, "own_bytes") / number(theirs, "neighbour_bytes");
        assert!((ratio - 1.0).abs() < 1e-9, "{mine} {theirs}");
        let page = iolode(
            month(),
            &["query", "diagnose", "--lake", "lake", "--job", &slow],
        )
        .ok();
        let causes = page.split("Likely causes").nth(1).unwrap();
        assert!(causes.contains("1. Others used its OSTs"), "{page}");
        assert!(page.contains(&format!("job {loud} (")), "{page}");
    }
}

/// The paper's four findings: each is the words of a numbered cause on the page of a job in which it was planted.
fn the_findings_of_the_paper_stand_on_the_pages_of_planted_jobs() {
    let truth = truth();
    let faults = truth["faults"].as_array().unwrap();
    for (kind, words) in [
        ("one_ost", "each on a single OST that many processes share"),
        ("root_writes_most", "rank 0 moves "),
        ("serial_files", "one after another without overlap"),
        ("one_file", "is the last one in use"),
    ] {
        let fault = faults.iter().find(|fault| fault["kind"] == kind).unwrap();
        let job = fault["job_ids"][0].to_string();
        let page = iolode(
            month(),
            &["query", "diagnose", "--lake", "lake", "--job", &job],
        )
        .ok();
        let causes = page.split("Likely causes").nth(1).unwrap();
        let named = |line: &str| {
            line.trim_start().starts_with(|c: char| c.is_ascii_digit()) && line.contains(words)
        };
        assert!(causes.lines().any(named), "{kind}: {page}");
    }
}

fn states_requeues_and_logs_outside_slurm_are_those_that_were_planted() {
    let truth = truth();
    let slurm = &truth["slurm"];
    let states = ask(
        month(),
        "lake",
        "select state, count(*) as n from slurm_job group by state",
    );
    for row in &states {
        assert_eq!(
            number(row, "n"),
            slurm["states"][text(row, "state")]["records"]
                .as_f64()
                .unwrap(),
            "{row}"
        );
    }
    let count = |sql: &str| number(&ask(month(), "lake", sql)[0], "n");
    assert_eq!(
        count("select count(*) as n from slurm_job"),
        slurm["records"].as_f64().unwrap()
    );
    assert_eq!(
        count("select count(distinct job_id) as n from slurm_job where not last_record"),
        slurm["requeued"].as_array().unwrap().len() as f64
    );
    // Process ids, one of which is also the id of somebody's job.
    let outside: Vec<String> = slurm["logs_outside"]["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    assert!(!outside.is_empty() && !slurm["logs_outside"]["also_a_job"].is_null());
    let unmatched = ask(
        month(),
        "lake",
        "select distinct job_id from job where match = 'none' order by job_id",
    );
    let mut found: Vec<String> = unmatched
        .iter()
        .map(|row| row["job_id"].to_string().trim_matches('"').to_string())
        .collect();
    let mut expected = outside;
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

fn a_live_sacct_is_run_for_the_period_and_its_failure_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let sacct = bin.join("sacct");
    let script = "#!/bin/sh\necho \"$TZ $*\" > \"$HOME/asked\"\n\
                  printf 'JobID\\037JobIDRaw\\037State\\037Submit\\037Start\\037End\\037JobName\\n7\\0377\\037COMPLETED\\0372026-09-01T00:00:00\\0372026-09-01T00:00:01\\0372026-09-01T00:00:09\\037a|b\\n'\n";
    fs::write(&sacct, script).unwrap();
    fs::set_permissions(&sacct, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let ingest = |args: &[&str]| {
        Run::of(
            program(dir.path())
                .env("PATH", &path)
                .args(["ingest", "--lake", "l", "--create", "--slurm", "sacct:"])
                .args(args),
        )
    };
    ingest(&[
        "--from",
        "2026-09-01",
        "--to",
        "2026-09-02",
        "--timezone",
        "Europe/Berlin",
    ])
    .ok();
    let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
    assert!(asked.starts_with("UTC --allusers --duplicates --parsable2 --noconvert --delimiter \x1f --starttime 2026-08-31T22:00:00 "), "{asked}");
    assert!(
        asked.trim_end().ends_with("--endtime 2026-09-01T22:00:00"),
        "{asked}"
    );
    let row = &ask(
        dir.path(),
        "l",
        "select job_name, start_time from slurm_job",
    )[0];
    assert_eq!(
        (text(row, "job_name"), text(row, "start_time")),
        ("a|b", "2026-09-01T00:00:01Z")
    );
    let run = ingest(&[]);
    assert!(
        run.code == Some(1) && run.stderr.contains("give --from DATE"),
        "{run:?}"
    );
    fs::write(&sacct, "#!/bin/sh\necho 'slurmdbd is down' >&2\nexit 1\n").unwrap();
    let run = ingest(&["--from", "2026-09-01"]);
    assert!(
        run.code == Some(1) && run.stderr.contains("slurmdbd is down"),
        "{run:?}"
    );
    // What was taken before stays.
    assert_eq!(
        ask(dir.path(), "l", "select job_id from slurm_job").len(),
        1
    );
}

fn a_question_without_its_parameters_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let listed = iolode(dir.path(), &["query"]).ok();
    assert!(
        listed.lines().any(|line| line.starts_with("  coverage ")),
        "{listed}"
    );
    let failed = iolode(dir.path(), &["query", "at_time", "--fs", "x"]).failed();
    assert!(
        failed.starts_with("logs_at_time needs --from: "),
        "{failed}"
    );
    let failed = iolode(dir.path(), &["query", "at_tmie"]).failed();
    assert!(failed.contains("at_time"), "{failed}");
    iolode(dir.path(), &["lake", "create", "l"]).ok();
    let failed = iolode(
        dir.path(),
        &["query", "ost_fullness", "--lake", "l", "--above", "full"],
    )
    .failed();
    assert_eq!(failed, "--above `full`: expected a number");
    let failed = iolode(
        dir.path(),
        &["query", "ost_fullness", "--lake", "l", "--at", "yesterday"],
    )
    .failed();
    assert!(
        failed.starts_with("--at `yesterday` is not a valid date"),
        "{failed}"
    );
    // In an empty lake there is an answer, too.
    for name in ["coverage", "ost_fullness", "metadata_load"] {
        iolode(dir.path(), &["query", name, "--lake", "l"]).ok();
    }
}
