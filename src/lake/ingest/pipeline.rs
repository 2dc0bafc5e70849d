//! A tree of logs to one commit: lists inputs, has dumps sorted, cuts ranges and days, has workers convert them, and commits.

use super::candidate::memory_of;
use super::change_set::{ChangeSet, Hashes, KnownInputs};
use super::discover::{Listing, list, peek};
use super::external_sort::{ExternalSort, SortedRun};
use super::lister::{Disk, is_address, name};
use super::options::{IngestOptions, InputPath, Progress, Silent};
use super::plan::{IngestPlan, plan};
use super::remote::{convert_elsewhere, split};
use super::report::{IngestReport, failure, report};
use super::task::{RangeTask, Task};
use super::write_days::convert_days;
use super::write_range::Worker;
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::derived::derivations::Derivations;
use crate::lake::file::descriptors::Threads;
use crate::lake::file::temp;
use crate::lake::threads::on_threads;
use crate::lake::version::commit::{Change, is_unknown};
use crate::lake::version::lease::Lease;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::lake::version::range_result::RangeResult;
use crate::lake::version::site::{RegisteredSource, SettingsEdit, SiteFile};
use crate::lake::version::snapshot::Snapshot;
use crate::source::{ReadContext, SOURCES, Source, without_password};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// How often a commit is tried while others commit too.
const TRIES: usize = 50;

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
        let report = self.ingest_inputs(options, progress);
        report.map_err(|e| self.unless_gone(e))
    }

    fn ingest_inputs(
        &self,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<IngestReport> {
        if self.manifest(None)?.anonymised {
            let why = "its rows have pseudonyms, and what is imported beside them would have names; create another lake";
            return Err(self.refuse(why));
        }
        let site = self.site()?;
        let given = !options.paths.is_empty();
        let registered = site.source.iter().map(|source| InputPath {
            path: PathBuf::from(&source.path),
            kind: source.kind.clone(),
        });
        let paths = match given {
            true => options.paths.clone(),
            false => registered.collect(),
        };
        let is_known = options.refreshes_known() && !self.manifest(None)?.inputs.is_empty();
        if paths.is_empty() && options.provider.is_none() && !is_known {
            return Err(nothing_to_import());
        }
        // Where logs usually appear may be empty or away today; what somebody asks for by name must be there.
        let file = |path: &&InputPath| given && !is_address(&path.path.to_string_lossy());
        for InputPath { path, .. } in paths.iter().filter(file) {
            std::fs::metadata(path).map_err(|e| Error::io(path, "cannot read", e))?;
        }
        self.take_in(&paths, &site, options, progress)
    }

    /// Fills derived tables ([`IngestOptions::analyze`]) from the rows that the lake holds, in one commit; it keeps them from now on. Rows of the same version stay as
    /// they are. Inputs are not looked at.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an analysis that is none of [`IngestOptions::derived`]; as [`Lake::ingest`].
    pub fn analyze(
        &self,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<IngestReport> {
        let options = &IngestOptions {
            paths: vec![],
            provider: None,
            refresh: false,
            register: false,
            ..options.clone()
        };
        let report = self.site();
        let report = report.and_then(|site| self.take_in(&[], &site, options, progress));
        report.map_err(|e| self.unless_gone(e))
    }

    fn take_in(
        &self,
        paths: &[InputPath],
        site: &SiteFile,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<IngestReport> {
        self.check_owner()?;
        let threads = Threads::new(options.threads);
        let options = &IngestOptions {
            threads: threads.count(),
            temp: Some(temp::directory(options.temp.as_deref(), &self.store)),
            ..options.clone()
        };
        let mut done: HashMap<u64, RangeResult> = HashMap::new();
        let report = self.try_ingest(paths, site, options, progress, &mut done);
        let published = report.as_ref().is_ok_and(|report| report.version.is_some());
        if !published && !is_unknown(&report) {
            self.discard(&mut done, &HashSet::new());
        }
        if report.is_ok() && !published {
            self.change(|snapshot| {
                Ok(updated_settings(snapshot, options)?.map(|settings| Change {
                    operation: "set",
                    settings: Some(settings),
                    ..Change::default()
                }))
            })?;
        }
        report
    }

    /// Tries to commit until nobody else is faster. What is in `done` afterwards was published if the report has a version.
    fn try_ingest(
        &self,
        paths: &[InputPath],
        site: &SiteFile,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
        done: &mut HashMap<u64, RangeResult>,
    ) -> Result<IngestReport> {
        let mut ours = site.place.directories(&self.lake_id);
        ours.extend(self.root().map(PathBuf::from));
        let read_context = site.read_context()?;
        let read_context = Arc::new(ReadContext {
            zone: options.zone.unwrap_or(read_context.zone),
            hints: options.hints.clone(),
            period: options.period,
            log_memory: options.log_memory(),
            temp: Some(temp::for_readers(options.temp())),
            ..read_context
        });
        let read_with = SiteFile {
            timezone: Some(read_context.zone.name().into()),
            ..site.clone()
        }
        .reading_hash()?;
        let mut listing: Option<Listing> = None;
        let (mut sorted, mut lease): (Option<ExternalSort>, Option<Lease>) = (None, None);
        for attempt in 0..TRIES {
            let told: &dyn Progress = if attempt == 0 { progress } else { &Silent };
            let snapshot = self.snapshot_to_change()?;
            let listing = match &mut listing {
                Some(listing) => {
                    listing.renew(&snapshot, read_with, options)?;
                    &*listing
                }
                None => listing.insert(list(&Disk, &snapshot, paths, &ours, read_with, options)?),
            };
            let candidates = &listing.candidates;
            told.listed(listing.files);
            let known_inputs = KnownInputs::new(&snapshot, &listing.known, read_with);
            let peeked = peek(candidates, options, told)?;
            let mut work = ChangeSet::new(listing, peeked, &known_inputs, options)?;
            let mut so_far = IngestReport {
                unchanged: listing.files - candidates.len() as u64 + work.unchanged,
                failed_before: listing.failed_before + work.failed_before,
                outside: work.outside,
                not_logs: work.new_no_logs,
                failures: std::mem::take(&mut work.unreadable),
                warnings: listing.gone.iter().cloned().collect(),
                ..IngestReport::default()
            };
            let named = named(options);
            let asked_for = work.no_logs.iter().filter(|row| named.contains(&row.path));
            so_far.failures.extend(asked_for.map(failure));
            let has_logs = !work.logs.is_empty();
            let derivations = Derivations::new(&snapshot.manifest, options, has_logs)?;
            let has_derived = derivations.versions != snapshot.manifest.derived;
            if work.is_empty() && !has_derived {
                return Ok(so_far);
            }
            let operation = if work.is_empty() { "analyze" } else { "ingest" };
            // Before the first file is written.
            let lease = match lease.take() {
                Some(held) => lease.insert(held),
                None => lease.insert(Lease::take(&self.store)?),
            };
            snapshot.manifest.check_writer(&self.store)?;
            let files = || {
                work.logs
                    .iter()
                    .map(|log| &log.file)
                    .chain(work.dumps.iter().map(|dump| &dump.file))
            };
            told.planned(files().count() as u64, files().map(|file| file.bytes).sum());
            // Dumps are read once, however often a commit is tried.
            let sorted = match sorted.take().filter(|sorted| sorted.has(&work.dumps)) {
                Some(known) => sorted.insert(known),
                None => sorted.insert(ExternalSort::read(
                    &work.dumps,
                    &read_context,
                    options,
                    told,
                )?),
            };
            sorted.resolve_stand_ins(&snapshot, options)?;
            so_far.failures.extend(sorted.unreadable.iter().cloned());
            let taken: HashSet<&str> = work.dumps.iter().map(|dump| &*dump.file.name).collect();
            let dumps = sorted.rows.iter().filter(|row| taken.contains(&*row.path));
            let (known, new): (Vec<_>, Vec<_>) = dumps.partition(|row| known_inputs.knows(row));
            so_far.add_known(known);
            work.rows.extend(new.into_iter().cloned());
            // Nothing but new logs is looked for in what the lake holds.
            let none = Hashes::default();
            let hashes = match work.logs.is_empty() {
                true => &none,
                false => known_inputs.hashes()?,
            };
            let IngestPlan { ranges, tasks } = plan(
                &snapshot,
                &snapshot.site()?,
                &mut work,
                sorted,
                &derivations,
                options,
            )?;
            let signatures = run(
                tasks,
                done,
                hashes,
                read_context.clone(),
                memory_of(candidates),
                options,
                told,
            )?;
            self.discard(done, &signatures.iter().copied().collect());
            let results: Vec<&RangeResult> = signatures
                .iter()
                .filter_map(|signature| done.get(signature))
                .collect();
            let rows = || {
                work.rows
                    .iter()
                    .chain(results.iter().flat_map(|r| &r.inputs))
            };
            let kept = results.iter().flat_map(|r| &r.unreadable);
            so_far.failures.extend(kept.cloned());
            so_far
                .warnings
                .extend(results.iter().flat_map(|r| &r.warnings).cloned());
            for source in options.sources {
                if has_rows(*source, &snapshot, sorted) {
                    so_far.warnings.extend(source.warnings(&read_context));
                }
            }
            so_far.warnings.extend(zone(site, &read_context, options));
            let changes_files = results
                .iter()
                .any(|r| !r.files.is_empty() || !r.replaced.is_empty());
            if !changes_files
                && !has_derived
                && rows().all(|row| known_inputs.needs_no_version(row))
            {
                so_far.add_known(rows());
                return Ok(so_far);
            }
            let inputs: Vec<&InputRow> = rows().collect();
            let change = Change {
                operation,
                ranges: Some(ranges),
                results: results.clone(),
                inputs: inputs.iter().copied().chain(&work.no_logs).collect(),
                read_with: Some(read_with),
                settings: updated_settings(&snapshot, options)?,
                derived: Some(derivations.versions),
                cancel: Some(&options.cancel),
                lease: Some(lease),
                ..Change::default()
            };
            if let Some(committed) = self.commit_with_warning(&snapshot, change)? {
                so_far.warnings.extend(committed.warning);
                let version = committed.version;
                let replaced: HashSet<&String> = results.iter().flat_map(|r| &r.replaced).collect();
                let files = snapshot.files().iter();
                so_far.rows_replaced = files
                    .filter(|file| replaced.contains(&file.path))
                    .map(|file| file.rows)
                    .sum();
                let derived = &derivations.tables;
                return Ok(report(version, &inputs, &results, derived, &named, so_far));
            }
        }
        Err(self.conflict("ingest", TRIES))
    }

    /// Deletes the files of results that are not kept.
    fn discard(&self, done: &mut HashMap<u64, RangeResult>, keep: &HashSet<u64>) {
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
}

/// The error where no input was named.
fn nothing_to_import() -> Error {
    let flags: Vec<String> = SOURCES.iter().map(|s| format!("--{}", s.name())).collect();
    let (last, others) = flags.split_last().map_or(("", &[][..]), |(a, b)| (a, b));
    Error::Invalid(format!(
        "nothing to import: give {} or {last}; --register stores the paths for later ingests",
        others.join(", ")
    ))
}

/// Whether the lake holds rows of a source, or is about to.
fn has_rows(source: &dyn Source, snapshot: &Snapshot, sorted: &ExternalSort) -> bool {
    let fills = |table: &str| source.tables().contains(&table);
    snapshot.files().iter().any(|file| fills(&file.table))
        || sorted.runs.iter().any(|run| fills(&run.table))
}

/// A warning where times without a zone were read in UTC for want of a given one, or in another than the lake's.
fn zone(
    site: &SiteFile,
    context: &ReadContext,
    options: &IngestOptions<'_>,
) -> Option<(String, String)> {
    let why = match (&site.timezone, options.zone) {
        (None, None) => "they name no zone and were taken for UTC; if they are not: `iolode lake forget`, then once more with --timezone NAME".into(),
        (Some(name), Some(zone)) if name != zone.name() => {
            format!("they name no zone and were taken for {}; the lake's is {name}", zone.name())
        }
        _ => return None,
    };
    context
        .met_local_times()
        .then(|| ("times".to_string(), why))
}

/// Runs the tasks that were not run before on all threads; the signatures of all, in order.
fn run(
    tasks: Vec<Task>,
    done: &mut HashMap<u64, RangeResult>,
    hashes: &Hashes,
    context: Arc<ReadContext>,
    candidates_memory: usize,
    options: &IngestOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<u64>> {
    let signatures: Vec<u64> = tasks.iter().map(signature).collect();
    let todo = signatures.iter().copied().zip(tasks);
    let mut todo: Vec<(u64, Task)> = todo
        .filter(|(signature, _)| !done.contains_key(signature))
        .collect();
    // The largest first.
    todo.sort_by_key(|(_, task)| Reverse(task.bytes()));
    let Split { here, elsewhere } = match (&options.runner, options.provider) {
        (Some(_), None) => Split::new(todo, options),
        _ => Split {
            here: todo,
            elsewhere: vec![],
        },
    };
    let start = || Worker::new(options, context.clone(), candidates_memory);
    let convert_here = || {
        on_threads(options.threads, here, start, |worker, (signature, task)| {
            let result = match &task {
                Task::Range(task) => worker.convert_range(task, hashes, progress)?,
                Task::Days(task) => convert_days(task, options)?,
            };
            Ok((signature, result))
        })
    };
    let (results, failure) = match &options.runner {
        Some(runner) if !elsewhere.is_empty() => {
            let width = runner.width()?;
            let convert = |_: &mut (), (signature, task): (u64, RangeTask)| {
                let result = convert_elsewhere(runner.as_ref(), &task, &context, options)?;
                for row in &result.inputs {
                    progress.done(row.bytes, row.status == InputStatus::Failed);
                }
                Ok((signature, result))
            };
            std::thread::scope(|scope| {
                let there = scope.spawn(|| on_threads(width, elsewhere, || Ok(()), convert));
                let (mut results, failure) = convert_here();
                let (more, failed) = there.join().unwrap_or_else(|_| {
                    let why = "a thread of the ingest failed".into();
                    (vec![], Some(Error::Invalid(why)))
                });
                results.extend(more);
                (results, failure.or(failed))
            })
        }
        _ => convert_here(),
    };
    for (signature, result) in results {
        done.entry(signature).or_default().append(result);
    }
    match failure {
        Some(e) => Err(e),
        None if options.is_cancelled() => Err(Error::Interrupted),
        None => Ok(signatures),
    }
}

/// Tasks of this process, and of others.
struct Split {
    here: Vec<(u64, Task)>,
    elsewhere: Vec<(u64, RangeTask)>,
}

impl Split {
    /// The logs of ranges go elsewhere.
    fn new(tasks: Vec<(u64, Task)>, options: &IngestOptions<'_>) -> Self {
        let (mut here, mut elsewhere) = (vec![], vec![]);
        for (signature, task) in tasks {
            let (there, left) = match task {
                Task::Range(task) => split(task, options),
                days => {
                    here.push((signature, days));
                    continue;
                }
            };
            elsewhere.extend(there.map(|task| (signature, task)));
            here.extend(left.map(|task| (signature, Task::Range(task))));
        }
        Self { here, elsewhere }
    }
}

/// What a task's result depends on: if another version leaves it the same, the result can stay.
pub(in crate::lake) fn signature(task: &Task) -> u64 {
    let mut text = String::new();
    // Dumps may be read again, and have other rows then.
    let bytes_of_runs =
        |run: &Arc<SortedRun>| format!("\n{} {:?} {:x}", run.table, run.day, run.hash);
    match task {
        Task::Range(task) => {
            text += &format!(
                "{:?} {:?} {:?} {}",
                task.target.from,
                task.target.to,
                task.target.ost.get(),
                task.rewrite
            );
            for log in &task.logs {
                text += &format!(
                    "\n{:?} {} {} {} {:?}",
                    log.file.path(),
                    log.file.bytes,
                    log.file.modified,
                    log.dxt,
                    log.held
                );
            }
            task.old
                .iter()
                .for_each(|file| text += &format!("\n{}", file.path));
            let drop: BTreeSet<&i64> = task.drop.iter().collect();
            text += &format!("\n{drop:?} {:?} {:?}", task.moved, task.derived);
            task.runs.iter().for_each(|run| text += &bytes_of_runs(run));
        }
        Task::Days(task) => {
            text += &format!("{} {} {:?}", task.table, task.fs, task.days);
            task.old
                .iter()
                .for_each(|file| text += &format!("\n{}", file.path));
            task.runs.iter().for_each(|run| text += &bytes_of_runs(run));
        }
    }
    xxh3_64(text.as_bytes())
}

/// Files that were asked for by name. What lies in a directory may be anything; of these somebody must hear.
fn named(options: &IngestOptions<'_>) -> HashSet<Arc<str>> {
    let files = options.paths.iter().filter(|input| input.path.is_file());
    let paths = files.filter_map(|input| std::path::absolute(&input.path).ok());
    paths.map(|path| name(&path)).collect()
}

/// The text of the settings with sources that are to be registered and the first time zone that was given; None if they are as they were.
fn updated_settings(snapshot: &Snapshot, options: &IngestOptions<'_>) -> Result<Option<String>> {
    let first_zone = options
        .zone
        .filter(|_| snapshot.site().is_ok_and(|site| site.timezone.is_none()));
    let edit = SettingsEdit {
        timezone: first_zone.map(|zone| zone.name().into()),
        sources: match options.register {
            true => registered(&options.paths)?,
            false => vec![],
        },
        ..SettingsEdit::default()
    };
    let before = &snapshot.manifest.settings;
    let after = edit.apply(before)?;
    Ok((after != *before).then_some(after))
}

/// Paths as sources of settings.
fn registered(paths: &[InputPath]) -> Result<Vec<RegisteredSource>> {
    let source = |InputPath { path, kind }: &InputPath| {
        let text = path.to_string_lossy();
        let path = match is_address(&text) {
            // A password is not written down; MYSQL_PWD says it.
            true => without_password(&text),
            false => std::path::absolute(path)
                .map_err(|e| Error::io(path, "cannot use", e))?
                .to_string_lossy()
                .into_owned(),
        };
        let kind = kind.clone();
        Ok(RegisteredSource { kind, path })
    };
    paths.iter().map(source).collect()
}
