//! What a join holds bounds what is read of its other side. Files that nothing held can meet are not there, so that reading one of
//! them is an error.

use super::block_on;
use super::joins::{RANGES, Row, WIDTH, schema, session, sorted, write};
use crate::engine::scan::job_partitions::JobPartitions;
use crate::engine::scan::lake_table::{LakeTable, ScanFile, scanned};
use crate::engine::session::state::runtime;
use crate::math::random::Random;
use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStoreExt, PutPayload};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// `few` has jobs 305 to 308, their ids also as k, and `wide` 20 jobs of each range, of which files those of the third alone are there if
/// `gone`. v is the job id.
async fn tables(gone: bool, repartition: bool) -> SessionContext {
    let (store, runtime) = (Arc::new(InMemory::new()), runtime(2, None).unwrap());
    let url = ObjectStoreUrl::parse("memory://bounds/").unwrap();
    runtime.register_object_store(url.as_ref(), store.clone());
    let setting = [("datafusion.optimizer.repartition_joins", repartition)];
    let context = session(3, true, &runtime, &setting);
    let splits: Vec<i64> = (1..RANGES).map(|range| range * WIDTH).collect();
    let cuts = Arc::new(JobPartitions::new(&splits, &[1; RANGES as usize], 3));
    let row = |job: i64| (job, job % 7, Some(job), job);
    let few: Vec<Row> = (305..309).map(row).collect();
    let jobs = (0..RANGES).flat_map(|range| (0..20).map(move |job| range * WIDTH + job));
    let all: Vec<Row> = jobs.map(row).collect();
    for (name, rows) in [("few", few), ("wide", all)] {
        let files: Vec<ScanFile> = write(&store, name, &rows, false, &mut Random::new(1, 1)).await;
        let table = LakeTable::of_jobs(schema(), url.clone(), &files, cuts.clone());
        context
            .register_table(name, Arc::new(table.unwrap()))
            .unwrap();
        let other = |file: &&ScanFile| file.jobs.unwrap().0 / WIDTH != 3;
        for file in files.iter().filter(other).filter(|_| gone) {
            store.delete(&file.location).await.unwrap();
        }
    }
    context
}

/// The rows of `few`, by hand.
const FOUR: [&str; 4] = ["305", "306", "307", "308"];

#[test]
fn what_no_held_row_can_meet_is_not_read() {
    for (sql, expected) in [
        // Cut alike: what each group holds bounds that group.
        (
            "SELECT y.v FROM few x JOIN wide y ON x.job_id = y.job_id",
            &FOUR[..],
        ),
        (
            "SELECT y.v FROM few x JOIN wide y ON x.job_id = y.job_id AND x.log_id = y.log_id",
            &FOUR,
        ),
        // Exchanged by another key: all that is held bounds all.
        ("SELECT y.v FROM few x JOIN wide y ON x.k = y.job_id", &FOUR),
        (
            "SELECT y.v FROM wide y JOIN few x ON x.k = y.job_id WHERE y.v > 306",
            &FOUR[2..],
        ),
        (
            "SELECT v FROM wide WHERE job_id IN (SELECT k FROM few)",
            &FOUR,
        ),
        (
            "SELECT y.v FROM few x LEFT JOIN wide y ON x.k = y.job_id AND y.v > 307",
            &["308", "NULL", "NULL", "NULL"],
        ),
        // Below it a semi join of its own.
        (
            "SELECT y.v FROM few x JOIN wide y ON x.k = y.job_id WHERE y.v IN (SELECT job_id + 1 FROM few)",
            &FOUR[1..],
        ),
        // Through a projection, and a grouping by the key.
        (
            "SELECT y.w FROM few x JOIN (SELECT v + 1 AS w, job_id AS j FROM wide) y ON x.k = y.j",
            &["306", "307", "308", "309"],
        ),
        (
            "SELECT y.w FROM few x JOIN (SELECT sum(v) AS w, job_id FROM wide GROUP BY job_id) y ON x.k = y.job_id",
            &FOUR,
        ),
    ] {
        for repartition in [true, false] {
            let found = block_on(async { sorted(&tables(true, repartition).await, sql).await });
            let (plan, rows) = found.unwrap_or_else(|e| panic!("{sql}, {repartition}: {e}"));
            assert_eq!(rows, expected, "{sql}, {repartition}\n{plan}");
        }
    }
}

#[test]
fn what_an_answer_needs_is_read_all_the_same() {
    for sql in [
        "SELECT y.v FROM wide y LEFT JOIN few x ON x.k = y.job_id",
        "SELECT y.v FROM wide y FULL JOIN few x ON x.job_id = y.job_id",
        "SELECT y.v FROM wide y WHERE NOT EXISTS (SELECT 1 FROM few x WHERE x.k = y.job_id)",
        "SELECT v FROM wide WHERE job_id NOT IN (SELECT k FROM few)",
        // Of the sums of another column no one is known before all rows are.
        "SELECT y.w FROM few x JOIN (SELECT sum(job_id) AS w FROM wide GROUP BY log_id) y ON x.k = y.w",
        // Another number of rows would come first.
        "SELECT y.v FROM few x JOIN (SELECT * FROM wide LIMIT 200) y ON x.k = y.job_id",
        "SELECT y.n FROM few x JOIN (SELECT job_id, row_number() OVER (ORDER BY v) AS n FROM wide) y ON x.k = y.job_id",
    ] {
        for repartition in [true, false] {
            let error = block_on(async { sorted(&tables(true, repartition).await, sql).await });
            let error = error.expect_err(sql);
            assert!(error.contains("not found"), "{sql}: {error}");
            let all = block_on(async { sorted(&tables(false, repartition).await, sql).await });
            assert!(all.is_ok(), "{sql}: {all:?}");
        }
    }
}

