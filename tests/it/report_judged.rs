//! What pages say of rows: by the paper's measure where its numbers stand beside them, and never that nothing is the matter where there was nothing to judge.

use crate::cli_program::{fresh, iolode};
use crate::report::{json, lake_of, sections};
use crate::report_content::lake;
use iolode::synth::Month;
use serde_json::Value;
use std::path::Path;

crate::tests! {
    [] => {
        nothing_is_all_clear_where_there_was_nothing_to_judge,
        names_of_sentences_and_conditions_are_checked_before_anything_is_asked,
        conditions_are_those_of_sql,
        slow_logs_are_those_by_the_measure_of_the_paper,
        phases_end_with_their_log_and_others_than_periodic_ones_are_one_bar,
        programs_are_compared_with_what_was_before_the_period,
        each_form_of_a_page_says_what_it_is_about,
    }
}

fn page(directory: &Path, name: &str, lake: &str, more: &[&str]) -> Value {
    let asked = ["report", name, "--lake", lake, "--format", "json"];
    json(&iolode(directory, &[&asked, more].concat()).ok())
}

/// What a section of a page found.
fn found(page: &Value, title: &str) -> Vec<String> {
    let section = sections(page)
        .into_iter()
        .find(|section| section["title"] == title);
    let findings = section.unwrap_or_else(|| panic!("no {title}"))["findings"].clone();
    let findings = findings.as_array().unwrap().iter();
    findings.map(|said| said.as_str().unwrap().into()).collect()
}

/// The first row of an answer as CSV.
fn row(directory: &Path, lake: &str, sql: &str) -> String {
    let asked = ["sql", "--lake", lake, "--format", "csv", "-c", sql];
    let rows = iolode(directory, &asked).ok();
    rows.lines().nth(1).unwrap_or_default().to_string()
}

fn nothing_is_all_clear_where_there_was_nothing_to_judge() {
    let directory = fresh();
    let path = directory.path();
    let logs = lake_of(&Month::new(40, 7), path);
    let no_logs = "There are no logs of this period.";
    let empty = page(path, "weekly", &logs, &["--period", "1999-W03"]);
    for title in [
        "Programs that became slower",
        "Programs that read and write at other times",
        "Habits that cost most",
        "Root causes",
    ] {
        assert_eq!(found(&empty, title), [no_logs], "{title}");
    }
    let whole = page(path, "weekly", &logs, &[]);
    assert_eq!(
        found(&whole, "Coverage"),
        [
            "There is no Slurm record of this period: which share of the node-hours logs explain is not known."
        ]
    );
    // Nobody has analysed the lake: as its queries say.
    let analysed = row(path, &logs, "SELECT count(*) FROM darshan_mosaic");
    assert_eq!(analysed, "0");
    assert_eq!(
        found(&whole, "Programs that read and write at other times"),
        ["No log of the lake is analysed: `iolode analyze mosaic` fills darshan_mosaic."]
    );
    // Of a program with fewer than ten logs there are not five before and since.
    let few = "SELECT app FROM darshan_log WHERE app IS NOT NULL GROUP BY app HAVING count(*) < 10 ORDER BY count(*), app LIMIT 1";
    let set = format!("app={}", row(path, &logs, few));
    let of_app = page(path, "app", &logs, &["--set", &set]);
    assert_eq!(
        found(&of_app, "Did it become slower?"),
        ["It does not have 5 logs of like size before and since: there is nothing to compare."]
    );
    assert_eq!(
        found(&of_app, "Its checkpoints"),
        ["None of its logs of this period is analysed: `iolode analyze mosaic` does that."]
    );
    let earlier = ["--set", &set, "--period", "1999-W03"];
    let of_app = page(path, "app", &logs, &earlier);
    for title in ["Its root causes", "What would help it"] {
        assert_eq!(
            found(&of_app, title),
            ["There are no logs of the program in this period."],
            "{title}"
        );
    }
    // The first basis that is not there speaks; where all are, the finding does.
    let head = "title = \"T\"\ndoc = \"D\"\n\
        [[basis]]\nname = \"some\"\nsql = \"SELECT 1 FROM darshan_log WHERE app = $app LIMIT 1\"\nmissing = \"No {app}\"\n\
        [[basis]]\nname = \"large\"\nwhen = \"n > 7\"\nmissing = \"No n\"\n\
        [[param]]\nname = \"app\"\ntype = \"text\"\ndoc = \"D\"\n";
    let (no, yes) = ("none", row(path, &logs, "SELECT min(app) FROM darshan_log"));
    for (app, sql, empty, expected) in [
        (no, "SELECT 1 AS n", "", "No none"),
        (&yes, "SELECT 1 AS n", "", "No n"),
        (&yes, "SELECT 8 AS n", "", "Clear"),
        (&yes, "SELECT 9 AS n", "", "It is 9"),
        (no, "SELECT 9 AS n", "", "It is 9"),
        (&yes, "SELECT 1 AS n WHERE false", "", "No n"),
        (
            no,
            "SELECT 1 AS n WHERE false",
            "empty = \"Empty\"",
            "Empty",
        ),
    ] {
        let section = format!(
            "[[section]]\ntitle = \"S\"\nwhy = \"W\"\nsql = \"{sql}\"\nneeds = [\"some\", \"large\"]\n\
             [[section.finding]]\nwhen = \"n > 8\"\nsays = \"It is {{n}}\"\notherwise = \"Clear\"\n{empty}\n"
        );
        std::fs::write(path.join("ours.toml"), format!("{head}{section}")).unwrap();
        let ours = page(path, "ours.toml", &logs, &["--set", &format!("app={app}")]);
        assert_eq!(found(&ours, "S"), [expected], "{app} {sql}");
    }
}

