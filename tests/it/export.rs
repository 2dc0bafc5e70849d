//! Exports: what is chosen is there and nothing else, an anonymised one gives nothing away, and what was not finished is not there.

use crate::cli_program::{Run, fresh, iolode, program};
use crate::report::lake_with;
use crate::support::{lake_of, python, run_python, shared_data};
use iolode::lake::{CreateOptions, IngestOptions, Lake, Silent};
use iolode::synth::{self, Month};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

crate::tests! {
    [] => {
        an_export_has_the_rows_of_the_chosen_logs_and_of_no_other,
        all_logs_of_a_job_come_with_one_of_them,
        samples_of_lmt_are_those_of_the_time_and_the_osts_of_a_log,
        times_that_a_policy_makes_less_exact_are_so_everywhere,
        times_of_a_condition_are_those_of_the_zone,
        an_export_of_an_export_is_equal,
        exports_by_one_key_join_and_by_two_keys_do_not,
        jobs_that_few_look_like_are_left_out,
        named_queries_answer_over_an_export,
        one_table_comes_in_its_order_from_all_ranges,
        what_cannot_be_exported_is_said_in_one_line_and_leaves_nothing,
        a_killed_export_leaves_no_target,
    }
    [Packages] => {
        nothing_of_a_month_is_found_in_its_anonymised_export,
        other_tools_read_an_export_and_give_the_sums_of_the_lake,
    }
    [Data, Packages] => {
        nothing_of_real_logs_is_found_in_their_anonymised_export,
    }
}

/// A lake of a month with all kinds of logs, made once; tests must not change it.
fn month() -> &'static str {
    static LAKE: OnceLock<String> = OnceLock::new();
    LAKE.get_or_init(|| {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("export");
        let _ = std::fs::remove_dir_all(&directory);
        // The settings say which file system of LMT a mount is.
        let site = |logs: &Path| std::fs::read_to_string(logs.join("site.toml")).unwrap();
        lake_with(&Month::complete(150, 7), &directory, site)
    })
}

/// An export of the month into a directory.
fn export(directory: &Path, to: &str, more: &[&str]) -> Run {
    iolode(
        directory,
        &[&["export", "--lake", month(), "--to", to][..], more].concat(),
    )
}

fn key(directory: &Path, name: &str) {
    iolode(directory, &["export", "--new-key", name]).ok();
}

/// An answer as CSV.
fn csv(directory: &Path, lake: &str, sql: &str) -> String {
    iolode(
        directory,
        &["sql", "--lake", lake, "--format", "csv", "-c", sql],
    )
    .ok()
}

/// Tables of a lake that have rows, with their keys.
fn tables() -> Vec<(&'static str, String)> {
    let with_rows = iolode::table::tables().filter(|table| {
        let counted = csv(
            Path::new("/"),
            month(),
            &format!("SELECT count(*) FROM {}", table.name),
        );
        !table.name.starts_with("lake_") && counted.lines().nth(1) != Some("0")
    });
    let with_keys = with_rows.map(|table| {
        let order: Vec<String> = table.order().map(|name| format!("\"{name}\"")).collect();
        (table.name.as_str(), order.join(", "))
    });
    with_keys.collect()
}

fn is_sound(directory: &Path, lake: &str) {
    let check = iolode(directory, &["lake", "check", lake]);
    assert!(
        check.code == Some(0) && check.stderr.contains("nothing found wrong"),
        "{check:?}"
    );
}

