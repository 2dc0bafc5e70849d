//! Plans over a lake: what is repartitioned and what is read, and that the answers are those of plain tables.

use super::{ask, block_on, engine, lake, plan, rows};
use crate::engine::{Engine, EngineOptions, Runner, for_execution};
use crate::lake::Lake;
use async_trait::async_trait;
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use std::sync::Arc;

/// Without these the small tables of a test would be broadcast.
const PARTITIONED: [&str; 2] = [
    "SET datafusion.optimizer.hash_join_single_partition_threshold = 0",
    "SET datafusion.optimizer.hash_join_single_partition_threshold_rows = 0",
];

/// An engine with two threads that partitions all joins.
async fn partitioned(lake: &Lake) -> Engine {
    let engine = engine(lake, 2);
    for set in PARTITIONED {
        ask(&engine, set).await;
    }
    engine
}

const TABLES: [&str; 3] = ["darshan_log", "darshan_file", "darshan_posix"];

/// Questions whose plans may not repartition.
const QUESTIONS: &[&str] = &[
    "SELECT l.job_id, count(*), sum(f.bytes_read) FROM darshan_log l JOIN darshan_file f ON l.job_id = f.job_id GROUP BY l.job_id",
    "SELECT l.log_id, l.app, f.record_id, f.bytes_read FROM darshan_log l JOIN darshan_file f ON l.job_id = f.job_id AND l.log_id = f.log_id",
    "SELECT log_id, app, record_id, f.bytes_written FROM darshan_log l JOIN darshan_file f USING (job_id, log_id)",
    "SELECT l.job_id, count(*) FROM darshan_log l JOIN darshan_file f USING (log_id, job_id) GROUP BY l.job_id",
    "SELECT job_id, log_id, count(p.rank) FROM darshan_log l LEFT JOIN darshan_posix p USING (job_id, log_id) GROUP BY job_id, log_id",
    "SELECT f.job_id, f.log_id, count(*), sum(p.posix_reads) FROM darshan_file f JOIN darshan_posix p USING (job_id, log_id, record_id)
       JOIN darshan_log l USING (job_id, log_id) WHERE l.nprocs > 1 GROUP BY f.job_id, f.log_id",
    "SELECT job_id, sum(bytes_read), count(DISTINCT uid) FROM darshan_log GROUP BY job_id",
    "SELECT job_id, log_id, sum(bytes_read), max(ost_count) FROM darshan_file GROUP BY job_id, log_id",
    "SELECT fs, job_id, ost_count(ost_union(fs, ost_bits)) FROM darshan_file WHERE fs IS NOT NULL GROUP BY job_id, fs",
    "SELECT log_id FROM darshan_log WHERE job_id IN (SELECT job_id FROM darshan_posix WHERE posix_reads > 0)",
    "SELECT log_id, row_number() OVER (PARTITION BY job_id ORDER BY log_id) FROM darshan_log",
    "SELECT l.job_id, l.log_id FROM darshan_log l JOIN darshan_dxt d USING (job_id, log_id)",
    "SELECT l.job_id, count(d.rank) FROM darshan_log l LEFT JOIN darshan_dxt d USING (job_id, log_id) GROUP BY l.job_id",
];

/// The data files of the newest version as plain listing tables.
async fn plain(lake: &Lake) -> SessionContext {
    let context = super::plain(2);
    let snapshot = lake.snapshot(None).unwrap();
    for table in TABLES {
        let files = snapshot.files().iter().filter(|file| file.table == table);
        let paths: Vec<String> = files
            .map(|file| lake.root().unwrap().join(&file.path).display().to_string())
            .collect();
        let frame = context
            .read_parquet(paths, ParquetReadOptions::default())
            .await
            .unwrap();
        context.register_table(table, frame.into_view()).unwrap();
    }
    for function in super::super::functions::SCALAR {
        context.register_udf(function.udf());
    }
    for function in super::super::functions::AGGREGATE {
        context.register_udaf(function.udaf());
    }
    context
}

