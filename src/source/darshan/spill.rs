//! Records for which there is no room in memory: sorted runs in a temporary file, which are merged when they are read.
//!
//! A record lies there with its length before it. The file has no name, so nothing is left of it by whoever is killed.

use super::module::int;
use crate::error::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that are written at once.
const BUFFER: usize = 256 << 10;

/// Bytes of a run that are read at once, at least.
const LEAST: usize = 1 << 10;

/// Most runs of a module, each of which takes a buffer when they are merged.
pub(super) const MOST_RUNS: usize = 1024;

/// A temporary file for the records of a log.
pub(super) struct SpillFile {
    file: Arc<File>,
    end: u64,
}

/// Id and process of a record.
pub(super) type Key = (u64, i64);

/// The records of all runs, by id and process; equal ones in the order of the log.
pub(super) struct Merge {
    runs: Vec<Run>,
    /// Key of the next record of each run that has one.
    next: BinaryHeap<Reverse<(Key, usize)>>,
}

/// A run that is being read.
struct Run {
    file: Arc<File>,
    /// What was not read of it.
    rest: Range<u64>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were taken.
    taken: usize,
    /// Bytes that are read at once.
    step: usize,
}

impl SpillFile {
    /// An empty one.
    ///
    /// # Errors
    /// [`Error::Io`] if there can be no temporary file.
    pub(super) fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|e| failed("cannot make a temporary file", e))?;
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
        records: impl Iterator<Item = &'r [u8]>,
    ) -> Result<Range<u64>> {
        let from = self.end;
        let mut file = BufWriter::with_capacity(BUFFER, &*self.file);
        let write = || -> std::io::Result<()> {
            for record in records {
                file.write_all(&(record.len() as u64).to_le_bytes())?;
                file.write_all(record)?;
                self.end += (8 + record.len()) as u64;
            }
            file.flush()
        };
        write().map_err(|e| failed("cannot write a temporary file", e))?;
        Ok(from..self.end)
    }

    /// Begins to read runs, through buffers of about `memory` bytes together.
    ///
    /// # Errors
    /// [`Error::Io`] if the temporary file cannot be read.
    pub(super) fn merge(&self, runs: &[Range<u64>], memory: usize) -> Result<Merge> {
        let step = (memory / runs.len().max(1)).clamp(LEAST, BUFFER);
        let runs = runs.iter().map(|run| Run {
            file: self.file.clone(),
            rest: run.clone(),
            buffer: vec![],
            taken: 0,
            step,
        });
        let mut merge = Merge {
            runs: runs.collect(),
            next: BinaryHeap::new(),
        };
        for number in 0..merge.runs.len() {
            merge.advance(number)?;
        }
        Ok(merge)
    }
}

impl Merge {
    /// Key of the next record; None after the last one.
    pub(super) fn peek(&self) -> Option<Key> {
        self.next.peek().map(|Reverse((key, _))| *key)
    }

    /// Puts the next record into `record`, which is empty after the last one.
    ///
    /// # Errors
    /// [`Error::Io`] if the temporary file cannot be read.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> Result<()> {
        record.clear();
        let Some(Reverse((_, number))) = self.next.pop() else {
            return Ok(());
        };
        if let Some(run) = self.runs.get_mut(number) {
            let length = int(run.front(8)?, 0) as usize;
            record.extend_from_slice(run.front(8 + length)?.get(8..).unwrap_or_default());
            run.taken += 8 + length;
        }
        self.advance(number)
    }

    /// Notes the key of a run's next record.
    fn advance(&mut self, number: usize) -> Result<()> {
        if let Some(run) = self.runs.get_mut(number) {
            let front = run.front(24)?;
            if !front.is_empty() {
                let key = (int(front, 8) as u64, int(front, 16));
                self.next.push(Reverse((key, number)));
            }
        }
        Ok(())
    }
}

impl Run {
    /// The next `n` bytes; none after the last record.
    fn front(&mut self, n: usize) -> Result<&[u8]> {
        let held = self.buffer.len() - self.taken;
        if held < n {
            self.buffer.drain(..self.taken);
            // A long record must not hold its memory for as long as the run is read.
            self.buffer.shrink_to(self.step);
            self.taken = 0;
            let left = (self.rest.end - self.rest.start) as usize;
            let more = n.max(self.step).saturating_sub(held).min(left);
            self.buffer.resize(held + more, 0);
            let read = self
                .file
                .read_exact_at(&mut self.buffer[held..], self.rest.start);
            read.map_err(|e| failed("cannot read a temporary file", e))?;
            self.rest.start += more as u64;
        }
        let front = self.buffer.get(self.taken..self.taken + n);
        Ok(front.unwrap_or_default())
    }
}

fn failed(what: &'static str, e: std::io::Error) -> Error {
    Error::io(std::env::temp_dir(), what, e)
}
