//! Logs to rows: the only place that knows a log format.
//!
//! A [`Source`] recognises one kind of log, says cheaply where its rows belong ([`Source::peek`]), and makes a
//! [`Reader`] for each thread, which appends an input's rows to the builders of the tables that are asked for.
//!
//! # Adding a source
//! One file or folder here, one line in [`SOURCES`], one schema for each of its tables.

pub mod darshan;
mod input;
mod site;
pub mod synth;
mod tables;

pub use input::Input;
pub use site::Site;
pub use tables::Tables;

use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

/// Every kind of log, in the order in which an input is probed.
pub const SOURCES: &[&dyn Source] = &[&darshan::Darshan];

/// A kind of log.
pub trait Source: Send + Sync {
    /// Name in the manifest and in messages.
    fn name(&self) -> &'static str;

    /// Tables that it fills.
    fn tables(&self) -> &'static [&'static str];

    /// Version of the reader: raised when the same input would give other rows.
    fn version(&self) -> u32;

    /// Whether this is such a log, by its path and its first 4 KiB.
    fn probe(&self, path: &Path, head: &[u8]) -> bool;

    /// Where the rows of an input belong, without reading it whole.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] or [`crate::Error::Unsupported`] if nothing of it can be used.
    fn peek(&self, input: &Input) -> Result<Peek>;

    /// A reader for one thread.
    fn reader(&self, site: Arc<Site>) -> Box<dyn Reader>;
}

/// Where the rows of an input belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peek {
    /// Job id of all its rows.
    pub job_id: i64,
    /// Start, microseconds since 1970, UTC; None if the input does not say.
    pub start_time: Option<i64>,
}

/// Reads inputs of one kind, one after another, keeping its buffers.
pub trait Reader: Send {
    /// Appends the rows of `input` to those builders that `tables` holds: whole rows, sorted as each table asks.
    ///
    /// `id` is the XXH3 of the input's bytes (`log_id`). What can be read of a damaged input is appended, and the
    /// outcome says what is missing. After an error nothing of this input has been appended.
    ///
    /// # Errors
    /// Those of [`Source::peek`], and [`crate::Error::Io`] if the input cannot be read or has shrunk.
    fn read(&mut self, input: &Input, id: i64, tables: &mut Tables) -> Result<Outcome>;
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
