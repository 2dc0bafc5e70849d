//! `iolode query`: names that are not there, and answers without rows.

use crate::cli_program::{Run, fresh, iolode, small};

crate::tests! {
    [] => {
        a_name_that_is_not_in_the_lake_is_an_error_with_the_nearest_one,
        a_name_that_has_no_rows_is_told_on_stderr_and_is_no_error,
    }
}

fn ask(args: &[&str]) -> Run {
    let dir = fresh();
    let (name, rest) = args.split_first().unwrap();
    iolode(
        dir.path(),
        &[&["query", name, "--lake", small().lake()], rest].concat(),
    )
}

/// One value of the small lake.
fn value(sql: &str) -> String {
    let dir = fresh();
    let args = [
        "sql",
        "--lake",
        small().lake(),
        "--format",
        "csv",
        "-c",
        sql,
    ];
    let answer = iolode(dir.path(), &args).ok();
    answer.lines().nth(1).unwrap().to_string()
}

fn a_name_that_is_not_in_the_lake_is_an_error_with_the_nearest_one() {
    let app = value("select app from darshan_log order by length(app) desc, app limit 1");
    let misspelt = app[1..].to_string();
    for format in ["table", "csv", "json", "parquet"] {
        let why = ask(&["stripe_advice", "--app", &misspelt, "--format", format]).failed();
        assert_eq!(
            why,
            format!("unknown program `{misspelt}`; did you mean `{app}`?")
        );
    }
    let fs = value(
        "select fs from darshan_file where fs is not null group by fs order by count(*) desc limit 1",
    );
    let why = ask(&[
        "ost_load",
        "--fs",
        &format!("{fs}x"),
        "--from",
        "2026-09-01",
    ])
    .failed();
    assert_eq!(
        why,
        format!("unknown file system `{fs}x`; did you mean `{fs}`?")
    );
    let last = value("select max(job_id) as job from darshan_log");
    let why = ask(&["ost_neighbours", "--job", "999999999999"]).failed();
    assert_eq!(
        why,
        format!("unknown job `999999999999`; the nearest is `{last}`")
    );
    // An answer that goes to a file leaves none.
    let dir = fresh();
    let args = [
        "query",
        "ost_load",
        "--lake",
        small().lake(),
        "--fs",
        "x",
        "-o",
        "x.csv",
    ];
    iolode(dir.path(), &args).failed();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // An old version does not know what came later.
    let why = ask(&["ost_load", "--fs", &fs, "--version", "1"]).failed();
    assert_eq!(
        why,
        format!("unknown file system `{fs}`; the lake has no file systems")
    );
}

fn a_name_that_has_no_rows_is_told_on_stderr_and_is_no_error() {
    let fs = value("select fs from darshan_file where ost_list is not null limit 1");
    let job = value("select min(job_id) as job from darshan_log");
    let run = ask(&[
        "ost_load",
        "--fs",
        &fs,
        "--to",
        "2000-01-01",
        "--format",
        "csv",
    ]);
    assert_eq!(
        run.stderr,
        format!(
            "note: the lake has file system `{fs}`, but nothing there fits the period and the other conditions\n"
        )
    );
    assert_eq!(run.ok().lines().count(), 1, "the header alone");
    let run = ask(&[
        "advice",
        "--job",
        &job,
        "--min-cost",
        "1e18",
        "--severity",
        "critical",
    ]);
    assert!(
        run.stderr.starts_with(&format!(
            "note: the lake has job `{job}`, but nothing there fits the other conditions\n0 rows in "
        )),
        "{run:?}"
    );
    run.ok();
    // Without a name there is nothing to say, and with rows neither.
    let run = ask(&["ost_load", "--to", "2000-01-01", "--format", "csv"]);
    assert_eq!(run.stderr, "");
    let run = ask(&["ost_load", "--fs", &fs, "--format", "csv"]);
    assert_eq!(run.stderr, "");
    assert!(run.ok().lines().count() > 1);
}
