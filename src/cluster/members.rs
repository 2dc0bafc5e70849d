//! The executors of a cluster: what each says of itself, and when it was heard of.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An executor that was not heard of for so long is taken for dead: alive it asks for tasks each second.
pub(crate) const SILENT: Duration = Duration::from_secs(5);

/// A cluster as its scheduler knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// Id of the cluster.
    pub cluster: String,
    /// Version of iolode.
    pub version: String,
    /// Until when its keys hold, UTC, RFC 3339.
    pub valid_until: String,
    /// Its executors, by id.
    pub executors: Vec<ExecutorStatus>,
    /// Queries that run now.
    pub queries: usize,
}

impl ClusterStatus {
    /// Cores of all executors.
    pub fn cores(&self) -> usize {
        self.executors.iter().map(|executor| executor.cores).sum()
    }
}

/// An executor as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorStatus {
    /// Its id: another after each start.
    pub id: String,
    /// `HOST:PORT` of its shuffle files.
    pub address: String,
    /// Cores that it works with.
    pub cores: usize,
    /// Bytes that its tasks may hold together; no bound if None.
    pub memory: Option<u64>,
    /// Id and directory of each lake that it reads.
    pub lakes: Vec<(String, String)>,
    /// The OSTs that it was started with; None if it was not told.
    pub osts: Option<Vec<i64>>,
}

/// The executors that were heard of.
#[derive(Debug, Default)]
pub(crate) struct Members(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    present: BTreeMap<String, (ExecutorStatus, Instant)>,
    /// Those whose jobs were ended. If one of them is there after all, it begins anew.
    lost: HashSet<String>,
}

impl Members {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an executor, and says whether it is a new one; None if it was lost.
    pub(crate) fn heard(&self, executor: ExecutorStatus) -> Option<bool> {
        let mut known = self.known();
        if known.lost.contains(&executor.id) {
            return None;
        }
        let id = executor.id.clone();
        let before = known.present.insert(id, (executor, Instant::now()));
        Some(before.is_none())
    }

    /// Forgets an executor, and gives it back if it was there.
    pub(crate) fn left(&self, id: &str) -> Option<ExecutorStatus> {
        let mut known = self.known();
        known.lost.insert(id.to_string());
        known.present.remove(id).map(|(executor, _)| executor)
    }

    /// The ids of those that were not heard of lately.
    pub(crate) fn silent(&self) -> Vec<String> {
        let known = self.known();
        let silent = known.present.iter();
        let silent = silent.filter(|(_, (_, last))| last.elapsed() >= SILENT);
        silent.map(|(id, _)| id.clone()).collect()
    }

    /// Cores of all executors.
    pub(crate) fn cores(&self) -> usize {
        let known = self.known();
        known.present.values().map(|(of, _)| of.cores).sum()
    }

    /// Those that were heard of lately.
    pub(crate) fn present(&self) -> Vec<ExecutorStatus> {
        let known = self.known();
        let present = known.present.values();
        let present = present.filter(|(_, last)| last.elapsed() < SILENT);
        present.map(|(executor, _)| executor.clone()).collect()
    }
}
