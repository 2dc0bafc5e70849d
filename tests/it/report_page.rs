//! Pages in a browser: readable by all, without a network, and a range of a chart chooses the rows of its table.

use crate::cli_program::iolode;
use crate::report::json;
use crate::support::find_playwright;
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::counters::posix;
use iolode::source::darshan::write::{DarshanLog, Job, Module, Record, Records, mount};
use std::path::Path;
use std::process::Command;

crate::tests! {
    [] => {
        names_of_a_log_are_text_wherever_a_page_has_them,
    }
    [Chromium, Playwright] => {
        a_range_of_a_chart_chooses_rows_and_axe_finds_no_serious_fault,
        built_in_pages_have_no_serious_fault,
        charts_are_drawn_as_they_come_near_and_all_before_the_page_is_printed,
    }
}

/// What a name of a file, a program and a host of a log may be.
const MARKUP: &str = "</script><img src=x onerror=alert(1)>";

/// A log of a program and a file whose names are markup, on the pages about it: in the tables of `diagnose`, in charts and in their tables.
fn names_of_a_log_are_text_wherever_a_page_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut record = Record {
        id: 1,
        rank: -1,
        ints: vec![0; 69],
        floats: vec![0.0; 17],
        ..Record::default()
    };
    for (counter, value) in [
        (posix::WRITES, 64),
        (posix::BYTES_WRITTEN, 64 << 20),
        (posix::MAX_BYTE_WRITTEN, (64 << 20) - 1),
    ] {
        record.ints[counter] = value;
    }
    for (counter, value) in [
        (posix::F_WRITE_START_TIMESTAMP, 1.0),
        (posix::F_WRITE_END_TIMESTAMP, 90.0),
        (posix::F_WRITE_TIME, 300.0),
        (posix::F_SLOWEST_RANK_TIME, 80.0),
    ] {
        record.floats[counter] = value;
    }
    let log = DarshanLog {
        job: Job {
            uid: 1000,
            start: (1_790_000_000, 0),
            end: (1_790_000_100, 0),
            nprocs: 4,
            job_id: 77,
            metadata: b"lib_ver=3.4.7\n".to_vec(),
            exe: format!("/bin/{}", MARKUP.replace(['/', ' '], "")).into(),
            mounts: vec![mount("ext4", "/")],
        },
        names: vec![(1, format!("/data/{MARKUP}").into_bytes())],
        modules: vec![Module::new(
            ModuleId::POSIX,
            4,
            Records::Counters(vec![record]),
        )],
        ..DarshanLog::default()
    };
    std::fs::write(path.join("one.darshan"), log.to_bytes()).unwrap();
    let ingest = [
        "ingest",
        "--lake",
        "lake",
        "--create",
        "--darshan",
        "one.darshan",
    ];
    iolode(path, &ingest).ok();
    let app = format!("app={}", MARKUP.replace(['/', ' '], ""));
    for (report, set) in [
        ("job", "job=77"),
        ("app", &app),
        ("weekly", ""),
        ("iominer", ""),
    ] {
        let mut asked = vec!["report", report, "--lake", "lake", "-o", "page.html"];
        if !set.is_empty() {
            asked.extend(["--set", set]);
        }
        iolode(path, &asked).ok();
        let page = std::fs::read_to_string(path.join("page.html")).unwrap();
        assert!(!page.contains("<img"), "{report}");
        // Those of the page itself.
        let ends = page.matches("</script>").count();
        assert!(ends <= 3, "{report}: {ends}");
        if report == "job" {
            assert!(page.contains("/data/&#60;/script&#62;&#60;img"), "{report}");
        }
    }
}

/// What `tests/oracles/python/page.py` finds of a page.
fn opened(page: &Path, what: &str) -> serde_json::Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/python/page.py");
    let ran = Command::new(find_playwright().expect("the test needs Playwright"))
        .arg(script)
        .args([page.as_os_str(), what.as_ref()])
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    json(&String::from_utf8_lossy(&ran.stdout))
}

fn has_no_fault(found: &serde_json::Value) {
    for what in ["axe", "errors", "requests", "wide"] {
        assert_eq!(found[what], json("[]"), "{what}: {found}");
    }
}

