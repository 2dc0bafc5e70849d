//! MOSAIC's classes of the real logs beside an independent computation in Python, and of logs whose periods are known.

use crate::support::{python, run_python, shared_data};
use iolode::answer::analysis::mosaic::io_pattern::group::Group;
use iolode::answer::analysis::mosaic::io_pattern::operation::Direction;
use iolode::answer::analysis::mosaic::{LogRows, Mode, Mosaic, Options, of_log};
use iolode::source::{Input, InputProvider};
use iolode::synth::{GeneratedInputs, Kind, Month};
use serde_json::Value;
use std::path::Path;

crate::tests! {
    [] => {
        planted_periods_are_found_and_hardly_any_where_there_are_none,
    }
    [Data, Packages] => {
        mosaic_of_real_logs_is_what_an_independent_computation_finds,
    }
}

fn mosaic_of_real_logs_is_what_an_independent_computation_finds() {
    let logs = shared_data().join("darshan");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("mosaic.json");
    run_python(&python(), "python/mosaic.py", &[&out, &logs]);
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(expected.len() >= 72, "{}", expected.len());
    for (name, expected) in expected {
        let input = Input::open(logs.join(name)).unwrap();
        let (rows, _) = LogRows::of_input(&input).unwrap();
        let found = of_log(&rows, Mode::Reference, &Options::default());
        compare(name, &found, expected);
    }
}

/// The bars of mode `full`, with ten logs of each kind; `bench mosaic-periods` has the table: benches/proofs/mosaic_periods.md.
fn planted_periods_are_found_and_hardly_any_where_there_are_none() {
    let root = Path::new("/synth");
    let month = Month::of(Kind::Periods, 1840, 7);
    let inputs = GeneratedInputs::new(&month, root, 2, &|_| ()).unwrap();
    let truth: Value = serde_json::from_str(inputs.truth()).unwrap();
    // How many there are, and of how many a period is found.
    let (mut periodic, mut others) = ([(0, 0); 3], (0, 0));
    for job in truth["jobs"].as_array().unwrap() {
        let planted = job["periods"].as_array().unwrap();
        // One window tells nothing of what is in it, and two bins for a period are too few.
        let told = ["files", "heatmap", "dxt"].map(|told| job["told_by"] == told);
        let bursts = job["bursts"].as_i64().unwrap();
        let is_known = match told {
            [false, true, false] => bursts == 10,
            [_, false, _] => bursts >= 10 && told.contains(&true),
            _ => false,
        };
        if !planted.is_empty() && (job["jitter"] != 0.1 || !is_known) {
            continue;
        }
        let input = inputs
            .open(&root.join(job["log"].as_str().unwrap()))
            .unwrap();
        let (rows, _) = LogRows::of_input(&input).unwrap();
        let found = of_log(&rows, Mode::Full, &Options::default());
        assert_eq!(found.status.name(), "ok", "{job}");
        let found = found.pattern(Direction::Write).unwrap().period;
        match planted.is_empty() {
            true => {
                others.0 += 1;
                others.1 += usize::from(found.is_some());
            }
            false => {
                let is_right = |found: f64| {
                    let mut planted = planted.iter().filter_map(Value::as_f64);
                    planted.any(|planted| (found / planted - 1.0).abs() <= 0.1)
                };
                let at = told.iter().position(|told| *told).unwrap();
                periodic[at].0 += 1;
                periodic[at].1 += usize::from(found.is_some_and(|found| is_right(found.seconds)));
            }
        }
    }
    assert_eq!(
        (periodic.map(|(logs, _)| logs), others.0),
        ([70, 30, 70], 400)
    );
    for (logs, found) in periodic {
        assert!(found as f64 >= 0.95 * logs as f64, "{found} of {logs}");
    }
    let (logs, found) = others;
    assert!(
        found as f64 <= 0.01 * logs as f64,
        "{found} of {logs} without a period"
    );
}

fn compare(name: &str, found: &Mosaic, expected: &Value) {
    assert_eq!(expected["status"], found.status.name(), "{name}");
    let Some(load) = &found.metadata else { return };
    assert_close(name, expected, "run_time", found.run_time);
    let classes = found.metadata_class_names();
    assert_eq!(
        expected["metadata_classes"],
        serde_json::json!(classes),
        "{name}"
    );
    for (figure, value) in [
        ("highest_spike", load.highest_spike),
        ("spike_count", load.spike_count),
        ("average_per_spike", load.average_per_spike),
        ("operations_duration", load.operations_duration),
    ] {
        assert_eq!(expected[figure], value, "{name}: {figure}");
    }
    let rate = Some(load.operations_per_second);
    assert_close(name, expected, "operations_per_second", rate);
    for (direction, key) in [(Direction::Read, "read"), (Direction::Write, "write")] {
        let (expected, what) = (&expected[key], format!("{name}: {key}"));
        let pattern = found.pattern(direction).unwrap();
        let classes = found.class_names(direction);
        assert_eq!(expected["classes"], serde_json::json!(classes), "{what}");
        let groups = expected["groups"].as_array().unwrap();
        assert_eq!(groups.len(), pattern.groups.len(), "{what}");
        for (group, expected) in pattern.groups.iter().zip(groups) {
            compare_group(&what, group, expected);
        }
        let shares = pattern.shares.map_or(vec![], |shares| shares.to_vec());
        for (at, share) in shares.iter().enumerate() {
            assert_close(&what, &expected["shares"], at, Some(*share));
        }
        assert_eq!(expected["shares"].is_null(), shares.is_empty(), "{what}");
        let period = pattern.period;
        assert_close(
            &what,
            expected,
            "period",
            period.map(|period| period.seconds),
        );
        assert_close(&what, expected, "busy", period.map(|period| period.busy));
        if let Some(confidence) = expected.get("confidence") {
            let all = serde_json::json!({ "confidence": confidence });
            assert_close(&what, &all, "confidence", pattern.confidence);
        }
    }
}

fn compare_group(what: &str, found: &Group, expected: &Value) {
    assert_eq!(expected["segments"], found.segments, "{what}");
    for (key, value) in [
        ("start", found.start),
        ("end", found.end),
        ("period", found.period),
        ("work", found.work),
        ("work_cv", found.work_cv),
        ("bytes", found.bytes),
        ("ranks", found.ranks),
        ("metadata", found.metadata),
    ] {
        assert_close(what, expected, key, Some(value));
    }
}

/// Equal to 1e-9 of the greater, which sums of times that were subtracted from one another allow; or both unknown.
fn assert_close<I: serde_json::value::Index + std::fmt::Display + Copy>(
    what: &str,
    expected: &Value,
    key: I,
    found: Option<f64>,
) {
    let expected = expected[key].as_f64();
    let is_close = match (expected, found) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-12,
        (a, b) => a.is_none() && b.is_none(),
    };
    assert!(is_close, "{what}: {key}: {found:?} for {expected:?}");
}
