//! What built-in reports say: each of their numbers is that of its named query, and what a lake lacks is said in words.

use crate::cli_program::{Run, iolode};
use crate::report::{json, lake_of, lake_with, plain, sections};
use iolode::answer::report::REPORTS;
use iolode::engine::queries::{Query, queries};
use iolode::synth::Month;
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

crate::tests! {
    [] => {
        the_chart_of_each_named_query_is_drawn,
        numbers_of_built_in_reports_are_those_of_their_named_queries,
        a_period_chooses_rows_and_all_times_are_no_period,
        what_a_lake_lacks_is_said_and_not_drawn,
        the_head_says_where_the_numbers_are_from,
        times_of_findings_and_of_tables_are_those_of_the_zone,
        a_job_has_the_page_of_diagnose_and_its_files_in_time,
        a_program_has_its_history_and_one_that_is_not_there_is_an_error,
        days_are_those_of_the_zone_of_the_page,
        node_hours_are_the_same_to_the_last_digit_in_each_run,
        findings_name_the_worst_cause_and_the_most_loaded_ost,
        a_report_without_the_value_that_it_needs_says_which,
    }
}

/// A lake of a month with Slurm and LMT, made once for all tests, which must not change it.
pub(crate) fn lake() -> &'static str {
    static LAKE: OnceLock<String> = OnceLock::new();
    LAKE.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        // In the zone and with the file systems of the month, so that its LMT is of the time of its logs.
        let site = |logs: &Path| std::fs::read_to_string(logs.join("site.toml")).unwrap();
        lake_with(&Month::complete(150, 7), &directory, site)
    })
}

fn report(directory: &Path, name: &str, lake: &str, more: &[&str]) -> Run {
    let asked = ["report", name, "--lake", lake, "--format", "json"];
    iolode(directory, &[&asked, more].concat())
}

/// A row of a query of SQL.
fn row(directory: &Path, lake: &str, sql: &str) -> Value {
    let asked = ["sql", "--lake", lake, "--format", "json", "-c", sql];
    let rows = json(&iolode(directory, &asked).ok());
    rows.as_array()
        .unwrap()
        .first()
        .cloned()
        .unwrap_or_default()
}

/// An id, which JSON has as a number or as a text.
fn plain_id(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), String::from)
}

/// A value for each parameter that must be given.
fn needed(query: &Query, job: &str) -> Vec<(String, String)> {
    let needed = query.params.iter().filter(|param| param.default.is_none());
    let value = |name: &str| match name {
        "job" => job.to_string(),
        "fs" => "scratch".into(),
        "direction" => "write".into(),
        "from" => "2000-01-01".into(),
        "to" => "2100-01-01".into(),
        other => panic!("{}: {other}", query.name),
    };
    let pairs = needed.map(|param| (param.name.clone(), value(&param.name)));
    pairs.collect()
}

fn the_chart_of_each_named_query_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake();
    let sql = "SELECT job_id FROM darshan_log ORDER BY total_bytes DESC, log_id LIMIT 1";
    let job = plain_id(&row(directory.path(), lake, sql)["job_id"]);
    let drawn: Vec<&Query> = queries()
        .iter()
        .filter(|query| query.chart.is_some())
        .collect();
    let mut text = "title = \"T\"\ndoc = \"D\"\n".to_string();
    for query in &drawn {
        let mut with = needed(query, &job);
        // By default these are logs of more than a thousand processes, of which there are few.
        for limit in ["min_nprocs", "min_bytes", "min_logs", "min_share_below"] {
            if query.params.iter().any(|param| param.name == limit) {
                with.push((limit.into(), "0".into()));
            }
        }
        for (limit, most) in [("max_bw", "1e15"), ("max_ratio", "1e9")] {
            if query.params.iter().any(|param| param.name == limit) {
                with.push((limit.into(), most.into()));
            }
        }
        let with = with
            .iter()
            .map(|(name, value)| format!("{name} = \"{value}\""));
        let with = with.collect::<Vec<_>>().join(", ");
        let name = query.name;
        text += &format!(
            "[[section]]\ntitle = \"{name}\"\nwhy = \"W\"\nquery = \"{name}\"\nwith = {{ {with} }}\n"
        );
    }
    std::fs::write(directory.path().join("all.toml"), text).unwrap();
    let report = json(&report(directory.path(), "all.toml", lake, &[]).ok());
    let found = sections(&report);
    assert_eq!(found.len(), drawn.len());
    let mut without = vec![];
    for section in found {
        let name = section["title"].as_str().unwrap();
        assert!(section["error"].is_null(), "{name}: {}", section["error"]);
        let rows = section["table"]["rows"].as_array().unwrap();
        if section["chart"].is_null() && !rows.is_empty() {
            without.push(name);
        }
    }
    assert_eq!(without, Vec::<&str>::new());
}

