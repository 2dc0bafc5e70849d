//! What readers need beside an input: what a log does not say and the site knows, limits of memory, and what all readers note together.

use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Made by `lake` of the site's settings and the options of an ingest.
#[derive(Clone, Debug)]
pub struct ReadContext {
    /// Mount point and the name of the file system mounted there. Without an entry a mount point is its own name.
    pub mounts: Vec<(String, String)>,
    /// Regular expressions over the command line and the program's name where they match, tried first and in order.
    pub apps: Vec<(Regex, String)>,
    /// Names that LMT has for file systems and that the site has for them, where these differ.
    pub lmt_names: Vec<(String, String)>,
    /// File systems and how many OSTs they have.
    pub osts: Vec<(String, i64)>,
    /// Zone of times without one.
    pub zone: chrono_tz::Tz,
    /// What inputs do not say themselves.
    pub hints: Hints,
    /// What is wanted of dumps.
    pub period: Period,
    /// Bytes of memory that a reader may take for one log.
    pub log_memory: usize,
    /// Directory of temporary files; that of the system if None.
    pub temp: Option<PathBuf>,
    /// Lustre mounts that were met and have no entry: what [`ReadContext::note_lustre`] notes for all readers together.
    pub unmapped: Arc<Mutex<BTreeSet<String>>>,
    /// Whether times were met that name no zone: what [`ReadContext::note_local_times`] notes.
    pub local_times: Arc<AtomicBool>,
}

/// What is said of inputs by whoever imports them, because they do not say it themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Columns of sacct's text where it has no header.
    pub slurm_columns: Vec<String>,
    /// What separates the columns of sacct's text; found out where it is not said.
    pub slurm_delimiter: Option<String>,
}

/// A time from `from` on and before `to`, microseconds since 1970, UTC; without end where one is None.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// Begin.
    pub from: Option<i64>,
    /// End (exclusive).
    pub to: Option<i64>,
}

impl Period {
    /// Whether a time lies in it.
    pub fn contains(self, time: i64) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }

    /// Whether something that lasts from `start` to `end`, both included, has a part in it.
    pub fn overlaps(self, start: i64, end: i64) -> bool {
        self.from.is_none_or(|from| from <= end) && self.to.is_none_or(|to| start < to)
    }

    /// Whether all of `other` lies in it.
    pub fn covers(self, other: Self) -> bool {
        let after = |a: Option<i64>, b: Option<i64>| a.is_none() || b.is_some() && a <= b;
        let before = |a: Option<i64>, b: Option<i64>| a.is_none() || b.is_some() && b <= a;
        after(self.from, other.from) && before(self.to, other.to)
    }

    /// Whether the two overlap or follow each other.
    pub fn touches(self, other: Self) -> bool {
        let before = |end: Option<i64>, begin: Option<i64>| {
            end.zip(begin).is_some_and(|(end, begin)| end < begin)
        };
        !before(self.to, other.from) && !before(other.to, self.from)
    }

    /// From where the earlier of the two begins to where the later ends.
    pub fn with(self, other: Self) -> Self {
        Self {
            from: self.from.zip(other.from).map(|(a, b)| a.min(b)),
            to: self.to.zip(other.to).map(|(a, b)| a.max(b)),
        }
    }

    /// Whether it has no end on either side.
    pub fn is_all(self) -> bool {
        self.from.is_none() && self.to.is_none()
    }
}

impl Default for ReadContext {
    fn default() -> Self {
        Self {
            mounts: vec![],
            apps: vec![],
            lmt_names: vec![],
            osts: vec![],
            zone: chrono_tz::UTC,
            hints: Hints::default(),
            period: Period::default(),
            log_memory: 1 << 30,
            temp: None,
            unmapped: Arc::default(),
            local_times: Arc::default(),
        }
    }
}

impl ReadContext {
    /// The name of the file system that is mounted at `mount_point`.
    pub fn file_system<'a>(&'a self, mount_point: &'a str) -> &'a str {
        let entry = self.mounts.iter().find(|(mount, _)| mount == mount_point);
        entry.map_or(mount_point, |(_, name)| name)
    }

    /// How many OSTs a file system has; None if the site does not say.
    pub fn osts_of(&self, fs: &str) -> Option<i64> {
        let entry = self.osts.iter().find(|(name, _)| name == fs);
        entry.map(|(_, osts)| *osts)
    }

    /// Notes a Lustre mount that holds a file, if it has no entry: what LMT says of its file system cannot be found by its name.
    pub fn note_lustre(&self, mount_point: &str) {
        if self.mounts.iter().any(|(mount, _)| mount == mount_point) {
            return;
        }
        if let Ok(mut unmapped) = self.unmapped.lock()
            && !unmapped.contains(mount_point)
        {
            unmapped.insert(mount_point.to_string());
        }
    }

    /// Lustre mounts that were noted.
    pub fn unmapped_mounts(&self) -> Vec<String> {
        let unmapped = self.unmapped.lock();
        unmapped
            .map(|unmapped| unmapped.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Notes that an input has times that name no zone, which are taken for those of [`ReadContext::zone`].
    pub fn note_local_times(&self) {
        self.local_times.store(true, Ordering::Relaxed);
    }

    /// Whether some input had such.
    pub fn met_local_times(&self) -> bool {
        self.local_times.load(Ordering::Relaxed)
    }

    /// The name of the file system that LMT calls `name`.
    pub fn lmt_file_system<'a>(&'a self, name: &'a str) -> &'a str {
        let entry = self.lmt_names.iter().find(|(lmt, _)| lmt == name);
        entry.map_or(name, |(_, fs)| fs)
    }
}
