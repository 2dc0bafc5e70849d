//! What an input is, how it is packed and in which zone its times are: what users say of it, take back and say anew.

use super::dumps::{Dumps, HEADER, dump, line, states};
use super::*;
use crate::source::{Hints, InputMeta, InputProvider};
use arrow::datatypes::TimestampMicrosecondType;
use arrow::record_batch::RecordBatch;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

fn hours(rows: &RecordBatch, name: &str) -> Vec<i64> {
    let column = rows.column_by_name(name).unwrap();
    let times = column.as_primitive::<TimestampMicrosecondType>().values();
    times
        .iter()
        .map(|time| (time / 1_000_000 - 1_788_220_800) / 3600)
        .collect()
}

#[test]
fn a_file_that_was_taken_for_something_else_is_looked_at_again_as_what_it_is() {
    let dumps = Dumps::new();
    let path = dumps.write(
        "day.psv",
        &dump(&[line(1, "COMPLETED", 0, Some(1), Some(50))]),
    );
    let given = |kind: &str| InputPath {
        path: path.clone(),
        kind: Some(kind.into()),
    };
    let take = |kind: &str| {
        let options = IngestOptions {
            paths: vec![given(kind)],
            ..IngestOptions::default()
        };
        dumps.lake.ingest(&options, &Silent).unwrap()
    };
    // Asked for by name, it is no silent matter.
    let report = take("darshan");
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert!(report.failures[0].1.contains("no log that iolode knows"));
    assert_eq!((report.version, report.not_logs), (None, 1));
    assert_eq!(take("darshan").failures, report.failures);
    assert_eq!(take("slurm").rows, 1);
    // And is not lost by being taken for something else again.
    assert_eq!(take("darshan").unchanged, 1);
    assert_eq!(dumps.rows("slurm_job").num_rows(), 1);
}

#[test]
fn what_was_no_log_of_a_directory_is_looked_at_again_when_another_kind_is_named_beside() {
    let dumps = Dumps::new();
    let file = dumps.write(
        "day.psv",
        &dump(&[line(1, "COMPLETED", 0, Some(1), Some(50))]),
    );
    let given = |kind: &str| InputPath {
        path: file.parent().unwrap().into(),
        kind: Some(kind.into()),
    };
    let take = |kinds: &[&str]| {
        let options = IngestOptions {
            paths: kinds.iter().map(|kind| given(kind)).collect(),
            ..IngestOptions::default()
        };
        dumps.lake.ingest(&options, &Silent).unwrap()
    };
    assert_eq!(take(&["darshan"]).rows, 0);
    assert_eq!(take(&["darshan", "slurm"]).rows, 1);
    assert_eq!(take(&["darshan", "slurm"]).unchanged, 1);
    // What is neither is no reason for a version, as whatever it is looked at.
    dumps.write("notes", "nothing");
    let kind = || {
        let inputs = dumps.lake.snapshot(None).unwrap().inputs().unwrap();
        let notes = inputs.into_iter().find(|row| row.path.ends_with("notes"));
        notes.map(|row| row.source.map(|kind| kind.to_string()))
    };
    for kinds in [&["slurm"][..], &["lmt"], &["slurm", "darshan"]] {
        for _ in 0..2 {
            let report = take(kinds);
            let counts = (report.version, report.unchanged, report.not_logs);
            assert_eq!(counts, (None, 1, 1), "{kinds:?}");
            assert!(report.failures.is_empty(), "{report:?}");
        }
    }
    assert_eq!(kind(), None);
    // It is noted beside something new, as what it was looked at.
    let later = |name: &str, job: i64| {
        let text = dump(&[line(job, "COMPLETED", 0, Some(1), Some(50))]);
        dumps.write(name, &text);
    };
    later("later.psv", 2);
    let report = take(&["slurm"]);
    assert_eq!((report.version, report.not_logs), (Some(3), 1));
    assert_eq!(kind(), Some(Some("slurm".into())));
    for kinds in [&["darshan"][..], &["lmt"], &["lmt", "slurm"]] {
        let report = take(kinds);
        let counts = (report.version, report.unchanged, report.not_logs);
        assert_eq!(counts, (None, 3, 0), "{kinds:?}");
    }
    // As what it was looked at last: as any kind.
    later("last.psv", 3);
    let report = take(&["lmt", "slurm"]);
    assert_eq!((report.version, report.unchanged), (Some(4), 3));
    assert_eq!(report.inputs.values().sum::<u64>(), 1);
    assert_eq!(kind(), Some(None));
    assert_eq!(take(&["lmt", "slurm"]).version, None);
}