/// Whether two values are the same, but for the order in which threads add up fractions.
fn is_same(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| plain(value).parse::<f64>().ok();
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        _ => plain(a) == plain(b),
    }
}

/// The sections of a built-in report as its file has them.
fn asked(name: &str) -> Vec<toml::Table> {
    let (_, text) = REPORTS.iter().find(|(known, _)| *known == name).unwrap();
    let report: toml::Table = toml::from_str(text).unwrap();
    let sections = report["section"].as_array().unwrap().iter();
    sections
        .map(|section| section.as_table().unwrap().clone())
        .collect()
}

fn numbers_of_built_in_reports_are_those_of_their_named_queries() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake();
    let day = row(
        directory.path(),
        lake,
        "SELECT to_char(min(start_time) + INTERVAL '2 days', '%Y-%m-%d') AS first, to_char(min(start_time) + INTERVAL '20 days', '%Y-%m-%d') AS last FROM darshan_log",
    );
    let (from, to) = (
        day["first"].as_str().unwrap(),
        day["last"].as_str().unwrap(),
    );
    let (mut compared, mut rows_compared) = (0, 0);
    for name in ["iominer", "weekly"] {
        let page = json(&report(directory.path(), name, lake, &["--from", from, "--to", to]).ok());
        let (sections, rows) = compare(directory.path(), name, &page, lake, Some([from, to]));
        compared += sections;
        rows_compared += rows;
    }
    assert!(
        compared > 20 && rows_compared > 400,
        "{compared} {rows_compared}"
    );
}

/// The rows that a section asks for, by the named query or the statement itself; None of a statement of a period.
fn rows_alone(
    directory: &Path,
    asked: &toml::Table,
    lake: &str,
    period: Option<[&str; 2]>,
) -> Option<Vec<Value>> {
    let of = |args: &[&str]| match json(&iolode(directory, args).ok()) {
        Value::Array(rows) => rows,
        other => panic!("{args:?}: {other}"),
    };
    let end = |name: &str| {
        let place = ["from", "to"].iter().position(|end| *end == name)?;
        Some(period?[place].to_string())
    };
    let Some(query) = asked.get("query").and_then(toml::Value::as_str) else {
        let sql = asked["sql"].as_str().unwrap();
        let sql = ["$from", "$to"].iter().fold(sql.to_string(), |sql, end| {
            sql.replace(end, "CAST(NULL AS TIMESTAMP)")
        });
        let args = ["sql", "--lake", lake, "--format", "json", "-c", &sql];
        return period.is_none().then(|| of(&args));
    };
    let mut given = vec![];
    let with = asked.get("with").and_then(toml::Value::as_table);
    for (name, value) in with.into_iter().flatten() {
        let value = match value.as_str().map(|text| (text, text.strip_prefix('$'))) {
            Some((_, Some(name))) => end(name),
            Some((text, None)) => Some(text.to_string()),
            None => Some(value.to_string()),
        };
        let flag = format!("--{}", name.replace('_', "-"));
        given.extend(value.map(|value| [flag, value]).into_iter().flatten());
    }
    let known = iolode::engine::queries::query(query).unwrap();
    let is_passed = |name: &str| {
        let mut values = with.into_iter().flat_map(|with| with.values());
        values.any(|value| value.as_str().and_then(|text| text.strip_prefix('$')) == Some(name))
    };
    for name in ["from", "to"] {
        if !is_passed(name) && known.params.iter().any(|known| known.name == name) {
            let flag = format!("--{name}");
            given.extend(end(name).map(|value| [flag, value]).into_iter().flatten());
        }
    }
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let args = ["query", query, "--lake", lake, "--format", "json"];
    Some(of(&[&args[..], &given].concat()))
}

