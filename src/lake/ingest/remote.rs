//! Ranges that other processes convert: the request and the answer as bytes, and who answers.
//!
//! The ingest lists inputs, cuts ranges and commits as ever. Of each range with new logs it sends to a [`RangeRunner`] what its logs fill; what dumps fill of the same
//! range it writes itself, for their sorted runs lie in its temporary directory. A [`RangeConverter`] reads the logs and writes the data files by the same
//! [`Worker`]; nothing is in the lake before the ingest that asked commits.

use super::candidate::{Planned, PreviousImport, SentCandidate};
use super::change_set::Hashes;
use super::options::{IngestOptions, Silent};
use super::range_runner::RangeRunner;
use super::task::RangeTask;
use super::write_range::{Worker, row_merger};
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::derived::derivation::Derivation;
use crate::lake::derived::derived_table::DerivedTable;
use crate::lake::file::descriptors::Threads;
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::file::temp::{self, Spill};
use crate::lake::version::list_file::DataFile;
use crate::lake::version::range_result::RangeResult;
use crate::lake::version::site::SiteFile;
use crate::source::{Period, ReadContext};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// A range whose logs are to be converted.
#[derive(Serialize, Deserialize)]
struct Request {
    /// The lake's version that the ranges were cut for.
    version: u64,
    range: Option<usize>,
    from: Option<i64>,
    to: Option<i64>,
    ost: Option<i64>,
    logs: Vec<Log>,
    old: Vec<DataFile>,
    drop: HashSet<i64>,
    derived: Vec<Derivation>,
    rewrite: bool,
    zone: String,
    period: Period,
}

/// A log of a range.
#[derive(Serialize, Deserialize)]
struct Log {
    file: SentCandidate,
    /// Name of its source.
    source: String,
    job_id: i64,
    start_time: Option<i64>,
    dxt: bool,
    held: Option<PreviousImport>,
}

/// What became of a range, and what was noted of its logs for all together.
#[derive(Serialize, Deserialize)]
struct Answer {
    result: RangeResult,
    /// Lustre mounts without an entry in the settings.
    unmapped: Vec<String>,
    local_times: bool,
}

/// A range task in two: what a runner may convert, and what is left for this process; None where there is nothing of it.
pub(in crate::lake) fn split(
    task: RangeTask,
    options: &IngestOptions<'_>,
) -> (Option<RangeTask>, Option<RangeTask>) {
    if task.logs.is_empty() {
        return (None, Some(task));
    }
    let is_dumped = |table: &str| row_merger(options, table).is_some();
    let (dumped, logged): (Vec<_>, Vec<_>) = task
        .old
        .iter()
        .cloned()
        .partition(|file| is_dumped(&file.table));
    let here = RangeTask {
        logs: vec![],
        old: dumped,
        drop: Arc::default(),
        derived: vec![],
        ..task.clone()
    };
    let has_work =
        !here.runs.is_empty() || !here.old.is_empty() && (here.rewrite || !here.moved.is_empty());
    let elsewhere = RangeTask {
        old: logged,
        runs: vec![],
        moved: Arc::default(),
        ..task
    };
    (Some(elsewhere), has_work.then_some(here))
}

/// Has a runner convert the logs of a range. What was noted of them is noted in `context`.
///
/// # Errors
/// Those of the runner.
pub(in crate::lake) fn convert_elsewhere(
    runner: &dyn RangeRunner,
    task: &RangeTask,
    context: &ReadContext,
    options: &IngestOptions<'_>,
) -> Result<RangeResult> {
    let source = |place: usize| options.sources.get(place).map(|source| source.name());
    let log = |log: &Planned| {
        Some(Log {
            file: (&log.file).into(),
            source: source(log.source)?.into(),
            job_id: log.job_id,
            start_time: log.start_time,
            dxt: log.dxt,
            held: log.held,
        })
    };
    let request = Request {
        version: task.target.version - 1,
        range: task.target.range,
        from: task.target.from,
        to: task.target.to,
        ost: task.target.ost.get(),
        logs: task.logs.iter().filter_map(log).collect(),
        old: task.old.clone(),
        drop: task.drop.as_ref().clone(),
        derived: task.derived.clone(),
        rewrite: task.rewrite,
        zone: context.zone.name().into(),
        period: context.period,
    };
    let bytes = serde_json::to_vec(&request).map_err(unreadable)?;
    let ost = request.ost;
    let answer = runner.convert(&task.target.lake_id, bytes, ost, &options.cancel)?;
    let answer: Answer = serde_json::from_slice(&answer).map_err(unreadable)?;
    for mount_point in &answer.unmapped {
        context.note_lustre(mount_point);
    }
    if answer.local_times {
        context.note_local_times();
    }
    let mut placed = answer.result.files.iter().rev().filter_map(|file| file.ost);
    task.target.ost.note(placed.next());
    Ok(answer.result)
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::Invalid(format!("a range of an ingest on a cluster: {error}"))
}

