//! What is asked of an export, and what it says of itself.

use super::choose::Grain;
use super::form::Form;
use super::lmt_times::Lmt;
use super::log_names;
use super::policy::Policy;
use super::pseudonym::Key;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// What is exported, and how.
#[derive(Clone, Default)]
pub struct ExportOptions {
    /// SQL over `darshan_log`, in which times without an offset are in the zone of the engine; all logs if None.
    pub condition: Option<String>,
    /// What is taken with a log for which the condition holds.
    pub grain: Grain,
    /// Which samples of LMT are taken.
    pub lmt: Lmt,
    /// The key of the pseudonyms and what is done with each column; nothing is changed if None.
    pub anonymize: Option<(Key, Policy)>,
    /// What the export is.
    pub form: Form,
    /// The only table; all if None.
    pub table: Option<String>,
    /// Whether the logs are there as well, listed in `logs.csv`, and how.
    pub logs: Option<Logs>,
    /// With pseudonyms: leave out jobs that look like fewer than this number of jobs by program, nodes, processes and day; 0 leaves out none.
    pub k: u64,
    /// Replace an export that is there.
    pub force: bool,
    /// Tables that are written at once.
    pub threads: usize,
    /// Bytes of rows that are not in their files yet.
    pub memory: usize,
    /// With pseudonyms: bytes of rows of a table that are sorted at once.
    pub sort_memory: usize,
}

impl ExportOptions {
    /// Whether the logs can be had in that way.
    ///
    /// # Errors
    /// [`Error::Invalid`] if not.
    pub(super) fn check(&self) -> Result<()> {
        let why = match (self.logs, &self.anonymize) {
            (Some(Logs::Copied), Some(_)) => {
                "copied logs have all names in them; give --logs rewritten with --anonymize"
            }
            (Some(Logs::Rewritten), None) => {
                "logs are rewritten under pseudonyms; give --anonymize --key FILE, or --logs copy"
            }
            (Some(Logs::Rewritten), Some((_, policy))) => return log_names::check(policy),
            _ => return Ok(()),
        };
        Err(Error::Invalid(why.into()))
    }
}

/// The logs in an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs {
    /// Byte by byte.
    Copied,
    /// Written anew under the pseudonyms of the tables.
    Rewritten,
}

/// What an export holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ExportReport {
    /// Jobs of the logs.
    pub jobs: u64,
    /// Darshan logs.
    pub logs: u64,
    /// Files of the logs, as Darshan counts them: rows of `darshan_file`.
    pub files_of_logs: u64,
    /// Rows of each table that has some.
    pub rows: BTreeMap<String, u64>,
    /// Data files.
    pub files: u64,
    /// Bytes of the data files.
    pub bytes: u64,
    /// Logs that were copied.
    pub logs_copied: u64,
    /// Logs that were written anew.
    pub logs_rewritten: u64,
    /// Logs that could not be copied or rewritten: their paths, and why.
    #[serde(skip)]
    pub logs_missing: Vec<(String, String)>,
    /// Logs that were rewritten without some modules or mounts: their paths, and which.
    #[serde(skip)]
    pub parts_left_out: Vec<(String, String)>,
    /// With pseudonyms: jobs that were left out because fewer than `k` look like them.
    pub left_out: u64,
    /// With pseudonyms: jobs of the export that no other looks like.
    pub unique: u64,
}
