//! A data file, and its rows. It is open as long as descriptors are spare, else opened for each access.
//!
//! Parquet passes on the words of an error only. So the reader notes which of its errors came from the file system: the file is not damaged
//! then, and nobody knows what it holds.

use super::adapt_schema::adapt_schema;
use super::descriptors::{FdPermit, try_acquire};
use crate::error::{Error, Result};
use crate::lake::version::calls::Call;
use crate::lake::version::store::Store;
use crate::source::open_regular;
use crate::table::Table;
use arrow::array::AsArray;
use arrow::array::BooleanArray;
use arrow::datatypes::Int64Type;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A data file on a disk.
pub(in crate::lake) struct DataReader {
    store: Store,
    path: PathBuf,
    length: u64,
    open: Option<(Arc<File>, FdPermit)>,
    refused: FirstIoError,
}

/// The first error of the file system that a reader met.
#[derive(Clone, Default)]
pub(in crate::lake) struct FirstIoError(Arc<Mutex<Option<std::io::Error>>>);

impl FirstIoError {
    /// Takes it.
    pub(in crate::lake) fn take(&self) -> Option<std::io::Error> {
        self.0.lock().ok()?.take()
    }

    fn note<T>(&self, read: std::io::Result<T>) -> std::io::Result<T> {
        // A file that ends too early is damaged, and what a signal interrupts is read again.
        if let Err(e) = &read
            && !matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::Interrupted)
            && let Ok(mut noted) = self.0.lock()
        {
            let same = match e.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(e.kind(), e.to_string()),
            };
            noted.get_or_insert(same);
        }
        read
    }
}

/// Its bytes from a place on.
pub(in crate::lake) struct Bytewise {
    file: Arc<File>,
    at: u64,
    refused: FirstIoError,
}

impl DataReader {
    /// Opens a file of a store.
    pub(in crate::lake) fn open(store: &Store, path: PathBuf) -> std::io::Result<Self> {
        let file = store.call(Call::Read, &path, || open_regular(&path))?;
        Ok(Self {
            store: store.clone(),
            length: file.metadata()?.len(),
            open: try_acquire().map(|permit| (Arc::new(file), permit)),
            path,
            refused: FirstIoError::default(),
        })
    }

    /// Where its errors are noted.
    pub(in crate::lake) fn refused(&self) -> FirstIoError {
        self.refused.clone()
    }

    fn file(&self) -> std::io::Result<Arc<File>> {
        self.store
            .call(Call::Read, &self.path, || match &self.open {
                Some((file, _)) => Ok(file.clone()),
                None => open_regular(&self.path).map(Arc::new),
            })
    }
}

impl Length for DataReader {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for DataReader {
    type T = BufReader<Bytewise>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let file = self.refused.note(self.file())?;
        Ok(BufReader::new(Bytewise {
            file,
            at: start,
            refused: self.refused(),
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let read = self.file().and_then(|file| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, start)?;
            Ok(bytes)
        });
        Ok(self.refused.note(read)?.into())
    }
}

impl Read for Bytewise {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.refused.note(self.file.read_at(bytes, self.at))?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The rows of a table's data file as the table has them today, batch by batch.
pub(in crate::lake) fn read_rows(
    store: &Store,
    table: &Arc<Table>,
    path: &str,
    batch: usize,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + Send + use<>> {
    let (table, shown) = (table.clone(), store.show(path).display().to_string());
    let batches = read_data(store, path, batch)?;
    Ok(batches.map(move |batch| adapt_schema(&batch?, &table, &shown)))
}

/// Which rows of a data file are read: those for which `keep` of these columns is true. Pages without such rows are not decoded.
pub(in crate::lake) struct KeptRows {
    pub(in crate::lake) columns: Vec<&'static str>,
    pub(in crate::lake) keep:
        Box<dyn FnMut(RecordBatch) -> Result<BooleanArray, ArrowError> + Send>,
}

/// As [`read_rows`], with the columns of a table that may have less of them, and of some rows if `kept` says which.
pub(in crate::lake) fn read_kept(
    store: &Store,
    table: &Arc<Table>,
    path: &str,
    batch: usize,
    kept: Option<KeptRows>,
) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
    let (table, shown) = (table.clone(), store.show(path).display().to_string());
    let fields = table.schema.fields().iter();
    let only: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
    let batches = read_columns(store, path, batch, &only, kept)?;
    Ok(Box::new(
        batches.map(move |batch| adapt_schema(&batch?, &table, &shown)),
    ))
}

/// The rows of a data file as they lie there, batch by batch.
pub(in crate::lake) fn read_data(
    store: &Store,
    path: &str,
    batch: usize,
) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
    read_columns(store, path, batch, &[], None)
}

/// Some columns of a data file, batch by batch.
pub(in crate::lake) fn read_named(
    store: &Store,
    path: &str,
    columns: &[&str],
) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
    read_columns(store, path, 65_536, columns, None)
}

