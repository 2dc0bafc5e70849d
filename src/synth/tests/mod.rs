//! The month has the shape that the IOMiner paper found on Cori (section III), and what is planted in it can be found.

pub(crate) mod examined;
mod paper;

use super::darshan;
use super::scenario::cause::Cause;
use super::scenario::job::Scenario;
use super::scenario::plan::Plan;
use super::scenario::{self, fault};
use super::system::{self, System};
use super::*;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{mpiio, posix, stdio};
use crate::source::darshan::write::{DarshanLog, Encoder, Layout, Module, Record, Records};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Jobs of the month that most tests look at.
const JOBS: u64 = 2000;

/// The first log of every job, made once for all tests.
fn month() -> &'static [DarshanLog] {
    static LOGS: std::sync::OnceLock<Vec<DarshanLog>> = std::sync::OnceLock::new();
    LOGS.get_or_init(|| {
        let month = Month::new(JOBS, 1);
        (0..JOBS).map(|index| month.log(index)).collect()
    })
}

pub(crate) fn module(log: &DarshanLog, id: ModuleId) -> Option<&Module> {
    log.modules.iter().find(|module| module.id == id)
}

pub(crate) fn records(log: &DarshanLog, id: ModuleId) -> &[Record] {
    match module(log, id).map(|module| &module.records) {
        Some(Records::Counters(records)) => records,
        _ => &[],
    }
}

pub(crate) fn layouts(log: &DarshanLog) -> &[Layout] {
    match module(log, ModuleId::LUSTRE).map(|module| &module.records) {
        Some(Records::Lustre(layouts)) => layouts,
        _ => &[],
    }
}

pub(crate) fn sum(log: &DarshanLog, id: ModuleId, counters: &[usize]) -> i64 {
    records(log, id)
        .iter()
        .flat_map(|record| counters.iter().map(|counter| record.ints[*counter]))
        .sum()
}

/// Bytes read and written: POSIX and STDIO, for MPI-IO lies on POSIX.
pub(crate) fn bytes(log: &DarshanLog) -> (i64, i64) {
    let both = |p, s| sum(log, ModuleId::POSIX, &[p]) + sum(log, ModuleId::STDIO, &[s]);
    (
        both(posix::BYTES_READ, stdio::BYTES_READ),
        both(posix::BYTES_WRITTEN, stdio::BYTES_WRITTEN),
    )
}

/// The program: the script of an interpreter.
pub(crate) fn program(log: &DarshanLog) -> String {
    let exe = String::from_utf8(log.job.exe.clone()).unwrap();
    let word = exe
        .split(' ')
        .find(|word| !word.ends_with("/python3"))
        .unwrap();
    word.rsplit('/').next().unwrap().to_string()
}

/// Share of the month's jobs in percent.
fn percent(of: impl Fn(&DarshanLog) -> bool) -> f64 {
    100.0 * month().iter().filter(|log| of(log)).count() as f64 / month().len() as f64
}

/// A month with everything, as it was written.
pub(crate) struct Written {
    pub(crate) month: Month,
    /// Files of slurm/ and lmt/, by their paths below the month.
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    pub(crate) truth: serde_json::Value,
    /// Every log.
    pub(crate) logs: Vec<LogFacts>,
    /// Start and end of every log, by job.
    pub(crate) windows: Vec<Vec<(f64, f64)>>,
}

/// What Slurm and LMT have to agree with.
#[derive(Debug)]
pub(crate) struct LogFacts {
    pub(crate) job_id: i64,
    pub(crate) uid: i64,
    pub(crate) nprocs: i64,
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// Whether another log of its job is in the same step.
    pub(crate) side_by_side: bool,
}

