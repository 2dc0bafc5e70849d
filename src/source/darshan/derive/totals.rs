//! What a log's row says of its files and records, added up part by part.

use super::direction_stats::DirectionStats;
use super::file::File;
use super::interface::{DAOS, DFS, MODULES, MPIIO, POSIX, STDIO};
use super::sum::sum;
use crate::math::intervals::union_length;
use crate::source::darshan::counters::{daos, dfs, mpiio, posix, stdio};
use crate::source::darshan::log::Log;
use crate::source::darshan::records::Records;

/// The totals of a log.
#[derive(Default)]
pub(in crate::source::darshan) struct Totals {
    pub(super) files: i64,
    pub(super) streams: i64,
    pub(super) shared: i64,
    pub(super) part_shared: i64,
    pub(super) unique: i64,
    pub(super) read_only: i64,
    pub(super) write_only: i64,
    pub(super) read_write: i64,
    pub(super) read: Direction,
    pub(super) write: Direction,
    pub(super) meta_time: Option<f64>,
    /// Of the records as they are, by [`COUNTS`].
    pub(super) counts: [Option<i64>; COUNTS.len()],
    /// Reads and writes of POSIX by size.
    pub(super) sizes: [[Option<i64>; 10]; 2],
    /// By [`BY_SLOWEST`].
    pub(super) by_slowest: [Option<BySlowest>; BY_SLOWEST.len()],
    /// What needs all windows or all processes is unknown: they took too much memory.
    pub(super) lost: bool,
}

/// The totals of reading, or of writing.
#[derive(Default)]
pub(super) struct Direction {
    pub(super) bytes: i64,
    pub(super) bytes_streams: i64,
    pub(super) calls: i64,
    pub(super) time: Option<f64>,
    /// Files that bytes were moved of in a known window.
    pub(super) files: i64,
    /// First start and last end.
    pub(super) span: Option<(f64, f64)>,
    /// Times of the processes in files that bytes were moved of.
    pub(super) ranks: RankTimes,
    windows: Vec<(f64, f64)>,
}

/// `total_bytes` and `agg_time_by_slowest` of one module: the I/O time of the rank that spent most in its own records, plus
/// the slowest rank's time in each shared one.
///
/// # Source
/// SEMANTICS.md 2 (`darshan-parser --perf`).
#[derive(Default)]
pub(super) struct BySlowest {
    pub(super) bytes: i64,
    pub(super) ranks: RankTimes,
}

/// Seconds of each process, and of the slowest ones in what all share.
#[derive(Default)]
pub(super) struct RankTimes {
    shared: f64,
    ranks: Vec<(i64, f64)>,
}

/// Columns that are totals of a module, of the records as they are: its place in [`MODULES`], and the counters that are added up.
pub(super) const COUNTS: [(&str, usize, &[usize]); 29] = [
    ("posix_bytes_read", POSIX, &[posix::BYTES_READ]),
    ("posix_bytes_written", POSIX, &[posix::BYTES_WRITTEN]),
    ("mpiio_bytes_read", MPIIO, &[mpiio::BYTES_READ]),
    ("mpiio_bytes_written", MPIIO, &[mpiio::BYTES_WRITTEN]),
    ("stdio_bytes_read", STDIO, &[stdio::BYTES_READ]),
    ("stdio_bytes_written", STDIO, &[stdio::BYTES_WRITTEN]),
    ("dfs_bytes_read", DFS, &[dfs::BYTES_READ]),
    ("dfs_bytes_written", DFS, &[dfs::BYTES_WRITTEN]),
    ("daos_bytes_read", DAOS, &[daos::BYTES_READ]),
    ("daos_bytes_written", DAOS, &[daos::BYTES_WRITTEN]),
    ("posix_opens", POSIX, &[posix::OPENS]),
    ("posix_stats", POSIX, &[posix::STATS]),
    ("posix_seeks", POSIX, &[posix::SEEKS]),
    ("posix_fsyncs", POSIX, &[posix::FSYNCS, posix::FDSYNCS]),
    ("posix_reads", POSIX, &[posix::READS]),
    ("posix_writes", POSIX, &[posix::WRITES]),
    ("posix_seq_reads", POSIX, &[posix::SEQ_READS]),
    ("posix_seq_writes", POSIX, &[posix::SEQ_WRITES]),
    ("posix_consec_reads", POSIX, &[posix::CONSEC_READS]),
    ("posix_consec_writes", POSIX, &[posix::CONSEC_WRITES]),
    ("stdio_opens", STDIO, &[stdio::OPENS]),
    ("stdio_reads", STDIO, &[stdio::READS]),
    ("stdio_writes", STDIO, &[stdio::WRITES]),
    ("mpiio_indep_opens", MPIIO, &[mpiio::INDEP_OPENS]),
    ("mpiio_indep_reads", MPIIO, &[mpiio::INDEP_READS]),
    ("mpiio_indep_writes", MPIIO, &[mpiio::INDEP_WRITES]),
    ("mpiio_coll_opens", MPIIO, &[mpiio::COLL_OPENS]),
    ("mpiio_coll_reads", MPIIO, &[mpiio::COLL_READS]),
    ("mpiio_coll_writes", MPIIO, &[mpiio::COLL_WRITES]),
];

