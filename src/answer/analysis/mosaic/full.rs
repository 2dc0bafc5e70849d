//! Mode `full`: the operations that a log tells best.
//!
//! Traced accesses where there are enough of them, else bytes by interval of time, else first and last access of each file. Files are those of
//! `darshan_file`, which has three corrections of the published tool in it:
//!
//! - c1: opens and seeks are those of the same file, not of the record at the same position of another module;
//! - c2: files of all modules, not of one;
//! - c3: standard streams are left out: one that is open from the first line to the last looks steady. Bins of STDIO hold streams too, which
//!   cannot be told apart.

use super::evidence::{Basis, Window};
use super::metadata::Access;
use super::observed::Observed;
use super::operation::{Direction, Operation};
use super::status::Status;
use crate::source::darshan::ModuleId;
use crate::source::darshan::derive::direction_stats::DirectionStats;
use crate::source::darshan::derive::file::File;
use crate::source::darshan::derive::interface::BytesSource;
use crate::source::darshan::is_stream;
use crate::source::darshan::job::Job;
use crate::source::darshan::log::Log;
use crate::source::darshan::module::dxt::Segment;

/// Traces and bins with fewer of the log's bytes are not believed.
const LEAST_COVERED: f64 = 0.9;

/// The operations of a log. `files`: all of its files, [`crate::source::darshan::derive::file::files`].
///
/// # Errors
/// [`Status::NoModule`] or [`Status::NoRecords`] without files; [`Status::NoTimes`] if bytes were moved and no access has a time.
///
/// # Source
/// MOSAIC, operations, mode `full`. That bins must cover the bytes as traces must is ours.
pub fn observe(log: &Log, job: &Job, files: &[File<'_>]) -> Result<Observed, Status> {
    if files.is_empty() {
        let is_empty = log.heatmap().next().is_none()
            && log.dxt(ModuleId::DXT_POSIX).next().is_none()
            && log.dxt(ModuleId::DXT_MPIIO).next().is_none();
        return Err(match is_empty {
            true => Status::NoModule,
            false => Status::NoRecords,
        });
    }
    let files = || files.iter().filter(|file| !file.is_stream);
    let moved = files().flat_map(|file| [file.read.bytes, file.write.bytes]);
    let moved: f64 = moved.map(|bytes| bytes.max(0) as f64).sum();
    let covers = |operations: &[Vec<Operation>; 2]| {
        let bytes: f64 = operations.iter().flatten().map(|o| o.bytes as f64).sum();
        bytes > 0.0 && bytes >= LEAST_COVERED * moved
    };
    let accesses = files().filter_map(access).collect();
    let traced = of_traces(log);
    let partial_trace = traced.iter().any(|t| !t.is_empty()) && !covers(&traced);
    let (basis, operations) = if covers(&traced) {
        (Basis::Dxt, traced)
    } else {
        match of_bins(log).filter(|(_, operations)| covers(operations)) {
            Some((width, operations)) => (Basis::Heatmap(width), operations),
            None => of_windows(files(), job),
        }
    };
    if moved > 0.0 && operations.iter().all(Vec::is_empty) {
        return Err(Status::NoTimes);
    }
    Ok(Observed {
        basis,
        partial_trace,
        operations,
        accesses,
    })
}

fn flow<'f>(file: &'f File<'_>, direction: Direction) -> &'f DirectionStats {
    match direction {
        Direction::Read => &file.read,
        Direction::Write => &file.write,
    }
}

/// First and last access of a direction that moved bytes.
fn window(file: &File<'_>, direction: Direction) -> Option<(f64, f64)> {
    let flow = flow(file, direction);
    flow.window.filter(|_| flow.bytes > 0)
}

/// First and last access of a file in any direction, with its opens and seeks.
fn access(file: &File<'_>) -> Option<Access> {
    let windows = || Direction::BOTH.iter().filter_map(|d| window(file, *d));
    Some(Access {
        first: windows().map(|w| w.0).reduce(f64::min)?,
        last: windows().map(|w| w.1).reduce(f64::max)?,
        opens: file.opens.unwrap_or(0),
        seeks: file.seeks.unwrap_or(0),
    })
}

/// Traced accesses that moved bytes: those of POSIX, and those of MPI-IO to files that POSIX did not trace.
fn of_traces(log: &Log) -> [Vec<Operation>; 2] {
    let mut operations = [vec![], vec![]];
    let mut traced: Vec<u64> = vec![];
    let [reads, writes] = &mut operations;
    let take = |segment: Segment, into: &mut Vec<Operation>| {
        if segment.length > 0 {
            into.push(Operation {
                start: segment.start,
                end: segment.end,
                bytes: segment.length,
                rank_seconds: segment.end - segment.start,
                earliest: segment.start,
                ..Operation::default()
            });
        }
    };
    for record in log.dxt(ModuleId::DXT_POSIX) {
        if record.reads().len() + record.writes().len() > 0 {
            traced.push(record.id);
        }
        if !is_stream(record.id) {
            record.reads().for_each(|segment| take(segment, reads));
            record.writes().for_each(|segment| take(segment, writes));
        }
    }
    traced.sort_unstable();
    for record in log.dxt(ModuleId::DXT_MPIIO) {
        if traced.binary_search(&record.id).is_err() && !is_stream(record.id) {
            record.reads().for_each(|segment| take(segment, reads));
            record.writes().for_each(|segment| take(segment, writes));
        }
    }
    operations
}

/// What a process moved in an interval of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bin {
    /// Bits of the bin's seconds.
    width: u64,
    number: usize,
    rank: i64,
    bytes: i64,
}

