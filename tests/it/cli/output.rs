//! What is printed where: formats, stderr, and text that could steer a terminal.

use crate::cli_program::{fresh, iolode, small};
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::write::{DarshanLog, Job, Module, Record, Records};

crate::tests! {
    [] => {
        every_format_writes_literals_as_expected,
        ids_of_the_lake_are_strings_in_json_and_the_same_as_in_csv,
        human_numbers_have_their_units_in_tables_alone,
        rows_and_time_are_said_on_stderr_and_nothing_but_data_on_stdout,
        names_of_files_neither_steer_a_terminal_nor_end_a_line,
        names_in_a_log_neither_steer_a_terminal_nor_turn_its_text,
        color_is_for_terminals_only_and_help_goes_to_stdout,
    }
}

fn every_format_writes_literals_as_expected() {
    let dir = fresh();
    let sql = "select 9007199254740993 as bytes, arrow_cast(15920181672442173319, 'UInt64') as record_id, 'a,b' as path, \
               cast(null as varchar) as fs, [1, null] as osts, 0.5 as share, to_timestamp_micros(1504256700123456) as t";
    let ask = |format: &str| iolode(dir.path(), &["sql", "--format", format, "-c", sql]).ok();
    assert_eq!(
        ask("csv"),
        "bytes,record_id,path,fs,osts,share,t\n9007199254740993,15920181672442173319,\"a,b\",,\"[1, NULL]\",0.5,2017-09-01T09:05:00.123456\n"
    );
    assert_eq!(
        ask("tsv"),
        "bytes\trecord_id\tpath\tfs\tosts\tshare\tt\n9007199254740993\t15920181672442173319\ta,b\t\t[1, NULL]\t0.5\t2017-09-01T09:05:00.123456\n"
    );
    let object = r#"{"bytes":9007199254740993,"record_id":"15920181672442173319","path":"a,b","fs":null,"osts":[1,null],"share":0.5,"t":"2017-09-01T09:05:00.123456"}"#;
    assert_eq!(ask("ndjson"), format!("{object}\n"));
    assert_eq!(ask("json"), format!("[{object}]\n"));
    let table = ask("table");
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(
        lines[0],
        " bytes            | record_id            | path | fs   | osts      | share | t"
            .replace(" bytes            ", "            bytes ")
            .replace(" record_id            ", "            record_id ")
    );
    assert_eq!(
        lines[2],
        " 9007199254740993 | 15920181672442173319 | a,b  | NULL | [1, NULL] |   0.5 | 2017-09-01T09:05:00.123456"
    );
}

fn human_numbers_have_their_units_in_tables_alone() {
    let (dir, small) = (fresh(), small());
    let sql = |more: &[&str], sql: &str| {
        let args = [&["sql", "--lake", small.lake(), "-c", sql], more].concat();
        iolode(dir.path(), &args)
    };
    let number = |text: &str| -> u64 { text.lines().nth(1).unwrap().parse().unwrap() };
    let sum = "select sum(bytes_read) as moved from darshan_log";
    let moved = number(&sql(&["--format", "csv"], sum).ok());
    let said = iolode::text::amount::size(moved);
    let table = sql(&["--human"], sum).ok();
    assert_eq!(table.lines().nth(2).unwrap().trim(), said, "{table}");
    assert!(sql(&[], sum).ok().contains(&moved.to_string()));
    let vertical = sql(&["--human", "-x"], sum).ok();
    assert!(
        vertical.contains(&format!("moved | {said}\n")),
        "{vertical}"
    );
    // An id is no amount.
    let id = "select max(job_id) as job_id from darshan_log";
    let job = number(&sql(&["--format", "csv"], id).ok());
    assert!(sql(&["--human"], id).ok().contains(&job.to_string()));
    let query = ["query", "top_read", "--lake", small.lake(), "--n", "1"];
    let table = iolode(dir.path(), &[&query[..], &["--human"]].concat()).ok();
    assert!(table.lines().nth(2).unwrap().contains("iB |"), "{table}");
    let why = sql(&["--human", "--format", "csv"], sum).failed();
    assert!(why.starts_with("--human goes with table output"), "{why}");
}

