//! Algorithm 1 of the IOMiner paper as a script: its answers, beside the same computed by DuckDB and Python over the Parquet files.

use crate::cli_program::{fresh, iolode};
use crate::support::{python, run_python};
use std::path::Path;

crate::tests! {
    [Packages] => {
        the_script_gives_what_arithmetic_over_the_lakes_files_gives,
    }
}

fn the_script_gives_what_arithmetic_over_the_lakes_files_gives() {
    let dir = fresh();
    let run = |args: &[&str]| iolode(dir.path(), args);
    run(&["synth", "--jobs", "120", "--out", "month"]).ok();
    run(&["lake", "create", "lake", "--site", "month/site.toml"]).ok();
    let ingest = [
        "--darshan",
        "month",
        "--slurm",
        "month/slurm",
        "--lmt",
        "month/lmt",
    ];
    run(&[&["ingest", "--lake", "lake"], &ingest[..]].concat()).ok();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries/examples/algorithm_1.sql");
    let text = script.to_str().unwrap();
    let ask = ["sql", "--lake", "lake", "--format", "csv", "-f", text];
    let answers = run(&ask).ok();
    // Once more it makes no other function, and so no other version.
    assert_eq!(run(&ask).ok(), answers);
    let versions = "select version, operation from lake_version where version > 2";
    assert_eq!(
        run(&["sql", "--lake", "lake", "--format", "csv", "-c", versions]).ok(),
        "version,operation\n3,create function classify_workload\n"
    );

    // What can be told without another program: the workloads are those of the bytes beside them, and sum up.
    let mut parts = answers.split("job_id,bytes_written,workload\n");
    let selected = parts.next().unwrap().lines().count() - 3;
    let binned = parts.next().unwrap().split("job_id,fs").next().unwrap();
    let binned: Vec<(u64, u64)> = binned
        .lines()
        .map(|line| {
            let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            (cells[1], cells[2])
        })
        .collect();
    for (bytes, workload) in &binned {
        let expected = u64::from(*bytes >= 1_000_000_000) + u64::from(*bytes >= 10_000_000_000);
        assert_eq!(*workload, expected, "{bytes}");
    }
    assert!(binned.len() > 120);
    assert_eq!(
        binned.iter().filter(|(_, workload)| *workload == 0).count(),
        selected
    );

    let python = python();
    let file = dir.path().join("answers.csv");
    std::fs::write(&file, &answers).unwrap();
    run_python(
        &python,
        "python/algorithm_1.py",
        &[&dir.path().join("lake"), &file],
    );
}
