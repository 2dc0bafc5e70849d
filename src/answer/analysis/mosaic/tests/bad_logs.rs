//! Logs that say what cannot be, and logs of unusual runs.

use super::{log_of, mosaic_of, outcome, posix_log, record};
use crate::answer::analysis::mosaic::options::Mode;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{mpiio, posix};
use crate::source::darshan::record_id;
use crate::source::darshan::write::{DarshanLog, Heatmap, Module, Record, Records, Segment, Trace};

const MODES: [Mode; 2] = [Mode::Reference, Mode::Full];
const GB: i64 = 1_000_000_000;

fn good() -> DarshanLog {
    posix_log(vec![record(7, -1, None, Some((1.0, 99.0, GB)))])
}

/// Both modes give no classes and say why.
fn check(log: &DarshanLog, status: [&str; 2]) {
    for (mode, status) in MODES.into_iter().zip(status) {
        let found = mosaic_of(log, mode);
        assert_eq!(found.status.name(), status, "{}", mode.name());
        assert!(found.patterns.is_none() && found.metadata.is_none());
        assert!(found.run_time.is_none() && found.confidence().is_none());
        assert_eq!(found.to_json()["infos"]["status"], status);
        assert!(found.to_json()["classes"].is_null());
    }
}

#[test]
fn the_log_that_the_others_are_made_of_has_classes() {
    for mode in MODES {
        let found = mosaic_of(&good(), mode);
        let expected = (
            "ok",
            vec!["read_insignificant".into()],
            vec!["write_steady".into()],
        );
        assert_eq!(outcome(&found), expected);
        assert_eq!(found.run_time, Some(100.0));
        assert_eq!(
            found.metadata_class_names().unwrap(),
            ["metadata_insignificant_load"]
        );
        let json = found.to_json();
        assert_eq!(
            json["classes"]["write_classes"],
            serde_json::json!(["write_steady"])
        );
        assert_eq!(json["write"][0]["segments"], 1);
        assert_eq!(json["metadata"]["highest_spike"], 1);
    }
}

#[test]
fn a_log_without_times_has_no_classes() {
    let mut log = good();
    (log.job.start, log.job.end) = ((0, 0), (0, 0));
    check(&log, ["no_times"; 2]);
    let log = posix_log(vec![record(7, -1, None, Some((0.0, 0.0, GB)))]);
    check(&log, ["no_times"; 2]);
}

#[test]
fn an_end_before_the_start_has_no_classes() {
    let mut log = good();
    log.job.end.0 = log.job.start.0 - 1;
    check(&log, ["inconsistent"; 2]);
    let log = posix_log(vec![record(7, -1, None, Some((9.0, 8.0, GB)))]);
    check(&log, ["inconsistent"; 2]);
    let log = posix_log(vec![record(7, -1, None, Some((9.0, f64::INFINITY, GB)))]);
    check(&log, ["inconsistent"; 2]);
}

#[test]
fn windows_outside_the_run_have_no_classes() {
    for window in [(1.0, 103.0, GB), (1e9, 1e9, GB), (1.0, 1e300, GB)] {
        let log = posix_log(vec![record(7, -1, None, Some(window))]);
        check(&log, ["outside_run"; 2]);
    }
    // Whole seconds, and clocks that differ, are no fault.
    let log = posix_log(vec![record(7, -1, None, Some((1.0, 100.9, GB)))]);
    for mode in MODES {
        let found = mosaic_of(&log, mode);
        assert_eq!((found.status.name(), found.run_time), ("ok", Some(100.9)));
    }
    let log = posix_log(vec![record(7, -1, None, Some((-5.0, 50.0, GB)))]);
    assert_eq!(
        mosaic_of(&log, Mode::Reference).status.name(),
        "outside_run"
    );
    // An access before the start is no time to `full`, as it is none in `darshan_file`.
    assert_eq!(mosaic_of(&log, Mode::Full).status.name(), "no_times");
}

#[test]
fn negative_bytes_have_no_classes_in_the_reference() {
    let log = posix_log(vec![
        record(7, -1, None, Some((1.0, 99.0, GB))),
        record(8, 0, None, Some((1.0, 99.0, -2))),
    ]);
    assert_eq!(
        mosaic_of(&log, Mode::Reference).status.name(),
        "inconsistent"
    );
    // `darshan_file` takes them for unknown.
    assert_eq!(mosaic_of(&log, Mode::Full).status.name(), "ok");
}

