//! What goes wrong: one line that says what and what to do, nothing lost, the exit code.

use crate::cli_program::{PROGRAM, Run, fresh, iolode, program, program_at, small};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

crate::tests! {
    [] => {
        what_cannot_be_opened_is_refused_in_one_line_that_says_what_to_do,
        a_lake_of_a_newer_version_is_refused,
        a_path_that_is_not_there_is_a_mistake_and_no_failed_input,
        a_mistake_in_a_file_of_statements_is_said_with_its_line,
        what_is_no_file_is_not_waited_for,
        a_source_without_logs_says_so,
        what_was_forgotten_comes_back_with_refresh_and_a_retention_without_old_rows_is_done,
        a_directory_that_cannot_be_listed_is_a_failed_input_and_the_rest_is_taken,
        failed_inputs_are_listed_up_to_ten_and_then_counted,
        a_mistake_in_sql_is_one_line_with_the_nearest_name,
        wrong_usage_is_one_line_and_exit_code_2,
        a_full_disk_is_said_and_leaves_no_file_behind,
        a_temporary_directory_that_cannot_be_written_to_is_named,
        a_query_that_fails_leaves_the_file_of_an_earlier_one,
        a_reader_that_goes_away_is_no_error,
    }
}

fn what_cannot_be_opened_is_refused_in_one_line_that_says_what_to_do() {
    let dir = fresh();
    let ask = |lake: &str| iolode(dir.path(), &["sql", "--lake", lake, "-c", "select 1"]).failed();
    let at = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(
        ask("none"),
        format!(
            "lake {0}: there is none; make one with `iolode lake create {0}`",
            at("none")
        )
    );
    std::fs::write(dir.path().join("file"), "x").unwrap();
    assert_eq!(
        ask("file"),
        format!("lake {}: not a lake: it is not a directory", at("file"))
    );
    std::fs::create_dir(dir.path().join("other")).unwrap();
    assert!(ask("other").starts_with(&format!("lake {}: not a lake: ", at("other"))));
    let ingest = ["ingest", "--lake", "none", "--darshan", "file"];
    assert!(
        iolode(dir.path(), &ingest)
            .failed()
            .contains("`iolode lake create ")
    );
}

fn a_lake_of_a_newer_version_is_refused() {
    let dir = fresh();
    iolode(dir.path(), &["lake", "create", "lake"]).ok();
    let manifests = dir.path().join("lake/_iolode/manifest");
    let manifest = std::fs::read_dir(manifests)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = std::fs::read_to_string(&manifest).unwrap();
    let (_, body) = text.split_once("\"manifest\":").unwrap();
    let body = body.trim_end().strip_suffix('}').unwrap();
    let newer = body.replace("\"min_reader\":2", "\"min_reader\":99");
    assert_ne!(newer, body);
    let checksum = xxhash_rust::xxh3::xxh3_64(newer.as_bytes());
    let newer = format!("{{\"checksum\":\"{checksum:016x}\",\"manifest\":{newer}}}\n");
    std::fs::write(&manifest, newer).unwrap();
    let why = iolode(
        dir.path(),
        &["sql", "--lake", "lake", "-c", "select * from darshan_log"],
    )
    .failed();
    assert!(why.contains("99") && why.contains("newer"), "{why}");
}

fn a_path_that_is_not_there_is_a_mistake_and_no_failed_input() {
    let dir = fresh();
    iolode(dir.path(), &["lake", "create", "lake"]).ok();
    let why = iolode(
        dir.path(),
        &["ingest", "--lake", "lake", "--darshan", "typo"],
    )
    .failed();
    assert_eq!(why, "typo: cannot read: no such file or directory");
    let why = iolode(dir.path(), &["ingest", "--lake", "lake"]).failed();
    assert!(
        why.starts_with("nothing to import: give --darshan, --slurm or --lmt"),
        "{why}"
    );
}

