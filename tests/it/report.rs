//! Reports: what a page says is what its questions answer, one that fails does not take the others with it, and a browser draws every chart.

use crate::cli_program::iolode;
use iolode::lake::{CreateOptions, IngestOptions, Lake, Silent};
use iolode::synth::{self, Month};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

crate::tests! {
    [] => {
        sections_have_the_rows_of_their_named_queries,
        a_section_that_fails_says_so_in_its_place,
        a_mistake_in_a_report_is_said_with_its_line,
        a_period_without_logs_says_so,
        a_built_in_report_is_the_beginning_of_another,
    }
    [Chromium] => {
        a_browser_draws_every_chart_and_shows_text_of_others_as_text,
    }
}

fn lake(directory: &Path) -> String {
    lake_of(&Month::complete(60, 7), directory)
}

/// A lake of a synthetic month in a directory, with times in UTC.
pub(crate) fn lake_of(month: &Month, directory: &Path) -> String {
    lake_with(month, directory, |_| String::new())
}

/// The same, with settings that are made of the directory of the month.
pub(crate) fn lake_with(
    month: &Month,
    directory: &Path,
    settings: impl Fn(&Path) -> String,
) -> String {
    let (logs, root) = (directory.join("logs"), directory.join("lake"));
    synth::write(month, &logs, &|_| ()).unwrap();
    let options = CreateOptions {
        settings: settings(&logs),
        ..CreateOptions::default()
    };
    let lake = Lake::create(&root, &options).unwrap();
    let options = IngestOptions {
        paths: vec![logs.into()],
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    root.to_str().unwrap().into()
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The sections of a report.
pub(crate) fn sections(report: &Value) -> Vec<&Value> {
    let blocks = report["blocks"].as_array().unwrap().iter();
    blocks.filter(|block| block["kind"] == "section").collect()
}

/// Numbers and texts as JSON of rows and of pages both have them. The last digits of a sum of floats differ from run to run; ids have all of theirs.
pub(crate) fn plain(value: &Value) -> String {
    let is_id = |text: &str| {
        text.parse()
            .is_ok_and(|id: i128| id.unsigned_abs() > 1 << 53)
    };
    match value {
        Value::Number(number) => format!("{:.9e}", number.as_f64().unwrap()),
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) if !is_id(text) => format!("{number:.9e}"),
            _ => text.clone(),
        },
        other => other.to_string(),
    }
}

fn sections_have_the_rows_of_their_named_queries() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path());
    let text = r#"
        title = "T"
        doc = "D"
        [[param]]
        name = "most"
        type = "int"
        default = "4"
        doc = "How many"
        [[section]]
        title = "Named"
        why = "W"
        query = "top_users_and_programs"
        with = { by = "app", n = "$most" }
        chart = { form = "bar", x = "name", y = "total_bytes" }
        [[section.finding]]
        when = "logs >= 1"
        says = "{name} has {logs} logs"
        most = 1
        [[section.finding]]
        when = "logs < 0"
        says = "never"
        otherwise = "none of {most}"
        [[section]]
        title = "SQL"
        why = "W"
        sql = "SELECT app, bytes_read FROM darshan_log WHERE start_time >= $from OR $from IS NULL ORDER BY bytes_read DESC, log_id LIMIT $most"
    "#;
    std::fs::write(directory.path().join("ours.toml"), text).unwrap();
    let asked = [
        "report",
        "ours.toml",
        "--lake",
        &lake,
        "--format",
        "json",
        "--set",
        "most=3",
    ];
    let report = json(&iolode(directory.path(), &asked).ok());
    let found = sections(&report);
    let query = [
        "query",
        "top_users_and_programs",
        "--by",
        "app",
        "--n",
        "3",
        "--lake",
        &lake,
        "--format",
        "json",
    ];
    let expected = json(&iolode(directory.path(), &query).ok());
    let expected = expected.as_array().unwrap();
    assert_eq!(expected.len(), 3);
    let rows = found[0]["table"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(expected) {
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(plain(&row[name]), plain(value), "{name}");
        }
    }
    let (name, logs) = (rows[0]["name"].as_str().unwrap(), &rows[0]["logs"]);
    assert_eq!(found[0]["findings"][0], format!("{name} has {logs} logs"));
    assert_eq!(
        found[0]["findings"].as_array().unwrap().last().unwrap(),
        "none of 3"
    );
    // The bars are the rows.
    let bars = &found[0]["chart"]["plot"]["data"][0];
    assert_eq!(bars["y"][0], name);
    assert_eq!(plain(&bars["x"][0]), plain(&rows[0]["total_bytes"]));
    assert_eq!(found[1]["table"]["rows"].as_array().unwrap().len(), 3);
    assert_eq!(report["lakes"][0]["version"], 2);
}

