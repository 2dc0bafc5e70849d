//! The lake of commands that name none: `IOLODE_LAKE`, or the user's config file.

use crate::cli_program::{Run, fresh, iolode, program, small};
use std::path::Path;

crate::tests! {
    [] => {
        an_argument_wins_over_the_variable_and_that_over_the_file,
        a_command_that_changes_the_default_lake_says_which_it_is,
        where_no_lake_is_given_one_line_names_the_three_ways,
    }
}

/// Runs the program with a default lake.
fn with(dir: &Path, lake: &str, args: &[&str]) -> Run {
    Run::of(program(dir).env("IOLODE_LAKE", lake).args(args))
}

/// The user's config file of that text.
fn config(home: &Path, text: &str) {
    let directory = home.join(".config/iolode");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), text).unwrap();
}

fn an_argument_wins_over_the_variable_and_that_over_the_file() {
    let (dir, small) = (fresh(), small());
    iolode(dir.path(), &["lake", "create", "empty"]).ok();
    config(dir.path(), &format!("lake = '{}'\n", small.lake()));
    let count = "select count(*) > 0 as any from darshan_log";
    let sql = ["sql", "--format", "csv", "-c", count];
    assert_eq!(iolode(dir.path(), &sql).ok(), "any\ntrue\n");
    assert_eq!(with(dir.path(), "empty", &sql).ok(), "any\nfalse\n");
    let given = [&sql[..], &["--lake", small.lake()]].concat();
    assert_eq!(with(dir.path(), "empty", &given).ok(), "any\ntrue\n");
    // Logs alone are asked without the default lake.
    let logs = small.logs.to_str().unwrap();
    let schemas = "select distinct table_schema from information_schema.tables where table_name = 'darshan_log'";
    let args = ["sql", "--logs", logs, "--format", "csv", "-c", schemas];
    assert_eq!(
        with(dir.path(), "empty", &args).stdout,
        "table_schema\nlogs\n"
    );
    let rows = |run: Run| run.ok().lines().count();
    let query = ["query", "unreadable_logs", "--format", "csv"];
    assert!(rows(iolode(dir.path(), &query)) > 1);
    assert_eq!(rows(with(dir.path(), "empty", &query)), 1);
    // Commands that take the lake by its place.
    for command in ["info", "files", "check", "history"] {
        let words = ["lake", command];
        let by_file = iolode(dir.path(), &words).ok();
        let by_name = iolode(dir.path(), &["lake", command, small.lake()]).ok();
        assert_eq!(by_file, by_name, "{command}");
    }
    let info = with(dir.path(), "empty", &["lake", "info"]).ok();
    assert!(info.contains("\nversion      1, create "), "{info}");
}

fn a_command_that_changes_the_default_lake_says_which_it_is() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let ingest = ["ingest", "--create", "--darshan", logs, "--register"];
    let run = with(dir.path(), "mine", &ingest);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.starts_with("lake mine, named by IOLODE_LAKE\n"),
        "{run:?}"
    );
    config(dir.path(), "lake = '~/mine'\n");
    let file = dir.path().join(".config/iolode/config.toml");
    let said = format!(
        "lake {}, named by {}\n",
        dir.path().join("mine").display(),
        file.display()
    );
    for words in [
        &["ingest"][..],
        &["sql", "--ingest", "-c", "select 1"],
        &["lake", "compact"],
        &["lake", "vacuum", "--dry-run"],
        &["lake", "moved"],
        &["lake", "forget", "--darshan"],
        &["lake", "restore", "--version", "1"],
    ] {
        let run = iolode(dir.path(), words);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stderr.starts_with(&said), "{said}{run:?}");
        // One that is named is not said.
        let lake: &[&str] = match words[0] {
            "lake" => &["mine"],
            _ => &["--lake", "mine"],
        };
        let named = iolode(dir.path(), &[words, lake].concat());
        assert!(!named.stderr.contains(", named by "), "{named:?}");
    }
}

fn where_no_lake_is_given_one_line_names_the_three_ways() {
    let dir = fresh();
    let file = dir.path().join(".config/iolode/config.toml");
    for (words, argument) in [
        (&["ingest"][..], "--lake LAKE"),
        (
            &["query", "coverage"],
            "--lake LAKE, or logs as --logs PATH",
        ),
        (
            &["query", "diagnose", "--job", "1"],
            "--lake LAKE, or logs as --logs PATH",
        ),
        (&["sql", "--ingest", "-c", "select 1"], "--lake LAKE"),
        (&["lake", "info"], "LAKE"),
        (&["lake", "vacuum"], "LAKE"),
    ] {
        assert_eq!(
            iolode(dir.path(), words).failed(),
            format!(
                "no lake given: name it as {argument}, in the variable IOLODE_LAKE, or as `lake = \"/path\"` in {}",
                file.display()
            )
        );
    }
    // SQL needs no lake.
    let one = iolode(
        dir.path(),
        &["sql", "--format", "csv", "-c", "select 1 as one"],
    );
    assert_eq!(one.ok(), "one\n1\n");
    config(dir.path(), "laek = '/x'\n");
    let why = iolode(dir.path(), &["sql", "-c", "select 1"]).failed();
    assert!(
        why.starts_with(&format!("{}: unknown field `laek`", file.display())),
        "{why}"
    );
    let gone = with(dir.path(), "gone", &["lake", "info"]).failed();
    let expected = format!("lake {}: there is none", dir.path().join("gone").display());
    assert!(gone.starts_with(&expected), "{gone}");
}