/// The month of the tests of dumps, written once.
pub(crate) fn written() -> &'static Written {
    static WRITTEN: std::sync::OnceLock<Written> = std::sync::OnceLock::new();
    WRITTEN.get_or_init(|| {
        let month = Month {
            lmt_seconds: 3600,
            ..Month::complete(450, 3)
        };
        let dir = tempfile::tempdir().unwrap();
        write(&month, dir.path(), &|_| {}).unwrap();
        let paths = Month::paths(dir.path());
        let truth = std::fs::read(paths.truth).unwrap();
        let mut files = BTreeMap::new();
        for entry in [paths.slurm, paths.lmt]
            .iter()
            .flat_map(|dir| std::fs::read_dir(dir).unwrap())
        {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir.path()).unwrap();
            files.insert(name.to_path_buf(), std::fs::read(&path).unwrap());
        }
        let plan = Plan::new(month);
        let (mut logs, mut windows) = (vec![], vec![]);
        for index in 0..scenario::count(&month) {
            let job = scenario::job(&plan, index);
            let made = darshan::logs(&plan, &job);
            let moment = |(seconds, nanos): (i64, i64)| seconds as f64 + nanos as f64 * 1e-9;
            let of = |log: &DarshanLog| (moment(log.job.start), moment(log.job.end));
            windows.push(made.iter().map(|(made, _)| of(&made.log)).collect());
            logs.extend(made.iter().map(|(made, _)| LogFacts {
                job_id: made.log.job.job_id,
                uid: made.log.job.uid,
                nprocs: made.log.job.nprocs,
                start: of(&made.log).0,
                end: of(&made.log).1,
                side_by_side: job.app.forks,
            }));
        }
        Written {
            month,
            files,
            truth: serde_json::from_slice(&truth).unwrap(),
            logs,
            windows,
        }
    })
}

#[track_caller]
pub(crate) fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found:.2} instead of {expected}"
    );
}

#[test]
fn ten_programs_move_three_quarters_of_the_bytes() {
    for (direction, expected) in [("read", 72.0), ("written", 76.0)] {
        let mut by_program: BTreeMap<String, i64> = BTreeMap::new();
        for log in month() {
            let (read, written) = bytes(log);
            *by_program.entry(program(log)).or_default() +=
                if direction == "read" { read } else { written };
        }
        let mut sums: Vec<i64> = by_program.values().copied().collect();
        sums.sort_unstable_by_key(|sum| -sum);
        let (top, all) = (sums.iter().take(10).sum::<i64>(), sums.iter().sum::<i64>());
        assert_near(direction, 100.0 * top as f64 / all as f64, expected, 6.0);
        assert!(by_program.len() > 100, "{} programs", by_program.len());
    }
}

#[test]
fn read_ratios_are_those_of_figure_8() {
    let ratio = |log: &DarshanLog| {
        let (read, written) = bytes(log);
        read as f64 / (read + written) as f64
    };
    assert_near("write only", percent(|log| ratio(log) == 0.0), 7.0, 0.7);
    assert_near("read only", percent(|log| ratio(log) == 1.0), 23.0, 1.5);
    assert_near("over 90 % read", percent(|log| ratio(log) > 0.9), 53.0, 2.0);
}

#[test]
fn consecutive_requests_are_those_of_figure_7() {
    let share = |log: &DarshanLog| {
        let consecutive = sum(
            log,
            ModuleId::POSIX,
            &[posix::CONSEC_READS, posix::CONSEC_WRITES],
        );
        consecutive as f64 / sum(log, ModuleId::POSIX, &[posix::READS, posix::WRITES]) as f64
    };
    assert_near("under 50 %", percent(|log| share(log) < 0.5), 10.0, 1.5);
    assert_near("over 80 %", percent(|log| share(log) > 0.8), 50.0, 2.0);
}

#[test]
fn interfaces_by_size_are_those_of_figure_10() {
    for (class, sizes, expected) in [
        ("one", 1..=1, 98.8),
        ("small", 2..=1024, 99.6),
        ("medium", 1025..=8192, 77.8),
        ("large", 8193..=i64::MAX, 54.1),
    ] {
        let jobs: Vec<_> = month()
            .iter()
            .filter(|log| sizes.contains(&log.job.nprocs))
            .collect();
        let posix = jobs
            .iter()
            .filter(|log| module(log, ModuleId::MPIIO).is_none())
            .count();
        assert_near(
            class,
            100.0 * posix as f64 / jobs.len() as f64,
            expected,
            2.0,
        );
    }
    let mpi: Vec<_> = month()
        .iter()
        .filter(|log| module(log, ModuleId::MPIIO).is_some())
        .collect();
    let collective = mpi
        .iter()
        .filter(|log| sum(log, ModuleId::MPIIO, &[mpiio::COLL_OPENS]) > 0)
        .count();
    assert!(collective * 2 > mpi.len(), "{collective} of {}", mpi.len());
}

