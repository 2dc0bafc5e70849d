//! The whole way from operations, or a log, to classes. Expected values come from the description of the method and from the published tool.

mod bad_logs;
mod evidence;
mod laws;
mod real_logs;
mod vectors;

use super::options::{Mode, Options};
use super::{LogRows, Mosaic, of_log};
use crate::math::io_pattern::operation::{Direction, Operation};
use crate::math::io_pattern::pattern::{Pattern, Run, pattern};
use crate::source::Input;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::posix;
use crate::source::darshan::write::{DarshanLog, Job, Module, Record, Records};

/// An operation without opens.
pub(super) fn operation(start: f64, end: f64, bytes: i64) -> Operation {
    Operation {
        start,
        end,
        bytes,
        rank_seconds: 4.0 * (end - start),
        earliest: start,
        ..Operation::default()
    }
}

/// What writes of four processes do.
pub(super) fn pattern_of(operations: &[Operation], total: f64, mode: Mode) -> Pattern {
    let sum = |value: fn(&Operation) -> i64| operations.iter().map(value).sum();
    let run = Run {
        total,
        nprocs: 4,
        opens_and_seeks: (sum(|o| o.opens), sum(|o| o.seeks)),
        bin: None,
        min_bytes: Options::default().min_bytes,
    };
    pattern(operations.to_vec(), run, mode.corrections()).unwrap()
}

pub(super) fn names(pattern: &Pattern) -> Vec<&'static str> {
    pattern.classes.iter().map(|class| class.name()).collect()
}

/// A record of POSIX with one open: file, process, reads and writes as (start, end, bytes).
pub(super) fn record(
    id: u64,
    rank: i64,
    read: Option<(f64, f64, i64)>,
    write: Option<(f64, f64, i64)>,
) -> Record {
    let (mut ints, mut floats) = (vec![0; posix::INTS.len()], vec![0.0; posix::FLOATS.len()]);
    ints[posix::OPENS] = 1;
    let directions = [
        (
            read,
            posix::BYTES_READ,
            posix::READS,
            posix::F_READ_START_TIMESTAMP,
            posix::F_READ_END_TIMESTAMP,
        ),
        (
            write,
            posix::BYTES_WRITTEN,
            posix::WRITES,
            posix::F_WRITE_START_TIMESTAMP,
            posix::F_WRITE_END_TIMESTAMP,
        ),
    ];
    for (flow, bytes, calls, first, last) in directions {
        if let Some((start, end, moved)) = flow {
            (ints[bytes], ints[calls]) = (moved, 1);
            (floats[first], floats[last]) = (start, end);
        }
    }
    Record {
        id,
        rank,
        ints,
        floats,
        ..Record::default()
    }
}

/// A log of four processes that ran for 100 seconds.
pub(super) fn log_of(modules: Vec<Module>) -> DarshanLog {
    DarshanLog {
        job: Job {
            nprocs: 4,
            start: (1_500_000_000, 0),
            end: (1_500_000_100, 0),
            ..Job::default()
        },
        modules,
        ..DarshanLog::default()
    }
}

/// A log with records of POSIX.
pub(super) fn posix_log(records: Vec<Record>) -> DarshanLog {
    log_of(vec![Module::new(
        ModuleId::POSIX,
        4,
        Records::Counters(records),
    )])
}

pub(super) fn mosaic_of(log: &DarshanLog, mode: Mode) -> Mosaic {
    let input = Input::from_bytes("a.darshan", log.to_bytes());
    let (rows, _) = LogRows::of_input(&input).unwrap();
    of_log(&rows, mode, &Options::default())
}

/// Status, classes of reads and of writes.
pub(super) fn outcome(mosaic: &Mosaic) -> (&'static str, Vec<String>, Vec<String>) {
    let [reads, writes] = Direction::BOTH.map(|d| mosaic.class_names(d).unwrap_or_default());
    (mosaic.status.name(), reads, writes)
}
