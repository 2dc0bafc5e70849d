//! `iolode sql`: where statements come from, and what they ask: lakes, old versions, loose logs, periods.

use crate::cli_program::{PROGRAM, fresh, iolode, program, small};
use crate::support::{any_python, run_python};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

crate::tests! {
    [] => {
        statements_come_from_an_argument_a_file_or_a_pipe,
        a_statement_may_begin_with_a_comment_and_have_thousands_of_terms,
        several_lakes_are_schemas_and_names_alone_mean_the_first,
        loose_logs_can_be_asked_without_a_lake_and_an_old_version_with_one,
        a_period_is_days_in_the_sites_zone,
        registered_sources_need_not_be_named_again,
        a_file_beside_the_lake_is_a_table_of_a_statement,
        a_file_that_cannot_be_a_table_is_told_by_its_name,
    }
    [Python] => {
        a_prompt_edits_completes_and_remembers,
    }
}

fn statements_come_from_an_argument_a_file_or_a_pipe() {
    let dir = fresh();
    let csv =
        |args: &[&str]| iolode(dir.path(), &[&["sql", "--format", "csv"], args].concat()).ok();
    assert_eq!(
        csv(&["-c", "select 1 as a; select ';' as b"]),
        "a\n1\nb\n;\n"
    );
    assert_eq!(
        csv(&["-c", "select 1 as a", "-c", "select 2 as b"]),
        "a\n1\nb\n2\n"
    );
    std::fs::write(
        dir.path().join("q.sql"),
        "-- two lines\nselect 1\n  as a;\n",
    )
    .unwrap();
    assert_eq!(csv(&["-f", "q.sql"]), "a\n1\n");
    let mut child = program(dir.path())
        .args(["sql", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\\format ndjson\nselect 1 as a")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"a\":1}\n");
    assert!(
        iolode(dir.path(), &["sql", "-f", "none.sql"])
            .failed()
            .contains("none.sql: cannot read: no such file")
    );
}

fn a_statement_may_begin_with_a_comment_and_have_thousands_of_terms() {
    let (dir, small) = (fresh(), small());
    let terms: Vec<String> = (0..5000).map(|id| format!("record_id = {id}")).collect();
    let sql = format!(
        "-- generated\nselect count(*) as n from darshan_file where {}",
        terms.join(" or ")
    );
    std::fs::write(dir.path().join("q.sql"), &sql).unwrap();
    let ask = |args: &[&str]| {
        let common = ["sql", "--lake", small.lake(), "--format", "csv"];
        iolode(dir.path(), &[&common, args].concat()).ok()
    };
    assert_eq!(ask(&["-f", "q.sql"]), "n\n0\n");
    assert_eq!(ask(&["-c", "-- one\nselect 1 as n"]), "n\n1\n");
}

fn several_lakes_are_schemas_and_names_alone_mean_the_first() {
    let (dir, small) = (fresh(), small());
    iolode(dir.path(), &["lake", "create", "empty"]).ok();
    let both = [
        "sql",
        "--format",
        "csv",
        "--lake",
        small.lake(),
        "--lake",
        "none=empty",
        "-c",
    ];
    let ask = |sql: &str| iolode(dir.path(), &[&both[..], &[sql]].concat()).ok();
    let logs = ask("select count(*) as n from darshan_log");
    assert_ne!(logs, "n\n0\n");
    assert_eq!(ask("select count(*) as n from lake.darshan_log"), logs);
    assert_eq!(ask("select count(*) as n from none.darshan_log"), "n\n0\n");
}

fn loose_logs_can_be_asked_without_a_lake_and_an_old_version_with_one() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let sql = "select count(*) as n, sum(bytes_written) as b from darshan_log";
    let loose = iolode(
        dir.path(),
        &["sql", "--logs", logs, "--format", "csv", "-c", sql],
    );
    assert_eq!(
        loose.code,
        Some(1),
        "one that cannot be read is among them: {loose:?}"
    );
    let lake = |more: &[&str]| {
        let args = [
            &["sql", "--lake", small.lake(), "--format", "csv", "-c", sql],
            more,
        ]
        .concat();
        iolode(dir.path(), &args).ok()
    };
    assert_eq!(loose.stdout, lake(&[]));
    assert_eq!(lake(&["--version", "1"]), "n,b\n0,\n");
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        0,
        "nothing was written here"
    );
}

fn a_period_is_days_in_the_sites_zone() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let starts = |more: &[&str]| {
        let sql = "select min(start_time) as a, max(start_time) as b from darshan_log";
        let args = [&["sql", "--logs", logs, "--format", "csv", "-c", sql], more].concat();
        iolode(dir.path(), &args)
            .stdout
            .lines()
            .nth(1)
            .unwrap_or_default()
            .to_string()
    };
    let tenth = starts(&["--from", "2026-09-10", "--to", "2026-09-12"]);
    for time in tenth.split(',') {
        assert!(
            ("2026-09-10T00:00:00Z".."2026-09-12T00:00:00Z").contains(&time),
            "{tenth}"
        );
    }
    let tokyo = starts(&[
        "--from",
        "2026-09-10",
        "--to",
        "2026-09-12",
        "--timezone",
        "Asia/Tokyo",
    ]);
    for time in tokyo.split(',') {
        assert!(
            ("2026-09-09T15:00:00Z".."2026-09-11T15:00:00Z").contains(&time),
            "{tokyo}"
        );
    }
}

