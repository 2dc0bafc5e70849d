//! Which ranges of job ids are too small, too large or not where they belong, and what becomes of them.

use crate::error::Result;
use crate::lake::file::data_reader::read_jobs;
use crate::lake::file::encoding::LAYOUT;
use crate::lake::file::placement::Placement;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::ranges::splits_for;
use crate::lake::version::snapshot::Snapshot;
use crate::table::table;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

/// Ranges that a lake has at least once it holds enough, so that all cores have work and scans can be divided.
pub(in crate::lake) const FEWEST: usize = 16;
/// Logs for each of them.
pub(in crate::lake) const LOGS: usize = 128;
/// Rows of the largest table for each of them.
pub(in crate::lake) const ROWS: usize = 8192;

/// A part of the lake that is written anew as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lake) enum Extent {
    /// Adjacent ranges: `from <= job_id < to`, so far cut at `inner`.
    Jobs {
        from: Option<i64>,
        to: Option<i64>,
        inner: Vec<i64>,
    },
    /// A day of a file system in one table.
    Day { table: String, fs: String, day: i64 },
}

/// What becomes of a span.
#[derive(Clone, Debug)]
pub(in crate::lake) struct Rewrite {
    pub(in crate::lake) span: Extent,
    /// Its data files.
    pub(in crate::lake) old: Vec<DataFile>,
    /// Pieces of about equal size to be cut.
    pub(in crate::lake) parts: usize,
}

impl Rewrite {
    pub(in crate::lake) fn bytes(&self) -> u64 {
        self.old.iter().map(|file| file.bytes).sum()
    }

    /// Whether the span holds the same files in another version: whoever made that has not touched it.
    pub(in crate::lake) fn is_in(&self, snapshot: &Snapshot) -> bool {
        let paths = |files: &[DataFile]| -> HashSet<String> {
            files.iter().map(|file| file.path.clone()).collect()
        };
        self.span
            .files(snapshot)
            .is_some_and(|files| paths(&files) == paths(&self.old))
    }

    /// Where the span is cut into its parts: into fewer if it has not that many jobs.
    pub(in crate::lake) fn cuts(&self, snapshot: &Snapshot) -> Result<Vec<i64>> {
        match self.parts {
            0 | 1 => Ok(vec![]),
            parts => Ok(splits_for(&mut job_weights(snapshot, &self.old)?, parts)),
        }
    }
}

impl Extent {
    /// The numbers of its ranges in a version; None if they are cut otherwise there, or it has none.
    pub(in crate::lake) fn ranges(&self, splits: &[i64]) -> Option<Range<usize>> {
        let Self::Jobs { from, to, inner } = self else {
            return None;
        };
        let first = match from {
            None => 0,
            Some(from) => splits.binary_search(from).ok()? + 1,
        };
        let last = first + inner.len();
        let same = splits.get(first..last)? == inner && splits.get(last) == to.as_ref();
        same.then_some(first..last + 1)
    }

    fn files(&self, snapshot: &Snapshot) -> Option<Vec<DataFile>> {
        let files = snapshot.files().iter();
        Some(match self {
            Self::Jobs { .. } => {
                let ranges = self.ranges(snapshot.splits())?;
                let inside =
                    |file: &&DataFile| file.range.is_some_and(|range| ranges.contains(&range));
                files.filter(inside).cloned().collect()
            }
            Self::Day { table, fs, day } => {
                let of_day = |file: &&DataFile| {
                    file.table == *table
                        && file.day.as_ref().is_some_and(|(a, b)| (a, b) == (fs, day))
                };
                files.filter(of_day).cloned().collect()
            }
        })
    }
}

/// Bytes that a range should hold: as many as the lake was made for, or a sixteenth of a smaller one that is worth dividing.
pub(in crate::lake) fn ideal(snapshot: &Snapshot) -> u64 {
    let of_ranges = || snapshot.files().iter().filter(|file| file.range.is_some());
    let mut rows: BTreeMap<&str, u64> = BTreeMap::new();
    for file in of_ranges() {
        *rows.entry(&file.table).or_default() += file.rows;
    }
    let is_of_logs = |name: &str| table(name).is_ok_and(|table| table.key == ["log_id"]);
    let logs = rows.iter().filter(|(name, _)| is_of_logs(name));
    let logs = logs.map(|(_, rows)| *rows).max().unwrap_or(0);
    let most = rows.values().copied().max().unwrap_or(0);
    let enough = logs >= (FEWEST * LOGS) as u64 || most >= (FEWEST * ROWS) as u64;
    let all: u64 = of_ranges().map(|file| file.bytes).sum();
    let whole = snapshot.manifest.range_bytes;
    match enough {
        true => all.div_ceil(FEWEST as u64).clamp(1, whole),
        false => whole,
    }
}