async fn check(lake: &Lake, all_threads: &[usize]) {
    let (plain, mut expected) = (plain(lake).await, vec![]);
    for sql in QUESTIONS.iter().filter(|sql| !sql.contains("darshan_dxt")) {
        let mut rows = rows(&plain.sql(sql).await.unwrap().collect().await.unwrap());
        rows.sort();
        assert!(!rows.is_empty(), "{sql}");
        expected.push(rows);
    }
    for (threads, hash) in all_threads
        .iter()
        .flat_map(|threads| [(*threads, true), (*threads, false)])
    {
        let engine = engine(lake, threads);
        for set in PARTITIONED.into_iter().map(String::from).chain([format!(
            "SET datafusion.optimizer.prefer_hash_join = {hash}"
        )]) {
            ask(&engine, &set).await;
        }
        for (i, sql) in QUESTIONS.iter().enumerate() {
            let plan = plan(&engine, sql).await;
            // Merge joins on more than job_id are repartitioned: the rule leaves them alone.
            assert!(
                !hash || !plan.contains("RepartitionExec"),
                "{threads} threads: {sql}\n{plan}"
            );
            if let Some(expected) = expected.get(i) {
                let mut found = ask(&engine, sql).await;
                found.sort();
                assert_eq!(
                    found, *expected,
                    "{threads} threads, hash joins {hash}: {sql}"
                );
            }
        }
    }
}

#[test]
fn joins_and_groupings_by_job_need_no_repartition_after_one_ingest_and_after_ten() {
    let directory = tempfile::tempdir().unwrap();
    for (name, steps) in [("one", 1), ("ten", 10)] {
        let lake = lake(&directory.path().join(name), 40, steps, 100_000);
        let ranges = lake.snapshot(None).unwrap().splits().len() + 1;
        assert!(ranges > 8, "{ranges}");
        block_on(check(&lake, &[2, 12]));
    }
}

#[test]
fn a_lake_of_one_range_is_not_repartitioned_either() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 5, 1, 1 << 30);
    assert_eq!(lake.snapshot(None).unwrap().splits(), [] as [i64; 0]);
    block_on(check(&lake, &[2]));
}

#[test]
fn a_condition_on_job_id_reads_one_file_and_on_time_those_of_its_days() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 80, 1, 100_000);
    block_on(async {
        let engine = engine(&lake, 2);
        let jobs = ask(&engine, "SELECT job_id FROM darshan_log ORDER BY job_id").await;
        let job = &jobs[jobs.len() / 2];
        let files = |plan: &str| plan.matches(".parquet").count();
        let all = files(&plan(&engine, "SELECT log_id, job_id FROM darshan_log").await);
        assert!(all > 8, "{all}");
        for sql in [
            format!("SELECT log_id FROM darshan_log WHERE job_id = {job}"),
            format!("SELECT log_id FROM darshan_log WHERE job_id IN ({job}, -5)"),
            format!(
                "SELECT log_id, l.bytes_read FROM (SELECT * FROM darshan_log) l WHERE l.job_id BETWEEN {job} AND {job}"
            ),
        ] {
            assert_eq!(files(&plan(&engine, &sql).await), 1, "{sql}");
            assert_eq!(
                ask(&engine, &sql).await.len(),
                jobs.iter().filter(|other| *other == job).count()
            );
        }
        let bounds = ask(
            &engine,
            "SELECT min(start_time), max(start_time) FROM darshan_log",
        )
        .await;
        let (first, last) = bounds[0].split_once(" | ").unwrap();
        let before =
            format!("SELECT log_id FROM darshan_log WHERE start_time < TIMESTAMP '{first}'");
        assert_eq!(
            (
                files(&plan(&engine, &before).await),
                ask(&engine, &before).await.len()
            ),
            (0, 0)
        );
        let from = format!("SELECT log_id FROM darshan_log WHERE start_time >= TIMESTAMP '{last}'");
        assert!(files(&plan(&engine, &from).await) < all);
        assert!(!ask(&engine, &from).await.is_empty());
        // Of the manifest alone.
        let counted = plan(
            &engine,
            "SELECT count(*), min(job_id), max(job_id) FROM darshan_log",
        )
        .await;
        assert!(counted.contains("PlaceholderRowExec"), "{counted}");
        assert_eq!(
            ask(&engine, "SELECT count(*), min(job_id) FROM darshan_log").await,
            [format!("{} | {}", jobs.len(), jobs[0])]
        );
        assert_eq!(
            ask(&engine, "SELECT count(*) FROM darshan_log LIMIT 1").await,
            [jobs.len().to_string()]
        );
        assert_eq!(
            ask(&engine, "SELECT log_id FROM darshan_log LIMIT 3")
                .await
                .len(),
            3
        );
        assert_eq!(
            ask(
                &engine,
                "SELECT job_id FROM darshan_log ORDER BY job_id DESC LIMIT 1"
            )
            .await,
            [jobs[jobs.len() - 1].clone()]
        );
    });
}