fn a_mistake_in_a_file_of_statements_is_said_with_its_line() {
    let dir = fresh();
    let fails = |text: &str| {
        std::fs::write(dir.path().join("q.sql"), text).unwrap();
        let run = iolode(dir.path(), &["sql", "-f", "q.sql"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        let last = run.stderr.lines().last().unwrap_or_default();
        last.to_string()
    };
    assert_eq!(
        fails("select 1;\n\nselect 2;\nselect\n  nope;\nselect 3;\n"),
        "iolode: the statement at line 4: unknown column `nope`"
    );
    assert_eq!(
        fails("select 1;\nselect nope"),
        "iolode: the statement at line 2: unknown column `nope`"
    );
    assert_eq!(fails("select nope;\n"), "iolode: unknown column `nope`");
}

fn what_is_no_file_is_not_waited_for() {
    let dir = fresh();
    let pipe = dir.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let error = iolode(dir.path(), &["inspect", "pipe"]).failed();
    assert_eq!(error, "pipe: cannot open: not a regular file");
    iolode(dir.path(), &["lake", "create", "lake"]).ok();
    let ingest = ["ingest", "--lake", "lake", "--darshan", "pipe"];
    let error = iolode(dir.path(), &ingest).failed();
    assert_eq!(error, "pipe: cannot read: neither a file nor a directory");
}

fn what_was_forgotten_comes_back_with_refresh_and_a_retention_without_old_rows_is_done() {
    let dir = fresh();
    let run = |args: &[&str]| {
        let run = iolode(dir.path(), args);
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stderr
    };
    run(&["lake", "create", "lake", "--timezone", "UTC"]);
    let dump = "JobIDRaw|JobID|State|Submit|Start|End\n\
        1|1|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T01:00:00\n\
        2|2|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00\n";
    std::fs::write(dir.path().join("sacct.psv"), dump).unwrap();
    run(&["ingest", "--lake", "lake", "--slurm", "sacct.psv"]);
    let forget = |date: &str| run(&["lake", "forget", "lake", "--before", date]);
    assert_eq!(
        forget("2023-01-01"),
        "nothing in the lake is older than 2023-01-01; version 2 stays\n"
    );
    assert!(forget("2025-01-01").starts_with("0 inputs and 1 row forgotten, version 3;"));
    let said = run(&["ingest", "--lake", "lake", "--slurm", "sacct.psv"]);
    assert_eq!(said, "nothing new: 1 input known already\n");
    let refresh = || run(&["ingest", "--lake", "lake", "--refresh"]);
    let said = refresh();
    assert!(
        said.starts_with("1 input imported: 2 rows written"),
        "{said}"
    );
    assert_eq!(refresh(), "nothing new: 1 input known already\n");
}

fn a_source_without_logs_says_so() {
    let dir = fresh();
    std::fs::create_dir(dir.path().join("logs")).unwrap();
    let ingest = |more: &[&str]| {
        let common = ["ingest", "--lake", "lake", "--create", "--darshan", "logs"];
        let run = iolode(dir.path(), &[&common, more].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stderr
    };
    assert_eq!(ingest(&[]), "nothing new: no files there\n");
    iolode(
        dir.path(),
        &["synth", "--darshan-only", "--jobs", "3", "--out", "logs"],
    )
    .ok();
    // In a tree of years, months and days those of other days are not looked at.
    let said = ingest(&["--to", "2001-01-01"]);
    assert_eq!(said, "nothing new: 2 not a log\n");
    assert!(!said.contains("outside the period"), "{said}");
    for entry in walkdir::WalkDir::new(dir.path().join("logs")) {
        let path = entry.unwrap().into_path();
        if path
            .extension()
            .is_some_and(|extension| extension == "darshan")
        {
            let flat = dir.path().join("logs").join(path.file_name().unwrap());
            std::fs::rename(path, flat).unwrap();
        }
    }
    let said = ingest(&["--to", "2001-01-01"]);
    assert!(said.contains(" outside the period"), "{said}");
    let said = ingest(&["--to", "2001-01-01"]);
    assert!(
        said.starts_with("nothing new: ") && said.ends_with(" outside the period\n"),
        "{said}"
    );
}

fn a_directory_that_cannot_be_listed_is_a_failed_input_and_the_rest_is_taken() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let dir = fresh();
    let logs = dir.path().join("logs");
    iolode(
        dir.path(),
        &["synth", "--darshan-only", "--jobs", "3", "--out", "logs"],
    )
    .ok();
    let locked = logs.join("locked");
    std::fs::create_dir(&locked).unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&locked, 0o000);
    let mut command = program(dir.path());
    if std::fs::read_dir(&locked).is_ok() {
        // This user may read everything, so somebody else takes the logs in, who may not be let in where the program lies.
        let copy = dir.path().join("iolode");
        std::fs::copy(PROGRAM, &copy).unwrap();
        let open = ["-R", "a+rwX", "."];
        let opened = Command::new("chmod")
            .args(open)
            .current_dir(dir.path())
            .status();
        assert!(opened.unwrap().success());
        mode(&locked, 0o000);
        command = program_at(&copy, dir.path());
        command.uid(65_534).gid(65_534);
    }
    command.args(["ingest", "--create", "--lake", "lake", "--darshan", "logs"]);
    let run = Run::of(&mut command);
    mode(&locked, 0o755);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr
            .contains("locked: cannot read: permission denied"),
        "{run:?}"
    );
    assert!(run.stderr.contains(" inputs imported ("), "{run:?}");
}

