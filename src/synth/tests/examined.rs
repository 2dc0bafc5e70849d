//! Looks for causes in a log, for tests: by brute force, from the records alone, and with no code of what plants them.

use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{posix, stdio};
use crate::source::darshan::write::DarshanLog;
use crate::source::darshan::write::Records;
use crate::synth::system::record_id;
use std::collections::{BTreeMap, BTreeSet};

/// A file in one direction, as the counters have it.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) bytes: f64,
    /// Bytes of each process; -1: of all together.
    ranks: BTreeMap<i64, f64>,
    requests: i64,
    small: i64,
    consecutive: i64,
    pub(crate) window: (f64, f64),
    busy_end: f64,
    pub(crate) osts: Vec<i64>,
}

/// How long a file counts as used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interval {
    Window,
    Busy,
}

impl File {
    pub(crate) fn interval(&self, interval: Interval) -> (f64, f64) {
        let (start, end) = self.window;
        match interval {
            Interval::Window => (start, end),
            Interval::Busy => (start, self.busy_end.min(end)),
        }
    }
}

/// Counters of a module: bytes, requests, consecutive ones, small ones, start, end, the times of both directions and of metadata, the
/// time of the slowest process.
type Counters = (usize, usize, Option<[usize; 3]>, [usize; 2], [usize; 4]);

fn counters(module: ModuleId, reads: bool) -> Option<Counters> {
    use {posix as p, stdio as s};
    Some(match (module, reads) {
        (ModuleId::POSIX, true) => (
            p::BYTES_READ,
            p::READS,
            Some([p::CONSEC_READS, p::SIZE_READ_0_100, p::SIZE_READ_100_1K]),
            [p::F_READ_START_TIMESTAMP, p::F_READ_END_TIMESTAMP],
            [
                p::F_READ_TIME,
                p::F_WRITE_TIME,
                p::F_META_TIME,
                p::F_SLOWEST_RANK_TIME,
            ],
        ),
        (ModuleId::POSIX, false) => (
            p::BYTES_WRITTEN,
            p::WRITES,
            Some([p::CONSEC_WRITES, p::SIZE_WRITE_0_100, p::SIZE_WRITE_100_1K]),
            [p::F_WRITE_START_TIMESTAMP, p::F_WRITE_END_TIMESTAMP],
            [
                p::F_WRITE_TIME,
                p::F_READ_TIME,
                p::F_META_TIME,
                p::F_SLOWEST_RANK_TIME,
            ],
        ),
        (ModuleId::STDIO, true) => (
            s::BYTES_READ,
            s::READS,
            None,
            [s::F_READ_START_TIMESTAMP, s::F_READ_END_TIMESTAMP],
            [
                s::F_READ_TIME,
                s::F_WRITE_TIME,
                s::F_META_TIME,
                s::F_SLOWEST_RANK_TIME,
            ],
        ),
        (ModuleId::STDIO, false) => (
            s::BYTES_WRITTEN,
            s::WRITES,
            None,
            [s::F_WRITE_START_TIMESTAMP, s::F_WRITE_END_TIMESTAMP],
            [
                s::F_WRITE_TIME,
                s::F_READ_TIME,
                s::F_META_TIME,
                s::F_SLOWEST_RANK_TIME,
            ],
        ),
        _ => return None,
    })
}

/// The files of a log that moved bytes in one direction, without streams.
pub(crate) fn files(log: &DarshanLog, reads: bool) -> Vec<File> {
    let streams = ["<STDIN>", "<STDOUT>", "<STDERR>"].map(record_id);
    let mut files: BTreeMap<u64, File> = BTreeMap::new();
    for module in &log.modules {
        let (Some((bytes, requests, kinds, [start, end], times)), Records::Counters(records)) =
            (counters(module.id, reads), &module.records)
        else {
            continue;
        };
        for record in records {
            let (ints, floats) = (&record.ints, &record.floats);
            if ints[bytes] == 0 || streams.contains(&record.id) {
                continue;
            }
            let [time, other, meta, slowest] = times.map(|time| floats[time]);
            let time = match record.rank {
                -1 => slowest * time / (time + other + meta),
                _ => time,
            };
            let file = files.entry(record.id).or_insert(File {
                window: (f64::INFINITY, 0.0),
                ..File::default()
            });
            file.bytes += ints[bytes] as f64;
            *file.ranks.entry(record.rank).or_default() += ints[bytes] as f64;
            file.requests += ints[requests];
            if let Some([consecutive, tiny, small]) = kinds {
                file.consecutive += ints[consecutive];
                file.small += ints[tiny] + ints[small];
            }
            let (first, last) = file.window;
            file.window = (first.min(floats[start]), last.max(floats[end]));
            file.busy_end = file.busy_end.max(floats[start] + time);
        }
    }
    for module in &log.modules {
        if let Records::Lustre(layouts) = &module.records {
            for layout in layouts {
                if let Some(file) = files.get_mut(&layout.id) {
                    file.osts = layout.components[0].osts.clone();
                }
            }
        }
    }
    files.into_values().collect()
}