#[test]
fn few_jobs_have_a_striping_of_their_own() {
    let custom = |log: &DarshanLog| {
        let component = |layout: &Layout| {
            let last = layout.components.last().unwrap();
            (last.stripe_size, last.osts.len()) != (1 << 20, 1)
        };
        layouts(log).iter().any(component)
    };
    let share = percent(custom);
    assert!((0.08..0.25).contains(&share), "{share} %");
}

#[test]
fn bytes_are_heavy_tailed_and_sizes_reach_from_1_to_65536_processes() {
    let mut moved: Vec<i64> = month()
        .iter()
        .map(|log| bytes(log).0 + bytes(log).1)
        .collect();
    moved.sort_unstable();
    let largest: i64 = moved[moved.len() * 9 / 10..].iter().sum();
    assert!(
        largest as f64 > 0.6 * moved.iter().sum::<i64>() as f64,
        "a tenth of the jobs moves most of the bytes"
    );
    assert!(moved[moved.len() / 2] < 50_000_000_000);
    let nprocs = month().iter().map(|log| log.job.nprocs);
    assert_eq!(
        (nprocs.clone().min(), nprocs.max()),
        (Some(1), Some(65_536))
    );
}

#[test]
fn versions_and_modules_are_mixed() {
    let version = |version| percent(|log| log.version == version);
    assert!(version((3, 41)) > 70.0 && version((3, 21)) > 8.0 && version((3, 10)) > 5.0);
    let lustre = |version| {
        percent(|log| module(log, ModuleId::LUSTRE).is_some_and(|m| m.version == version))
    };
    assert!(lustre(2) > 50.0 && lustre(1) > 25.0);
    for (id, least, most) in [
        (ModuleId::STDIO, 60.0, 99.0),
        (ModuleId::HEATMAP, 10.0, 30.0),
        (ModuleId::DXT_POSIX, 2.0, 6.0),
        (ModuleId::H5F, 1.0, 5.0),
        (ModuleId::H5D, 1.0, 5.0),
        (ModuleId::PNETCDF_FILE, 0.5, 4.0),
        (ModuleId::PNETCDF_VAR, 0.3, 4.0),
    ] {
        let share = percent(|log| module(log, id).is_some());
        assert!((least..most).contains(&share), "{id:?}: {share} %");
    }
}

#[test]
fn every_record_agrees_with_itself_and_with_its_log() {
    for log in month() {
        let end = |(seconds, nanos): (i64, i64)| seconds as f64 + nanos as f64 * 1e-9;
        let run_time = end(log.job.end) - end(log.job.start);
        let names: std::collections::HashSet<u64> = log.names.iter().map(|(id, _)| *id).collect();
        for record in records(log, ModuleId::POSIX) {
            let (ints, floats) = (&record.ints, &record.floats);
            let count = |first: usize| ints[first..first + 10].iter().sum::<i64>();
            assert_eq!(count(posix::SIZE_READ_0_100), ints[posix::READS]);
            assert_eq!(count(posix::SIZE_WRITE_0_100), ints[posix::WRITES]);
            assert!(ints[posix::CONSEC_READS] <= ints[posix::SEQ_READS]);
            assert!(ints[posix::SEQ_READS] <= ints[posix::READS]);
            assert!(ints[posix::CONSEC_WRITES] <= ints[posix::SEQ_WRITES]);
            assert!(ints[posix::SEQ_WRITES] <= ints[posix::WRITES]);
            assert!(ints.iter().all(|value| *value >= 0));
            // All requests of a flow are among the four commonest sizes, unless reads and writes together have more.
            if ints[posix::READS] == 0 || ints[posix::WRITES] == 0 {
                let common = (0..4)
                    .map(|at| ints[posix::ACCESS1_ACCESS + at] * ints[posix::ACCESS1_COUNT + at]);
                assert_eq!(
                    common.sum::<i64>(),
                    ints[posix::BYTES_READ] + ints[posix::BYTES_WRITTEN]
                );
            }
            assert!(
                floats
                    .iter()
                    .all(|value| value.is_finite() && *value >= 0.0)
            );
            let stamps = posix::F_OPEN_START_TIMESTAMP..=posix::F_CLOSE_END_TIMESTAMP;
            assert!(floats[stamps].iter().all(|stamp| *stamp <= run_time + 1e-6));
            let window =
                floats[posix::F_WRITE_END_TIMESTAMP] - floats[posix::F_WRITE_START_TIMESTAMP];
            let procs = if record.rank < 0 { log.job.nprocs } else { 1 };
            assert!(floats[posix::F_WRITE_TIME] <= window * procs as f64 * 1.000_001);
            assert!(record.rank < log.job.nprocs && names.contains(&record.id));
        }
    }
}

