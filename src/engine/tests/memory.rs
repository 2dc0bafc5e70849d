//! What a budget does.

use super::super::{Engine, EngineOptions};
use super::{batches, block_on};

fn engine(memory: usize) -> Engine {
    Engine::new(EngineOptions {
        memory: Some(memory),
        threads: Some(2),
        settings: vec![("iolode.fallback".into(), "error".into())],
        ..EngineOptions::default()
    })
    .unwrap()
}

/// 2 million rows that are held take some 50 MB.
#[test]
fn a_join_that_does_not_fit_is_tried_again_with_sort_merge() {
    let sql =
        "SELECT count(*), sum(x.a) FROM (SELECT value AS a FROM generate_series(1, 2000000)) y
        JOIN (SELECT value AS a FROM generate_series(1, 2000000)) x ON x.a = y.a";
    block_on(async {
        let engine = engine(24 << 20);
        let frame = engine.sql(sql).await.unwrap();
        let once = frame.collect().await.unwrap_err();
        assert!(super::super::error::is_exhausted(&once), "{once}");
        assert!(once.to_string().contains("HashJoinInput"), "{once}");
        let rows = super::rows(&batches(&engine, sql).await.unwrap());
        assert_eq!(rows, ["2000000 | 2000001000000"]);
    });
}

/// The groups of 1 to 300,000 come in batches that are parts of the same buffers: these are held once. Of `value / 10` those of
/// 1 to 9 are 0 and meet none; the others sum to 10 (1 + .. + 199,999) + 200,000.
#[test]
fn groups_that_a_join_holds_are_counted_once() {
    let sql = "SELECT count(*), sum(g.most) FROM (SELECT value / 10 AS a FROM generate_series(1, 2000000)) x
        JOIN (SELECT value AS b, max(value) AS most FROM generate_series(1, 300000) GROUP BY value) g ON x.a = g.b";
    block_on(async {
        let engine = engine(64 << 20);
        let frame = engine.sql(sql).await.unwrap();
        let answer = frame.collect().await.unwrap();
        assert_eq!(super::rows(&answer), ["1999991 | 199999200000"]);
    });
}

/// With text as views each batch of a merge was counted with the buffers of all others; and the merges of both parts could take all
/// the memory, so that one run of twenty was refused.
#[test]
fn a_sort_of_text_larger_than_the_budget_ends() {
    let sql = "SELECT max(n), max(path) FROM (SELECT row_number() OVER (ORDER BY v, value) AS n, path FROM (
        SELECT value, (value * 48271) % 999983 AS v, arrow_cast(concat('/lus/theta-fs0/projects/of/a/program/that/writes/many/files/with/long/names/', value), 'Utf8View') AS path
        FROM generate_series(1, 400000)))";
    block_on(async {
        assert_eq!(
            super::rows(&batches(&engine(48 << 20), sql).await.unwrap()),
            [
                "400000 | /lus/theta-fs0/projects/of/a/program/that/writes/many/files/with/long/names/99999"
            ]
        );
    });
}

/// One of twenty sorts meets 300,000 rows that come as one batch for each of two partitions, the others 10 rows each. With an equal
/// share of the memory for each the one was refused its first batch.
#[test]
fn one_large_sort_among_many_small_ones_has_the_memory_that_they_leave() {
    let large = "SELECT max(r) AS r FROM (SELECT row_number() OVER (ORDER BY n, v DESC) AS r FROM (
        SELECT value AS v, count(*) OVER (PARTITION BY value % 2) AS n FROM generate_series(1, 300000)))";
    let small = (1..20).map(|i| {
        format!(
            " UNION ALL SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY value % {i} DESC, value) AS r FROM generate_series(1, 10))"
        )
    });
    let sql = format!("SELECT sum(r) FROM ({large}{})", small.collect::<String>());
    block_on(async {
        assert_eq!(
            super::rows(&batches(&engine(32 << 20), &sql).await.unwrap()),
            ["300190"]
        );
    });
}

#[test]
fn a_query_that_fits_in_no_way_says_so_with_its_budget() {
    let sql = "SELECT array_length(percentiles(value)) FROM generate_series(1, 2000000)";
    block_on(async {
        let error = batches(&engine(4 << 20), sql).await.unwrap_err();
        assert!(
            error.starts_with("out of memory: the query needs more than its budget of 4 MiB"),
            "{error}"
        );
        assert!(
            error.ends_with("raise it with --memory, or ask for less at a time"),
            "{error}"
        );
        assert_eq!(
            super::rows(&batches(&engine(512 << 20), sql).await.unwrap()),
            ["101"]
        );
    });
}
