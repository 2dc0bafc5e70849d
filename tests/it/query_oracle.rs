//! Named queries on real logs of which somebody else said what they show.

use crate::cli_program::iolode;
use crate::support::shared_data;
use iolode::answer::analysis::ANALYSES;
use iolode::engine::queries::{FOLDERS, QUERIES};
use std::path::Path;

crate::tests! {
    [] => {
        every_question_is_listed_once_and_has_help,
        the_slow_ost_of_a_month_is_named_and_none_that_programs_make_look_slow,
    }
    [Data] => {
        the_bad_ost_of_a_real_log_is_named_and_a_good_log_names_none,
        the_page_of_a_job_names_the_bad_ost_and_never_a_stream,
        the_page_of_a_job_says_what_is_not_known_and_of_what_its_sums_are,
    }
}

/// A named query and an analysis are asked in the same way: each name is one of them, and the list shows them all.
fn every_question_is_listed_once_and_has_help() {
    let here = Path::new(".");
    let listed = iolode(here, &["query"]).ok();
    let listed: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .collect();
    let names: Vec<&str> = (QUERIES.iter().map(|(_, name, _)| *name))
        .chain(ANALYSES.iter().map(|analysis| analysis.name))
        .collect();
    assert_eq!(listed, names);
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len());
    // The help has them by the same folders, and the names of the paper.
    let help = iolode(here, &["query", "--help"]).ok();
    let shown: Vec<&str> = help
        .lines()
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(shown, names);
    for (_, title) in FOLDERS {
        assert!(help.contains(&format!("\n{title}:\n")), "{help}");
    }
    assert!(help.contains("  file_sharing (also sharing)\n"), "{help}");
    let page = iolode(here, &["query", "bin_workload", "--help"]).ok();
    assert!(page.contains("[default: "), "{page}");
    for analysis in ANALYSES {
        let help = iolode(here, &["query", analysis.name, "--help"]).ok();
        assert!(
            help.contains(analysis.doc) && help.contains("--job"),
            "{help}"
        );
        let refused = iolode(
            here,
            &["query", analysis.name, "--job", "many", "--lake", "none"],
        );
        assert_eq!(refused.code, Some(2));
        assert!(
            refused
                .stderr
                .contains("--job `many`: expected a whole number"),
            "{}",
            refused.stderr
        );
        let refused = iolode(
            here,
            &[
                "query",
                analysis.name,
                "--job",
                "1",
                "--lake",
                "none",
                "--format",
                "csv",
            ],
        );
        assert!(
            refused.stderr.contains("is a page; --format"),
            "{}",
            refused.stderr
        );
    }
}

/// Darshan's own examples of one bad storage target and of none: file per process, each on one of 24 OSTs.
fn the_bad_ost_of_a_real_log_is_named_and_a_good_log_names_none() {
    let data = shared_data();
    for (log, slow) in [("sample-badost", vec!["14"]), ("sample-goodost", vec![])] {
        let path = data.join("darshan").join(format!("{log}.darshan"));
        let arguments = ["query", "slow_osts", "--format", "csv", "--logs"];
        let arguments = [&arguments[..], &[path.to_str().unwrap()]].concat();
        let answer = iolode(&data, &arguments).ok();
        let rows: Vec<Vec<&str>> = answer
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect())
            .collect();
        assert_eq!(rows.len(), 24, "{answer}");
        let named: Vec<&str> = rows
            .iter()
            .filter(|row| row[3] == "true")
            .map(|row| row[1])
            .collect();
        assert_eq!(named, slow, "{log}");
    }
}

/// Of a file per process on each OST the bad one is the cause: its files wait, whatever the other processes do.
fn the_page_of_a_job_names_the_bad_ost_and_never_a_stream() {
    let data = shared_data();
    let page = |log: &str, job: &str| {
        let path = data.join("darshan").join(format!("{log}.darshan"));
        let arguments = [
            "query",
            "diagnose",
            "--job",
            job,
            "--logs",
            path.to_str().unwrap(),
        ];
        iolode(&data, &arguments).ok()
    };
    let job = |log: &str| {
        let path = data.join("darshan").join(format!("{log}.darshan"));
        let sql = "select job_id from darshan_log";
        let arguments = [
            "sql",
            "--format",
            "csv",
            "-c",
            sql,
            "--logs",
            path.to_str().unwrap(),
        ];
        let answer = iolode(&data, &arguments).ok();
        answer.lines().nth(1).unwrap().to_string()
    };
    let bad = page("sample-badost", &job("sample-badost"));
    let causes = bad.split("Likely causes").nth(1).unwrap();
    assert!(causes.contains("1. OST 14 of "), "{bad}");
    let path = data.join("darshan/sample-badost.darshan");
    let number = job("sample-badost");
    let arguments = [
        "query", "diagnose", "--format", "json", "--job", &number, "--logs",
    ];
    let json = iolode(&data, &[&arguments[..], &[path.to_str().unwrap()]].concat()).ok();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let blocks = json[0]["blocks"].as_array().unwrap();
    let findings = &blocks.last().unwrap()["findings"];
    assert_eq!(findings[0]["rule"], "slow_ost", "{json}");
    assert_eq!(findings[0]["evidence"]["ost"], 14, "{json}");
    assert_eq!(json[0]["parameters"][0]["value"], *number, "{json}");
    let good = page("sample-goodost", &job("sample-goodost"));
    assert!(
        good.split("Likely causes")
            .nth(1)
            .unwrap()
            .contains("nothing stands out"),
        "{good}"
    );
    for log in ["sample", "sample-badost", "imbalanced-io"] {
        let page = page(log, &job(log));
        assert!(page.contains("Critical files, write"), "{page}");
        assert!(!page.contains("<STD"), "{page}");
    }
    // A text log of 44 KiB that one process has open for 11 minutes comes first by windows; by busy times it is a data file, one of
    // those that 496 processes write.
    let page = page("imbalanced-io", &job("imbalanced-io"));
    let first = |heading: &str| {
        let list = page.split(heading).nth(1).unwrap();
        // The rest of the title, the names of the columns, the first file.
        list.lines().nth(2).unwrap().to_string()
    };
    assert!(
        first("Critical files, write:").contains("43.7 KiB"),
        "{page}"
    );
    let busy = first("Critical files, write, by busy times:");
    assert!(busy.contains(" GiB  /lus/theta-fs0/312046190"), "{page}");
    assert!(
        first("Critical files, read:").contains("49.3 GiB"),
        "{page}"
    );
    // A job of which nothing is known is said so.
    let path = data.join("darshan/sample.darshan");
    let arguments = [
        "query",
        "diagnose",
        "--job",
        "5",
        "--logs",
        path.to_str().unwrap(),
    ];
    let refused = iolode(&data, &arguments);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("job 5: the lake has no Darshan log of it, and no Slurm record either"),
        "{}",
        refused.stderr
    );
}

