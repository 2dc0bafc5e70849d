//! A tree of logs to one commit: the only place where sources meet the lake.

use super::convert::{RangeResult, RangeTask, Worker};
use super::failpoint::failpoint;
use super::list::{Candidate, Known, Planned, list, peek, unknown};
use super::manifest::{Manifest, Part, Summary};
use super::parts::{
    DataFile, InputRow, InputStatus, files_to_batch, inputs_to_batch, read_part, write_part,
};
use super::placement::Placement;
use super::ranges::{range_of, splits_for};
use super::site::{RegisteredSource, SiteFile};
use super::snapshot::Snapshot;
use super::writer::{Target, read_data};
use super::{Lake, now};
use crate::error::{Error, Result};
use crate::source::{SOURCES, Site, Source};
use crate::table::tables;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::xxh3_64;

/// How often a commit is tried while others commit too.
const TRIES: usize = 50;
/// Lists of inputs that a manifest may name before small ones are merged.
const MOST_PARTS: usize = 64;
/// Ranges of a first ingest with enough logs, so that all cores have work and scans can be divided.
const FIRST_RANGES: usize = 16;
/// Logs for each of them.
const FIRST_LOGS: usize = 32;

/// What is taken in, and with what means.
pub struct IngestOptions<'a> {
    /// Files and directories; the sources of `site.toml` if there are none.
    pub paths: Vec<PathBuf>,
    /// Only logs that start at or after this time, microseconds since 1970.
    pub from: Option<i64>,
    /// Only logs that start before this time.
    pub to: Option<i64>,
    /// Take the DXT modules as well; logs that were taken without them are taken anew.
    pub dxt: bool,
    /// Take inputs anew that an older reader has read, and try those again of which nothing was taken.
    pub refresh: bool,
    /// Remember the paths in `site.toml`.
    pub register: bool,
    /// Threads.
    pub threads: usize,
    /// Bytes of memory for all of them.
    pub memory: usize,
    /// Set to stop: nothing is committed then.
    pub cancel: Arc<AtomicBool>,
    /// Kinds of log.
    pub sources: &'a [&'a dyn Source],
}

impl Default for IngestOptions<'_> {
    fn default() -> Self {
        Self {
            paths: vec![],
            from: None,
            to: None,
            dxt: false,
            refresh: false,
            register: false,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: 512 << 20,
            cancel: Arc::default(),
            sources: SOURCES,
        }
    }
}

impl IngestOptions<'_> {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Told what an ingest is doing, from any of its threads.
pub trait Progress: Sync {
    /// So many files were found.
    fn listed(&self, _files: u64) {}
    /// So many more files were recognised.
    fn peeked(&self, _files: u64) {}
    /// So many logs and bytes are to be read.
    fn planned(&self, _logs: u64, _bytes: u64) {}
    /// One more log is done.
    fn done(&self, _bytes: u64, _failed: bool) {}
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {}

/// What an ingest did.
#[derive(Clone, Debug, Default)]
pub struct IngestReport {
    /// The version it made; None if there was nothing new.
    pub version: Option<u64>,
    /// Inputs that the lake knew already.
    pub unchanged: u64,
    /// Inputs taken in, by what became of them.
    pub inputs: BTreeMap<InputStatus, u64>,
    /// Bytes of the logs that were read.
    pub bytes_in: u64,
    /// Bytes of the data files that were written.
    pub bytes_out: u64,
    /// Rows of the data files that were written.
    pub rows: u64,
    /// Inputs of which nothing was taken, and why.
    pub failures: Vec<(String, String)>,
}

/// What the lake knows, as far as an ingest needs it.
struct Memory {
    /// The newest rows of the listed paths.
    known: Known,
    /// Hashes of the logs whose rows are in the lake.
    hashes: HashSet<i64>,
    /// How many inputs have each of the hashes that several have.
    holders: HashMap<i64, usize>,
}

impl Memory {
    fn of(&self, path: &Path) -> Option<&InputRow> {
        self.known.get(path.to_string_lossy().as_ref())
    }

