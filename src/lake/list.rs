//! Finding the inputs of an ingest.

use super::ingest::{IngestOptions, InputPath, Progress};
use super::micros;
use super::parts::{InputRow, InputStatus};
use super::retention::is_forgotten;
use super::temp;
use crate::error::{Error, Result};
use crate::source::packed::{Packing, unpacked};
use crate::source::{Input, Made, Peek, Period, Source, without_password};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A file that may be a log.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its path as [`name`] writes it; shared with all that is noted of it.
    pub(super) name: Arc<str>,
    /// Its path where that is no UTF-8.
    odd: Option<Box<Path>>,
    /// Kind of input that it was given as.
    kind: Option<Arc<str>>,
    pub(super) bytes: u64,
    /// Microseconds since 1970.
    pub(super) modified: i64,
}

impl Candidate {
    fn new(path: &Path, kind: Option<Arc<str>>, bytes: u64, modified: i64) -> Self {
        Self {
            name: name(path),
            odd: path.to_str().is_none().then(|| path.into()),
            kind,
            bytes,
            modified,
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.odd.as_deref().unwrap_or(Path::new(&*self.name))
    }

    /// Opens it, be it a file, a server, or made for this ingest.
    pub(super) fn open(&self, options: &IngestOptions<'_>) -> Result<Input> {
        match options.made {
            Some(made) => made.open(self.path()),
            None if is_address(&self.name) => Ok(Input::server(&self.path().to_string_lossy())),
            None => Input::open(self.path()),
        }
    }

    /// Opens a dump, be it compressed or not.
    pub(super) fn open_unpacked(&self, options: &IngestOptions<'_>) -> Result<Input> {
        unpacked(self.open(options)?, || temp::file(&options.temp()))
    }
}

/// Whether this is the address of something that is asked rather than read: `mysql://host/name`, `sacct:`.
pub(super) fn is_address(path: &str) -> bool {
    path == "sacct:" || path.contains("://")
}

/// An error's words without the path, which stands beside them.
pub(super) fn without_path(error: &Error, file: &Candidate) -> String {
    let name = file.path().display().to_string();
    let why = error.to_string();
    why.strip_prefix(&name)
        .map_or(why.as_str(), |rest| rest.trim_start_matches(": "))
        .to_string()
}

/// About how many bytes of memory the notes of candidates take until they are published.
pub(super) fn noted(candidates: &[Candidate]) -> usize {
    // Beside a name are the counts of those who share it. The plans of a range go when all its rows are there.
    let name = |file: &Candidate| file.name.len() + 2 * size_of::<usize>();
    let rows = size_of::<Candidate>() + size_of::<Planned>() + size_of::<InputRow>();
    candidates.iter().map(|file| name(file) + rows).sum()
}

/// A path as the lake writes it. Bytes that are no UTF-8 become `\xHH`, so that two files never share a name.
pub(super) fn name(path: &Path) -> Arc<str> {
    let mut name = String::new();
    for part in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name += part.valid();
        for byte in part.invalid() {
            name += &format!("\\x{byte:02x}");
        }
    }
    name.into()
}

/// What a look at a candidate showed.
pub(super) enum Peeked {
    /// A log or a dump, and its place in the list of sources.
    Known(usize, Peek),
    /// It lies outside the period.
    Outside,
    /// Nothing can be taken of it.
    Refused(Box<Refused>),
}

/// A log whose place in the lake is known.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) file: Candidate,
    /// Place in the list of sources.
    pub(super) source: usize,
    /// Job of all its rows.
    pub(super) job_id: i64,
    pub(super) start_time: Option<i64>,
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

/// What lies below the paths of an ingest.
pub(super) struct Listing {
    /// The regular files, each once, by name.
    pub(super) candidates: Vec<Candidate>,
    /// What could not be listed, as failed inputs.
    pub(super) unlisted: Vec<InputRow>,
    /// Names of the directories.
    pub(super) directories: Vec<Arc<str>>,
}

/// Lists what is made for an ingest.
pub(super) fn list_made(made: &dyn Made) -> Listing {
    let files = made.list().into_iter();
    let mut candidates: Vec<Candidate> = files
        .map(|file| Candidate::new(&file.path, None, file.bytes, file.modified))
        .collect();
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    Listing {
        candidates,
        unlisted: vec![],
        directories: vec![],
    }
}