/// The rows of each section of a built-in report are those of its question alone. Answers how many sections and rows there were.
pub(crate) fn compare(
    directory: &Path,
    name: &str,
    page: &Value,
    lake: &str,
    period: Option<[&str; 2]>,
) -> (usize, usize) {
    let (mut compared, mut rows_compared) = (0, 0);
    let found = sections(page);
    let asked = asked(name);
    assert_eq!(found.len(), asked.len());
    for (section, asked) in found.iter().zip(&asked) {
        let Some(alone) = rows_alone(directory, asked, lake, period) else {
            continue;
        };
        let title = &section["title"];
        let rows = section["table"]["rows"].as_array().unwrap();
        let most = asked
            .get("rows")
            .and_then(toml::Value::as_integer)
            .unwrap_or(100);
        assert_eq!(
            rows.len(),
            alone.len().min(most as usize),
            "{name}: {title}"
        );
        // So does its SQL, which the page shows.
        if name == "iominer" && period.is_some() {
            let count = section["sql"].as_str().unwrap();
            let count = format!("SELECT count(*) AS n FROM ({count})");
            let count = row(directory, lake, &count);
            assert_eq!(count["n"].as_i64(), Some(alone.len() as i64), "{title}");
        }
        let columns = section["table"]["columns"].as_array().unwrap();
        for (row, alone) in rows.iter().zip(&alone) {
            for column in columns {
                let column = column["name"].as_str().unwrap();
                // Lists are texts on a page; times have another form there.
                if alone[column].is_array() || column.ends_with("time") {
                    continue;
                }
                let (said, alone) = (&row[column], &alone[column]);
                assert!(
                    is_same(said, alone),
                    "{name}: {title}: {column}: {said} {alone}"
                );
            }
            rows_compared += 1;
        }
        compared += 1;
    }
    (compared, rows_compared)
}

/// The rows of two periods together are those of both, counted by the logs of the lake.
fn a_period_chooses_rows_and_all_times_are_no_period() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake();
    let middle = row(
        directory.path(),
        lake,
        "SELECT to_char(median_time, '%Y-%m-%dT%H:%M:%SZ') AS t FROM (SELECT to_timestamp_micros(CAST(median(CAST(start_time AS BIGINT)) AS BIGINT)) AS median_time FROM darshan_log)",
    );
    let middle = middle["t"].as_str().unwrap();
    let sums = [
        ("bytes_and_nodes()", "count(*)"),
        ("consecutive_requests()", "sum(logs)"),
        ("file_sharing()", "sum(logs)"),
        ("interfaces_by_size()", "sum(logs)"),
        ("logs_by_bytes_written()", "sum(bytes_written)"),
        ("logs_by_bytes_written(grain => 'job')", "count(*)"),
        ("logs_that_wrote_less(\"limit\" => 1e18)", "count(*)"),
        ("osts_per_log()", "sum(files)"),
        ("osts_per_log('job')", "sum(files)"),
        ("custom_stripe()", "sum(files)"),
        ("read_ratio()", "sum(logs)"),
        ("top_read(n => 1000)", "sum(bytes_read)"),
        ("top_write(n => 1000)", "sum(bytes_written)"),
        (
            "low_read_bandwidth(min_nprocs => 0, min_bytes => 0, max_bw => 1e15)",
            "count(*)",
        ),
        (
            "low_write_bandwidth(min_nprocs => 0, min_bytes => 0, max_bw => 1e15)",
            "count(*)",
        ),
        (
            "high_bandwidth('write', min_nprocs => 0, min_bytes => 0, min_bw => 0)",
            "count(*)",
        ),
        ("rank_imbalance(min_bytes => 0)", "count(*)"),
        ("stripe_advice(min_time => 0)", "sum(files)"),
    ];
    for (call, sum) in sums {
        let of = |period: &str| {
            let call = match call.strip_suffix("()") {
                Some(name) => format!("{name}({period})"),
                None if period.is_empty() => call.to_string(),
                None => format!("{}, {period})", call.strip_suffix(')').unwrap()),
            };
            let sql = format!("SELECT CAST({sum} AS BIGINT) AS n FROM {call}");
            row(directory.path(), lake, &sql)["n"].as_i64().unwrap_or(0)
        };
        let all = of("");
        let before = of(&format!("\"to\" => '{middle}'"));
        let since = of(&format!("\"from\" => '{middle}'"));
        assert_eq!(before + since, all, "{call}");
        assert!(before > 0 && since > 0, "{call}: {before} {since}");
    }
}

