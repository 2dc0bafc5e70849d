//! Finding the inputs of an ingest.

use super::ingest::{IngestOptions, Progress};
use super::micros;
use super::parts::{InputRow, InputStatus};
use crate::error::{Error, Result};
use crate::source::{Input, Peek, Source};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A file that may be a log.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) path: Arc<Path>,
    pub(super) bytes: u64,
    /// Microseconds since 1970.
    pub(super) modified: i64,
}

/// A log whose place in the lake is known.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) file: Candidate,
    /// Place in the list of sources.
    pub(super) source: usize,
    pub(super) peek: Peek,
    /// Whether its DXT modules are taken.
    pub(super) dxt: bool,
    /// What the lake holds of it already, if it does.
    pub(super) held: Option<Held>,
}

/// What the lake holds of an input that is taken anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Hash of the bytes that were taken.
    pub(super) hash: i64,
    /// Whether the file still has its size and time of then.
    pub(super) unchanged: bool,
}

/// An input of which nothing can be taken.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) row: InputRow,
    /// Its bytes could not be had, so that nothing is known of them.
    pub(super) unread: bool,
}

impl Held {
    /// Whether what the lake holds stays, because nothing says that it is wrong: a disk or a right that fails for a while, or a
    /// reader that refuses what an older one read, must not cost rows.
    pub(super) fn stays(self, unread: bool) -> bool {
        self.unchanged || unread
    }
}

/// The regular files of all paths, each once, by path; and what could not be listed, as failed inputs. Lakes are left out, and
/// `ours`, the directories in which this one puts files.
pub(super) fn list(paths: &[PathBuf], ours: &[PathBuf]) -> Result<(Vec<Candidate>, Vec<InputRow>)> {
    let (mut found, mut failed) = (vec![], vec![]);
    let logs = |entry: &walkdir::DirEntry| {
        let (path, directory) = (entry.path(), entry.file_type().is_dir());
        !directory
            || !ours.iter().any(|ours| ours == path)
                && !path.join("_iolode").join("manifest").is_dir()
    };
    for path in paths {
        let path = std::path::absolute(path).map_err(|e| Error::io(path, "cannot use", e))?;
        let walk = walkdir::WalkDir::new(&path).follow_links(true);
        for entry in walk.into_iter().filter_entry(logs) {
            match entry {
                Ok(entry) if entry.file_type().is_file() => match entry.metadata() {
                    Ok(metadata) => {
                        let modified = metadata.modified().map(micros).unwrap_or(0);
                        found.push(Candidate {
                            path: entry.into_path().into(),
                            bytes: metadata.len(),
                            modified,
                        });
                    }
                    Err(e) => failed.push(unlisted(entry.path(), e)),
                },
                Ok(_) => {}
                Err(e) => {
                    let at = e.path().unwrap_or(&path).to_path_buf();
                    failed.push(unlisted(&at, e));
                }
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    failed.sort_by(|a, b| a.path.cmp(&b.path));
    failed.dedup_by(|a, b| a.path == b.path);
    Ok((found, failed))
}

fn unlisted(path: &Path, error: walkdir::Error) -> InputRow {
    let why = match error.loop_ancestor() {
        Some(ancestor) => format!("a link that leads back to {}", ancestor.display()),
        None => {
            // Its words would name the path again.
            let code = error.io_error().and_then(std::io::Error::raw_os_error);
            let error = code.map_or_else(|| error.into(), std::io::Error::from_raw_os_error);
            let text = Error::io("", "cannot read", error).to_string();
            text.trim_start_matches(": ").to_string()
        }
    };
    failed_row(
        &Candidate {
            path: path.into(),
            bytes: 0,
            modified: 0,
        },
        None,
        InputStatus::Failed,
        why,
    )
}

/// The row of an input of which nothing was taken.
pub(super) fn failed_row(
    file: &Candidate,
    source: Option<&dyn Source>,
    status: InputStatus,
    why: String,
) -> InputRow {
    InputRow {
        path: file.path.to_string_lossy().into_owned(),
        source: source.map(|s| s.name().to_string()),
        status,
        error: Some(why),
        bytes: file.bytes,
        modified: file.modified,
        content_hash: None,
        job_id: None,
        start_time: None,
        dxt: false,
        reader_version: source.map_or(0, Source::version),
        version: 0,
    }
}

/// What the lake knows of the listed inputs, by path.
pub(super) type Known = HashMap<String, InputRow>;

/// The candidates that have to be taken: new, changed, or wanted anew.
pub(super) fn unknown(
    candidates: &[Candidate],
    known: &Known,
    options: &IngestOptions<'_>,
) -> Vec<Candidate> {
    let wanted = |file: &Candidate| {
        let Some(row) = known.get(file.path.to_string_lossy().as_ref()) else {
            return true;
        };
        let changed = row.bytes != file.bytes || row.modified != file.modified;
        let source = options
            .sources
            .iter()
            .find(|s| Some(s.name()) == row.source.as_deref());
        // A file that nothing was taken of may have become readable, or known, without having changed.
        let nothing_taken = row.content_hash.is_none();
        let older = options.refresh
            && (nothing_taken || source.is_some_and(|s| row.reader_version < s.version()));
        let without_dxt = options.dxt && row.status.has_rows() && !row.dxt;
        changed || older || without_dxt
    };
    candidates
        .iter()
        .filter(|file| wanted(file))
        .cloned()
        .collect()
}

/// Recognises each candidate and finds where its rows belong, on all threads. Logs outside the period are left out without a
/// trace, so that a later ingest takes them.
pub(super) fn peek(
    files: &[Candidate],
    options: &IngestOptions<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Planned>, Vec<Refused>)> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new((vec![], vec![])));
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                let mut head = vec![];
                let (mut planned, mut failed) = (vec![], vec![]);
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if options.is_cancelled() {
                        break;
                    }
                    match peek_one(file, options, &mut head) {
                        Ok(Some(log)) => planned.push(log),
                        Ok(None) => {}
                        Err(refused) => failed.push(*refused),
                    }
                    progress.peeked(1);
                }
                if let Ok(mut found) = found.lock() {
                    found.0.append(&mut planned);
                    found.1.append(&mut failed);
                }
            });
        }
    });
    if options.is_cancelled() {
        return Err(Error::Interrupted);
    }
    let (mut planned, mut failed): (Vec<Planned>, Vec<Refused>) =
        found.into_inner().unwrap_or_default();
    planned.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    failed.sort_by(|a, b| a.row.path.cmp(&b.row.path));
    Ok((planned, failed))
}