fn names_of_sentences_and_conditions_are_checked_before_anything_is_asked() {
    let directory = fresh();
    let path = directory.path();
    let head = "title = \"T\"\ndoc = \"D\"\n[[section]]\ntitle = \"S\"\nwhy = \"W\"\n";
    let of_query = "query = \"coverage\"\n[[section.finding]]\n";
    let of_sql = "sql = \"SELECT app, count(*) AS logs FROM darshan_log GROUP BY app\"\n[[section.finding]]\n";
    for (asked, finding, line, near) in [
        (
            of_query,
            "says = \"{dya}\"",
            8,
            "unknown column `dya`; did you mean `day`?",
        ),
        (
            of_query,
            "says = \"{share_read:shar}\"",
            8,
            "unknown form of a number `shar`; did you mean `share`?",
        ),
        (
            of_query,
            "when = \"logz > 1\"\nsays = \"A\"",
            8,
            "unknown column `logz`; did you mean `logs`?",
        ),
        (
            of_query,
            "says = \"A\"\notherwise = \"{day}\"",
            9,
            "unknown parameter of the report `day`",
        ),
        (
            of_query,
            "says = \"A\"\nempty = \"{form}\"",
            9,
            "unknown parameter of the report `form`; did you mean `from`?",
        ),
        (of_query, "when = \"logs >\"\nsays = \"A\"", 8, "`logs >`: "),
        (
            of_sql,
            "says = \"{lgs}\"",
            8,
            "unknown column `lgs`; did you mean `logs`?",
        ),
        (
            of_sql,
            "when = \"ap = 'x'\"\nsays = \"A\"",
            8,
            "unknown column `ap`; did you mean `app`?",
        ),
    ] {
        std::fs::write(path.join("ours.toml"), format!("{head}{asked}{finding}\n")).unwrap();
        let why = iolode(path, &["report", "ours.toml", "--lake", lake()]).failed();
        let expected = format!("ours.toml:{line}: {near}");
        assert!(why.starts_with(&expected), "{expected}: {why}");
    }
    for (section, why) in [
        (
            "needs = [\"loks\"]\n",
            "ours.toml:6: unknown basis `loks`; did you mean `logs`?",
        ),
        (
            "chart = { form = \"bar\", x = \"ap\", y = \"logs\" }\n",
            "ours.toml:6: unknown column of the chart `ap`",
        ),
        (
            "columns = [\"apps\"]\n",
            "unknown column `apps`; did you mean `app`?",
        ),
        (
            "units = { lgs = \"count\" }\n",
            "unknown column `lgs`; did you mean `logs`?",
        ),
    ] {
        let basis = "[[basis]]\nname = \"logs\"\nsql = \"SELECT 1\"\nmissing = \"None\"\n";
        let text = head.replace("[[section]]", &format!("{basis}[[section]]"));
        let text = format!("{}{section}{of_sql}says = \"A\"\n", text);
        std::fs::write(path.join("ours.toml"), text).unwrap();
        let said = iolode(path, &["report", "ours.toml", "--lake", lake()]).failed();
        let why = why.replace("ours.toml:6:", "ours.toml:10:");
        assert!(said.contains(&why), "{why}: {said}");
    }
    // What is right is still answered, with words that are no columns.
    let right = "query = \"perf_factors\"\nwith = { direction = \"read\" }\n[[section.finding]]\n\
        when = \"\\\"bytes\\\" > 0 AND start_time > TIMESTAMP '2000-01-01' AND critical_files[1]['share'] >= 0.0\"\nsays = \"{rows} of {all_rows} {app} {bytes:size} {from}\"\nmost = 1\n";
    std::fs::write(path.join("ours.toml"), format!("{head}{right}")).unwrap();
    iolode(path, &["report", "ours.toml", "--lake", lake()]).ok();
}

