//! Tables that are derived of others, range by range.

use super::*;
use crate::table::TableBuilder;
use arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many mounts each log has, in a column of `darshan_mosaic`.
struct MountCount {
    version: u32,
    /// Logs of which rows were made.
    made: AtomicUsize,
}

impl MountCount {
    fn new(version: u32) -> Self {
        let made = AtomicUsize::new(0);
        Self { version, made }
    }

    /// Logs of which rows were made since the last call.
    fn made(&self) -> usize {
        self.made.swap(0, Ordering::Relaxed)
    }
}

impl DerivedTable for MountCount {
    fn name(&self) -> &'static str {
        "count"
    }

    fn table(&self) -> &'static str {
        "darshan_mosaic"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn made_of(&self) -> &'static [&'static str] {
        &["darshan_mount"]
    }

    fn derive(
        &self,
        range: &RangeRows<'_>,
        write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut counts: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        for rows in range.rows("darshan_mount", &["job_id", "log_id"])? {
            let rows = rows?;
            let ids = |column: usize| rows.column(column).as_primitive::<Int64Type>().values();
            for (job, log) in ids(0).iter().zip(ids(1)) {
                *counts.entry((*job, *log)).or_default() += 1;
            }
        }
        self.made.fetch_add(counts.len(), Ordering::Relaxed);
        let mut builder = TableBuilder::new(table(self.table())?);
        let fields = builder.table().schema.fields().clone();
        for ((job, log), count) in counts {
            for (at, field) in fields.iter().enumerate() {
                match (field.name().as_str(), builder.column(at)) {
                    ("log_id", column) => column.int64().push(log),
                    ("job_id", column) => column.int64().push(job),
                    ("highest_spike", column) => column.int64().push(count),
                    ("analysis_version", column) => column.int64().push(i64::from(self.version)),
                    (_, Column::Int64(column)) => column.extend_constant(None, 1),
                    (_, Column::Float64(column)) => column.extend_constant(None, 1),
                    (_, Column::Boolean(column)) => column.append_value(false),
                    (_, Column::Utf8(column)) => column.append_value("x"),
                    (_, Column::List(column)) => column.push_null(),
                    (name, _) => panic!("the test fills no {name}"),
                }
            }
        }
        write(&builder.finish()?)
    }
}

/// Of each job how many mounts its log has, and by which version that was found, in the order of the files.
fn counts(lake: &Lake) -> Vec<(i64, i64, i64)> {
    let snapshot = lake.snapshot(None).unwrap();
    let chosen = ChosenRows::default();
    let columns = ["job_id", "highest_spike", "analysis_version"];
    let batches = snapshot.chosen_rows("darshan_mosaic", &columns, &chosen);
    let mut counts = vec![];
    for rows in batches.unwrap() {
        let rows = rows.unwrap();
        let ints = |column: usize| rows.column(column).as_primitive::<Int64Type>().values();
        let rows = ints(0).iter().zip(ints(1)).zip(ints(2));
        counts.extend(rows.map(|((job, count), version)| (*job, *count, *version)));
    }
    counts
}

fn ingest(bench: &Bench, derived: &[&dyn DerivedTable], analyze: &[&str]) -> IngestReport {
    let options = IngestOptions {
        derived,
        analyze: analyze.iter().map(|name| name.to_string()).collect(),
        ..bench.options()
    };
    bench.lake.ingest(&options, &Silent).unwrap()
}

fn analyze(bench: &Bench, derived: &[&dyn DerivedTable]) -> IngestReport {
    let options = IngestOptions {
        derived,
        analyze: vec!["count".into()],
        ..bench.options()
    };
    bench.lake.analyze(&options, &Silent).unwrap()
}

#[test]
fn a_lake_keeps_a_derived_table_once_it_was_asked_for_and_makes_rows_of_new_logs_only() {
    let (bench, count) = (Bench::new(), MountCount::new(1));
    bench.log("a", "mounts 1 0 x y");
    bench.log("b", "mounts 2 0 x");
    ingest(&bench, &[&count], &[]);
    assert!(counts(&bench.lake).is_empty());

    // What the lake holds already is analysed as well.
    bench.log("c", "mounts 3 0 x y z");
    let report = ingest(&bench, &[&count], &["count"]);
    assert_eq!(report.version, Some(3));
    assert_eq!(counts(&bench.lake), [(1, 2, 1), (2, 1, 1), (3, 3, 1)]);
    assert_eq!(count.made(), 3);

    // From now on nobody has to ask.
    bench.log("d", "mounts 2 5 x y z w");
    ingest(&bench, &[&count], &[]);
    assert_eq!(count.made(), 1);
    let mut found = counts(&bench.lake);
    found.sort_unstable();
    assert_eq!(found, [(1, 2, 1), (2, 1, 1), (2, 4, 1), (3, 3, 1)]);
    assert_eq!(ingest(&bench, &[&count], &["count"]).version, None);
    assert_eq!(analyze(&bench, &[&count]).version, None);
    assert_eq!(count.made(), 0);

    // A log that changed, and one that is now of another job.
    bench.log("a", "mounts 1 0 x y z w v");
    bench.log("c", "mounts 7 0 x");
    ingest(&bench, &[&count], &[]);
    let mut found = counts(&bench.lake);
    found.sort_unstable();
    assert_eq!(found, [(1, 5, 1), (2, 1, 1), (2, 4, 1), (7, 1, 1)]);
    assert_eq!(count.made(), 2);
}