fn peek_one(
    file: &Candidate,
    options: &IngestOptions<'_>,
    head: &mut Vec<u8>,
) -> Result<Option<Planned>, Box<Refused>> {
    let refuse = |source: Option<&dyn Source>, status, e: Error| {
        let name = file.path.display().to_string();
        // The row has the path already.
        let why = e.to_string();
        let why = why
            .strip_prefix(&name)
            .map_or(why.as_str(), |rest| rest.trim_start_matches(": "))
            .to_string();
        Box::new(Refused {
            row: failed_row(file, source, status, why),
            unread: matches!(e, Error::Io { .. }),
        })
    };
    let input = Input::open(&file.path).map_err(|e| refuse(None, InputStatus::Failed, e))?;
    head.clear();
    let length = input.len().min(4096) as usize;
    input
        .read_at(0, length, head)
        .map_err(|e| refuse(None, InputStatus::Failed, e))?;
    let found = options
        .sources
        .iter()
        .enumerate()
        .find(|(_, source)| source.probe(&file.path, head));
    let Some((number, source)) = found else {
        let e = Error::Invalid("no log that iolode knows".into());
        return Err(refuse(None, InputStatus::Skipped, e));
    };
    let peek = source
        .peek(&input)
        .map_err(|e| refuse(Some(*source), InputStatus::Failed, e))?;
    let inside = |time: i64| {
        options.from.is_none_or(|from| from <= time) && options.to.is_none_or(|to| time < to)
    };
    let wanted = match peek.start_time {
        Some(time) => inside(time),
        None => options.from.is_none() && options.to.is_none(),
    };
    Ok(wanted.then(|| Planned {
        file: file.clone(),
        source: number,
        peek,
        dxt: options.dxt,
        held: None,
    }))
}
