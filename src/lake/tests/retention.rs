//! What is older than a date goes for good; nothing else does.

use super::dumps::{Dumps, dump, line, samples, states};
use super::*;
use crate::source::{Period, SOURCES};

/// Microseconds since 1970 of a second of 2026-09-01.
fn second(second: i64) -> i64 {
    (1_788_220_800 + second) * 1_000_000
}

#[test]
fn logs_that_began_before_go_and_no_ingest_brings_them_back() {
    let bench = Bench::with(&CreateOptions {
        range_bytes: 2_000,
        ..CreateOptions::default()
    });
    for (name, text) in [
        ("old", "mounts 1 99 /old /older"),
        ("same-job", "mounts 1 100 /new"),
        ("old-too", "mounts 2 7 /7"),
        ("no-start", "mounts 3 - /unknown"),
    ] {
        bench.log(name, text);
    }
    bench.ingest();
    let forgotten = bench.lake.forget_before(SOURCE, 100).unwrap();
    assert_eq!((forgotten.inputs, forgotten.rows), (2, 3));
    assert_eq!(bench.rows(), [row(1, "/new"), row(3, "/unknown")]);
    let found = bench.statuses();
    let old = found.iter().find(|(name, ..)| name == "old").unwrap();
    let why = "forgotten: older than what the lake keeps";
    assert_eq!((old.1, old.2.as_str()), ("skipped", why));
    assert!(bench.lake.check().unwrap().wrong.is_empty());
    // Neither the files nor copies of them are taken in, also when all is read anew.
    bench.log("copy", "mounts 1 99 /old /older");
    bench.ingest();
    let refresh = IngestOptions {
        refresh: true,
        ..bench.options()
    };
    bench.lake.ingest(&refresh, &Silent).unwrap();
    assert_eq!(bench.rows(), [row(1, "/new"), row(3, "/unknown")]);
    let nothing = bench.lake.forget_before(SOURCE, 100).unwrap();
    assert_eq!((nothing.inputs, nothing.rows), (0, 0));
    assert_eq!(
        nothing.version,
        bench.lake.snapshot(None).unwrap().version()
    );
    // The version before still has them.
    let before = bench.lake.snapshot(Some(forgotten.version - 1)).unwrap();
    let rows: u64 = before.files().iter().map(|file| file.rows).sum();
    assert_eq!(rows, 5);
}

/// Three logs, of which the first two are older than 100, and a copy of the first.
fn two_old_ones() -> Bench {
    let bench = Bench::new();
    for (name, text) in [
        ("old", "mounts 1 99 /old"),
        ("old-copy", "mounts 1 99 /old"),
        ("old-too", "mounts 2 7 /7"),
        ("new", "mounts 3 100 /new"),
    ] {
        bench.log(name, text);
    }
    bench.ingest();
    bench
}

/// Takes in all that there is, in every way, and looks that of the old logs nothing comes back.
#[track_caller]
fn stay_forgotten(bench: &Bench) {
    let new = [row(3, "/new")];
    bench.ingest();
    assert_eq!(bench.rows(), new);
    bench.log("another-copy", "mounts 2 7 /7");
    let refresh = IngestOptions {
        refresh: true,
        ..bench.options()
    };
    bench.lake.ingest(&refresh, &Silent).unwrap();
    assert_eq!(bench.rows(), new);
    // From a tape, say: other times of the same bytes.
    for name in ["old", "old-copy", "old-too"] {
        let path = bench.logs().join(name);
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(5))
            .unwrap();
    }
    bench.ingest();
    assert_eq!(bench.rows(), new);
    let why = "forgotten: older than what the lake keeps";
    for (name, status, error) in bench.statuses() {
        let expected = match &*name {
            "new" => ("ok", ""),
            _ => ("skipped", why),
        };
        assert_eq!((status, &*error), expected, "{name}");
    }
    assert_eq!(bench.ingest().version, None);
    assert_eq!(bench.lake.check().unwrap().wrong, []);
}

#[test]
fn logs_that_began_before_stay_forgotten_when_all_are_taken_back_afterwards() {
    let bench = two_old_ones();
    bench.lake.forget_before(SOURCE, 100).unwrap();
    bench.ingest();
    let forgotten = bench.lake.forget(SOURCE).unwrap();
    // The copy and the new one; the other two are forgotten for good.
    assert_eq!((forgotten.inputs, forgotten.rows), (2, 1));
    assert_eq!(bench.rows(), []);
    let nothing = bench.lake.forget(SOURCE).unwrap_err().to_string();
    assert_eq!(nothing, "nothing of mounts is in the lake");
    stay_forgotten(&bench);
    // And once more.
    bench.lake.forget(SOURCE).unwrap();
    stay_forgotten(&bench);
}

#[test]
fn logs_that_began_before_are_forgotten_when_all_were_taken_back_before() {
    let bench = two_old_ones();
    let forgotten = bench.lake.forget(SOURCE).unwrap();
    assert_eq!((forgotten.inputs, forgotten.rows), (4, 3));
    let forgotten = bench.lake.forget_before(SOURCE, 100).unwrap();
    assert_eq!((forgotten.inputs, forgotten.rows), (3, 0));
    stay_forgotten(&bench);
}

