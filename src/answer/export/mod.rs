//! Exports: chosen logs, and all that belongs to them, as a lake that stands alone.
//!
//! In: a condition over `darshan_log`. Out: a directory with a lake of plain Parquet, a `README.txt` and an `export.json`.
//!
//! `choose` asks which logs; `lmt_times` which samples of LMT belong to them. The lake gives the rows
//! ([`crate::lake::Snapshot::chosen_rows`]) and takes them ([`crate::lake::LakeWriter`]). For an anonymised export `anonymize` puts pseudonyms
//! into them on the way, as `policy` says: `pseudonym` of names and numbers, `path` of paths, `coarse` of what stays in part, and `keys_apart` has keys differ that did before; `record_names` finds
//! the names behind record ids; and `buckets` sorts them anew, since job ids have other values, `sorted` samples of servers. `small_groups` counts jobs that can be told by their looks. `target` has the directory appear at once; `copy_logs` has the logs
//! themselves in it, or `rewrite_logs` under the pseudonyms that `log_names` gives; `readme` says what it holds, `delta` makes Delta tables of it.

mod anonymize;
mod buckets;
mod choose;
mod coarse;
mod copy_logs;
mod delta;
mod form;
mod inputs;
mod keys_apart;
mod lmt_times;
mod log_names;
mod options;
mod path;
mod policy;
mod pseudonym;
mod readme;
mod record_names;
mod rewrite_logs;
mod settings;
mod small_groups;
mod sorted;
mod target;
mod write_tables;

pub use choose::Grain;
pub use form::Form;
pub use lmt_times::Lmt;
pub use options::{ExportOptions, ExportReport, Logs};
pub use policy::Policy;
pub use pseudonym::Key;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::lake::{ChosenRows, CreateOptions, DataFile, LakeWriter, Snapshot, splits_for};
use crate::table::{Partition, table, tables};
use choose::Chosen;
use pseudonym::Names;
use small_groups::Looks;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::Target;
use write_tables::Work;

/// Writes an export of a version of a lake, which `engine` asks. If no log is chosen, as the report says then, there is none.
///
/// # Errors
/// [`Error::Invalid`] for a condition that is none, or a target that is there; those of the lake, and
/// [`Error::Io`]. Nothing is at `to` then.
pub async fn export(
    engine: &Engine,
    snapshot: Arc<Snapshot>,
    to: &Path,
    options: &ExportOptions,
) -> Result<ExportReport> {
    options.check()?;
    let target = Arc::new(Target::begin(to, options.force)?);
    let (chosen, found) = choose(engine, options).await?;
    if chosen.logs.is_empty() {
        return Ok(found);
    }
    let key = options.anonymize.as_ref().map(|(key, _)| key.clone());
    let rows = rows_of(&snapshot, &chosen, options)?;
    let create = CreateOptions {
        settings: settings(&snapshot, options)?.to_text()?,
        range_bytes: snapshot.manifest().range_bytes,
    };
    let mut weights = chosen.weights(key.as_ref())?;
    let splits = splits_for(&mut weights, ranges(&snapshot, &chosen));
    let lake = LakeWriter::create(target.path(), create, splits, options.memory)?;
    let mut lake = lake.keeping(snapshot.manifest().derived.clone());
    if options.anonymize.is_some() {
        lake = lake.anonymised();
    }
    let cancel = Stop::default();
    let work = Work {
        engine: engine.clone(),
        snapshot: snapshot.clone(),
        lake: Arc::new(lake),
        rows: rows.clone(),
        anonymize: options
            .anonymize
            .clone()
            .map(|(key, policy)| (key, Arc::new(policy))),
        jobs: Arc::new(weights),
        sort_memory: options.sort_memory,
        form: options.form,
        only: options.table.clone(),
        cancel: cancel.0.clone(),
        target: target.clone(),
    };
    let rows = write_tables::write_all(&work, options.threads).await?;
    let mut report = ExportReport { rows, ..found };
    match (options.logs, &work.anonymize) {
        (Some(Logs::Copied), None) => {
            let copied = copy_logs::copy(&snapshot, &chosen, &target, &cancel.0).await?;
            (report.logs_copied, report.logs_missing) = copied;
        }
        (Some(Logs::Rewritten), Some(_)) => {
            let rewritten = rewrite_logs::rewrite(&work, &chosen, options.threads).await?;
            report.logs_rewritten = rewritten.logs;
            report.logs_missing = rewritten.missing;
            report.parts_left_out = rewritten.parts_left_out;
        }
        _ => {}
    }
    let lake = Arc::into_inner(work.lake).ok_or(Error::Interrupted)?;
    (report.files, report.bytes) = match options.form {
        Form::Lake => {
            let inputs = inputs::inputs(&snapshot, &chosen, key.as_ref())?;
            let functions = match key {
                // They may name whatever their users have.
                Some(_) => vec![],
                None => snapshot.manifest().functions.clone(),
            };
            let summary = lake.finish("export", inputs, functions)?;
            (summary.files_added, summary.bytes)
        }
        Form::Delta => delta_logs(&target, &lake.into_files())?,
    };
    drop(work.target);
    readme::write(&target, &snapshot, options, &report, engine.zone()?)?;
    Arc::into_inner(target)
        .ok_or(Error::Interrupted)?
        .finish()?;
    Ok(report)
}