fn failed_inputs_are_listed_up_to_ten_and_then_counted() {
    let dir = fresh();
    std::fs::create_dir(dir.path().join("logs")).unwrap();
    for n in 0..13 {
        std::fs::write(dir.path().join(format!("logs/{n:02}.darshan")), "no log\0").unwrap();
    }
    let run = iolode(
        dir.path(),
        &["ingest", "--create", "--lake", "lake", "--darshan", "logs"],
    );
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(run.stdout, "");
    assert_eq!(
        run.stderr.matches("not a Darshan log").count(),
        10,
        "{run:?}"
    );
    let reasons = format!(
        "why inputs are damaged, partial or failed: iolode query unreadable_logs --lake {}\n",
        dir.path().join("lake").display()
    );
    assert!(
        run.stderr.contains("iolode: 3 more inputs failed\n") && run.stderr.ends_with(&reasons),
        "{run:?}"
    );
    // The command that is given works.
    let query = [
        "query",
        "unreadable_logs",
        "--lake",
        "lake",
        "--format",
        "csv",
    ];
    let all = iolode(dir.path(), &query).ok();
    assert_eq!(all.lines().count(), 1 + 13);
    // They are not read again, and nothing failed this time.
    let again = iolode(
        dir.path(),
        &["ingest", "--lake", "lake", "--darshan", "logs"],
    );
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (
            Some(0),
            &*format!("nothing new: 13 inputs known already, 13 of them failed before\n{reasons}")
        )
    );
}

fn a_mistake_in_sql_is_one_line_with_the_nearest_name() {
    let (dir, small) = (fresh(), small());
    let ask = |sql: &str| iolode(dir.path(), &["sql", "--lake", small.lake(), "-c", sql]).failed();
    assert_eq!(
        ask("select appp from darshan_log"),
        "unknown column `appp`; did you mean `app`?"
    );
    assert_eq!(
        ask("select * from darshan_lgo"),
        "unknown table `darshan_lgo`; did you mean `darshan_log`?"
    );
    assert!(ask("selec 1").starts_with("cannot read the query: "));
    let lost = iolode(dir.path(), &["sql", "-c", "select * from darshan_log"]).failed();
    assert_eq!(
        lost,
        "unknown table `darshan_log`; there is no lake: give one with --lake or IOLODE_LAKE, or logs with --logs"
    );
}

