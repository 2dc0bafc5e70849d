//! The files of one range: a writer for each table, which takes the rows out of a builder.

use super::target::FileDestination;
use super::writer::RangeWriter;
use crate::error::{Error, Result};
use crate::lake::version::list_file::DataFile;
use crate::table::TableBuilder;
use std::collections::HashSet;
use std::sync::Arc;

/// The writers of a range, in the order of the builders.
pub(in crate::lake) struct RangeWriters {
    target: FileDestination,
    /// The data files whose rows are kept but for those of `drop`.
    old: Vec<DataFile>,
    /// Logs whose rows go.
    drop: Arc<HashSet<i64>>,
    writers: Vec<Option<RangeWriter>>,
    /// Bytes that a builder may hold.
    flush_at: usize,
    /// Bytes of memory that the writers may hold together.
    write_at: usize,
    /// Rows were taken since [`RangeWriters::begin`].
    took: bool,
    /// What went wrong while rows were taken.
    failure: Option<Error>,
}

impl RangeWriters {
    /// No files yet, for so many builders.
    pub(in crate::lake) fn new(
        target: FileDestination,
        old: Vec<DataFile>,
        drop: Arc<HashSet<i64>>,
        builders: usize,
        flush_at: usize,
        write_at: usize,
    ) -> Self {
        Self {
            target,
            old,
            drop,
            writers: (0..builders).map(|_| None).collect(),
            flush_at,
            write_at,
            took: false,
            failure: None,
        }
    }

    /// Begins with another input.
    pub(in crate::lake) fn begin(&mut self) {
        self.took = false;
    }

    /// Moves the rows of full builders into the files while an input is read.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; [`RangeWriters::failed`] says why.
    pub(in crate::lake) fn flush_while_read(
        &mut self,
        builders: &mut [TableBuilder],
    ) -> Result<()> {
        self.flush(builders, self.flush_at).map_err(|e| {
            self.failure = Some(e);
            Error::Interrupted
        })
    }

    /// Why an input that was not read to its end cannot be left out: its rows could not be taken, or some of them were. `e` is what its
    /// reader says.
    ///
    /// # Errors
    /// That reason; none if nothing of the input is here.
    pub(in crate::lake) fn failed(&mut self, e: Error) -> Result<Error> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None if self.took => Err(e),
            None => Ok(e),
        }
    }

    /// Moves the rows of all builders that are full into the files.
    pub(in crate::lake) fn flush_full(&mut self, builders: &mut [TableBuilder]) -> Result<()> {
        self.flush(builders, self.flush_at)
    }

    /// Moves the rows of those builders into the files that hold so many bytes.
    pub(in crate::lake) fn flush(
        &mut self,
        builders: &mut [TableBuilder],
        least: usize,
    ) -> Result<()> {
        let mut moved = false;
        for (builder, writer) in builders.iter_mut().zip(&mut self.writers) {
            if builder.rows() == 0 || builder.bytes() < least {
                continue;
            }
            moved = true;
            let batch = builder.finish()?;
            let writer = match writer {
                Some(writer) => writer,
                None => {
                    let old = old_of(&self.old, &builder.table().name);
                    writer.insert(RangeWriter::new(
                        builder.table(),
                        self.target.clone(),
                        &old,
                        self.drop.clone(),
                    )?)
                }
            };
            writer.write(&batch)?;
        }
        if !moved {
            return Ok(());
        }
        self.took = true;
        // Many writers that are each within their bounds are too much together.
        let mut held: Vec<usize> = self
            .writers
            .iter()
            .map(|writer| writer.as_ref().map_or(0, RangeWriter::memory))
            .collect();
        while held.iter().sum::<usize>() > self.write_at {
            let largest = (0..held.len()).max_by_key(|at| held[*at]);
            let Some((at, writer)) = largest.and_then(|at| Some((at, self.writers[at].as_mut()?)))
            else {
                break;
            };
            writer.spill_rows()?;
            held[at] = 0;
        }
        Ok(())
    }

    /// The writers; None for a table without rows.
    pub(in crate::lake) fn take(&mut self) -> Vec<Option<RangeWriter>> {
        std::mem::take(&mut self.writers)
    }
}

/// The data files of one table.
pub(in crate::lake) fn old_of(old: &[DataFile], table: &str) -> Vec<DataFile> {
    old.iter()
        .filter(|file| file.table == table)
        .cloned()
        .collect()
}
