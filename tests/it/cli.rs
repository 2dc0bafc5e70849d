//! The commands: what they print where, and how they exit.

use crate::cli_program::{PROGRAM, fresh, iolode, program, small};
use crate::support::{any_python, run_python};
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::write::{DarshanLog, Job, Module, Record, Records};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

crate::tests! {
    [] => {
        a_lake_without_its_newest_version_answers_with_a_warning_and_is_not_changed,
        every_format_writes_literals_as_expected,
        ids_of_the_lake_are_strings_in_json_and_the_same_as_in_csv,
        statements_come_from_an_argument_a_file_or_a_pipe,
        a_statement_may_begin_with_a_comment_and_have_thousands_of_terms,
        rows_and_time_are_said_on_stderr_and_nothing_but_data_on_stdout,
        several_lakes_are_schemas_and_names_alone_mean_the_first,
        loose_logs_can_be_asked_without_a_lake_and_an_old_version_with_one,
        a_period_is_days_in_the_sites_zone,
        registered_sources_need_not_be_named_again,
        a_lake_says_what_it_holds,
        a_lake_of_two_ingests_is_compacted_once,
        a_damaged_lake_is_reported_by_check_with_exit_code_1,
        a_data_file_that_cannot_be_opened_is_told_and_not_called_damaged,
        a_copied_root_of_a_placed_lake_is_not_written_and_a_copy_or_a_moved_one_is,
        names_of_files_neither_steer_a_terminal_nor_end_a_line,
        names_in_a_log_neither_steer_a_terminal_nor_turn_its_text,
        a_lake_is_created_as_asked_and_never_over_something,
        the_schema_lists_tables_views_and_columns,
        a_demo_answers_its_questions_and_can_be_run_again,
        color_is_for_terminals_only_and_help_goes_to_stdout,
        completions_and_manual_pages_are_made,
    }
    [Python] => {
        a_prompt_edits_completes_and_remembers,
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

fn a_lake_says_what_it_holds() {
    let (dir, small) = (fresh(), small());
    let lake = |args: &[&str]| iolode(dir.path(), &[&["lake"], args].concat());
    let info = lake(&["info", small.lake()]).ok();
    for line in [
        "version      2, ingest of ",
        "time zone    UTC",
        "placement    default",
    ] {
        assert!(info.contains(line), "{info}");
    }
    assert!(info.contains("\ndarshan_log "), "{info}");
    let history = lake(&["history", small.lake(), "--format", "csv"]).ok();
    assert_eq!(history.lines().count(), 3);
    assert!(
        history.lines().nth(1).unwrap().contains(",create,"),
        "{history}"
    );
    let files = lake(&["files", small.lake(), "--format", "ndjson"]).ok();
    assert!(files.lines().all(|line| line.contains("\"table_name\":\"")));
    let check = lake(&["check", small.lake()]);
    assert!(check.stderr.ends_with("nothing found wrong\n"), "{check:?}");
    check.ok();
    let vacuum = lake(&["vacuum", small.lake(), "--dry-run"]);
    assert!(
        vacuum
            .stderr
            .starts_with("would remove 0 versions, 0 files"),
        "{vacuum:?}"
    );
    vacuum.ok();
    let compact = lake(&["compact", small.lake(), "--dry-run"]);
    assert!(
        compact.stderr.starts_with("nothing to do: ") || compact.stderr.starts_with("would write "),
        "{compact:?}"
    );
    compact.ok();
}

fn a_lake_of_two_ingests_is_compacted_once() {
    let (dir, small) = (fresh(), small());
    let lake = |args: &[&str]| iolode(dir.path(), &[&["lake"], args].concat());
    let logs = walkdir::WalkDir::new(&small.logs).sort_by_file_name();
    let logs = logs.into_iter().flatten().map(|entry| entry.into_path());
    let logs = logs.filter(|path| path.extension().is_some_and(|e| e == "darshan"));
    for log in logs.take(2) {
        let log = log.to_str().unwrap();
        iolode(
            dir.path(),
            &["ingest", "--create", "--lake", "twice", "--darshan", log],
        );
    }
    let first = lake(&["compact", "twice"]);
    assert!(first.stderr.ends_with(", version 4\n"), "{first:?}");
    first.ok();
    let second = lake(&["compact", "twice"]);
    assert!(second.stderr.starts_with("nothing to do: "), "{second:?}");
    assert!(
        second.stderr.ends_with("in 1 range, 1 list of inputs\n"),
        "{second:?}"
    );
    second.ok();
    lake(&["check", "twice"]).ok();
}

fn a_damaged_lake_is_reported_by_check_with_exit_code_1() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    iolode(
        dir.path(),
        &["ingest", "--create", "--lake", "lake", "--darshan", logs],
    );
    let table = dir.path().join("lake/darshan_log");
    let file = std::fs::read_dir(table)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(&file, "no Parquet").unwrap();
    let check = iolode(dir.path(), &["lake", "check", "lake"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.starts_with("darshan_log/"), "{check:?}");
    assert!(
        check.stderr.contains(" found wrong; `iolode lake restore "),
        "{check:?}"
    );
}

fn a_data_file_that_cannot_be_opened_is_told_and_not_called_damaged() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan", logs];
    iolode(dir.path(), &ingest);
    let table = std::fs::read_dir(dir.path().join("lake/darshan_log"));
    let file = table.unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&file).unwrap();
    // Whoever runs the tests may open everything but this.
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let check = iolode(dir.path(), &["lake", "check", "lake"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.contains(": cannot read: "), "{check:?}");
    let told = "nothing found wrong, 1 could not be read";
    assert!(check.stderr.contains(told), "{check:?}");
    let sql = ["sql", "--lake", "lake", "-c", "select app from darshan_log"];
    let asked = iolode(dir.path(), &sql);
    assert!(asked.stderr.contains(": cannot read: "), "{asked:?}");
    for run in [check, asked] {
        for word in ["restore", "damaged", "missing", "is gone"] {
            assert!(!run.stderr.contains(word), "{word}: {run:?}");
        }
    }
}

fn a_lake_without_its_newest_version_answers_with_a_warning_and_is_not_changed() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let created = iolode(dir.path(), &["lake", "create", "my lake"]);
    let next = "next: iolode ingest --lake 'my lake' --darshan PATH";
    assert!(created.stderr.contains(next), "{created:?}");
    let ingest = ["ingest", "--lake", "my lake", "--darshan", logs];
    iolode(dir.path(), &ingest);
    let manifest = "_iolode/manifest/00000000000000000002.json";
    std::fs::remove_file(dir.path().join("my lake").join(manifest)).unwrap();
    let what = format!(
        "lake {}: its newest version 2 is missing ({manifest})",
        dir.path().join("my lake").display()
    );
    let remedy = format!(
        "`iolode lake restore '{}' --version 1` to go on without it",
        dir.path().join("my lake").display()
    );
    let count = "select count(*) as n from darshan_log";
    let sql = ["sql", "--lake", "my lake", "--format", "csv", "-c", count];
    for read in [
        &sql[..],
        &["query", "unreadable_logs", "--lake", "my lake"],
        &["lake", "info", "my lake"],
        &["lake", "files", "my lake"],
        &["lake", "history", "my lake"],
    ] {
        let run = iolode(dir.path(), read);
        assert_eq!(run.code, Some(0), "{run:?}");
        let first = run.stderr.lines().next().unwrap_or_default();
        let warned = first.strip_prefix(&*format!("warning: {what}, answering from version 1; "));
        assert!(
            warned.is_some_and(|rest| rest.ends_with(&remedy)),
            "{run:?}"
        );
    }
    for write in [
        &ingest[..],
        &["lake", "compact", "my lake"],
        &["lake", "vacuum", "my lake"],
    ] {
        let refused = iolode(dir.path(), write).failed();
        assert!(
            refused.starts_with(&what) && refused.contains(&remedy),
            "{refused}"
        );
    }
    iolode(
        dir.path(),
        &["lake", "restore", "my lake", "--version", "1"],
    )
    .ok();
    let run = iolode(dir.path(), &sql);
    assert_eq!((&*run.stdout, &*run.stderr), ("n\n0\n", ""));
}