#[test]
fn lines_without_a_header_are_taken_once_somebody_names_their_columns() {
    let dumps = Dumps::new();
    let text =
        line(1, "COMPLETED", 0, Some(1), Some(50)) + &line(2, "FAILED", 0, Some(1), Some(50));
    let path = dumps.write("day.psv", &text);
    assert_eq!(dumps.take(&path).failures.len(), 1);
    let told = || IngestOptions {
        hints: Hints {
            slurm_columns: HEADER.trim().split('|').map(str::to_string).collect(),
            ..Hints::default()
        },
        ..IngestOptions::default()
    };
    assert_eq!(dumps.take_with(&path, told()).rows, 2);
    assert_eq!(dumps.take_with(&path, told()).unchanged, 1);
}

#[test]
fn the_first_time_zone_that_a_lake_is_told_stays_its_own_and_without_one_there_is_a_word() {
    let dumps = Dumps::new();
    let job = |id| dump(&[line(id, "COMPLETED", 0, Some(1), Some(50))]);
    let said = |report: &IngestReport| {
        let words = report.warnings.iter().filter(|(what, _)| what == "times");
        words.map(|(_, why)| why.clone()).collect::<Vec<_>>()
    };
    let report = dumps.take(dumps.write("1.psv", &job(1)));
    assert!(
        said(&report)[0].contains("they name no zone and were taken for UTC"),
        "{report:?}"
    );
    let zone = |zone: &str| IngestOptions {
        zone: Some(zone.parse().unwrap()),
        ..IngestOptions::default()
    };
    let report = dumps.take_with(dumps.write("2.psv", &job(2)), zone("America/Los_Angeles"));
    assert_eq!(said(&report), [""; 0]);
    let report = dumps.take(dumps.write("3.psv", &job(3)));
    assert_eq!(said(&report), [""; 0]);
    let report = dumps.take_with(dumps.write("4.psv", &job(4)), zone("Asia/Tokyo"));
    assert_eq!(
        said(&report),
        ["they name no zone and were taken for Asia/Tokyo; the lake's is America/Los_Angeles"]
    );
    // Summer time: 7 hours behind UTC, and 9 ahead.
    assert_eq!(
        hours(&dumps.rows("slurm_job"), "submit_time"),
        [0, 7, 7, -9]
    );
}

#[test]
fn dumps_that_were_read_in_the_wrong_zone_are_forgotten_and_taken_anew() {
    let dumps = Dumps::new();
    let path = dumps.write(
        "day.psv",
        &dump(&[line(1, "COMPLETED", 0, Some(1), Some(50))]),
    );
    dumps.take(&path);
    let slurm: Vec<&dyn crate::source::Source> = vec![&crate::source::slurm::Slurm];
    let forgotten = dumps.lake.forget(&slurm).unwrap();
    assert_eq!((forgotten.inputs, forgotten.rows), (1, 1));
    assert_eq!(dumps.rows("slurm_job").num_rows(), 0);
    let again = dumps.lake.forget(&slurm).unwrap_err().to_string();
    assert_eq!(again, "nothing of slurm is in the lake");
    let zone = IngestOptions {
        zone: Some("America/Los_Angeles".parse().unwrap()),
        ..IngestOptions::default()
    };
    dumps.take_with(&path, zone);
    assert_eq!(hours(&dumps.rows("slurm_job"), "submit_time"), [7]);
    assert_eq!(dumps.lake.check().unwrap().wrong, []);
}

#[test]
fn compressed_dumps_are_those_that_were_compressed() {
    let text = dump(&[line(1, "COMPLETED", 0, Some(1), Some(50))]);
    let dumps = Dumps::new();
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let path = dumps.directory.path().join("day.psv.gz");
    fs::write(&path, &packed).unwrap();
    assert_eq!(dumps.take(&path).rows, 1);
    assert_eq!(dumps.take(&path).unchanged, 1);
    assert_eq!(
        states(&dumps.rows("slurm_job")),
        [(1, "COMPLETED".into(), true)]
    );
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let report = dumps.take(&path);
    assert!(
        report.failures[0].1.contains("damaged after "),
        "{report:?}"
    );
    assert_eq!(
        dumps.rows("slurm_job").num_rows(),
        1,
        "what it brought stays"
    );
}