fn an_export_has_the_rows_of_the_chosen_logs_and_of_no_other() {
    let directory = fresh();
    let of = directory.path();
    let condition = "nprocs >= 64 AND app <> 'vasp'";
    for (to, condition) in [
        ("a", condition.to_string()),
        ("b", format!("NOT ({condition})")),
    ] {
        export(of, to, &["--where", &condition, "--lmt", "none"]).ok();
        is_sound(of, to);
        let logs = format!("SELECT log_id FROM darshan_log WHERE {condition}");
        let jobs = format!("SELECT job_id FROM darshan_log WHERE {condition}");
        for (table, order) in tables() {
            let chosen = match table {
                lmt if lmt.starts_with("lmt_") => "false".to_string(),
                // Darshan stores the id of a heterogeneous job's leader.
                "slurm_job" => format!("(job_id IN ({jobs}) OR het_job_id IN ({jobs}))"),
                "slurm_step" => format!(
                    "job_id IN (SELECT job_id FROM slurm_job WHERE job_id IN ({jobs}) OR het_job_id IN ({jobs}))"
                ),
                _ => format!("log_id IN ({logs})"),
            };
            let expected = csv(
                of,
                month(),
                &format!("SELECT * FROM {table} WHERE {chosen} ORDER BY {order}"),
            );
            let found = csv(of, to, &format!("SELECT * FROM {table} ORDER BY {order}"));
            assert!(
                found == expected,
                "{table}: {} rows, {} expected",
                found.lines().count(),
                expected.lines().count()
            );
        }
    }
    // Conservation: each log is in one of the two.
    for (table, _) in tables()
        .iter()
        .filter(|(table, _)| table.starts_with("darshan"))
    {
        let count = |lake: &str| {
            csv(of, lake, &format!("SELECT count(*) AS n FROM {table}"))
                .lines()
                .nth(1)
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        assert_eq!(count("a") + count("b"), count(month()), "{table}");
    }
}

fn all_logs_of_a_job_come_with_one_of_them() {
    let directory = fresh();
    let of = directory.path();
    let several = "SELECT min(log_id) AS log_id FROM darshan_log GROUP BY job_id HAVING count(*) > 1 ORDER BY count(*) DESC, 1 LIMIT 1";
    let log = csv(of, month(), several);
    let log = log.lines().nth(1).expect("a job with several logs");
    let condition = format!("log_id = {log}");
    export(of, "log", &["--where", &condition]).ok();
    export(of, "job", &["--where", &condition, "--grain", "job"]).ok();
    let logs = |lake: &str, of_what: &str| {
        csv(
            of,
            lake,
            &format!("SELECT log_id FROM darshan_log {of_what} ORDER BY 1"),
        )
    };
    assert_eq!(logs("log", "").lines().count(), 2);
    let of_job = format!("WHERE job_id IN (SELECT job_id FROM darshan_log WHERE {condition})");
    assert_eq!(logs("job", ""), logs(month(), &of_job));
}

fn samples_of_lmt_are_those_of_the_time_and_the_osts_of_a_log() {
    let directory = fresh();
    let of = directory.path();
    let condition = "l.log_id % 3 <> 0";
    // Pairs of logs and samples, one by one.
    let time = "o.time >= l.start_time - INTERVAL '60 seconds' AND coalesce(o.start_time, o.time) <= coalesce(l.end_time, l.start_time) + INTERVAL '60 seconds'";
    // Each OST, or each file system, with the times of the logs that used it.
    let used = |table: &str, time: &str| {
        let (ost, by_ost) = match table {
            "lmt_ost" => ("unnest(ost_list(f.ost_bits))", "AND l.ost = o.ost"),
            _ => ("0", ""),
        };
        format!(
            "WITH l AS (SELECT DISTINCT f.fs, {ost} AS ost, l.log_id, l.start_time, l.end_time FROM darshan_log l \
             JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id WHERE {condition}), \
             n AS (SELECT row_number() OVER () AS id, * FROM {table}) \
             SELECT count(DISTINCT o.id) FROM n o JOIN l ON l.fs = o.fs {by_ost} AND {time}"
        )
    };
    let chosen = condition.replace("l.", "");
    export(of, "used", &["--where", &chosen]).ok();
    is_sound(of, "used");
    let count = |text: String| text.lines().nth(1).unwrap().to_string();
    for table in ["lmt_ost", "lmt_oss", "lmt_mdt", "lmt_mdt_op"] {
        let expected = count(csv(of, month(), &used(table, time)));
        assert_ne!(expected, "0", "{table}");
        let found = csv(of, "used", &format!("SELECT count(*) FROM {table}"));
        assert_eq!(count(found), expected, "{table}");
    }
    export(of, "period", &["--where", &chosen, "--lmt", "period"]).ok();
    let span = format!(
        "SELECT min(start_time) AS start_time, max(coalesce(end_time, start_time)) AS end_time FROM darshan_log WHERE {chosen}"
    );
    let expected = csv(
        of,
        month(),
        &format!("SELECT count(*) FROM lmt_ost o CROSS JOIN ({span}) l WHERE {time}"),
    );
    assert_eq!(
        count(csv(of, "period", "SELECT count(*) FROM lmt_ost")),
        count(expected)
    );
}

/// Samples and logs tell times no better than the tables do.
fn times_that_a_policy_makes_less_exact_are_so_everywhere() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    std::fs::write(of.join("policy.toml"), "start_time = \"hour\"\n").unwrap();
    let anonymous = ["--anonymize", "--key", "key", "--policy", "policy.toml"];
    let chosen = "log_id % 16 = 0";
    let more = ["--where", chosen, "--logs", "rewritten"];
    export(of, "out", &[&anonymous[..], &more].concat()).ok();
    let samples = "SELECT count(*) FROM lmt_ost";
    let expected = format!(
        "WITH l AS (SELECT DISTINCT f.fs, unnest(ost_list(f.ost_bits)) AS ost, l.log_id, l.start_time, l.end_time FROM darshan_log l \
         JOIN darshan_file f ON f.job_id = l.job_id AND f.log_id = l.log_id WHERE l.{chosen}), \
         n AS (SELECT row_number() OVER () AS id, * FROM lmt_ost) \
         SELECT count(DISTINCT o.id) FROM n o JOIN l ON l.fs = o.fs AND l.ost = o.ost \
         AND o.time >= date_trunc('hour', l.start_time) - INTERVAL '60 seconds' AND coalesce(o.start_time, o.time) \
         <= date_trunc('hour', coalesce(l.end_time, l.start_time)) + INTERVAL '1 hour' + INTERVAL '60 seconds'"
    );
    let count = |lake, sql: &str| csv(of, lake, sql).lines().nth(1).unwrap().to_string();
    assert_ne!(count("out", samples), "0");
    assert_eq!(count("out", samples), count(month(), &expected));
    let logs = "SELECT \"user\", app, start_time, round(run_time, 3), files FROM darshan_log ORDER BY 1, 2, 3, 4, 5";
    lake_of(&of.join("again"), &[of.join("out/logs")], true);
    assert!(csv(of, "out", logs).lines().count() > 3);
    assert_eq!(csv(of, "out", logs), csv(of, "again", logs));
    let whole =
        "SELECT count(*) FROM darshan_log WHERE start_time <> date_trunc('hour', start_time)";
    assert_eq!(count("again", whole), "0");
    let readme = std::fs::read_to_string(of.join("out/README.txt")).unwrap();
    assert!(
        readme.contains("a microsecond later than the one before"),
        "{readme}"
    );
    // Without times of logs there is nothing that samples may tell.
    std::fs::write(
        of.join("policy.toml"),
        "[darshan_log]\nstart_time = \"drop\"\n",
    )
    .unwrap();
    let refused = export(of, "none", &anonymous).failed();
    assert!(refused.contains("give --lmt none"), "{refused}");
    export(of, "none", &[&anonymous[..], &["--lmt", "none"]].concat()).ok();
}

