//! What an ingest has to do: which inputs are new, which ranges change, where they are cut.

use super::convert::RangeTask;
use super::ingest::IngestOptions;
use super::list::{Candidate, Known, Planned};
use super::parts::{DataFile, InputRow};
use super::placement::Placement;
use super::ranges::{range_of, splits_for};
use super::site::SiteFile;
use super::snapshot::Snapshot;
use super::writer::{Target, read_data};
use crate::error::Result;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Ranges of a first ingest with enough logs, so that all cores have work and scans can be divided.
const FIRST_RANGES: usize = 16;
/// Logs for each of them.
const FIRST_LOGS: usize = 32;

/// What the lake knows, as far as an ingest needs it.
pub(super) struct Memory {
    pub(super) known: Known,
    /// Hashes of the logs whose rows are in the lake.
    pub(super) hashes: HashSet<i64>,
    /// Inputs with each of several hashes.
    pub(super) holders: HashMap<i64, usize>,
}

/// What is to be done in one try.
pub(super) struct Work {
    pub(super) logs: Vec<Planned>,
    pub(super) failed: Vec<InputRow>,
    /// Logs whose rows go, with their jobs.
    pub(super) drops: Vec<(i64, i64)>,
}

impl Work {
    pub(super) fn new(
        todo: &[Candidate],
        peeked: &HashMap<PathBuf, (Candidate, Result<Option<Planned>, InputRow>)>,
        unlisted: &[InputRow],
        memory: &Memory,
        options: &IngestOptions<'_>,
    ) -> Self {
        let mut work = Self {
            logs: vec![],
            failed: vec![],
            drops: vec![],
        };
        for file in todo {
            match peeked.get(&file.path) {
                Some((_, Ok(Some(log)))) => work.logs.push(log.clone()),
                Some((_, Err(row))) => work.failed.push(row.clone()),
                _ => continue,
            }
            let Some(row) = memory
                .known
                .get(file.path.to_string_lossy().as_ref())
                .filter(|row| row.status.has_rows())
            else {
                continue;
            };
            let unchanged = row.bytes == file.bytes && row.modified == file.modified;
            if let (Some(hash), Some(job)) = (row.content_hash, row.job_id)
                // Another input with the same bytes keeps the rows of one that has changed.
                && (unchanged || memory.holders.get(&hash).is_none_or(|n| *n <= 1))
            {
                work.drops.push((job, hash));
            }
        }
        let same = |row: &&InputRow| {
            memory
                .known
                .get(&row.path)
                .is_some_and(|known| known.status == row.status && known.error == row.error)
        };
        work.failed.extend(
            unlisted
                .iter()
                .filter(|row| !same(row) || options.refresh)
                .cloned(),
        );
        work
    }

    pub(super) fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.failed.is_empty() && self.drops.is_empty()
    }
}

pub(super) fn remember_peeks(
    peeked: &mut HashMap<PathBuf, (Candidate, Result<Option<Planned>, InputRow>)>,
    files: &[Candidate],
    logs: Vec<Planned>,
    failed: Vec<InputRow>,
) {
    for file in files {
        peeked.insert(file.path.clone(), (file.clone(), Ok(None)));
    }
    for log in logs {
        peeked.insert(log.file.path.clone(), (log.file.clone(), Ok(Some(log))));
    }
    for row in failed {
        if let Some(entry) = peeked.get_mut(&PathBuf::from(&row.path)) {
            entry.1 = Err(row);
        }
    }
}

/// Reads the lists of inputs once: the rows of the listed paths, and the hashes of all.
pub(super) fn remember(
    snapshot: &Snapshot,
    candidates: &[Candidate],
    unlisted: &[InputRow],
) -> Result<Memory> {
    let listed: HashSet<u64> = candidates
        .iter()
        .map(|file| xxh3_64(file.path.to_string_lossy().as_bytes()))
        .chain(unlisted.iter().map(|row| xxh3_64(row.path.as_bytes())))
        .collect();
    let mut known = Known::new();
    // By the hash of the path: a lake may know a million of them.
    let mut newest: HashMap<u64, (u64, Option<i64>, bool)> = HashMap::new();
    snapshot.each_input(|row| {
        let path = xxh3_64(row.path.as_bytes());
        let entry = newest.entry(path).or_insert((0, None, false));
        if row.version >= entry.0 {
            *entry = (row.version, row.content_hash, row.status.has_rows());
            if listed.contains(&path) {
                known.insert(row.path.clone(), row);
            }
        }
    })?;
    let (mut hashes, mut holders) = (HashSet::new(), HashMap::new());
    for (_, hash, has_rows) in newest.into_values() {
        if let Some(hash) = hash {
            *holders.entry(hash).or_insert(0) += 1;
            if has_rows {
                hashes.insert(hash);
            }
        }
    }
    holders.retain(|_, n| *n > 1);
    Ok(Memory {
        known,
        hashes,
        holders,
    })
}

/// What an ingest is going to do.
pub(super) struct Plan {
    /// Split points of the next version.
    pub(super) splits: Vec<i64>,
    /// The target of each of its ranges.
    pub(super) osts: Vec<Option<i64>>,
    /// The ranges that change.
    pub(super) tasks: Vec<RangeTask>,
}

