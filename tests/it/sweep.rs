//! The sweep, merged from many partial states, against the reference that lies beside the real logs.

use crate::random::Random;
use crate::support::{python, run_python, shared_data, write_parquet};
use arrow::array::{ArrayRef, Float64Array, Int32Array, StringArray};
use arrow::record_batch::RecordBatch;
use iolode::engine::{Engine, EngineOptions, runtime};
use std::sync::Arc;

crate::tests! {
    [Data, Packages] => {
        covers_and_unions_are_those_of_the_reference,
    }
}

const GROUPS: u64 = 20_000;

/// Intervals of whole seconds, so that ties, touching ends and zero lengths are frequent; rows of a group lie far apart.
fn intervals() -> RecordBatch {
    let mut random = Random::new(7, 0);
    let mut below = |n: u64| random.below(n);
    let (mut groups, mut ids, mut starts, mut ends) = (vec![], vec![], vec![], vec![]);
    for name in ["H", "B", "F", "D", "A", "G", "C", "E"] {
        for group in 0..GROUPS {
            if name != "H" && below(3) == 0 {
                continue;
            }
            let start = below(20);
            groups.push(group as i32);
            ids.push(name);
            starts.push(start as f64);
            ends.push((start + below(10)) as f64);
        }
    }
    let columns: [(&str, ArrayRef); 4] = [
        ("g", Arc::new(Int32Array::from(groups))),
        ("id", Arc::new(StringArray::from(ids))),
        ("a", Arc::new(Float64Array::from(starts))),
        ("b", Arc::new(Float64Array::from(ends))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn covers_and_unions_are_those_of_the_reference() {
    let (python, data) = (python(), shared_data());
    let dir = tempfile::tempdir().unwrap();
    let intervals = intervals();
    write_parquet(
        &dir.path().join("intervals.parquet"),
        std::slice::from_ref(&intervals),
    );
    let engine = Engine::new(EngineOptions::default()).unwrap();
    engine.context().register_batch("t", intervals).unwrap();
    let sql =
        "SELECT g, critical_files(id, a, b) AS cover, io_time(a, b) AS seconds FROM t GROUP BY g";
    let answer = runtime(Some(2))
        .unwrap()
        .block_on(async { engine.run(sql).await.unwrap().collect().await.unwrap() });
    write_parquet(&dir.path().join("answer.parquet"), &answer);
    let reference = data.join("sweep");
    let said = run_python(
        &python,
        "python/compare_sweep.py",
        &[dir.path(), &reference],
    );
    assert!(
        said.starts_with(&format!("{GROUPS} groups, 0 differences")),
        "{said}"
    );
}