/// DataFusion takes a grouping to give as many rows as it is given, and would hold the rows.
#[test]
fn a_join_holds_the_groups_and_not_the_rows_that_they_were_made_of() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 60, 1, 100_000);
    block_on(async {
        let engine = partitioned(&lake).await;
        let groups = "(SELECT fs, max(write_end_time) AS last FROM darshan_file GROUP BY fs)";
        let plain = plain(&lake).await;
        for sql in [
            format!(
                "SELECT f.log_id, f.record_id FROM darshan_file f JOIN {groups} g ON f.fs = g.fs AND f.write_end_time = g.last"
            ),
            format!(
                "SELECT f.log_id, g.last FROM darshan_file f LEFT JOIN {groups} g ON f.fs = g.fs AND f.write_end_time = g.last"
            ),
        ] {
            let plan = plan(&engine, &sql).await;
            let join = plan.find("HashJoinExec").unwrap();
            // The side that is held comes first in a plan.
            let (grouping, scan) = (
                plan[join..].find("AggregateExec"),
                plan[join..].find("DataSourceExec"),
            );
            assert!(grouping.is_some() && grouping < scan, "{plan}");
            let mut found = ask(&engine, &sql).await;
            let mut expected = rows_of(&plain, &sql).await;
            found.sort();
            expected.sort();
            assert!(!expected.is_empty());
            assert_eq!(found, expected, "{sql}");
        }
    });
}

/// Random statement 2810 of seed 12001: the groups of NULL were closed with each change of `fs`, which was taken for one value.
#[test]
fn one_value_of_the_side_that_is_filled_with_nulls_is_not_one_of_a_partitioned_join() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 60, 1, 100_000);
    block_on(async {
        let engine = partitioned(&lake).await;
        for one in ["f.fs = 'scratch'", "f.fs BETWEEN 'scratch' AND 'scratch'"] {
            let groups = format!(
                "SELECT f.fs, f.writes, f.path, count(*) AS n FROM darshan_posix p LEFT JOIN darshan_file f ON p.job_id = f.job_id AND p.log_id = f.log_id AND {one} \
                 GROUP BY f.fs, f.writes, f.path"
            );
            let plan = plan(&engine, &groups).await;
            assert!(plan.contains("DeclarePartitioning"), "{plan}");
            assert!(!plan.contains("PartiallySorted"), "{plan}");
            let nulls = format!("SELECT fs, n FROM ({groups}) ORDER BY fs NULLS FIRST, n LIMIT 1");
            let alone = format!(
                "SELECT NULL, count(*) FROM darshan_posix p WHERE NOT EXISTS (SELECT 1 FROM darshan_file f WHERE p.log_id = f.log_id AND {one})"
            );
            assert_eq!(ask(&engine, &nulls).await, ask(&engine, &alone).await);
        }
    });
}

/// By hand: of k = 1, v 1, 8 and 15 meet id 3.
#[test]
fn a_column_that_is_selected_twice_above_an_outer_join_may_be_sorted_by_twice() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 1, 1, 100_000);
    block_on(async {
        let engine = engine(&lake, 2);
        for kind in ["FULL", "LEFT"] {
            let sql = format!(
                "SELECT b.id, b.id AS j, a.v FROM (SELECT value % 7 AS k, value AS v FROM generate_series(1, 20)) AS a \
                 {kind} JOIN (SELECT value AS k, value * 3 AS id FROM generate_series(1, 4)) AS b ON a.k = b.k ORDER BY 1, 2, 3 LIMIT 3"
            );
            let first = ["3 | 3 | 1", "3 | 3 | 8", "3 | 3 | 15"];
            assert_eq!(ask(&engine, &sql).await, first);
        }
    });
}

/// Of a condition on subqueries DataFusion takes a fifth of the rows to be left, and of any other as well.
#[test]
fn not_in_holds_the_rows_of_its_subquery_unless_they_are_more() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 60, 1, 100_000);
    block_on(async {
        let engine = engine(&lake, 2);
        let held = async |sql: &str| {
            let plan = plan(&engine, sql).await;
            match (plan.contains("RightAnti"), plan.contains("LeftAnti")) {
                (true, false) => "subquery",
                (false, true) => "table",
                _ => panic!("{plan}"),
            }
        };
        let paths = "(SELECT path FROM darshan_file WHERE path LIKE '%x%')";
        for (table, expected) in [
            ("darshan_file WHERE", "subquery"),
            ("darshan_file WHERE job_id = 6100001 AND", "table"),
            ("darshan_log WHERE", "table"),
        ] {
            let sql = format!("SELECT log_id FROM {table} fs NOT IN {paths}");
            let sql = sql.replace("darshan_log WHERE fs", "darshan_log WHERE app");
            assert_eq!(held(&sql).await, expected, "{sql}");
        }
    });
}

