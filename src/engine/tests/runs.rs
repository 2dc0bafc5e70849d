//! Groupings and first places of rows that come in runs, and of rows that do not, against DataFusion's own.

use super::joins::{session, sorted};
use super::{block_on, rows};
use crate::engine::session::state::runtime;
use crate::math::random::Random;
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray, StringViewArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, resources_datafusion_err};
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation, UnboundedMemoryPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use std::fmt::{Display, Formatter};
use std::iter::repeat_n;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How long the runs of one key are, from the first row to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Some 20 rows.
    Runs,
    /// One row.
    Scattered,
    /// Long at first, then of one row; and the other way round.
    RunsFirst,
    RunsLast,
}

/// Rows with keys of each kind, NULL among them, and floats that are summed without rounding.
fn table(random: &mut Random, shape: Shape, count: usize) -> RecordBatch {
    let (mut n, mut text, mut long, mut float) = (vec![], vec![], vec![], vec![]);
    while n.len() < count {
        let early = n.len() < count / 2;
        let stands = match shape {
            Shape::Runs => true,
            Shape::Scattered => false,
            Shape::RunsFirst => early,
            Shape::RunsLast => !early,
        };
        let length = if stands {
            random.int(1, 40) as usize
        } else {
            1
        };
        let length = length.min(count - n.len());
        // Keys come again after others, so that a run is not a group.
        let key = random.int(0, 60);
        n.extend(repeat_n(random.chance(0.9).then_some(key % 17), length));
        text.extend(repeat_n(
            (key % 5 > 0).then(|| format!("text {}", key % 7)),
            length,
        ));
        long.extend(repeat_n(
            (key % 6 > 0).then(|| format!("longer than a view holds by itself {}", key % 3)),
            length,
        ));
        let of = [0.0, 1.0, f64::NAN, f64::INFINITY, 1.5, -2.25];
        float.extend(repeat_n(
            (key % 4 > 0).then(|| of[key as usize % 6]),
            length,
        ));
    }
    let v: Int64Array = (0..count)
        .map(|_| random.chance(0.8).then(|| random.int(-9, 99)))
        .collect();
    let x: Float64Array = (0..count)
        .map(|_| {
            random
                .chance(0.9)
                .then(|| random.int(-40, 400) as f64 / 4.0)
        })
        .collect();
    let columns: [(&str, ArrayRef); 7] = [
        (
            "id",
            Arc::new(Int64Array::from_iter_values(0..count as i64)),
        ),
        ("n", Arc::new(Int64Array::from(n))),
        ("text", Arc::new(StringArray::from(text))),
        ("long", Arc::new(StringViewArray::from(long))),
        ("f", Arc::new(Float64Array::from(float))),
        ("v", Arc::new(v)),
        ("x", Arc::new(x)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn register(context: &SessionContext, table: &RecordBatch) {
    register_as("r", context, table);
}

fn register_as(name: &str, context: &SessionContext, table: &RecordBatch) {
    let table = MemTable::try_new(table.schema(), vec![vec![table.clone()]]).unwrap();
    context.register_table(name, Arc::new(table)).unwrap();
}

fn grouping(random: &mut Random) -> String {
    let keys = [
        "n",
        "text",
        "long",
        "n, text",
        "long, n",
        "n % 3",
        "f",
        "n, text, long, n > 5",
        "f, n",
        "concat(text, 'x')",
        "[n]",
        "CASE WHEN n > 8 THEN text END, n",
    ];
    let functions = [
        "count(*)",
        "count(v)",
        "sum(v)",
        "sum(x)",
        "avg(x)",
        "min(text)",
        "max(long)",
        "min(x)",
        "max(v)",
        "min(n)",
        "count(n)",
        "sum(arrow_cast(n, 'UInt64'))",
        "min(arrow_cast(v, 'Timestamp(Nanosecond, Some(\"UTC\"))'))",
        "max(arrow_cast(v, 'Duration(Second)'))",
        "sum(v) FILTER (WHERE x > 30)",
        "count(*) FILTER (WHERE v IS NULL)",
        "count(DISTINCT v)",
        "sum(DISTINCT v)",
        "median(x)",
        "bool_or(v > 90)",
        "percentiles(x)",
        "set_agg(v)",
        "set_agg(n) FILTER (WHERE x > 30)",
        "set_union([v, n])",
        "stddev(v) > 20",
        "array_agg(DISTINCT v ORDER BY v)",
        "first_value(v ORDER BY v, x)",
    ];
    let key = random.pick(&keys);
    let chosen: String = (0..random.int(0, 4))
        .map(|i| format!(", {} AS c{i}", random.pick(&functions)))
        .collect();
    let wheres = random.pick(&["", "", " WHERE v > 0", " WHERE v > 95", " WHERE x < -1000"]);
    let having = random.pick(&["", "", " HAVING count(*) > 100"]);
    let limit = random.pick(&["", "", "", " ORDER BY 1 LIMIT 0"]);
    format!("SELECT {key}{chosen} FROM r{wheres} GROUP BY {key}{having}{limit}")
}

/// Of all rows that a filter keeps; of some it is computed before the filter would refuse others.
fn totals(random: &mut Random) -> String {
    let functions = [
        "count(*)",
        "count(v)",
        "sum(v)",
        "sum(x)",
        "min(x)",
        "max(v)",
        "min(f)",
        "max(f)",
        "sum(1000 / v)",
        "min(1000 / v)",
        "max(x / 3)",
        "sum(CAST(substr(text, 6) AS BIGINT))",
        "count(*) FILTER (WHERE v IS NULL)",
        "sum(v) FILTER (WHERE x > 30)",
        "max(arrow_cast(v, 'Duration(Second)'))",
        "set_agg(v)",
        "median(x)",
    ];
    let chosen: Vec<&str> = (0..random.int(1, 4))
        .map(|_| *random.pick(&functions))
        .collect();
    let wheres = random.pick(&[
        "v <> 0",
        "v > 0",
        "v > 95",
        "x < -1000",
        "v <> 0 AND text IS NOT NULL",
    ]);
    let named = chosen
        .iter()
        .enumerate()
        .map(|(i, function)| format!("{function} AS c{i}"));
    let of = match random.chance(0.2) {
        true => "(SELECT * FROM r WHERE v <> 0 LIMIT 0)",
        false => "r",
    };
    format!(
        "SELECT {} FROM {of} WHERE {wheres}",
        named.collect::<Vec<_>>().join(", ")
    )
}

/// The first places of each key, in orders with ties, NULL and both directions; and windows that need all rows.
fn places(random: &mut Random) -> String {
    let keys = random.pick(&["n", "text", "long, n", "f", "n % 3", "n, id % 2"]);
    let order = random.pick(&[
        "v",
        "v DESC",
        "x DESC NULLS LAST, v",
        "v NULLS FIRST, x",
        "text DESC, v",
        "abs(v)",
    ]);
    let of = random.pick(&[
        "place = 1",
        "place = 1",
        "1 = place",
        "place <= 3",
        "place < 3",
        "2 >= place",
        "place = 2",
        "place > 2",
        "place <= 2 AND v > 5",
        "place <= 0",
        "place < 4 AND place <> 2",
        "place <= 3 OR v = 7",
        "place <= v",
    ]);
    let (place, order) = match random.chance(0.5) {
        true => ("row_number()", format!("{order}, id")),
        false => (
            *random.pick(&["rank()", "rank()", "dense_rank()"]),
            order.to_string(),
        ),
    };
    let over = format!("OVER (PARTITION BY {keys} ORDER BY {order})");
    let more = match random.below(6) {
        0 => format!(", sum(v) {over} AS total"),
        1 => ", count(*) OVER (PARTITION BY text) AS others".to_string(),
        2 => format!(", count(*) OVER (PARTITION BY {keys}) AS others"),
        _ => String::new(),
    };
    let wheres = random.pick(&["", "", "WHERE v > 0"]);
    match random.chance(0.5) {
        true => format!(
            "SELECT * FROM (SELECT *, {place} {over} AS place{more} FROM r {wheres}) WHERE {of}"
        ),
        false => format!(
            "SELECT text, count(*), sum(v), min(place) FROM (SELECT text, v, {place} {over} AS place{more} FROM r {wheres}) WHERE {of} GROUP BY text"
        ),
    }
}

/// Asks random queries of random tables; in how many plans a node of that name stood.
async fn compare(seed: u64, query: fn(&mut Random) -> String, node: &str) -> usize {
    let mut met = 0;
    for case in 0..60 {
        let mut random = Random::new(seed, case);
        let shapes = [
            Shape::Runs,
            Shape::Scattered,
            Shape::RunsFirst,
            Shape::RunsLast,
        ];
        let shape = *random.pick(&shapes);
        let count = *random.pick(&[0, 1, 7, 3000, 6000]);
        let table = table(&mut random, shape, count);
        let runtime = runtime(2, None).unwrap();
        let threads = *random.pick(&[1, 2, 3]);
        let ours = session(threads, true, &runtime, &[]);
        let plain = super::plain(1);
        for function in crate::engine::functions::AGGREGATE {
            plain.register_udaf(function.udaf());
        }
        register(&ours, &table);
        register(&plain, &table);
        for _ in 0..12 {
            let sql = query(&mut random);
            let says = format!("case {case}, {threads} threads, {shape:?} {count}: {sql}");
            let (_, expected) = sorted(&plain, &sql)
                .await
                .unwrap_or_else(|e| panic!("{says}: {e}"));
            let (plan, found) = sorted(&ours, &sql)
                .await
                .unwrap_or_else(|e| panic!("{says}: {e}"));
            assert_eq!(found, expected, "{says}\n{plan}");
            met += usize::from(plan.contains(node));
        }
    }
    met
}

#[test]
fn a_grouping_gives_the_same_whether_its_rows_come_in_runs_or_not() {
    let met = block_on(compare(23, grouping, "GroupRunsExec"));
    assert!(met > 400, "{met}");
    let met = block_on(compare(31, totals, "GroupRunsExec"));
    assert!(met > 180, "{met}");
}

#[test]
fn the_first_places_are_the_same_when_rows_that_cannot_have_them_are_left_out_before() {
    let met = block_on(compare(29, places, "TopOfRunsExec"));
    assert!(met > 150, "{met}");
}

#[test]
fn a_sum_of_a_run_that_is_too_large_is_an_error() {
    let n: Int64Array = (0..30).map(|i| Some(i / 10)).collect();
    let v: Int64Array = (0..30)
        .map(|i| Some(if i < 20 { 1 } else { i64::MAX }))
        .collect();
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("v", Arc::new(v))];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    block_on(async {
        let context = session(2, true, &runtime(2, None).unwrap(), &[]);
        register(&context, &table);
        let (plan, found) = sorted(&context, "SELECT n, sum(v) FROM r WHERE n < 2 GROUP BY n")
            .await
            .unwrap();
        assert!(plan.contains("GroupRunsExec"), "{plan}");
        assert_eq!(found, ["0 | 10", "1 | 10"]);
        let error = sorted(&context, "SELECT n, sum(v) FROM r GROUP BY n").await;
        let error = error.unwrap_err();
        assert!(
            error.contains("a sum of integers is too large for 64 bits"),
            "{error}"
        );
    });
}

/// 12 / 1, 12 / 2 and 12 / 3 of three, two and two rows; of two, three and three; and again.
#[test]
fn what_a_filter_does_not_keep_is_not_computed() {
    let n: Int64Array = (0..30).map(|i| Some(i / 10)).collect();
    let v: Int64Array = (0..30).map(|i| Some(i % 4)).collect();
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("v", Arc::new(v))];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    block_on(async {
        let context = session(2, true, &runtime(2, None).unwrap(), &[]);
        register(&context, &table);
        let sql = "SELECT n, sum(12 / v) FROM r WHERE v <> 0 GROUP BY n";
        let (plan, found) = sorted(&context, sql).await.unwrap();
        assert!(plan.contains("GroupRunsExec"), "{plan}");
        assert_eq!(found, ["0 | 56", "1 | 54", "2 | 56"]);
        let context = session(1, true, &runtime(2, None).unwrap(), &[]);
        register(&context, &table);
        let sql = "SELECT sum(12 / v) FROM r WHERE v <> 0";
        let (plan, found) = sorted(&context, sql).await.unwrap();
        assert!(plan.contains("GroupRunsExec"), "{plan}");
        assert_eq!(found, ["166"]);
        let sql = "SELECT min(12 / v), max(v), max(n) FROM r WHERE v <> 0";
        let (plan, found) = sorted(&context, sql).await.unwrap();
        assert!(plan.contains("GroupRunsExec"), "{plan}");
        assert_eq!(found, ["4 | 3 | 2"]);
    });
}

/// How many rows the node that groups runs gave.
fn given(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    if plan.name() == "GroupRunsExec" {
        return plan.metrics()?.output_rows();
    }
    plan.children().into_iter().find_map(given)
}

/// The answer in order, and what the node gave.
async fn asked(
    sql: &str,
    threads: usize,
    runtime: &Arc<RuntimeEnv>,
    table: &RecordBatch,
) -> (Vec<String>, usize) {
    let context = session(threads, true, runtime, &[]);
    register(&context, table);
    let plan = context.sql(sql).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let batches = collect(plan.clone(), context.task_ctx()).await.unwrap();
    let mut rows = rows(&batches);
    rows.sort();
    (rows, given(&plan).unwrap())
}

#[test]
fn more_groups_than_memory_are_given_in_several_states() {
    let groups = 20_000;
    let key = |group: usize| {
        format!("a key of a hundred bytes and more, so that they fill the memory, {group:040}")
    };
    let keys: StringArray = (0..groups)
        .flat_map(|group| repeat_n(Some(key(group)), 5))
        .collect();
    let v: Int64Array = (0..5 * groups as i64).map(Some).collect();
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(keys)), ("v", Arc::new(v))];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    // Each group twice, far from one another.
    let sql = "SELECT key, count(*), sum(v) FROM (SELECT * FROM r UNION ALL SELECT * FROM r) GROUP BY key";
    let of = |group: usize| format!("{} | 10 | {}", key(group), 2 * (25 * group + 10));
    let mut expected: Vec<String> = (0..groups).map(of).collect();
    expected.sort();
    block_on(async {
        for threads in [1, 2] {
            let (rows, given) = asked(sql, threads, &runtime(threads, None).unwrap(), &table).await;
            assert_eq!(rows, expected);
            assert!(given >= groups && given <= 2 * groups, "{given}");
            let (rows, _) = asked(
                sql,
                threads,
                &runtime(threads, Some(6 << 20)).unwrap(),
                &table,
            )
            .await;
            assert_eq!(rows, expected);
        }
    });
}

