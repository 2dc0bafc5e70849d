//! What mode `full` rests on, and what it makes of it.

use super::{log_of, mosaic_of, outcome, record};
use crate::answer::analysis::mosaic::evidence::Evidence;
use crate::answer::analysis::mosaic::options::Mode;
use crate::math::io_pattern::corrections::MOST_SEGMENTS;
use crate::math::io_pattern::operation::{Direction, Operation};
use crate::math::io_pattern::pattern::{Run, TooMany, pattern};
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::posix as counters;
use crate::source::darshan::record_id;
use crate::source::darshan::write::{DarshanLog, Heatmap, Module, Record, Records, Segment, Trace};

const GB: i64 = 1_000_000_000;

/// A file that was held open all the time and written to at 10, 20 and 30 seconds for a second each.
fn file() -> Vec<Record> {
    vec![record(7, 0, None, Some((10.0, 99.0, 3 * GB)))]
}

fn posix(records: Vec<Record>) -> Module {
    Module::new(ModuleId::POSIX, 4, Records::Counters(records))
}

fn trace(id: u64, starts: &[f64]) -> Trace {
    let segment = |start: &f64| Segment {
        length: GB,
        start: *start,
        end: start + 1.0,
        ..Segment::default()
    };
    Trace {
        id,
        writes: starts.iter().map(segment).collect(),
        ..Trace::default()
    }
}

fn traces(module: ModuleId, traces: Vec<Trace>) -> Module {
    Module::new(module, 1, Records::Dxt(traces))
}

/// The bins of a process with bytes in some of them.
fn bins(log: &mut DarshanLog, name: &str, rank: i64, with_bytes: &[usize]) {
    let name = format!("heatmap:{name}").into_bytes();
    let id = record_id(&name);
    let bytes = |bin: usize| if with_bytes.contains(&bin) { GB } else { 0 };
    let record = Heatmap {
        id,
        rank,
        bin_width: 2.0,
        writes: (0..50).map(bytes).collect(),
        reads: vec![0; 50],
    };
    log.names.push((id, name));
    log.names.dedup();
    let known = log.modules.iter_mut().find(|m| m.id == ModuleId::HEATMAP);
    match known.map(|module| &mut module.records) {
        Some(Records::Heatmap(records)) => records.push(record),
        _ => log.modules.push(Module::new(
            ModuleId::HEATMAP,
            1,
            Records::Heatmap(vec![record]),
        )),
    }
}

#[test]
fn a_window_is_no_work_and_says_so_by_its_confidence() {
    let found = mosaic_of(&log_of(vec![posix(file())]), Mode::Full);
    assert_eq!(found.evidence, Some(Evidence::Window));
    assert_eq!(found.confidence(), Some(0.0));
    assert_eq!(found.pattern(Direction::Read).unwrap().confidence, None);
    // Short windows are sure, by their bytes.
    let mut records = file();
    records.push(record(8, 0, None, Some((10.0, 11.0, GB))));
    let found = mosaic_of(&log_of(vec![posix(records)]), Mode::Full);
    assert_eq!(found.confidence(), Some(0.25));
}

#[test]
fn traces_are_taken_before_bins_and_bins_before_windows() {
    let mut log = log_of(vec![posix(file())]);
    bins(&mut log, "POSIX", 0, &[5, 10, 15]);
    let binned = mosaic_of(&log, Mode::Full);
    assert_eq!(binned.evidence, Some(Evidence::Heatmap));
    // 2 seconds beside a quarter of 100.
    assert_eq!(binned.confidence(), Some(1.0 - 2.0 / 25.0));
    // Three that are as far from one another as bins can tell, which they are in one of seven cases by chance.
    assert_eq!(outcome(&binned).2, ["write_unclear_pattern"]);
    let shares = binned.pattern(Direction::Write).unwrap().shares.unwrap();
    assert_eq!(shares.map(|share| (share * 3.0).round()), [2.0, 1.0, 0.0]);

    log.modules.push(traces(
        ModuleId::DXT_POSIX,
        vec![trace(7, &[10.0, 20.0, 30.0])],
    ));
    let traced = mosaic_of(&log, Mode::Full);
    assert_eq!(
        (traced.evidence, traced.partial_trace),
        (Some(Evidence::Dxt), false)
    );
    assert_eq!(traced.confidence(), Some(1.0));
    let classes = [
        "write_unclear_pattern",
        "write_periodic",
        "write_periodic_s",
        "write_periodic_low_busy_time",
    ];
    assert_eq!(outcome(&traced).2, classes);
    let group = traced.pattern(Direction::Write).unwrap().groups[0];
    assert_eq!(
        (group.segments, group.period, group.work, group.ranks),
        (3, 10.0, 1.0, 1.0)
    );
    // The reference sees one window.
    assert_eq!(
        outcome(&mosaic_of(&log, Mode::Reference)).2,
        ["write_steady"]
    );
}