fn a_section_that_fails_says_so_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path());
    let text = "title = \"T\"\ndoc = \"D\"\n\
        [[section]]\ntitle = \"Bad\"\nwhy = \"W\"\nsql = \"SELECT nothing FROM darshan_log\"\n\
        [[section]]\ntitle = \"Good\"\nwhy = \"W\"\nsql = \"SELECT count(*) AS logs FROM darshan_log\"\n";
    std::fs::write(directory.path().join("ours.toml"), text).unwrap();
    let asked = iolode(
        directory.path(),
        &["report", "ours.toml", "--lake", &lake, "--out", "page.html"],
    );
    assert_eq!(asked.code, Some(1), "{}", asked.stderr);
    assert!(
        asked.stderr.contains("sections without an answer: 1: Bad"),
        "{}",
        asked.stderr
    );
    let page = std::fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("This section has no answer: "), "{page}");
    assert!(page.contains("unknown column `nothing`"), "{page}");
    let counted = [
        "sql",
        "--lake",
        &lake,
        "--format",
        "csv",
        "-c",
        "SELECT count(*) AS logs FROM darshan_log",
    ];
    let counted = iolode(directory.path(), &counted).ok();
    let logs = counted.lines().nth(1).unwrap();
    let cell = format!("<td class=\"number\" data-value=\"{logs}\">{logs}</td>");
    assert!(page.contains(&cell), "{cell} in {page}");
    // Without a chart there is no script of charts.
    assert!(page.len() < 30_000, "{}", page.len());
}

fn a_mistake_in_a_report_is_said_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let text = "title = \"T\"\ndoc = \"D\"\n[[section]]\ntitle = \"S\"\nwhy = \"W\"\nquery = \"coverag\"\n";
    std::fs::write(directory.path().join("ours.toml"), text).unwrap();
    let asked = iolode(directory.path(), &["report", "ours.toml", "--lake", "none"]);
    assert_eq!(asked.code, Some(2));
    assert!(
        asked
            .stderr
            .starts_with("iolode: ours.toml:6: unknown query `coverag`"),
        "{}",
        asked.stderr
    );
    assert!(asked.stderr.contains("`coverage`"), "{}", asked.stderr);
    let asked = iolode(directory.path(), &["report", "weakly", "--lake", "none"]);
    assert!(asked.stderr.contains("`weekly`"), "{}", asked.stderr);
}

fn a_period_without_logs_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path());
    let asked = [
        "report", "weekly", "--lake", &lake, "--period", "1999-W03", "--format", "json",
    ];
    let report = json(&iolode(directory.path(), &asked).ok());
    assert_eq!(report["period"]["from"], "1999-01-18T00:00:00+00:00");
    for section in sections(&report) {
        let notes = section["notes"].to_string();
        let is_dated = !notes.contains("Of all times");
        let rows = section["table"]["rows"].as_array().unwrap();
        if is_dated && rows.is_empty() {
            assert!(notes.contains("There are no rows."), "{section}");
            assert!(section["chart"].is_null(), "{section}");
        }
    }
}

fn a_built_in_report_is_the_beginning_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let shown = iolode(directory.path(), &["report", "weekly", "--show"]).ok();
    std::fs::write(directory.path().join("ours.toml"), &shown).unwrap();
    assert_eq!(
        iolode(directory.path(), &["report", "ours.toml", "--show"]).ok(),
        shown
    );
    assert!(
        iolode(directory.path(), &["report"])
            .ok()
            .contains("weekly")
    );
}

