//! Semi and anti joins, in every way to write them: the rows are those of brute force, and pairs of equal keys are not visited one by one.

use super::super::functions::tests::ask;
use super::block_on;
use super::joins::{session, sorted};
use crate::engine::session::state::runtime;
use crate::math::random::Random;
use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use std::sync::Arc;

type Row = (Option<i64>, Option<i64>);

/// A question of `l` and `r`, of whose answer `k` and `x` are rows of `l`, and whether such a row is in it.
type Question = (&'static str, fn(&Row, &[Row]) -> bool);

fn equal(a: Option<i64>, b: Option<i64>) -> bool {
    a.is_some() && a == b
}

fn below(a: Option<i64>, b: Option<i64>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a < b)
}

const QUESTIONS: &[Question] = &[
    ("SELECT k, x FROM l WHERE k IN (SELECT k FROM r)", |l, r| {
        r.iter().any(|r| equal(l.0, r.0))
    }),
    (
        "SELECT k, x FROM l WHERE k NOT IN (SELECT k FROM r)",
        |l, r| r.is_empty() || l.0.is_some() && r.iter().all(|r| r.0.is_some() && r.0 != l.0),
    ),
    (
        "SELECT k, x FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        |l, r| r.iter().any(|r| equal(l.0, r.0)),
    ),
    (
        "SELECT k, x FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        |l, r| !r.iter().any(|r| equal(l.0, r.0)),
    ),
    (
        "SELECT k, x FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.x = l.x)",
        |l, r| !r.iter().any(|r| equal(l.0, r.0) && equal(l.1, r.1)),
    ),
    (
        "SELECT k, x FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.x > l.x)",
        |l, r| r.iter().any(|r| equal(l.0, r.0) && below(l.1, r.1)),
    ),
    (
        "SELECT k, x FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.x + l.x > 4)",
        |l, r| {
            !r.iter()
                .any(|r| equal(l.0, r.0) && r.1.zip(l.1).is_some_and(|(a, b)| a + b > 4))
        },
    ),
    (
        "SELECT k, x FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.x < l.x)",
        |l, r| r.iter().any(|r| below(r.1, l.1)),
    ),
    (
        "SELECT k, x FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.x <> l.x)",
        |l, r| {
            r.iter()
                .any(|r| equal(l.0, r.0) && r.1.zip(l.1).is_some_and(|(a, b)| a != b))
        },
    ),
    (
        "SELECT k, x FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE l.x >= r.x + 1 AND r.k = l.k AND l.k = r.k)",
        |l, r| !r.iter().any(|r| equal(l.0, r.0) && below(r.1, l.1)),
    ),
    (
        "SELECT k, x FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k <> l.k)",
        |l, r| r.iter().any(|r| r.0.zip(l.0).is_some_and(|(a, b)| a != b)),
    ),
    (
        "SELECT k, x FROM l WHERE EXISTS (SELECT 1 FROM r)",
        |_, r| !r.is_empty(),
    ),
    (
        "SELECT k, x FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.x = 1)",
        |_, r| !r.iter().any(|r| r.1 == Some(1)),
    ),
    (
        "SELECT k, x FROM l WHERE x = 1 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        |l, r| l.1 == Some(1) || r.iter().any(|r| equal(l.0, r.0)),
    ),
    (
        "SELECT l.k, l.x FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL",
        |l, r| !r.iter().any(|r| equal(l.0, r.0)),
    ),
    (
        "SELECT l.k, l.x FROM r RIGHT JOIN l ON l.k = r.k WHERE r.k IS NULL AND coalesce(r.x, 1) = 1",
        |l, r| !r.iter().any(|r| equal(l.0, r.0)),
    ),
    (
        "SELECT k, x FROM (SELECT l.*, r.k AS other FROM l LEFT JOIN r ON l.k = r.k AND l.x = r.x) WHERE other IS NULL",
        |l, r| !r.iter().any(|r| equal(l.0, r.0) && equal(l.1, r.1)),
    ),
    (
        "SELECT l.k, l.x FROM l LEFT JOIN r ON l.k = r.k AND l.x < r.x WHERE r.k IS NULL AND r.x IS NULL",
        |l, r| !r.iter().any(|r| equal(l.0, r.0) && below(l.1, r.1)),
    ),
    (
        "SELECT l.k, l.x FROM l LEFT JOIN (SELECT k, 7 AS some FROM r) r ON l.k = r.k WHERE some IS NULL",
        |l, r| !r.iter().any(|r| equal(l.0, r.0)),
    ),
];

/// How often a row of `l` is in an answer.
type Times = fn(&Row, &[Row]) -> usize;

/// Questions whose pairs count, not only whether there is one.
const PAIRS: &[(&str, Times)] = &[
    (
        // r.x may be NULL in a row that was met.
        "SELECT l.k, l.x FROM l LEFT JOIN r ON l.k = r.k WHERE r.x IS NULL",
        |l, r| {
            let met = || r.iter().filter(|r| equal(l.0, r.0));
            match met().count() {
                0 => 1,
                _ => met().filter(|r| r.1.is_none()).count(),
            }
        },
    ),
    (
        // And so may r.k, which meets NULL here.
        "SELECT l.k, l.x FROM l LEFT JOIN r ON l.k IS NOT DISTINCT FROM r.k WHERE r.k IS NULL",
        |l, r| {
            let met = r.iter().filter(|r| l.0 == r.0).count();
            match l.0 {
                None => met.max(1),
                Some(_) => usize::from(met == 0),
            }
        },
    ),
    (
        "SELECT l.k, l.x FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL OR r.x = 1",
        |l, r| {
            let met = || r.iter().filter(|r| equal(l.0, r.0));
            match met().count() {
                0 => 1,
                _ => met().filter(|r| r.1 == Some(1)).count(),
            }
        },
    ),
];