/// What is to be written anew, in the order of the job ids, then of the days.
///
/// Neighbours are merged that hold one and a half times the ideal together or less, ranges are cut that hold more than twice the
/// ideal: what was made by the one is not undone by the other.
pub(in crate::lake) fn rebalance(snapshot: &Snapshot, place: &Placement) -> Vec<Rewrite> {
    let lake = &snapshot.manifest.lake_id;
    let splits = snapshot.splits();
    let mut ranges: Vec<Vec<DataFile>> = vec![vec![]; splits.len() + 1];
    let mut days: BTreeMap<(&str, &str, i64), Vec<DataFile>> = BTreeMap::new();
    for file in snapshot.files() {
        match (file.range, &file.day) {
            (Some(range), _) => ranges[range.min(splits.len())].push(file.clone()),
            (None, Some((fs, day))) => days
                .entry((&file.table, fs, *day))
                .or_default()
                .push(file.clone()),
            (None, None) => {}
        }
    }
    let bytes: Vec<u64> = ranges
        .iter()
        .map(|files| files.iter().map(|file| file.bytes).sum())
        .collect();
    let ideal = ideal(snapshot);
    let (mut groups, mut first) = (vec![], 0);
    while first < ranges.len() {
        let (mut end, mut sum) = (first + 1, bytes[first]);
        while end < ranges.len() && sum + bytes[end] <= ideal + ideal / 2 {
            sum += bytes[end];
            end += 1;
        }
        let parts = match sum > 2 * ideal {
            true => ((sum + ideal / 2) / ideal) as usize,
            false => 1,
        };
        if end > first + 1 || parts > 1 || !is_sound(&ranges[first], place, lake) {
            groups.push(Rewrite {
                span: Extent::Jobs {
                    from: first.checked_sub(1).map(|before| splits[before]),
                    to: splits.get(end - 1).copied(),
                    inner: splits[first..end - 1].to_vec(),
                },
                old: ranges[first..end].concat(),
                parts,
            });
        }
        first = end;
    }
    let unsound = days
        .into_iter()
        .filter(|(_, files)| !is_sound(files, place, lake));
    groups.extend(unsound.map(|((table, fs, day), old)| Rewrite {
        span: Extent::Day {
            table: table.into(),
            fs: fs.into(),
            day,
        },
        old,
        parts: 1,
    }));
    groups
}

/// Whether a file can stay as it is.
pub(in crate::lake) fn stays(file: &DataFile, place: &Placement, lake_id: &str) -> bool {
    file.layout >= LAYOUT && place.holds(lake_id, &file.path, file.ost)
}

/// Whether there is one file for each table, all on one target, each as this program would write it.
fn is_sound(files: &[DataFile], place: &Placement, lake_id: &str) -> bool {
    let tables: BTreeSet<&str> = files.iter().map(|file| file.table.as_str()).collect();
    let targets: BTreeSet<Option<i64>> = files.iter().map(|file| file.ost).collect();
    tables.len() == files.len()
        && targets.len() <= 1
        && files.iter().all(|file| stays(file, place, lake_id))
}

/// Job ids in some files, each with the bytes of its rows, about.
pub(in crate::lake) fn job_weights(
    snapshot: &Snapshot,
    files: &[DataFile],
) -> Result<Vec<(i64, u64)>> {
    let mut weights: BTreeMap<i64, f64> = BTreeMap::new();
    for file in files {
        let each = file.bytes as f64 / file.rows.max(1) as f64;
        for jobs in read_jobs(snapshot.store(), &file.path)? {
            for job in jobs?.chunk_by(|a, b| a == b) {
                *weights.entry(job[0]).or_default() += each * job.len() as f64;
            }
        }
    }
    let whole = weights.into_iter().map(|(job, bytes)| (job, bytes as u64));
    Ok(whole.map(|(job, bytes)| (job, bytes.max(1))).collect())
}