#[test]
fn bins_or_traces_without_records_of_files_have_no_classes() {
    let name = b"heatmap:POSIX";
    let heatmap = Heatmap {
        id: record_id(name),
        rank: 0,
        bin_width: 1.0,
        writes: vec![GB; 50],
        reads: vec![0; 50],
    };
    let bins = Module::new(ModuleId::HEATMAP, 1, Records::Heatmap(vec![heatmap]));
    let mut log = log_of(vec![bins]);
    log.names.push((record_id(name), name.to_vec()));
    check(&log, ["no_module", "no_records"]);
    let trace = Trace {
        id: 7,
        writes: vec![Segment {
            length: GB,
            start: 1.0,
            end: 2.0,
            ..Segment::default()
        }],
        ..Trace::default()
    };
    let traces = Module::new(ModuleId::DXT_POSIX, 1, Records::Dxt(vec![trace]));
    check(&log_of(vec![traces]), ["no_module", "no_records"]);
    check(&log_of(vec![]), ["no_module"; 2]);
}

#[test]
fn mpi_io_without_as_many_records_of_posix_has_no_classes_in_the_reference() {
    let mut ints = vec![0; mpiio::INTS.len()];
    let mut floats = vec![0.0; mpiio::FLOATS.len()];
    (ints[mpiio::BYTES_WRITTEN], ints[mpiio::COLL_WRITES]) = (GB, 1);
    (
        floats[mpiio::F_WRITE_START_TIMESTAMP],
        floats[mpiio::F_WRITE_END_TIMESTAMP],
    ) = (1.0, 99.0);
    let record = |id| Record {
        id,
        rank: -1,
        ints: ints.clone(),
        floats: floats.clone(),
        ..Record::default()
    };
    let records = Records::Counters(vec![record(7), record(8)]);
    let mpiio = Module::new(ModuleId::MPIIO, 3, records);
    let alone = log_of(vec![mpiio.clone()]);
    assert_eq!(mosaic_of(&alone, Mode::Reference).status.name(), "no_posix");
    assert_eq!(mosaic_of(&alone, Mode::Full).status.name(), "ok");
    let mut fewer = good();
    fewer.modules.push(mpiio);
    assert_eq!(mosaic_of(&fewer, Mode::Reference).status.name(), "no_posix");
}

#[test]
fn the_reference_takes_opens_by_position_and_full_by_file() {
    // MPI-IO has the file 8 alone; in POSIX it stands behind the file 7, which has no opens.
    let mut ints = vec![0; mpiio::INTS.len()];
    let mut floats = vec![0.0; mpiio::FLOATS.len()];
    ints[mpiio::BYTES_WRITTEN] = GB;
    (
        floats[mpiio::F_WRITE_START_TIMESTAMP],
        floats[mpiio::F_WRITE_END_TIMESTAMP],
    ) = (1.0, 99.0);
    let shared = Record {
        id: 8,
        rank: -1,
        ints,
        floats,
        ..Record::default()
    };
    let mut quiet = record(7, -1, None, Some((1.0, 99.0, 5)));
    quiet.ints[posix::OPENS] = 0;
    let mut opened = record(8, -1, None, Some((1.0, 99.0, GB)));
    opened.ints[posix::OPENS] = 300;
    let mut log = posix_log(vec![quiet, opened]);
    log.modules.push(Module::new(
        ModuleId::MPIIO,
        3,
        Records::Counters(vec![shared]),
    ));
    let highest = MODES.map(|mode| mosaic_of(&log, mode).metadata.unwrap().highest_spike);
    assert_eq!(highest, [0, 300]);
}

#[test]
fn logs_of_one_process_of_two_days_and_of_the_oldest_version_have_classes() {
    let mut alone = good();
    alone.job.nprocs = 1;
    let mut old = good();
    old.version = (3, 0);
    old.modules[0].version = 3;
    let hours = |n: i64| 3600 * n;
    let checkpoints = (0..48).map(|hour| {
        let start = hours(hour) as f64 + 600.0;
        record(hour as u64 + 1, -1, None, Some((start, start + 60.0, GB)))
    });
    let mut long = posix_log(checkpoints.collect());
    long.job.end.0 = long.job.start.0 + hours(48);
    for mode in MODES {
        for log in [&alone, &old] {
            assert_eq!(outcome(&mosaic_of(log, mode)).2, ["write_steady"]);
        }
        let classes = [
            "write_steady",
            "write_periodic",
            "write_periodic_h",
            "write_periodic_low_busy_time",
        ];
        let found = mosaic_of(&long, mode);
        assert_eq!(outcome(&found).2, classes, "{}", mode.name());
        let period = found.patterns.unwrap()[1].period.unwrap();
        assert_eq!(period.seconds, 3600.0);
    }
}
