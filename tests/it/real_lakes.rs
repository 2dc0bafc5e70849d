//! Lakes of real logs and dumps: the order of their rows, and what comes of dumps that are taken in piece by piece or forgotten.

use crate::columns::ints;
use crate::support::shared_data;
use arrow::array::AsArray;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::TimestampMicrosecondType;
use arrow::record_batch::RecordBatch;
use iolode::lake::{CreateOptions, IngestOptions, Lake, Silent};
use iolode::source::lmt::Lmt;
use iolode::source::{Period, Source};
use iolode::table::table;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use row_order::rows_in_order;

/// What the lake's own tests check of its rows.
#[path = "../../src/lake/tests/row_order.rs"]
mod row_order;

crate::tests! {
    [Data] => {
        in_lakes_of_all_real_logs_rows_ascend_and_keys_are_unique,
        ten_slices_of_a_database_taken_one_by_one_and_shuffled_equal_the_whole,
        intervals_that_ended_go_and_the_rest_of_their_day_stays,
    }
}

/// A lake of its own.
struct Taken {
    _directory: tempfile::TempDir,
    lake: Lake,
}

impl Taken {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::create(directory.path().join("lake"), &CreateOptions::default()).unwrap();
        Self {
            _directory: directory,
            lake,
        }
    }

    /// Takes in a file or folder of the real logs.
    fn take(&self, name: &str, options: IngestOptions<'_>) {
        let options = IngestOptions {
            paths: vec![shared_data().join(name).into()],
            threads: 2,
            ..options
        };
        self.lake.ingest(&options, &Silent).unwrap();
    }
}

/// All rows of a table, in the order of its ranges or days.
fn rows_of(lake: &Lake, name: &str) -> RecordBatch {
    let snapshot = lake.snapshot(None).unwrap();
    let mut files: Vec<_> = snapshot.files().iter().collect();
    files.retain(|file| file.table == name);
    files.sort_by_key(|file| (file.job_id, file.day.clone()));
    let schema = &table(name).unwrap().schema;
    let mut batches = vec![];
    for file in files {
        let file = std::fs::File::open(lake.root().unwrap().join(&file.path)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let columns = schema.fields().iter().map(|field| {
                let column = batch.column_by_name(field.name()).unwrap();
                cast(column, field.data_type()).unwrap()
            });
            batches.push(RecordBatch::try_new(schema.clone(), columns.collect()).unwrap());
        }
    }
    concat_batches(schema, &batches).unwrap()
}

fn pacific() -> IngestOptions<'static> {
    IngestOptions {
        zone: Some(chrono_tz::America::Los_Angeles),
        ..IngestOptions::default()
    }
}

fn in_lakes_of_all_real_logs_rows_ascend_and_keys_are_unique() {
    for (name, tables) in [
        (
            "darshan",
            &[
                "darshan_log",
                "darshan_file",
                "darshan_posix",
                "darshan_dxt",
                "darshan_heatmap",
            ][..],
        ),
        ("slurm", &["slurm_job", "slurm_step"]),
        ("lmt", &["lmt_ost", "lmt_oss", "lmt_mdt", "lmt_mdt_op"]),
    ] {
        let taken = Taken::new();
        taken.take(
            name,
            IngestOptions {
                dxt: true,
                zone: Some(chrono_tz::UTC),
                ..IngestOptions::default()
            },
        );
        let rows = {
            assert_eq!(taken.lake.check().unwrap().wrong, []);
            rows_in_order(&taken.lake)
        };
        for table in tables {
            assert!(
                rows.get(*table).is_some_and(|rows| *rows > 0),
                "{table}: {rows:?}"
            );
        }
    }
}

fn ten_slices_of_a_database_taken_one_by_one_and_shuffled_equal_the_whole() {
    let whole = Taken::new();
    whole.take("lmt/filesystem_snx11025.mysqldump.sql", pacific());
    let expected = rows_of(&whole.lake, "lmt_ost");
    assert_eq!(expected.num_rows(), 1464);
    let moved = ["bytes_read", "bytes_written"]
        .map(|name| ints(&expected, name).into_iter().flatten().sum::<i64>());
    assert_eq!(moved, [6_347_173_888, 119_037_925_429]);
    // 2018-01-28T08:00:00Z; slices of 30 s begin and end between samples, and the rows beside them come with them.
    let begin = 1_517_126_400_000_000;
    let slices = Taken::new();
    for slice in [7, 2, 9, 0, 4, 1, 8, 3, 6, 5] {
        let from = begin + slice * 30_000_000;
        let period = Period {
            from: Some(from),
            to: Some(from + 30_000_001),
        };
        slices.take(
            "lmt/snx11025_2018-01-28.sqlite3",
            IngestOptions {
                period,
                ..pacific()
            },
        );
    }
    for table in ["lmt_ost", "lmt_oss", "lmt_mdt", "lmt_mdt_op"] {
        let (found, expected) = (rows_of(&slices.lake, table), rows_of(&whole.lake, table));
        for (at, column) in expected.schema().fields().iter().enumerate() {
            // SQLite keeps doubles where the dump prints six digits.
            if !column.name().starts_with("pct_") {
                assert_eq!(
                    found.column(at),
                    expected.column(at),
                    "{table}.{}",
                    column.name()
                );
            }
        }
    }
}

fn intervals_that_ended_go_and_the_rest_of_their_day_stays() {
    let taken = Taken::new();
    taken.take("lmt/filesystem_snx11025.mysqldump.sql", pacific());
    // 24 OSTs with a sample each 5 s from 2018-01-28T08:00:00Z to 08:05:00Z.
    let begin = 1_517_126_400;
    assert_eq!(rows_of(&taken.lake, "lmt_ost").num_rows(), 24 * 61);
    let lmt: Vec<&dyn Source> = vec![&Lmt];
    taken
        .lake
        .forget_before(&lmt, (begin + 100) * 1_000_000)
        .unwrap();
    let rows = rows_of(&taken.lake, "lmt_ost");
    assert_eq!(rows.num_rows(), 24 * 40);
    let times = rows.column_by_name("time").unwrap();
    let times = times.as_primitive::<TimestampMicrosecondType>().values();
    assert_eq!(times.iter().min(), Some(&((begin + 105) * 1_000_000)));
    assert!(taken.lake.check().unwrap().wrong.is_empty());
    // And the whole day.
    taken
        .lake
        .forget_before(&lmt, (begin + 300) * 1_000_000)
        .unwrap();
    assert!(taken.lake.snapshot(None).unwrap().files().is_empty());
}