#[test]
fn a_trace_of_less_than_nine_tenths_of_the_bytes_is_not_believed() {
    let mut log = log_of(vec![posix(file())]);
    log.modules
        .push(traces(ModuleId::DXT_POSIX, vec![trace(7, &[10.0, 20.0])]));
    let found = mosaic_of(&log, Mode::Full);
    assert_eq!(
        (found.evidence, found.partial_trace),
        (Some(Evidence::Window), true)
    );
    bins(&mut log, "POSIX", 0, &[5, 10, 15]);
    let found = mosaic_of(&log, Mode::Full);
    assert_eq!(
        (found.evidence, found.partial_trace),
        (Some(Evidence::Heatmap), true)
    );
}

#[test]
fn traces_and_bins_that_cannot_be_true_are_not_believed() {
    let log = log_of(vec![posix(file())]);
    let windows = mosaic_of(&log, Mode::Full);
    let falls_back = |log: &DarshanLog, partial_trace: bool| {
        let found = mosaic_of(log, Mode::Full);
        assert_eq!(
            (found.evidence, found.partial_trace),
            (Some(Evidence::Window), partial_trace)
        );
        assert_eq!(outcome(&found), outcome(&windows));
    };
    // Accesses long after the run, which lasts 100 s, and of more bytes than the file has.
    let late = trace(7, &[10.0, 20.0, 500.0]);
    let mut large = trace(7, &[10.0, 20.0, 30.0]);
    large.writes[1].length = i64::MAX / 2;
    for wrong in [late, large] {
        let mut with_trace = log.clone();
        with_trace
            .modules
            .push(traces(ModuleId::DXT_POSIX, vec![wrong]));
        falls_back(&with_trace, true);
    }
    // Bins of 2 s up to 144 s.
    let mut with_bins = log.clone();
    bins(&mut with_bins, "POSIX", 0, &[5, 10, 15]);
    let records = with_bins.modules.iter_mut().map(|m| &mut m.records);
    for record in records {
        if let Records::Heatmap(bins) = record {
            bins[0].writes.resize(73, 0);
            bins[0].reads.resize(73, 0);
            bins[0].writes.swap(15, 71);
        }
    }
    falls_back(&with_bins, false);
}

#[test]
fn mpi_io_stands_in_for_files_that_posix_did_not_trace() {
    let mut records = file();
    records.push(record(8, 0, None, Some((70.0, 71.0, GB))));
    let mut log = log_of(vec![posix(records)]);
    log.modules.push(traces(
        ModuleId::DXT_POSIX,
        vec![trace(7, &[10.0, 20.0, 30.0])],
    ));
    log.modules.push(traces(
        ModuleId::DXT_MPIIO,
        vec![trace(7, &[9.5]), trace(8, &[70.0])],
    ));
    let found = mosaic_of(&log, Mode::Full);
    assert_eq!(found.evidence, Some(Evidence::Dxt));
    let writes = found.pattern(Direction::Write).unwrap();
    let segments = writes.groups.iter().map(|group| group.segments);
    assert_eq!((segments.sum::<usize>(), writes.groups[0].start), (4, 10.0));
    assert_eq!(writes.shares, Some([0.5, 0.5, 0.0]));
}

