//! What an ingest, a compaction or a forget did for one range of job ids, or for some days: what a commit publishes.

use super::list_file::{DataFile, InputRow};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What was done for one range.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::lake) struct RangeResult {
    pub(in crate::lake) files: Vec<DataFile>,
    /// Paths of the files that these replace.
    pub(in crate::lake) replaced: Vec<String>,
    pub(in crate::lake) inputs: Vec<InputRow>,
    /// Inputs that were to be taken anew and could not be read, and why: what the lake holds of them stays.
    pub(in crate::lake) unreadable: Vec<(String, String)>,
    /// What is not as it should be.
    pub(in crate::lake) warnings: Vec<(String, String)>,
    /// Hashes of what the lake holds of them.
    pub(in crate::lake) retained: HashSet<i64>,
    /// Whether the files have rows of a log of which better ones are in the lake.
    pub(in crate::lake) has_worse: bool,
}

impl RangeResult {
    /// Adds what was done for other tables of the same range.
    pub(in crate::lake) fn append(&mut self, other: Self) {
        self.files.extend(other.files);
        self.replaced.extend(other.replaced);
        self.inputs.extend(other.inputs);
        self.unreadable.extend(other.unreadable);
        self.warnings.extend(other.warnings);
        self.retained.extend(other.retained);
        self.has_worse |= other.has_worse;
    }
}