fn wrong_usage_is_one_line_and_exit_code_2() {
    let dir = fresh();
    let run = |args: &[&str]| iolode(dir.path(), args).failed();
    assert_eq!(
        run(&["sql", "--fromat", "csv"]),
        "unexpected argument '--fromat' found; a similar argument exists: '--format'; see `iolode sql --help`"
    );
    assert!(
        run(&["sql", "--format", "xml", "-c", "select 1"])
            .starts_with("invalid value 'xml' for '--format <FORMAT>'")
    );
    assert!(
        run(&["sql", "--memory", "lots"])
            .contains("`lots` is not a size; expected a number with a unit, such as `512M`")
    );
    assert!(run(&["ingest"]).starts_with("no lake given: name it as --lake LAKE, "));
    assert!(
        run(&["sql", "--version", "1", "-c", "select 1"])
            .contains("--version needs exactly one --lake")
    );
    let none = iolode(dir.path(), &[]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("Usage: iolode <COMMAND>"), "{none:?}");
}

fn a_full_disk_is_said_and_leaves_no_file_behind() {
    let (dir, small) = (fresh(), small());
    for format in ["table", "csv", "tsv", "json", "ndjson", "arrow", "parquet"] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = program(dir.path())
            .args([
                "sql",
                "--lake",
                small.lake(),
                "--format",
                format,
                "-c",
                "select * from darshan_posix",
            ])
            .stdout(full)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{format}: {stderr}");
        assert_eq!(
            stderr,
            "iolode: stdout: cannot write: no space left on device; make room there and run the command again\n",
            "{format}"
        );
        let args = [
            "sql",
            "--lake",
            small.lake(),
            "--format",
            format,
            "-o",
            "/dev/full",
            "-c",
            "select * from darshan_posix",
        ];
        let why = iolode(dir.path(), &args).failed();
        assert_eq!(
            why,
            "/dev/full: cannot write: no space left on device; make room there and run the command again",
            "{format}"
        );
    }
}

fn a_temporary_directory_that_cannot_be_written_to_is_named() {
    let dir = fresh();
    let jobs = ["--darshan-only", "--jobs", "60", "--out", "logs"];
    iolode(dir.path(), &[&["synth"], &jobs[..]].concat()).ok();
    let ingest = |lake: &str, temporary: &str| {
        let args = ["ingest", "--create", "--darshan", "logs", "--lake", lake];
        let mut command = program(dir.path());
        command.args(args).args(["--memory", "1M"]);
        Run::of(command.env("TMPDIR", temporary))
    };
    assert_eq!(
        ingest("lake", "/nowhere").failed(),
        "/nowhere: cannot make a temporary file: no such file or directory"
    );
    // Nothing is in the lake, and nothing beside it.
    let files = |what: &str| iolode(dir.path(), &["lake", what, "lake"]).ok();
    assert!(!files("files").contains("parquet"), "{}", files("files"));
    ingest("lake", dir.path().to_str().unwrap()).ok();
    assert!(files("files").contains("parquet"));
    let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    names.retain(|name| name.as_ref().is_ok_and(|name| name.file_name() != "lake"));
    assert_eq!(names.len(), 1, "{names:?}");
}

fn a_query_that_fails_leaves_the_file_of_an_earlier_one() {
    let dir = fresh();
    let file = dir.path().join("out.csv");
    let ask = |sql: &str| {
        iolode(
            dir.path(),
            &["sql", "--format", "csv", "-o", "out.csv", "-c", sql],
        )
    };
    ask("select 1 as a").ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\n1\n");
    ask("select 1 as a; select nope").failed();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\n1\n");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

fn a_reader_that_goes_away_is_no_error() {
    let (dir, small) = (fresh(), small());
    for format in ["table", "csv", "json", "ndjson", "arrow", "parquet"] {
        let mut child = program(dir.path())
            .args([
                "sql",
                "--lake",
                small.lake(),
                "--format",
                format,
                "-c",
                "select * from darshan_posix a cross join (values (1), (2), (3), (4)) b",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), stderr.as_str()),
            (Some(0), ""),
            "{format}"
        );
    }
}
