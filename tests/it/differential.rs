//! The lake's numbers against those of pydarshan and of DuckDB, value by value. The scripts say what may differ and why.

use crate::support::{lake_of, python, run_python, shared_data};

crate::tests! {
    [Data, Packages] => {
        every_value_of_every_real_log_is_what_pydarshan_returns,
        duckdb_recomputes_files_and_logs_from_the_tables_of_the_modules,
    }
}

fn every_value_of_every_real_log_is_what_pydarshan_returns() {
    let (data, python) = (shared_data(), python());
    let dir = tempfile::tempdir().unwrap();
    let lake = dir.path().join("lake");
    let (_, report) = lake_of(&lake, &[data.join("darshan")], true);
    assert_eq!(report.failures, []);
    let said = run_python(&python, "pydarshan/compare_pydarshan.py", &[&lake]);
    assert!(said.starts_with("\n72 logs"), "{said}");
}

fn duckdb_recomputes_files_and_logs_from_the_tables_of_the_modules() {
    let (data, python) = (shared_data(), python());
    let dir = tempfile::tempdir().unwrap();
    for dxt in [false, true] {
        let lake = dir.path().join(format!("lake-{dxt}"));
        lake_of(&lake, &[data.join("darshan"), data.join("linked")], dxt);
        let said = run_python(&python, "python/recompute.py", &[&lake]);
        assert!(said.contains("88 logs"), "{said}");
    }
}
