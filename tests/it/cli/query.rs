//! `iolode query`: names that are not there, answers without rows, and times.

use crate::cli_program::{Run, fresh, iolode, small};

crate::tests! {
    [] => {
        a_name_that_is_not_in_the_lake_is_an_error_with_the_nearest_one,
        a_name_that_has_no_rows_is_told_on_stderr_and_is_no_error,
        a_time_without_an_offset_is_in_the_zone_of_the_lake_in_sql_too,
        times_of_a_named_query_are_in_the_zone_of_the_lake_and_those_of_sql_in_utc,
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
    let run = ask(&["ost_load", "--to", "2000-01-01", "--format", "csv"]);
    assert_eq!(
        run.stderr,
        "note: nothing in the lake fits the period and the other conditions\n"
    );
    // With rows there is nothing to say.
    let run = ask(&["ost_load", "--fs", &fs, "--format", "csv"]);
    assert_eq!(run.stderr, "");
    assert!(run.ok().lines().count() > 1);
}

/// A lake of the small lake's logs, in Berlin.
fn berlin() -> tempfile::TempDir {
    let dir = fresh();
    let logs = small().logs.to_str().unwrap();
    let ingest = [
        "ingest",
        "--create",
        "--lake",
        "lake",
        "--timezone",
        "Europe/Berlin",
    ];
    let run = iolode(dir.path(), &[&ingest[..], &["--darshan", logs]].concat());
    assert_eq!(run.code, Some(1), "one log cannot be read: {run:?}");
    dir
}

fn a_time_without_an_offset_is_in_the_zone_of_the_lake_in_sql_too() {
    let dir = berlin();
    let sql = |sql: &str| {
        let args = ["sql", "--lake", "lake", "--format", "csv", "-c", sql];
        let answer = iolode(dir.path(), &args).ok();
        answer.lines().nth(1).unwrap().to_string()
    };
    // The second in which a log starts that has files on OSTs, and the next one, as clocks of several zones show them.
    let start = "(select min(l.start_time) from darshan_log l join darshan_file f using (job_id, log_id) where f.ost_list is not null and f.bytes_written > 0)";
    let shown = |zone: &str, format: &str| {
        let at = |seconds: u32| {
            format!(
                "to_char((date_trunc('second', {start}) + interval '{seconds} seconds') at time zone '{zone}', '{format}')"
            )
        };
        let both = sql(&format!("select {}, {}", at(0), at(1)));
        let (from, to) = both.split_once(',').unwrap();
        [from.to_string(), to.to_string()]
    };
    let local = shown("Europe/Berlin", "%Y-%m-%d %H:%M:%S");
    let hands = shown("UTC", "%Y-%m-%d %H:%M:%S");
    let found = |from: &str, to: &str| {
        sql(&format!(
            "select coalesce(max(logs), 0) as n from ost_load(\"from\" => {from}, \"to\" => {to})"
        ))
    };
    let quoted = |time: &str| format!("'{time}'");
    for [from, to] in [
        &local,
        &shown("UTC", "%Y-%m-%dT%H:%M:%SZ"),
        &shown("Asia/Tokyo", "%Y-%m-%d %H:%M:%S%:z"),
    ] {
        assert_eq!(found(&quoted(from), &quoted(to)), "1", "{from} {to}");
        let asked = ["query", "ost_load", "--lake", "lake", "--format", "csv"];
        let asked = [&asked[..], &["--from", from, "--to", to]].concat();
        let rows = iolode(dir.path(), &asked).ok();
        assert!(rows.lines().count() > 1, "{rows}");
    }
    // Of what is computed the type decides: texts and timestamps have no offset, a column has one.
    let [from, to] = &local;
    for time in [
        "concat('{}', '')",
        "timestamp '{}'",
        "cast('{}' as timestamp) + interval '0 s'",
    ] {
        let [from, to] = [from, to].map(|at| time.replace("{}", at));
        assert_eq!(found(&from, &to), "1", "{from}");
    }
    assert_eq!(found(start, &format!("{start} + interval '1 second'")), "1");
    let [from, to] = &hands;
    assert_eq!(found(&quoted(from), &quoted(to)), "0", "{from} {to}");
    let in_utc = format!(
        "select coalesce(max(logs), 0) as n from ost_load(\"from\" => '{from}', \"to\" => '{to}')"
    );
    let args = [
        "sql",
        "--lake",
        "lake",
        "--timezone",
        "UTC",
        "--format",
        "csv",
        "-c",
    ];
    let answer = iolode(dir.path(), &[&args[..], &[&in_utc]].concat()).ok();
    assert_eq!(answer, "n\n1\n", "another zone is that of this command");
    // A condition is SQL's own, in UTC.
    let condition = format!("start_time >= '{from}' and start_time < '{to}'");
    assert_eq!(
        sql(&format!(
            "select count(*) as n from darshan_log where {condition}"
        )),
        "1"
    );
}

fn times_of_a_named_query_are_in_the_zone_of_the_lake_and_those_of_sql_in_utc() {
    let dir = berlin();
    let run = |args: &[&str]| iolode(dir.path(), &[args, &["--lake", "lake"]].concat()).ok();
    let sql = "select min(start_time) as start_time from metadata_load(n => 1000)";
    let utc = run(&["sql", "--format", "csv", "-c", sql]);
    let utc = utc.lines().nth(1).unwrap();
    let instant = |text: &str| text.parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    assert!(utc.ends_with('Z'), "{utc}");
    let table = run(&["sql", "-c", sql]);
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    assert_eq!((lines[0], lines[2]), ("start_time (UTC)", utc));
    let asked = ["query", "metadata_load", "--n", "1000"];
    let first = |format: &str, more: &[&str]| {
        let rows = run(&[&asked[..], &["--format", format], more].concat());
        let is_time = |word: &&str| word.starts_with("2026-") && word.contains(':');
        let times = rows
            .split(['|', ',', '"', '\n'])
            .map(str::trim)
            .filter(is_time);
        (times.min().unwrap().to_string(), rows)
    };
    // In September Berlin is two hours ahead.
    let (local, _) = first("csv", &[]);
    assert!(local.contains('T') && local.ends_with("+02:00"), "{local}");
    assert_eq!(instant(&local), instant(utc));
    assert_eq!(first("ndjson", &[]).0, local);
    let (in_table, table) = first("table", &[]);
    assert_eq!(in_table, local.replace('T', " "));
    assert!(!table.contains("(UTC)"), "{table}");
    let (tokyo, _) = first("csv", &["--timezone", "Asia/Tokyo"]);
    assert!(tokyo.ends_with("+09:00"), "{tokyo}");
    assert_eq!(instant(&tokyo), instant(utc));
}
