//! Tables over data files made by hand: what a scan reads of them, and what is known of their rows.

use super::super::{Engine, EngineOptions};
use super::{ask, block_on, plan};
use crate::engine::scan::job_partitions::JobPartitions;
use crate::engine::scan::lake_table::{LakeTable, ScanFile};
use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::path::Path;
use datafusion::parquet::arrow::ArrowWriter;
use std::fs;
use std::sync::Arc;

/// Writes a Parquet file with the given columns and says what a manifest would.
fn file(
    directory: &std::path::Path,
    name: &str,
    batch: &RecordBatch,
    jobs: (i64, i64),
    start: Option<(i64, i64)>,
) -> ScanFile {
    let path = directory.join(name);
    let mut writer =
        ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    let bytes = fs::metadata(&path).unwrap().len();
    ScanFile {
        location: Path::from_absolute_path(&path).unwrap(),
        bytes,
        rows: batch.num_rows() as u64,
        jobs: Some(jobs),
        time: None,
        fs: None,
        ost: None,
        whole: true,
        start,
    }
}

#[test]
fn columns_that_an_older_file_lacks_are_null_and_null_times_are_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    let ints = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as _;
    let zone = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("job_id", DataType::Int64, false),
        Field::new("start_time", zone, true),
        Field::new("late", DataType::Int64, true),
    ]));
    let old = RecordBatch::try_from_iter([("job_id", ints(&[1, 2]))]).unwrap();
    let times = TimestampMicrosecondArray::from(vec![Some(60_000_000), None]).with_timezone("UTC");
    let new = RecordBatch::try_new(
        schema.clone(),
        vec![ints(&[150, 160]), Arc::new(times), ints(&[5, 6])],
    )
    .unwrap();
    let files = [
        ScanFile {
            whole: false,
            ..file(directory.path(), "old.parquet", &old, (1, 2), None)
        },
        file(
            directory.path(),
            "new.parquet",
            &new,
            (150, 160),
            Some((60_000_000, 60_000_000)),
        ),
    ];
    let cuts = Arc::new(JobPartitions::new(&[100], &[1, 1], 8));
    let url = ObjectStoreUrl::local_filesystem;
    let table = LakeTable::of_jobs(schema.clone(), url(), &files, cuts.clone()).unwrap();
    // A file whose jobs lie in two groups would be read in the wrong one.
    let across = ScanFile {
        jobs: Some((99, 100)),
        ..files[0].clone()
    };
    let error = LakeTable::of_jobs(schema, url(), &[across], cuts).unwrap_err();
    let expected = "holds the jobs 99 to 100, which lie in two ranges";
    assert!(error.to_string().contains(expected), "{error}");
    block_on(async {
        let engine = Engine::new(EngineOptions::default()).unwrap();
        engine
            .context()
            .register_table("t", Arc::new(table))
            .unwrap();
        assert_eq!(
            ask(&engine, "SELECT job_id, late FROM t ORDER BY job_id").await,
            ["1 | NULL", "2 | NULL", "150 | 5", "160 | 6"]
        );
        assert_eq!(
            ask(
                &engine,
                "SELECT job_id FROM t WHERE late IS NULL ORDER BY job_id"
            )
            .await,
            ["1", "2"]
        );
        assert_eq!(
            ask(
                &engine,
                "SELECT job_id FROM t WHERE start_time IS NULL ORDER BY job_id"
            )
            .await,
            ["1", "2", "160"]
        );
        assert_eq!(
            ask(&engine, "SELECT count(start_time), count(*) FROM t").await,
            ["1 | 4"]
        );
        assert_eq!(
            ask(
                &engine,
                "SELECT job_id FROM t WHERE start_time = TIMESTAMP '1970-01-01T00:01:00Z'"
            )
            .await,
            ["150"]
        );
        assert_eq!(
            ask(
                &engine,
                "SELECT count(*) FROM t WHERE start_time > TIMESTAMP '1970-01-01T00:01:00Z'"
            )
            .await,
            ["0"]
        );
    });
}

