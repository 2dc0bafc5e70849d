//! Files of `iolode report`: they are whole or not there, the same lake and period give the same page, and no file of somebody else is touched.

use crate::cli_program::{PROGRAM, Run, fresh, iolode, program, small};
use crate::support::any_python;
use std::collections::BTreeMap;
use std::fs::{read, read_link, read_to_string, write};
use std::path::Path;
use std::process::{Command, Stdio};

crate::tests! {
    [] => {
        csv_files_have_all_rows_as_the_query_writes_them,
        a_directory_of_csv_files_replaces_another_and_nothing_else,
        a_page_is_kept_for_each_period_with_a_link_to_the_newest,
        a_directory_of_csv_files_is_kept_for_each_period,
        no_file_of_somebody_else_is_removed_or_replaced,
        the_same_version_and_period_give_the_same_page,
        two_runs_at_once_leave_whole_pages,
        options_that_do_not_go_together_are_refused_before_anything_is_written,
    }
    [Python] => {
        tables_of_an_analysis_are_files_as_well,
    }
    [Bash] => {
        a_full_disk_leaves_the_old_page_and_nothing_else,
        a_kill_in_mid_write_leaves_a_whole_page,
    }
}

/// A question that takes a period, and one that a report shows one row of.
const OURS: &str = r#"
title = "Ours"
doc = "D"
coverage = false
[[section]]
title = "Who moved the bytes?"
why = "W"
query = "top_users_and_programs"
with = { by = "app", n = 5 }
rows = 1
columns = ["name"]
chart = { form = "bar", x = "name", y = "total_bytes" }
[[section]]
title = "Logs"
why = "W"
sql = "SELECT log_id, start_time, app FROM darshan_log WHERE start_time >= $from OR $from IS NULL ORDER BY log_id"
[[section.finding]]
says = "{app} has a log"
most = 1
"#;

const FAILS: &str =
    "[[section]]\ntitle = \"Bad\"\nwhy = \"W\"\nsql = \"SELECT nothing FROM darshan_log\"\n";

/// A directory with that report, as `ours.toml`.
fn with_report(text: &str) -> tempfile::TempDir {
    let directory = fresh();
    write(directory.path().join("ours.toml"), text).unwrap();
    directory
}

/// `iolode report ours.toml` over the small lake.
fn report(directory: &Path, more: &[&str]) -> Run {
    let args = [&["report", "ours.toml", "--lake", small().lake()], more].concat();
    iolode(directory, &args)
}

/// The files below a directory, links with `->`, and what is in them.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = walkdir::WalkDir::new(directory).min_depth(1).into_iter();
    let files = entries
        .flatten()
        .filter(|entry| !entry.file_type().is_dir());
    let files = files.map(|entry| {
        let name = entry.path().strip_prefix(directory).unwrap();
        let name = name.display().to_string();
        match read_link(entry.path()) {
            Ok(target) => (format!("{name} -> {}", target.display()), vec![]),
            Err(_) => (name, read(entry.path()).unwrap()),
        }
    });
    files.collect()
}

fn names(directory: &Path) -> Vec<String> {
    files(directory).into_keys().collect()
}