#[test]
fn what_came_through_mpi_io_was_moved_by_posix() {
    let mut files = 0;
    for log in month() {
        let posix: BTreeMap<u64, &Record> = records(log, ModuleId::POSIX)
            .iter()
            .map(|r| (r.id, r))
            .collect();
        for record in records(log, ModuleId::MPIIO) {
            let Some(below) = posix.get(&record.id) else {
                continue;
            };
            assert_eq!(
                below.ints[posix::BYTES_READ],
                record.ints[mpiio::BYTES_READ]
            );
            assert_eq!(
                below.ints[posix::BYTES_WRITTEN],
                record.ints[mpiio::BYTES_WRITTEN]
            );
            files += 1;
        }
    }
    assert!(files > 500, "{files} files");
}

#[test]
fn files_on_the_slow_ost_have_a_fifth_of_the_bandwidth() {
    let slow = System::new(1).slow_ost;
    let (mut on_it, mut elsewhere) = (vec![], vec![]);
    for log in month() {
        // The small Lustre of /home has OSTs of the same numbers.
        let scratch = log
            .names
            .iter()
            .filter(|(_, name)| name.starts_with(b"/scratch/"))
            .map(|(id, _)| *id);
        let scratch: std::collections::HashSet<u64> = scratch.collect();
        let osts: BTreeMap<(u64, i64), i64> = (layouts(log).iter())
            .filter(|layout| layout.components[0].osts.len() == 1 && scratch.contains(&layout.id))
            .map(|layout| ((layout.id, layout.rank), layout.components[0].osts[0]))
            .collect();
        for record in records(log, ModuleId::POSIX) {
            let Some(ost) = osts.get(&(record.id, record.rank)) else {
                continue;
            };
            let window = record.floats[posix::F_WRITE_END_TIMESTAMP]
                - record.floats[posix::F_WRITE_START_TIMESTAMP];
            if record.ints[posix::BYTES_WRITTEN] > 1 << 20 && window > 0.0 {
                let bandwidth = record.ints[posix::BYTES_WRITTEN] as f64 / window;
                if *ost == slow {
                    on_it.push(bandwidth)
                } else {
                    elsewhere.push(bandwidth)
                }
            }
        }
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    assert!(on_it.len() > 50, "{} files", on_it.len());
    let ratio = median(&mut elsewhere) / median(&mut on_it);
    assert!((3.0..8.0).contains(&ratio), "{ratio}");
}

#[test]
fn every_planted_fault_shows_in_the_counters_of_its_log() {
    let plan = Plan::new(Month::new(JOBS, 1));
    let mut found = BTreeMap::new();
    for index in 0..JOBS {
        let Some(Scenario::Fault(cause)) = plan.scenario(index) else {
            continue;
        };
        let (name, ..) = fault::doc(cause);
        let log = &month()[index as usize];
        *found.entry(name).or_insert(0) += 1;
        let osts: std::collections::BTreeSet<i64> = (layouts(log).iter())
            .filter(|layout| layout.osts == system::SCRATCH_OSTS)
            .flat_map(|layout| layout.components[0].osts.clone())
            .collect();
        assert_eq!(osts.len(), 248, "{}: on all OSTs", name);
        let (read, written) = bytes(log);
        assert!(log.job.nprocs > 1000 && (read + written) / log.job.nprocs >= 10_000_000);

        let records = records(log, ModuleId::POSIX);
        let moved =
            |record: &Record| record.ints[posix::BYTES_READ] + record.ints[posix::BYTES_WRITTEN];
        let largest = records.iter().max_by_key(|record| moved(record)).unwrap();
        let share = moved(largest) as f64 / (read + written) as f64;
        let window = |record: &Record| match record.ints[posix::BYTES_READ] > 0 {
            true => (
                record.floats[posix::F_READ_START_TIMESTAMP],
                record.floats[posix::F_READ_END_TIMESTAMP],
            ),
            false => (
                record.floats[posix::F_WRITE_START_TIMESTAMP],
                record.floats[posix::F_WRITE_END_TIMESTAMP],
            ),
        };
        let mut windows: Vec<(f64, f64)> = records.iter().map(window).collect();
        windows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut critical, mut covered) = (0.0, 0.0);
        for (start, end) in &windows {
            critical += (end - start.max(covered)).max(0.0);
            covered = covered.max(*end);
        }
        let bandwidth = (read + written) as f64 / critical;
        assert!(bandwidth < 1e9, "{}: {bandwidth} B/s", name);
        let requests = sum(log, ModuleId::POSIX, &[posix::READS, posix::WRITES]) as f64;
        let small = sum(
            log,
            ModuleId::POSIX,
            &[posix::SIZE_READ_0_100, posix::SIZE_READ_100_1K],
        ) as f64
            / requests;
        let consecutive = sum(
            log,
            ModuleId::POSIX,
            &[posix::CONSEC_READS, posix::CONSEC_WRITES],
        ) as f64
            / requests;
        match cause {
            Cause::OneOst => {
                assert!(largest.rank == -1 && share > 0.9)
            }
            Cause::OneRank => {
                assert!(largest.rank == 0 && share > 0.9)
            }
            Cause::SerialFiles => {
                assert!(
                    windows.len() > 200 && windows.windows(2).all(|pair| pair[0].1 < pair[1].0)
                );
            }
            Cause::OneFile => {
                let (start, end) = window(largest);
                assert!((end - start) / critical > 0.93 && largest.rank == 0);
            }
            Cause::SmallRequests => {
                assert!(small > 0.95 && consecutive < 0.25)
            }
        }
        if cause != Cause::SmallRequests {
            assert!(
                small < 0.1 && consecutive > 0.85,
                "{}: nothing else is wrong",
                name
            );
        }
    }
    assert_eq!(found.len(), 5);
    assert!(found.values().all(|jobs| *jobs == 3), "{found:?}");
}