/// The exclusive time of each file in a minimum cover of the time: where one ends, that one follows which lasts longest.
pub(crate) fn exclusive(intervals: &[(f64, f64)]) -> Vec<f64> {
    let mut own = vec![0.0; intervals.len()];
    let mut until = f64::NEG_INFINITY;
    loop {
        let ends_later = |at: &usize| intervals[*at].1 > until;
        let left: Vec<usize> = (0..intervals.len()).filter(ends_later).collect();
        let begun = left.iter().filter(|at| intervals[**at].0 <= until);
        let longest = begun.max_by(|a, b| intervals[**a].1.total_cmp(&intervals[**b].1));
        let next = left
            .iter()
            .min_by(|a, b| intervals[**a].0.total_cmp(&intervals[**b].0));
        let Some(&file) = longest.or(next) else {
            return own;
        };
        own[file] += intervals[file].1 - intervals[file].0.max(until);
        until = intervals[file].1;
    }
}

/// The part of each interval in which any other one is in use, too: that in which at least two are.
fn overlaps(intervals: &[(f64, f64)]) -> Vec<f64> {
    let ends = (intervals.iter()).flat_map(|(start, end)| [(*start, 1), (*end, -1)]);
    let mut ends: Vec<(f64, i64)> = ends.collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Until when how much of the time was shared.
    let mut shared = vec![(f64::NEG_INFINITY, 0.0)];
    let (mut open, mut sum, mut before) = (0, 0.0, 0.0);
    for (time, change) in ends {
        sum += if open >= 2 { time - before } else { 0.0 };
        (open, before) = (open + change, time);
        shared.push((time, sum));
    }
    let until = |time: f64| shared[shared.partition_point(|(other, _)| *other <= time) - 1].1;
    let overlap = |(start, end): &(f64, f64)| until(*end) - until(*start);
    intervals.iter().map(overlap).collect()
}

/// The causes that the counters of one direction show, with their shares.
pub(crate) fn examine(
    log: &DarshanLog,
    reads: bool,
    interval: Interval,
) -> BTreeMap<&'static str, f64> {
    let files = files(log, reads);
    let nprocs = log.job.nprocs as f64;
    let windows: Vec<_> = files.iter().map(|file| file.window).collect();
    if exclusive(&windows).iter().sum::<f64>() < 1.0 || nprocs < 2.0 {
        return BTreeMap::new();
    }
    let intervals: Vec<_> = files.iter().map(|file| file.interval(interval)).collect();
    let own = exclusive(&intervals);
    let critical: f64 = own.iter().sum();
    let bytes: f64 = files.iter().map(|file| file.bytes).sum();
    let share = |of: &[usize]| of.iter().map(|at| own[*at]).sum::<f64>() / critical;
    let slow = |of: &[usize]| {
        let moved: f64 = of.iter().map(|at| files[*at].bytes).sum();
        moved < 1e9 * of.iter().map(|at| own[*at]).sum::<f64>()
    };
    let mut found: BTreeMap<&'static str, f64> = BTreeMap::new();
    let mut name = |cause: &'static str, of: Vec<usize>, least: f64| {
        if share(&of) >= least && slow(&of) {
            let known = found.entry(cause).or_default();
            *known = known.max(share(&of));
        }
    };
    let all = 0..files.len();

    let mut osts: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for at in all.clone() {
        if let [ost] = files[at].osts[..] {
            osts.entry(ost).or_default().push(at);
        }
    }
    for on_it in osts.into_values() {
        let ranks: BTreeSet<i64> = on_it
            .iter()
            .flat_map(|at| files[*at].ranks.keys().copied())
            .collect();
        let procs = if ranks.contains(&-1) {
            nprocs
        } else {
            ranks.len() as f64
        };
        if procs >= 16.0 && procs >= nprocs / 2.0 {
            name("one_ost", on_it, 0.5);
        }
    }
    let mut moved: BTreeMap<i64, f64> = BTreeMap::new();
    for file in &files {
        for (rank, bytes) in &file.ranks {
            *moved.entry(*rank).or_default() += bytes;
        }
    }
    for (rank, moved) in moved.into_iter().filter(|(rank, _)| *rank >= 0) {
        let only = all.clone().filter(|at| files[*at].ranks.keys().eq([&rank]));
        if moved * nprocs >= 10.0 * bytes {
            name("one_rank", only.collect(), 0.5);
        }
    }
    let length = |at: &usize| intervals[*at].1 - intervals[*at].0;
    let overlaps = overlaps(&intervals);
    let alone = all.clone().filter(|at| overlaps[*at] <= 0.05 * length(at));
    let alone: Vec<usize> = alone.collect();
    let sum: f64 = alone.iter().map(length).sum();
    if alone.len() >= 20 && alone.iter().all(|at| length(at) <= 0.2 * sum) {
        name("serial_files", alone, 0.5);
    }
    if files.len() >= 10 {
        all.clone().for_each(|at| name("one_file", vec![at], 0.9));
    }
    let small = all.filter(|at| {
        let File {
            requests,
            small,
            consecutive,
            ..
        } = files[*at];
        requests > 0 && 2 * small >= requests && 2 * (requests - consecutive) >= requests
    });
    name("small_requests", small.collect(), 0.5);
    found
}