/// In the page: what plotly.js finds wrong with the charts, and whether each has marks, once they are drawn.
const LOOK: &str = r#"<script>
const looking = setInterval(() => {
  const root = document.documentElement;
  if (root.dataset.drawn === undefined) return;
  clearInterval(looking);
  const figures = JSON.parse(document.getElementById("figures").textContent).filter((figure) => figure);
  const wrong = figures.flatMap((figure) => Plotly.validate(figure.data, figure.layout) || []).map((found) => found.msg);
  const marks = Array.from(document.querySelectorAll(".chart")).map((chart) => chart.querySelectorAll(".trace, .hm, .y-axis").length);
  document.querySelector("th button").click();
  const sorted = Array.from(document.querySelectorAll("tbody")[0].rows).map((row) => row.cells[0].textContent);
  root.dataset.found = JSON.stringify({ wrong, marks, sorted, images: document.images.length });
}, 50);
</script></body>"#;

fn a_browser_draws_every_chart_and_shows_text_of_others_as_text() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path());
    let rows = "SELECT * FROM (VALUES ('</script><img src=x onerror=alert(1)>', 3.0, 1, TIMESTAMP '2026-09-01 00:00:00'), ('b<b>', 1.0, 2, TIMESTAMP '2026-09-02 00:00:00'), ('a', 2.0, 3, TIMESTAMP '2026-09-04 00:00:00')) AS t (name, size, n, time)";
    let charts = [
        "form = \"bar\", x = \"name\", y = [\"size\", \"n\"], stacked = true",
        "form = \"line\", x = \"time\", y = [\"size\", \"n\"]",
        "form = \"histogram\", x = \"size\", log = [\"x\"]",
        "form = \"cdf\", x = [\"size\", \"n\"]",
        "form = \"heat_map\", x = \"n\", y = \"name\", z = \"size\", log = [\"z\"]",
        "form = \"scatter\", x = \"n\", y = \"size\", series = \"name\", label = \"name\"",
        "form = \"box\", x = \"name\", y = \"size\"",
        "form = \"timeline\", x = [\"n\", \"size\"], y = \"name\", label = \"name\"",
        "form = \"parallel\", y = [\"n\", \"size\"], z = \"size\"",
    ];
    let mut text = "title = \"T <i>\"\ndoc = \"D\"\n".to_string();
    for chart in charts {
        text += &format!(
            "[[section]]\ntitle = \"S\"\nwhy = \"W\"\nsql = \"\"\"{rows}\"\"\"\nchart = {{ {chart} }}\n"
        );
    }
    let path = directory.path();
    std::fs::write(path.join("ours.toml"), text).unwrap();
    iolode(
        path,
        &["report", "ours.toml", "--lake", &lake, "--out", "page.html"],
    )
    .ok();
    let page = std::fs::read_to_string(path.join("page.html")).unwrap();
    assert!(page.len() < 4 << 20, "{}", page.len());
    assert!(!page.contains("<img"));
    std::fs::write(path.join("look.html"), page.replace("</body>", LOOK)).unwrap();
    let browser = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=60000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            path.join("profile").display()
        ))
        .arg(format!("file://{}", path.join("look.html").display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&browser.stdout);
    assert!(
        dom.contains(&format!("data-drawn=\"{}\"", charts.len())),
        "{}",
        String::from_utf8_lossy(&browser.stderr)
    );
    let found = dom
        .split("data-found=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let found = json(
        &found
            .replace("&quot;", "\"")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&"),
    );
    assert_eq!(found["wrong"], Value::Array(vec![]), "{found}");
    assert_eq!(found["images"], 0, "{found}");
    let marks: Vec<u64> = found["marks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    assert!(marks.iter().all(|marks| *marks > 0), "{marks:?}");
    assert_eq!(found["sorted"].as_array().unwrap().len(), 3);
}
