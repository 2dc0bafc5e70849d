//! The tables of an export, written a few at a time.

use super::anonymize::Anonymizer;
use super::buckets::{self, Sorting};
use super::delta;
use super::form::Form;
use super::policy::Policy;
use super::pseudonym::Key;
use super::record_names::{self, RecordNames};
use super::sorted::sorted;
use super::target::Target;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::lake::{ChosenRows, DataFile, LakeWriter, Snapshot, TableWriter, splits_for};
use crate::table::{Partition, Table, tables};
use arrow::record_batch::RecordBatch;
use datafusion::arrow::compute::cast;
use futures::{StreamExt, TryStreamExt, stream};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// What all tables are written with.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) engine: Engine,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) lake: Arc<LakeWriter>,
    pub(super) rows: ChosenRows,
    pub(super) anonymize: Option<(Key, Arc<Policy>)>,
    /// The jobs as the export names them, and the size of their logs.
    pub(super) jobs: Arc<Vec<(i64, u64)>>,
    /// Bytes of rows of a table that are sorted at once.
    pub(super) sort_memory: usize,
    pub(super) form: Form,
    /// The only table; all if None.
    pub(super) only: Option<String>,
    /// Set when nobody waits for the export any more.
    pub(super) cancel: Arc<AtomicBool>,
    /// The directory is deleted when nobody writes into it any more.
    pub(super) target: Arc<Target>,
}

/// Batches on the way from one thread to another.
const ON_THE_WAY: usize = 4;

/// Bytes of rows that are sorted at once below which one table is sorted at a time: what batches and files take beside their rows grows with the tables.
const ALONE: usize = 32 << 20;

/// Writes all tables that have rows, so many at once, or one where they are sorted with little memory: the rows of each.
///
/// # Errors
/// Those of the lake, of the pseudonyms and of the files.
pub(super) async fn write_all(work: &Work, threads: usize) -> Result<BTreeMap<String, u64>> {
    let bytes = |table: &Table| {
        let of_table = work
            .snapshot
            .files()
            .iter()
            .filter(|file| file.table == table.name);
        of_table.map(|file| file.bytes).sum::<u64>()
    };
    let is_wanted = |table: &&Arc<Table>| {
        let only = work.only.as_ref().is_none_or(|only| *only == table.name);
        only && table.partition != Partition::Manifest
    };
    let all = tables().filter(is_wanted);
    let mut all: Vec<Arc<Table>> = all.filter(|table| bytes(table) > 0).cloned().collect();
    // The largest first.
    all.sort_by_key(|table| Reverse(bytes(table)));
    let at_once = match work.anonymize {
        Some(_) if work.sort_memory < ALONE => 1,
        _ => threads.max(1),
    };
    let written = all.into_iter().map(|table| write(work.clone(), table));
    let written = stream::iter(written).buffer_unordered(at_once);
    let written: Vec<(String, u64)> = written.try_collect().await?;
    Ok(written.into_iter().filter(|(_, rows)| *rows > 0).collect())
}

/// Writes the rows of a table: its name, and how many they are.
async fn write(work: Work, table: Arc<Table>) -> Result<(String, u64)> {
    let name = table.name.clone();
    let rows = match work.anonymize.clone() {
        None => write_plain(work, table).await?,
        Some((key, policy)) => {
            let anonymizer = Anonymizer::new(key, policy, &table)?;
            match table.partition {
                Partition::Day if anonymizer.keeps_order(&table)? => {
                    write_in_order(work, table, anonymizer).await?
                }
                Partition::JobId => write_in_buckets(work, table, anonymizer).await?,
                _ => write_anonymous(work, table, anonymizer).await?,
            }
        }
    };
    Ok((name, rows))
}

/// Writes the rows of a table as they are.
async fn write_plain(work: Work, table: Arc<Table>) -> Result<u64> {
    on_thread(move || {
        let mut writer = work.writer(&table);
        for batch in work.snapshot.chosen_rows(&table.name, &[], &work.rows)? {
            writer.write(&batch?)?;
        }
        writer.finish()
    })
    .await
}

/// Writes the rows of a table under pseudonyms in the order in which they are read.
async fn write_in_order(work: Work, table: Arc<Table>, mut anonymizer: Anonymizer) -> Result<u64> {
    on_thread(move || {
        let mut writer = work.writer(&table);
        for batch in work.snapshot.chosen_rows(&table.name, &[], &work.rows)? {
            writer.write(&anonymizer.rows(&table, &batch?, None)?)?;
        }
        writer.finish()
    })
    .await
}

