//! What one direction of a file saw, over all its processes.

use super::interface::Counters;
use super::sum::{sum, sum_time};
use crate::source::darshan::counters::posix;
use crate::source::darshan::records::Records;

/// What one direction of a file saw.
#[derive(Clone, Debug, Default)]
pub struct DirectionStats {
    /// Bytes, by the source.
    pub bytes: i64,
    /// Calls, by the source.
    pub calls: i64,
    /// Seconds, summed over processes.
    pub time: Option<f64>,
    /// First start and last end, seconds since the start of the log.
    pub window: Option<(f64, f64)>,
    /// Processes that moved bytes; None when shared.
    pub active: Option<i64>,
    /// Time / (processes x window).
    pub busy: Option<f64>,
    /// Latest of start + time over processes, but no later than the first start + the time of all of them.
    pub busy_end: Option<f64>,
    /// Seconds of each process in records of its own, and of the slowest one in shared records, with the rank -1.
    pub rank_times: Vec<(i64, f64)>,
    /// The slowest call, seconds.
    pub max_time: Option<f64>,
    /// Highest offset, from 0.
    pub max_byte: Option<u64>,
    /// Requests of POSIX: calls, by size, sequential, consecutive, first ones; None where it is not in the source.
    pub requests: Option<Requests>,
    /// Bytes on each element of the OST list.
    pub ost_bytes: Option<Vec<i64>>,
}

/// POSIX requests of one direction.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    pub(super) calls: Option<i64>,
    pub(super) sizes: [Option<i64>; 10],
    pub(super) seq: Option<i64>,
    pub(super) consec: Option<i64>,
    pub(super) first: Option<i64>,
}

/// The process with most or least I/O time in a file.
#[derive(Clone, Copy, Debug)]
pub struct RankTime {
    pub(super) rank: i64,
    pub(super) time: f64,
    pub(super) bytes: i64,
}

/// One record, by the module it is of and its place there.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: u64,
    pub(super) module: usize,
    pub(super) record: usize,
}

/// The records of one module for one file.
pub(super) struct FileRecords<'a, 'c> {
    pub(super) records: &'c Records<'a>,
    pub(super) counters: &'static Counters,
    pub(super) entries: &'c [Entry],
}

impl FileRecords<'_, '_> {
    pub(super) fn int(&self, counter: usize) -> impl Iterator<Item = i64> + '_ {
        self.entries
            .iter()
            .map(move |e| self.records.int(e.record, counter))
    }

    pub(super) fn float(&self, counter: usize) -> impl Iterator<Item = f64> + '_ {
        self.entries
            .iter()
            .map(move |e| self.records.float(e.record, counter))
    }

    pub(super) fn sum_all(&self, counters: &[usize]) -> Option<i64> {
        sum(counters.iter().flat_map(|counter| self.int(*counter)))
    }

    pub(super) fn rank(&self, entry: &Entry) -> i64 {
        self.records.rank(entry.record)
    }

    pub(super) fn ranks(&self) -> impl Iterator<Item = i64> + '_ {
        self.entries.iter().map(|entry| self.rank(entry))
    }

    pub(super) fn bytes(&self, direction: usize) -> i64 {
        sum(self.int(self.counters.bytes[direction])).unwrap_or(0)
    }

    pub(super) fn calls(&self) -> i64 {
        (0..2)
            .map(|d| self.sum_all(self.counters.calls[d]).unwrap_or(0))
            .fold(0, i64::saturating_add)
    }
}

/// Processes with a record; all of the log as soon as one record is shared.
pub(super) fn processes<'p>(
    parts: impl Iterator<Item = &'p FileRecords<'p, 'p>>,
    nprocs: i64,
) -> i64 {
    let mut ranks: Vec<i64> = parts
        .flat_map(|part| part.entries.iter().map(|e| part.records.rank(e.record)))
        .collect();
    distinct(&mut ranks, nprocs)
}

fn distinct(ranks: &mut Vec<i64>, nprocs: i64) -> i64 {
    ranks.sort_unstable();
    ranks.dedup();
    match ranks.first() {
        Some(rank) if *rank < 0 => nprocs,
        _ => (ranks.len() as i64).min(nprocs),
    }
}