/// An empty lake, a lake of logs alone, and a period in which nothing ran: each section has a note or a finding, and none has a chart without marks.
fn what_a_lake_lacks_is_said_and_not_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let create = ["lake", "create", "empty"];
    iolode(path, &create).ok();
    let logs = lake_of(&Month::new(40, 7), &path.join("logs-alone"));
    let cases: [(&str, &[&str]); 3] = [
        ("empty", &[]),
        (&logs, &[]),
        (&logs, &["--period", "1999-W03"]),
    ];
    let app = row(path, &logs, "SELECT min(app) AS app FROM darshan_log");
    let set = format!("app={}", app["app"].as_str().unwrap());
    for (lake, period) in cases {
        for name in ["iominer", "weekly", "app"] {
            let program: &[&str] = if name == "app" { &["--set", &set] } else { &[] };
            let ran = report(path, name, lake, &[period, program].concat());
            if name == "app" && lake == "empty" {
                assert!(ran.failed().contains("the lake has no programs"));
                continue;
            }
            let page = json(&ran.ok());
            let is_empty = lake == "empty" || !period.is_empty();
            for section in sections(&page) {
                let title = &section["title"];
                assert!(section["error"].is_null(), "{lake}: {section}");
                if is_empty {
                    assert!(
                        section["chart"].is_null(),
                        "{lake} {name}: {title} {}",
                        section["chart"]
                    );
                }
                let rows = section["table"]["rows"].as_array().unwrap();
                if rows.is_empty() {
                    assert!(
                        section["notes"].to_string().contains("There are no rows."),
                        "{title}"
                    );
                }
                // No sentence has a place without a value.
                for finding in section["findings"].as_array().unwrap() {
                    assert!(
                        !finding.as_str().unwrap().contains(" - "),
                        "{title}: {finding}"
                    );
                }
            }
            if name == "weekly" {
                let full = sections(&page);
                let full = full.iter().find(|section| section["title"] == "Full OSTs");
                let said = full.unwrap()["findings"].to_string();
                assert!(said.contains("LMT has no sample of an OST"), "{said}");
            }
            let head = page["blocks"][0]["lines"].to_string();
            assert!(head.contains("there is no Slurm record"), "{head}");
            assert!(head.contains("LMT has no bytes to compare with"), "{head}");
            assert_eq!(head.contains("Coverage: 0 logs"), is_empty, "{head}");
        }
    }
}