/// Bytes by interval of time, an operation for each interval that has any, and the longest interval; None without bins. POSIX and STDIO, or MPI-IO and STDIO
/// of a log without bins of POSIX.
fn of_bins(log: &Log) -> Option<(f64, [Vec<Operation>; 2])> {
    let has_posix = log.heatmap().any(|(name, _)| name == Some(b"POSIX"));
    let lower: &[u8] = if has_posix { b"POSIX" } else { b"MPIIO" };
    let mut bins: [Vec<Bin>; 2] = [vec![], vec![]];
    let mut longest: Option<f64> = None;
    for (name, record) in log.heatmap() {
        let width = record.bin_width;
        let is_wanted = name.is_some_and(|name| name == lower || name == b"STDIO");
        if !is_wanted || !width.is_finite() || width <= 0.0 {
            continue;
        }
        longest = Some(longest.map_or(width, |longest| longest.max(width)));
        let mut take = |direction: usize, number: usize, bytes: i64| {
            if bytes > 0 {
                bins[direction].push(Bin {
                    width: width.to_bits(),
                    number,
                    rank: record.rank,
                    bytes,
                });
            }
        };
        (record.bytes_read().enumerate()).for_each(|(bin, bytes)| take(0, bin, bytes));
        (record.bytes_written().enumerate()).for_each(|(bin, bytes)| take(1, bin, bytes));
    }
    let operations = bins.map(|mut bins| {
        bins.sort_unstable();
        let each = bins.chunk_by(|a, b| (a.width, a.number) == (b.width, b.number));
        let operations = each.map(|bin| {
            let (width, number) = (f64::from_bits(bin[0].width), bin[0].number);
            let ranks = bin.chunk_by(|a, b| a.rank == b.rank).count();
            let bytes = bin.iter().map(|bin| bin.bytes);
            let start = number as f64 * width;
            Operation {
                start,
                // The same number as the start of the next bin.
                end: (number + 1) as f64 * width,
                bytes: bytes.fold(0, i64::saturating_add),
                rank_seconds: width * ranks as f64,
                earliest: start,
                ..Operation::default()
            }
        });
        operations.collect()
    });
    Some((longest?, operations))
}

/// First and last access of each file.
fn of_windows<'f, 'l: 'f>(
    files: impl Iterator<Item = &'f File<'l>>,
    job: &Job,
) -> (Basis, [Vec<Operation>; 2]) {
    let mut operations = [vec![], vec![]];
    let mut windows = [vec![], vec![]];
    for file in files {
        let Some(access) = access(file) else { continue };
        let upper = match file.source {
            BytesSource::MpiIo => file.nprocs_mpiio,
            _ => file.nprocs_posix,
        };
        for direction in Direction::BOTH {
            let Some((start, end)) = window(file, direction) else {
                continue;
            };
            let flow = flow(file, direction);
            let active = flow.active.filter(|active| *active > 0);
            let processes = active.unwrap_or(upper).clamp(1, job.nprocs.max(1));
            operations[direction as usize].push(Operation {
                start,
                end,
                bytes: flow.bytes,
                opens: access.opens,
                seeks: access.seeks,
                rank_seconds: (end - start) * processes as f64,
                earliest: access.first,
            });
            windows[direction as usize].push(Window {
                bytes: flow.bytes,
                length: end - start,
                busy: flow.busy,
            });
        }
    }
    (Basis::Window(windows), operations)
}
