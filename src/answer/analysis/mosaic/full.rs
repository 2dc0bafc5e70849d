//! Mode `full`: the operations that a log tells best.
//!
//! Traced accesses where there are enough of them, else bytes by interval of time, else first and last access of each file. Files are those of
//! `darshan_file`, which has three corrections of the published tool in it:
//!
//! - c1: opens and seeks are those of the same file, not of the record at the same position of another module;
//! - c2: files of all modules, not of one;
//! - c3: standard streams are left out: one that is open from the first line to the last looks steady. Bins of STDIO hold streams too, which
//!   cannot be told apart.
//!
//! Two further ones are ours. c8: bursts are periodic if they come at equal distances, not if they are alike. Alike segments come at any time, too, so that most programs with many bursts
//! would be periodic; and jitter, bins and streams take periodic ones apart. See [`crate::math::io_pattern::train`]. c9: whether a direction is significant is asked of the bytes of its operations and the opens and seeks of its files, not of its operations: traces and bins have
//! none, so that classes would depend on what was traced.

use super::evidence::{Basis, Window};
use super::log_rows::{BinRow, FileRow, Interface, LogRows};
use super::metadata::Access;
use super::observed::{Execution, Observed, total};
use super::status::Status;
use crate::math::io_pattern::operation::{Direction, Operation};
use std::collections::HashSet;

/// Traces and bins with fewer of the log's bytes are not believed, nor traces with more in proportion.
const LEAST_COVERED: f64 = 0.9;

/// The operations of a log.
///
/// # Errors
/// [`Status::NoModule`] or [`Status::NoRecords`] without files; [`Status::TooMany`] of them; [`Status::NoTimes`] if bytes were moved and no access has a time.
///
/// # Source
/// MOSAIC, operations, mode `full`. That bins must cover the bytes as traces must, and that neither may hold what cannot be true, such as accesses after the run, is ours.
pub fn observe(rows: &LogRows) -> Result<Observed, Status> {
    let execution = rows
        .run
        .as_ref()
        .and_then(|run| Execution::of_run(run).ok());
    if rows.has_too_many_files {
        return Err(Status::TooMany);
    }
    if rows.files.is_empty() {
        let is_empty = rows.bins.is_empty() && rows.traces.is_empty();
        return Err(match is_empty && !rows.has_too_many_traces {
            true => Status::NoModule,
            false => Status::NoRecords,
        });
    }
    let files = || rows.files.iter().filter(|file| !file.is_stream);
    let moved = files().flat_map(|file| file.bytes);
    let moved: f64 = moved.map(|bytes| bytes.max(0) as f64).sum();
    let bytes = |operations: &[Vec<Operation>; 2]| -> f64 {
        operations.iter().flatten().map(|o| o.bytes as f64).sum()
    };
    let is_believed = |operations: &[Vec<Operation>; 2], slack: f64| {
        let can_be = |execution: &Execution| total(operations, execution, slack).is_ok();
        bytes(operations) > 0.0
            && bytes(operations) >= LEAST_COVERED * moved
            && execution.as_ref().is_none_or(can_be)
    };
    let accesses = files().filter_map(access).collect();
    let opens_and_seeks = Direction::BOTH.map(|direction| {
        let used = files().filter(|file| file.bytes[direction as usize] > 0);
        used.fold((0i64, 0i64), |(opens, seeks), file| {
            (
                opens.saturating_add(file.opens),
                seeks.saturating_add(file.seeks),
            )
        })
    });
    let traced = of_traces(rows);
    let has_traces = rows.has_too_many_traces || traced.iter().any(|t| !t.is_empty());
    // A damaged region may hold accesses of any size. Bins may have more than the files: those of streams.
    let is_traced = is_believed(&traced, 0.0) && LEAST_COVERED * bytes(&traced) <= moved;
    let partial_trace = has_traces && !is_traced;
    let (basis, operations) = if is_traced {
        (Basis::Dxt, traced)
    } else {
        match of_bins(&rows.bins).filter(|(width, bins)| is_believed(bins, *width)) {
            Some((width, operations)) => (Basis::Heatmap(width), operations),
            None => of_windows(
                &rows.files,
                rows.run.and_then(|run| run.nprocs).unwrap_or(1),
            ),
        }
    };
    if moved > 0.0 && operations.iter().all(Vec::is_empty) {
        return Err(Status::NoTimes);
    }
    Ok(Observed {
        basis,
        partial_trace,
        operations,
        opens_and_seeks,
        accesses,
    })
}

