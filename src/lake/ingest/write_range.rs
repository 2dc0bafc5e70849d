//! One range: its logs, and the rows that it has, to one Parquet file for each table.

use super::candidate::{Candidate, Planned, without_path};
use super::change_set::Hashes;
use super::discover::{failed, input_row};
use super::external_sort::SortedRun;
use super::merge::merge;
use super::options::{IngestOptions, Progress, Silent};
use super::task::RangeTask;
use crate::error::{Error, Result};
use crate::lake::derived::write_derived::write_derived;
use crate::lake::file::data_sink::{Finished, Syncing};
use crate::lake::file::range_writers::RangeWriters;
use crate::lake::file::range_writers::old_of;
use crate::lake::file::writer::RangeWriter;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::lake::version::range_result::RangeResult;
use crate::source::{BatchSink, Input, Peek, Period, ReadContext, Reader, RowMerger, SOURCES};
use crate::table::table;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Logs up to this size are read into memory whole, once, for hashing and reading.
const WHOLE: u64 = 64 << 20;

/// Buffers up to this size are kept, each for one of a job's logs.
const REUSED: usize = 256 << 10;

/// A thread's readers and builders, kept from range to range.
pub(in crate::lake) struct Worker<'o> {
    options: &'o IngestOptions<'o>,
    context: Arc<ReadContext>,
    readers: HashMap<usize, Box<dyn Reader>>,
    tables: BatchSink,
    buffers: Vec<Vec<u8>>,
    /// Bytes that a builder may hold: enough for batches that are worth their overhead also of tables with few rows.
    flush_at: usize,
    /// Bytes of logs of one job that may be held.
    hold_at: u64,
    /// Bytes of memory that the writers of a range may hold together.
    write_at: usize,
}

impl<'o> Worker<'o> {
    /// `candidates_memory` is what is held of all logs in memory, in bytes, which the writers of all threads have less.
    pub(in crate::lake) fn new(
        options: &'o IngestOptions<'o>,
        context: Arc<ReadContext>,
        candidates_memory: usize,
    ) -> Result<Self> {
        let names = options
            .sources
            .iter()
            .flat_map(|source| source.tables().iter().copied());
        let threads = options.threads.max(1);
        let share = options.memory / threads / 8;
        Ok(Self {
            options,
            context,
            readers: HashMap::new(),
            tables: BatchSink::new(names)?,
            buffers: vec![],
            flush_at: (share / 16).clamp(1 << 16, 1 << 20),
            hold_at: share.clamp(1 << 20, 32 << 20) as u64,
            write_at: share
                .min(32 << 20)
                .saturating_sub(candidates_memory / threads)
                .max(1 << 20),
        })
    }

    /// Converts one range. `known` are the content hashes in the lake.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and everything that keeps the range's files from being written; an input that cannot be read is no
    /// error but a row.
    pub(in crate::lake) fn convert_range(
        &mut self,
        task: &RangeTask,
        known: &Hashes,
        progress: &dyn Progress,
    ) -> Result<RangeResult> {
        let mut result = RangeResult {
            inputs: Vec::with_capacity(task.logs.len()),
            ..RangeResult::default()
        };
        let converted = self.convert(task, known, &mut result, progress);
        // An unfinished file goes with its writer.
        self.tables.remove_drain();
        let mut retained = std::mem::take(&mut result.retained);
        // Rows that were to be replaced stay if the log could not be read, unless another input brought them.
        retained.retain(|hash| {
            task.drop.contains(hash)
                && !result
                    .inputs
                    .iter()
                    .any(|row| row.status.has_rows() && row.content_hash == Some(*hash))
        });
        if converted.is_ok() && retained.is_empty() && !result.has_worse {
            return Ok(result);
        }
        // Files that were whole already are unreferenced now.
        let store = &task.target.store;
        result
            .files
            .iter()
            .for_each(|file| _ = store.delete(&file.path));
        converted?;
        let kept = |log: &&Planned| {
            let name = &*log.file.name;
            !result.unreadable.iter().any(|(kept, _)| kept == name)
        };
        let again = RangeTask {
            logs: task.logs.iter().filter(kept).cloned().collect(),
            drop: Arc::new(task.drop.difference(&retained).copied().collect()),
            ..task.clone()
        };
        // Its logs were counted as done.
        let mut second = self.convert_range(&again, known, &Silent)?;
        second.unreadable.append(&mut result.unreadable);
        Ok(second)
    }