/// Days begin at another time in Berlin than in UTC: the logs between are those of one day or of the other.
fn times_of_a_condition_are_those_of_the_zone() {
    let directory = fresh();
    let of = directory.path();
    let count = |sql: &str| csv(of, month(), sql).lines().nth(1).unwrap().to_string();
    // A day between whose beginnings in both zones a log starts.
    let day = count(
        "SELECT to_char(min(start_time) + INTERVAL '2 hours', '%Y-%m-%d') FROM darshan_log WHERE extract(hour FROM start_time) >= 22",
    );
    let logs = |offset: &str| {
        count(&format!(
            "SELECT count(*) FROM darshan_log WHERE start_time >= '{day}T00:00:00{offset}'"
        ))
    };
    // Summer time: the month is September, and its lake is in Berlin.
    let (berlin, utc) = (logs("+02:00"), logs("Z"));
    assert_ne!(berlin, utc);
    // How many logs an export would have.
    let exported = |more: &[&str], condition: &str| {
        let asked = [
            "export",
            "--lake",
            month(),
            "--dry-run",
            "--where",
            condition,
        ];
        let said = iolode(of, &[&asked, more].concat()).stderr;
        let words: Vec<&str> = said.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "logs");
        words[at.unwrap_or_else(|| panic!("{said}")) - 1].to_string()
    };
    let end = "2027-01-01";
    for condition in [
        format!("start_time >= '{day}' AND start_time < '{end}'"),
        format!("start_time >= DATE '{day}' AND TIMESTAMP '{end} 00:00:00' > start_time"),
        format!(
            "NOT start_time < '{day} 00:00' AND start_time < DATE '{day}' + INTERVAL '365 days'"
        ),
        format!("start_time BETWEEN '{day}' AND '{end}' AND start_time <> '{end}'"),
        format!(
            "log_id IN (SELECT l.log_id FROM darshan_log l WHERE l.start_time >= '{day}' AND l.start_time < '{end}')"
        ),
    ] {
        assert_eq!(exported(&[], &condition), berlin, "{condition}");
        assert_eq!(
            exported(&["--timezone", "UTC"], &condition),
            utc,
            "{condition}"
        );
    }
    let of_utc = format!("start_time >= '{day}T00:00:00Z' AND start_time < '{end}T00:00:00Z'");
    assert_eq!(exported(&[], &of_utc), utc);
    let sql = format!(
        "SELECT count(*) FROM darshan_log WHERE start_time >= '{day}' AND start_time < '{end}'"
    );
    assert_eq!(count(&sql), utc, "a statement is in UTC");
    let condition = format!("start_time >= '{day}' AND start_time < '{end}'");
    let sql = "SELECT count(*) FROM darshan_log";
    let asked = ["--where", &condition, "--format", "csv", "--query", sql];
    export(of, "n.csv", &[&asked[..], &["--lmt", "none"]].concat()).ok();
    let text = std::fs::read_to_string(of.join("n.csv")).unwrap();
    assert_eq!(text.lines().nth(1), Some(berlin.as_str()));
}

