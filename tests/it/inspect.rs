//! `iolode inspect` on real logs, against values that darshan-parser 3.5.0 printed.

use crate::cli_program::{fresh, iolode, program, small};
use crate::support::{python, run_python, shared_data};
use std::path::{Path, PathBuf};

crate::tests! {
    [] => {
        the_summary_and_the_json_say_the_same,
        a_log_that_cannot_be_read_does_not_hide_the_others,
        a_damaged_log_has_unknown_totals_and_exit_code_1,
    }
    [Data] => {
        performance_and_file_counts_are_those_that_darshan_parser_prints,
        every_counter_has_a_line_of_eight_fields,
        every_module_that_can_be_read_is_shown_as_read,
    }
    [Data, Packages] => {
        every_line_of_every_real_log_is_what_pydarshan_returns,
    }
}

fn log(name: &str) -> PathBuf {
    shared_data().join("darshan").join(name)
}

fn performance_and_file_counts_are_those_that_darshan_parser_prints() {
    let dir = fresh();
    // Total bytes, agg_time, agg_perf, and the lines of --file for POSIX.
    let golden = [
        (
            "sample-goodost.darshan",
            "# total_bytes: 51539607552",
            "# agg_time_by_slowest: 3.758158 # seconds",
            "# agg_perf_by_slowest: 13078.7",
            "# unique: 48 51539607552",
        ),
        (
            "sample-badost.darshan",
            "# total_bytes: 549755813888",
            "# agg_time_by_slowest: 778.494366 # seconds",
            "# agg_perf_by_slowest: 673.464090 # MiB/s",
            "# write_only: 2048 549755813888 268435455",
        ),
        (
            "imbalanced-io.darshan",
            "# total_bytes: 106730099902",
            "# agg_time_by_slowest: 616.911529 # seconds",
            "# agg_perf_by_slowest: 164.992467 # MiB/s",
            "# unique: 1023 ",
        ),
    ];
    for (name, bytes, time, rate, files) in golden {
        let path = log(name);
        let path = path.to_str().unwrap();
        let text = iolode(
            dir.path(),
            &["inspect", "--darshan-parser", "--perf", "--file", path],
        )
        .ok();
        let posix = text
            .split("# POSIX module data")
            .nth(1)
            .unwrap()
            .split("module data")
            .next()
            .unwrap();
        for line in [bytes, time, rate, files] {
            assert!(
                posix.contains(&format!("\n{line}")),
                "{name}: {line}\n{posix}"
            );
        }
        assert!(!text.contains("POSIX_OPENS"), "counters were not asked for");
    }
    let path = log("imbalanced-io.darshan");
    let text = iolode(
        dir.path(),
        &[
            "inspect",
            "--darshan-parser",
            "--perf",
            "--file",
            path.to_str().unwrap(),
        ],
    )
    .ok();
    for line in [
        "# unique files: slowest_rank_io_time: 33.762418",
        "# shared files: time_by_slowest: 583.149111",
        "# read_only: 12 ",
        "# write_only: 2 ",
        "# read_write: 1 ",
        "# total: 1026 ",
    ] {
        assert!(text.contains(&format!("\n{line}")), "{line}");
    }
}

fn every_counter_has_a_line_of_eight_fields() {
    let dir = fresh();
    let path = log("sample-badost.darshan");
    let text = iolode(
        dir.path(),
        &["inspect", "--darshan-parser", path.to_str().unwrap()],
    )
    .ok();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(lines.iter().all(|fields| fields.len() == 8));
    let counters = |module: &str| lines.iter().filter(|fields| fields[0] == module).count();
    // 69 integers and 17 floats; 14 and 15; two, seven and a pool, and one OST of one component.
    assert_eq!(counters("POSIX"), 2048 * (69 + 17));
    assert_eq!(counters("STDIO"), 3 * (14 + 15));
    assert_eq!(counters("LUSTRE"), 2048 * (2 + 8 + 1));
    let written: i64 = lines
        .iter()
        .filter(|fields| fields[3] == "POSIX_BYTES_WRITTEN")
        .map(|fields| fields[4].parse::<i64>().unwrap())
        .sum();
    assert_eq!(written, 549_755_813_888);
    for header in [
        "# darshan log version: 3.10",
        "# nprocs: 2048",
        "# run time: 780.0000",
        "# metadata: lib_ver = 3.1.3",
    ] {
        assert!(text.lines().any(|line| line == header), "{header}");
    }
    let first = lines
        .iter()
        .find(|fields| fields[3] == "LUSTRE_COMP1_STRIPE_SIZE")
        .unwrap();
    assert_eq!(
        (first[4], first[6], first[7]),
        ("1048576", "/scratch1", "lustre")
    );
}

fn every_line_of_every_real_log_is_what_pydarshan_returns() {
    let (data, python) = (shared_data(), python());
    let (dir, logs) = (fresh(), data.join("darshan"));
    for entry in std::fs::read_dir(&logs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let output = program(dir.path())
            .args(["inspect", "--darshan-parser"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}");
        std::fs::write(dir.path().join(format!("{name}.txt")), output.stdout).unwrap();
    }
    let said = run_python(&python, "pydarshan/compare_text.py", &[&logs, dir.path()]);
    assert!(said.starts_with("72 logs, "), "{said}");
}

fn the_summary_and_the_json_say_the_same() {
    let (dir, small) = (fresh(), small());
    let path = a_log(&small.logs);
    let path = path.to_str().unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&iolode(dir.path(), &["inspect", "--json", path]).ok()).unwrap();
    let text = iolode(dir.path(), &["inspect", path]).ok();
    assert!(text.starts_with(&format!("{path}\n")), "{text}");
    let job = format!(
        "  job        {}, user {}",
        json["log"]["job_id"].as_str().unwrap(),
        json["log"]["uid"]
    );
    assert!(text.contains(&job), "{text}");
    for module in json["modules"].as_array().unwrap() {
        assert!(
            text.contains(&format!("\n {}", module["module"].as_str().unwrap())),
            "{text}"
        );
    }
    assert_eq!(
        json["files"].as_array().unwrap().len() as i64,
        json["log"]["files"].as_i64().unwrap()
    );
    assert!(json["log"]["log_id"].is_string() && json["why"].is_null());
}