    fn convert(
        &mut self,
        task: &RangeTask,
        known: &Hashes,
        result: &mut RangeResult,
        progress: &dyn Progress,
    ) -> Result<()> {
        let writers = self.writers(task);
        let mut logs: Vec<&Planned> = task.logs.iter().collect();
        logs.sort_by(|a, b| (a.job_id, &a.file.name).cmp(&(b.job_id, &b.file.name)));
        for job in logs.chunk_by(|a, b| a.job_id == b.job_id) {
            self.convert_job(job, known, task, &writers, result, progress)?;
        }
        let mut writers = {
            let mut writers = lock(&writers);
            writers.flush(self.tables.builders(), 0)?;
            writers.take()
        };
        // Tables without new rows that lose some, or are cut.
        let names: Vec<String> = self
            .tables
            .builders()
            .iter()
            .map(|b| b.table().name.clone())
            .collect();
        let mut tables: Vec<String> = task.old.iter().map(|file| file.table.clone()).collect();
        tables.extend(task.runs.iter().map(|run| run.table.clone()));
        tables.sort();
        tables.dedup();
        let mut syncing = Syncing::new(&task.target.store);
        let is_derived = |name: &String| task.derived.iter().any(|derived| derived.table == *name);
        for name in tables.into_iter().filter(|name| !is_derived(name)) {
            if let Some(mut row_merger) = row_merger(self.options, &name) {
                if let Some(file) = merge_dumps(task, &name, &mut *row_merger, result)? {
                    result.files.push(file.data);
                    syncing.push(file.unsynced)?;
                }
                continue;
            }
            let at = names.iter().position(|n| *n == name);
            let has_new = at.is_some_and(|at| writers[at].is_some());
            if !has_new && (task.rewrite || !task.drop.is_empty()) {
                let writer = RangeWriter::new(
                    table(&name)?,
                    task.target.clone(),
                    &old_of(&task.old, &name),
                    task.drop.clone(),
                )?;
                writers.push(Some(writer));
            } else if !has_new {
                continue;
            }
            let old = old_of(&task.old, &name);
            result
                .replaced
                .extend(old.into_iter().map(|file| file.path));
        }
        for writer in writers.into_iter().flatten() {
            if let Some(file) = writer.finish()? {
                result.files.push(file.data);
                syncing.push(file.unsynced)?;
            }
        }
        for derivation in &task.derived {
            let Some(derived) = self.options.derived_table(&derivation.table) else {
                let table = &derivation.table;
                let why = format!("a range gets rows of {table}, which nobody here derives");
                return Err(Error::Invalid(why));
            };
            let (memory, cancel) = (self.write_at, &self.options.cancel);
            let written = write_derived(derived, derivation, task, result, memory, cancel)?;
            if let Some(file) = written {
                result.files.push(file.data);
                syncing.push(file.unsynced)?;
            }
        }
        syncing.finish()
    }