fn the_head_says_where_the_numbers_are_from() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake();
    let file = [
        "report",
        "iominer",
        "--lake",
        lake,
        "--from",
        "2000-01-01",
        "-o",
        "page.html",
    ];
    iolode(directory.path(), &file).ok();
    let page = std::fs::read_to_string(directory.path().join("page.html")).unwrap();
    let logs = row(
        directory.path(),
        lake,
        "SELECT count(*) AS n FROM darshan_log",
    )["n"]
        .to_string();
    let partial = "SELECT count(*) AS n FROM lake_input WHERE status = 'partial'";
    let partial = row(directory.path(), lake, partial)["n"].to_string();
    for said in [
        format!("<dd>{lake}, version 2</dd>"),
        "<dt>Period</dt><dd>2000-01-01 and later</dd>".into(),
        "<dt>Times in</dt><dd>Europe/Berlin</dd>".into(),
        format!("Coverage: {logs} logs"),
        format!("{partial} partial."),
    ] {
        assert!(page.contains(&said), "{said}: {}", &page[..4000]);
    }
}

fn a_job_has_the_page_of_diagnose_and_its_files_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let lake = lake();
    let sql = "SELECT job_id FROM darshan_log WHERE read_files > 1 AND write_files > 1 ORDER BY total_bytes DESC, log_id LIMIT 1";
    let job = plain_id(&row(path, lake, sql)["job_id"]);
    let set = format!("job={job}");
    let page = json(&report(path, "job", lake, &["--set", &set]).ok());
    let alone = [
        "query", "diagnose", "--job", &job, "--lake", lake, "--format", "json",
    ];
    let alone = json(&iolode(path, &alone).ok());
    let alone = match &alone {
        Value::Array(answers) => &answers[0],
        answer => answer,
    };
    let found = sections(&page);
    assert_eq!(found[0]["blocks"], alone["blocks"]);
    // The critical path has the length of the union of its files' windows, by the sweep that the column comes from.
    let pieces = found[1]["table"]["rows"].as_array().unwrap().iter();
    let pieces = pieces.filter(|piece| piece["part"] == "critical path");
    let drawn: f64 = pieces.map(|piece| piece["seconds"].as_f64().unwrap()).sum();
    let sql = format!(
        "SELECT io_time(a, b) AS t FROM (SELECT CAST(CAST(read_start_time AS BIGINT) AS DOUBLE) / 1e6 AS a, CAST(CAST(read_end_time AS BIGINT) AS DOUBLE) / 1e6 AS b FROM darshan_file WHERE job_id = {job} AND NOT is_stream AND bytes_read > 0 UNION ALL SELECT CAST(CAST(write_start_time AS BIGINT) AS DOUBLE) / 1e6, CAST(CAST(write_end_time AS BIGINT) AS DOUBLE) / 1e6 FROM darshan_file WHERE job_id = {job} AND NOT is_stream AND bytes_written > 0)"
    );
    let union = row(path, lake, &sql)["t"].as_f64().unwrap();
    assert!(
        (drawn - union).abs() < 1e-3 * union.max(1.0),
        "{drawn} {union}"
    );
    assert_eq!(found[1]["chart"]["form"], "timeline");
    let names = found[1]["chart"]["plot"]["data"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|trace| trace["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&"critical path"), "{names:?}");
    a_job_has_the_traffic_of_its_osts(lake, path);
    // The same page as text and Markdown has the findings of diagnose.
    let text = [
        "report", "job", "--set", &set, "--lake", lake, "--format", "text",
    ];
    let text = iolode(path, &text).ok();
    assert!(text.contains("Likely causes"), "{text}");
    let missing = report(path, "job", lake, &["--set", "job=1"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(2), ""));
    assert!(missing.stderr.contains("unknown job `1`"), "{missing:?}");
}

/// Berlin is two hours ahead in September.
fn times_of_findings_and_of_tables_are_those_of_the_zone() {
    let directory = tempfile::tempdir().unwrap();
    let text = "title = 'T'\ndoc = 'D'\n[[section]]\ntitle = 'S'\nwhy = 'W'\nsql = \"SELECT TIMESTAMP '2026-09-11 11:33:30' AS t\"\n[[section.finding]]\nsays = 'At {t}.'\n";
    std::fs::write(directory.path().join("ours.toml"), text).unwrap();
    let asked = [
        "report",
        "ours.toml",
        "--lake",
        lake(),
        "--format",
        "markdown",
    ];
    let page = iolode(directory.path(), &asked).ok();
    assert!(page.contains("- At 2026-09-11 13:33:30."), "{page}");
    assert!(page.contains("| 2026-09-11 13:33:30 |"), "{page}");
}

/// The section of that title.
fn titled<'a>(sections: &[&'a Value], title: &str) -> &'a Value {
    let found = sections.iter().find(|section| section["title"] == title);
    found.unwrap_or_else(|| panic!("no section {title}"))
}

