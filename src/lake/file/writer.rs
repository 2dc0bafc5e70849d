//! Rows of one (table, range) to one Parquet file.

use super::data_reader::read_rows;
use super::data_sink::{Finished, Sink};
use super::downcast::bytes_of;
use super::encoding::{Encoder, LAYOUT};
use super::row_group_buffer::RowGroupBuffer;
use super::target::FileDestination;
use crate::error::{Error, Result};
use crate::lake::version::list_file::{DataFile, day_name};
use crate::table::Table;
use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group, at most.
const GROUP_ROWS: usize = 1 << 20;
/// Bytes of a row group before it is encoded, at most.
const GROUP_BYTES: usize = 128 << 20;

/// Writes rows that come sorted by job_id and log_id, and between them those of the file that is replaced.
pub(in crate::lake) struct RangeWriter {
    table: Arc<Table>,
    target: FileDestination,
    path: String,
    ost: Option<i64>,
    encoder: Option<Encoder<Sink>>,
    old: Option<OldRows>,
    /// Rows of the row group that is being gathered.
    group: RowGroupBuffer,
    rows: u64,
    job_id: Option<(i64, i64)>,
    start_time: Option<(i64, i64)>,
    time: Option<(i64, i64)>,
}

impl RangeWriter {
    /// Begins the file of a table in a range; `old` is the one that it replaces, whose rows are kept but those of the logs in
    /// `drop` and those outside the range.
    pub(in crate::lake) fn new(
        table: &Arc<Table>,
        target: FileDestination,
        old: &[DataFile],
        drop: Arc<HashSet<i64>>,
    ) -> Result<Self> {
        let old = match old {
            [] => None,
            files => Some(OldRows::open(&target, table, files, drop)?),
        };
        Ok(Self {
            table: table.clone(),
            group: RowGroupBuffer::new(table.schema.clone(), target.spill.clone()),
            target,
            path: String::new(),
            ost: None,
            encoder: None,
            old,
            rows: 0,
            job_id: None,
            start_time: None,
            time: None,
        })
    }