fn an_export_of_an_export_is_equal() {
    let directory = fresh();
    let of = directory.path();
    let condition = ["--where", "bytes_written > 1e9"];
    export(of, "a", &condition).ok();
    iolode(
        of,
        &[&["export", "--lake", "a", "--to", "b"][..], &condition].concat(),
    )
    .ok();
    let inputs = "SELECT path, status, content_hash FROM lake_input ORDER BY path";
    assert_eq!(csv(of, "a", inputs), csv(of, "b", inputs));
    for (table, order) in tables() {
        let all = format!("SELECT * FROM {table} ORDER BY {order}");
        assert!(csv(of, "a", &all) == csv(of, "b", &all), "{table}");
    }
}

fn exports_by_one_key_join_and_by_two_keys_do_not() {
    let directory = fresh();
    let of = directory.path();
    key(of, "k1");
    key(of, "k2");
    for (to, key, condition) in [
        ("a", "k1", "nprocs >= 16"),
        ("b", "k1", "nprocs <= 256"),
        ("c", "k2", "true"),
    ] {
        let more = [
            "--where",
            condition,
            "--lmt",
            "period",
            "--anonymize",
            "--key",
            key,
        ];
        export(of, to, &more).ok();
        is_sound(of, to);
    }
    let values = |lake: &str, sql: &str| -> std::collections::BTreeSet<String> {
        csv(of, lake, sql)
            .lines()
            .skip(1)
            .filter(|value| !value.is_empty() && !value.starts_with('<'))
            .map(str::to_string)
            .collect()
    };
    for sql in [
        "SELECT DISTINCT \"user\" FROM darshan_log",
        "SELECT DISTINCT \"user\" FROM slurm_job",
        "SELECT DISTINCT app FROM darshan_log",
        "SELECT DISTINCT path FROM darshan_file",
        "SELECT DISTINCT job_id FROM slurm_job",
        "SELECT DISTINCT fs FROM lmt_ost",
    ] {
        let (a, b, c) = (values("a", sql), values("b", sql), values("c", sql));
        assert!(a.intersection(&b).next().is_some(), "{sql}");
        assert!(a.union(&b).all(|value| !c.contains(value)), "{sql}");
    }
    // The order of their names would say which nodes are neighbours.
    let unsorted = "SELECT count(*) FROM slurm_job WHERE array_sort(nodes) <> nodes";
    assert_eq!(csv(of, "a", unsorted).lines().nth(1), Some("0"));
    assert_ne!(
        csv(of, "a", "SELECT max(array_length(nodes)) FROM slurm_job")
            .lines()
            .nth(1),
        Some("1")
    );
    // Logs that both have.
    let both = "SELECT count(*) FROM darshan_log WHERE nprocs BETWEEN 16 AND 256";
    let joined = [
        "sql",
        "--lake",
        "a",
        "--lake",
        "b",
        "--format",
        "csv",
        "-c",
        "SELECT count(*) FROM a.darshan_log x JOIN b.darshan_log y ON x.log_id = y.log_id AND x.job_id = y.job_id",
    ];
    let of_both = csv(of, month(), both);
    assert_eq!(
        iolode(of, &joined).ok().lines().nth(1),
        of_both.lines().nth(1)
    );
}

