//! What a source of logs is to the lake: it recognises an input, says where its rows belong, and reads it.

use super::input::Input;
use super::{BatchSink, Hints, ReadContext};
use crate::error::Result;
use arrow::record_batch::RecordBatch;
use std::path::Path;
use std::sync::Arc;

/// A kind of log.
pub trait Source: Send + Sync {
    /// Name in the manifest and in messages.
    fn name(&self) -> &'static str;

    /// Tables of its rows: those that its readers fill, and those that are derived of them.
    fn tables(&self) -> &'static [&'static str];

    /// Those of its tables that are filled only where they are asked for (`--dxt`), because they are large.
    fn on_request(&self) -> &'static [&'static str] {
        &[]
    }

    /// Version of the reader: raised when the same input would give other rows.
    fn version(&self) -> u32;

    /// Whether this is such a log, by its path and its first 4 KiB.
    fn probe(&self, path: &Path, head: &[u8]) -> bool;

    /// Whether this is the address of something that it can ask, such as `sacct:`.
    fn serves(&self, _address: &str) -> bool {
        false
    }

    /// Why nothing is taken of an input that was said to be of this kind and was not recognised.
    fn unrecognized(&self) -> &'static str {
        "no log that iolode knows"
    }

    /// Whether its logs lie in directories by year, month and day of their start, of which those of other days than the ones that are
    /// asked for need not be read.
    fn is_filed_by_day(&self) -> bool {
        false
    }

    /// Whether these hints may make an input readable that was not.
    fn uses(&self, _hints: &Hints) -> bool {
        false
    }

    /// Microseconds before and after a period in which rows are taken with it, of tables that are cut by day.
    fn margin(&self) -> i64 {
        0
    }

    /// The negative placeholder id of a record of a dump that lacks its real id, by the id that it shows (`job_id_text`); None if the record needs
    /// none.
    fn stand_in(&self, _shown: &str) -> Option<i64> {
        None
    }

    /// What `iolode ingest --NAME` takes, for its help.
    fn inputs(&self) -> &'static str;

    /// What its rows are about, for the help of `iolode lake forget --NAME`: `Darshan logs`.
    fn rows(&self) -> &'static str;

    /// What is to be said after an ingest into a lake that holds rows of this source: what it is about, and a sentence. `context` has
    /// noted what the readers of all sources met.
    fn warnings(&self, _context: &ReadContext) -> Vec<(String, String)> {
        vec![]
    }

    /// Where the rows of an input belong, without reading it whole.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] or [`crate::Error::Unsupported`] if nothing of it can be used.
    fn peek(&self, input: &Input) -> Result<Peek>;

    /// A reader for one thread.
    fn reader(&self, context: Arc<ReadContext>) -> Box<dyn Reader>;

    /// What makes one row of several that have the same key, for a table that dumps fill; None for tables of logs.
    fn row_merger(&self, _table: &str) -> Option<Box<dyn RowMerger>> {
        None
    }
}

/// Where the rows of an input belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// A log: all rows belong to one job.
    Log {
        /// Its id.
        job_id: i64,
        /// Start, microseconds since 1970, UTC; None if the input does not say.
        start_time: Option<i64>,
    },
    /// A dump: each row says itself where it belongs.
    Dump,
}

impl Peek {
    /// Checks that an input is what it was when [`Source::peek`] looked at it: a dump, or a log of the same job.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if it changed since.
    pub fn check(self, expected: Option<Self>, input: &Input) -> Result<()> {
        let same = match (expected, self) {
            (None, _) | (Some(Self::Dump), Self::Dump) => true,
            (Some(Self::Log { job_id: then, .. }), Self::Log { job_id: now, .. }) => then == now,
            _ => false,
        };
        match same {
            true => Ok(()),
            false => Err(input.changed()),
        }
    }
}

/// Reads inputs of one kind, one after another, keeping its buffers.
pub trait Reader: Send {
    /// Appends the rows of `input` to those builders that `tables` holds: whole rows, those of a log sorted as each table
    /// asks, those of a dump in any order. A reader of dumps calls [`BatchSink::flush`] every few thousand rows, and so does one of
    /// logs where a log's rows are more than it can hold.
    ///
    /// `id` is the XXH3 of the input's bytes (`log_id`). What can be read of a damaged input is appended, and the
    /// outcome says what is missing. After an error nothing of this input has been appended, unless that is no fault of the input, such as
    /// a temporary file that cannot be read; a dump that fails after rows were taken is a damaged one.
    ///
    /// `expected` is what [`Source::peek`] found of a log, if it was asked; dumps have nothing to compare. It is compared ([`Peek::check`]) with what is read before a
    /// row is appended, so that a log is not looked at once more for that.
    ///
    /// # Errors
    /// Those of [`Source::peek`], and [`crate::Error::Io`] if the input cannot be read, has shrunk, or is of another job than
    /// expected.
    fn read(
        &mut self,
        input: &Input,
        id: i64,
        expected: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome>;
}

/// Makes the rows that a lake keeps of those that several dumps brought.
pub trait RowMerger: Send {
    /// How many of the table's sort columns make a group whose rows are never split over two calls.
    fn group(&self) -> usize;

    /// The rows that stay of whole groups: sorted by the table's sort columns, each key once.
    ///
    /// `rows` are sorted by the table's sort columns; of rows with equal ones those that the lake holds come first, then new ones
    /// in the order of their inputs.
    ///
    /// # Errors
    /// [`crate::Error::Columns`] if the rows are not of the table.
    fn resolve(&mut self, rows: &RecordBatch) -> Result<RecordBatch>;

    /// Rows that come now are of a later day than those before. What a day before this last one said is forgotten, so that what
    /// stays does not depend on which days came first.
    fn start_day(&mut self) {}

    /// How many rows said otherwise than one that is kept, and an example of it.
    fn contradictions(&self) -> Option<(u64, String)> {
        None
    }
}

/// What became of an input whose rows were appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether something is missing.
    pub status: Status,
    /// What is missing and why, one line; None if nothing is.
    pub why: Option<String>,
}

/// How whole an input was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Whole.
    #[default]
    Ok,
    /// Whole, but its writer had to leave things out and says so.
    Partial,
    /// Bytes are missing or wrong; the good records were kept.
    Damaged,
}

impl Status {
    /// The word in `lake_input.status` and `darshan_log.status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Damaged => "damaged",
        }
    }
}