    /// Whether the lake knows exactly this already.
    fn knows(&self, row: &InputRow) -> bool {
        let known = self.known.get(&row.path);
        known.is_some_and(|known| {
            *known
                == InputRow {
                    version: known.version,
                    ..row.clone()
                }
        })
    }
}

/// Candidates that were looked at, with what they are; None if they lie outside the period.
type Peeked = HashMap<PathBuf, Result<Option<Planned>, InputRow>>;

impl Lake {
    /// Takes in what is new below some paths, in one commit. What cannot be read is recorded and stops nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no path is given or registered, [`Error::Interrupted`], [`Error::Conflict`] if others commit all the
    /// time, and everything that keeps files from being written. Nothing is committed then.
    pub fn ingest(
        &self,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<IngestReport> {
        let mut site = self.site()?;
        let given = !options.paths.is_empty();
        let registered = site.source.iter().map(|source| PathBuf::from(&source.path));
        let paths = match given {
            true => options.paths.clone(),
            false => registered.collect(),
        };
        if paths.is_empty() {
            return Err(Error::Invalid(
                "nothing to take in: give --darshan PATH; with --register it is remembered".into(),
            ));
        }
        // Where logs usually appear may be empty or away today; what somebody asks for by name must be there.
        for path in paths.iter().filter(|_| given) {
            std::fs::metadata(path).map_err(|e| Error::io(path, "cannot read", e))?;
        }
        let mut done: HashMap<u64, RangeResult> = HashMap::new();
        let report = self.try_ingest(&paths, &site, options, progress, &mut done);
        if !report.as_ref().is_ok_and(|report| report.version.is_some()) {
            self.forget(&mut done, &HashSet::new());
        }
        if options.register && report.is_ok() {
            register(self, &mut site, &options.paths)?;
        }
        report
    }

    /// Tries to commit until nobody else is faster. What is in `done` afterwards was published if the report has a version.
    fn try_ingest(
        &self,
        paths: &[PathBuf],
        site: &SiteFile,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
        done: &mut HashMap<u64, RangeResult>,
    ) -> Result<IngestReport> {
        let mut ours = site.place.directories(&self.lake_id);
        ours.extend(self.root().map(PathBuf::from));
        let (candidates, unlisted) = list(paths, &ours)?;
        progress.listed(candidates.len() as u64);
        let rules = Arc::new(site.site()?);
        let mut peeked = Peeked::new();
        let mut planned_before = false;
        for _ in 0..TRIES {
            let snapshot = self.snapshot(None)?;
            let memory = remember(&snapshot, &candidates, &unlisted)?;
            let todo = unknown(&candidates, &memory.known, options);
            let fresh: Vec<Candidate> = todo
                .iter()
                .filter(|file| !peeked.contains_key(&file.path))
                .cloned()
                .collect();
            let (logs, failed) = peek(&fresh, options, progress)?;
            remember_peeks(&mut peeked, &fresh, logs, failed);
            let mut work = Work::new(&todo, &peeked, &unlisted, &memory, &snapshot, options)?;
            let nothing = IngestReport {
                unchanged: (candidates.len() - todo.len()) as u64,
                ..IngestReport::default()
            };
            if work.is_empty() {
                return Ok(nothing);
            }
            let (splits, osts, tasks) = plan(&snapshot, site, &mut work, options)?;
            if !planned_before {
                planned_before = true;
                let logs = || tasks.iter().flat_map(|task| &task.logs);
                let bytes = logs().map(|log| log.file.bytes).sum();
                progress.planned(logs().count() as u64, bytes);
            }
            let signatures = run(
                &tasks,
                done,
                &memory.hashes,
                rules.clone(),
                options,
                progress,
            )?;
            self.forget(done, &signatures.iter().copied().collect());
            failpoint("all-ranges-done");
            let results: Vec<&RangeResult> = signatures
                .iter()
                .filter_map(|signature| done.get(signature))
                .collect();
            let rows = || {
                work.rows
                    .iter()
                    .chain(results.iter().flat_map(|r| &r.inputs))
            };
            let changes_files = results
                .iter()
                .any(|r| !r.files.is_empty() || !r.replaced.is_empty());
            if !changes_files && rows().all(|row| memory.knows(row)) {
                return Ok(nothing);
            }
            let inputs = rows().cloned().collect();
            if let Some((version, inputs)) =
                self.commit(&snapshot, splits, osts, &results, inputs, options)?
            {
                return Ok(report(version, &inputs, &results, nothing.unchanged));
            }
        }
        let reason =
            format!("others committed {TRIES} times while this ingest was ready; run it again");
        Err(Error::Conflict {
            lake: self.store.show(""),
            reason,
        })
    }

    /// Deletes the files of results that are not kept.
    fn forget(&self, done: &mut HashMap<u64, RangeResult>, keep: &HashSet<u64>) {
        done.retain(|signature, result| {
            let kept = keep.contains(signature);
            if !kept {
                result
                    .files
                    .iter()
                    .for_each(|file| _ = self.store.delete(&file.path));
            }
            kept
        });
    }

    /// Publishes the next version; None if somebody else was faster.
    fn commit(
        &self,
        snapshot: &Snapshot,
        splits: Vec<i64>,
        osts: Vec<Option<i64>>,
        results: &[&RangeResult],
        mut inputs: Vec<InputRow>,
        options: &IngestOptions<'_>,
    ) -> Result<Option<(u64, Vec<InputRow>)>> {
        let version = snapshot.version() + 1;
        inputs.iter_mut().for_each(|row| row.version = version);
        inputs.sort_by(|a, b| a.path.cmp(&b.path));
        name_twins(snapshot, &mut inputs)?;

        let replaced: HashSet<&str> = results
            .iter()
            .flat_map(|r| r.replaced.iter().map(String::as_str))
            .collect();
        let mut files: Vec<DataFile> = snapshot
            .files()
            .iter()
            .filter(|file| !replaced.contains(file.path.as_str()))
            .cloned()
            .collect();
        let added = results
            .iter()
            .flat_map(|r| r.files.iter().cloned())
            .map(|file| DataFile { version, ..file });
        files.extend(added);
        for file in &mut files {
            file.range = file.job_id.map(|(least, _)| range_of(&splits, least));
        }
        files.sort_by(|a, b| (&a.table, a.range, &a.path).cmp(&(&b.table, b.range, &b.path)));

        let mut written = vec![];
        let publish = |written: &mut Vec<Part>| -> Result<bool> {
            let mut lists = snapshot.manifest.inputs.clone();
            if let Some(part) = write_part(&self.store, "input", &[inputs_to_batch(&inputs)?])? {
                written.push(part.clone());
                lists.push(part);
            }
            failpoint("input-part-written");
            if lists.len() > MOST_PARTS {
                lists = self.merge_parts(lists, written)?;
            }
            let list = if files.is_empty() {
                None
            } else {
                write_part(&self.store, "file", &[files_to_batch(&files, &splits)?])?
            };
            written.extend(list.clone());
            failpoint("file-part-written");
            let added: usize = results.iter().map(|r| r.files.len()).sum();
            let manifest = Manifest {
                version,
                parent: Some(snapshot.version()),
                time: now(),
                operation: "ingest".into(),
                schema_versions: tables()
                    .map(|table| (table.name.clone(), table.version))
                    .collect(),
                splits: splits.clone(),
                osts: osts.clone(),
                files: list,
                inputs: lists,
                summary: Summary {
                    inputs: inputs.iter().filter(|row| row.status.has_rows()).count() as u64,
                    inputs_failed: inputs
                        .iter()
                        .filter(|row| row.status == InputStatus::Failed)
                        .count() as u64,
                    files_added: added as u64,
                    files_removed: replaced.len() as u64,
                    rows: files.iter().map(|file| file.rows).sum(),
                    bytes: files.iter().map(|file| file.bytes).sum(),
                },
                ..snapshot.manifest.clone()
            };
            failpoint("parts-done");
            if options.is_cancelled() {
                return Err(Error::Interrupted);
            }
            // A vacuum may have run since this ingest began. If it removed the version that this one follows, others have
            // committed after that.
            if !self.store.exists(&Manifest::path(snapshot.version()))? {
                return Ok(false);
            }
            for file in results.iter().flat_map(|r| &r.files) {
                if !self.store.exists(&file.path)? {
                    return Err(Error::Lake {
                        lake: self.store.show(""),
                        reason: format!(
                            "{} was deleted before it was published, by a vacuum that spares too little; run the ingest again",
                            file.path
                        ),
                    });
                }
            }
            manifest.publish(&self.store)
        };
        match publish(&mut written) {
            Ok(true) => Ok(Some((version, inputs))),
            other => {
                written
                    .iter()
                    .for_each(|part| _ = self.store.delete(&part.path));
                other.map(|_| None)
            }
        }
    }

    /// Merges the smaller half of the lists of inputs into one, so that their number stays small and no large one is rewritten
    /// for a small addition.
    fn merge_parts(&self, mut lists: Vec<Part>, written: &mut Vec<Part>) -> Result<Vec<Part>> {
        lists.sort_by_key(|part| part.rows);
        let large = lists.split_off(lists.len() / 2 + 1);
        let mut batches = vec![];
        for part in &lists {
            read_part(&self.store, part, |batch| {
                batches.push(batch);
                Ok(())
            })?;
        }
        let merged = write_part(&self.store, "input", &batches)?;
        written.extend(merged.clone());
        Ok(large.into_iter().chain(merged).collect())
    }
}

/// What is to be done in one try.
struct Work {
    logs: Vec<Planned>,
    /// Rows of `lake_input` that are known beforehand.
    rows: Vec<InputRow>,
    /// Jobs and logs whose rows go.
    drops: Vec<(i64, i64)>,
}

impl Work {
    fn new(
        todo: &[Candidate],
        peeked: &Peeked,
        unlisted: &[InputRow],
        memory: &Memory,
        snapshot: &Snapshot,
        options: &IngestOptions<'_>,
    ) -> Result<Self> {
        let mut work = Self {
            logs: vec![],
            rows: vec![],
            drops: vec![],
        };
        // What each of the inputs was, and whether its file is still the same.
        let mut before: Vec<(&InputRow, bool)> = vec![];
        for file in todo {
            let known = memory.of(&file.path);
            match peeked.get(&file.path) {
                Some(Ok(Some(log))) => work.logs.push(Planned {
                    // What was taken once is not lost by being taken anew.
                    dxt: options.dxt || known.is_some_and(|row| row.dxt),
                    ..log.clone()
                }),
                Some(Err(row)) if memory.knows(row) => continue,
                Some(Err(row)) => work.rows.push(row.clone()),
                _ => continue,
            }
            before.extend(known.map(|row| {
                (
                    row,
                    row.bytes == file.bytes && row.modified == file.modified,
                )
            }));
        }
        let unlisted = unlisted.iter().filter(|row| !memory.knows(row));
        work.rows.extend(unlisted.cloned());

        // Several inputs can have the same bytes: their rows go with the last of them.
        let mut leaving: HashMap<i64, usize> = HashMap::new();
        let mut retaken: HashSet<i64> = HashSet::new();
        for (row, unchanged) in &before {
            let Some(hash) = row.content_hash else {
                continue;
            };
            *leaving.entry(hash).or_default() += 1;
            if *unchanged && row.status.has_rows() {
                retaken.insert(hash);
            }
        }
        let mut orphans: HashMap<i64, &InputRow> = HashMap::new();
        for (row, _) in &before {
            let (Some(hash), Some(job)) = (row.content_hash, row.job_id) else {
                continue;
            };
            let all = memory.holders.get(&hash).copied().unwrap_or(1);
            if retaken.contains(&hash) || leaving.get(&hash).is_some_and(|n| *n >= all) {
                work.drops.push((job, hash));
            } else if row.status.has_rows() {
                orphans.insert(hash, row);
            }
        }
        if !orphans.is_empty() {
            let gone: HashSet<&str> = before.iter().map(|(row, _)| row.path.as_str()).collect();
            work.rows.extend(adopt(snapshot, orphans, &gone)?);
        }
        Ok(work)
    }

    fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.rows.is_empty() && self.drops.is_empty()
    }
}

/// Where an input changes whose bytes others still have, the first of these stands for the rows from now on.
fn adopt(
    snapshot: &Snapshot,
    mut orphans: HashMap<i64, &InputRow>,
    gone: &HashSet<&str>,
) -> Result<Vec<InputRow>> {
    let mut rows = vec![];
    for row in snapshot.inputs()? {
        if gone.contains(row.path.as_str()) {
            continue;
        }
        if let Some(orphan) = row.content_hash.and_then(|hash| orphans.remove(&hash)) {
            rows.push(InputRow {
                path: row.path,
                bytes: row.bytes,
                modified: row.modified,
                ..orphan.clone()
            });
        }
    }
    Ok(rows)
}

fn remember_peeks(
    peeked: &mut Peeked,
    files: &[Candidate],
    logs: Vec<Planned>,
    failed: Vec<InputRow>,
) {
    peeked.extend(files.iter().map(|file| (file.path.clone(), Ok(None))));
    peeked.extend(
        logs.into_iter()
            .map(|log| (log.file.path.clone(), Ok(Some(log)))),
    );
    peeked.extend(
        failed
            .into_iter()
            .map(|row| (PathBuf::from(&row.path), Err(row))),
    );
}

/// Reads the lists of inputs once: the rows of the listed paths, and the hashes of all.
fn remember(
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
    let mut newest: HashMap<u64, (u64, Option<i64>)> = HashMap::new();
    snapshot.each_input(|row| {
        let path = xxh3_64(row.path.as_bytes());
        let entry = newest.entry(path).or_insert((0, None));
        if row.version >= entry.0 {
            *entry = (row.version, row.content_hash);
            if listed.contains(&path) {
                known.insert(row.path.clone(), row);
            }
        }
    })?;
    // Whose bytes are known has rows in the lake, or is skipped because of one that has.
    let (mut hashes, mut holders) = (HashSet::new(), HashMap::new());
    for hash in newest.into_values().filter_map(|(_, hash)| hash) {
        hashes.insert(hash);
        *holders.entry(hash).or_insert(0) += 1;
    }
    holders.retain(|_, n| *n > 1);
    Ok(Memory {
        known,
        hashes,
        holders,
    })
}

/// The ranges of the next version, their targets, and what is to be done in each that changes.
fn plan(
    snapshot: &Snapshot,
    site: &SiteFile,
    work: &mut Work,
    options: &IngestOptions<'_>,
) -> Result<(Vec<i64>, Vec<Option<i64>>, Vec<RangeTask>)> {
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
    Ok((splits, osts, tasks))
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

/// Runs the tasks that were not run before on all threads; the signatures of all, in order.
fn run(
    tasks: &[RangeTask],
    done: &mut HashMap<u64, RangeResult>,
    hashes: &HashSet<i64>,
    site: Arc<Site>,
    options: &IngestOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<u64>> {
    let signatures: Vec<u64> = tasks.iter().map(signature).collect();
    let mut todo: Vec<usize> = (0..tasks.len())
        .filter(|i| !done.contains_key(&signatures[*i]))
        .collect();
    todo.sort_by_key(|i| {
        std::cmp::Reverse(tasks[*i].logs.iter().map(|log| log.file.bytes).sum::<u64>())
    });
    let (next, stop, results) = (
        AtomicUsize::new(0),
        AtomicBool::new(false),
        Mutex::new(vec![]),
    );
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1).min(todo.len()) {
            scope.spawn(|| {
                let work = || -> Result<()> {
                    let mut worker = Worker::new(options, site.clone())?;
                    while let Some(i) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if stop.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                        let result = worker.convert_range(&tasks[*i], hashes, progress)?;
                        if let Ok(mut results) = results.lock() {
                            results.push((signatures[*i], result));
                        }
                    }
                    Ok(())
                };
                if let Err(e) = work() {
                    stop.store(true, Ordering::Relaxed);
                    if let Ok(mut failure) = failure.lock() {
                        failure.get_or_insert(e);
                    }
                }
            });
        }
    });
    done.extend(results.into_inner().unwrap_or_default());
    match failure.into_inner().ok().flatten() {
        Some(e) => Err(e),
        None if options.is_cancelled() => Err(Error::Interrupted),
        None => Ok(signatures),
    }
}