/// The ranges of the next version, their targets, and what is to be done in each that changes.
pub(super) fn plan(
    snapshot: &Snapshot,
    site: &SiteFile,
    work: &mut Work,
    options: &IngestOptions<'_>,
) -> Result<Plan> {
    let manifest = &snapshot.manifest;
    // Parquet takes about as many bytes as the logs do.
    let weight = |log: &Planned| (log.peek.job_id, log.file.bytes.max(1));
    let mut splits = manifest.splits.clone();
    let first = snapshot.files().is_empty() && splits.is_empty();
    let mut cut: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    for range in 0..=splits.len() {
        let mut weights: Vec<(i64, u64)> = work
            .logs
            .iter()
            .filter(|log| range_of(&splits, log.peek.job_id) == range)
            .map(weight)
            .collect();
        if weights.is_empty() {
            continue;
        }
        let old: Vec<&DataFile> = snapshot
            .files()
            .iter()
            .filter(|file| file.range == Some(range))
            .collect();
        let total = weights.iter().map(|w| w.1).sum::<u64>()
            + old.iter().map(|file| file.bytes).sum::<u64>();
        let mut parts = total.div_ceil(manifest.range_bytes) as usize;
        if first && weights.len() >= FIRST_RANGES * FIRST_LOGS {
            parts = parts.max(FIRST_RANGES);
        } else if total <= 2 * manifest.range_bytes {
            continue;
        }
        weights.extend(old_weights(snapshot, &old)?);
        cut.insert(range, splits_for(&mut weights, parts.max(1)));
    }

    // Old ranges, each in one or several pieces.
    let mut osts = vec![];
    let mut bytes_on: HashMap<i64, u64> = HashMap::new();
    for file in snapshot.files() {
        *bytes_on.entry(file.ost.unwrap_or(-1)).or_default() += file.bytes;
    }
    let mut pieces: Vec<(usize, Option<i64>, Option<i64>)> = vec![];
    for range in 0..=splits.len() {
        let (from, to) = (
            range.checked_sub(1).map(|r| splits[r]),
            splits.get(range).copied(),
        );
        let inner = cut.get(&range).map_or(&[][..], Vec::as_slice);
        for piece in 0..=inner.len() {
            let from = piece.checked_sub(1).map_or(from, |p| Some(inner[p]));
            pieces.push((range, from, inner.get(piece).copied().or(to)));
            let kept = manifest
                .osts
                .get(range)
                .copied()
                .flatten()
                .filter(|_| piece == 0);
            let ost = kept.or_else(|| {
                site.place
                    .choose(|ost| bytes_on.get(&ost).copied().unwrap_or(0))
            });
            if let Some(ost) = ost.filter(|_| cut.contains_key(&range)) {
                *bytes_on.entry(ost).or_default() += manifest.range_bytes;
            }
            osts.push(ost);
        }
    }
    splits = pieces
        .iter()
        .skip(1)
        .filter_map(|(_, from, _)| *from)
        .collect();

    let mut logs: BTreeMap<usize, Vec<Planned>> = BTreeMap::new();
    work.logs.drain(..).for_each(|log| {
        logs.entry(range_of(&splits, log.peek.job_id))
            .or_default()
            .push(log)
    });
    let mut drops: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
    work.drops.iter().for_each(|(job, log)| {
        _ = drops
            .entry(range_of(&splits, *job))
            .or_default()
            .insert(*log)
    });
    let group_bytes = (options.memory / 2 / options.threads.max(1) / 8).clamp(1 << 20, 32 << 20);
    let mut tasks = vec![];
    for (number, (old_range, from, to)) in pieces.into_iter().enumerate() {
        let logs = logs.remove(&number).unwrap_or_default();
        let drop = drops.remove(&number).unwrap_or_default();
        let rewrite = cut.get(&old_range).is_some_and(|inner| !inner.is_empty());
        if logs.is_empty() && drop.is_empty() && !rewrite {
            continue;
        }
        let old = snapshot
            .files()
            .iter()
            .filter(|file| file.range == Some(old_range))
            .cloned()
            .collect();
        let place: Placement = site.place.clone();
        let target = Target {
            store: snapshot.store().clone(),
            place,
            lake_id: manifest.lake_id.clone(),
            range: number,
            from,
            to,
            ost: osts[number],
            version: snapshot.version() + 1,
            group_bytes,
        };
        tasks.push(RangeTask {
            target,
            logs,
            old,
            drop: Arc::new(drop.into_iter().collect()),
            rewrite,
        });
    }
    Ok(Plan {
        splits,
        osts,
        tasks,
    })
}

/// Job ids in the files of a range, each with its share of their bytes.
fn old_weights(snapshot: &Snapshot, old: &[&DataFile]) -> Result<Vec<(i64, u64)>> {
    let bytes: u64 = old.iter().map(|file| file.bytes).sum();
    // The table of logs has every job; each of its rows stands for about as many bytes.
    let listing = old
        .iter()
        .filter(|file| file.table == "darshan_log")
        .max_by_key(|file| file.rows)
        .or(old.iter().max_by_key(|file| file.rows));
    let Some(file) = listing else {
        return Ok(vec![]);
    };
    let mut weights = vec![];
    for batch in read_data(snapshot.store(), &file.path, 65_536)? {
        let batch = batch?;
        let jobs = batch
            .column_by_name("job_id")
            .and_then(|column| column.as_primitive_opt::<Int64Type>());
        weights.extend(
            jobs.iter()
                .flat_map(|jobs| jobs.values().iter())
                .map(|job| (*job, bytes / file.rows.max(1))),
        );
    }
    Ok(weights)
}
