//! Which samples of LMT belong to chosen logs.

use super::choose::{Chosen, Log};
use crate::error::{Error, Result};
use crate::lake::{Batches, FsTimes, LmtRows, Snapshot, Times};
use crate::table::{Partition, table};
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Samples of LMT that an export takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lmt {
    /// Of the time of each log: those of the OSTs of its files, and of the servers of their file systems.
    #[default]
    Used,
    /// All of the time from the first to the last log.
    Period,
    /// None.
    None,
}

/// Time before the start and after the end of a log that is taken with it, microseconds.
pub(super) const MARGIN: i64 = 60_000_000;

/// The columns of `darshan_file` that say which OSTs a log used, in this order.
pub(super) const COLUMNS: [&str; 3] = ["log_id", "fs", "ost_bits"];

/// The samples that belong to some logs; `files` are the rows of `darshan_file` of these logs with [`COLUMNS`]. If times of logs are made
/// less exact, to multiples of `unit` microseconds, samples must not tell them: they are those of whole units.
///
/// # Errors
/// Those of the files.
pub(super) fn lmt_rows(
    lmt: Lmt,
    snapshot: &Snapshot,
    chosen: &Chosen,
    unit: Option<i64>,
    files: impl FnOnce() -> Result<Batches>,
) -> Result<LmtRows> {
    let sampled = file_systems(snapshot);
    if lmt == Lmt::None || sampled.is_empty() {
        return Ok(LmtRows::None);
    }
    let times: BTreeMap<String, FsTimes> = match lmt {
        Lmt::Used => used(&sampled, chosen, unit, files()?)?,
        _ => {
            let times = chosen.logs.values().filter_map(|log| time(log, unit));
            let all = Times::union(times.collect());
            let all = Times::union(all.span().into_iter().collect());
            let of_fs = FsTimes { all, by_ost: None };
            sampled.into_iter().map(|fs| (fs, of_fs.clone())).collect()
        }
    };
    Ok(LmtRows::Within(Arc::new(times)))
}

/// The file systems that the lake has samples of.
fn file_systems(snapshot: &Snapshot) -> BTreeSet<String> {
    let files = snapshot.files().iter();
    let of_lmt = files
        .filter(|file| table(&file.table).is_ok_and(|table| table.partition == Partition::Day));
    of_lmt
        .filter_map(|file| Some(file.day.as_ref()?.0.clone()))
        .collect()
}

/// The time of a log in whole units, with a margin.
fn time(log: &Log, unit: Option<i64>) -> Option<(i64, i64)> {
    let (start, end) = (log.start?, log.end?);
    let end = end.max(start);
    let (start, end) = match unit {
        None => (start, end),
        Some(unit) => {
            let last = end.div_euclid(unit).saturating_add(1);
            (start.div_euclid(unit) * unit, last.saturating_mul(unit))
        }
    };
    Some((start.saturating_sub(MARGIN), end.saturating_add(MARGIN)))
}

/// Times of a file system that were used.
#[derive(Default)]
struct Used {
    all: Growing,
    by_ost: HashMap<i32, Growing>,
}

/// Intervals that are put together whenever they are many: the logs of a month overlap.
#[derive(Default)]
struct Growing {
    intervals: Vec<(i64, i64)>,
    most: usize,
}

/// Intervals that are kept before they are put together.
const MANY: usize = 4096;

impl Growing {
    fn push(&mut self, interval: (i64, i64)) {
        if self.intervals.len() >= self.most.max(MANY) {
            self.intervals = Times::union(std::mem::take(&mut self.intervals)).into();
            self.most = self.intervals.len() * 2;
        }
        self.intervals.push(interval);
    }

    fn union(self) -> Times {
        Times::union(self.intervals)
    }
}

fn used(
    sampled: &BTreeSet<String>,
    chosen: &Chosen,
    unit: Option<i64>,
    files: Batches,
) -> Result<BTreeMap<String, FsTimes>> {
    let mut used: BTreeMap<String, Used> = BTreeMap::new();
    // The OSTs of one log after the other.
    let mut here: (Option<i64>, BTreeMap<String, RoaringBitmap>) = (None, BTreeMap::new());
    let mut end = |log: Option<i64>, osts: BTreeMap<String, RoaringBitmap>| {
        let log = log.and_then(|log| chosen.logs.get(&log));
        let Some(time) = log.and_then(|log| time(log, unit)) else {
            return;
        };
        for (fs, osts) in osts {
            let used = used.entry(fs).or_default();
            used.all.push(time);
            for ost in osts {
                used.by_ost.entry(ost as i32).or_default().push(time);
            }
        }
    };
    for rows in files {
        let rows = rows?;
        let logs = rows.column(0).as_primitive::<Int64Type>().values();
        let (names, osts) = (
            rows.column(1).as_string::<i32>(),
            rows.column(2).as_binary::<i32>(),
        );
        for (row, log) in logs.iter().enumerate() {
            if here.0 != Some(*log) {
                end(here.0, std::mem::take(&mut here.1));
                here.0 = Some(*log);
            }
            if names.is_null(row) || !sampled.contains(names.value(row)) {
                continue;
            }
            let of_fs = here.1.entry(names.value(row).to_string()).or_default();
            if osts.is_valid(row) {
                let set = RoaringBitmap::deserialize_from(osts.value(row));
                *of_fs |= set.map_err(|e| {
                    Error::Invalid(format!("darshan_file.ost_bits of log {log}: {e}"))
                })?;
            }
        }
    }
    end(here.0, here.1);
    let union = |(fs, used): (String, Used)| {
        let by_ost = used
            .by_ost
            .into_iter()
            .map(|(ost, times)| (ost, times.union()));
        let times = FsTimes {
            all: used.all.union(),
            by_ost: Some(by_ost.collect()),
        };
        (fs, times)
    };
    Ok(used.into_iter().map(union).collect())
}