#[test]
fn what_was_taken_back_without_a_date_is_taken_in_anew_with_its_copies() {
    let bench = two_old_ones();
    let before = bench.rows();
    for _ in 0..2 {
        bench.lake.forget(SOURCE).unwrap();
        assert_eq!(
            bench.ingest().version.map(|_| bench.rows()),
            Some(before.clone())
        );
        let copies = bench
            .statuses()
            .iter()
            .filter(|(_, status, _)| *status == "skipped")
            .count();
        assert_eq!(copies, 1);
        assert_eq!(bench.lake.check().unwrap().wrong, []);
    }
    // A copy is taken in where the file that was taken back is gone, and its rows go when its bytes change.
    bench.lake.forget(SOURCE).unwrap();
    fs::remove_file(bench.logs().join("old")).unwrap();
    bench.ingest();
    bench.log("old-copy", "mounts 1 99 /another");
    bench.ingest();
    assert_eq!(
        bench.rows(),
        [row(1, "/another"), row(2, "/7"), row(3, "/new")]
    );
    assert_eq!(bench.lake.check().unwrap().wrong, []);
}

#[test]
fn jobs_that_had_not_ended_stay_with_all_their_steps() {
    let dumps = Dumps::new();
    let step = |id: &str, start: i64, end: i64| {
        line(9, "COMPLETED", 0, Some(start), Some(end)).replacen("9|9|", &format!("{id}|{id}|"), 1)
    };
    let text = dump(&[
        line(1, "COMPLETED", 0, Some(10), Some(100)),
        step("1.0", 10, 90),
        line(2, "COMPLETED", 0, Some(10), Some(101)),
        step("2.0", 10, 20),
        step("2.1", 20, 101),
        line(3, "RUNNING", 0, Some(10), None),
        step("3.0", 10, 20),
        line(4, "PENDING", 0, None, None),
    ]);
    dumps.take(dumps.write("day.psv", &text));
    assert_eq!(dumps.rows("slurm_job").num_rows(), 4);
    assert_eq!(dumps.rows("slurm_step").num_rows(), 4);
    let forgotten = dumps.lake.forget_before(SOURCES, second(100)).unwrap();
    assert_eq!((forgotten.inputs, forgotten.rows), (0, 2));
    let jobs = states(&dumps.rows("slurm_job"))
        .into_iter()
        .map(|job| job.0);
    assert_eq!(jobs.collect::<Vec<_>>(), [2, 3, 4]);
    let steps = dumps.rows("slurm_step");
    let jobs = steps.column_by_name("job_id").unwrap();
    assert_eq!(jobs.as_primitive::<Int64Type>().values(), &[2, 2, 3]);
    assert!(dumps.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_dump_of_which_rows_were_forgotten_comes_back_with_refresh_and_not_before() {
    let dumps = Dumps::new();
    let refresh = |period: Period| IngestOptions {
        refresh: true,
        period,
        ..IngestOptions::default()
    };
    let text = dump(&[
        line(1, "COMPLETED", 0, Some(10), Some(100)),
        line(2, "COMPLETED", 0, Some(190), Some(200)),
        line(3, "COMPLETED", 0, Some(290), Some(300)),
    ]);
    let path = dumps.write("day.psv", &text);
    let jobs = || -> Vec<i64> {
        let jobs = states(&dumps.rows("slurm_job")).into_iter();
        jobs.map(|job| job.0).collect()
    };
    dumps.take(&path);
    dumps.lake.forget_before(SOURCES, second(250)).unwrap();
    // Neither the nightly ingest of the directory nor one of the file.
    assert_eq!(dumps.take(dumps.directory.path()).version, None);
    assert_eq!(dumps.take(&path).version, None);
    assert_eq!(jobs(), [3]);
    // A part of it leaves the rest as forgotten as it was.
    let part = Period {
        from: Some(second(150)),
        to: Some(second(250)),
    };
    dumps.take_with(&path, refresh(part));
    assert_eq!(jobs(), [2, 3]);
    assert_eq!(dumps.take(&path).version, None);
    dumps.take_with(&path, refresh(Period::default()));
    assert_eq!(jobs(), [1, 2, 3]);
    let again = dumps.take_with(&path, refresh(Period::default()));
    assert_eq!((again.version, again.unchanged), (None, 1));
    assert!(dumps.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_dump_of_which_no_row_was_forgotten_is_not_read_again() {
    let dumps = Dumps::new();
    let old = dump(&[line(1, "COMPLETED", 0, Some(10), Some(100))]);
    let path = dumps.write("day.psv", &old);
    dumps.take(&path);
    dumps.take(dumps.write("lmt.sql", &samples(&[(10, 100)])));
    // The samples are of 2018, the record of 2026.
    let forgotten = dumps.lake.forget_before(SOURCES, second(0)).unwrap();
    assert_eq!((forgotten.inputs, forgotten.rows), (0, 1));
    let refresh = IngestOptions {
        refresh: true,
        ..IngestOptions::default()
    };
    assert_eq!(dumps.take_with(&path, refresh).version, None);
}

#[test]
fn a_dump_that_was_read_in_another_zone_does_not_come_back_beside_its_rows() {
    let dumps = Dumps::new();
    let text = dump(&[
        line(1, "COMPLETED", 0, Some(10), Some(100)),
        line(2, "COMPLETED", 0, Some(190), Some(200)),
    ]);
    let path = dumps.write("day.psv", &text);
    dumps.take(&path);
    dumps.lake.forget_before(SOURCES, second(150)).unwrap();
    dumps
        .lake
        .set_settings("timezone = 'Europe/Berlin'\n", None)
        .unwrap();
    let refresh = IngestOptions {
        refresh: true,
        ..IngestOptions::default()
    };
    assert_eq!(dumps.take_with(&path, refresh).version, None);
    assert_eq!(dumps.rows("slurm_job").num_rows(), 1);
}
