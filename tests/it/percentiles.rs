//! Exact percentiles against DuckDB's quantile_cont.

use crate::random::Random;
use crate::support::{python, run_python, write_parquet};
use arrow::array::{ArrayRef, Float64Array, Int32Array};
use arrow::record_batch::RecordBatch;
use iolode::engine::{Engine, EngineOptions, runtime};
use std::sync::Arc;

crate::tests! {
    [Packages] => {
        percentiles_are_those_of_duckdb,
    }
}

const ROWS: usize = 60_000;

/// Groups of very different sizes and kinds of values: wide ranges, few distinct ones, negative ones, NULLs, one value alone.
fn values() -> RecordBatch {
    let mut generator = Random::new(7, 0);
    let mut random = || generator.bits() >> 11;
    let unit = |bits: u64| bits as f64 / (1u64 << 53) as f64;
    let (mut groups, mut numbers) = (vec![], vec![]);
    for row in 0..ROWS {
        let group = if row == 0 {
            9
        } else {
            (random() % 5).min(random() % 5) as i32
        };
        let number = match group {
            0 => Some(1e-6 * (30.0 * unit(random())).exp()),
            1 => Some((random() % 7) as f64),
            2 => Some(unit(random()) - 0.5),
            3 => (random() % 3 > 0).then(|| -(unit(random()) * 1e12).floor()),
            _ => Some(unit(random()) * 1e-300),
        };
        groups.push(group);
        numbers.push(number);
    }
    let columns: [(&str, ArrayRef); 2] = [
        ("g", Arc::new(Int32Array::from(groups))),
        ("x", Arc::new(Float64Array::from(numbers))),
    ];
    RecordBatch::try_from_iter_with_nullable([
        (columns[0].0, columns[0].1.clone(), false),
        (columns[1].0, columns[1].1.clone(), true),
    ])
    .unwrap()
}

fn percentiles_are_those_of_duckdb() {
    let python = python();
    let dir = tempfile::tempdir().unwrap();
    let values = values();
    write_parquet(
        &dir.path().join("values.parquet"),
        std::slice::from_ref(&values),
    );
    let engine = Engine::new(EngineOptions::default()).unwrap();
    engine.context().register_batch("t", values).unwrap();
    let sql = "SELECT g, percentiles(x) AS hundred, percentiles(x, 7) AS seven FROM t GROUP BY g ORDER BY g";
    let answer = runtime(Some(2))
        .unwrap()
        .block_on(async { engine.run(sql).await.unwrap().collect().await.unwrap() });
    write_parquet(&dir.path().join("answer.parquet"), &answer);
    let said = run_python(&python, "python/compare_percentiles.py", &[dir.path()]);
    assert!(said.starts_with("6 groups"), "{said}");
}