/// Makes Delta tables of data files: how many they are, and their bytes.
fn delta_logs(target: &Target, files: &[DataFile]) -> Result<(u64, u64)> {
    let time = chrono::Utc::now().timestamp_millis();
    for table in tables() {
        let of_table = files.iter().filter(|file| file.table == table.name);
        let of_table: Vec<&DataFile> = of_table.collect();
        if !of_table.is_empty() {
            delta::write_log(target, &delta::signed(table), &of_table, time)?;
        }
    }
    let bytes = files.iter().map(|file| file.bytes).sum();
    Ok((files.len() as u64, bytes))
}

/// What an export would hold, about, and nothing is written: bytes are those of the lake's files by the share of the logs.
///
/// # Errors
/// As [`export`].
pub async fn dry_run(
    engine: &Engine,
    snapshot: &Snapshot,
    options: &ExportOptions,
) -> Result<ExportReport> {
    options.check()?;
    let (chosen, found) = choose(engine, options).await?;
    Ok(ExportReport {
        bytes: bytes(snapshot, &chosen),
        ..found
    })
}

/// The chosen logs, and how many they are.
async fn choose(engine: &Engine, options: &ExportOptions) -> Result<(Chosen, ExportReport)> {
    let mut chosen = Chosen::ask(engine, options.condition.as_deref(), options.grain).await?;
    let mut found = ExportReport::default();
    if options.anonymize.is_some() {
        let looks = Looks::ask(engine, &chosen).await?;
        let few = looks.fewer_than(options.k);
        chosen.without_jobs(&few);
        found.left_out = few.len() as u64;
        found.unique = looks.alone(&few);
    }
    found.jobs = chosen.jobs.len() as u64;
    found.logs = chosen.logs.len() as u64;
    found.files_of_logs = chosen.logs.values().map(|log| log.files).sum();
    Ok((chosen, found))
}

/// Which rows of the tables belong to the chosen logs.
fn rows_of(
    snapshot: &Arc<Snapshot>,
    chosen: &Chosen,
    options: &ExportOptions,
) -> Result<ChosenRows> {
    let all = options.condition.is_none() && options.k == 0;
    let of_logs = ChosenRows {
        logs: (!all).then(|| Arc::new(chosen.logs.keys().copied().collect())),
        jobs: Some(Arc::new(chosen.slurm_jobs())),
        ..ChosenRows::default()
    };
    let files = || snapshot.chosen_rows("darshan_file", &lmt_times::COLUMNS, &of_logs);
    let unit = match &options.anonymize {
        Some((_, policy)) if options.lmt != Lmt::None => policy.unit_of_times()?,
        _ => None,
    };
    let lmt = lmt_times::lmt_rows(options.lmt, snapshot, chosen, unit, files)?;
    Ok(ChosenRows { lmt, ..of_logs })
}

fn settings(snapshot: &Snapshot, options: &ExportOptions) -> Result<crate::lake::SiteFile> {
    let site = snapshot.site()?;
    match &options.anonymize {
        None => Ok(settings::plain(&site)),
        Some((key, policy)) => {
            let mut names = Names::new(key.clone());
            settings::anonymous(
                &site,
                policy,
                &mut names,
                &mut path::Paths::new(key.clone()),
            )
        }
    }
}

/// Bytes of the files of jobs that the chosen logs may take, by their share of all logs.
fn bytes(snapshot: &Snapshot, chosen: &Chosen) -> u64 {
    let of_jobs = snapshot
        .files()
        .iter()
        .filter(|file| table(&file.table).is_ok_and(|table| table.partition == Partition::JobId));
    let all: u64 = of_jobs.map(|file| file.bytes).sum();
    let share = chosen.bytes() as f64 / chosen.bytes_of_all.max(1) as f64;
    (all as f64 * share) as u64
}

/// How many ranges of job ids the export has.
fn ranges(snapshot: &Snapshot, chosen: &Chosen) -> usize {
    let most = snapshot.manifest().range_bytes.max(1);
    bytes(snapshot, chosen).div_ceil(most).max(1) as usize
}

/// Deletes what an export to `to` by this process has left that was given up: threads of it may not have ended yet.
pub fn discard(to: &Path) {
    target::discard(to);
}

/// Tells the threads of an export that it was given up.
#[derive(Default)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