fn registered_sources_need_not_be_named_again() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let first = iolode(
        dir.path(),
        &[
            "ingest",
            "--create",
            "--lake",
            "lake",
            "--darshan",
            logs,
            "--register",
        ],
    );
    assert_eq!(first.code, Some(1), "{first:?}");
    let again = iolode(dir.path(), &["ingest", "--lake", "lake"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stderr.starts_with("nothing new: "), "{again:?}");
    let asked = iolode(
        dir.path(),
        &[
            "sql",
            "--lake",
            "lake",
            "--ingest",
            "--format",
            "csv",
            "-c",
            "select count(*) > 0 as b from darshan_log",
        ],
    );
    assert_eq!(asked.ok(), "b\ntrue\n");
}

fn a_file_beside_the_lake_is_a_table_of_a_statement() {
    let (dir, small) = (fresh(), small());
    let ask = |args: &[&str], sql: &str| {
        let args = [&["sql"], args, &["--format", "csv", "-c", sql]].concat();
        iolode(dir.path(), &args).ok()
    };
    let lake = ["--lake", small.lake()];
    // What the program writes it reads: ids above 2^63, times, and text with separators and line ends.
    let saved =
        "select log_id, record_id, path, bytes_read from darshan_file order by all limit 40";
    for name in ["files.csv", "files.tsv", "files.parquet", "a b%[1]?.CSV"] {
        let format = name.rsplit('.').next().unwrap().to_lowercase();
        let args = [&["sql"], &lake[..], &["--format", &format, "-o", name]].concat();
        iolode(dir.path(), &[&args[..], &["-c", saved]].concat()).ok();
        let back = format!("select * from '{name}' order by all");
        assert_eq!(ask(&[], &back), ask(&lake, saved), "{name}");
        let joined = format!(
            "select count(*) as n, count(distinct f.record_id) > 1 as several \
             from '{name}' as f join darshan_file as d on f.log_id = d.log_id and f.record_id = d.record_id"
        );
        assert_eq!(ask(&lake, &joined), "n,several\n40,true\n", "{name}");
    }
    // Text of several lines, in a file that is large enough to be read in parts.
    let mut lines = "n,text\n".to_string();
    (0..200_000).for_each(|n| {
        lines.push_str(&format!(
            "{n},\"two lines\nof {n}, which are one text for its part\"\n"
        ))
    });
    assert!(lines.len() > 10 << 20);
    std::fs::write(dir.path().join("lines.csv"), lines).unwrap();
    let sums =
        "select count(*) as rows, sum(n) as n, count(distinct text) as texts from 'lines.csv'";
    assert_eq!(ask(&[], sums), "rows,n,texts\n200000,19999900000,200000\n");
    let csv = "name,at,note\nior,2026-09-01T12:00:00Z,\"a,\"\"b\"\"\"\nhacc,,\n";
    std::fs::write(dir.path().join("apps.csv"), csv).unwrap();
    assert_eq!(
        ask(
            &lake,
            "select apps.name, note from 'apps.csv' where at < now()"
        ),
        "name,note\nior,\"a,\"\"b\"\"\"\n"
    );
    assert_eq!(
        ask(&lake, "select count(*) > 0 as any from 'darshan_log'"),
        "any\ntrue\n"
    );
    let rows = ask(&[], "summarize 'apps.csv'");
    assert!(
        rows.contains("\nname,VARCHAR,hacc,ior,2,,,,,,2,0.00\n"),
        "{rows}"
    );
    assert_eq!(
        ask(
            &[],
            "create view v as select name from 'apps.csv'; select * from v order by all"
        ),
        "name\nhacc\nior\n"
    );
}

fn a_file_that_cannot_be_a_table_is_told_by_its_name() {
    let dir = fresh();
    let why = |sql: &str| iolode(dir.path(), &["sql", "-c", sql]).failed();
    assert_eq!(
        why("select * from 'none.csv'"),
        "none.csv: cannot read: no such file or directory"
    );
    assert_eq!(
        why("select * from 'notes.txt'"),
        "notes.txt: expected a file whose name ends in .csv, .tsv or .parquet"
    );
    std::fs::create_dir(dir.path().join("dir.csv")).unwrap();
    assert_eq!(
        why("select * from 'dir.csv'"),
        "dir.csv: cannot read: not a regular file"
    );
    for name in ["bad.parquet", "empty.csv"] {
        std::fs::write(
            dir.path().join(name),
            if name == "empty.csv" { "" } else { "text" },
        )
        .unwrap();
        let why = why(&format!("select * from '{name}'"));
        assert!(
            why.starts_with(&format!("{name}: cannot read as ")),
            "{why}"
        );
    }
    // A value that is not of the type of its column.
    let mut csv = "n\n".to_string();
    (0..1_000_001).for_each(|_| csv.push_str("1\n"));
    csv.push_str("one\n");
    std::fs::write(dir.path().join("n.csv"), csv).unwrap();
    let why = why("select sum(n) from 'n.csv'");
    assert!(why.contains("one"), "{why}");
}

fn a_prompt_edits_completes_and_remembers() {
    let python = any_python();
    let dir = fresh();
    let program = Path::new(PROGRAM);
    run_python(
        &python,
        "python/prompt.py",
        &[program, &small().lake, dir.path()],
    );
}