    /// Appends rows, sorted, all after those of the call before.
    pub(in crate::lake) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.old.is_none() {
            return self.append(batch);
        }
        let keys = Keys::new(batch)?;
        let mut at = 0;
        while at < batch.num_rows() {
            let Some(old) = self.old.as_mut() else { break };
            let Some((rows, from)) = old.current()? else {
                self.old = None;
                break;
            };
            let old_keys = Keys::new(rows)?;
            if old_keys.key(from) < keys.key(at) {
                let to = old_keys.first_at_or_after(keys.key(at), from);
                let run = rows.slice(from, to - from);
                old.advance(to);
                self.append(&run)?;
            } else {
                let to = keys.first_after(old_keys.key(from), at);
                self.append(&batch.slice(at, to - at))?;
                at = to;
            }
        }
        if at < batch.num_rows() {
            self.append(&batch.slice(at, batch.num_rows() - at))?;
        }
        Ok(())
    }

    /// Bytes of memory that the rows take which are not in the file yet.
    pub(in crate::lake) fn memory(&self) -> usize {
        self.group.memory()
    }

    /// Puts these rows into a temporary file, so that their memory is free.
    pub(in crate::lake) fn spill_rows(&mut self) -> Result<()> {
        self.group.spill_rows()
    }

    fn end_group(&mut self) -> Result<()> {
        if self.group.rows() == 0 {
            return Ok(());
        }
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            None => {
                let sink;
                (sink, self.path, self.ost) = create(&self.table, &self.target)?;
                self.encoder
                    .insert(Encoder::new(sink, &self.table, &self.group)?)
            }
        };
        let shown = self.target.store.show(&self.path);
        encoder.write(&self.group, |e| written(&self.path, e, &shown))?;
        self.group.clear();
        Ok(())
    }

    /// Closes the file until the next row group, if too many are open.
    fn pause(&mut self) -> Result<()> {
        let Some(encoder) = &mut self.encoder else {
            return Ok(());
        };
        let store = &self.target.store;
        let paused = encoder.sink().and_then(|sink| sink.pause(store));
        paused.map_err(|e| Error::io(store.show(&self.path), "cannot write", e))
    }

    /// Ends the file, which must be synced then. None if no row was left, and then there is no file.
    pub(in crate::lake) fn finish(mut self) -> Result<Option<Finished>> {
        while let Some(old) = self.old.as_mut() {
            let Some((rows, from)) = old.current()? else {
                break;
            };
            let run = rows.slice(from, rows.num_rows() - from);
            let to = rows.num_rows();
            old.advance(to);
            self.append(&run)?;
        }
        self.end_group()?;
        let Some(encoder) = self.encoder.take() else {
            return Ok(None);
        };
        let shown = self.target.store.show(&self.path);
        let sink = encoder
            .into_inner()
            .map_err(|e| written(&self.path, e, &shown))?;
        let whole = sink.finish(&self.target.store, &self.path);
        let whole = whole.map_err(|e| Error::io(&shown, "cannot write", e))?;
        Ok(Some(Finished {
            unsynced: whole.unsynced,
            data: DataFile {
                table: self.table.name.clone(),
                path: std::mem::take(&mut self.path),
                range: self.target.range,
                day: self.target.day.clone(),
                ost: self.ost,
                rows: self.rows,
                bytes: whole.bytes,
                job_id: self.job_id,
                start_time: self.start_time,
                time: self.time,
                schema_version: self.table.version,
                version: self.target.version,
                content_hash: Some(whole.content_hash),
                layout: LAYOUT,
            },
        }))
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if let Some(at) = self.table.position("job_id") {
            let jobs = batch.column(at).as_primitive::<Int64Type>().values();
            let (first, last) = (jobs[0], jobs[jobs.len() - 1]);
            let inside = |job: i64| {
                self.target.from.is_none_or(|from| from <= job)
                    && self.target.to.is_none_or(|to| job < to)
            };
            if !inside(first) || !inside(last) {
                let range = self.target.range.unwrap_or_default();
                return Err(Error::Lake {
                    lake: self.target.store.show(""),
                    reason: format!(
                        "rows of jobs {first} to {last} do not belong to range {range}"
                    ),
                });
            }
            self.job_id = Some((self.job_id.map_or(first, |j| j.0), last));
        }
        self.start_time = self.bounds(batch, "start_time", self.start_time);
        self.time = self.bounds(batch, "time", self.time);
        self.rows += batch.num_rows() as u64;
        let most = self.target.memory.max(1);
        let step = (batch.num_rows() * most / bytes(batch).max(1)).clamp(1, GROUP_ROWS);
        for from in (0..batch.num_rows()).step_by(step) {
            let part = batch.slice(from, step.min(batch.num_rows() - from));
            self.group.push(&part);
            if self.group.rows() >= GROUP_ROWS || self.group.bytes() >= GROUP_BYTES {
                self.end_group()?;
                self.pause()?;
            } else if self.group.memory() >= most {
                self.spill_rows()?;
            }
        }
        Ok(())
    }
}

impl RangeWriter {
    /// The earliest and the latest of a column of times, with those so far.
    fn bounds(
        &self,
        batch: &RecordBatch,
        column: &str,
        so_far: Option<(i64, i64)>,
    ) -> Option<(i64, i64)> {
        let at = self.table.position(column)?;
        let times = batch.column(at).as_primitive::<TimestampMicrosecondType>();
        let here = arrow::compute::min(times).zip(arrow::compute::max(times));
        match (so_far, here) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (so_far, here) => so_far.or(here),
        }
    }
}

/// About how many bytes of memory a batch takes, or its part of those that it is a slice of.
pub(in crate::lake) fn bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(bytes_of).sum()
}

/// The new file of a table in a range, its path, and the target on which it lies.
fn create(table: &Table, target: &FileDestination) -> Result<(Sink, String, Option<i64>)> {
    let part = match (&target.day, target.range) {
        (Some((_, day)), _) => day_name(*day),
        (None, range) => format!("{:06}", range.unwrap_or_default()),
    };
    let path = format!("{}/{part}-{}.parquet", table.name, uuid::Uuid::new_v4());
    Sink::create(target, path)
}

/// A file that was not finished is not referenced: it is deleted.
impl Drop for RangeWriter {
    fn drop(&mut self) {
        self.encoder = None;
        if !self.path.is_empty() {
            let _ = self.target.store.delete(&self.path);
        }
    }
}