/// First and last access of a direction that moved bytes.
fn window(file: &FileRow, direction: Direction) -> Option<(f64, f64)> {
    file.windows[direction as usize].filter(|_| file.bytes[direction as usize] > 0)
}

/// First and last access of a file in any direction, with its opens and seeks.
fn access(file: &FileRow) -> Option<Access> {
    let windows = || Direction::BOTH.iter().filter_map(|d| window(file, *d));
    Some(Access {
        first: windows().map(|w| w.0).reduce(f64::min)?,
        last: windows().map(|w| w.1).reduce(f64::max)?,
        opens: file.opens,
        seeks: file.seeks,
    })
}

/// Traced accesses: those of POSIX, and those of MPI-IO to files that POSIX did not trace.
fn of_traces(rows: &LogRows) -> [Vec<Operation>; 2] {
    let of_posix = rows.traces.iter().filter(|t| t.module == Interface::Posix);
    let posix: HashSet<u64> = of_posix.map(|trace| trace.record_id).collect();
    let mut operations = [vec![], vec![]];
    for trace in &rows.traces {
        if trace.module == Interface::Posix || !posix.contains(&trace.record_id) {
            operations[trace.direction as usize].push(trace.operation);
        }
    }
    operations
}

/// What a process moved in an interval of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bin {
    /// Bits of the bin's seconds.
    width: u64,
    number: i64,
    rank: i64,
    bytes: i64,
}

/// Bytes by interval of time, an operation for each interval that has any, and the longest interval; None without bins. POSIX and STDIO, or MPI-IO and STDIO
/// of a log without bins of POSIX.
fn of_bins(rows: &[BinRow]) -> Option<(f64, [Vec<Operation>; 2])> {
    let has_posix = rows.iter().any(|bin| bin.module == Interface::Posix);
    let lower = if has_posix {
        Interface::Posix
    } else {
        Interface::MpiIo
    };
    let mut bins: [Vec<Bin>; 2] = [vec![], vec![]];
    let mut longest: Option<f64> = None;
    for row in rows {
        let is_wanted = row.module == lower || row.module == Interface::Stdio;
        if !is_wanted || !row.width.is_finite() || row.width <= 0.0 {
            continue;
        }
        longest = Some(longest.map_or(row.width, |longest| longest.max(row.width)));
        for (bins, bytes) in bins.iter_mut().zip(row.bytes) {
            if bytes > 0 {
                bins.push(Bin {
                    width: row.width.to_bits(),
                    number: row.number,
                    rank: row.rank,
                    bytes,
                });
            }
        }
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

/// First and last access of each file but standard streams.
fn of_windows(files: &[FileRow], nprocs: i64) -> (Basis, [Vec<Operation>; 2]) {
    let used = |direction| files.iter().filter(move |file| file.bytes[direction] > 0);
    let mut operations = [0, 1].map(|direction| Vec::with_capacity(used(direction).count()));
    let mut windows = [0, 1].map(|direction| Vec::with_capacity(used(direction).count()));
    for file in files.iter().filter(|file| !file.is_stream) {
        let Some(access) = access(file) else { continue };
        for direction in Direction::BOTH {
            let Some((start, end)) = window(file, direction) else {
                continue;
            };
            let at = direction as usize;
            let active = file.active[at].filter(|active| *active > 0);
            let processes = active.unwrap_or(file.nprocs).clamp(1, nprocs.max(1));
            operations[at].push(Operation {
                start,
                end,
                bytes: file.bytes[at],
                opens: access.opens,
                seeks: access.seeks,
                rank_seconds: (end - start) * processes as f64,
                earliest: access.first,
            });
            windows[at].push(Window {
                bytes: file.bytes[at],
                length: end - start,
                busy: file.busy[at],
            });
        }
    }
    (Basis::Window(windows), operations)
}