/// Converts ranges of a lake for ingests of other processes.
#[derive(Debug)]
pub struct RangeConverter {
    lake: Lake,
    derived: &'static [&'static dyn DerivedTable],
    threads: usize,
    memory: usize,
    temp: PathBuf,
    /// What is known of the version that was asked for last.
    known: Mutex<Option<Arc<Known>>>,
}

/// What a version of a lake knows that a range needs.
#[derive(Debug)]
struct Known {
    version: u64,
    site: SiteFile,
    hashes: Hashes,
}

impl RangeConverter {
    /// Of a lake, with what fills its derived tables, with so many threads that convert a range each, and bytes of memory for all of them; temporary files lie in `temp`.
    pub fn new(
        lake: Lake,
        derived: &'static [&'static dyn DerivedTable],
        threads: usize,
        memory: usize,
        temp: PathBuf,
    ) -> Self {
        Self {
            lake,
            derived,
            threads: threads.max(1),
            memory,
            temp,
            known: Mutex::default(),
        }
    }

    /// Bytes of memory that the conversion of a range may take.
    pub fn memory_of_a_range(&self) -> usize {
        self.memory / self.threads
    }

    /// The lake.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Reads the logs of a range and writes its data files; the answer to the request of an ingest. Ends soon once `cancel` is set.
    ///
    /// # Errors
    /// [`Error::Invalid`] if these bytes are no request, [`Error::Interrupted`], and what keeps the files from being written; a log that cannot be read is part of the answer.
    pub fn convert(&self, request: &[u8], cancel: &Arc<AtomicBool>) -> Result<Vec<u8>> {
        let request: Request = serde_json::from_slice(request).map_err(unreadable)?;
        let known = self.known(request.version)?;
        let zone = request.zone.parse();
        let zone = zone
            .map_err(|_| Error::Invalid(format!("a range in the time zone `{}`", request.zone)))?;
        let options = IngestOptions {
            threads: self.threads,
            memory: self.memory,
            temp: Some(self.temp.clone()),
            cancel: cancel.clone(),
            derived: self.derived,
            ..IngestOptions::default()
        };
        let context = Arc::new(ReadContext {
            zone,
            period: request.period,
            log_memory: options.log_memory(),
            temp: Some(temp::for_readers(options.temp())),
            ..known.site.read_context()?
        });
        let source = |name: &str| options.sources.iter().position(|of| of.name() == name);
        let log = |log: Log| {
            let source = source(&log.source);
            let unknown = || Error::Invalid(format!("a log of the kind `{}`", log.source));
            Ok(Planned {
                source: source.ok_or_else(unknown)?,
                file: log.file.into(),
                job_id: log.job_id,
                start_time: log.start_time,
                dxt: log.dxt,
                held: log.held,
            })
        };
        let logs = request.logs.into_iter().map(log);
        let task = RangeTask {
            target: FileDestination {
                store: self.lake.store.clone(),
                place: known.site.place.clone(),
                lake_id: self.lake.id().into(),
                range: request.range,
                day: None,
                from: request.from,
                to: request.to,
                ost: RangeTarget::new(request.ost),
                version: request.version + 1,
                memory: options.range_memory(),
                spill: Spill::new(&self.temp),
            },
            logs: logs.collect::<Result<_>>()?,
            runs: vec![],
            old: request.old,
            drop: Arc::new(request.drop),
            moved: Arc::default(),
            derived: request.derived,
            rewrite: request.rewrite,
        };
        let _counted = Threads::new(1);
        let mut worker = Worker::new(&options, context.clone(), 0)?;
        let result = worker.convert_range(&task, &known.hashes, &Silent)?;
        if options.is_cancelled() {
            // Nobody will commit them.
            let files = result.files.iter();
            files.for_each(|file| _ = self.lake.store.delete(&file.path));
            return Err(Error::Interrupted);
        }
        let answer = Answer {
            result,
            unmapped: context.unmapped_mounts(),
            local_times: context.met_local_times(),
        };
        serde_json::to_vec(&answer).map_err(unreadable)
    }

    fn known(&self, version: u64) -> Result<Arc<Known>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.version == version) {
            return Ok(known.clone());
        }
        let snapshot = self.lake.snapshot(Some(version))?;
        let read = Arc::new(Known {
            version,
            site: snapshot.site()?,
            hashes: Hashes::read(&snapshot)?,
        });
        *known = Some(read.clone());
        Ok(read)
    }
}