/// Refuses groupings of runs memory every time that they ask for more.
#[derive(Debug, Default)]
struct Refusing(UnboundedMemoryPool, AtomicUsize);

impl Display for Refusing {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl MemoryPool for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.0.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.0.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let name = reservation.consumer().name();
        if name.starts_with("GroupRunsExec") {
            self.1.fetch_add(1, Ordering::Relaxed);
            return Err(resources_datafusion_err!(
                "{name} may not have {additional} bytes"
            ));
        }
        self.0.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.0.reserved()
    }
}

#[test]
fn totals_that_memory_is_refused_for_are_given_in_several_states() {
    let v: Int64Array = (0..50_000).map(Some).collect();
    let columns: [(&str, ArrayRef); 1] = [("v", Arc::new(v))];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let pool = Arc::new(Refusing::default());
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool.clone());
    let context = session(1, true, &runtime.build_arc().unwrap(), &[]);
    register(&context, &table);
    let sql = "SELECT count(*), sum(v), min(v), max(v) FROM r WHERE v % 10 <> 3";
    let (plan, found) = block_on(sorted(&context, sql)).unwrap();
    assert!(plan.contains("GroupRunsExec"), "{plan}");
    assert!(pool.1.load(Ordering::Relaxed) > 1);
    // Of ten numbers that begin with n all but the third: 10 n + 45 - (n + 3).
    let sum: i64 = (0..50_000).step_by(10).map(|n| 9 * n + 42).sum();
    assert_eq!(found, [format!("45000 | {sum} | 0 | 49999")]);
}