/// Of a job of one log, what LMT counted on its OSTs and what of it was the job's is what `lmt_interference` says of the log.
fn a_job_has_the_traffic_of_its_osts(lake: &str, path: &Path) {
    let sql = "SELECT job_id, sum(own) AS own, sum(seen) AS seen FROM lmt_interference('2000-01-01', '2100-01-01') GROUP BY job_id HAVING count(DISTINCT log_id) = 1 ORDER BY own DESC, job_id LIMIT 1";
    let expected = row(path, lake, sql);
    let set = format!("job={}", plain_id(&expected["job_id"]));
    let page = json(&report(path, "job", lake, &["--set", &set]).ok());
    let found = sections(&page);
    let traffic = titled(&found, "Its OSTs meanwhile");
    let rows = traffic["table"]["rows"].as_array().unwrap();
    assert_eq!(traffic["chart"]["form"], "bar", "{expected}");
    let sum = |column: &str| -> f64 { rows.iter().map(|row| row[column].as_f64().unwrap()).sum() };
    let own = expected["own"].as_f64().unwrap();
    assert!(
        (sum("own") - own).abs() < 1e-6 * own,
        "{} {expected}",
        sum("own")
    );
    // With the intervals beside those in which it moved bytes.
    assert!(
        sum("seen") >= expected["seen"].as_f64().unwrap(),
        "{expected}"
    );
    for row in rows {
        let [seen, own, others, unexplained] =
            ["seen", "own", "other_jobs", "unexplained"].map(|name| row[name].as_f64().unwrap());
        assert!(
            (seen - own - others - unexplained).abs() <= 1e-6 * seen.max(1.0),
            "{row}"
        );
    }
}

fn a_program_has_its_history_and_one_that_is_not_there_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let lake = lake();
    let sql = "SELECT app, count(*) AS logs, sum(bytes_read - bytes_read_streams) AS bytes FROM darshan_log GROUP BY app ORDER BY logs DESC, app LIMIT 1";
    let most = row(path, lake, sql);
    let set = format!("app={}", most["app"].as_str().unwrap());
    let page = json(&report(path, "app", lake, &["--set", &set]).ok());
    let found = sections(&page);
    let days = found[0]["table"]["rows"].as_array().unwrap();
    let sum = |column: &str| -> i64 { days.iter().map(|day| day[column].as_i64().unwrap()).sum() };
    assert_eq!(sum("logs"), most["logs"].as_i64().unwrap());
    assert_eq!(sum("bytes_read"), most["bytes"].as_i64().unwrap());
    // Of the factors of all programs the logs are those of perf_factors.
    let factors = titled(&found, "Its factors beside those of all programs");
    let factors = factors["table"]["rows"].as_array().unwrap();
    for direction in ["read", "write"] {
        let of = |row: &&Value| row["direction"] == direction && row["factor"] == "small";
        let small = factors.iter().find(of).unwrap();
        let sql = format!(
            "SELECT count(*) AS all_logs, median(small) AS all_programs FROM perf_factors('{direction}')"
        );
        let all = row(path, lake, &sql);
        let sql = format!(
            "SELECT count(*) AS own_logs, median(small) AS own FROM perf_factors('{direction}') WHERE app = '{}'",
            most["app"].as_str().unwrap()
        );
        let own = row(path, lake, &sql);
        for (name, expected) in [
            ("all_logs", &all),
            ("all_programs", &all),
            ("own_logs", &own),
            ("own", &own),
        ] {
            assert_eq!(
                plain(&small[name]),
                plain(&expected[name]),
                "{direction} {name}"
            );
        }
    }
    // One that has no logs in the period is known; a page of one that is mistyped would be empty each week.
    let none = ["--set", &set, "--from", "2020-01-01", "--to", "2020-01-08"];
    let page = json(&report(path, "app", lake, &none).ok());
    let found = sections(&page);
    let said = found[0]["findings"][0].as_str().unwrap();
    assert!(said.starts_with("There is no log of the program"), "{said}");
    assert!(found.iter().all(|section| section["chart"].is_null()));
    let mistyped = ["--set", &format!("{set}x"), "--out", "page.html"];
    let asked = ["report", "app", "--lake", lake];
    let ran = iolode(path, &[&asked[..], &mistyped].concat());
    let app = most["app"].as_str().unwrap();
    let why = format!("iolode: unknown program `{app}x`; did you mean `{app}`?\n");
    assert_eq!((ran.code, ran.stderr), (Some(2), why));
    assert!(!path.join("page.html").exists());
}