/// Of eight rows with sizes from 1 to 128 and numbers from 1 to 8 the left half of an axis has four, or one where sizes are not on a logarithmic scale.
fn a_range_of_a_chart_chooses_rows_and_axe_finds_no_serious_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    iolode(path, &["lake", "create", "empty"]).ok();
    let names = [
        "</script><img src=x onerror=alert(1)>",
        "b<b>",
        "c",
        "d",
        "e",
        "f",
        "g",
        "/a/very/long/path/that/does/not/fit/beside/a/chart/of/a/phone",
    ];
    let row = |at: usize| {
        format!(
            "('{}', {}.0, {}, TIMESTAMP '2026-09-0{} 00:00:00')",
            names[at],
            1 << at,
            at + 1,
            at + 1
        )
    };
    let rows: Vec<String> = (0..8).map(row).collect();
    let rows = format!(
        "SELECT n, name, size, time FROM (VALUES {}) AS t (name, size, n, time) ORDER BY n",
        rows.join(", ")
    );
    let charts = [
        "form = \"bar\", x = \"n\", y = \"size\"",
        "form = \"bar\", x = \"name\", y = \"size\"",
        "form = \"line\", x = \"time\", y = \"size\"",
        "form = \"histogram\", x = \"size\", log = [\"x\"]",
        "form = \"cdf\", x = \"n\"",
        "form = \"heat_map\", x = \"n\", y = \"name\", z = \"size\"",
        "form = \"scatter\", x = \"size\", y = \"n\", log = [\"x\"]",
        "form = \"timeline\", x = [\"time\", \"time\"], y = \"name\"",
        "form = \"box\", x = \"name\", y = \"size\"",
        "form = \"parallel\", y = [\"n\", \"size\"], z = \"name\"",
    ];
    let mut text = "title = \"T\"\ndoc = \"D\"\n".to_string();
    for chart in charts {
        text += &format!(
            "[[section]]\ntitle = '{chart}'\nwhy = \"W\"\nsql = \"\"\"{rows}\"\"\"\nchart = {{ {chart} }}\n"
        );
    }
    text += &format!(
        "[[section]]\ntitle = \"A list\"\nwhy = \"W\"\nsql = \"\"\"{rows} LIMIT 3\"\"\"\n"
    );
    std::fs::write(path.join("ours.toml"), text).unwrap();
    iolode(
        path,
        &["report", "ours.toml", "--lake", "empty", "-o", "page.html"],
    )
    .ok();
    let found = opened(&path.join("page.html"), "all");
    has_no_fault(&found);
    let brushed = found["brushed"].as_array().unwrap();
    assert_eq!(brushed.len(), charts.len());
    let all = json(r#"["1", "2", "3", "4", "5", "6", "7", "8"]"#);
    let half = json(r#"["1", "2", "3", "4"]"#);
    for (chart, rows) in charts.iter().zip(brushed) {
        // Bars of names stand above each other: a range of all heights has all of them.
        let chosen = if chart.contains("\"bar\", x = \"name\"") {
            &all
        } else {
            &half
        };
        assert_eq!((&rows[0], &rows[1]), (chosen, &all), "{chart}");
    }
    assert_eq!(found["sorted"], all);
}

fn built_in_pages_have_no_serious_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let lake = crate::report_content::lake();
    let job = [
        "sql",
        "--lake",
        lake,
        "--format",
        "csv",
        "-c",
        "SELECT job_id FROM darshan_log ORDER BY total_bytes DESC, log_id LIMIT 1",
    ];
    let job = iolode(path, &job).ok();
    let set = format!("job={}", job.lines().nth(1).unwrap());
    for (name, set) in [("weekly", None), ("iominer", None), ("job", Some(&set))] {
        let mut asked = vec!["report", name, "--lake", lake, "-o", "page.html"];
        asked.extend(set.iter().flat_map(|set| ["--set", set.as_str()]));
        iolode(path, &asked).ok();
        let page = path.join("page.html");
        assert!(std::fs::metadata(&page).unwrap().len() < 4 << 20, "{name}");
        has_no_fault(&opened(&page, "faults"));
    }
}

/// Chart k of twelve has k bars, and three of them have room in one and a half screens.
fn charts_are_drawn_as_they_come_near_and_all_before_the_page_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    iolode(path, &["lake", "create", "empty"]).ok();
    let all: Vec<u64> = (1..=12).collect();
    let sections = all.iter().map(|bars| {
        format!(
            "[[section]]\ntitle = 'Bars {bars}'\nwhy = 'W'\nsql = 'SELECT value AS n, value * 2.0 AS size FROM generate_series(1, {bars})'\n\
             chart = {{ form = 'bar', x = 'n', y = 'size' }}\n"
        )
    });
    let text = format!("title = 'T'\ndoc = 'D'\n{}", sections.collect::<String>());
    std::fs::write(path.join("ours.toml"), text).unwrap();
    let asked = ["report", "ours.toml", "--lake", "empty", "-o", "page.html"];
    iolode(path, &asked).ok();
    let found = opened(&path.join("page.html"), "drawing");
    assert_eq!(found["errors"], json("[]"), "{found}");
    let bars = |when: &str| -> Vec<u64> {
        let each = found[when].as_array().unwrap().iter();
        each.map(|bars| bars.as_u64().unwrap()).collect()
    };
    let (first, scrolled) = (bars("first"), bars("scrolled"));
    assert_eq!((first[0], first[5], first[11]), (all[0], 0, 0), "{found}");
    assert_eq!(
        (scrolled[0], scrolled[5], scrolled[11]),
        (all[0], 0, all[11]),
        "{found}"
    );
    for when in [
        "before print",
        "print",
        "whole",
        "no observer",
        "no idle callback",
        "idle",
    ] {
        assert_eq!(bars(when), all, "{when}");
    }
}