/// Lists all paths. Lakes are left out, and `ours`, the directories in which this one puts files.
pub(super) fn list(paths: &[InputPath], ours: &[PathBuf]) -> Result<Listing> {
    let (mut found, mut failed, mut directories) = (vec![], vec![], vec![]);
    let logs = |entry: &walkdir::DirEntry| {
        let (path, directory) = (entry.path(), entry.file_type().is_dir());
        !directory
            || !ours.iter().any(|ours| ours == path)
                && !path.join("_iolode").join("manifest").is_dir()
    };
    for InputPath { path, kind } in paths {
        let kind: Option<Arc<str>> = kind.as_deref().map(Arc::from);
        if is_address(&path.to_string_lossy()) {
            let mut server = Candidate::new(path, kind, 0, 0);
            // The lake and its messages must not tell a password.
            server.odd = Some(path.as_path().into());
            server.name = without_password(&server.name).into();
            found.push(server);
            continue;
        }
        let path = std::path::absolute(path).map_err(|e| Error::io(path, "cannot use", e))?;
        let walk = walkdir::WalkDir::new(&path).follow_links(true);
        for entry in walk.into_iter().filter_entry(logs) {
            match entry {
                Ok(entry) if entry.file_type().is_file() => match entry.metadata() {
                    Ok(metadata) => {
                        let modified = metadata.modified().map(micros).unwrap_or(0);
                        let kind = kind.clone();
                        found.push(Candidate::new(entry.path(), kind, metadata.len(), modified));
                    }
                    Err(e) => failed.push(unlisted(entry.path(), e)),
                },
                Ok(entry) if entry.file_type().is_dir() => directories.push(name(entry.path())),
                Ok(_) => {}
                Err(e) => {
                    let at = e.path().unwrap_or(&path).to_path_buf();
                    failed.push(unlisted(&at, e));
                }
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| {
        let same = a.name == b.name;
        // What is given as two kinds may be either.
        if same && a.kind != b.kind {
            b.kind = None;
        }
        same
    });
    found.shrink_to_fit();
    failed.sort_by(|a, b| a.path.cmp(&b.path));
    failed.dedup_by(|a, b| a.path == b.path);
    // A directory that cannot be listed is met first, then refused.
    directories.retain(|name| {
        failed
            .binary_search_by(|row: &InputRow| row.path.cmp(name))
            .is_err()
    });
    Ok(Listing {
        candidates: found,
        unlisted: failed,
        directories,
    })
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
        &Candidate::new(path, None, 0, 0),
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
        path: file.name.clone(),
        source: source.map(|s| s.name().into()),
        status,
        error: Some(why),
        bytes: file.bytes,
        modified: file.modified,
        content_hash: None,
        job_id: None,
        start_time: None,
        dxt: false,
        period: Period::default(),
        reader_version: source.map_or(0, Source::version),
        version: 0,
        settings: None,
    }
}

/// What the lake knows of the listed inputs, by path.
pub(super) type Known = HashMap<Arc<str>, InputRow>;

/// The places of the candidates that have to be taken: new, changed, or wanted anew. `read_with` is the number of the settings.
pub(super) fn unknown(
    candidates: &[Candidate],
    known: &Known,
    read_with: i64,
    options: &IngestOptions<'_>,
) -> Vec<usize> {
    let wanted = |file: &Candidate| {
        let Some(row) = known.get(&file.name) else {
            return true;
        };
        let changed = row.bytes != file.bytes || row.modified != file.modified;
        let source = options
            .sources
            .iter()
            .find(|s| Some(s.name()) == row.source.as_deref());
        // A file that nothing was taken of may have become readable, or known, without having changed.
        let nothing_taken = row.content_hash.is_none();
        // It was looked at as something else, or had columns that nobody had named.
        let otherwise = file.kind.is_some() && row.source.as_deref() != file.kind.as_deref();
        let told = row.source.as_deref() == Some("slurm")
            && !(options.slurm_columns.is_empty() && options.slurm_delimiter.is_none());
        let other_settings = row.settings.is_some_and(|settings| settings != read_with);
        let older = options.refresh
            && !is_forgotten(row)
            && (nothing_taken
                || other_settings
                || source.is_some_and(|s| row.reader_version < s.version()));
        let without_dxt = options.dxt && row.status.has_rows() && !row.dxt && row.job_id.is_some();
        // A server may know more each time; of a dump another period may be wanted.
        let dump = row.status.has_rows() && row.job_id.is_none();
        let more = is_address(&file.name) || dump && !row.period.covers(options.period);
        changed || older || without_dxt || more || nothing_taken && (otherwise || told)
    };
    (0..candidates.len())
        .filter(|at| wanted(&candidates[*at]))
        .collect()
}

/// Recognises the candidates of `todo` and finds where their rows belong, on all threads. Logs outside the period are left out
/// without a trace, so that a later ingest takes them.
pub(super) fn peek(
    candidates: &[Candidate],
    todo: &[usize],
    options: &IngestOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Peeked>> {
    let peeked: Vec<Option<Peeked>> = todo.iter().map(|_| None).collect();
    let (next, peeked) = (AtomicUsize::new(0), Mutex::new(peeked));
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                let mut head = vec![];
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(at) = todo.get(place).filter(|_| !options.is_cancelled()) else {
                        break;
                    };
                    let found = peek_one(&candidates[*at], options, &mut head);
                    if let Ok(mut peeked) = peeked.lock() {
                        peeked[place] = Some(found.unwrap_or_else(Peeked::Refused));
                    }
                    progress.peeked(1);
                }
            });
        }
    });
    if options.is_cancelled() {
        return Err(Error::Interrupted);
    }
    let peeked = peeked.into_inner().unwrap_or_default();
    // Every place was filled.
    Ok(peeked.into_iter().flatten().collect())
}