/// The month is one of Berlin, two hours ahead of UTC: a week has seven days, each with the logs of its date there.
fn days_are_those_of_the_zone_of_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let week = ["--from", "2026-09-14", "--to", "2026-09-21"];
    let page = json(&report(path, "weekly", lake(), &week).ok());
    assert_eq!(page["zone"], "Europe/Berlin");
    let rows = sections(&page)[0]["table"]["rows"].as_array().unwrap();
    let days: Vec<(&str, i64)> = rows
        .iter()
        .filter(|row| row["fs"].is_null())
        .map(|row| (row["day"].as_str().unwrap(), row["logs"].as_i64().unwrap()))
        .collect();
    let expected: Vec<(String, i64)> = (14..21)
        .map(|day| {
            let sql = format!(
                "SELECT count(*) AS n FROM darshan_log WHERE start_time >= '2026-09-{:02}T22:00:00Z' AND start_time < '2026-09-{day:02}T22:00:00Z'",
                day - 1
            );
            let logs = row(path, lake(), &sql)["n"].as_i64().unwrap();
            (format!("2026-09-{day:02}"), logs)
        })
        .collect();
    let expected: Vec<_> = expected.iter().map(|(day, n)| (day.as_str(), *n)).collect();
    assert_eq!(days, expected);
    // Bytes are of the same days, and of all days together those of the period.
    for row in rows {
        let day = row["day"].as_str().unwrap();
        assert!(days.iter().any(|(known, _)| *known == day), "{row}");
    }
    // SQL has the days of the lake.
    let sql = "SELECT count(DISTINCT day) AS n FROM coverage('2026-09-14', '2026-09-21')";
    assert_eq!(row(path, lake(), sql)["n"], 7);
    // Another zone has those of it.
    for (zone, hours) in [("UTC", 0), ("Europe/Berlin", 2), ("Asia/Kolkata", 5)] {
        let asked = ["query", "coverage", "--lake", lake(), "--timezone", zone];
        let rows = json(&iolode(path, &[&asked[..], &["--format", "json"]].concat()).ok());
        let rows = rows.as_array().unwrap().iter();
        let rows = rows.filter(|row| !row["logs"].is_null());
        let days: Vec<String> = rows
            .map(|row| format!("{} {}", row["day"].as_str().unwrap(), row["logs"]))
            .collect();
        let minutes = if hours == 5 { 30 } else { 0 };
        let sql = format!(
            "SELECT array_to_string(array_agg(day || ' ' || n ORDER BY day), ',') AS days FROM (SELECT to_char(start_time + INTERVAL '{hours} hours {minutes} minutes', '%Y-%m-%d') AS day, count(*) AS n FROM darshan_log GROUP BY day)"
        );
        assert_eq!(row(path, lake(), &sql)["days"], days.join(","), "{zone}");
    }
    // The page of a program has the same days.
    let sql = "SELECT app FROM darshan_log WHERE extract(hour FROM start_time) >= 22 GROUP BY app ORDER BY count(*) DESC, app LIMIT 1";
    let app = plain_id(&row(path, lake(), sql)["app"]);
    let page = json(&report(path, "app", lake(), &["--set", &format!("app={app}")]).ok());
    let rows = sections(&page)[0]["table"]["rows"].as_array().unwrap();
    let days = rows.iter().map(|row| row["day"].as_str().unwrap());
    let days: Vec<&str> = days.collect();
    let sql = format!(
        "SELECT array_to_string(array_agg(day ORDER BY day), ' ') AS days FROM (SELECT DISTINCT to_char(start_time + INTERVAL '2 hours', '%Y-%m-%d') AS day FROM darshan_log WHERE app = '{app}')"
    );
    assert_eq!(row(path, lake(), &sql)["days"], days.join(" "));
}

