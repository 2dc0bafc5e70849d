//! Which ranges an ingest changes, where they are cut, and on which targets they lie.

use super::candidate::Planned;
use super::change_set::ChangeSet;
use super::external_sort::{ExternalSort, SortedRun};
use super::options::IngestOptions;
use super::task::DaysTask;
use super::task::{RangeTask, Task};
use crate::error::Result;
use crate::lake::derived::derivations::Derivations;
use crate::lake::file::placement::Placement;
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::file::temp::Spill;
use crate::lake::maintenance::rebalance::{FEWEST, LOGS, ROWS, ideal, job_weights};
use crate::lake::version::list_file::DataFile;
use crate::lake::version::manifest::JobRange;
use crate::lake::version::ranges::{range_of, splits_for};
use crate::lake::version::site::SiteFile;
use crate::lake::version::snapshot::Snapshot;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the uppermost range below which no new one is begun above it.
const LEAST_TOP: u64 = 4 << 20;
/// Bytes of memory of a dump's rows for each byte of Parquet, about.
const DUMPED: u64 = 6;

/// What an ingest is going to do.
pub(in crate::lake) struct IngestPlan {
    /// The ranges of the next version.
    pub(in crate::lake) ranges: Vec<JobRange>,
    /// The ranges and the days that change.
    pub(in crate::lake) tasks: Vec<Task>,
}

