//! What names mean in a named query, a view or a user's function, whatever names stand around it.

use super::super::{Engine, EngineOptions};
use super::{ask, batches, block_on, engine, lake};
use crate::lake::Lake;
use std::sync::Arc;

/// Each pair of statements has the same answer, which has a row.
async fn same(engine: &Engine, pairs: &[(&str, &str)]) {
    for (around, alone) in pairs {
        let expected = ask(engine, alone).await;
        assert!(!expected.is_empty(), "{alone}");
        assert_eq!(ask(engine, around).await, expected, "{around}");
    }
}

#[test]
fn what_a_named_query_or_a_view_reads_is_the_lakes_whatever_names_stand_around_it() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 40, 1, 1 << 30);
    let views = "SELECT count(*), sum(bytes_written) FROM darshan_job";
    block_on(async {
        let engine = engine(&lake, 2);
        for sql in [
            "CREATE TABLE mine AS SELECT 7 AS n",
            "CREATE VIEW seen AS SELECT n FROM mine",
            "CREATE TABLE ordered AS SELECT 1 AS job_id",
            "CREATE VIEW written AS SELECT count(*) AS n FROM top_write()",
        ] {
            ask(&engine, sql).await;
        }
        same(
            &engine,
            &[
                (
                    "WITH darshan_log AS (SELECT 1 AS app) SELECT * FROM top_write()",
                    "SELECT * FROM top_write()",
                ),
                (
                    "SELECT * FROM (WITH darshan_log AS (SELECT * FROM darshan_log LIMIT 0) SELECT t.app FROM top_write() AS t) AS u",
                    "SELECT app FROM top_write()",
                ),
                // `critical` is a part of perf_factors, `log` one of others, and low_read asks another query.
                (
                    "WITH darshan_log AS (SELECT 1), critical AS (SELECT 1), darshan_file AS (SELECT 1), log AS (SELECT 2)
                     SELECT count(*) FROM low_read_bandwidth(min_nprocs => 1, min_bytes => 1, max_bw => 1e18)",
                    "SELECT count(*) FROM low_read_bandwidth(min_nprocs => 1, min_bytes => 1, max_bw => 1e18)",
                ),
                // Views: their tables, and their parts.
                (
                    &format!("WITH darshan_log AS (SELECT 1), numbered AS (SELECT 1), darshan_log_group AS (SELECT 1), ordered AS (SELECT 1) {views}"),
                    views,
                ),
                ("WITH mine AS (SELECT 8 AS n) SELECT n FROM seen", "SELECT 7"),
                (
                    "WITH darshan_log AS (SELECT 1 AS app) SELECT n FROM written",
                    "SELECT count(*) FROM top_write()",
                ),
            ],
        )
        .await;
    });
}

#[test]
fn the_values_of_parameters_are_the_users() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 40, 1, 1 << 30);
    block_on(async {
        let engine = engine(&lake, 2);
        let all =
            "SELECT count(*), sum(bytes_written) FROM logs_that_wrote_less(limit => 100000000)";
        same(
            &engine,
            &[
                // The user's table, though the lake has one of that name.
                (
                    "WITH darshan_log AS (SELECT 100000000 AS most)
                     SELECT count(*), sum(bytes_written) FROM logs_that_wrote_less(limit => (SELECT most FROM darshan_log))",
                    all,
                ),
                // The user's parts, though the query has one of that name.
                (
                    "WITH unit AS (SELECT 100000000 AS bytes_written)
                     SELECT count(*), sum(bytes_written) FROM logs_that_wrote_less(limit => (SELECT max(bytes_written) FROM unit))",
                    all,
                ),
                // Through a query that another asks.
                (
                    "WITH p AS (SELECT 1e18 AS bw) SELECT count(*) FROM low_read_bandwidth(min_nprocs => 1, min_bytes => 1, max_bw => (SELECT bw FROM p))",
                    "SELECT count(*) FROM low_read_bandwidth(min_nprocs => 1, min_bytes => 1, max_bw => 1e18)",
                ),
                // A query within a value, and itself within its own.
                (
                    "SELECT count(*) FROM logs_that_wrote_less(limit => (SELECT max(bytes_written) + 1 FROM logs_that_wrote_less(limit => 100000000)))",
                    "SELECT count(*) FROM logs_that_wrote_less(limit => 100000000)",
                ),
                (
                    "SELECT count(*), sum(bytes_written) FROM logs_that_wrote_less(limit => 1e8 + 0)",
                    all,
                ),
            ],
        )
        .await;
        // Columns of the query are not there for a value.
        for (sql, error) in [
            (
                "SELECT * FROM logs_that_wrote_less(limit => bytes_written)",
                "unknown column `bytes_written`",
            ),
            (
                "SELECT * FROM logs_that_wrote_less(limit => (SELECT max(x) FROM (VALUES (1)) AS t(x) WHERE x < bytes_written))",
                "unknown column `bytes_written`",
            ),
            (
                "SELECT * FROM top_users_and_programs(by => user)",
                "unknown column `user`",
            ),
        ] {
            assert_eq!(batches(&engine, sql).await.unwrap_err(), error, "{sql}");
        }
    });
}