/// Pages of logs without layouts, without a user name, with few others, and of many logs.
fn the_page_of_a_job_says_what_is_not_known_and_of_what_its_sums_are() {
    let dir = tempfile::tempdir().unwrap();
    let logs = shared_data().join("darshan");
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan"];
    iolode(
        dir.path(),
        &[&ingest[..], &[logs.to_str().unwrap()]].concat(),
    )
    .ok();
    let page = |job: &str| {
        let arguments = ["query", "diagnose", "--lake", "lake", "--job", job];
        iolode(dir.path(), &arguments).ok()
    };
    let gpfs = page("1797024");
    let others = gpfs.split("Others on its OSTs\n").nth(1).unwrap();
    assert!(
        others.starts_with("  the log does not name OSTs: others on them were not looked at\n\n"),
        "{gpfs}"
    );
    // None of the other logs of its month is of its program, and few are of its month.
    assert!(!gpfs.contains("percentile"), "{gpfs}");
    let calls = |page: &str, direction: &str| {
        let factors = page.split(&format!("Factors, {direction}\n")).nth(1);
        let line = factors
            .unwrap()
            .lines()
            .find(|line| line.contains("collective MPI-IO"));
        let words = line.unwrap().trim().trim_start_matches("collective MPI-IO");
        words.trim().to_string()
    };
    assert_eq!(calls(&gpfs, "read"), "no");
    let sql = "select round(100 * sum(mpiio_coll_writes) / (sum(mpiio_coll_writes) + sum(mpiio_indep_writes) + 0.0)) as percent \
               from darshan_file where job_id = 1797024";
    let percent = iolode(
        dir.path(),
        &["sql", "--lake", "lake", "--format", "csv", "-c", sql],
    )
    .ok();
    let percent: f64 = percent.lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(calls(&gpfs, "write"), format!("{percent} % of calls"));
    let unnamed = page("4478544");
    assert!(
        unnamed.starts_with("job 4478544: vpicio_uni, uid 69615\n"),
        "{unnamed}"
    );
    assert!(unnamed.contains("\n  OSTs of critical files "), "{unnamed}");
    let many = page("3116902");
    for words in [
        "\n  17 logs of 1 process each; no Slurm record\n",
        "UTC; run times added up over logs: 31 min 49 s\n",
        "in use for 58 min 49 s added up over files; ",
    ] {
        assert!(many.contains(words), "{words}: {many}");
    }
    let log =
        logs.join("snyder_python3_id3116902-2110365_12-19-66957-188958432683465822_1.darshan");
    let summary = iolode(dir.path(), &["inspect", log.to_str().unwrap()]).ok();
    assert!(summary.contains(", 1 process\n"), "{summary}");
}

/// One OST of 248 takes three times as long, under wide files as under narrow ones, beside programs that are slow, or fast, on OSTs
/// of their own: it is named, and no other at a false discovery rate of 5 %.
fn the_slow_ost_of_a_month_is_named_and_none_that_programs_make_look_slow() {
    for seed in ["1", "2", "3"] {
        let root = tempfile::tempdir().unwrap();
        let synth = [
            "synth", "--month", "slow-ost", "--jobs", "300", "--seed", seed, "--out", "month",
        ];
        iolode(root.path(), &synth).ok();
        iolode(
            root.path(),
            &["ingest", "--lake", "lake", "--create", "--darshan", "month"],
        )
        .ok();
        let truth = std::fs::read_to_string(root.path().join("month/truth.json")).unwrap();
        let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
        assert_eq!(truth["confounded"].as_array().unwrap().len(), 3);
        let answer = iolode(
            root.path(),
            &["query", "slow_osts", "--lake", "lake", "--format", "csv"],
        )
        .ok();
        let rows: Vec<Vec<&str>> = answer
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect())
            .collect();
        assert!(rows.len() > 400, "{}", rows.len());
        let slow: Vec<_> = rows.iter().filter(|row| row[3] == "true").collect();
        assert_eq!(slow.len(), 2, "seed {seed}: {slow:?}");
        for (row, first) in slow.iter().zip(&rows) {
            assert_eq!(
                row[1],
                truth["slow_ost"].to_string(),
                "seed {seed}: {slow:?}"
            );
            assert_eq!(row, &first);
            // Three times, less what processes do in a wide file that do not wait for the slow stripe.
            let slowdown: f64 = row[4].parse().unwrap();
            assert!((2.0..3.3).contains(&slowdown), "seed {seed}: {slow:?}");
        }
    }
}
