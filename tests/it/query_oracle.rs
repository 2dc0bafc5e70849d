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