/// The job ids of a data file, batch by batch.
pub(in crate::lake) fn read_jobs(
    store: &Store,
    path: &str,
) -> Result<impl Iterator<Item = Result<Vec<i64>>> + use<>> {
    let batches = read_named(store, path, &["job_id"])?;
    Ok(batches.map(|batch| {
        let batch = batch?;
        let jobs = batch
            .column_by_name("job_id")
            .and_then(|column| column.as_primitive_opt::<Int64Type>());
        Ok(jobs.map_or(vec![], |jobs| jobs.values().to_vec()))
    }))
}

/// The rows of a data file with some of its columns, or with all if none are named.
fn read_columns(
    store: &Store,
    path: &str,
    batch: usize,
    only: &[&str],
    kept: Option<KeptRows>,
) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
    let (shown, lake, name) = (store.show(path), store.show(""), path.to_string());
    let damaged = damaged(store, path);
    // Only wrong bytes and a missing file are damage; of what the file system refuses its reason is all that is known.
    let refused = move |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Error::Lake {
            lake: lake.clone(),
            reason: format!("{name} is missing; `iolode lake check` finds what else is"),
        },
        _ => Error::io(&shown, "cannot read", e),
    };
    let (reader, noted) = match store {
        Store::Local(_) => {
            let file = DataReader::open(store, store.show(path)).map_err(&refused)?;
            let noted = file.refused();
            (reader(file, batch, only, kept), noted)
        }
        Store::Memory(_) => {
            let bytes = store.read(path)?;
            let bytes = bytes.ok_or_else(|| refused(std::io::ErrorKind::NotFound.into()))?;
            (reader(bytes, batch, only, kept), FirstIoError::default())
        }
    };
    let reader = reader.map_err(|e| match noted.take() {
        Some(e) => refused(e),
        None => Error::columns(damaged.clone(), e),
    })?;
    Ok(Box::new(reader.map(move |batch| {
        batch.map_err(|e| match noted.take() {
            Some(e) => refused(e),
            None => Error::columns(damaged.clone(), e),
        })
    })))
}

/// What is said before Parquet's reason when a data file cannot be read.
pub(in crate::lake) fn damaged(store: &Store, path: &str) -> String {
    format!(
        "damaged data file {} (`iolode lake check` finds all of them)",
        store.show(path).display()
    )
}

fn reader<R: ChunkReader + 'static>(
    bytes: R,
    batch: usize,
    only: &[&str],
    kept: Option<KeptRows>,
) -> parquet::errors::Result<ParquetRecordBatchReader> {
    let mut options = ArrowReaderOptions::new();
    if kept.is_some() {
        // Where pages begin, to leave out those without kept rows.
        options = options.with_offset_index_policy(PageIndexPolicy::Optional);
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)?;
    let mut builder = builder.with_batch_size(batch);
    if let Some(KeptRows { columns, keep }) = kept {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns);
        let predicate = ArrowPredicateFn::new(mask, keep);
        builder = builder.with_row_filter(RowFilter::new(vec![Box::new(predicate)]));
    }
    if !only.is_empty() {
        let mask = ProjectionMask::columns(builder.parquet_schema(), only.iter().copied());
        builder = builder.with_projection(mask);
    }
    builder.build()
}