#[test]
fn rows_of_another_version_are_made_anew() {
    let (bench, first, second) = (Bench::new(), MountCount::new(1), MountCount::new(2));
    bench.log("a", "mounts 1 0 x y");
    ingest(&bench, &[&first], &["count"]);
    // No input is new.
    let report = ingest(&bench, &[&second], &[]);
    assert_eq!(
        (report.version, report.rows, report.rows_replaced),
        (Some(3), 1, 1)
    );
    assert_eq!(counts(&bench.lake), [(1, 2, 2)]);
    // Also by an older program, whose rows have its version.
    bench.log("b", "mounts 2 0 x");
    ingest(&bench, &[&first], &[]);
    assert_eq!(counts(&bench.lake), [(1, 2, 1), (2, 1, 1)]);
    assert_eq!(analyze(&bench, &[&second]).rows, 2);
    let manifest = bench.lake.snapshot(None).unwrap().manifest().clone();
    assert_eq!(manifest.operation, "analyze");
    let expected = [("darshan_mosaic".to_string(), 2)];
    assert_eq!(manifest.derived.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(counts(&bench.lake), [(1, 2, 2), (2, 1, 2)]);
}

#[test]
fn logs_that_come_without_a_derivation_get_their_rows_later() {
    let (bench, count) = (Bench::new(), MountCount::new(1));
    bench.log("a", "mounts 1 0 x y");
    ingest(&bench, &[&count], &["count"]);
    bench.log("b", "mounts 2 0 x");
    bench.ingest();
    assert_eq!(counts(&bench.lake), [(1, 2, 1)]);
    assert_eq!(ingest(&bench, &[&count], &[]).version, Some(4));
    assert_eq!(counts(&bench.lake), [(1, 2, 1), (2, 1, 1)]);
}

#[test]
fn analysing_later_makes_the_rows_that_ingesting_with_it_makes_also_where_ranges_are_cut() {
    let (with, later) = (Bench::new(), Bench::new());
    for job in 0..MANY {
        for bench in [&with, &later] {
            bench.log(
                &format!("{job}"),
                &format!("mounts {job} 0{}", " x".repeat(job % 5 + 1)),
            );
        }
    }
    let count = MountCount::new(1);
    ingest(&with, &[&count], &["count"]);
    assert_eq!(count.made(), MANY);
    ingest(&later, &[&count], &[]);
    assert!(later.lake.snapshot(None).unwrap().splits().len() > 1);
    let report = analyze(&later, &[&count]);
    assert_eq!(report.rows, MANY as u64);
    let expected = (0..MANY as i64).map(|job| (job, job % 5 + 1, 1));
    assert_eq!(counts(&with.lake), expected.collect::<Vec<_>>());
    assert_eq!(counts(&later.lake), counts(&with.lake));

    // The ranges are cut anew where many logs come: old rows move with their jobs, and are not made again.
    let (cut, count) = (Bench::new(), MountCount::new(1));
    cut.log("first", "mounts 2000 0 x y z");
    ingest(&cut, &[&count], &["count"]);
    count.made();
    for job in 0..MANY {
        cut.log(&format!("{job}"), &format!("mounts {job} 0 x"));
    }
    ingest(&cut, &[&count], &[]);
    assert_eq!(count.made(), MANY);
    let found = counts(&cut.lake);
    assert_eq!(found.len(), MANY + 1);
    assert!(found.is_sorted_by_key(|(job, ..)| *job));
    assert_eq!(found.iter().filter(|row| row.1 == 3).count(), 1);
    let report = cut.lake.check().unwrap();
    assert!(report.wrong.is_empty(), "{:?}", report.wrong);
}

#[test]
fn an_analysis_that_nobody_knows_is_refused() {
    let (bench, count) = (Bench::new(), MountCount::new(1));
    bench.log("a", "mounts 1 0 x y");
    let options = IngestOptions {
        derived: &[&count],
        analyze: vec!["counts".into()],
        ..bench.options()
    };
    let error = bench
        .lake
        .ingest(&options, &Silent)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("analysis `counts`") && error.contains("count"),
        "{error}"
    );
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 1);
}

#[test]
fn a_copy_keeps_the_derived_tables_of_the_original() {
    let (bench, count) = (Bench::new(), MountCount::new(1));
    bench.log("a", "mounts 1 0 x y");
    ingest(&bench, &[&count], &["count"]);
    let at = bench.directory.path().join("copy");
    bench.lake.copy(&at, &CopyOptions::default()).unwrap();
    let copy = Lake::open(at).unwrap();
    bench.log("b", "mounts 2 0 x");
    let options = IngestOptions {
        derived: &[&count],
        ..bench.options()
    };
    copy.ingest(&options, &Silent).unwrap();
    assert_eq!(counts(&copy), [(1, 2, 1), (2, 1, 1)]);
}