/// Bytes read and written; times of reading, writing and metadata, and of the slowest rank.
type SlowestCounters = ([usize; 2], [usize; 4]);

/// Columns that say how long a module took by its slowest process: its place in [`MODULES`], and the counters for that.
pub(super) const BY_SLOWEST: [([&str; 3], usize, SlowestCounters); 5] = [
    (
        [
            "posix_total_bytes",
            "posix_agg_time_by_slowest",
            "posix_agg_perf_by_slowest_mib_s",
        ],
        POSIX,
        (
            [posix::BYTES_READ, posix::BYTES_WRITTEN],
            [
                posix::F_READ_TIME,
                posix::F_WRITE_TIME,
                posix::F_META_TIME,
                posix::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "mpiio_total_bytes",
            "mpiio_agg_time_by_slowest",
            "mpiio_agg_perf_by_slowest_mib_s",
        ],
        MPIIO,
        (
            [mpiio::BYTES_READ, mpiio::BYTES_WRITTEN],
            [
                mpiio::F_READ_TIME,
                mpiio::F_WRITE_TIME,
                mpiio::F_META_TIME,
                mpiio::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "stdio_total_bytes",
            "stdio_agg_time_by_slowest",
            "stdio_agg_perf_by_slowest_mib_s",
        ],
        STDIO,
        (
            [stdio::BYTES_READ, stdio::BYTES_WRITTEN],
            [
                stdio::F_READ_TIME,
                stdio::F_WRITE_TIME,
                stdio::F_META_TIME,
                stdio::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "dfs_total_bytes",
            "dfs_agg_time_by_slowest",
            "dfs_agg_perf_by_slowest_mib_s",
        ],
        DFS,
        (
            [dfs::BYTES_READ, dfs::BYTES_WRITTEN],
            [
                dfs::F_READ_TIME,
                dfs::F_WRITE_TIME,
                dfs::F_META_TIME,
                dfs::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "daos_total_bytes",
            "daos_agg_time_by_slowest",
            "daos_agg_perf_by_slowest_mib_s",
        ],
        DAOS,
        (
            [daos::BYTES_READ, daos::BYTES_WRITTEN],
            [
                daos::F_READ_TIME,
                daos::F_WRITE_TIME,
                daos::F_META_TIME,
                daos::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
];

impl Totals {
    /// Adds the records that the log holds now, and what they say of each file.
    pub(super) fn add(&mut self, log: &Log, files: &[File<'_>]) {
        files.iter().for_each(|file| self.add_file(file));
        let modules = MODULES.map(|id| log.records(id));
        for ((_, module, counters), total) in COUNTS.iter().zip(&mut self.counts) {
            if let Some(records) = &modules[*module] {
                counters
                    .iter()
                    .for_each(|counter| add(total, records, *counter));
            }
        }
        if let Some(records) = &modules[POSIX] {
            let firsts = [posix::SIZE_READ_0_100, posix::SIZE_WRITE_0_100];
            for (first, totals) in firsts.into_iter().zip(&mut self.sizes) {
                for (bin, total) in totals.iter_mut().enumerate() {
                    add(total, records, first + bin);
                }
            }
        }
        for ((_, module, counters), total) in BY_SLOWEST.iter().zip(&mut self.by_slowest) {
            if let Some(records) = &modules[*module] {
                total.get_or_insert_default().add(records, counters);
            }
        }
    }

    fn add_file(&mut self, file: &File<'_>) {
        self.files += 1;
        add_time(&mut self.meta_time, file.meta_time);
        self.read.add(&file.read, file.is_stream);
        self.write.add(&file.write, file.is_stream);
        if file.is_stream {
            self.streams += 1;
            return;
        }
        self.shared += i64::from(file.shared);
        self.unique += i64::from(file.unique);
        self.part_shared += i64::from(!file.shared && !file.unique);
        let (read, write) = (file.read.bytes, file.write.bytes);
        self.read_only += i64::from(read > 0 && write == 0);
        self.write_only += i64::from(read == 0 && write > 0);
        self.read_write += i64::from(read > 0 && write > 0);
    }

    /// Lengths of the unions of the windows of reading, of writing, and of both; None of none.
    pub(super) fn critical_times(&mut self) -> [Option<f64>; 3] {
        let (read, write) = (&mut self.read.windows, &mut self.write.windows);
        let mut both = [read.as_slice(), write.as_slice()].concat();
        let known = !self.lost;
        [read, write, &mut both]
            .map(|windows| (known && !windows.is_empty()).then(|| union_length(windows)))
    }

    /// Times of the process that spent most reading, and writing; None if nobody spent any.
    pub(super) fn slowest_times(&mut self) -> [Option<f64>; 2] {
        let known = !self.lost;
        [&mut self.read, &mut self.write].map(|direction| {
            let time = direction.ranks.slowest();
            (known && time > 0.0).then_some(time)
        })
    }

    /// Forgets windows and processes if they take more than so many bytes; false if [`Totals::lost`] is true from now on.
    pub(in crate::source::darshan) fn fit(&mut self, memory: usize) -> bool {
        if self.held() <= memory {
            return true;
        }
        for direction in [&mut self.read, &mut self.write] {
            join(&mut direction.windows);
            direction.ranks.join();
        }
        let modules = self.by_slowest.iter_mut().flatten();
        modules.for_each(|module| module.ranks.join());
        if self.held() <= memory {
            return true;
        }
        self.lost = true;
        for direction in [&mut self.read, &mut self.write] {
            direction.windows = vec![];
            direction.ranks = RankTimes::default();
        }
        let modules = self.by_slowest.iter_mut().flatten();
        modules.for_each(|module| module.ranks = RankTimes::default());
        false
    }

    /// Bytes of windows and processes.
    fn held(&self) -> usize {
        let modules = self.by_slowest.iter().flatten();
        let ranks = modules.map(|module| &module.ranks);
        let ranks: usize = ranks
            .chain([&self.read.ranks, &self.write.ranks])
            .map(|ranks| ranks.ranks.len())
            .sum();
        16 * (ranks + self.read.windows.len() + self.write.windows.len())
    }
}

/// Adds what is known of a counter to a total; there is one from now on.
fn add(total: &mut Option<i64>, records: &Records<'_>, counter: usize) {
    let here = sum((0..records.len()).map(|record| records.int(record, counter)));
    let so_far = total.unwrap_or(0);
    *total = Some(so_far.saturating_add(here.unwrap_or(0)));
}

/// Adds a time, if it is known.
fn add_time(total: &mut Option<f64>, time: Option<f64>) {
    if let Some(time) = time.filter(|time| *time >= 0.0) {
        *total = Some(total.unwrap_or(0.0) + time);
    }
}

impl Direction {
    fn add(&mut self, flow: &DirectionStats, is_stream: bool) {
        self.bytes = self.bytes.saturating_add(flow.bytes);
        self.calls = self.calls.saturating_add(flow.calls);
        add_time(&mut self.time, flow.time);
        if is_stream {
            self.bytes_streams = self.bytes_streams.saturating_add(flow.bytes);
            return;
        }
        if flow.bytes <= 0 {
            return;
        }
        for (rank, time) in &flow.rank_times {
            self.ranks.add(*rank, *time);
        }
        let Some((start, end)) = flow.window else {
            return;
        };
        self.files += 1;
        let span = self.span.unwrap_or((start, end));
        self.span = Some((span.0.min(start), span.1.max(end)));
        self.windows.push((start, end));
    }
}

impl BySlowest {
    fn add(&mut self, records: &Records<'_>, counters: &SlowestCounters) {
        let ([read, written], [read_time, write_time, meta_time, slowest]) = *counters;
        let each = || 0..records.len();
        let bytes = each().flat_map(|r| [records.int(r, read), records.int(r, written)]);
        self.bytes = self.bytes.saturating_add(sum(bytes).unwrap_or(0));
        for r in each() {
            let time = |counter: usize| records.float(r, counter);
            match records.rank(r) {
                rank if rank < 0 => self.ranks.add(-1, time(slowest)),
                rank => {
                    let time = time(read_time) + time(write_time) + time(meta_time);
                    self.ranks.add(rank, time);
                }
            }
        }
    }
}

impl RankTimes {
    fn add(&mut self, rank: i64, time: f64) {
        if rank < 0 {
            self.shared += time;
            return;
        }
        self.ranks.push((rank, time));
    }

    /// The time of the process that spent most, plus that of the slowest ones in what all share.
    pub(super) fn slowest(&mut self) -> f64 {
        self.join();
        let times = self.ranks.iter().map(|(_, time)| *time);
        self.shared + times.fold(0.0, |most, time| if time > most { time } else { most })
    }

    /// Adds up the times of each process.
    fn join(&mut self) {
        self.ranks.sort_by_key(|(rank, _)| *rank);
        self.ranks.dedup_by(|next, joined| {
            let same = next.0 == joined.0;
            if same {
                joined.1 += next.1;
            }
            same
        });
    }
}

/// Makes one interval of those that overlap.
fn join(windows: &mut Vec<(f64, f64)>) {
    windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    windows.dedup_by(|next, joined| {
        let overlaps = next.0 <= joined.1;
        if overlaps {
            joined.1 = joined.1.max(next.1);
        }
        overlaps
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_windows_have_the_same_union() {
        let mut windows = vec![(5.0, 6.0), (0.0, 2.0), (1.0, 3.0), (3.0, 4.0)];
        join(&mut windows);
        assert_eq!(windows, [(0.0, 4.0), (5.0, 6.0)]);
        assert_eq!(union_length(&mut windows), 5.0);
    }
}