/// What the records of the source say of one direction; `traced` processes are known to have moved bytes where the records do
/// not tell, and there are at most `upper`.
pub(super) fn flow(
    used: &[&FileRecords<'_, '_>],
    d: usize,
    nprocs: i64,
    upper: i64,
    traced: Option<usize>,
) -> DirectionStats {
    let bytes = used
        .iter()
        .map(|part| part.bytes(d))
        .fold(0i64, i64::saturating_add);
    let calls = sum(used
        .iter()
        .filter_map(|part| part.sum_all(part.counters.calls[d])))
    .unwrap_or(0);
    let time = sum_time(
        used.iter()
            .flat_map(|part| part.float(part.counters.time[d])),
    );
    let start = used
        .iter()
        .flat_map(|part| part.float(part.counters.start[d]))
        .filter(|t| *t > 0.0)
        .reduce(f64::min);
    let end = used
        .iter()
        .flat_map(|part| part.float(part.counters.end[d]))
        .filter(|t| *t > 0.0)
        .reduce(f64::max);
    let window = start.zip(end);
    let mut moved: Vec<i64> = vec![];
    for part in used {
        moved.extend(
            part.entries
                .iter()
                .zip(part.int(part.counters.bytes[d]))
                .filter(|(_, bytes)| *bytes > 0)
                .map(|(entry, _)| part.rank(entry)),
        );
    }
    let hidden = moved.iter().any(|rank| *rank < 0) && nprocs > 1;
    let active = match hidden {
        false => Some(distinct(&mut moved, nprocs)),
        true => traced.map(|ranks| ranks as i64),
    };
    let workers = active.filter(|n| *n > 0).unwrap_or(upper) as f64;
    let busy = time.zip(window).and_then(|(time, (start, end))| {
        (end > start && workers > 0.0).then(|| time / (workers * (end - start)))
    });
    let busy_end = used
        .iter()
        .filter_map(|part| busy_end(part, d, nprocs))
        .reduce(f64::max);
    // Processes may have come one after another, with pauses between them.
    let all_of_them = start.zip(time).map(|(start, time)| start + time);
    let busy_end = busy_end.map(|end| all_of_them.map_or(end, |all| end.min(all)));
    let rank_times = used.iter().flat_map(|part| {
        let shared = |entry: &Entry| part.rank(entry) < 0 && nprocs > 1;
        let entries = part.entries.iter();
        entries.map(move |entry| {
            let rank = if shared(entry) {
                -1
            } else {
                part.rank(entry).max(0)
            };
            (rank, rank_time(part, entry, d, nprocs))
        })
    });
    let max_time = used
        .iter()
        .filter_map(|part| Some((part, part.counters.max_time?[d])))
        .flat_map(|(part, counter)| part.float(counter));
    let max_time = max_time.filter(|t| *t >= 0.0).reduce(f64::max);
    DirectionStats {
        bytes,
        calls,
        time,
        window,
        active,
        busy,
        busy_end,
        rank_times: rank_times.filter(|(_, time)| *time > 0.0).collect(),
        max_time,
        ..DirectionStats::default()
    }
}

/// Latest start + time in the direction; of a shared record the slowest process's time, as far as it is that direction's.
fn busy_end(part: &FileRecords<'_, '_>, d: usize, nprocs: i64) -> Option<f64> {
    let ends = part.entries.iter().filter_map(|entry| {
        let start = part.records.float(entry.record, part.counters.start[d]);
        (start > 0.0).then(|| start + rank_time(part, entry, d, nprocs))
    });
    ends.reduce(f64::max)
}

/// Seconds of a process in the direction; of a shared record those of the slowest process, as far as they are that direction's.
fn rank_time(part: &FileRecords<'_, '_>, entry: &Entry, d: usize, nprocs: i64) -> f64 {
    let value = |counter: usize| part.records.float(entry.record, counter).max(0.0);
    let time = value(part.counters.time[d]);
    if part.rank(entry) >= 0 || nprocs == 1 {
        return time;
    }
    let [read, write] = part.counters.time.map(value);
    let all = read + write + value(part.counters.meta_time);
    match all > 0.0 {
        true => value(part.counters.slowest[1]) * time / all,
        false => 0.0,
    }
}