/// Writes the rows of logs and jobs under pseudonyms, sorted anew: rows of a job stand together before and after.
async fn write_in_buckets(
    work: Work,
    table: Arc<Table>,
    mut anonymizer: Anonymizer,
) -> Result<u64> {
    on_thread(move || {
        let of_table = |file: &&DataFile| file.table == table.name;
        let files = work.snapshot.files().iter().filter(of_table);
        let rows = files.map(|file| file.rows).sum();
        let parts = buckets::buckets(&table, rows, work.sort_memory);
        let splits = splits_for(&mut work.jobs.to_vec(), parts);
        let mut sorting = Sorting::new(&table, splits, work.target.path())?;
        work.each_anonymous(&table, &mut anonymizer, |rows| {
            sorting.push(&rows).map(|()| true)
        })?;
        let mut writer = work.writer(&table);
        sorting.finish(|batch| writer.write(batch))?;
        writer.finish()
    })
    .await
}

/// Writes the rows of a table under pseudonyms, sorted anew by the engine.
async fn write_anonymous(work: Work, table: Arc<Table>, mut anonymizer: Anonymizer) -> Result<u64> {
    let (read, to_sort) = mpsc::channel(ON_THE_WAY);
    let reading = spawn_blocking({
        let (work, table) = (work.clone(), table.clone());
        move || {
            let sent = work.each_anonymous(&table, &mut anonymizer, |rows| {
                Ok(read.blocking_send(Ok(rows)).is_ok())
            });
            if let Err(e) = sent {
                _ = read.blocking_send(Err(e));
            }
        }
    });
    let mut rows = sorted(&work.engine, &table, to_sort).await?;
    let (to_write, mut incoming) = mpsc::channel::<RecordBatch>(ON_THE_WAY);
    let writing = tokio::spawn(on_thread({
        let (work, table) = (work.clone(), table.clone());
        move || {
            let mut writer = work.writer(&table);
            while let Some(batch) = incoming.blocking_recv() {
                writer.write(&batch)?;
            }
            writer.finish()
        }
    }));
    while let Some(batch) = rows.next().await? {
        // The writer has failed, and says why below.
        if to_write.send(of_table(&table, &batch)?).await.is_err() {
            break;
        }
    }
    drop(to_write);
    drop(rows);
    _ = reading.await;
    writing.await.unwrap_or_else(|e| Err(thread_failed(e)))
}

/// Rows with the types of their table: the engine may have given texts another one.
fn of_table(table: &Table, batch: &RecordBatch) -> Result<RecordBatch> {
    let failed = |e| Error::columns(&*table.name, e);
    let columns = batch.columns().iter().zip(table.schema.fields());
    let columns = columns.map(
        |(column, field)| match column.data_type() == field.data_type() {
            true => Ok(column.clone()),
            false => cast(column, field.data_type()),
        },
    );
    let columns = columns
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(failed)?;
    RecordBatch::try_new(table.schema.clone(), columns).map_err(failed)
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|e| Err(thread_failed(e)))
}

fn thread_failed(e: tokio::task::JoinError) -> Error {
    Error::Invalid(format!("a thread of the export failed: {e}"))
}

/// Writes rows in the form of the export.
struct Writer<'a> {
    work: &'a Work,
    table: Arc<Table>,
    inner: TableWriter<'a>,
}

impl Writer<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.work.go_on()?;
        match self.work.form {
            Form::Lake => self.inner.write(batch),
            Form::Delta => self.inner.write(&delta::signed_rows(&self.table, batch)?),
        }
    }

    /// Ends the table. Rows may be missing if nobody waits for them.
    fn finish(self) -> Result<u64> {
        self.work.go_on()?;
        self.inner.finish()
    }
}

impl Work {
    fn writer(&self, table: &Arc<Table>) -> Writer<'_> {
        let table = match self.form {
            Form::Lake => table.clone(),
            Form::Delta => Arc::new(delta::signed(table)),
        };
        Writer {
            work: self,
            inner: self.lake.table(&table),
            table,
        }
    }

    /// Gives the chosen rows of a table under pseudonyms, until `take` wants no more.
    fn each_anonymous(
        &self,
        table: &Table,
        anonymizer: &mut Anonymizer,
        mut take: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        let names = match anonymizer.wants_names(table)? {
            true => Some(self.snapshot.chosen_rows(
                "darshan_file",
                &record_names::COLUMNS,
                &self.rows,
            )?),
            false => None,
        };
        let mut names = names.map(RecordNames::new);
        for batch in self.snapshot.chosen_rows(&table.name, &[], &self.rows)? {
            self.go_on()?;
            let rows = anonymizer.rows(table, &batch?, names.as_mut())?;
            if let Some(names) = &mut names {
                names.next_batch();
            }
            if !take(rows)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether anybody waits for the export.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if not.
    pub(super) fn go_on(&self) -> Result<()> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}
