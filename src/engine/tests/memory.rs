//! What a budget does.

use super::super::{Engine, EngineOptions};
use super::{batches, block_on};

fn engine(memory: usize) -> Engine {
    Engine::new(EngineOptions {
        memory: Some(memory),
        threads: Some(2),
        ..EngineOptions::default()
    })
    .unwrap()
}

#[test]
fn a_hash_join_that_does_not_fit_is_tried_again_with_sort_merge() {
    // 2 million keys on either side take some 50 MB in hash tables.
    let sql =
        "SELECT count(*), sum(x.a) FROM (SELECT value AS a FROM generate_series(1, 2000000)) x
        JOIN (SELECT value AS a FROM generate_series(1, 2000000)) y ON x.a = y.a";
    block_on(async {
        let engine = engine(24 << 20);
        let frame = engine.sql(sql).await.unwrap();
        let once = frame.collect().await.unwrap_err();
        assert!(super::super::error::is_exhausted(&once), "{once}");
        assert_eq!(
            super::rows(&batches(&engine, sql).await.unwrap()),
            ["2000000 | 2000001000000"]
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