#[test]
fn bins_of_processes_and_interfaces_are_added_up_and_those_of_mpi_io_are_for_want_of_posix() {
    let mut log = log_of(vec![posix(file())]);
    bins(&mut log, "MPIIO", 0, &[0, 1, 2, 3, 4]);
    bins(&mut log, "STDIO", 1, &[5]);
    let found = mosaic_of(&log, Mode::Full);
    let groups = &found.pattern(Direction::Write).unwrap().groups;
    assert_eq!((groups[0].start, groups[0].bytes), (0.0, 6e9));
    bins(&mut log, "POSIX", 0, &[5, 10]);
    bins(&mut log, "POSIX", 1, &[5, 10]);
    let found = mosaic_of(&log, Mode::Full);
    let groups = &found.pattern(Direction::Write).unwrap().groups;
    let each: Vec<_> = groups.iter().map(|g| (g.start, g.bytes, g.ranks)).collect();
    // The process 1 moved bytes by POSIX and by STDIO in the same bin, and counts once.
    assert_eq!(each, [(10.0, 3e9, 2.0), (20.0, 2e9, 2.0)]);
}

#[test]
fn streams_are_left_out_of_full_and_are_files_to_the_reference() {
    let stdout = record_id(b"<STDOUT>");
    let mut records = vec![record(7, 0, None, Some((1.0, 2.0, GB)))];
    records.push(record(stdout, 0, None, Some((0.5, 99.5, GB))));
    let log = log_of(vec![posix(records)]);
    assert_eq!(outcome(&mosaic_of(&log, Mode::Full)).2, ["write_on_start"]);
    assert_eq!(
        outcome(&mosaic_of(&log, Mode::Reference)).2,
        ["write_steady"]
    );
}

#[test]
fn very_many_segments_are_sliced_in_full_and_refused_in_the_reference() {
    let operations: Vec<Operation> = (0..3 * MOST_SEGMENTS)
        .map(|at| super::operation(at as f64, at as f64 + 0.1, GB))
        .collect();
    let run = Run {
        total: 3.0 * MOST_SEGMENTS as f64,
        nprocs: 4,
        opens_and_seeks: (0, 0),
        bin: None,
        min_bytes: GB,
    };
    let of = |mode: Mode| pattern(operations.clone(), run, mode.corrections());
    assert_eq!(of(Mode::Reference), Err(TooMany));
    let found = of(Mode::Full).unwrap();
    let bytes: f64 = found
        .groups
        .iter()
        .map(|g| g.bytes * g.segments as f64)
        .sum();
    assert_eq!(bytes, (3 * MOST_SEGMENTS) as f64 * 1e9);
    assert_eq!(super::names(&found)[0], "steady");
}

#[test]
fn a_small_file_that_is_open_all_the_time_does_not_spread_the_bytes_of_others() {
    let records = vec![
        record(7, 0, None, Some((0.5, 99.0, 1000))),
        record(8, 0, None, Some((90.0, 99.5, GB))),
    ];
    let found = mosaic_of(&log_of(vec![posix(records.clone())]), Mode::Full);
    assert_eq!(outcome(&found).2, ["write_on_end"]);
    let shares = found.pattern(Direction::Write).unwrap().shares.unwrap();
    assert!(shares[2] > 0.999_999, "{shares:?}");
    // The published tool joins the two: 98.5 + 0.5 s from 0.5 on, of which 24.5 lie in the first quarter.
    let found = mosaic_of(&log_of(vec![posix(records)]), Mode::Reference);
    assert_eq!(outcome(&found).2, ["write_steady"]);
}

#[test]
fn few_bytes_and_many_opens_are_significant_whatever_was_traced() {
    let mut few = record(7, 0, None, Some((10.0, 31.0, 3000)));
    few.ints[counters::OPENS] = 5;
    let mut log = log_of(vec![posix(vec![few])]);
    let of_windows = mosaic_of(&log, Mode::Full);
    let segment = |start: f64| Segment {
        length: 1000,
        start,
        end: start + 1.0,
        ..Segment::default()
    };
    let trace = Trace {
        id: 7,
        writes: [10.0, 20.0, 30.0].map(segment).into(),
        ..Trace::default()
    };
    log.modules.push(traces(ModuleId::DXT_POSIX, vec![trace]));
    let of_traces = mosaic_of(&log, Mode::Full);
    assert_eq!(of_windows.evidence, Some(Evidence::Window));
    assert_eq!(of_traces.evidence, Some(Evidence::Dxt));
    for found in [of_windows, of_traces] {
        assert_ne!(outcome(&found).2, ["write_insignificant"]);
    }
}