/// What a task's result depends on: if another version leaves it the same, the result can stay.
fn signature(task: &RangeTask) -> u64 {
    let mut text = format!(
        "{:?} {:?} {:?} {}",
        task.target.from, task.target.to, task.target.ost, task.rewrite
    );
    for log in &task.logs {
        text += &format!(
            "\n{:?} {} {}",
            log.file.path, log.file.bytes, log.file.modified
        );
    }
    task.old
        .iter()
        .for_each(|file| text += &format!("\n{}", file.path));
    let drop: BTreeSet<&i64> = task.drop.iter().collect();
    text += &format!("\n{drop:?}");
    xxh3_64(text.as_bytes())
}

/// Says of which input's bytes a skipped one is a copy.
fn name_twins(snapshot: &Snapshot, inputs: &mut [InputRow]) -> Result<()> {
    let unnamed = |row: &InputRow| {
        row.status == InputStatus::Skipped && row.content_hash.is_some() && row.error.is_none()
    };
    let mut wanted: HashMap<i64, String> = inputs
        .iter()
        .filter(|row| unnamed(row))
        .filter_map(|row| Some((row.content_hash?, String::new())))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let now: HashSet<&str> = inputs.iter().map(|row| row.path.as_str()).collect();
    let mut holds = |row: &InputRow| {
        if let Some(path) = row
            .content_hash
            .filter(|_| row.status.has_rows())
            .and_then(|hash| wanted.get_mut(&hash))
        {
            path.clone_from(&row.path);
        }
    };
    snapshot.each_input(|row| {
        if !now.contains(row.path.as_str()) {
            holds(&row);
        }
    })?;
    inputs.iter().for_each(holds);
    for row in inputs.iter_mut().filter(|row| unnamed(row)) {
        row.error = row
            .content_hash
            .and_then(|hash| wanted.get(&hash))
            .map(|path| format!("the same bytes as {path}"));
    }
    Ok(())
}

fn report(
    version: u64,
    inputs: &[InputRow],
    results: &[&RangeResult],
    unchanged: u64,
) -> IngestReport {
    let mut report = IngestReport {
        version: Some(version),
        unchanged,
        ..IngestReport::default()
    };
    for row in inputs {
        *report.inputs.entry(row.status).or_default() += 1;
        report.bytes_in += row.bytes;
        if row.status == InputStatus::Failed {
            report
                .failures
                .push((row.path.clone(), row.error.clone().unwrap_or_default()));
        }
    }
    for file in results.iter().flat_map(|r| &r.files) {
        report.bytes_out += file.bytes;
        report.rows += file.rows;
    }
    report
}

fn register(lake: &Lake, site: &mut SiteFile, paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let path = std::path::absolute(path)
            .map_err(|e| Error::io(path, "cannot use", e))?
            .to_string_lossy()
            .into_owned();
        if !site.source.iter().any(|source| source.path == path) {
            site.source.push(RegisteredSource {
                kind: "darshan".into(),
                path,
            });
        }
    }
    site.write(lake.store())
}