fn jobs_that_few_look_like_are_left_out() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    let run = export(of, "k", &["--anonymize", "--key", "key", "--k", "2"]);
    let looks = "SELECT DISTINCT job_id, app, node_count, nprocs, date_trunc('day', start_time) AS day FROM job";
    let few = format!(
        "SELECT app, node_count, nprocs, day FROM ({looks}) GROUP BY app, node_count, nprocs, day HAVING count(*) < 2"
    );
    match run.code {
        Some(0) => assert_eq!(csv(of, "k", &few).lines().count(), 1),
        // No two jobs of so small a month need look alike.
        code => assert_eq!((code, of.join("k").exists()), (Some(1), false), "{run:?}"),
    }
    let alone = format!(
        "SELECT count(DISTINCT l.job_id) AS n FROM ({looks}) l JOIN ({few}) f ON l.app = f.app AND l.nprocs = f.nprocs AND l.day = f.day AND l.node_count IS NOT DISTINCT FROM f.node_count"
    );
    let alone = csv(of, month(), &alone);
    let alone = alone.lines().nth(1).unwrap();
    assert!(
        run.stderr.contains(&format!("left out {alone} jobs")),
        "{alone}: {run:?}"
    );
}

fn one_table_comes_in_its_order_from_all_ranges() {
    let directory = fresh();
    let of = directory.path();
    let logs = of.join("logs");
    synth::write(&Month::new(150, 7), &logs, &|_| ()).unwrap();
    // Ranges so small that there are several.
    let create = CreateOptions {
        range_bytes: 256 << 10,
        ..CreateOptions::default()
    };
    let lake = Lake::create(of.join("lake"), &create).unwrap();
    let options = IngestOptions {
        paths: vec![logs.into()],
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    let files = lake.snapshot(None).unwrap();
    let files = files.files().iter();
    assert!(files.filter(|file| file.table == "darshan_file").count() > 2);

    let sorted = csv(
        of,
        "lake",
        "SELECT * FROM darshan_file ORDER BY job_id, log_id, record_id",
    );
    let given = ["--format", "csv", "--table", "darshan_file"];
    let arguments = [
        &["export", "--lake", "lake", "--to", "files.csv"],
        &given[..],
    ];
    iolode(of, &arguments.concat()).ok();
    let exported = std::fs::read_to_string(of.join("files.csv")).unwrap();
    assert!(exported == sorted, "the rows come in another order");
}

fn named_queries_answer_over_an_export() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    export(of, "a", &["--lmt", "period", "--anonymize", "--key", "key"]).ok();
    export(of, "plain", &["--lmt", "period"]).ok();
    for query in iolode::engine::queries::queries() {
        if query.params.iter().any(|param| param.default.is_none()) {
            continue;
        }
        let answer = |lake: &str| {
            iolode(
                of,
                &["query", query.name, "--lake", lake, "--format", "json"],
            )
            .ok()
        };
        let rows = |text: String| match serde_json::from_str(&text).unwrap() {
            Value::Array(rows) => rows.len(),
            page => page["blocks"].as_array().map_or(0, Vec::len),
        };
        // What could not be read is in no export.
        if query.name != "unreadable_logs" {
            assert_eq!(rows(answer("a")), rows(answer("plain")), "{}", query.name);
        }
    }
}

