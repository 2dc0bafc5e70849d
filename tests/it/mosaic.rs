//! MOSAIC's classes of the real logs beside an independent computation in Python.

use crate::support::{python, run_python, shared_data};
use iolode::answer::analysis::mosaic::io_pattern::group::Group;
use iolode::answer::analysis::mosaic::io_pattern::operation::Direction;
use iolode::answer::analysis::mosaic::{LogRows, Mode, Mosaic, Options, of_log};
use iolode::source::Input;
use serde_json::Value;

crate::tests! {
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
