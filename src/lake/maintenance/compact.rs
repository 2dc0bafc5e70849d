//! Writing a lake anew where many small ingests have left it in small pieces, or in one large one.
//!
//! Ranges are merged and cut in steps of some GiB, each published by itself, so that a kill or a lost race costs one step. A step
//! yields to whoever was faster: what others have touched in the meantime is left to the next step, the rest is published on top
//! of their version. No row is changed; which input it came from and when is as before.

use super::rebalance::{Extent, Rewrite, ideal, rebalance, stays};
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::file::data_sink::{Finished, Syncing};
use crate::lake::file::descriptors::Threads;
use crate::lake::file::placement::Placement;
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::file::temp;
use crate::lake::file::temp::Spill;
use crate::lake::file::writer::RangeWriter;
use crate::lake::ingest::external_sort::of_jobs;
use crate::lake::ingest::merge::in_order;
use crate::lake::ingest::options::Progress;
use crate::lake::threads::on_threads;
use crate::lake::version::commit::{Change, is_unknown};
use crate::lake::version::lease::Lease;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::manifest::JobRange;
use crate::lake::version::range_result::RangeResult;
use crate::lake::version::snapshot::Snapshot;
use crate::table::table;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Ranges' worth of bytes that are written before they are published.
const STEP: u64 = 16;
/// How often a step is published on top of others' versions before it gives up.
const TRIES: usize = 50;
/// How often a span may be lost to others before it is left alone.
const LOSSES: u32 = 3;
/// How often what a compaction wrote may be written by it again: merged files are smaller than their parts were together, which
/// may call for another merge, but not for ever.
const GENERATIONS: u32 = 4;

/// How a lake is compacted.
#[derive(Clone, Debug)]
pub struct CompactOptions {
    /// Threads.
    pub threads: usize,
    /// Bytes of memory for all of them.
    pub memory: usize,
    /// Only say what would be written anew.
    pub dry_run: bool,
    /// Directory of temporary files; that of the system if None, or one in the lake where that is memory.
    pub temp: Option<PathBuf>,
    /// Set to stop: what was published by then stays.
    pub cancel: Arc<AtomicBool>,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: 512 << 20,
            dry_run: false,
            temp: None,
            cancel: Arc::default(),
        }
    }
}

/// How a lake is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Ranges of job ids.
    pub ranges: u64,
    /// Data files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lists of inputs.
    pub lists: u64,
}

impl Shape {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            ranges: snapshot.splits().len() as u64 + 1,
            files: snapshot.files().len() as u64,
            bytes: snapshot.files().iter().map(|file| file.bytes).sum(),
            lists: snapshot.manifest.inputs.len() as u64,
        }
    }
}

/// What a compaction did, or would do.
#[derive(Clone, Debug, Default)]
pub struct CompactReport {
    /// The last version that it made; None if there was nothing to do.
    pub version: Option<u64>,
    /// The lake before it.
    pub before: Shape,
    /// The lake after it; in a dry run about, with the bytes of before.
    pub after: Shape,
    /// Data files that were written anew.
    pub rewritten: u64,
    /// Their bytes.
    pub rewritten_bytes: u64,
    /// Ranges and days that others wrote all the time, and that were left to them.
    pub given_up: u64,
}

/// A span that was written and is not published yet.
struct Done {
    group: Rewrite,
    /// Where it is cut now.
    cuts: Vec<i64>,
    /// The target of each piece.
    osts: Vec<Option<i64>>,
    result: RangeResult,
}

/// What a compaction knows from its earlier steps.
#[derive(Default)]
struct History {
    /// How often each range was written, by its bounds.
    generations: HashMap<(Option<i64>, Option<i64>), u32>,
    /// How often each range or day was lost to others.
    losses: HashMap<String, u32>,
}