fn what_cannot_be_exported_is_said_in_one_line_and_leaves_nothing() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    std::fs::write(of.join("short"), "abc\n").unwrap();
    std::fs::copy(of.join("key"), of.join("open")).unwrap();
    let mode = |mode| <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode);
    std::fs::set_permissions(of.join("short"), mode(0o600)).unwrap();
    std::fs::set_permissions(of.join("open"), mode(0o644)).unwrap();
    std::fs::write(
        of.join("policy.toml"),
        "user = \"kept\"\naccout = \"dropped\"\n",
    )
    .unwrap();
    std::fs::write(of.join("coarse.toml"), "posix_opens = \"drop\"\n").unwrap();
    let inside = format!("{}/x", month());
    let cases: &[(&str, &[&str], &str)] = &[
        (
            "x",
            &["--where", "nproc > 4"],
            "unknown column `nproc`; did you mean `nprocs`?",
        ),
        (
            "x",
            &["--where", "true) OR (true"],
            "is not one condition over darshan_log",
        ),
        (
            "x",
            &["--where", "sum(nprocs) > 4"],
            "aggregate functions are not allowed",
        ),
        ("x", &["--where", ""], "--where: "),
        (
            "x",
            &["--anonymize", "--key", "short"],
            "expected 64 hexadecimal digits, found 3 characters",
        ),
        (
            "x",
            &["--anonymize", "--key", "open"],
            "others can read it (mode 0644)",
        ),
        (
            "x",
            &["--anonymize", "--key", "none"],
            "cannot read the key: no such file",
        ),
        (
            "x",
            &["--anonymize", "--key", "key", "--policy", "policy.toml"],
            "policy.toml:2: unknown column `accout`; did you mean `account`?",
        ),
        (
            "x",
            &["--format", "csv", "--query", "copy (select 1) to 'y'"],
            "--query: expected one SELECT",
        ),
        (
            "x",
            &["--format", "csv", "--query", "select * from 'policy.toml'"],
            "",
        ),
        ("x", &["--format", "csv"], "give --table or --query"),
        (
            "key",
            &[
                "--format",
                "csv",
                "--table",
                "darshan_log",
                "--force",
                "--anonymize",
                "--key",
                "key",
            ],
            "it is the key",
        ),
        (
            "x",
            &["--anonymize", "--key", "key", "--logs", "copy"],
            "copied logs have all names in them",
        ),
        (
            "x",
            &["--logs", "rewritten"],
            "logs are rewritten under pseudonyms; give --anonymize --key FILE",
        ),
        (
            "x",
            &[
                "--anonymize",
                "--key",
                "key",
                "--logs",
                "rewritten",
                "--policy",
                "coarse.toml",
            ],
            "the policy changes darshan_",
        ),
        (&inside, &[], "it lies in the lake"),
        (".", &[], "it is there already"),
        (".", &["--force"], "--force replaces exports only"),
    ];
    let before = std::fs::read_dir(of).unwrap().count();
    for (to, more, why) in cases {
        let error = export(of, to, more).failed();
        assert!(error.contains(why), "{error}");
    }
    let nothing = export(of, "x", &["--where", "nprocs < 0"]);
    assert_eq!(
        (nothing.code, nothing.stderr.as_str()),
        (Some(1), "no log is chosen: nothing was exported\n")
    );
    // A subquery is a condition as any other.
    export(
        of,
        "y",
        &[
            "--where",
            "job_id IN (SELECT job_id FROM slurm_job WHERE state = 'COMPLETED')",
        ],
    )
    .ok();
    assert_eq!(std::fs::read_dir(of).unwrap().count(), before + 1);
}

/// Kills at moments spread over the time that an export takes.
fn a_killed_export_leaves_no_target() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    let arguments = [
        "export",
        "--lake",
        month(),
        "--to",
        "x",
        "--anonymize",
        "--key",
        "key",
    ];
    let began = Instant::now();
    iolode(of, &arguments).ok();
    let whole = began.elapsed();
    std::fs::remove_dir_all(of.join("x")).unwrap();
    let mut killed = 0;
    for part in 1..=8 {
        let mut child = program(of)
            .args(arguments)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + whole * part / 9;
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        killed += i32::from(!ended.success());
        match of.join("x").exists() {
            true => {
                is_sound(of, "x");
                std::fs::remove_dir_all(of.join("x")).unwrap();
            }
            false => assert!(!ended.success()),
        }
    }
    assert!(killed > 0);
    // The next one sweeps what they have left.
    export(of, "x", &[]).ok();
    let mut names: Vec<String> = std::fs::read_dir(of)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["key", "x"]);
}