/// What went wrong while a file was written: a full disk is the system's error, not Parquet's.
fn written(path: &str, error: parquet::errors::ParquetError, shown: &Path) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<std::io::Error>() {
            let io = io.raw_os_error().map_or_else(
                || std::io::Error::other(io.to_string()),
                std::io::Error::from_raw_os_error,
            );
            return Error::io(shown, "cannot write", io);
        }
        cause = e.source();
    }
    Error::columns(path, error)
}

/// Rows of the files that are replaced, in order, without those that go.
struct OldRows {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    current: Option<RecordBatch>,
    at: usize,
}

impl OldRows {
    fn open(
        target: &FileDestination,
        table: &Arc<Table>,
        files: &[DataFile],
        drop: Arc<HashSet<i64>>,
    ) -> Result<Self> {
        let mut files = files.to_vec();
        files.sort_by_key(|file| file.job_id);
        let (store, table) = (target.store.clone(), table.clone());
        let (from, to) = (target.from, target.to);
        let batches = files.into_iter().flat_map(move |file| {
            let drop = drop.clone();
            match read_rows(&store, &table, &file.path, 8192) {
                Ok(batches) => {
                    let kept = batches.map(move |batch| keep(&batch?, from, to, &drop));
                    Box::new(kept) as Box<dyn Iterator<Item = Result<RecordBatch>> + Send>
                }
                Err(e) => Box::new(std::iter::once(Err(e))),
            }
        });
        Ok(Self {
            batches: Box::new(batches),
            current: None,
            at: 0,
        })
    }

    /// The batch and the first row of it that was not taken yet; None at the end.
    fn current(&mut self) -> Result<Option<(&RecordBatch, usize)>> {
        while self
            .current
            .as_ref()
            .is_none_or(|batch| self.at >= batch.num_rows())
        {
            match self.batches.next().transpose()? {
                Some(batch) => (self.current, self.at) = (Some(batch), 0),
                None => return Ok(None),
            }
        }
        Ok(self.current.as_ref().map(|batch| (batch, self.at)))
    }

    fn advance(&mut self, to: usize) {
        self.at = to;
    }
}

/// The rows whose job lies in `[from, to)` and whose log is not in `drop`.
fn keep(
    batch: &RecordBatch,
    from: Option<i64>,
    to: Option<i64>,
    drop: &HashSet<i64>,
) -> Result<RecordBatch> {
    let keys = Keys::new(batch)?;
    let kept = |row: usize| {
        let (job, log) = keys.key(row);
        from.is_none_or(|from| from <= job)
            && to.is_none_or(|to| job < to)
            && (drop.is_empty() || !drop.contains(&log))
    };
    let mask: BooleanArray = (0..batch.num_rows()).map(|row| Some(kept(row))).collect();
    match mask.true_count() == batch.num_rows() {
        true => Ok(batch.clone()),
        false => {
            filter_record_batch(batch, &mask).map_err(|e| Error::columns("an older data file", e))
        }
    }
}

/// job_id and log_id of a batch's rows.
struct Keys<'a> {
    jobs: &'a [i64],
    logs: &'a [i64],
}

impl<'a> Keys<'a> {
    fn new(batch: &'a RecordBatch) -> Result<Self> {
        let column = |name: &str| {
            let column = batch
                .column_by_name(name)
                .and_then(|column| column.as_primitive_opt::<Int64Type>());
            column
                .map(|column| &column.values()[..])
                .ok_or_else(|| Error::Invalid(format!("a table of the lake lacks {name}")))
        };
        Ok(Self {
            jobs: column("job_id")?,
            logs: column("log_id")?,
        })
    }

    fn key(&self, row: usize) -> (i64, i64) {
        (self.jobs[row], self.logs[row])
    }

    /// The first row from `from` on whose key is `key` or greater.
    fn first_at_or_after(&self, key: (i64, i64), from: usize) -> usize {
        (from..self.jobs.len())
            .find(|row| self.key(*row) >= key)
            .unwrap_or(self.jobs.len())
    }

    /// The first row from `from` on whose key is greater than `key`.
    fn first_after(&self, key: (i64, i64), from: usize) -> usize {
        (from..self.jobs.len())
            .find(|row| self.key(*row) > key)
            .unwrap_or(self.jobs.len())
    }
}
