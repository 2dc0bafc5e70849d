//! What an input is, how it is packed and in which zone its times are: what users say of it, take back and say anew.

use super::dumps::{Dumps, HEADER, dump, line, states};
use super::*;
use crate::source::Hints;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::record_batch::RecordBatch;
use std::fs;

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
    assert_eq!(take("darshan").unchanged, 1);
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
    // What is neither is noted once.
    dumps.write("notes", "nothing");
    assert_eq!(take(&["darshan"]).version, Some(4));
    let kind = || {
        let inputs = dumps.lake.snapshot(None).unwrap().inputs().unwrap();
        let notes = inputs.into_iter().find(|row| row.path.ends_with("notes"));
        notes.unwrap().source.map(|kind| kind.to_string())
    };
    let first = kind();
    assert_eq!(first.as_deref(), Some("darshan"));
    for kinds in [
        &["slurm"][..],
        &["darshan"],
        &["lmt"],
        &["slurm", "darshan"],
    ] {
        for _ in 0..2 {
            let report = take(kinds);
            assert_eq!((report.version, report.unchanged), (None, 2), "{kinds:?}");
            assert!(report.failures.is_empty(), "{report:?}");
        }
    }
    assert_eq!(kind(), first);
    // As what it was looked at last is noted beside something new: as any kind.
    dumps.write(
        "later.psv",
        &dump(&[line(2, "COMPLETED", 0, Some(1), Some(50))]),
    );
    let report = take(&["lmt", "slurm"]);
    assert_eq!((report.version, report.unchanged), (Some(5), 2));
    assert_eq!(report.inputs.values().sum::<u64>(), 1);
    assert_eq!(kind(), None);
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