/// The ranges of the next version, their targets, and what is to be done in each that changes.
pub(in crate::lake) fn plan(
    snapshot: &Snapshot,
    site: &SiteFile,
    work: &mut ChangeSet,
    sorted: &ExternalSort,
    derivations: &Derivations,
    options: &IngestOptions<'_>,
) -> Result<IngestPlan> {
    let manifest = &snapshot.manifest;
    // Parquet takes about as many bytes as the logs do.
    let weight = |log: &Planned| (log.job_id, log.file.bytes.max(1));
    let mut splits = manifest.splits();
    // A lake that began with few logs, too, gets ranges when many come.
    let few = splits.len() + 1 < FEWEST;
    let mut held: Vec<Vec<DataFile>> = vec![vec![]; splits.len() + 1];
    for file in snapshot.files() {
        if let Some(of_range) = file.range.and_then(|range| held.get_mut(range)) {
            of_range.push(file.clone());
        }
    }
    let mut cut: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    let mut new_weights: BTreeMap<usize, Vec<(i64, u64)>> = BTreeMap::new();
    for log in &work.logs {
        let range = range_of(&splits, log.job_id);
        new_weights.entry(range).or_default().push(weight(log));
    }
    // Of the rows of dumps those of a job lie together, and a block of them holds few jobs.
    let mut dumped: BTreeMap<usize, usize> = BTreeMap::new();
    for block in sorted.runs.iter().flat_map(|run| &run.blocks) {
        let Some((least, most)) = block.jobs else {
            continue;
        };
        let weight = (block.bytes as u64 / DUMPED / 2).max(1);
        for job in [least, most] {
            let range = range_of(&splits, job);
            new_weights.entry(range).or_default().push((job, weight));
            *dumped.entry(range).or_default() += block.rows / 2;
        }
    }
    for (range, mut weights) in new_weights {
        let old = held.get(range).cloned().unwrap_or_default();
        let total = weights.iter().map(|w| w.1).sum::<u64>()
            + old.iter().map(|file| file.bytes).sum::<u64>();
        let mut parts = total.div_ceil(manifest.range_bytes) as usize;
        let dumped = dumped.get(&range).copied().unwrap_or(0);
        let many = weights.len() >= FEWEST * LOGS || dumped >= FEWEST * ROWS;
        if few && many {
            parts = parts.max(FEWEST);
        } else if range == splits.len()
            && let Some(inner) = above_top(snapshot, &old, &weights)
        {
            cut.insert(range, inner);
            continue;
        } else if total <= 2 * manifest.range_bytes {
            continue;
        }
        weights.extend(job_weights(snapshot, &old)?);
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
                .ranges
                .get(range)
                .and_then(|range| range.ost)
                .filter(|ost| piece == 0 && site.place.has(*ost));
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
    std::mem::take(&mut work.logs).into_iter().for_each(|log| {
        logs.entry(range_of(&splits, log.job_id))
            .or_default()
            .push(log)
    });
    logs.values_mut().for_each(Vec::shrink_to_fit);
    let mut drops: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
    work.drops.iter().for_each(|(job, log)| {
        _ = drops
            .entry(range_of(&splits, *job))
            .or_default()
            .insert(*log)
    });
    let memory = options.range_memory();
    let temp = options.temp();
    let starts: Vec<usize> = pieces.iter().map(|(old_range, ..)| *old_range).collect();
    let mut tasks = vec![];
    for (number, (old_range, from, to)) in pieces.into_iter().enumerate() {
        let logs = logs.remove(&number).unwrap_or_default();
        let drop = drops.remove(&number).unwrap_or_default();
        let touches = |(least, most): (i64, i64)| {
            from.is_none_or(|from| from <= most) && to.is_none_or(|to| least < to)
        };
        let inside = |(least, most): (i64, i64)| {
            from.is_none_or(|from| from <= least) && to.is_none_or(|to| most < to)
        };
        let old = held[old_range].iter();
        let old = old.filter(|file| file.job_id.is_none_or(touches));
        let old: Vec<DataFile> = old.cloned().collect();
        // What is cut is written anew; what lies below the cuts whole stays where it is.
        let first = number == 0 || starts[number - 1] != old_range;
        let rewrite = cut.contains_key(&old_range)
            && !(first && old.iter().all(|file| file.job_id.is_some_and(inside)))
            && !old.is_empty();
        let runs: Vec<Arc<SortedRun>> = sorted
            .runs
            .iter()
            .filter(|run| run.touches(from, to))
            .cloned()
            .collect();
        let (least, most) = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
        let moved = match sorted.moved.range(least..most).next() {
            Some(_) => sorted.moved.clone(),
            None => Arc::default(),
        };
        let tables = old.iter().map(|file| file.table.as_str());
        let is_outdated = derivations.is_outdated(options, tables);
        let is_dumped = !runs.is_empty() || !moved.is_empty();
        if logs.is_empty() && drop.is_empty() && !is_dumped && !rewrite && !is_outdated {
            continue;
        }
        let place: Placement = site.place.clone();
        let target = FileDestination {
            store: snapshot.store().clone(),
            place,
            lake_id: manifest.lake_id.clone(),
            range: Some(number),
            day: None,
            from,
            to,
            ost: RangeTarget::new(osts[number]),
            version: snapshot.version() + 1,
            memory,
            spill: Spill::new(&temp),
        };
        tasks.push(Task::Range(RangeTask {
            target,
            logs,
            runs,
            old,
            drop: Arc::new(drop.into_iter().collect()),
            moved,
            derived: derivations.tables.clone(),
            rewrite,
        }));
    }
    tasks.extend(days(snapshot, site, sorted, &mut bytes_on, memory, &temp));
    let bounds = std::iter::once(None).chain(splits.into_iter().map(Some));
    let ranges = bounds.zip(osts).map(|(from, ost)| JobRange { from, ost });
    Ok(IngestPlan {
        ranges: ranges.collect(),
        tasks,
    })
}

/// Where the uppermost range is cut so that what an ingest brings above it lies in ranges of its own, and what was there need not
/// be written anew day after day; None while that is small, or nothing new lies above it.
fn above_top(snapshot: &Snapshot, old: &[DataFile], new: &[(i64, u64)]) -> Option<Vec<i64>> {
    let whole = snapshot.manifest.range_bytes;
    let held: u64 = old.iter().map(|file| file.bytes).sum();
    let last = old.iter().filter_map(|file| file.job_id).map(|jobs| jobs.1);
    let last = last.max()?;
    let (mut above, below): (Vec<_>, Vec<_>) = new.iter().partition(|(job, _)| *job > last);
    let bytes = |weights: &[(i64, u64)]| weights.iter().map(|w| w.1).sum::<u64>();
    let full = held >= ideal(snapshot).max(LEAST_TOP.min(whole));
    if !full || held + bytes(&below) > 2 * whole {
        return None;
    }
    let first = above.iter().map(|(job, _)| *job).min()?;
    let parts = bytes(&above).div_ceil(whole) as usize;
    let inner = splits_for(&mut above, parts.max(1));
    Some([vec![first], inner].concat())
}

/// For each file system and table that is cut by day the days for which there are rows.
fn days(
    snapshot: &Snapshot,
    site: &SiteFile,
    sorted: &ExternalSort,
    bytes_on: &mut HashMap<i64, u64>,
    memory: usize,
    temp: &Path,
) -> Vec<Task> {
    let tasks = sorted.days().into_iter().map(|((table, fs), days)| {
        let of_fs = |file: &&DataFile| {
            file.table == table && file.day.as_ref().is_some_and(|(name, _)| *name == fs)
        };
        let old: Vec<DataFile> = snapshot.files().iter().filter(of_fs).cloned().collect();
        let of_days = |run: &&Arc<SortedRun>| {
            run.table == table && run.day.as_ref().is_some_and(|(name, _)| *name == fs)
        };
        let osts = days.iter().map(|day| {
            let known = old
                .iter()
                .find(|file| file.day.as_ref().is_some_and(|(_, d)| d == day));
            let kept = known
                .and_then(|file| file.ost)
                .filter(|ost| site.place.has(*ost));
            let ost = kept.or_else(|| {
                site.place
                    .choose(|ost| bytes_on.get(&ost).copied().unwrap_or(0))
            });
            if let Some(ost) = ost {
                *bytes_on.entry(ost).or_default() += 1 << 20;
            }
            (*day, ost)
        });
        Task::Days(DaysTask {
            target: FileDestination {
                store: snapshot.store().clone(),
                place: site.place.clone(),
                lake_id: snapshot.manifest.lake_id.clone(),
                range: None,
                day: None,
                from: None,
                to: None,
                ost: RangeTarget::default(),
                version: snapshot.version() + 1,
                memory,
                spill: Spill::new(temp),
            },
            days: osts.collect(),
            runs: sorted.runs.iter().filter(of_days).cloned().collect(),
            old,
            table,
            fs,
        })
    });
    tasks.collect()
}