/// Logs and dumps that cannot be read for a while, for a reason of the system.
struct Unreadable {
    directory: PathBuf,
    peeks: bool,
    is_broken: AtomicBool,
}

impl InputProvider for Unreadable {
    fn list(&self) -> Vec<InputMeta> {
        let meta = |name: &str| InputMeta {
            path: self.directory.join(name),
            bytes: 14,
            modified: 7,
        };
        vec![meta("day.psv"), meta("log")]
    }

    fn peek(&self, path: &Path) -> Option<(&'static str, Peek)> {
        let log = Peek::Log {
            job_id: 1,
            start_time: Some(0),
        };
        self.peeks.then_some(match path.ends_with("log") {
            true => ("mounts", log),
            false => ("slurm", Peek::Dump),
        })
    }

    fn open(&self, path: &Path) -> Result<Input> {
        if self.is_broken.load(Ordering::Relaxed) {
            let denied = std::io::Error::from_raw_os_error(13);
            return Err(Error::io(path, "cannot open", denied));
        }
        let dump = dump(&[line(1, "COMPLETED", 0, Some(1), Some(2))]);
        let text = match path.ends_with("log") {
            true => "mounts 1 0 /a",
            false => &dump,
        };
        Ok(Input::from_bytes(path, text.as_bytes().to_vec()))
    }
}

#[test]
fn what_cannot_be_read_is_tried_again_by_each_ingest_and_is_a_failure_each_time() {
    let sources: &[&dyn Source] = &[&MountList, &crate::source::slurm::Slurm];
    for peeks in [true, false] {
        let lake = Lake::in_memory().unwrap();
        let made = Unreadable {
            directory: "/made".into(),
            peeks,
            is_broken: true.into(),
        };
        let options = IngestOptions {
            provider: Some(&made),
            sources,
            threads: 2,
            ..IngestOptions::default()
        };
        let why = "cannot open: permission denied";
        let failures =
            ["/made/day.psv", "/made/log"].map(|path| (path.to_string(), why.to_string()));
        let mut versions = vec![];
        for _ in 0..3 {
            let report = lake.ingest(&options, &Silent).unwrap();
            let mut found = report.failures.clone();
            found.sort();
            assert_eq!(found, failures, "{peeks}");
            assert_eq!(report.failed_before, 0);
            versions.push(report.version);
        }
        assert_eq!(versions, [Some(2), None, None], "{peeks}");
        made.is_broken.store(false, Ordering::Relaxed);
        let report = lake.ingest(&options, &Silent).unwrap();
        assert_eq!(report.inputs, [(InputStatus::Ok, 2)].into(), "{peeks}");
        assert!(report.failures.is_empty());
        assert_eq!(lake.ingest(&options, &Silent).unwrap().version, None);
    }
}

#[test]
fn files_that_are_no_logs_make_no_version_and_are_noted_by_the_next() {
    let bench = Bench::new();
    bench.log("README", "how to");
    let report = bench.ingest();
    assert_eq!(
        (report.version, report.not_logs, report.unchanged),
        (None, 1, 0)
    );
    assert!(report.failures.is_empty() && bench.statuses().is_empty());
    // Of one that is asked for by name somebody must hear, each time.
    let named = IngestOptions {
        paths: vec![bench.logs().join("README").into()],
        ..bench.options()
    };
    for _ in 0..2 {
        let report = bench.lake.ingest(&named, &Silent).unwrap();
        assert_eq!((report.version, report.failures.len()), (None, 1));
    }
    bench.log("log", "mounts 1 0 /a");
    bench.log("copy", "mounts 1 0 /a");
    let report = bench.ingest();
    assert_eq!(
        (report.version, report.not_logs, report.copies),
        (Some(2), 1, 1)
    );
    let expected = [(InputStatus::Ok, 1), (InputStatus::Skipped, 2)];
    assert_eq!(report.inputs, expected.into());
    let report = bench.ingest();
    assert_eq!(
        (report.version, report.not_logs, report.unchanged),
        (None, 0, 3)
    );
    // It was changed and is still none.
    bench.log("README", "how to do it");
    let report = bench.ingest();
    assert_eq!(
        (report.version, report.not_logs, report.unchanged),
        (None, 1, 2)
    );
    // What was a log is none now.
    bench.log("log", "gone");
    fs::remove_file(bench.logs().join("copy")).unwrap();
    assert_eq!(bench.ingest().version, Some(3));
}