fn a_log_that_cannot_be_read_does_not_hide_the_others() {
    let (dir, small) = (fresh(), small());
    let good = a_log(&small.logs);
    let bad = small.logs.join("Makefile.darshan");
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let some = iolode(dir.path(), &["inspect", "--json", bad, good]);
    assert_eq!(some.code, Some(1), "{some:?}");
    assert_eq!(some.stdout.lines().count(), 1);
    assert!(
        some.stderr
            .contains("Makefile.darshan: header at byte 8: not a Darshan log"),
        "{some:?}"
    );
    let why = iolode(dir.path(), &["inspect", bad]).failed();
    assert!(why.contains("not a Darshan log"), "{why}");
    let both = iolode(dir.path(), &["inspect", bad, bad]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

/// What `--json` says of a log, and the exit code.
fn json(dir: &Path, log: &str) -> (serde_json::Value, Option<i32>) {
    let run = iolode(dir, &["inspect", "--json", log]);
    let json = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    (json, run.code)
}

fn a_damaged_log_has_unknown_totals_and_exit_code_1() {
    let (dir, small) = (fresh(), small());
    let whole = std::fs::read(a_log(&small.logs)).unwrap();
    let file = dir.path().join("cut.darshan");
    let cut = file.to_str().unwrap();
    let module = |json: &serde_json::Value, name: &str| {
        let mut modules = json["modules"].as_array().unwrap().iter();
        let found = modules.find(|module| module["module"] == name);
        found.map(|module| module["status"].as_str().unwrap().to_string())
    };
    // POSIX is the first module behind the names: the first cut that reaches it leaves those before whole.
    let mut cuts = (1..400).map(|part| whole.len() * (400 - part) / 400);
    let (json, code) = cuts
        .find_map(|length| {
            std::fs::write(&file, &whole[..length]).unwrap();
            let (json, code) = json(dir.path(), cut);
            (module(&json, "POSIX").as_deref() == Some("truncated")).then_some((json, code))
        })
        .unwrap();
    assert_eq!(code, Some(1));
    let log = &json["log"];
    for total in [
        "files",
        "bytes_read",
        "total_bytes",
        "reads",
        "read_time",
        "posix_bytes_read",
        "posix_total_bytes",
        "size_read_0_100",
        "critical_io_time",
    ] {
        assert!(log.as_object().unwrap().contains_key(total), "{total}");
        assert!(log[total].is_null(), "{total}: {log}");
    }
    for known in [
        "job_id",
        "uid",
        "nprocs",
        "start_time",
        "run_time",
        "log_bytes",
    ] {
        assert!(!log[known].is_null(), "{known}: {log}");
    }
    assert!(
        json["why"].as_str().unwrap().contains("POSIX region"),
        "{json}"
    );
    let text = iolode(dir.path(), &["inspect", cut]);
    assert_eq!(text.code, Some(1), "{text:?}");
    for line in [
        "read       unknown, at least ",
        "written    unknown, at least ",
        "files      unknown, at least ",
    ] {
        assert!(text.stdout.contains(line), "{text:?}");
    }
    assert!(text.stdout.contains("\n  damaged "), "{text:?}");
    let parser = iolode(dir.path(), &["inspect", "--darshan-parser", cut]);
    assert_eq!(parser.code, Some(1));
    assert!(
        parser
            .stderr
            .starts_with(&format!("iolode: {cut}: damaged: POSIX region")),
        "{}",
        parser.stderr
    );
    // With a whole one beside it: the code is that of the damaged.
    let good = a_log(&small.logs);
    let both = iolode(
        dir.path(),
        &["inspect", "--json", good.to_str().unwrap(), cut],
    );
    assert_eq!((both.code, both.stdout.lines().count()), (Some(1), 2));
}

fn every_module_that_can_be_read_is_shown_as_read() {
    let dir = fresh();
    let mut seen = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(shared_data().join("darshan")).unwrap() {
        let path = entry.unwrap().path();
        let (json, _) = json(dir.path(), path.to_str().unwrap());
        for module in json["modules"].as_array().unwrap() {
            if module["bytes"].as_i64() == Some(0) {
                continue;
            }
            assert_ne!(
                module["status"],
                "not_taken",
                "{}: {module}",
                path.display()
            );
            if module["status"] == "ok" {
                assert!(
                    module["records"].is_number(),
                    "{}: {module}",
                    path.display()
                );
                seen.insert(module["module"].as_str().unwrap().to_string());
            }
        }
    }
    for name in ["POSIX", "HEATMAP", "DXT_POSIX", "H5F", "LUSTRE"] {
        assert!(seen.contains(name), "{name}: {seen:?}");
    }
}

/// The first log by name.
fn a_log(logs: &std::path::Path) -> PathBuf {
    let mut found = vec![];
    let mut dirs = vec![logs.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false
                    if path.extension().is_some_and(|e| e == "darshan")
                        && path.parent() != Some(logs) =>
                {
                    found.push(path)
                }
                false => {}
            }
        }
    }
    found.sort();
    found.swap_remove(0)
}
