//! The work of an ingest, cut into ranges of job ids and days.

use crate::lake::derived::derivation::Derivation;
use crate::lake::file::target::FileDestination;
use crate::lake::ingest::candidate::Planned;
use crate::lake::ingest::external_sort::SortedRun;
use crate::lake::version::list_file::DataFile;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// What is to be done by one thread.
pub(in crate::lake) enum Task {
    Range(RangeTask),
    Days(DaysTask),
}

impl Task {
    /// Bytes that it reads, about.
    pub(in crate::lake) fn bytes(&self) -> u64 {
        let bytes_of_runs = |runs: &[Arc<SortedRun>]| -> u64 {
            let blocks = runs.iter().flat_map(|run| &run.blocks);
            blocks.map(|block| block.bytes as u64 / 4).sum()
        };
        match self {
            Self::Range(task) => {
                task.logs.iter().map(|log| log.file.bytes).sum::<u64>() + bytes_of_runs(&task.runs)
            }
            Self::Days(task) => bytes_of_runs(&task.runs),
        }
    }
}

/// What is to be done for one range.
#[derive(Clone)]
pub(in crate::lake) struct RangeTask {
    pub(in crate::lake) target: FileDestination,
    /// Its logs.
    pub(in crate::lake) logs: Vec<Planned>,
    /// Rows of dumps, some of which belong to it.
    pub(in crate::lake) runs: Vec<Arc<SortedRun>>,
    /// Its data files, and for a range that is being cut those of the whole.
    pub(in crate::lake) old: Vec<DataFile>,
    /// Logs whose rows go.
    pub(in crate::lake) drop: Arc<HashSet<i64>>,
    /// Ids whose rows go, because dumps say that they are of others.
    pub(in crate::lake) moved: Arc<BTreeSet<i64>>,
    /// The derived tables that it gets rows of.
    pub(in crate::lake) derived: Vec<Derivation>,
    /// Every table is rewritten, not only those with new rows: the range is being cut.
    pub(in crate::lake) rewrite: bool,
}

/// What is to be done for one table and file system.
pub(in crate::lake) struct DaysTask {
    pub(in crate::lake) table: String,
    pub(in crate::lake) fs: String,
    /// Of each file; its day and OST are set for each.
    pub(in crate::lake) target: FileDestination,
    /// Days for which there are rows, ascending, and the target on which each lies.
    pub(in crate::lake) days: Vec<(i64, Option<i64>)>,
    /// Rows of these days.
    pub(in crate::lake) runs: Vec<Arc<SortedRun>>,
    /// All data files of this table and file system.
    pub(in crate::lake) old: Vec<DataFile>,
}
