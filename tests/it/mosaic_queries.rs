//! Named queries about MOSAIC's classes on the real logs of which the published tool's classes are known, and on a lake that is not analysed.

use crate::cli_program::{fresh, iolode, small};
use crate::support::shared_data;
use serde_json::Value;
use std::collections::BTreeMap;

crate::tests! {
    [] => {
        a_lake_that_is_not_analysed_says_so,
        what_a_lake_does_not_know_or_no_number_can_be_is_refused,
    }
    [Data] => {
        classes_and_pairs_of_the_logs_of_the_published_tool_are_as_it_counts_them,
    }
}

/// Logs with each class, counted over the output of the published tool.
const CLASSES: [(&str, u64); 24] = [
    ("metadata_insignificant_load", 40),
    ("metadata_high_spike", 16),
    ("metadata_high_density", 12),
    ("metadata_multiple_spikes", 12),
    ("read_on_end", 22),
    ("read_on_start", 9),
    ("read_unclear_pattern", 9),
    ("read_after_start", 7),
    ("read_after_start_before_end", 7),
    ("read_periodic", 2),
    ("read_periodic_low_busy_time", 2),
    ("read_periodic_s", 2),
    ("read_insignificant", 1),
    ("read_steady", 1),
    ("write_before_end", 17),
    ("write_insignificant", 16),
    ("write_after_start", 7),
    ("write_after_start_before_end", 6),
    ("write_on_start", 4),
    ("write_on_end", 3),
    ("write_unclear_pattern", 3),
    ("write_periodic", 1),
    ("write_periodic_low_busy_time", 1),
    ("write_periodic_s", 1),
];

/// Of pairs of classes the logs with both, and those with either, counted in the same way.
const PAIRS: [(&str, &str, u64, u64); 17] = [
    ("metadata_high_density", "metadata_multiple_spikes", 12, 12),
    ("metadata_high_density", "metadata_high_spike", 12, 16),
    ("metadata_high_spike", "metadata_multiple_spikes", 12, 16),
    ("metadata_high_spike", "write_insignificant", 12, 20),
    ("read_on_end", "write_before_end", 14, 25),
    ("metadata_high_density", "write_insignificant", 10, 18),
    ("metadata_insignificant_load", "read_on_end", 22, 40),
    ("read_periodic", "write_periodic", 1, 2),
    ("metadata_high_density", "read_after_start", 6, 13),
    ("metadata_insignificant_load", "write_before_end", 17, 40),
    ("read_after_start_before_end", "write_on_start", 3, 8),
    ("metadata_high_spike", "read_after_start", 6, 17),
    ("read_on_start", "write_after_start", 4, 12),
    ("read_after_start", "write_insignificant", 5, 18),
    ("read_periodic", "write_on_end", 1, 4),
    ("read_on_start", "write_insignificant", 4, 21),
    (
        "read_after_start_before_end",
        "write_after_start_before_end",
        2,
        11,
    ),
];

fn classes_and_pairs_of_the_logs_of_the_published_tool_are_as_it_counts_them() {
    let data = shared_data();
    let known = std::fs::read_to_string(data.join("reference/mosaic_classes.json")).unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    let known = known["reference_tool"]["values"].as_object().unwrap();
    let logs = known.keys().map(|log| data.join("darshan").join(log));
    let logs: Vec<String> = logs.map(|log| log.display().to_string()).collect();
    assert_eq!(logs.len(), 57);
    let directory = fresh();
    let directory = directory.path();
    let ingest = [
        "ingest",
        "--lake",
        "lake",
        "--create",
        "--analyze",
        "mosaic",
        "--darshan",
    ];
    let logs = logs.iter().map(String::as_str);
    let arguments: Vec<&str> = ingest.into_iter().chain(logs).collect();
    iolode(directory, &arguments).ok();
    let ask = |query: &str, with: &[&str]| -> Vec<Value> {
        let common = ["--lake", "lake", "--mode", "reference", "--format", "json"];
        let arguments = [&["query", query][..], &common, with].concat();
        serde_json::from_str(&iolode(directory, &arguments).ok()).unwrap()
    };

    let found = ask("mosaic_classes", &[]);
    let found = found.iter().map(|row| {
        let share = row["share_logs"].as_f64().unwrap();
        let logs = row["logs"].as_u64().unwrap();
        assert!((share - logs as f64 / 56.0).abs() < 1e-12, "{row}");
        (row["class"].as_str().unwrap().to_string(), logs)
    });
    let found: BTreeMap<String, u64> = found.collect();
    let expected = CLASSES.map(|(class, logs)| (class.to_string(), logs));
    assert_eq!(found, BTreeMap::from(expected));

    let found = ask("mosaic_pairs", &["--weight", "logs", "--min-share", "0"]);
    assert_eq!(found.len(), 24 * 23 / 2);
    let meet = found.iter().filter(|row| row["both"] != 0).count();
    assert_eq!(meet, 100);
    for (a, b, both, either) in PAIRS {
        let row = found
            .iter()
            .find(|row| row["class_a"] == a && row["class_b"] == b);
        let row = row.unwrap_or_else(|| panic!("{a}, {b}"));
        assert_eq!(
            (&row["both"], &row["either"]),
            (&both.into(), &either.into())
        );
        let jaccard = row["jaccard"].as_f64().unwrap();
        assert!(
            (jaccard - both as f64 / either as f64).abs() < 1e-12,
            "{row}"
        );
    }

    let found = ask("mosaic_summary", &[]);
    let count = |figure: &str| {
        let row = found.iter().find(|row| row["figure"] == figure);
        row.map_or(Value::Null, |row| row["count"].clone())
    };
    assert_eq!(count("logs"), 57);
    assert_eq!(count("with classes"), 56);
    assert_eq!(count("without classes: no_module"), 1);
}

fn a_lake_that_is_not_analysed_says_so() {
    let directory = fresh();
    let ask = |query: &str| {
        let arguments = ["query", query, "--lake", small().lake(), "--format", "csv"];
        let run = iolode(directory.path(), &arguments);
        assert_eq!(run.code, Some(0), "{run:?}");
        run
    };
    for query in ["mosaic", "mosaic_classes", "checkpoint_interval"] {
        let run = ask(query);
        assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
        assert!(
            run.stderr
                .contains("note: no log of the lake is analysed: `iolode analyze mosaic`"),
            "{run:?}"
        );
    }
    let run = ask("mosaic_summary");
    assert!(
        run.stdout
            .contains("analysed: none; run `iolode analyze mosaic`,0,"),
        "{run:?}"
    );

    iolode(directory.path(), &["lake", "create", "empty"]);
    let run = iolode(directory.path(), &["query", "mosaic", "--lake", "empty"]);
    assert!(
        run.stderr
            .contains("note: nothing in the lake fits the conditions"),
        "{run:?}"
    );
}

fn what_a_lake_does_not_know_or_no_number_can_be_is_refused() {
    let directory = fresh();
    let refused = |arguments: &[&str], expected: &str| {
        let lake = ["--lake", small().lake()];
        let run = iolode(directory.path(), &[&["query"], arguments, &lake].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.starts_with(expected), "{run:?}");
    };
    let unknown = "iolode: unknown program `nosuch`";
    refused(&["mosaic_summary", "--app", "nosuch"], unknown);
    let beyond = "iolode: --min-share `2`: expected 0 to 1";
    refused(&["mosaic_pairs", "--min-share", "2"], beyond);
    let below = "iolode: --min-confidence `-0.1`: expected 0 to 1";
    refused(&["mosaic_classes", "--min-confidence", "-0.1"], below);
}
