//! What an ingest is asked to do, and how it says how far it is.

use super::range_runner::RangeRunner;
use crate::lake::derived::derived_table::DerivedTable;
use crate::lake::file::temp;
use crate::source::{Hints, InputProvider, Period, SOURCES, Source};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is taken in, and with what means.
#[derive(Clone)]
pub struct IngestOptions<'a> {
    /// Files, directories and addresses; the sources in the settings if there are none.
    pub paths: Vec<InputPath>,
    /// Gives inputs that do not lie in files; then there are no others.
    pub provider: Option<&'a dyn InputProvider>,
    /// Only logs that start in it, and what dumps say of it.
    pub period: Period,
    /// Take the DXT modules as well; logs that were taken without them are taken anew.
    pub dxt: bool,
    /// Take inputs anew that an older reader has read, or one with other settings, and try those again of which nothing was taken. Without
    /// paths these are all such inputs that the lake knows and that are still there.
    pub refresh: bool,
    /// Add the paths to the sources in the settings.
    pub register: bool,
    /// Threads.
    pub threads: usize,
    /// Bytes of memory for all of them. Parts of a log that cannot be spilled, such as its names, get a quarter of a thread's share, and at least
    /// 16 MiB; a larger one ends its region.
    pub memory: usize,
    /// Directory of temporary files; that of the system if None, or one in the lake where that is memory.
    pub temp: Option<PathBuf>,
    /// Set to stop: nothing is committed then.
    pub cancel: Arc<AtomicBool>,
    /// Kinds of log.
    pub sources: &'a [&'a dyn Source],
    /// Zone of times without one; that of the site if None. The first that a site without one is given stays its zone.
    pub zone: Option<chrono_tz::Tz>,
    /// What inputs do not say themselves.
    pub hints: Hints,
    /// Derived tables that can be filled. Those that the lake keeps are.
    pub derived: &'a [&'a dyn DerivedTable],
    /// Names of those among them that the lake is to keep from now on ([`DerivedTable::name`]).
    pub analyze: Vec<String>,
    /// Converts the logs of ranges in other processes; this process does if None.
    pub runner: Option<Arc<dyn RangeRunner>>,
}

/// Where inputs lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputPath {
    /// A file, a directory or an address.
    pub path: PathBuf,
    /// Name of the source ([`Source::name`]) that is looked for there; any if None.
    pub kind: Option<String>,
}

impl<P: Into<PathBuf>> From<P> for InputPath {
    fn from(path: P) -> Self {
        Self {
            path: path.into(),
            kind: None,
        }
    }
}

impl Default for IngestOptions<'_> {
    fn default() -> Self {
        Self {
            paths: vec![],
            provider: None,
            period: Period::default(),
            dxt: false,
            refresh: false,
            register: false,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: 512 << 20,
            temp: None,
            cancel: Arc::default(),
            sources: SOURCES,
            zone: None,
            hints: Hints::default(),
            derived: &[],
            analyze: vec![],
            runner: None,
        }
    }
}

impl<'a> IngestOptions<'a> {
    /// What fills a derived table; None if nobody here does.
    pub(in crate::lake) fn derived_table(&self, table: &str) -> Option<&'a dyn DerivedTable> {
        let found = self.derived.iter().find(|known| known.table() == table);
        found.copied()
    }

    pub(in crate::lake) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Whether inputs are read again that the lake knows, wherever they lie.
    pub(in crate::lake) fn refreshes_known(&self) -> bool {
        self.refresh && self.paths.is_empty() && self.provider.is_none()
    }

    /// Bytes of memory that a thread may take for one log: a quarter of its share, but never less than 16 MiB, since a log of many
    /// files cannot be read with less.
    pub(in crate::lake) fn log_memory(&self) -> usize {
        (self.memory / self.threads.max(1) / 4).max(16 << 20)
    }

    /// Bytes of memory that the rows of a range may take which are not in a file yet.
    pub(in crate::lake) fn range_memory(&self) -> usize {
        (self.memory / self.threads.max(1) / 8).clamp(1 << 20, 16 << 20)
    }

    /// Where temporary files go.
    pub(in crate::lake) fn temp(&self) -> PathBuf {
        temp::or_systems(self.temp.as_deref())
    }
}

/// Told what an ingest is doing, from any of its threads.
pub trait Progress: Sync {
    /// So many files were found.
    fn listed(&self, _files: u64) {}
    /// So many more files were recognised.
    fn peeked(&self, _files: u64) {}
    /// So many logs and bytes are to be read.
    fn planned(&self, _logs: u64, _bytes: u64) {}
    /// One more log is done.
    fn done(&self, _bytes: u64, _failed: bool) {}
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {}