fn csv_files_have_all_rows_as_the_query_writes_them() {
    let directory = with_report(&format!("{OURS}{FAILS}"));
    let path = directory.path();
    let run = report(path, &["--format", "csv-dir", "--out", "csv"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("sections without an answer: 1: Bad"),
        "{run:?}"
    );
    let csv = path.join("csv");
    let expected = [
        "01-who-moved-the-bytes.csv",
        "02-logs.csv",
        "findings.txt",
        "report.json",
    ];
    assert_eq!(names(&csv), expected);
    let query = "query top_users_and_programs --by app --n 5 --format csv --lake";
    let query: Vec<&str> = query.split(' ').chain([small().lake()]).collect();
    let asked = iolode(path, &query).ok();
    assert_eq!(asked.lines().count(), 6, "{asked}");
    assert_eq!(read_to_string(csv.join(expected[0])).unwrap(), asked);
    let sql = "SELECT log_id, start_time, app FROM darshan_log ORDER BY log_id";
    let asked = iolode(
        path,
        &[
            "sql",
            "--lake",
            small().lake(),
            "--format",
            "csv",
            "-c",
            sql,
        ],
    )
    .ok();
    // Times are in the zone of the site with their offset, as named queries write them.
    let expected = asked.replace("Z,", "+00:00,");
    let found = read_to_string(csv.join("02-logs.csv")).unwrap();
    assert_eq!(found.replace("Z,", "+00:00,"), expected);
    let findings = read_to_string(csv.join("findings.txt")).unwrap();
    let head = format!(
        "Ours\n  D\n  Period: all times of the lake\n  Times in: UTC\n  Lake: {}, version 2\n\nWho moved the bytes?\n",
        small().lake()
    );
    assert!(findings.starts_with(&head), "{findings}");
    assert!(findings.contains(" has a log\n"), "{findings}");
    assert!(
        findings.contains("Bad\n  This section has no answer: "),
        "{findings}"
    );
    let json = read_to_string(csv.join("report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["blocks"].as_array().unwrap().len(), 4);
}

/// Python, in a directory of CSV files: the tables of analyses in the report, and those of them that no file has, cell by cell.
const COMPARE: &str = r#"
import csv, glob, json
tables = [block for section in json.load(open("report.json"))["blocks"] for block in section.get("blocks", []) if block["kind"] == "table"]
files = [list(csv.reader(open(name, newline=""))) for name in glob.glob("*.csv")]
def is_same(cell, value):
    return cell == "" if value is None else cell == value if isinstance(value, str) else float(cell) == value
def has(file, table):
    names, rows = [column["name"] for column in table["columns"]], table["rows"]
    return file[0] == names and len(file) == len(rows) + 1 and all(
        is_same(cell, row[name]) for line, row in zip(file[1:], rows) for cell, name in zip(line, names))
print(len(tables), [table["title"] for table in tables if not any(has(file, table) for file in files)])
"#;

fn tables_of_an_analysis_are_files_as_well() {
    let directory = fresh();
    let path = directory.path();
    let sql =
        "SELECT job_id FROM darshan_log GROUP BY job_id ORDER BY sum(bytes_read) DESC LIMIT 1";
    let asked = [
        "sql",
        "--lake",
        small().lake(),
        "--format",
        "csv",
        "-c",
        sql,
    ];
    let job = iolode(path, &asked)
        .ok()
        .lines()
        .nth(1)
        .unwrap()
        .to_string();
    let set = format!("job={job}");
    let asked = ["report", "job", "--lake", small().lake(), "--set", &set];
    let asked = [&asked[..], &["--format", "csv-dir", "--out", "csv"]].concat();
    iolode(path, &asked).ok();
    let csv = path.join("csv");
    let mut compare = Command::new(any_python());
    let compared = Run::of(compare.args(["-c", COMPARE]).current_dir(&csv)).ok();
    let (tables, missing) = compared.trim().split_once(' ').unwrap();
    assert_eq!(missing, "[]");
    assert!(tables.parse::<usize>().unwrap() > 0);
    let findings = read_to_string(csv.join("findings.txt")).unwrap();
    assert!(findings.contains(&format!("job {job}")), "{findings}");
}

fn a_directory_of_csv_files_replaces_another_and_nothing_else() {
    let directory = with_report(OURS);
    let path = directory.path();
    let asked = ["--format", "csv-dir", "--out", "csv"];
    report(path, &asked).ok();
    let first = files(&path.join("csv"));
    let shorter = OURS.split("[[section]]\ntitle = \"Logs\"").next().unwrap();
    write(path.join("ours.toml"), shorter).unwrap();
    report(path, &asked).ok();
    let second = files(&path.join("csv"));
    assert!(first.contains_key("02-logs.csv") && !second.contains_key("02-logs.csv"));
    assert_eq!(names(path).len(), 1 + second.len(), "{:?}", names(path));
    // A file of somebody else, also one that looks like a section's.
    write(path.join("csv/notes.txt"), "mine").unwrap();
    let why = report(path, &asked).failed();
    assert!(why.starts_with("csv: holds notes.txt"), "{why}");
    std::fs::create_dir(path.join("other")).unwrap();
    write(path.join("other/01-mine.csv"), "mine").unwrap();
    let why = report(path, &["--format", "csv-dir", "--out", "other"]).failed();
    assert!(why.contains("no report.json"), "{why}");
    write(path.join("file"), "mine").unwrap();
    report(path, &["--format", "csv-dir", "--out", "file"]).failed();
    assert_eq!(read_to_string(path.join("file")).unwrap(), "mine");
    let left = names(path);
    assert!(
        !left.iter().any(|name| name.contains("partial")),
        "{left:?}"
    );
}

fn a_page_is_kept_for_each_period_with_a_link_to_the_newest() {
    let directory = with_report(OURS);
    let path = directory.path();
    std::fs::create_dir(path.join("pages")).unwrap();
    let keep = |period: &str| {
        let asked = [
            "--period", period, "--keep", "2", "--js", "beside", "--out", "pages/",
        ];
        let run = report(path, &asked);
        assert_eq!(run.code, Some(0), "{run:?}");
        let mut names = names(&path.join("pages"));
        names.retain(|name| name != "plotly.min.js");
        (names, run.stderr)
    };
    let (found, said) = keep("2026-W36");
    assert_eq!(
        found,
        ["latest.html -> ours-2026-W36.html", "ours-2026-W36.html"]
    );
    assert_eq!(said, "wrote pages/ours-2026-W36.html\n");
    // Again: the same period has one page.
    assert_eq!(keep("2026-W36").0, found);
    let (found, _) = keep("2026-W37");
    let both = [
        "latest.html -> ours-2026-W37.html",
        "ours-2026-W36.html",
        "ours-2026-W37.html",
    ];
    assert_eq!(found, both);
    let (found, said) = keep("2026-W38");
    assert_eq!(
        found,
        [
            "latest.html -> ours-2026-W38.html",
            "ours-2026-W37.html",
            "ours-2026-W38.html"
        ]
    );
    assert!(
        said.contains("removed pages/ours-2026-W36.html\n"),
        "{said}"
    );
    // An older period is written, as was asked; the link stays at the newest.
    let (found, _) = keep("2026-W01");
    assert_eq!(
        found,
        [
            "latest.html -> ours-2026-W38.html",
            "ours-2026-W01.html",
            "ours-2026-W37.html",
            "ours-2026-W38.html"
        ]
    );
    let page = read_to_string(path.join("pages/latest.html")).unwrap();
    assert!(page.contains("<script src=\"plotly.min.js\">"));
    assert!(path.join("pages/plotly.min.js").exists());
    // The name of a file says directory, beginning and ending.
    let asked = [
        "--from",
        "2026-09-01T06:00",
        "--to",
        "2026-09-03",
        "--keep",
        "1",
        "--out",
    ];
    report(path, &[&asked[..], &["io.txt"]].concat()).ok();
    let mut here = names(path);
    here.retain(|name| !name.starts_with("pages"));
    let page = "io-2026-09-01T060000..2026-09-03.txt";
    assert_eq!(here, [page, &format!("latest.txt -> {page}"), "ours.toml"]);
}

fn a_directory_of_csv_files_is_kept_for_each_period() {
    let directory = with_report(OURS);
    let path = directory.path();
    let csv = path.join("csv");
    // Not of a report, though their names are those of pages; and what a run left that was killed a day ago.
    let theirs = [
        "ours-2020-W01/notes.txt",
        "ours-2020-W02.csv",
        "ours-2020-W03",
    ];
    std::fs::create_dir_all(csv.join("ours-2020-W01")).unwrap();
    for name in theirs {
        write(csv.join(name), "mine").unwrap();
    }
    let remains = csv.join("ours-2026-W30.a1B2c3.partial");
    std::fs::create_dir(&remains).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    let opened = std::fs::File::open(&remains).unwrap();
    opened.set_modified(old).unwrap();
    let asked = [
        "--format", "csv-dir", "--keep", "2", "--out", "csv/", "--period",
    ];
    let keep = |week: &str| {
        let run = report(path, &[&asked[..], &[week]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let entries = std::fs::read_dir(&csv).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .filter(|name| !name.starts_with("ours-2020"))
            .collect();
        names.sort();
        let latest = read_link(csv.join("latest")).unwrap();
        (names, latest.display().to_string(), run.stderr)
    };
    let (found, latest, said) = keep("2026-W36");
    assert_eq!(found, ["latest", "ours-2026-W36"]);
    assert_eq!(
        (latest.as_str(), said.as_str()),
        ("ours-2026-W36", "wrote csv/ours-2026-W36\n")
    );
    keep("2026-W37");
    // Again, and an older one: the link stays at the newest.
    keep("2026-W37");
    let (found, latest, said) = keep("2026-W38");
    assert_eq!(found, ["latest", "ours-2026-W37", "ours-2026-W38"]);
    assert_eq!(latest, "ours-2026-W38");
    assert!(said.contains("removed csv/ours-2026-W36\n"), "{said}");
    for name in theirs {
        assert_eq!(read_to_string(csv.join(name)).unwrap(), "mine");
    }
    // The same files as without --keep.
    report(
        path,
        &[
            "--format", "csv-dir", "--out", "alone", "--period", "2026-W38",
        ],
    )
    .ok();
    assert_eq!(files(&csv.join("latest/")), files(&path.join("alone")));
    let named = [
        "--format", "csv-dir", "--keep", "1", "--out", "io", "--period", "2026-09",
    ];
    report(path, &named).ok();
    assert!(path.join("io-2026-09/report.json").exists());
    // A link of somebody else stays.
    std::fs::remove_file(csv.join("latest")).unwrap();
    write(csv.join("latest"), "mine").unwrap();
    let why = report(path, &[&asked[..], &["2026-W39"]].concat()).failed();
    assert!(
        why.starts_with("csv/latest: is no link to a page of ours"),
        "{why}"
    );
    assert!(!csv.join("ours-2026-W39").exists());
}

fn no_file_of_somebody_else_is_removed_or_replaced() {
    let directory = with_report(OURS);
    let path = directory.path();
    let pages = path.join("pages");
    std::fs::create_dir(&pages).unwrap();
    let theirs = [
        "ours.html",
        "ours-2020-W01.htm",
        "ours-2020-W01.html.bak",
        "ours-2020-W01-final.html",
        "ours-2020-W99.html",
        "other-2020-W01.html",
        "x-ours-2020-W01.html",
        "index.html",
    ];
    for name in theirs {
        write(pages.join(name), name).unwrap();
    }
    std::fs::create_dir(pages.join("ours-2020-W02.html")).unwrap();
    std::os::unix::fs::symlink("index.html", pages.join("ours-2020-W03.html")).unwrap();
    write(pages.join("ours-2020-W04.html"), "an old page").unwrap();
    let asked = ["--period", "2026-W36", "--keep", "1", "--out", "pages"];
    let run = report(path, &asked);
    assert_eq!(run.code, Some(0), "{run:?}");
    for name in theirs {
        assert_eq!(read_to_string(pages.join(name)).unwrap(), name);
    }
    assert!(pages.join("ours-2020-W02.html").is_dir());
    assert!(pages.join("ours-2020-W03.html").is_symlink());
    assert!(!pages.join("ours-2020-W04.html").exists());
    // The link of another report, or a file.
    for make in [
        |link: &Path| std::os::unix::fs::symlink("other-2020-W01.html", link).unwrap(),
        |link: &Path| write(link, "mine").unwrap(),
    ] {
        let link = pages.join("latest.html");
        std::fs::remove_file(&link).unwrap();
        make(&link);
        let before = files(&pages);
        let why = report(path, &asked).failed();
        assert!(
            why.starts_with("pages/latest.html: is no link to a page of ours"),
            "{why}"
        );
        assert_eq!(files(&pages), before);
    }
}

fn the_same_version_and_period_give_the_same_page() {
    let directory = fresh();
    let path = directory.path();
    for (name, form) in [
        ("weekly", "html"),
        ("weekly", "md"),
        ("weekly", "txt"),
        ("iominer", "html"),
    ] {
        let page = |threads: &str| {
            let out = path.join(threads).with_extension(form);
            let page = out.to_str().unwrap();
            let asked = [
                "report",
                name,
                "--lake",
                small().lake(),
                "--period",
                "2026-09",
            ];
            let more = ["--threads", threads, "--out", page];
            iolode(path, &[&asked[..], &more].concat()).ok();
            read(out).unwrap()
        };
        let (one, three) = (page("1"), page("3"));
        assert!(one == three, "{name} as {form} differs");
        assert!(one.len() > 1000);
    }
}

fn two_runs_at_once_leave_whole_pages() {
    let directory = with_report(OURS);
    let path = directory.path();
    let weeks = ["2026-W36", "2026-W36", "2026-W37", "2026-W38"];
    let start = |week: &&str| {
        let mut run = program(path);
        run.args([
            "report",
            "ours.toml",
            "--lake",
            small().lake(),
            "--period",
            week,
        ]);
        run.args(["--keep", "2", "--out", "pages.html"]);
        run.stderr(Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = weeks.iter().map(start).collect();
    for run in runs {
        let done = run.wait_with_output().unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    // What a run alone writes.
    let alone = |week: &str| {
        report(path, &["--period", week, "--out", "alone.html"]).ok();
        let page = read(path.join("alone.html")).unwrap();
        std::fs::remove_file(path.join("alone.html")).unwrap();
        page
    };
    let newest = read(path.join("pages-2026-W38.html")).unwrap();
    assert!(newest == alone("2026-W38"));
    for (name, page) in files(path) {
        match name
            .strip_prefix("pages-")
            .and_then(|name| name.strip_suffix(".html"))
        {
            Some(week) => assert!(page == alone(week), "{name}"),
            None => assert!(
                ["latest.html -> pages-2026-W38.html", "ours.toml"].contains(&name.as_str()),
                "{name}"
            ),
        }
    }
}

fn options_that_do_not_go_together_are_refused_before_anything_is_written() {
    let directory = with_report(OURS);
    let path = directory.path();
    std::fs::create_dir(path.join("pages")).unwrap();
    for (asked, why) in [
        (
            &["--keep", "2", "--out", "pages/"][..],
            "give one by --period",
        ),
        (&["--keep", "2", "--period", "2026"], "--out"),
        (&["--keep", "0", "--out", "a.html"], "--keep"),
        (&["--out", "pages"], "--keep N"),
        (&["--format", "csv-dir"], "--out DIR"),
        (&["--out", "a.xlsx"], "csv-dir"),
        (&["--out", "nowhere/a.html"], "no such file or directory"),
        (
            &["--format", "csv-dir", "--out", "nowhere/csv"],
            "no such file or directory",
        ),
    ] {
        let found = report(path, asked).failed();
        assert!(found.contains(why), "{asked:?}: {found}");
        assert_eq!(names(path), ["ours.toml"], "{asked:?}");
    }
}

/// `iolode report ours.toml`, which may write files of so many blocks of 1024 bytes.
fn limited(directory: &Path, blocks: u32, more: &[&str]) -> Run {
    let mut run = Command::new("bash");
    run.current_dir(directory).stdin(Stdio::null());
    run.args([
        "-c",
        &format!("ulimit -f {blocks}; exec \"$0\" \"$@\""),
        PROGRAM,
    ]);
    run.args(["report", "ours.toml", "--lake", small().lake()]);
    Run::of(run.args(more))
}

fn a_full_disk_leaves_the_old_page_and_nothing_else() {
    let directory = with_report(OURS);
    let path = directory.path();
    for (asked, blocks) in [
        (&["--out", "page.html"][..], 100),
        (
            &["--keep", "1", "--period", "2026-09", "--out", "kept.html"],
            100,
        ),
        (&["--format", "csv-dir", "--out", "csv"], 1),
    ] {
        write(path.join("ours.toml"), OURS).unwrap();
        report(path, asked).ok();
        let changed = OURS.replace("title = \"Ours\"", "title = \"Theirs\"");
        write(path.join("ours.toml"), changed).unwrap();
        let before = files(path);
        let why = limited(path, blocks, asked).failed();
        assert!(why.ends_with(": cannot write: file too large"), "{why}");
        assert_eq!(names(path), before.keys().cloned().collect::<Vec<_>>());
        assert!(files(path) == before);
    }
}

/// How many bytes the pages of September have that are not complete.
fn written(directory: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let pages = entries.filter(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.starts_with("page-2026-09.html.") && name.ends_with(".partial")
    });
    // It may be complete, and have its name, by now.
    let sizes = pages.filter_map(|page| Some(page.metadata().ok()?.len()));
    sizes.collect()
}

fn a_kill_in_mid_write_leaves_a_whole_page() {
    let directory = with_report(OURS);
    let path = directory.path();
    let asked = ["--period", "2026-09", "--keep", "3", "--out", "page.html"];
    let page = path.join("page-2026-09.html");
    // The two pages that are whole.
    let changed = OURS.replace("title = \"Ours\"", "title = \"Theirs\"");
    let mut whole = vec![];
    for text in [&changed, OURS] {
        write(path.join("ours.toml"), text).unwrap();
        report(path, &asked).ok();
        whole.push(read(&page).unwrap());
    }
    assert!(whole[0] != whole[1]);
    write(path.join("ours.toml"), &changed).unwrap();
    let mut in_mid_write = 0;
    for _ in 0..30 {
        let mut run = program(path);
        run.args(["report", "ours.toml", "--lake", small().lake()])
            .args(asked);
        let mut run = run.stderr(Stdio::null()).spawn().unwrap();
        // Killed as soon as the new page has bytes.
        let has_bytes = || {
            let sizes = written(path).into_iter();
            sizes.filter(|size| *size > 0).count() > in_mid_write
        };
        while !has_bytes() && run.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        run.kill().unwrap();
        run.wait().unwrap();
        in_mid_write = written(path).len();
        let found = read(&page).unwrap();
        assert!(whole.contains(&found), "{} bytes", found.len());
        assert_eq!(read(path.join("latest.html")).unwrap(), found);
        if in_mid_write >= 3 {
            break;
        }
    }
    assert!(in_mid_write > 0, "no run was killed while it wrote");
    // A run that is not killed writes its page, and removes what others have left a day ago.
    let partial = |name: &String| name.ends_with(".partial");
    let remains: Vec<String> = names(path).into_iter().filter(partial).collect();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    let file = std::fs::File::options()
        .write(true)
        .open(path.join(&remains[0]));
    file.unwrap().set_modified(old).unwrap();
    report(path, &asked).ok();
    assert!(read(&page).unwrap() == whole[0]);
    let left: Vec<String> = names(path).into_iter().filter(partial).collect();
    assert_eq!(left, remains[1..]);
}