#[test]
fn a_log_is_a_function_of_month_and_number() {
    let month = Month::new(50, 9);
    let mut encoder = Encoder::default();
    for index in 0..50 {
        let logs = month.logs(index);
        assert_eq!(logs, month.logs(index));
        assert_eq!(
            logs[0].log.to_bytes(),
            month.log(index).to_bytes_with(&mut encoder),
            "whatever was written before"
        );
        assert!(
            logs.iter()
                .all(|log| log.log.job.job_id == logs[0].log.job.job_id)
        );
    }
    assert_ne!(month.log(3), Month::new(50, 10).log(3));
}

#[test]
fn some_jobs_have_several_logs_side_by_side_or_one_after_another() {
    let month = Month::new(400, 1);
    let (mut beside, mut after) = (0, 0);
    for index in 0..400 {
        let logs = month.logs(index);
        for pair in logs.windows(2) {
            let (first, second) = (&pair[0].log.job, &pair[1].log.job);
            assert_ne!(pair[0].path, pair[1].path);
            if second.start < first.end {
                beside += 1
            } else {
                after += 1
            }
        }
    }
    assert!(beside > 20 && after > 3, "{beside} and {after}");
}

#[test]
fn a_log_has_the_size_of_a_small_real_one() {
    let month = Month::new(1000, 2);
    let mut encoder = Encoder::default();
    let mut sizes: Vec<usize> = (0..150)
        .map(|at| month.log(at * 6 + 1).to_bytes_with(&mut encoder).len())
        .collect();
    sizes.sort_unstable();
    // sample-goodost, a real log of 48 processes, has 10,717 bytes.
    assert!(
        (7_000..15_000).contains(&sizes[75]),
        "{} bytes in the median",
        sizes[75]
    );
}