#[test]
fn a_named_query_asks_the_lake_whose_name_stands_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let full = lake(directory.path(), 20, 1, 1 << 30);
    let lakes = [("a", Lake::in_memory().unwrap()), ("B.c", full.clone())];
    block_on(async {
        let engine = Engine::new(EngineOptions {
            lakes: lakes
                .map(|(name, lake)| (name.to_string(), Arc::new(lake), None))
                .into(),
            threads: Some(2),
            settings: vec![("iolode.fallback".into(), "error".into())],
            ..EngineOptions::default()
        })
        .unwrap();
        let logs = ask(&engine, "SELECT count(*) FROM \"B.c\".darshan_log").await;
        assert_ne!(logs, ["0"]);
        for (sql, answer) in [
            (
                "SELECT count(*) FROM logs_that_wrote_less(limit => 1e18)",
                "0",
            ),
            (
                "SELECT count(*) FROM a.logs_that_wrote_less(limit => 1e18)",
                "0",
            ),
            (
                "SELECT count(*) FROM \"B.c\".logs_that_wrote_less(limit => 1e18)",
                logs[0].as_str(),
            ),
            // A value's tables are those of the statement, not those of the query.
            (
                "SELECT count(*) FROM \"B.c\".logs_that_wrote_less(limit => (SELECT count(*) + 1e18 FROM darshan_log))",
                logs[0].as_str(),
            ),
            (
                "SELECT count(*) FROM \"B.c\".logs_that_wrote_less(limit => (SELECT count(*) FROM darshan_log))",
                "0",
            ),
            // A query that asks another.
            (
                "SELECT count(*) > 0 FROM \"B.c\".low_write_bandwidth(0, 0, 1e18)",
                "true",
            ),
            ("SELECT count(*) FROM low_write_bandwidth(0, 0, 1e18)", "0"),
        ] {
            assert_eq!(ask(&engine, sql).await, [answer], "{sql}");
        }
        for (sql, error) in [
            (
                "SELECT * FROM b.top_write()",
                "unknown lake `b`; did you mean `a`?",
            ),
            (
                "WITH \"a.darshan_log\" AS (SELECT 1 AS app) SELECT * FROM top_write()",
                "`a.darshan_log` is the name of a table of the lake; name this part of WITH differently",
            ),
        ] {
            assert_eq!(batches(&engine, sql).await.unwrap_err(), error, "{sql}");
        }
    });
}

#[test]
fn a_lake_has_a_name_of_its_own_that_is_not_reserved() {
    let refused = |names: &[&str]| {
        let lake = |name: &&str| (name.to_string(), Arc::new(Lake::in_memory().unwrap()), None);
        let options = EngineOptions {
            lakes: names.iter().map(lake).collect(),
            ..EngineOptions::default()
        };
        Engine::new(options).err().unwrap().to_string()
    };
    let reserved = "a lake cannot be `information_schema` in SQL; name it differently";
    assert_eq!(refused(&["information_schema"]), reserved);
    let twice = "two lakes cannot both be `cori` in SQL; name one differently";
    assert_eq!(refused(&["cori", "cori"]), twice);
}