/// The highest offset that a direction touched, if it moved bytes.
pub(super) fn max_byte(part: &FileRecords<'_, '_>, d: usize) -> Option<u64> {
    let counter = part.counters.max_byte?[d];
    let moved = part
        .int(part.counters.bytes[d])
        .zip(part.int(counter))
        .filter(|(bytes, _)| *bytes > 0);
    moved
        .filter_map(|(_, highest)| u64::try_from(highest).ok())
        .max()
}

pub(super) fn requests(part: &FileRecords<'_, '_>, d: usize, nprocs: i64) -> Requests {
    let (calls, size, seq, consec) = match d {
        0 => (
            posix::READS,
            posix::SIZE_READ_0_100,
            posix::SEQ_READS,
            posix::CONSEC_READS,
        ),
        _ => (
            posix::WRITES,
            posix::SIZE_WRITE_0_100,
            posix::SEQ_WRITES,
            posix::CONSEC_WRITES,
        ),
    };
    let shared = nprocs > 1 && part.ranks().any(|rank| rank < 0);
    Requests {
        calls: sum(part.int(calls)),
        sizes: std::array::from_fn(|bin| sum(part.int(size + bin))),
        seq: sum(part.int(seq)),
        consec: sum(part.int(consec)),
        first: (!shared).then(|| part.int(calls).filter(|calls| *calls > 0).count() as i64),
    }
}

/// The processes with most and with least I/O time: of shared records as the slowest one says, else by the sum of each rank.
pub(super) fn extremes(
    used: &[&FileRecords<'_, '_>],
    shared: bool,
) -> (Option<RankTime>, Option<RankTime>) {
    let known = |v: i64| v.max(0);
    if shared {
        let records = used.iter().flat_map(|part| {
            part.entries
                .iter()
                .filter(|e| part.rank(e) < 0)
                .map(move |e| (part, e.record))
        });
        let of = |part: &FileRecords<'_, '_>, record: usize, counters: &[usize; 3]| {
            let [rank, time, bytes] = *counters;
            let (rank, time) = (
                part.records.int(record, rank),
                part.records.float(record, time),
            );
            (rank >= 0 && time >= 0.0).then(|| RankTime {
                rank,
                time,
                bytes: known(part.records.int(record, bytes)),
            })
        };
        let both = records.filter_map(|(part, record)| {
            Some((
                of(part, record, &part.counters.slowest)?,
                of(part, record, &part.counters.fastest),
            ))
        });
        let slowest = both.reduce(|a, b| if b.0.time > a.0.time { b } else { a });
        return (slowest.map(|s| s.0), slowest.and_then(|s| s.1));
    }
    let mut ranks: Vec<RankTime> = vec![];
    for part in used {
        let [read, write] = part.counters.time;
        for entry in part.entries {
            let value = |counter: usize| part.records.float(entry.record, counter).max(0.0);
            let bytes = part
                .counters
                .bytes
                .map(|counter| known(part.records.int(entry.record, counter)));
            let time = value(read) + value(write) + value(part.counters.meta_time);
            ranks.push(RankTime {
                rank: part.rank(entry),
                time,
                bytes: bytes[0].saturating_add(bytes[1]),
            });
        }
    }
    ranks.sort_by_key(|r| r.rank);
    let merged = ranks
        .chunk_by(|a, b| a.rank == b.rank)
        .map(|same| RankTime {
            rank: same[0].rank,
            time: same.iter().map(|r| r.time).sum(),
            bytes: same.iter().map(|r| r.bytes).fold(0, i64::saturating_add),
        });
    let merged: Vec<RankTime> = merged.collect();
    let slowest = merged
        .iter()
        .copied()
        .reduce(|a, b| if b.time > a.time { b } else { a });
    let fastest = merged
        .iter()
        .copied()
        .reduce(|a, b| if b.time < a.time { b } else { a });
    (slowest, fastest)
}
