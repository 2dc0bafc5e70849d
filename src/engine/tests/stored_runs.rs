//! Groupings of runs as Parquet stores them, against DataFusion's own of the rows.

use super::joins::session;
use super::{block_on, rows};
use crate::engine::logical::canonical_floats;
use crate::engine::session::state::runtime;
use crate::math::random::Random;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::{WriterProperties, WriterVersion};
use datafusion::physical_plan::collect;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use std::iter::repeat_n;
use std::path::Path;
use std::sync::Arc;

/// Rows in runs of up to so many, with values of each kind, NULL among them.
fn table(random: &mut Random, count: usize, longest: i64) -> RecordBatch {
    let mut keys = vec![];
    while keys.len() < count {
        let length = (random.int(1, longest) as usize).min(count - keys.len());
        keys.extend(repeat_n(random.int(0, 60), length));
    }
    let some = |of: fn(i64) -> i64, none: i64| {
        let value = move |key: &i64| (key % none > 0).then(|| of(*key));
        keys.iter().map(value).collect::<Vec<_>>()
    };
    let text = |of: fn(i64) -> String| keys.iter().map(|key| of(*key)).collect::<Vec<_>>();
    let floats = |key: &i64| (key % 4 > 0).then(|| [0.0, -0.0, 1.5, -2.25][*key as usize % 4]);
    let unsigned = some(|key| key % 3, 5).into_iter();
    let columns: [(&str, ArrayRef); 9] = [
        ("n", Arc::new(Int64Array::from(some(|key| key % 17, 6)))),
        (
            "u",
            Arc::new(
                unsigned
                    .map(|v| v.map(|v| u64::MAX - v as u64))
                    .collect::<UInt64Array>(),
            ),
        ),
        (
            "ost",
            Arc::new(
                some(|key| key % 8, 9)
                    .iter()
                    .map(|v| v.map(|v| v as i32))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            "text",
            Arc::new(StringArray::from(text(|key| format!("text {}", key % 7)))),
        ),
        (
            "long",
            Arc::new(StringArray::from_iter(keys.iter().map(|key| {
                (key % 6 > 0).then(|| format!("longer than a view holds by itself {}", key % 3))
            }))),
        ),
        (
            "flag",
            Arc::new(
                keys.iter()
                    .map(|key| (key % 7 > 0).then_some(key % 2 > 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "time",
            Arc::new(
                TimestampMicrosecondArray::from(some(|key| key * 1_000_000, 8))
                    .with_timezone("UTC"),
            ),
        ),
        (
            "f",
            Arc::new(keys.iter().map(floats).collect::<Float64Array>()),
        ),
        ("no", Arc::new(Int64Array::from(vec![None; count]))),
    ];
    let columns = columns.map(|(name, column)| (name, column, name != "text"));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A file as some writer may make it: pages and dictionaries of any size, both versions of pages.
fn write(random: &mut Random, table: &RecordBatch, compression: Compression) -> Vec<u8> {
    let version = *random.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_data_page_row_count_limit(*random.pick(&[1000, 5000, 100_000]))
        .set_write_batch_size(*random.pick(&[7, 64, 1024]))
        .set_max_row_group_row_count(Some(*random.pick(&[3000, 9000, 100_000])))
        .set_dictionary_enabled(random.chance(0.9))
        // Behind a full dictionary values stand by themselves.
        .set_dictionary_page_size_limit(*random.pick(&[100, 400, 400, 100_000]));
    // The second version writes numbers and texts in ways that only DataFusion's scan reads, once the dictionary is full.
    let properties = properties.set_writer_version(version);
    let mut bytes = vec![];
    let mut writer =
        ArrowWriter::try_new(&mut bytes, table.schema(), Some(properties.build())).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
    bytes
}

fn question(random: &mut Random) -> String {
    let keys = [
        "n",
        "u",
        "ost",
        "text",
        "long",
        "flag",
        "time",
        "f",
        "no",
        "n, text",
        "long, n, flag",
        "n % 3",
        "coalesce(long, text)",
        "time, u, ost",
    ];
    let functions = [
        "count(*)",
        "count(n)",
        "count(long)",
        "count(*) FILTER (WHERE n > 5)",
        "sum(n)",
        "sum(CAST(u AS DECIMAL(20, 0)) / 1000)",
        "sum(n + ost) FILTER (WHERE flag)",
        "min(n)",
        "max(time)",
        "min(f)",
        "set_agg(n)",
        "count(no)",
    ];
    let condition = [
        "",
        " WHERE flag",
        " WHERE NOT flag",
        " WHERE long IS NOT NULL AND n IS NOT NULL",
        " WHERE n IS NULL",
        " WHERE no IS NOT NULL",
    ];
    let chosen: Vec<String> = (0..random.int(1, 4))
        .map(|i| format!("{} AS c{i}", random.pick(&functions)))
        .collect();
    let (chosen, condition) = (chosen.join(", "), random.pick(&condition));
    match random.chance(0.9) {
        true => {
            let key = random.pick(&keys);
            format!("SELECT {key}, {chosen} FROM r{condition} GROUP BY {key}")
        }
        false => format!("SELECT {chosen} FROM r{condition}"),
    }
}

/// The plan with what it counted, and the rows.
async fn ask(context: &SessionContext, sql: &str) -> Result<(String, Vec<String>), String> {
    let run = async {
        let plan = context.sql(sql).await?.create_physical_plan().await?;
        let batches = collect(plan.clone(), context.task_ctx()).await?;
        let text = DisplayableExecutionPlan::with_metrics(plan.as_ref());
        Ok::<_, datafusion::error::DataFusionError>((text.indent(true).to_string(), batches))
    };
    let (plan, batches) = run.await.map_err(|e| e.to_string())?;
    let mut rows = rows(&batches);
    rows.sort();
    Ok((plan, rows))
}

/// The same rows with the floats that a scan of files gives.
fn canonical_floats(table: &RecordBatch) -> RecordBatch {
    let columns = table.columns().iter().cloned().map(canonical_floats::array);
    RecordBatch::try_new(table.schema(), columns.collect()).unwrap()
}

async fn over_files(directory: &Path, threads: usize) -> SessionContext {
    let context = session(threads, true, &runtime(2, None).unwrap(), &[]);
    let directory = directory.to_str().unwrap();
    let parquet = ParquetReadOptions::default();
    context
        .register_parquet("r", directory, parquet)
        .await
        .unwrap();
    context
}

#[test]
fn runs_as_they_are_stored_give_what_rows_give() {
    let (mut runs, mut by_rows) = (0, 0);
    block_on(async {
        for case in 0..60 {
            let mut random = Random::new(41, case);
            let directory = tempfile::tempdir().unwrap();
            let plain = super::plain(1);
            for function in crate::engine::functions::AGGREGATE {
                plain.register_udaf(function.udaf());
            }
            let mut tables = vec![];
            let files = random.int(1, 4);
            for file in 0..files {
                let (count, longest) = (
                    *random.pick(&[300, 20_000, 20_000]),
                    *random.pick(&[3, 60, 400, 400]),
                );
                let table = table(&mut random, count, longest);
                let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
                let bytes = write(&mut random, &table, zstd);
                std::fs::write(directory.path().join(format!("{file}.parquet")), bytes).unwrap();
                tables.push(canonical_floats(&table));
            }
            let table = MemTable::try_new(tables[0].schema(), vec![tables]).unwrap();
            plain.register_table("r", Arc::new(table)).unwrap();
            // A scan of one file for two threads is followed by a node that deals out the rows.
            let ours = over_files(directory.path(), files.clamp(1, 2) as usize).await;
            for _ in 0..12 {
                let sql = question(&mut random);
                let (_, expected) = ask(&plain, &sql).await.unwrap();
                let (plan, found) = ask(&ours, &sql).await.unwrap();
                assert_eq!(found, expected, "case {case}: {sql}\n{plan}");
                runs += usize::from(plan.contains("stored_runs="));
                by_rows += usize::from(!plan.contains("stored_runs="));
            }
        }
    });
    assert!(runs > 80 && by_rows > 50, "{runs}, {by_rows}");
}

/// 40 rows of n = 1, of which 30 have text, then 60 of n = 2, none of which has.
fn few() -> RecordBatch {
    let n: Int64Array = (0..100)
        .map(|row| Some(if row < 40 { 1 } else { 2 }))
        .collect();
    let text: StringArray = (0..100).map(|row| (row < 30).then_some("a")).collect();
    let each: Int64Array = (0..100).map(Some).collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(n)),
        ("text", Arc::new(text)),
        ("each", Arc::new(each)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

async fn over_few(directory: &Path) -> SessionContext {
    let mut bytes = vec![];
    let mut writer = ArrowWriter::try_new(&mut bytes, few().schema(), None).unwrap();
    writer.write(&few()).unwrap();
    writer.close().unwrap();
    std::fs::write(directory.join("few.parquet"), bytes).unwrap();
    over_files(directory, 1).await
}

#[test]
fn a_row_stands_for_all_that_are_alike() {
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let context = over_few(directory.path()).await;
        let sql = "SELECT n, count(*), count(text), sum(n) FROM r GROUP BY n";
        let (plan, found) = ask(&context, sql).await.unwrap();
        assert_eq!(found, ["1 | 40 | 30 | 40", "2 | 60 | 0 | 120"]);
        // n changes once, text once.
        assert!(plan.contains("stored_runs=3"), "{plan}");
        // What lacks a text is not even a run.
        let sql = "SELECT n, count(*) FROM r WHERE text IS NOT NULL GROUP BY n";
        let (plan, found) = ask(&context, sql).await.unwrap();
        assert_eq!(found, ["1 | 30"]);
        assert!(plan.contains("stored_runs=1"), "{plan}");
    });
}

#[test]
fn rows_are_read_where_each_counts_or_a_filter_may_leave_out_pages() {
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let context = over_few(directory.path()).await;
        for (sql, expected) in [
            // Each row has its own value.
            (
                "SELECT n, sum(each) FROM r GROUP BY n",
                ["1 | 780", "2 | 4170"],
            ),
            // Floats are rounded after each row.
            (
                "SELECT n, sum(n * 0.5) FROM r GROUP BY n",
                ["1 | 20.0", "2 | 60.0"],
            ),
            (
                "SELECT n, count(*) FROM r WHERE n < 3 GROUP BY n",
                ["1 | 40", "2 | 60"],
            ),
            (
                "SELECT n, count(*) FROM r WHERE random() < 2 GROUP BY n",
                ["1 | 40", "2 | 60"],
            ),
            (
                "SELECT n, count(*) FILTER (WHERE random() < 2) FROM r GROUP BY n",
                ["1 | 40", "2 | 60"],
            ),
        ] {
            let (plan, found) = ask(&context, sql).await.unwrap();
            assert_eq!(found, expected, "{sql}");
            assert!(!plan.contains("stored_runs="), "{sql}\n{plan}");
        }
    });
}

#[test]
fn a_scan_that_filters_by_itself_gives_rows() {
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let context = over_few(directory.path()).await;
        let own = "SET datafusion.execution.parquet.pushdown_filters = true";
        context.sql(own).await.unwrap();
        let sql = "SELECT text, count(*) FROM r WHERE text IS NOT NULL GROUP BY text";
        let (plan, found) = ask(&context, sql).await.unwrap();
        assert_eq!(found, ["a | 30"]);
        assert!(!plan.contains("stored_runs="), "{plan}");
    });
}

/// Four times 3e18 is no number of 64 bits.
#[test]
fn a_sum_that_fits_row_by_row_is_no_error() {
    let n: Int64Array = (0..1000).map(|row| Some(row / 500)).collect();
    let large = [-9, 3, 3, 3, 3].map(|v| v * 1_000_000_000_000_000_000);
    let v: Int64Array = (0..1000)
        .map(|row| Some(*large.get(row).unwrap_or(&0)))
        .collect();
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("v", Arc::new(v))];
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = vec![];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(&mut bytes, table.schema(), None).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    std::fs::write(directory.path().join("large.parquet"), bytes).unwrap();
    block_on(async {
        let context = over_files(directory.path(), 1).await;
        let (plan, found) = ask(&context, "SELECT n, sum(v) FROM r GROUP BY n")
            .await
            .unwrap();
        assert_eq!(found, ["0 | 3000000000000000000", "1 | 0"]);
        assert!(plan.contains("stored_runs=4"), "{plan}");
    });
}
