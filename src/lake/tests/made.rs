//! A month that is made while it is taken in, beside the same month in files.

use super::*;
use crate::source::{InputMeta, InputProvider, SOURCES};
use crate::synth::{GeneratedInputs, Month, write};
use arrow::record_batch::RecordBatch;
use std::collections::{BTreeMap, BTreeSet};

/// A file: its range, if it has one, and its rows.
type Place = (Option<usize>, Vec<RecordBatch>);

/// Everything in the data files of a lake, table by table and file by file in the order of ranges and days.
fn everything(lake: &Lake) -> BTreeMap<String, Vec<Place>> {
    let snapshot = lake.snapshot(None).unwrap();
    let mut files: Vec<_> = snapshot.files().iter().collect();
    files.sort_by(|a, b| (&a.table, a.range, &a.day).cmp(&(&b.table, b.range, &b.day)));
    let mut tables: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for file in files {
        let batches =
            crate::lake::file::data_reader::read_data(lake.store(), &file.path, 1 << 16).unwrap();
        let batches = batches.map(|batch| batch.unwrap()).collect();
        let place = (file.range, batches);
        tables.entry(file.table.clone()).or_default().push(place);
    }
    tables
}

fn lake(at: &Path, range_bytes: u64) -> Lake {
    let settings = GeneratedInputs::site();
    let options = CreateOptions {
        range_bytes,
        settings,
    };
    Lake::create(at, &options).unwrap()
}

#[test]
fn a_month_made_into_a_lake_has_the_rows_of_its_files() {
    let month = Month {
        lmt_seconds: 240,
        ..Month::complete(110, 5)
    };
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("month");
    write(&month, &logs, &|_| ()).unwrap();
    let paths = Month::paths(&logs);
    // Not what lies beside the logs and is none of them.
    let mut given = vec![logs.join("2026"), logs.join("restored")];
    given.extend([logs.join("Makefile.darshan"), paths.slurm, paths.lmt]);
    let options = |threads| IngestOptions {
        sources: SOURCES,
        threads,
        ..IngestOptions::default()
    };
    let filed = lake(&directory.path().join("filed"), 100_000);
    let ingested = filed
        .ingest(
            &IngestOptions {
                paths: given.into_iter().map(Into::into).collect(),
                ..options(2)
            },
            &Silent,
        )
        .unwrap();

    let generated = GeneratedInputs::new(&month, &logs, 2, &|_| ()).unwrap();
    let made = lake(&directory.path().join("made"), 100_000);
    let from_made = IngestOptions {
        provider: Some(&generated),
        ..options(3)
    };
    let report = made.ingest(&from_made, &Silent).unwrap();
    assert_eq!(report.inputs, ingested.inputs);
    assert_eq!(
        (report.rows, report.version),
        (ingested.rows, ingested.version)
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);

    let (one, other) = (everything(&filed), everything(&made));
    assert_eq!(
        one.keys().collect::<Vec<_>>(),
        other.keys().collect::<Vec<_>>()
    );
    for (table, files) in &one {
        assert!(*files == other[table], "{table} differs");
    }
    assert!(one.contains_key("slurm_step") && one.contains_key("lmt_mdt_op"));
    assert!(one["darshan_file"].len() > 10, "a month of several ranges");

    // But for the times of files, which nobody wrote.
    let inputs = |lake: &Lake| {
        let rows = lake.snapshot(None).unwrap().inputs().unwrap();
        let rows: BTreeSet<String> = rows
            .into_iter()
            .map(|row| format!("{:?}", InputRow { modified: 0, ..row }))
            .collect();
        rows
    };
    assert_eq!(inputs(&filed), inputs(&made));

    // What was planted is what stands beside the files.
    assert_eq!(
        generated.truth(),
        std::fs::read_to_string(&paths.truth).unwrap()
    );
    assert_eq!(
        GeneratedInputs::site(),
        std::fs::read_to_string(&paths.site).unwrap()
    );
    let check = made.check().unwrap();
    assert!(check.wrong.is_empty(), "{:?}", check.wrong);
    // Nothing of it lies anywhere.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn an_input_that_a_month_does_not_have_is_an_error() {
    let generated =
        GeneratedInputs::new(&Month::new(3, 1), Path::new("/synth"), 1, &|_| ()).unwrap();
    let listed = generated.list();
    let Some(InputMeta { path, bytes, .. }) = listed.first() else {
        panic!("no inputs");
    };
    let input = generated.open(path).unwrap();
    assert_eq!((input.len(), input.path()), (*bytes, &**path));
    for none in ["/synth/2026/9/1/none.darshan", "/other"] {
        let error = generated.open(Path::new(none)).map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{none}: cannot open: the month has no such input")
        );
    }
}