#[test]
fn files_that_any_group_may_read_are_left_out_by_time() {
    let (store, runtime) = (Arc::new(InMemory::new()), runtime(2, None).unwrap());
    let url = ObjectStoreUrl::parse("memory://bounds/").unwrap();
    runtime.register_object_store(url.as_ref(), store.clone());
    let context = session(3, true, &runtime, &[]);
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("fs", DataType::Utf8, false),
        Field::new("time", time, false),
        Field::new("ost", DataType::Int32, false),
    ]));
    const DAY: i64 = 86_400_000_000;
    let mut files = vec![];
    for day in 0..6 {
        // Noon and midnight of OSTs 0 to 4.
        let times = (0..10).map(|i| day * DAY + i % 2 * DAY / 2);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec!["scratch"; 10])),
            Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC")),
            Arc::new(Int32Array::from_iter_values((0..10).map(|i| i / 2))),
        ];
        let rows = RecordBatch::try_new(schema.clone(), columns).unwrap();
        let (location, mut bytes) = (Path::from(format!("{day}.parquet")), vec![]);
        let mut writer = ArrowWriter::try_new(&mut bytes, schema.clone(), None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        files.push(ScanFile {
            location: location.clone(),
            bytes: bytes.len() as u64,
            rows: 10,
            jobs: None,
            start: None,
            time: Some((day * DAY, day * DAY + DAY / 2)),
            fs: Some("scratch".into()),
            ost: None,
            whole: true,
        });
        if day == 4 {
            let put = store.put(&location, PutPayload::from(bytes));
            block_on(put).unwrap();
        }
    }
    let table = LakeTable::of_days(scanned(&schema), url, &files, 3);
    context.register_table("samples", Arc::new(table)).unwrap();
    let held = "(SELECT arrow_cast(value * 43200000000, 'Timestamp(µs, \"UTC\")') AS t, value % 5 AS ost FROM generate_series(8, 9)) v";
    for (sql, expected) in [
        // By hand: midnight and noon of the fourth day, of all five OSTs.
        (
            format!("SELECT count(*) FROM {held} JOIN samples s ON s.time = v.t"),
            "10",
        ),
        // OST 3 at midnight, OST 4 at noon.
        (
            format!("SELECT count(*) FROM {held} JOIN samples s ON s.time = v.t AND s.ost = v.ost"),
            "2",
        ),
    ] {
        let found = block_on(sorted(&context, &sql));
        assert_eq!(found.unwrap().1, [expected], "{sql}");
    }
}

/// The scan reads what the join will hold of the others before it reads a row.
#[test]
fn partitions_may_be_asked_for_one_after_the_other() {
    let rows = block_on(async {
        let context = tables(true, true).await;
        let sql = "SELECT y.v FROM few x JOIN wide y ON x.k = y.job_id";
        let plan = context.sql(sql).await.unwrap();
        let plan = plan.create_physical_plan().await.unwrap();
        let mut rows = vec![];
        for partition in 0..plan.output_partitioning().partition_count() {
            let stream = plan.execute(partition, context.task_ctx()).unwrap();
            rows.extend(super::rows(&stream.try_collect::<Vec<_>>().await.unwrap()));
        }
        rows.sort();
        rows
    });
    assert_eq!(rows, FOUR);
}

/// Each is begun, and then read to its end before the next is read on. Whoever waits for a partition reads it, too.
#[test]
fn a_partition_that_nobody_reads_on_holds_up_no_other() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let rows = block_on(async {
            let context = tables(true, true).await;
            let sql = "SELECT y.v FROM few x JOIN wide y ON x.k = y.job_id";
            let plan = context.sql(sql).await.unwrap();
            let plan = plan.create_physical_plan().await.unwrap();
            assert_eq!(plan.output_partitioning().partition_count(), order.len());
            let execute = |partition| plan.execute(partition, context.task_ctx()).unwrap();
            let mut streams: Vec<_> = (0..order.len()).map(execute).collect();
            let mut rows = vec![];
            for stream in &mut streams {
                if let Poll::Ready(Some(batch)) = futures::poll!(stream.next()) {
                    rows.extend(super::rows(&[batch.unwrap()]));
                }
            }
            for partition in order {
                let rest = streams[partition].by_ref().try_collect::<Vec<_>>();
                let rest = tokio::time::timeout(Duration::from_secs(60), rest).await;
                rows.extend(super::rows(&rest.unwrap().unwrap()));
            }
            rows.sort();
            rows
        });
        assert_eq!(rows, FOUR);
    }
}

/// By hand: from job 5 on in steps of 100, as long as there is one.
#[test]
fn a_recursive_query_meets_other_rows_each_time() {
    let sql = "WITH RECURSIVE step AS (SELECT CAST(5 AS BIGINT) AS j UNION ALL SELECT y.job_id + 100 FROM step JOIN wide y ON y.job_id = step.j) SELECT count(*), max(j) FROM step";
    for repartition in [true, false] {
        let found = block_on(async { sorted(&tables(false, repartition).await, sql).await });
        assert_eq!(found.unwrap().1, ["13 | 1205"]);
    }
}