fn ids_of_the_lake_are_strings_in_json_and_the_same_as_in_csv() {
    let (dir, small) = (fresh(), small());
    let sql = "select log_id, job_id, record_id, bytes_read from darshan_file order by log_id, record_id limit 50";
    let ask = |format: &str| {
        iolode(
            dir.path(),
            &["sql", "--lake", small.lake(), "--format", format, "-c", sql],
        )
        .ok()
    };
    let rows: serde_json::Value = serde_json::from_str(&ask("json")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().expect("an id is a string").to_string();
    let from_json = rows.as_array().unwrap().iter().map(|row| {
        let ids = ["log_id", "job_id", "record_id"].map(|name| text(&row[name]));
        format!(
            "{},{}",
            ids.join(","),
            row["bytes_read"].as_i64().expect("bytes are a number")
        )
    });
    let csv = ask("csv");
    assert_eq!(
        csv.lines().skip(1).map(str::to_string).collect::<Vec<_>>(),
        from_json.collect::<Vec<_>>()
    );
    assert_eq!(rows.as_array().unwrap().len(), 50);
}

fn rows_and_time_are_said_on_stderr_and_nothing_but_data_on_stdout() {
    let dir = fresh();
    let run = iolode(
        dir.path(),
        &["sql", "-c", "select 1 as a union all select 2 order by a"],
    );
    assert_eq!(run.stdout, " a\n---\n 1\n 2\n");
    assert!(run.stderr.starts_with("2 rows in 0."), "{run:?}");
    let quiet = iolode(
        dir.path(),
        &["sql", "--format", "csv", "-c", "select 1 as a"],
    );
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.as_str()),
        ("a\n1\n", "")
    );
}

fn names_of_files_neither_steer_a_terminal_nor_end_a_line() {
    let dir = fresh();
    let name = "a\u{1b}[2J\n\u{202e}.darshan";
    std::fs::write(dir.path().join(name), [0; 100]).unwrap();
    let shown = "a\\x1b[2J\\n\\u{202e}.darshan: ";
    let inspect = iolode(dir.path(), &["inspect", name]).failed();
    assert!(inspect.starts_with(shown), "{inspect}");
    let args = ["ingest", "--create", "--lake", "lake", "--darshan", name];
    let ingest = iolode(dir.path(), &args);
    assert_eq!(ingest.code, Some(1), "{ingest:?}");
    let first = ingest.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("iolode: ") && first.contains(shown),
        "{first}"
    );
    // The path is said once.
    assert_eq!(first.matches("\\x1b").count(), 1, "{first}");
}

fn names_in_a_log_neither_steer_a_terminal_nor_turn_its_text() {
    let dir = fresh();
    let name = "a\u{1b}[31m\u{202e}b";
    let counters = Record {
        id: 1,
        ints: vec![1; 69],
        floats: vec![1.0; 17],
        ..Record::default()
    };
    let log = DarshanLog {
        job: Job {
            nprocs: 1,
            job_id: 5,
            start: (1_500_000_000, 0),
            end: (1_500_000_010, 0),
            exe: format!("/bin/{name} --to {name}").into_bytes(),
            ..Job::default()
        },
        names: vec![(1, format!("/scratch/{name}").into_bytes())],
        modules: vec![Module::new(
            ModuleId::POSIX,
            4,
            Records::Counters(vec![counters]),
        )],
        ..DarshanLog::default()
    };
    std::fs::write(dir.path().join("log.darshan"), log.to_bytes()).unwrap();
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan"];
    iolode(dir.path(), &[&ingest[..], &["log.darshan"]].concat()).ok();
    for run in [
        &["inspect", "log.darshan"][..],
        &["query", "diagnose", "--lake", "lake", "--job", "5"],
        &["sql", "--lake", "lake", "-c", "select exe from darshan_log"],
        &[
            "sql",
            "--lake",
            "lake",
            "-c",
            "select path from darshan_file",
        ],
    ] {
        let told = iolode(dir.path(), run);
        let text = format!("{}{}", told.stdout, told.stderr);
        assert!(text.contains("a\\x1b[31m\\u{202e}b"), "{run:?}: {text:?}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{run:?}: {text:?}");
    }
}

fn color_is_for_terminals_only_and_help_goes_to_stdout() {
    let dir = fresh();
    let help = iolode(dir.path(), &["sql", "--help"]);
    assert!(
        help.stdout.contains("Examples:\n  iolode sql --lake") && !help.stdout.contains('\x1b')
    );
    help.ok();
    assert!(
        !iolode(dir.path(), &["sql", "-c", "select null"])
            .ok()
            .contains('\x1b')
    );
    assert!(
        iolode(dir.path(), &["--version"])
            .ok()
            .starts_with("iolode 0.")
    );
}
