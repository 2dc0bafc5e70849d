//! Ids that are told apart part by part, against DataFusion's own grouping.

use super::super::{Engine, EngineOptions};
use super::joins::{session, sorted};
use super::{batches, block_on, rows};
use crate::engine::session::state::runtime;
use crate::math::random::Random;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use std::sync::Arc;

/// Ids of each kind, of which some come again, some are NULL and some at the ends of what there is.
fn ids(random: &mut Random, count: usize) -> RecordBatch {
    let differ = *random.pick(&[1, 50, 20_000, 1 << 40]);
    let null = *random.pick(&[0.0, 0.1, 1.0]);
    let mut id = || {
        let ends = [i64::MIN, i64::MAX, 0, -1];
        let id = match random.chance(0.01) {
            true => *random.pick(&ends),
            false => random.int(0, differ),
        };
        (!random.chance(null)).then_some(id)
    };
    let all: Vec<Option<i64>> = (0..count).map(|_| id()).collect();
    let time = TimestampMicrosecondArray::from(all.clone()).with_timezone("UTC");
    let text = |id: Option<i64>| id.map(|id| id.to_string());
    let columns: [(&str, ArrayRef); 5] = [
        ("i", Arc::new(Int64Array::from(all.clone()))),
        (
            "u",
            Arc::new(
                all.iter()
                    .map(|id| id.map(|id| id as u64))
                    .collect::<UInt64Array>(),
            ),
        ),
        ("t", Arc::new(time)),
        (
            "s",
            Arc::new(all.iter().map(|id| text(*id)).collect::<StringArray>()),
        ),
        (
            "f",
            Arc::new(
                all.iter()
                    .map(|id| id.map(|id| id as f64))
                    .collect::<Float64Array>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

#[test]
fn ids_are_told_apart_as_a_grouping_does() {
    let questions = [
        "SELECT DISTINCT $ FROM r",
        "SELECT count(DISTINCT $) FROM r",
        "SELECT count(DISTINCT $), min($), count($) FROM r",
        "SELECT $ FROM r WHERE i % 3 > 0 GROUP BY $ HAVING $ IS NOT NULL",
        "SELECT $ FROM r UNION SELECT $ FROM r WHERE i < 9",
        "SELECT count(DISTINCT $) FROM r GROUP BY i % 5",
        "SELECT DISTINCT $ FROM r ORDER BY 1 LIMIT 7",
    ];
    block_on(async {
        let mut met = 0;
        for case in 0..30 {
            let mut random = Random::new(31, case);
            // The last are more than one part.
            let count = *random.pick(&[0, 1, 100, 5000, 60_000]);
            let table = ids(&mut random, count);
            let ours = session(
                *random.pick(&[1, 2, 3]),
                true,
                &runtime(2, None).unwrap(),
                &[],
            );
            let plain = super::plain(1);
            for context in [&ours, &plain] {
                let table = MemTable::try_new(table.schema(), vec![vec![table.clone()]]).unwrap();
                context.register_table("r", Arc::new(table)).unwrap();
            }
            for question in questions {
                let column = *random.pick(&["i", "u", "t", "f", "s"]);
                let sql = question.replace('$', column);
                let (_, expected) = sorted(&plain, &sql).await.unwrap();
                let (plan, found) = sorted(&ours, &sql).await.unwrap();
                assert_eq!(found, expected, "case {case}: {sql}\n{plan}");
                met += usize::from(plan.contains("DistinctExec"));
            }
        }
        assert!(met > 40, "{met}");
    });
}

/// 2 million ids of 8 bytes are twice the budget: the grouping in whose place the node stands writes them to disk.
#[test]
fn ids_that_do_not_fit_into_the_memory_are_told_apart_on_disk() {
    let engine = Engine::new(EngineOptions {
        memory: Some(8 << 20),
        threads: Some(2),
        settings: vec![("iolode.fallback".into(), "error".into())],
        ..EngineOptions::default()
    });
    let engine = engine.unwrap();
    let sql = "SELECT count(DISTINCT id) FROM (SELECT value * 7919 % 2000003 AS id FROM generate_series(1, 3000000))";
    block_on(async {
        let plan = rows(&batches(&engine, &format!("EXPLAIN {sql}")).await.unwrap()).concat();
        assert!(plan.contains("DistinctExec: [alias1]"), "{plan}");
        // 3 million multiples of 7919 have all remainders of a prime.
        assert_eq!(rows(&batches(&engine, sql).await.unwrap()), ["2000003"]);
    });
}