async fn rows_of(plain: &SessionContext, sql: &str) -> Vec<String> {
    rows(&plain.sql(sql).await.unwrap().collect().await.unwrap())
}

/// A look-up by what the files are not cut by: the reader itself filters, so that other columns are decoded where rows pass.
#[test]
fn a_condition_that_singles_out_rows_is_the_readers() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 60, 1, 100_000);
    block_on(async {
        let (engine, plain) = (engine(&lake, 2), plain(&lake).await);
        let record = &ask(&engine, "SELECT max(record_id) FROM darshan_file").await[0];
        for (condition, of_reader) in [
            (format!("record_id = {record}"), true),
            (format!("record_id IN ({record}, 5)"), true),
            (format!("bytes_written >= 0 AND record_id = {record}"), true),
            ("path LIKE '%a%'".to_string(), true),
            ("bytes_written > 1000".to_string(), false),
            ("NOT is_stream".to_string(), false),
        ] {
            let sql =
                format!("SELECT log_id, path, bytes_written FROM darshan_file WHERE {condition}");
            let plan = plan(&engine, &sql).await;
            assert_eq!(!plan.contains("FilterExec"), of_reader, "{plan}");
            let (mut found, mut expected) = (ask(&engine, &sql).await, rows_of(&plain, &sql).await);
            found.sort();
            expected.sort();
            assert!(!expected.is_empty(), "{sql}");
            assert_eq!(found, expected, "{sql}");
        }
    });
}

/// A process that runs a part of a plan applies the rules of `exec` to that part; over a whole plan it is what a session does.
#[test]
fn the_rules_of_exec_applied_afterwards_give_the_plan_of_a_session_that_applies_them() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 60, 1, 100_000);
    block_on(async {
        let (whole, planned) = (engine(&lake, 2), engine(&lake, 2));
        for rule in crate::engine::exec::rules() {
            ask(&planned, &format!("SET iolode.{} = off", rule.name())).await;
        }
        let show = |plan: &Arc<dyn ExecutionPlan>| displayable(&**plan).indent(false).to_string();
        let mut replaced = 0;
        for sql in QUESTIONS {
            let frame = planned.sql(sql).await.unwrap();
            let before = frame.create_physical_plan().await.unwrap();
            let (state, logical) = whole.sql(sql).await.unwrap().into_parts();
            let expected = state.create_physical_plan(&logical).await.unwrap();
            let after = for_execution(before.clone(), state.config_options()).unwrap();
            assert_eq!(show(&after), show(&expected), "{sql}");
            replaced += usize::from(show(&after) != show(&before));
        }
        assert!(replaced > 5, "{replaced}");
    });
}

/// A cluster of so many cores that takes no plan.
#[derive(Debug)]
struct Cores(usize);

#[async_trait]
impl Runner for Cores {
    fn least_bytes(&self) -> u64 {
        0
    }

    fn least_width(&self, threads: usize) -> usize {
        threads + 1
    }

    async fn width(&self) -> crate::Result<usize> {
        Ok(self.0)
    }

    fn configure(&self, config: SessionConfig) -> SessionConfig {
        config
    }

    fn resent(&self) -> usize {
        0
    }

    fn distribute(
        &self,
        _: Arc<dyn ExecutionPlan>,
        _: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>, String> {
        Err("it was asked".into())
    }
}

#[test]
fn a_cluster_of_no_more_cores_than_threads_is_not_asked_to_run_a_plan() {
    let directory = tempfile::tempdir().unwrap();
    let lake = Arc::new(lake(directory.path(), 5, 1, 1 << 30));
    for (cores, why) in [
        (
            2,
            "the cluster has 2 cores, which is no more than the 2 threads of this process",
        ),
        (3, "it was asked"),
    ] {
        let engine = Engine::new(EngineOptions {
            lakes: vec![("month".into(), lake.clone(), None)],
            threads: Some(2),
            runner: Some(Arc::new(Cores(cores))),
            ..EngineOptions::default()
        });
        let shown = block_on(plan(
            &engine.unwrap(),
            "SELECT sum(nprocs) FROM darshan_log",
        ));
        assert!(shown.contains(&format!("in process: {why}")), "{shown}");
    }
}