impl Lake {
    /// Merges ranges that are too small and cuts those that are too large, writes files anew that do not lie where they belong or
    /// are laid out as an older program did, and merges the lists of inputs. Readers and ingests may go on meanwhile.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::Conflict`] if others commit all the time, and everything that keeps files from being
    /// read or written. Steps that were published stay.
    pub fn compact(
        &self,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<CompactReport> {
        let report = self.compact_files(options, progress);
        report.map_err(|e| self.unless_gone(e))
    }

    fn compact_files(
        &self,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<CompactReport> {
        let (site, snapshot) = (self.site()?, self.snapshot_to_change()?);
        let mut report = CompactReport {
            before: Shape::of(&snapshot),
            ..CompactReport::default()
        };
        if options.dry_run {
            dry_run(&snapshot, &site.place, &mut report);
            return Ok(report);
        }
        self.check_owner()?;
        let threads = Threads::new(options.threads);
        let options = &CompactOptions {
            threads: threads.count(),
            temp: Some(temp::directory(options.temp.as_deref(), &self.store)),
            ..options.clone()
        };
        let mut history = History::default();
        snapshot.manifest.check_writer(&self.store)?;
        let lease = Lease::take(&self.store)?;
        loop {
            let snapshot = self.snapshot_to_change()?;
            let groups = step(&snapshot, &site.place, &history);
            if groups.is_empty() {
                break;
            }
            let bytes = groups.iter().map(Rewrite::bytes).sum();
            progress.planned(groups.len() as u64, bytes);
            let mut done = vec![];
            let written = self.write(
                &snapshot,
                &site.place,
                groups,
                options,
                progress,
                &mut history,
                &mut done,
            );
            let published = written
                .and_then(|()| self.publish(&mut done, options, &lease, &mut history, &mut report));
            if !is_unknown(&published) {
                self.discard_all(&done);
            }
            published?;
        }
        if let Some(version) = self.compact_lists(&options.cancel, &lease)? {
            report.version = Some(version);
        }
        let given_up = history.losses.values().filter(|lost| **lost >= LOSSES);
        report.given_up = given_up.count() as u64;
        report.after = Shape::of(&*self.snapshot(None)?);
        Ok(report)
    }

    /// Writes the groups' files; what is whole is in `done` whatever happens.
    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        snapshot: &Snapshot,
        place: &Placement,
        groups: Vec<Rewrite>,
        options: &CompactOptions,
        progress: &dyn Progress,
        history: &mut History,
        done: &mut Vec<Done>,
    ) -> Result<()> {
        let mut bytes_on: HashMap<i64, u64> = HashMap::new();
        for file in snapshot.files() {
            *bytes_on.entry(file.ost.unwrap_or(-1)).or_default() += file.bytes;
        }
        let threads = options.threads.max(1);
        let temp = temp::or_systems(options.temp.as_deref());
        // A thread writes one file at a time.
        let memory = (options.memory / threads / 8).clamp(1 << 20, 16 << 20);
        let mut tasks = vec![];
        for group in groups {
            let cuts = group.cuts(snapshot)?;
            let pieces = pieces(snapshot, place, &group, &cuts, &mut bytes_on, memory, &temp);
            let added = added(snapshot, place, &group, &pieces);
            let same = matches!(&group.span, Extent::Jobs { inner, .. } if *inner == cuts);
            history.note(&group, &cuts, same && added.is_empty());
            if same && added.is_empty() {
                // One job, however large, is not cut.
                continue;
            }
            let number = done.len();
            tasks.extend(added.into_iter().map(|(table, old)| RewriteTask {
                group: number,
                table,
                old,
                pieces: pieces.clone(),
            }));
            done.push(Done {
                group,
                cuts,
                osts: pieces.iter().map(|target| target.ost.get()).collect(),
                result: RangeResult::default(),
            });
        }
        // The largest first.
        let bytes = |task: &RewriteTask| task.old.iter().map(|file| file.bytes).sum::<u64>();
        tasks.sort_by_key(|task| Reverse(bytes(task)));
        // A task that fails may have written files, too, which are discarded later.
        let results = Mutex::new(vec![]);
        let (_, failure) = on_threads(
            threads,
            tasks,
            || Ok(()),
            |_, task| {
                let mut result = RangeResult::default();
                let written = task.run(&options.cancel, &mut result);
                if let Ok(mut results) = results.lock() {
                    results.push((task.group, result));
                }
                written.map(|()| progress.done(bytes(&task), false))
            },
        );
        for (group, result) in results.into_inner().unwrap_or_default() {
            if let Some(done) = done.get_mut(group) {
                done.result.files.extend(result.files);
                done.result.replaced.extend(result.replaced);
            }
        }
        match failure {
            Some(e) => Err(e),
            None if options.cancel.load(Ordering::Relaxed) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    /// Publishes what nobody else has touched meanwhile; what is left in `done` afterwards was not published.
    fn publish(
        &self,
        done: &mut Vec<Done>,
        options: &CompactOptions,
        lease: &Lease,
        history: &mut History,
        report: &mut CompactReport,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let snapshot = self.snapshot_to_change()?;
            let (good, lost): (Vec<Done>, Vec<Done>) = std::mem::take(done)
                .into_iter()
                .partition(|done| done.group.is_in(&snapshot));
            for lost in &lost {
                let lost = format!("{:?}", lost.group.span);
                *history.losses.entry(lost).or_default() += 1;
            }
            self.discard_all(&lost);
            *done = good;
            if done.is_empty() {
                return Ok(());
            }
            let change = Change {
                operation: "compact",
                ranges: Some(recut(&snapshot, done)),
                results: done.iter().map(|done| &done.result).collect(),
                cancel: Some(&options.cancel),
                lease: Some(lease),
                ..Change::default()
            };
            if let Some(version) = self.commit(&snapshot, change)? {
                report.version = Some(version);
                for done in std::mem::take(done) {
                    report.rewritten += done.result.replaced.len() as u64;
                    let old = done.group.old.iter();
                    let gone = old.filter(|file| done.result.replaced.contains(&file.path));
                    report.rewritten_bytes += gone.map(|file| file.bytes).sum::<u64>();
                }
                return Ok(());
            }
        }
        Err(self.conflict("compaction", TRIES))
    }

    fn discard_all(&self, done: &[Done]) {
        for file in done.iter().flat_map(|done| &done.result.files) {
            let _ = self.store.delete(&file.path);
        }
    }
}

impl History {
    /// Whether a group was lost or written too often.
    fn is_blocked_for(&self, group: &Rewrite) -> bool {
        let lost = self.losses.get(&format!("{:?}", group.span));
        lost.is_some_and(|lost| *lost >= LOSSES)
            || self
                .generation(group)
                .is_some_and(|generation| generation >= GENERATIONS)
    }

    /// How often the least written of its ranges was written.
    fn generation(&self, group: &Rewrite) -> Option<u32> {
        let Extent::Jobs { from, to, inner } = &group.span else {
            return None;
        };
        let known = |bounds| self.generations.get(&bounds).copied().unwrap_or(0);
        bounds(*from, *to, inner).into_iter().map(known).min()
    }

    /// Notes that a group is about to be cut so; `never` if there is no way to do better.
    fn note(&mut self, group: &Rewrite, cuts: &[i64], never: bool) {
        let generation = match never {
            true => GENERATIONS,
            false => self.generation(group).unwrap_or(0) + 1,
        };
        if let Extent::Jobs { from, to, .. } = &group.span {
            let pieces = bounds(*from, *to, cuts).into_iter();
            self.generations
                .extend(pieces.map(|bounds| (bounds, generation)));
        }
    }
}

/// The pieces of a span that is cut at `inner`.
fn bounds(from: Option<i64>, to: Option<i64>, inner: &[i64]) -> Vec<(Option<i64>, Option<i64>)> {
    let cuts = inner.iter().copied().map(Some);
    let starts = std::iter::once(from).chain(cuts.clone());
    starts.zip(cuts.chain([to])).collect()
}

/// The groups of the next step.
fn step(snapshot: &Snapshot, place: &Placement, history: &History) -> Vec<Rewrite> {
    let most = STEP.saturating_mul(snapshot.manifest.range_bytes);
    let mut bytes = 0u64;
    let groups = rebalance(snapshot, place).into_iter();
    groups
        .filter(|group| !history.is_blocked_for(group))
        .take_while(|group| {
            let first = bytes == 0;
            bytes += group.bytes().max(1);
            first || bytes <= most
        })
        .collect()
}

/// What a compaction would do, as far as the manifest tells.
fn dry_run(snapshot: &Snapshot, place: &Placement, report: &mut CompactReport) {
    report.after = report.before;
    for group in rebalance(snapshot, place) {
        let tables: BTreeSet<&str> = group.old.iter().map(|file| file.table.as_str()).collect();
        report.rewritten += group.old.len() as u64;
        report.rewritten_bytes += group.bytes();
        if let Extent::Jobs { inner, .. } = &group.span {
            report.after.ranges += group.parts as u64;
            report.after.ranges -= inner.len() as u64 + 1;
        }
        report.after.files += (tables.len() * group.parts) as u64;
        report.after.files -= group.old.len() as u64;
    }
    report.after.lists = super::compact_inputs::after(&snapshot.manifest.inputs) as u64;
}

/// Where the pieces of a group are written.
fn pieces(
    snapshot: &Snapshot,
    place: &Placement,
    group: &Rewrite,
    cuts: &[i64],
    bytes_on: &mut HashMap<i64, u64>,
    memory: usize,
    temp: &Path,
) -> Arc<Vec<FileDestination>> {
    let spill = Spill::new(temp);
    // The first piece stays where most of the group is.
    let mut here: BTreeMap<i64, u64> = BTreeMap::new();
    for file in &group.old {
        if let Some(ost) = file.ost.filter(|ost| place.has(*ost)) {
            *here.entry(ost).or_default() += file.bytes;
        }
    }
    let mut kept = here
        .into_iter()
        .max_by_key(|(_, bytes)| *bytes)
        .map(|(ost, _)| ost);
    let (spans, day) = match &group.span {
        Extent::Jobs { from, to, .. } => (bounds(*from, *to, cuts), None),
        Extent::Day { fs, day, .. } => (vec![(None, None)], Some((fs.clone(), *day))),
    };
    let first = group.span.ranges(snapshot.splits()).map(|r| r.start);
    let share = ideal(snapshot).min(group.bytes());
    let targets = spans.into_iter().enumerate().map(|(piece, (from, to))| {
        let ost = kept.take().or_else(|| {
            let ost = place.choose(|ost| bytes_on.get(&ost).copied().unwrap_or(0))?;
            *bytes_on.entry(ost).or_default() += share;
            Some(ost)
        });
        FileDestination {
            store: snapshot.store().clone(),
            place: place.clone(),
            lake_id: snapshot.manifest.lake_id.clone(),
            range: first.map(|first| first + piece),
            day: day.clone(),
            from,
            to,
            ost: RangeTarget::new(ost),
            version: snapshot.version() + 1,
            memory,
            spill: spill.clone(),
        }
    });
    Arc::new(targets.collect())
}

/// The tables of a group that must be written anew, and their files: not the only file of a table that is as it should be.
fn added(
    snapshot: &Snapshot,
    place: &Placement,
    group: &Rewrite,
    pieces: &[FileDestination],
) -> Vec<(String, Vec<DataFile>)> {
    let mut tables: BTreeMap<String, Vec<DataFile>> = BTreeMap::new();
    for file in &group.old {
        let of_table = tables.entry(file.table.clone()).or_default();
        of_table.push(file.clone());
    }
    let good = |files: &[DataFile]| match (files, pieces) {
        ([file], [target]) => {
            file.ost == target.ost.get() && stays(file, place, &snapshot.manifest.lake_id)
        }
        _ => false,
    };
    tables.into_iter().filter(|(_, old)| !good(old)).collect()
}

/// The ranges of the next version.
fn recut(snapshot: &Snapshot, done: &[Done]) -> Vec<JobRange> {
    let mut ranges = snapshot.manifest.ranges.clone();
    for done in done {
        // Nobody else has cut it otherwise: that was looked at.
        let splits: Vec<i64> = ranges.iter().filter_map(|range| range.from).collect();
        if let Some(places) = done.group.span.ranges(&splits) {
            let first = ranges[places.start].from;
            let bounds = std::iter::once(first).chain(done.cuts.iter().copied().map(Some));
            let pieces = bounds.zip(&done.osts);
            let pieces: Vec<_> = pieces
                .map(|(from, ost)| JobRange { from, ost: *ost })
                .collect();
            ranges.splice(places, pieces);
        }
    }
    ranges
}

/// One table of a group.
struct RewriteTask {
    group: usize,
    table: String,
    old: Vec<DataFile>,
    pieces: Arc<Vec<FileDestination>>,
}

impl RewriteTask {
    /// Writes the rows of the old files to one file for each piece.
    fn run(&self, cancel: &AtomicBool, result: &mut RangeResult) -> Result<()> {
        let Some(first) = self.pieces.first() else {
            return Ok(());
        };
        let table = table(&self.table)?;
        let job = table.position("job_id");
        let new = |target: &FileDestination| {
            RangeWriter::new(table, target.clone(), &[], Arc::new(HashSet::new()))
        };
        let mut syncing = Syncing::new(&first.store);
        // Whoever fails must find the files to delete them.
        let mut take = |file: Option<Finished>| match file {
            Some(file) => {
                result.files.push(file.data);
                syncing.push(file.unsynced)
            }
            None => Ok(()),
        };
        let mut ahead = self.pieces.iter().skip(1);
        let (mut target, mut writer) = (first, new(first)?);
        let written = in_order(table, first, &self.old, |rows| {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let mut rows = rows;
            while let (Some(at), Some(to)) = (job, target.to) {
                let here = of_jobs(&rows, at, None, Some(to));
                if here.num_rows() == rows.num_rows() {
                    break;
                }
                writer.write(&here)?;
                rows = rows.slice(here.num_rows(), rows.num_rows() - here.num_rows());
                let Some(next) = ahead.next() else {
                    break;
                };
                target = next;
                take(std::mem::replace(&mut writer, new(next)?).finish()?)?;
            }
            writer.write(&rows)
        });
        written.and_then(|()| take(writer.finish()?))?;
        let rows = |files: &[DataFile]| files.iter().map(|file| file.rows).sum::<u64>();
        let (before, after) = (rows(&self.old), rows(&result.files));
        if before != after {
            return Err(Error::Lake {
                lake: first.store.show(""),
                reason: format!(
                    "{} rows of {} where the list of files says {before}; run `iolode lake check`",
                    after, self.table
                ),
            });
        }
        result
            .replaced
            .extend(self.old.iter().map(|file| file.path.clone()));
        syncing.finish()?;
        Ok(())
    }
}