/// Written times are those of the lake's zone, and functions that are nothing until they are simplified have values.
fn conditions_are_those_of_sql() {
    let directory = fresh();
    let path = directory.path();
    // Midnight in Berlin is 22:00 UTC of the day before in September.
    let sql = "SELECT timestamptz '2026-09-09T22:00:00Z' AS t, CAST(NULL AS BIGINT) AS n";
    let mut text = String::from("title = \"T\"\ndoc = \"D\"\n");
    for (title, when) in [
        ("in the zone", "t = '2026-09-10'"),
        ("in UTC", "t = '2026-09-09T22:00Z'"),
        ("past", "t < now() + INTERVAL '100 years'"),
        ("to come", "t > now() + INTERVAL '100 years'"),
        ("none", "coalesce(n, 0) = 0"),
        ("some", "coalesce(n, 0) > 0"),
    ] {
        text.push_str(&format!(
            "[[section]]\ntitle = \"{title}\"\nwhy = \"W\"\nsql = \"{sql}\"\n\
             [[section.finding]]\nwhen = \"{when}\"\nsays = \"It is\"\notherwise = \"It is not\"\n"
        ));
    }
    std::fs::write(path.join("ours.toml"), text).unwrap();
    let page = page(path, "ours.toml", lake(), &[]);
    for (title, is) in [
        ("in the zone", true),
        ("in UTC", true),
        ("past", true),
        ("to come", false),
        ("none", true),
        ("some", false),
    ] {
        let said = if is { "It is" } else { "It is not" };
        assert_eq!(found(&page, title), [said], "{title}");
    }
}

/// The paper's bandwidth is bytes by critical time, which `darshan_log` has of each log.
fn slow_logs_are_those_by_the_measure_of_the_paper() {
    let directory = fresh();
    let path = directory.path();
    let page = page(path, "iominer", lake(), &[]);
    for (title, said, moved, bandwidth, of_paper) in [
        (
            "Figure 11: logs that read slowly",
            "Logs that read slowly",
            "bytes_read - bytes_read_streams",
            "read_bw_critical",
            251,
        ),
        (
            "Figure 12: logs that wrote slowly",
            "Logs that wrote slowly",
            "bytes_written - bytes_written_streams",
            "write_bw_critical",
            724,
        ),
    ] {
        let large = format!("nprocs > 1000 AND {moved} >= 1e7 * nprocs");
        let sql = format!("SELECT count(*) FROM darshan_log WHERE {large} AND {bandwidth} < 1e9");
        let logs = row(path, lake(), &sql);
        assert_ne!(logs, "0");
        let expected = format!("{said}: {logs}; in the paper {of_paper}.");
        assert_eq!(found(&page, title)[0], expected);
    }
}

fn phases_end_with_their_log_and_others_than_periodic_ones_are_one_bar() {
    let directory = fresh();
    let path = directory.path();
    let lake = lake_of(&Month::new(150, 7), path);
    iolode(path, &["analyze", "mosaic", "--lake", &lake]).ok();
    let sides = "WITH side AS (SELECT job_id, log_id, analysed_time AS lasts, read_period AS known, unnest(read_groups) AS g FROM mosaic() \
        UNION ALL SELECT job_id, log_id, analysed_time, write_period, unnest(write_groups) FROM mosaic()), \
        one AS (SELECT *, g['segments'] AS n, g['segments'] > 2 AND coalesce(abs(g['period'] - known) <= 0.01 * known, false) AS is_periodic FROM side)";
    // A group that is not periodic, one that is, and one whose mean length goes beyond the end of its log.
    for condition in [
        "NOT is_periodic AND n > 1",
        "is_periodic",
        "g['start'] + (n - 1) * g['period'] + g['work'] > lasts",
    ] {
        let sql = format!(
            "{sides} SELECT job_id FROM one WHERE {condition} ORDER BY n DESC, job_id LIMIT 1"
        );
        let job = row(path, &lake, &sql);
        assert_ne!(job, "", "{condition}");
        let page = page(path, "job", &lake, &["--set", &format!("job={job}")]);
        let section = sections(&page)
            .into_iter()
            .find(|section| section["title"] == "Its phases in time");
        let table = &section.unwrap()["table"];
        let bars = table["rows"].as_array().unwrap();
        let sql = format!(
            "{sides} SELECT sum(CASE WHEN is_periodic THEN n ELSE 1 END), sum(n) FROM one WHERE job_id = {job}"
        );
        let expected = row(path, &lake, &sql);
        let segments: i64 = bars
            .iter()
            .map(|bar| bar["segments"].as_i64().unwrap())
            .sum();
        assert_eq!(format!("{},{segments}", bars.len()), expected, "{job}");
        for bar in bars {
            let sql = format!(
                "SELECT to_char(to_timestamp_micros(CAST(start_time AS BIGINT) + CAST(ceil(analysed_time) * 1e6 AS BIGINT)), '%Y-%m-%dT%H:%M:%SZ') FROM mosaic() WHERE log_id = {}",
                bar["log_id"].as_str().unwrap()
            );
            let end = row(path, &lake, &sql);
            let of_bar = bar["end_time"].as_str().unwrap();
            assert!(of_bar <= end.as_str(), "{bar} {end}");
            assert!(bar["start_time"].as_str().unwrap() <= of_bar, "{bar}");
        }
        let units = table["columns"].as_array().unwrap().iter();
        let bytes = units.clone().find(|column| column["name"] == "bytes");
        assert_eq!(bytes.unwrap()["unit"], "B");
    }
}