fn a_copied_root_of_a_placed_lake_is_not_written_and_a_copy_or_a_moved_one_is() {
    let (dir, small) = (fresh(), small());
    let lake = |args: &[&str]| iolode(dir.path(), &[&["lake"], args].concat());
    let count = |lake: &str| {
        let sql = "select count(*) from darshan_file";
        let args = ["sql", "--lake", lake, "--format", "csv", "-c", sql];
        iolode(dir.path(), &args).ok()
    };
    lake(&["create", "a", "--place", "dirs", "--dirs", "x,y"]).ok();
    let logs = small.logs.to_str().unwrap();
    iolode(dir.path(), &["ingest", "--lake", "a", "--darshan", logs]);
    let before = count("a");
    let copied = std::process::Command::new("cp")
        .args(["-a", "a", "b"])
        .current_dir(dir.path())
        .status();
    assert!(copied.unwrap().success());
    assert_eq!(count("b"), before);
    let refused = lake(&["vacuum", "b"]).failed();
    assert!(
        refused.contains("its directories belong to the lake at ")
            && refused.contains("iolode lake moved"),
        "{refused}"
    );
    let refused = lake(&["moved", "b"]).failed();
    assert!(refused.contains("is still at "), "{refused}");
    let copied = lake(&["copy", "a", "c"]);
    assert!(
        copied.stderr.starts_with("copied version 2: "),
        "{copied:?}"
    );
    copied.ok();
    assert_eq!(count("c"), before);
    lake(&["check", "c"]).ok();
    lake(&["copy", "a", "d", "--dirs", "x,z", "--version", "2"]).ok();
    assert_eq!(count("d"), before);
    std::fs::rename(dir.path().join("a"), dir.path().join("e")).unwrap();
    let moved = lake(&["moved", "e"]);
    assert!(
        moved
            .stderr
            .starts_with("2 directories name this root, and no more "),
        "{moved:?}"
    );
    moved.ok();
    lake(&["vacuum", "e"]).ok();
    assert_eq!(count("e"), before);
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

fn a_lake_is_created_as_asked_and_never_over_something() {
    let dir = fresh();
    let create = |args: &[&str]| iolode(dir.path(), &[&["lake", "create"], args].concat());
    create(&[
        "a",
        "--cluster",
        "cori",
        "--timezone",
        "America/Los_Angeles",
        "--place",
        "dirs",
        "--dirs",
        "x,y",
    ])
    .ok();
    let settings = |lake: &str| iolode(dir.path(), &["lake", "info", lake, "--site"]).ok();
    let site = settings("a");
    assert!(
        site.contains("cluster = \"cori\"") && site.contains("timezone = \"America/Los_Angeles\""),
        "{site}"
    );
    assert!(
        site.contains(&dir.path().join("y").display().to_string()),
        "{site}"
    );
    let info = iolode(dir.path(), &["lake", "info", "a"]).ok();
    assert!(info.contains("placement    in 2 directories"), "{info}");
    std::fs::write(dir.path().join("site.toml"), &site).unwrap();
    create(&["b", "--site", "site.toml", "--cluster", "edison"]).ok();
    let site = settings("b");
    assert!(
        site.contains("cluster = \"edison\"") && site.contains("America/Los_Angeles"),
        "{site}"
    );

    assert!(
        create(&["a"])
            .failed()
            .ends_with("a: there is a lake already")
    );
    std::fs::create_dir(dir.path().join("full")).unwrap();
    std::fs::write(dir.path().join("full/x"), "").unwrap();
    assert!(
        create(&["full"])
            .failed()
            .contains("the directory is not empty")
    );
    assert!(
        create(&["c", "--place", "lustre"])
            .failed()
            .contains("--osts")
    );
    assert!(
        create(&["c", "--place", "lustre", "--osts", "0"])
            .failed()
            .starts_with("placement `lustre` needs the command `lfs`")
    );
    assert!(
        create(&["c", "--osts", "0-7"])
            .failed()
            .contains("--osts and --dirs go with --place")
    );
    assert!(
        create(&["c", "--timezone", "Mars"])
            .failed()
            .starts_with("unknown time zone `Mars`")
    );
    std::fs::write(dir.path().join("bad.toml"), "cluter = 'x'").unwrap();
    assert!(
        create(&["c", "--site", "bad.toml"])
            .failed()
            .starts_with("bad.toml: ")
    );
    assert!(!dir.path().join("c").exists());
}

fn the_schema_lists_tables_views_and_columns() {
    let dir = fresh();
    let all = iolode(dir.path(), &["schema", "--format", "csv"]).ok();
    for table in [
        "darshan_log,",
        "darshan_dxt,",
        "lake_input,",
        "darshan_job,",
    ] {
        assert!(
            all.lines().any(|line| line.starts_with(table)),
            "{table} is missing"
        );
    }
    let file = iolode(dir.path(), &["schema", "darshan_file"]).ok();
    assert!(
        file.starts_with("darshan_file: One file in one log"),
        "{file}"
    );
    let row = file
        .lines()
        .find(|line| line.starts_with(" bytes_written "))
        .unwrap();
    assert!(
        row.contains("| Int64") && row.contains("| B ") && row.contains("| never"),
        "{row}"
    );
    let why = iolode(dir.path(), &["schema", "darshan_fiel"]).failed();
    assert_eq!(
        why,
        "unknown table `darshan_fiel`; did you mean `darshan_file`?"
    );
}

fn a_demo_answers_its_questions_and_can_be_run_again() {
    let dir = fresh();
    let run = || iolode(dir.path(), &["demo", "here", "--jobs", "60"]).ok();
    let first = run();
    assert_eq!(first.matches("\n    select ").count(), 7, "{first}");
    assert!(first.contains("4. Try next"), "{first}");
    let second = run();
    assert!(
        second.contains("they are there from an earlier run") && second.contains("nothing new: "),
        "{second}"
    );
    let answers = |text: &str| text.split_once("3. Seven questions").unwrap().1.to_string();
    assert_eq!(answers(&first), answers(&second));
    // A run that was stopped while it wrote its logs starts them again.
    std::fs::remove_file(dir.path().join("here/logs/truth.json")).unwrap();
    assert_eq!(answers(&run()), answers(&first));
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/thesis.tex"), "").unwrap();
    assert!(
        iolode(dir.path(), &["demo", "mine"])
            .failed()
            .contains("holds no demo")
    );
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

fn completions_and_manual_pages_are_made() {
    let dir = fresh();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            iolode(dir.path(), &["completions", shell])
                .ok()
                .contains("iolode"),
            "{shell}"
        );
    }
    assert!(iolode(dir.path(), &["man"]).ok().contains(".TH iolode 1"));
    assert!(
        iolode(dir.path(), &["man", "lake", "create"])
            .ok()
            .contains("range")
    );
    assert!(
        iolode(dir.path(), &["man", "lke"])
            .failed()
            .contains("did you mean `lake`?")
    );
}
