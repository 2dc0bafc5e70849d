//! Other programs read a lake: the recipe of GUIDE.md, run as it stands there.

use crate::cli_program::{fresh, iolode};
use crate::support::python;
use std::process::Command;

crate::tests! {
    [Packages] => {
        duckdb_polars_and_pandas_read_the_rows_of_the_newest_version,
    }
}

/// The Python of the section, without the spaces that make it a block of code.
fn recipe() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/GUIDE.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let (_, section) = guide
        .split_once("## Reading a lake without iolode\n")
        .unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let code = section
        .lines()
        .skip_while(|line| !line.starts_with("    import"));
    let code = code.take_while(|line| line.starts_with("    ") || line.is_empty());
    code.map(|line| line.strip_prefix("    ").unwrap_or(line).to_string() + "\n")
        .collect()
}

fn duckdb_polars_and_pandas_read_the_rows_of_the_newest_version() {
    let python = python();
    let dir = fresh();
    let run = |args: &[&str]| iolode(dir.path(), args);
    run(&["synth", "--jobs", "120", "--out", "month"]).ok();
    run(&["lake", "create", "lake", "--site", "month/site.toml"]).ok();
    // Two ingests into the same ranges: the files of the first are still there, and count no more.
    let logs = walkdir::WalkDir::new(dir.path().join("month"));
    let logs = logs.into_iter().map(Result::unwrap);
    let log = logs
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "darshan"))
        .map(|entry| entry.path().display().to_string())
        .min()
        .unwrap();
    run(&["ingest", "--lake", "lake", "--darshan", &log]).ok();
    run(&["ingest", "--lake", "lake", "--darshan", "month"]).ok();

    let paths = run(&["lake", "files", "lake", "--table", "darshan_log", "--paths"]).ok();
    let listed = paths.lines().count();
    let there = std::fs::read_dir(dir.path().join("lake/darshan_log")).unwrap();
    assert!(there.count() > listed, "nothing was replaced");
    std::fs::write(dir.path().join("logs.txt"), &paths).unwrap();
    let sql = "select count(*), sum(bytes_written) from darshan_log";
    let expected = run(&["sql", "--lake", "lake", "--format", "csv", "-c", sql]).ok();
    let expected: Vec<i64> = expected
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .map(|n| n.parse().unwrap())
        .collect();
    assert!(expected[0] > 100 && expected[1] > 0);

    let code = recipe();
    assert_eq!(code.matches("print(").count(), 3, "{code}");
    let output = Command::new(python)
        .current_dir(dir.path())
        .args(["-c", &code])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{code}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for line in said.lines() {
        let numbers = line.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<i64> = numbers.filter_map(|n| n.parse().ok()).collect();
        assert_eq!(numbers, expected, "{said}");
    }
    assert_eq!(said.lines().count(), 3);
}
