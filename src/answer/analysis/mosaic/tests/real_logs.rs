//! The real logs, beside what the published tool printed for them.

use super::super::{LogRows, Mode, Mosaic, Options, of_log};
use crate::math::io_pattern::operation::Direction;
use crate::source::Input;
use crate::source::tests::shared_data;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn mosaics(mode: Mode) -> BTreeMap<String, Mosaic> {
    let mut mosaics = BTreeMap::new();
    for entry in std::fs::read_dir(shared_data("darshan")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".darshan") {
            let input = Input::open(entry.path()).unwrap();
            let (rows, _) = LogRows::of_input(&input).unwrap();
            mosaics.insert(name, of_log(&rows, mode, &Options::default()));
        }
    }
    assert_eq!(mosaics.len(), 72);
    mosaics
}

fn published() -> Value {
    let path = shared_data("reference").join("mosaic_classes.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn segments(mosaic: &Mosaic, direction: Direction) -> Option<Vec<usize>> {
    let groups = &mosaic.pattern(direction)?.groups;
    Some(groups.iter().map(|group| group.segments).collect())
}

/// A log in the form of the published values.
fn printed(mosaic: &Mosaic) -> Value {
    let Some(load) = &mosaic.metadata else {
        return json!({ "error": "no MPI-IO, POSIX or STDIO module" });
    };
    json!({
        "metadata_classes": mosaic.metadata_class_names(),
        "read_classes": mosaic.class_names(Direction::Read),
        "write_classes": mosaic.class_names(Direction::Write),
        "highest_spike": load.highest_spike,
        "spike_count": load.spike_count,
        "average_per_spike": load.average_per_spike,
        "operations_per_second": load.operations_per_second,
        "operations_duration": load.operations_duration,
        "read_groups": segments(mosaic, Direction::Read),
        "write_groups": segments(mosaic, Direction::Write),
    })
}

#[test]
#[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
fn the_reference_equals_the_published_tool_on_every_log() {
    let (published, mosaics) = (published(), mosaics(Mode::Reference));
    // The last digit of a number that was read from JSON is not to be relied on, and whole numbers may have a point or not.
    let plain = |mut value: Value| {
        if let Some(rate) = value.get_mut("operations_per_second") {
            *rate = json!(rate.as_f64().map(|rate| format!("{rate:.9}")));
        }
        value
    };
    for (part, n) in [("reference_tool", 57), ("independent", 15)] {
        let values = published[part]["values"].as_object().unwrap();
        assert_eq!(values.len(), n);
        for (name, expected) in values {
            let found = printed(&mosaics[name]);
            assert_eq!(plain(found), plain(expected.clone()), "{name}");
        }
    }
}

/// Highest spike, spikes, average, a second, duration; segments of the groups of reads and of writes; classes.
type Named = (
    &'static str,
    (i64, i64, i64, f64, i64),
    &'static [usize],
    &'static [usize],
    &'static [&'static str],
);

const NAMED: [Named; 7] = [
    (
        "hdf5_diagonal_write_half_ranks_dxt",
        (816, 2, 280, 420.0, 2),
        &[6, 8, 17, 3, 1, 2, 4, 5, 1, 1, 1, 3, 1, 1, 2, 1],
        &[5, 5],
        &[
            "metadata_high_spike",
            "read_on_start",
            "read_periodic",
            "read_periodic_s",
            "read_periodic_low_busy_time",
            "write_after_start",
            "write_periodic",
            "write_periodic_s",
            "write_periodic_low_busy_time",
        ],
    ),
    (
        "nonmpi_dxt_anonymized",
        (5101, 17, 855, 602.11, 27),
        &[21, 1, 1, 1, 1, 1, 1, 1],
        &[1],
        &[
            "metadata_high_spike",
            "metadata_high_density",
            "metadata_multiple_spikes",
            "read_after_start",
            "write_after_start",
        ],
    ),
    (
        "treddy_h5d_no_h5f",
        (192, 1, 192, 0.0, 0),
        &[6, 3, 3, 1, 3, 6, 1, 6, 1, 1, 1],
        &[1],
        &[
            "metadata_insignificant_load",
            "read_unclear_pattern",
            "read_periodic",
            "read_periodic_s",
            "read_periodic_low_busy_time",
            "write_on_end",
        ],
    ),
    (
        "skew-autobench-ior",
        (532_481, 2, 268_289, 824.24, 651),
        &[1],
        &[],
        &["metadata_high_spike", "read_steady", "write_insignificant"],
    ),
    (
        "imbalanced-io",
        (0, 0, 0, 0.0, 0),
        &[1],
        &[1, 1],
        &[
            "metadata_insignificant_load",
            "read_on_start",
            "write_unclear_pattern",
        ],
    ),
    (
        "partial_data_stdio",
        (4, 0, 4, 0.57, 14),
        &[1],
        &[1],
        &[
            "metadata_insignificant_load",
            "read_on_end",
            "write_on_start",
        ],
    ),
    (
        "mpi-io-test-x86_64-3.4.4",
        (32, 1, 32, 0.0, 0),
        &[1],
        &[1],
        &[
            "metadata_insignificant_load",
            "read_on_end",
            "write_before_end",
        ],
    ),
];

fn all_names(mosaic: &Mosaic) -> Vec<String> {
    let metadata = mosaic.metadata_class_names().unwrap_or_default();
    let mut names: Vec<String> = metadata.into_iter().map(String::from).collect();
    for direction in Direction::BOTH {
        names.extend(mosaic.class_names(direction).unwrap_or_default());
    }
    names
}

#[test]
#[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
fn named_logs_have_the_figures_that_the_tool_printed() {
    let mosaics = mosaics(Mode::Reference);
    for (name, figures, reads, writes, classes) in NAMED {
        let found = &mosaics[&format!("{name}.darshan")];
        let load = found.metadata.as_ref().unwrap();
        let rate = (load.operations_per_second * 100.0).round() / 100.0;
        let of = (
            load.highest_spike,
            load.spike_count,
            load.average_per_spike,
            rate,
            load.operations_duration,
        );
        assert_eq!(of, figures, "{name}");
        assert_eq!(segments(found, Direction::Read).unwrap(), reads, "{name}");
        assert_eq!(segments(found, Direction::Write).unwrap(), writes, "{name}");
        assert_eq!(all_names(found), classes, "{name}");
    }
}

#[test]
#[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
fn opens_of_the_same_file_make_a_spike_that_opens_of_the_same_position_hide() {
    let found = mosaics(Mode::Full).remove("imbalanced-io.darshan").unwrap();
    assert_eq!(found.metadata.as_ref().unwrap().highest_spike, 3524);
    let classes = found.metadata_class_names().unwrap();
    assert!(classes.contains(&"metadata_high_spike"), "{classes:?}");
}

#[test]
#[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
fn full_has_classes_of_every_log_with_records() {
    for (name, found) in mosaics(Mode::Full) {
        let without = name == "empty_log.darshan";
        let status = if without { "no_module" } else { "ok" };
        assert_eq!(found.status.name(), status, "{name}");
        for pattern in found.patterns.iter().flatten() {
            assert!(!pattern.classes.is_empty(), "{name}");
            let sum = pattern.shares.map(|shares| shares.iter().sum::<f64>());
            assert!(sum.is_none_or(|sum| (sum - 1.0).abs() < 1e-9), "{name}");
            let is_share = |share: f64| (0.0..=1.0).contains(&share);
            assert!(pattern.confidence.is_none_or(is_share), "{name}");
        }
    }
}