/// Samples of two file systems over three days: a file for each. What is asked of one OST for a day is read from one of them, and the
/// name of the file system from none.
#[test]
fn a_day_of_one_ost_is_one_file() {
    const DAY: i64 = 86_400_000_000;
    let directory = tempfile::tempdir().unwrap();
    let zone = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("fs", DataType::Utf8View, false),
        Field::new("ost", DataType::Int64, false),
        Field::new("time", zone, false),
    ]));
    let mut files = vec![];
    for fs in ["project", "scratch"] {
        for day in 0..3 {
            let (osts, times): (Vec<i64>, Vec<i64>) = (0..4)
                .flat_map(|ost| (0..24).map(move |hour| (ost, day * DAY + hour * DAY / 24)))
                .unzip();
            let stored = Arc::new(StringViewArray::from(vec!["not read"; osts.len()]));
            let times = TimestampMicrosecondArray::from(times).with_timezone("UTC");
            let columns: Vec<ArrayRef> =
                vec![stored, Arc::new(Int64Array::from(osts)), Arc::new(times)];
            let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
            let name = format!("{fs}-{day}.parquet");
            files.push(ScanFile {
                time: Some((day * DAY, day * DAY + 23 * DAY / 24)),
                fs: Some(fs.to_string()),
                ..file(directory.path(), &name, &batch, (0, 0), None)
            });
        }
    }
    let table = LakeTable::of_days(schema, ObjectStoreUrl::local_filesystem(), &files, 2);
    block_on(async {
        let engine = Engine::new(EngineOptions::default()).unwrap();
        engine
            .context()
            .register_table("samples", Arc::new(table))
            .unwrap();
        let day =
            "time >= TIMESTAMP '1970-01-02T00:00:00Z' AND time < TIMESTAMP '1970-01-03T00:00:00Z'";
        let sql = format!(
            "SELECT count(*), max(fs) FROM samples WHERE fs = 'scratch' AND ost = 2 AND {day}"
        );
        let plan = plan(&engine, &sql).await;
        assert_eq!(plan.matches(".parquet").count(), 1, "{plan}");
        assert!(plan.contains("scratch-1.parquet"), "{plan}");
        assert_eq!(ask(&engine, &sql).await, ["24 | scratch"]);
        assert_eq!(
            ask(
                &engine,
                "SELECT fs, count(*) FROM samples GROUP BY fs ORDER BY fs"
            )
            .await,
            ["project | 288", "scratch | 288"]
        );
    });
}

/// The last sample of each target is found by a join of its groups: with the table, not with all of its rows.
#[test]
fn groups_of_targets_are_known_to_be_few() {
    let second = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("fs", DataType::Utf8View, false),
        Field::new("ost", DataType::Int32, false),
        Field::new("time", second, false),
    ]));
    const DAY: i64 = 86_400_000_000;
    // A month of 100 OSTs, a sample of each every 5 s.
    let files = (0..30).map(|day| ScanFile {
        location: Path::from(format!("/{day}.parquet")),
        bytes: 10 << 20,
        rows: 100 * 17280,
        jobs: None,
        start: None,
        time: Some((day * DAY, (day + 1) * DAY - 5_000_000)),
        fs: Some("scratch".into()),
        ost: None,
        whole: true,
    });
    let url = ObjectStoreUrl::local_filesystem();
    let table = LakeTable::of_days(schema, url, &files.collect::<Vec<_>>(), 2);
    let shown = block_on(async {
        let engine = Engine::new(EngineOptions::default()).unwrap();
        let context = engine.context();
        context.register_table("samples", Arc::new(table)).unwrap();
        let last = "SELECT fs, ost, max(time) AS time FROM samples GROUP BY fs, ost";
        let sql = format!("SELECT s.* FROM samples s JOIN ({last}) l USING (fs, ost, time)");
        plan(&engine, &sql).await
    });
    assert!(shown.contains("HashJoinExec: mode=CollectLeft"), "{shown}");
}