    /// All logs of one job: loaded, hashed, sorted by hash, so that the rows come in the order of every table.
    fn convert_job(
        &mut self,
        job: &[&Planned],
        known: &Hashes,
        task: &RangeTask,
        writers: &Mutex<RangeWriters>,
        result: &mut RangeResult,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut loaded: Vec<(i64, &Planned, Option<Input>)> = vec![];
        // A job of very many logs is loaded twice rather than held.
        let hold = job.iter().map(|log| log.file.bytes).sum::<u64>() <= self.hold_at;
        for log in job {
            if self.options.is_cancelled() {
                return Err(Error::Interrupted);
            }
            match self
                .load(&log.file)
                .and_then(|input| Ok((input.hash()?, input)))
            {
                Ok((hash, input)) if hold => loaded.push((hash, log, Some(input))),
                Ok((hash, input)) => {
                    self.reuse(input);
                    loaded.push((hash, log, None));
                }
                Err(e) => self.fail(log, e, result, progress),
            }
        }
        loaded.sort_by_key(|(hash, log, _)| (*hash, log.file.name.clone()));
        let mut before: Option<(i64, &str)> = None;
        for (hash, log, input) in loaded {
            if self.options.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let twin = before
                .filter(|(same, _)| *same == hash)
                .map(|(_, name)| name);
            if twin.is_some() || known.contains(hash) && !task.drop.contains(&hash) {
                let source = self.options.sources.get(log.source).copied();
                let mut row = input_row(&log.file, source, InputStatus::Skipped, String::new());
                // Of one in the lake the path is looked up at the end, for all together.
                row.error = twin.map(|twin| format!("the same bytes as {twin}"));
                row.content_hash = Some(hash);
                row.job_id = Some(log.job_id);
                row.start_time = log.start_time;
                row.dxt = log.dxt;
                result.inputs.push(row);
                progress.done(log.file.bytes, false);
                continue;
            }
            let input = match input {
                Some(input) => Ok(input),
                None => self.load_again(&log.file, hash),
            };
            lock(writers).begin();
            let rows = self.rows();
            match input.and_then(|input| self.read(input, hash, log)) {
                Ok(row) => {
                    progress.done(log.file.bytes, false);
                    before = Some((hash, &log.file.name));
                    match log.held.filter(|held| held.is_better_than(&row)) {
                        // Its rows go with this attempt: the range is written again without it.
                        Some(held) => {
                            let why = row.error.unwrap_or_default();
                            let why = format!("damaged since it was imported: {why}");
                            result.unreadable.push((log.file.name.to_string(), why));
                            result.retained.insert(held.hash);
                            result.has_worse = true;
                        }
                        None => result.inputs.push(row),
                    }
                }
                Err(e) => {
                    let e = lock(writers).failed(e)?;
                    if self.rows() != rows || self.options.is_cancelled() {
                        return Err(e);
                    }
                    self.fail(log, e, result, progress);
                }
            }
            lock(writers).flush_full(self.tables.builders())?;
        }
        Ok(())
    }

    /// The writers of a range, which take rows also while a log is read that has more of them than there should be in memory.
    fn writers(&mut self, task: &RangeTask) -> Arc<Mutex<RangeWriters>> {
        let builders = self.tables.builders().len();
        let writers = RangeWriters::new(
            task.target.clone(),
            task.old.clone(),
            task.drop.clone(),
            builders,
            self.flush_at,
            self.write_at,
        );
        let writers = Arc::new(Mutex::new(writers));
        let (drain, cancel) = (writers.clone(), self.options.cancel.clone());
        self.tables.set_drain(move |builders| {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            lock(&drain).flush_while_read(builders)
        });
        writers
    }

    /// Rows in all builders.
    fn rows(&mut self) -> usize {
        self.tables.builders().iter().map(|b| b.rows()).sum()
    }

    fn load(&mut self, file: &Candidate) -> Result<Input> {
        file.open(self.options)?
            .load(WHOLE, self.buffers.pop().unwrap_or_default())
    }

    /// Loads what was hashed before.
    fn load_again(&mut self, file: &Candidate, hash: i64) -> Result<Input> {
        let input = self.load(file)?;
        match input.hash()? == hash {
            true => Ok(input),
            false => Err(input.changed()),
        }
    }