/// Whether a source reads dumps, of which any part may be of any job.
fn takes_dumps(source: &dyn Source) -> bool {
    let tables = source.tables();
    tables.iter().any(|table| source.resolver(table).is_some())
}

fn nothing_known(kind: Option<&str>, input: &Input) -> String {
    match (kind, input.is_server()) {
        (_, true) => "an address that iolode cannot ask".into(),
        (None | Some("darshan"), _) => "no log that iolode knows".into(),
        (Some("slurm"), _) => "no output of sacct -P or sacct --json".into(),
        (Some("lmt"), _) => "none of the forms of LMT data that iolode knows".into(),
        (Some(_), _) => "no dump that iolode knows".into(),
    }
}

fn peek_one(
    file: &Candidate,
    options: &IngestOptions<'_>,
    head: &mut Vec<u8>,
) -> Result<Peeked, Box<Refused>> {
    let refuse = |source: Option<&dyn Source>, status, e: Error| {
        // The row has the path already.
        let why = without_path(&e, file);
        let mut row = failed_row(file, source, status, why);
        // What it is not is a kind of input, too: as another one it may be looked at again.
        if row.source.is_none() {
            row.source = file.kind.as_deref().map(|kind| kind.to_string().into());
        }
        Box::new(Refused {
            row,
            unread: matches!(e, Error::Io { .. }),
        })
    };
    let known = options.made.and_then(|made| made.peek(file.path()));
    if let Some((name, peek)) = known
        && let Some(number) = options.sources.iter().position(|s| s.name() == name)
    {
        return Ok(of_period(number, peek, options.period));
    }
    let input = file
        .open(options)
        .map_err(|e| refuse(None, InputStatus::Failed, e))?;
    head.clear();
    let length = input.len().min(4096) as usize;
    input
        .read_at(0, length, head)
        .map_err(|e| refuse(None, InputStatus::Failed, e))?;
    let recognised = |head: &[u8], dumps: bool| {
        let wanted = |source: &dyn Source| {
            let kind = file.kind.as_deref();
            kind.is_none_or(|kind| kind == source.name()) && (!dumps || takes_dumps(source))
        };
        let mut sources = options.sources.iter().copied().enumerate();
        sources.find(|(_, source)| match input.is_server() {
            _ if !wanted(*source) => false,
            true => source.serves(&file.name),
            false => source.probe(file.path(), head),
        })
    };
    let mut found = recognised(head, false);
    let mut unpacked = None;
    if found.is_none() && file.kind.as_deref() != Some("darshan") && Packing::of(head).is_some() {
        let whole = file
            .open_unpacked(options)
            .map_err(|e| refuse(None, InputStatus::Failed, e))?;
        head.clear();
        whole
            .read_at(0, whole.len().min(4096) as usize, head)
            .map_err(|e| refuse(None, InputStatus::Failed, e))?;
        found = recognised(head, true);
        unpacked = Some(whole);
    }
    let input = unpacked.as_ref().unwrap_or(&input);
    let Some((number, source)) = found else {
        let e = Error::Invalid(nothing_known(file.kind.as_deref(), input));
        let status = if input.is_server() {
            InputStatus::Failed
        } else {
            InputStatus::Skipped
        };
        return Err(refuse(None, status, e));
    };
    let peek = source
        .peek(input)
        .map_err(|e| refuse(Some(source), InputStatus::Failed, e))?;
    Ok(of_period(number, peek, options.period))
}

/// An input that a source knows, if something of it may lie in the period.
fn of_period(source: usize, peek: Peek, period: Period) -> Peeked {
    let wanted = match peek {
        Peek::Log { start_time, .. } => {
            start_time.map_or(period.is_all(), |time| period.contains(time))
        }
        Peek::Dump => true,
    };
    match wanted {
        true => Peeked::Known(source, peek),
        false => Peeked::Outside,
    }
}