/// A table whose keys are also texts; some have many rows, of few keys.
fn table(rows: &[Row], texts: bool) -> RecordBatch {
    let text = |k: Option<i64>| k.map(|k| format!("a text of some length {k}"));
    let keys: ArrayRef = match texts {
        true => Arc::new(
            rows.iter()
                .map(|row| text(row.0))
                .collect::<StringViewArray>(),
        ),
        false => Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()),
    };
    let x: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
    RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("x", x, true)]).unwrap()
}

fn shown(row: &Row, texts: bool) -> String {
    let text = |n: Option<i64>| n.map_or("NULL".to_string(), |n| n.to_string());
    let key = match row.0 {
        Some(k) if texts => format!("a text of some length {k}"),
        k => text(k),
    };
    format!("{key} | {}", text(row.1))
}

#[test]
fn rows_are_those_of_brute_force_with_nulls_on_both_sides() {
    block_on(async {
        let mut dropped = 0;
        for case in 0..60 {
            let mut random = Random::new(77, case);
            let null = *random.pick(&[0.0, 0.2]);
            let (differ, texts) = (*random.pick(&[3, 40]), random.chance(0.3));
            let mut rows = |most: &[usize]| -> Vec<Row> {
                let count = *random.pick(most);
                let mut value = |to| (!random.chance(null)).then(|| random.int(0, to));
                (0..count).map(|_| (value(differ), value(5))).collect()
            };
            let (mut l, r) = (rows(&[1, 30, 300]), rows(&[0, 1, 20, 400]));
            if random.chance(0.3) {
                l.sort();
            }
            let hash = random.chance(0.8);
            let settings = [
                ("datafusion.optimizer.prefer_hash_join", hash),
                ("datafusion.optimizer.repartition_joins", random.chance(0.6)),
            ];
            let threads = *random.pick(&[1, 2, 3]);
            let context = session(threads, true, &runtime(2, None).unwrap(), &settings);
            for (name, rows) in [("l", &l), ("r", &r)] {
                let all = table(rows, texts);
                let half = all.num_rows() / 2;
                let parts = [all.slice(0, half), all.slice(half, all.num_rows() - half)];
                let parts = parts.map(|part| vec![part]).to_vec();
                let table = MemTable::try_new(all.schema(), parts).unwrap();
                context.register_table(name, Arc::new(table)).unwrap();
            }
            let once = QUESTIONS.iter().map(|(sql, is_in)| {
                let all = l.iter().filter(|row| is_in(row, &r));
                (*sql, all.map(|row| shown(row, texts)).collect::<Vec<_>>())
            });
            let pairs = PAIRS.iter().map(|(sql, times)| {
                let all = l
                    .iter()
                    .flat_map(|row| std::iter::repeat_n(shown(row, texts), times(row, &r)));
                (*sql, all.collect::<Vec<_>>())
            });
            for (sql, mut expected) in once.chain(pairs).collect::<Vec<_>>() {
                expected.sort();
                let (plan, found) = sorted(&context, sql).await.unwrap();
                assert_eq!(found, expected, "case {case}: {sql}\n{plan}");
                dropped += usize::from(plan.contains("DropDuplicatesExec"));
            }
        }
        assert!(dropped > 300, "{dropped}");
    });
}

/// Of one value 300,000 rows meet 300,000: 9 * 10^10 pairs, which take minutes.
#[test]
fn pairs_are_not_visited_one_by_one() {
    let of = |name: &str| {
        format!("{name} AS (SELECT 'same' AS k, 2 * value AS x FROM generate_series(1, 300000))")
    };
    for (question, expected) in [
        ("l WHERE k IN (SELECT k FROM r)", 300_000),
        ("l WHERE k NOT IN (SELECT nullif(k, 'other') FROM r)", 0),
        ("l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", 300_000),
        ("l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", 0),
        (
            "l WHERE x < 9 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
            300_000,
        ),
        (
            "l WHERE EXISTS (SELECT 1 FROM (SELECT k, x % 3 AS y FROM r) r WHERE r.k = l.k AND l.x > r.y)",
            300_000,
        ),
        (
            "l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND l.x <> r.x)",
            0,
        ),
        (
            "l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND l.x > r.x)",
            299_999,
        ),
        ("l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.x > l.x)", 1),
        ("l WHERE EXISTS (SELECT 1 FROM r)", 300_000),
        ("l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", 0),
        (
            "l RIGHT JOIN r ON l.k = r.k WHERE l.k IS NULL AND r.x > 0",
            0,
        ),
        ("(SELECT k FROM l INTERSECT SELECT k FROM r)", 1),
        ("(SELECT k FROM l EXCEPT SELECT k FROM r)", 0),
    ] {
        let sql = format!(
            "WITH {}, {} SELECT count(*) FROM {question}",
            of("l"),
            of("r")
        );
        assert_eq!(ask(&sql).unwrap(), [expected.to_string()], "{question}");
    }
}
