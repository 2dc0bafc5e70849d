//! What is known of an input before its rows are read: where it is, what a look at it showed, what the lake holds of it already.

use super::lister::is_address;
use super::options::IngestOptions;
use super::walk::File;
use crate::error::{Error, Result};
use crate::lake::file::temp;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::source::compression::unpacked;
use crate::source::{Input, Peek};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A file that may be a log.
#[derive(Clone, Debug)]
pub(in crate::lake) struct Candidate {
    /// Its path as [`name`] writes it; shared with all that is noted of it.
    pub(in crate::lake) name: Arc<str>,
    /// Where to find it, if its name does not say: a path that is no UTF-8, an address with a password.
    odd: Option<Box<Path>>,
    /// Kind of input that it was given as.
    pub(in crate::lake) kind: Option<Arc<str>>,
    pub(in crate::lake) bytes: u64,
    /// Microseconds since 1970.
    pub(in crate::lake) modified: i64,
}

impl From<File> for Candidate {
    fn from(file: File) -> Self {
        Self {
            name: file.name.into(),
            odd: file.odd.map(Into::into),
            kind: file.kind,
            bytes: file.bytes,
            modified: file.modified,
        }
    }
}

/// A candidate as other processes are told of it.
#[derive(Serialize, Deserialize)]
pub(in crate::lake) struct SentCandidate {
    name: String,
    /// Bytes of its path, where the name does not say it.
    odd: Option<Vec<u8>>,
    bytes: u64,
    modified: i64,
}

impl From<&Candidate> for SentCandidate {
    fn from(file: &Candidate) -> Self {
        let odd = file.odd.as_ref().map(|path| path.as_os_str().as_bytes());
        Self {
            name: file.name.to_string(),
            odd: odd.map(<[u8]>::to_vec),
            bytes: file.bytes,
            modified: file.modified,
        }
    }
}

impl From<SentCandidate> for Candidate {
    fn from(file: SentCandidate) -> Self {
        let odd = file.odd.as_deref().map(OsStr::from_bytes);
        Self {
            name: file.name.into(),
            odd: odd.map(|path| Path::new(path).into()),
            kind: None,
            bytes: file.bytes,
            modified: file.modified,
        }
    }
}

impl Candidate {
    pub(in crate::lake) fn path(&self) -> &Path {
        self.odd.as_deref().unwrap_or(Path::new(&*self.name))
    }

    /// Opens it, be it a file, a server, or made for this ingest.
    pub(in crate::lake) fn open(&self, options: &IngestOptions<'_>) -> Result<Input> {
        match options.provider {
            Some(made) => made.open(self.path()),
            None if is_address(&self.name) => Ok(Input::server(&self.path().to_string_lossy())),
            None => Input::open(self.path()),
        }
    }

    /// Opens a dump, be it compressed or not.
    pub(in crate::lake) fn open_unpacked(&self, options: &IngestOptions<'_>) -> Result<Input> {
        unpacked(self.open(options)?, || temp::file(&options.temp()))
    }
}

/// An error's words without the path, which stands beside them.
pub(in crate::lake) fn without_path(error: &Error, file: &Candidate) -> String {
    let name = file.path().display().to_string();
    let why = error.to_string();
    why.strip_prefix(&name)
        .map_or(why.as_str(), |rest| rest.trim_start_matches(": "))
        .to_string()
}

/// About how many bytes of memory the notes of candidates take until they are published.
pub(in crate::lake) fn memory_of(candidates: &[Candidate]) -> usize {
    // Beside a name are the counts of those who share it. The plans of a range go when all its rows are there.
    let name = |file: &Candidate| file.name.len() + 2 * size_of::<usize>();
    let rows = size_of::<Candidate>() + size_of::<Planned>() + size_of::<InputRow>();
    candidates.iter().map(|file| name(file) + rows).sum()
}

/// What a look at a candidate showed.
pub(in crate::lake) enum Peeked {
    /// A log or a dump, and its place in the list of sources.
    Known(usize, Peek),
    /// It lies outside the period.
    Outside,
    /// Nothing can be taken of it.
    RejectedInput(Box<RejectedInput>),
}

/// A log whose place in the lake is known.
#[derive(Clone, Debug)]
pub(in crate::lake) struct Planned {
    pub(in crate::lake) file: Candidate,
    /// Place in the list of sources.
    pub(in crate::lake) source: usize,
    /// Job of all its rows.
    pub(in crate::lake) job_id: i64,
    pub(in crate::lake) start_time: Option<i64>,
    /// Whether its DXT modules are taken.
    pub(in crate::lake) dxt: bool,
    /// What the lake holds of it already, if it does.
    pub(in crate::lake) held: Option<PreviousImport>,
}

/// What the lake holds of an input that is taken anew.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::lake) struct PreviousImport {
    /// Hash of the bytes that were taken.
    pub(in crate::lake) hash: i64,
    /// Whether the file still has its size and time of then.
    pub(in crate::lake) unchanged: bool,
    /// How it was taken, of which job and when that started.
    pub(in crate::lake) status: InputStatus,
    pub(in crate::lake) run: (Option<i64>, Option<i64>),
}

/// An input of which nothing can be taken.
#[derive(Clone, Debug)]
pub(in crate::lake) struct RejectedInput {
    pub(in crate::lake) row: InputRow,
    /// Its bytes could not be had, so that nothing is known of them.
    pub(in crate::lake) unread: bool,
}

impl PreviousImport {
    /// Whether what the lake holds stays where nothing can be taken of the file: a disk or a right that fails for a while, a reader that refuses what
    /// an older one read, or a file that is no log any more, must not cost rows.
    pub(in crate::lake) fn stays(self, unread: bool) -> bool {
        self.unchanged || unread || self.status.has_rows()
    }

    /// Whether it stays beside what is left of the same log, which is damaged now and was whole.
    pub(in crate::lake) fn is_better_than(self, row: &InputRow) -> bool {
        !self.unchanged
            && row.status == InputStatus::Damaged
            && matches!(self.status, InputStatus::Ok | InputStatus::Partial)
            && self.run == (row.job_id, row.start_time)
    }
}
