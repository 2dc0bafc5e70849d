//! Records for which there is no room in memory: sorted runs in a temporary file, which are merged when they are read.
//!
//! A record lies there behind its id, its process and its length. The file has no name, so nothing is left of it by whoever is killed.

use super::module::int;
use crate::error::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are written at once, and most bytes of a run that are read at once.
const BUFFER: usize = 256 << 10;

/// Bytes of a run that are read at once, at least.
const LEAST: usize = 1 << 10;

/// Bytes before a record.
const HEAD: usize = 24;

/// A temporary file for the records of a log.
pub(super) struct SpillFile {
    file: Arc<File>,
    end: u64,
}

/// Id and process of a record.
pub(super) type Key = (u64, i64);

/// The records of all runs, by id and process; equal ones in the order of the log.
pub(super) struct Merge {
    runs: Vec<BufReader<Run>>,
    /// Key of the next record of each run that has one, the run, and the length of that record.
    next: BinaryHeap<Reverse<(Key, usize, usize)>>,
}

/// What was not read of a run.
struct Run {
    file: Arc<File>,
    rest: Range<u64>,
}

impl SpillFile {
    /// An empty one in that directory; in that of the system if None.
    ///
    /// # Errors
    /// [`Error::Io`] if there can be no temporary file.
    pub(super) fn new(directory: Option<&Path>) -> Result<Self> {
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let file = tempfile::tempfile_in(&directory)
            .map_err(|e| Error::io(directory, "cannot make a temporary file", e))?;
        Ok(Self {
            file: Arc::new(file),
            end: 0,
        })
    }

    /// Appends a run of sorted records and returns where it lies.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no room for it.
    pub(super) fn write<'r>(
        &mut self,
        records: impl Iterator<Item = (Key, &'r [u8])>,
    ) -> Result<Range<u64>> {
        let from = self.end;
        let mut file = BufWriter::with_capacity(BUFFER, &*self.file);
        let write = || -> std::io::Result<()> {
            for ((id, rank), record) in records {
                file.write_all(&id.to_le_bytes())?;
                file.write_all(&rank.to_le_bytes())?;
                file.write_all(&(record.len() as u64).to_le_bytes())?;
                file.write_all(record)?;
                self.end += (HEAD + record.len()) as u64;
            }
            file.flush()
        };
        write().map_err(|e| Error::io("a temporary file", "cannot write", e))?;
        Ok(from..self.end)
    }

    /// Begins to read runs, through buffers of about `memory` bytes together.
    ///
    /// # Errors
    /// [`Error::Io`] if the temporary file cannot be read.
    pub(super) fn merge(&self, runs: &[Range<u64>], memory: usize) -> Result<Merge> {
        let each = (memory / runs.len().max(1)).clamp(LEAST, BUFFER);
        let mut merge = Merge {
            runs: vec![],
            next: BinaryHeap::new(),
        };
        for (number, rest) in runs.iter().enumerate() {
            let (file, rest) = (self.file.clone(), rest.clone());
            let run = Run { file, rest };
            merge.runs.push(BufReader::with_capacity(each, run));
            merge.advance(number)?;
        }
        Ok(merge)
    }
}

impl Merge {
    /// Key of the next record; None after the last one.
    pub(super) fn peek(&self) -> Option<Key> {
        self.next.peek().map(|Reverse((key, ..))| *key)
    }

    /// Puts the next record into `record`, which is empty after the last one.
    ///
    /// # Errors
    /// [`Error::Io`] if the temporary file cannot be read.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> Result<()> {
        record.clear();
        let Some(Reverse((_, number, length))) = self.next.pop() else {
            return Ok(());
        };
        record.resize(length, 0);
        if let Some(run) = self.runs.get_mut(number) {
            run.read_exact(record).map_err(unread)?;
        }
        self.advance(number)
    }

    /// Notes the next record of a run.
    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(number) else {
            return Ok(());
        };
        if run.buffer().is_empty() && run.get_ref().rest.is_empty() {
            return Ok(());
        }
        let mut head = [0; HEAD];
        run.read_exact(&mut head).map_err(unread)?;
        let key = (int(&head, 0) as u64, int(&head, 8));
        let next = (key, number, int(&head, 16) as usize);
        self.next.push(Reverse(next));
        Ok(())
    }
}

impl Read for Run {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = self.rest.end.saturating_sub(self.rest.start);
        let n = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut into[..n], self.rest.start)?;
        self.rest.start += read as u64;
        Ok(read)
    }
}

fn unread(e: std::io::Error) -> Error {
    Error::io("a temporary file", "cannot read", e)
}