fn nothing_of_a_month_is_found_in_its_anonymised_export() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    export(
        of,
        "out",
        &["--anonymize", "--key", "key", "--lmt", "period"],
    )
    .ok();
    run_python(
        &python(),
        "python/export_leaks.py",
        &[Path::new(month()), &of.join("out"), &of.join("key")],
    );
}

fn nothing_of_real_logs_is_found_in_their_anonymised_export() {
    let directory = fresh();
    let of = directory.path();
    key(of, "key");
    let data = shared_data();
    lake_of(
        &of.join("lake"),
        &["darshan", "linked", "slurm", "lmt"].map(|kind| data.join(kind)),
        true,
    );
    iolode(
        of,
        &[
            "export",
            "--lake",
            "lake",
            "--to",
            "out",
            "--anonymize",
            "--key",
            "key",
            "--logs",
            "rewritten",
        ],
    )
    .ok();
    is_sound(of, "out");
    for oracle in ["python/export_leaks.py", "python/rewritten_logs.py"] {
        let arguments = [&of.join("lake"), &of.join("out"), &of.join("key")];
        run_python(&python(), oracle, &arguments.map(PathBuf::as_path));
    }
    let refused = iolode(of, &["ingest", "--lake", "out", "--darshan", "out/logs"]).failed();
    assert!(refused.contains("its rows have pseudonyms"), "{refused}");
    // The logs say what the tables of the export say.
    lake_of(&of.join("again"), &[of.join("out/logs")], true);
    let same = [
        "job_id, uid, \"user\", app, nprocs, start_time, end_time, run_time, log_version, byte_order, compression, lib_ver, files, bytes_read, bytes_written FROM darshan_log",
        "job_id, record_id, path, is_stream, bytes_read, bytes_written, reads, writes, read_time, write_time, ost_list, ost_bytes_read FROM darshan_file",
        "job_id, record_id, rank, posix_opens, posix_bytes_read, posix_renamed_from, posix_f_meta_time FROM darshan_posix",
        "job_id, record_id, name, file_record_id, rank, h5d_bytes_written FROM darshan_h5d",
        "job_id, record_id, rank, hostname, operation, segment, access_offset, access_length, access_start FROM darshan_dxt",
        "job_id, record_id, rank, components FROM darshan_lustre",
        "job_id, record_id, rank, node_name FROM darshan_apmpi",
    ];
    for columns in same {
        let order = (1..=columns.split(',').count()).map(|n| n.to_string());
        let sql = format!(
            "SELECT {columns} ORDER BY {}",
            order.collect::<Vec<_>>().join(", ")
        );
        let rows = |lake| csv(of, lake, &sql);
        let (out, again) = (rows("out"), rows("again"));
        assert!(out.lines().count() > 1, "{columns}");
        assert!(out == again, "{columns}");
    }
}

fn other_tools_read_an_export_and_give_the_sums_of_the_lake() {
    let directory = fresh();
    let of = directory.path();
    let condition = "nprocs >= 64";
    let chosen = ["--where", condition, "--lmt", "period"];
    export(of, "lake", &chosen).ok();
    export(of, "delta", &[&chosen[..], &["--format", "delta"]].concat()).ok();
    let refused = iolode(of, &["sql", "--lake", "delta", "-c", "SELECT 1"]).failed();
    assert!(refused.contains("its tables are Delta tables"), "{refused}");
    let sums = format!(
        "SELECT count(*), sum(bytes_read), sum(bytes_written), sum(files) FROM darshan_log WHERE {condition}"
    );
    let files = format!(
        "SELECT count(*), sum(bytes_read), sum(bytes_written), count(DISTINCT record_id) FROM darshan_file WHERE log_id IN (SELECT log_id FROM darshan_log WHERE {condition})"
    );
    let expected = [sums, files]
        .map(|sql| csv(of, month(), &sql).lines().nth(1).unwrap().to_string())
        .join("\n");
    std::fs::write(of.join("expected"), expected).unwrap();
    let arrow = ["--table", "darshan_log", "--format", "arrow"];
    export(of, "log.arrow", &[&chosen[..], &arrow].concat()).ok();
    let read = ["lake", "delta", "expected", "log.arrow"].map(|name| of.join(name));
    run_python(
        &python(),
        "python/export_readers.py",
        &read.each_ref().map(PathBuf::as_path),
    );
}