/// Array tasks and a het job, with and without JobIDRaw. The tasks of array 3 have the raw ids 8 and 3, the components of 29 have 29 and 30.
fn parts(with_ids: bool, state: &str, end: &str, cluster: &str) -> String {
    let ids = [
        ("3_0", "8"),
        ("3_1", "3"),
        ("29+0", "29"),
        ("29+1", "30"),
        ("5", "5"),
    ];
    let mut text = "JobID|JobIDRaw|Cluster|State|Submit|Start|End\n".to_string();
    for (shown, raw) in ids {
        let times = "2026-09-01T00:00:00|2026-09-01T00:00:10";
        text += &format!("{shown}|{raw}|{cluster}|{state}|{times}|{end}\n");
        text += &format!("{shown}.batch|{raw}.batch|{cluster}|{state}|{times}|{end}\n");
    }
    let without = |line: &str| {
        let mut fields: Vec<&str> = line.split('|').collect();
        fields.remove(1);
        fields.join("|") + "\n"
    };
    match with_ids {
        true => text,
        false => text.lines().map(without).collect(),
    }
}

#[test]
fn records_without_a_raw_id_take_the_one_that_another_dump_says_whichever_comes_first() {
    let with = parts(true, "RUNNING", "Unknown", "c");
    let without = parts(false, "COMPLETED", "2026-09-01T01:00:00", "c");
    let expected: Vec<_> = [3, 5, 8, 29, 30]
        .map(|job| (job, "COMPLETED".to_string(), true))
        .into();
    let steps = |dumps: &Dumps| {
        let rows = dumps.rows("slurm_step");
        let jobs = rows.column_by_name("job_id").unwrap();
        jobs.as_primitive::<Int64Type>().values().to_vec()
    };
    for order in [[&with, &without], [&without, &with]] {
        let dumps = Dumps::new();
        for (at, text) in order.into_iter().enumerate() {
            let report = dumps.take(dumps.write(&format!("{at}.psv"), text));
            assert!(report.version.is_some());
        }
        assert_eq!(states(&dumps.rows("slurm_job")), expected);
        assert_eq!(steps(&dumps), [3, 5, 8, 29, 30]);
        assert_eq!(dumps.lake.check().unwrap().wrong, []);
        // The same once more changes nothing.
        dumps.take(dumps.write("again.psv", &without));
        assert_eq!(states(&dumps.rows("slurm_job")), expected);
    }
    let at_once = Dumps::new();
    at_once.write("a.psv", &with);
    at_once.write("b.psv", &without);
    at_once.take(at_once.directory.path());
    assert_eq!(states(&at_once.rows("slurm_job")), expected);
    assert_eq!(steps(&at_once), [3, 5, 8, 29, 30]);
}

#[test]
fn a_raw_id_that_may_be_of_another_job_is_not_taken() {
    // 3_0 is 8 and 3_1 is 3 in one cluster; the other says nothing of its own.
    let dumps = Dumps::new();
    let end = "2026-09-01T01:00:00";
    dumps.take(dumps.write("a.psv", &parts(true, "COMPLETED", end, "a")));
    dumps.take(dumps.write("b.psv", &parts(false, "FAILED", end, "b")));
    let found = states(&dumps.rows("slurm_job"));
    assert_eq!(found.iter().filter(|(job, ..)| *job < 0).count(), 3);
    // 2^24 x 3 + 1, 2^24 x 3 + 2 x 1 + 1, and 2^24 x 29 + 2 x 1 + 2.
    let below: Vec<i64> = found
        .iter()
        .map(|row| row.0)
        .filter(|job| *job < 0)
        .collect();
    assert_eq!(below, [-486_539_268, -50_331_651, -50_331_649]);
    assert_eq!(found.len(), 10);
}