/// A program whose logs of a period have other classes than those before is found by the page of the period as by the query.
fn programs_are_compared_with_what_was_before_the_period() {
    let directory = fresh();
    let path = directory.path();
    let text = "title = \"T\"\ndoc = \"D\"\n[[section]]\ntitle = \"S\"\nwhy = \"W\"\nquery = \"mosaic_changes\"\n\
        with = { since = \"$from\", min_change = 0, max_chance = 1, min_logs = 1 }\nrows = 1000\n";
    std::fs::write(path.join("ours.toml"), text).unwrap();
    let lake = lake_of(&Month::new(150, 7), path);
    iolode(path, &["analyze", "mosaic", "--lake", &lake]).ok();
    let middle = "SELECT to_char(to_timestamp_micros(CAST(median(CAST(start_time AS BIGINT)) AS BIGINT)), '%Y-%m-%d') FROM darshan_log";
    let middle = row(path, &lake, middle);
    let of_page = page(path, "ours.toml", &lake, &["--from", &middle]);
    let rows = sections(&of_page)[0]["table"]["rows"].clone();
    let alone = [
        "query",
        "mosaic_changes",
        "--lake",
        &lake,
        "--since",
        &middle,
        "--min-change",
        "0",
        "--max-chance",
        "1",
        "--min-logs",
        "1",
        "--format",
        "json",
    ];
    let alone = json(&iolode(path, &alone).ok());
    let key = |row: &Value| {
        let of = |name: &str| row[name].to_string();
        [of("app"), of("class"), of("logs_before"), of("logs_since")]
    };
    let of = |rows: &Value| -> Vec<_> { rows.as_array().unwrap().iter().map(key).collect() };
    assert!(!of(&alone).is_empty());
    assert_eq!(of(&rows), of(&alone));
}

fn each_form_of_a_page_says_what_it_is_about() {
    let directory = fresh();
    let path = directory.path();
    let asked = ["report", "iominer", "--lake", lake(), "--period", "2026-09"];
    let lines = [
        "Period: 2026-09-01T00:00:00+02:00 to 2026-10-01T00:00:00+02:00".to_string(),
        "Times in: Europe/Berlin".into(),
        format!("Lake: {}, version 2", lake()),
    ];
    let text = |more: &[&str]| iolode(path, &[&asked, more].concat()).ok();
    let html = text(&["--format", "html"]);
    text(&["--format", "csv-dir", "--out", "csv"]);
    let findings = std::fs::read_to_string(path.join("csv/findings.txt")).unwrap();
    for page in [
        text(&["--format", "text"]),
        text(&["--format", "md"]),
        findings,
    ] {
        let head: Vec<&str> = page.lines().take(12).collect();
        // A long path has its end in text, and Markdown escapes what it would read.
        let head = head.join("\n").replace('\\', "");
        for line in &lines {
            let said = match line.split_once(": /") {
                Some((name, path)) => {
                    let end = &path[path.len().saturating_sub(30)..];
                    head.contains(name) && head.contains(end)
                }
                None => head.contains(line),
            };
            assert!(said, "{line}: {head}");
            // As the page of a browser has them.
            let (name, value) = line.split_once(": ").unwrap();
            let of_html = format!("<dt>{name}</dt><dd>{value}</dd>");
            assert!(html.contains(&of_html), "{of_html}");
        }
    }
}