    /// Keeps an input's memory for the next ones, as long as that is little.
    fn reuse(&mut self, input: Input) {
        let buffer = input.into_buffer();
        if self.buffers.is_empty() || buffer.capacity() <= REUSED && self.buffers.len() < 64 {
            self.buffers.push(buffer);
        }
    }

    fn read(&mut self, input: Input, hash: i64, log: &Planned) -> Result<InputRow> {
        let Some(source) = self.options.sources.get(log.source).copied() else {
            return Err(Error::Invalid("an input's source is gone".into()));
        };
        for table in source.on_request() {
            self.tables.leave_out(table, !log.dxt);
        }
        let reader = self
            .readers
            .entry(log.source)
            .or_insert_with(|| source.reader(self.context.clone()));
        let expected = Peek::Log {
            job_id: log.job_id,
            start_time: log.start_time,
        };
        let read = reader.read(&input, hash, Some(expected), &mut self.tables);
        self.reuse(input);
        let outcome = read?;
        Ok(InputRow {
            path: log.file.name.clone(),
            source: Some(source.name().into()),
            status: outcome.status.into(),
            error: outcome.why,
            bytes: log.file.bytes,
            modified: log.file.modified,
            content_hash: Some(hash),
            job_id: Some(log.job_id),
            start_time: log.start_time,
            dxt: log.dxt,
            period: Period::default(),
            reader_version: source.version(),
            version: 0,
            settings: None,
        })
    }

    /// Notes that nothing could be taken of a log.
    fn fail(&self, log: &Planned, e: Error, result: &mut RangeResult, progress: &dyn Progress) {
        progress.done(log.file.bytes, true);
        let unread = matches!(e, Error::Io { .. });
        if let Some(held) = log.held.filter(|held| held.stays(unread)) {
            let why = without_path(&e, &log.file);
            result.unreadable.push((log.file.name.to_string(), why));
            result.retained.insert(held.hash);
            return;
        }
        let source = self.options.sources.get(log.source).copied();
        result.inputs.push(failed(&log.file, source, &e));
    }
}

/// What makes one row of several for a table that dumps fill.
pub(in crate::lake) fn row_merger(
    options: &IngestOptions<'_>,
    table: &str,
) -> Option<Box<dyn RowMerger>> {
    let sources = options.sources.iter().chain(SOURCES);
    sources
        .into_iter()
        .find_map(|source| source.row_merger(table))
}

/// What a range's table holds and what dumps bring for it.
fn merge_dumps(
    task: &RangeTask,
    name: &str,
    row_merger: &mut dyn RowMerger,
    result: &mut RangeResult,
) -> Result<Option<Finished>> {
    let runs: Vec<Arc<SortedRun>> = task
        .runs
        .iter()
        .filter(|run| run.table == name)
        .cloned()
        .collect();
    if runs.is_empty() && !task.rewrite && task.moved.is_empty() {
        return Ok(None);
    }
    let old = old_of(&task.old, name);
    let merged = merge(
        table(name)?,
        &task.target,
        &old,
        &runs,
        row_merger,
        task.rewrite,
        &task.moved,
    )?;
    if merged.changed || task.rewrite {
        result
            .replaced
            .extend(old.into_iter().map(|file| file.path));
    }
    result.warnings.extend(contradictions(name, row_merger));
    Ok(merged.file)
}

/// What a merger has to say about rows that contradict each other.
pub(in crate::lake) fn contradictions(
    table: &str,
    row_merger: &dyn RowMerger,
) -> Option<(String, String)> {
    let (rows, example) = row_merger.contradictions()?;
    let what = format!("{rows} rows say otherwise than what is kept, such as {example}");
    Some((table.to_string(), what))
}

/// The writers, which only one thread uses.
fn lock(writers: &Mutex<RangeWriters>) -> MutexGuard<'_, RangeWriters> {
    writers.lock().unwrap_or_else(PoisonError::into_inner)
}