/// The sum of whole numbers is the same in each order.
fn node_hours_are_the_same_to_the_last_digit_in_each_run() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "SELECT a.node_hours AS found, s.micros / 3600000000.0 AS expected FROM advice_month() a \
               CROSS JOIN (SELECT sum(CAST(round(node_hours * 3600000000) AS BIGINT)) AS micros FROM slurm_job_io) s WHERE a.code IS NULL";
    let row = row(directory.path(), lake(), sql);
    assert!(
        row["found"].is_f64() && row["found"] == row["expected"],
        "{row}"
    );
}

fn findings_name_the_worst_cause_and_the_most_loaded_ost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let page = json(&report(path, "weekly", lake(), &[]).ok());
    let found = sections(&page);
    let section = |title: &str| {
        let found = found.iter().find(|section| section["title"] == title);
        found.unwrap()
    };
    let findings = |title: &str| section(title)["findings"].to_string();
    let sql = "SELECT job_id, cause FROM root_causes() ORDER BY cost DESC LIMIT 1";
    let worst = row(path, lake(), sql);
    let job = plain_id(&worst["job_id"]);
    let said = format!(
        "The worst is {} in job {job}",
        worst["cause"].as_str().unwrap()
    );
    assert!(
        findings("Root causes").contains(&said),
        "{said}: {}",
        findings("Root causes")
    );
    let sql = "SELECT fs, ost, bytes / mean AS times FROM (SELECT fs, ost, CAST(bytes_read + bytes_written AS DOUBLE) AS bytes, avg(bytes_read + bytes_written) OVER (PARTITION BY fs) AS mean FROM ost_load()) ORDER BY bytes DESC LIMIT 1";
    let most = row(path, lake(), sql);
    let said = format!(
        "The most loaded is OST {} of {} with ",
        most["ost"],
        most["fs"].as_str().unwrap()
    );
    assert!(
        findings("Load of the OSTs").contains(&said),
        "{said}: {}",
        findings("Load of the OSTs")
    );
    let first = &section("Load of the OSTs")["table"]["rows"][0];
    assert!(
        first["ost"] == most["ost"] && is_same(&first["times_mean"], &most["times"]),
        "{first} {most}"
    );
    // The head of the section is about the programs alone.
    let habits = section("Habits that cost most")["table"]["rows"]
        .as_array()
        .unwrap();
    assert!(!habits.is_empty() && habits.iter().all(|row| row["rule"] != "coverage"));
}

fn a_report_without_the_value_that_it_needs_says_which() {
    let directory = tempfile::tempdir().unwrap();
    iolode(directory.path(), &["lake", "create", "empty"]).ok();
    for (name, needs) in [
        ("job", "--set job=..: Job id"),
        ("app", "--set app=..: The program"),
    ] {
        let ran = report(directory.path(), name, "empty", &[]);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr
                .contains(&format!("the report {name} needs {needs}")),
            "{}",
            ran.stderr
        );
    }
}
