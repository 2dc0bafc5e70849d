//! Finding the inputs of an ingest.

use super::candidate::{Candidate, Peeked, RejectedInput, without_path};
use super::lister::{Kind, Lister, is_address, name};
use super::log_tree::Days;
use super::options::{IngestOptions, InputPath, Progress};
use super::read_ahead::Scope;
use super::walk::{File, Found, walk};
use crate::error::{Error, Result};
use crate::lake::threads::on_threads;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::lake::version::snapshot::Snapshot;
use crate::source::compression::Packing;
use crate::source::{Input, InputProvider, Peek, Period, Source};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What lies below the paths of an ingest, as far as something is to be done about it.
#[derive(Default)]
pub(in crate::lake) struct Listing {
    /// The files that are to be taken, by name: new, changed, or wanted anew.
    pub(in crate::lake) candidates: Vec<Candidate>,
    /// What could not be listed, as failed inputs.
    pub(in crate::lake) unlisted: Vec<InputRow>,
    /// Names of the directories.
    pub(in crate::lake) directories: Vec<Arc<str>>,
    /// What the lake knows of all these.
    pub(in crate::lake) known: InputsByPath,
    /// How many files there are.
    pub(in crate::lake) files: u64,
    /// How many of those that are not to be taken could not be taken before.
    pub(in crate::lake) failed_before: u64,
    /// What is to be said of inputs that the lake knows and that are no longer there.
    pub(in crate::lake) gone: Option<(String, String)>,
}

/// Lists all paths beside the inputs that the lake knows, which are as sorted as the paths: what is known and has not changed is
/// counted and forgotten. Lakes are left out, `ours`, the directories in which this one puts files, and Darshan's own directories of
/// days outside the period. `read_with` is the number of the settings.
pub(in crate::lake) fn list(
    lister: &dyn Lister,
    snapshot: &Snapshot,
    paths: &[InputPath],
    ours: &[PathBuf],
    read_with: i64,
    options: &IngestOptions<'_>,
) -> Result<Listing> {
    let mut listing = Listing::default();
    let mut inputs = snapshot.input_index();
    let mut add = |listing: &mut Listing, file: File| -> Result<()> {
        if options.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let known = inputs.find(&file.name)?.map(|newest| newest.row());
        listing.add(file, known, read_with, options);
        Ok(())
    };
    if let Some(made) = options.provider {
        for file in made_files(made) {
            add(&mut listing, file)?;
        }
    } else {
        let scope = Scope {
            ours,
            days: Days::of(options.period),
            sources: options.sources,
            threads: options.threads.max(1),
        };
        walk(lister, paths, &scope, &mut |what| {
            match what {
                Found::File(file) => add(&mut listing, file)?,
                Found::Directory(name) => listing.directories.push(name),
                Found::Unlisted(path, why) => listing.unlisted.push(unlisted(&path, why)),
            }
            Ok(())
        })?;
    }
    if options.refreshes_known() {
        listing.add_known(lister, snapshot, paths, read_with, options)?;
    }
    listing.candidates.shrink_to_fit();
    let unlisted = &mut listing.unlisted;
    unlisted.sort_by(|a, b| a.path.cmp(&b.path));
    unlisted.dedup_by(|a, b| a.path == b.path);
    listing.directories.sort();
    listing.directories.dedup();
    listing.know_others(snapshot)?;
    Ok(listing)
}

/// What is made for an ingest, by name.
fn made_files(made: &dyn InputProvider) -> Vec<File> {
    let files = made.list().into_iter().map(|file| File {
        name: name(&file.path).to_string(),
        odd: file.path.to_str().is_none().then_some(file.path),
        kind: None,
        bytes: file.bytes,
        modified: file.modified,
    });
    let mut files: Vec<File> = files.collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

impl Listing {
    /// Looks at what is to be done again when others have committed: what they have taken is known now.
    pub(in crate::lake) fn renew(
        &mut self,
        snapshot: &Snapshot,
        read_with: i64,
        options: &IngestOptions<'_>,
    ) -> Result<()> {
        let mut inputs = snapshot.input_index();
        self.known.clear();
        for candidate in std::mem::take(&mut self.candidates) {
            let known = inputs.find(&candidate.name)?.map(|newest| newest.row());
            self.files -= 1;
            self.add(candidate, known, read_with, options);
        }
        self.know_others(snapshot)
    }

    fn add(
        &mut self,
        file: impl Into<Candidate>,
        known: Option<InputRow>,
        read_with: i64,
        options: &IngestOptions<'_>,
    ) {
        let file = file.into();
        self.files += 1;
        match known.filter(|row| !row.is_taken_back()) {
            Some(row) if !is_wanted(&file, &row, read_with, options) => {
                self.failed_before += u64::from(row.status == InputStatus::Failed);
                return;
            }
            known => self.known.extend(known.map(|row| (file.name.clone(), row))),
        }
        self.candidates.push(file);
    }

    /// Adds the inputs that the lake knows and has read in another way than it would now, as far as they lie below none of the paths.
    fn add_known(
        &mut self,
        lister: &dyn Lister,
        snapshot: &Snapshot,
        paths: &[InputPath],
        read_with: i64,
        options: &IngestOptions<'_>,
    ) -> Result<()> {
        let roots: Vec<PathBuf> = (paths.iter())
            .filter_map(|root| std::path::absolute(&root.path).ok())
            .collect();
        let (mut gone, mut first) = (0, None);
        for row in snapshot.input_index().rows() {
            let row = row?;
            let path = Path::new(&*row.path);
            if options.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let elsewhere = !roots.iter().any(|root| path.starts_with(root));
            if row.is_taken_back() || is_address(&row.path) || !elsewhere {
                continue;
            }
            if !is_outdated(&row, read_with, options) {
                self.files += 1;
                continue;
            }
            match lister.look(path) {
                Ok(Kind::File { bytes, modified }) => {
                    let file = File {
                        name: row.path.to_string(),
                        odd: None,
                        kind: row.source.as_deref().map(Arc::from),
                        bytes,
                        modified,
                    };
                    self.add(file, Some(row), read_with, options);
                }
                // It may be there: that it cannot be read is said of it.
                Err(why) if !is_absent(&why) => {
                    let file = File {
                        name: row.path.to_string(),
                        odd: None,
                        kind: row.source.as_deref().map(Arc::from),
                        bytes: row.bytes,
                        modified: row.modified,
                    };
                    self.add(file, Some(row), read_with, options);
                }
                // It had no rows to keep.
                _ if !row.status.has_rows() => {}
                _ => {
                    gone += 1;
                    first.get_or_insert(row.path);
                }
            }
        }
        self.candidates.sort_by(|a, b| a.name.cmp(&b.name));
        self.gone = first.map(|first| match gone {
            1 => (
                "1 input that is no longer there".into(),
                format!("its rows stay as they were read: {first}"),
            ),
            gone => (
                format!("{gone} inputs that are no longer there"),
                format!("their rows stay as they were read; the first is {first}"),
            ),
        });
        Ok(())
    }

    /// Looks up what cannot be listed, and the directories that could not be: a walk tells them in another order than files.
    fn know_others(&mut self, snapshot: &Snapshot) -> Result<()> {
        let mut undated = snapshot.undated_inputs();
        let mut names: Vec<Arc<str>> = self.unlisted.iter().map(|row| row.path.clone()).collect();
        for name in &self.directories {
            if undated.find(name)?.is_some() {
                names.push(name.clone());
            }
        }
        names.sort();
        let mut inputs = snapshot.input_index();
        for name in names {
            let row = inputs.find(&name)?.map(|newest| newest.row());
            self.known.extend(row.map(|row| (name, row)));
        }
        Ok(())
    }
}

/// Whether a look at a path failed because nothing is there.
fn is_absent(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(why.kind(), NotFound | NotADirectory)
}

fn unlisted(path: &Path, why: String) -> InputRow {
    let nothing = File {
        name: name(path).to_string(),
        odd: None,
        kind: None,
        bytes: 0,
        modified: 0,
    };
    input_row(&nothing.into(), None, InputStatus::Failed, why)
}

/// The row of an input of which nothing was taken.
pub(in crate::lake) fn input_row(
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

/// The row of an input that failed with an error. What the system would not let be read is noted without size and time, so that the next
/// ingest tries it again.
pub(in crate::lake) fn failed(
    file: &Candidate,
    source: Option<&dyn Source>,
    error: &Error,
) -> InputRow {
    let row = input_row(file, source, InputStatus::Failed, without_path(error, file));
    match error {
        Error::Io { .. } => InputRow {
            bytes: 0,
            modified: 0,
            ..row
        },
        _ => row,
    }
}

/// What the lake knows of some inputs, by path.
pub(in crate::lake) type InputsByPath = HashMap<Arc<str>, InputRow>;

/// Whether a file that the lake knows has to be taken: changed, or wanted anew.
fn is_wanted(
    file: &Candidate,
    row: &InputRow,
    read_with: i64,
    options: &IngestOptions<'_>,
) -> bool {
    let changed = row.bytes != file.bytes || row.modified != file.modified;
    let source = source_of(row, options);
    // A file that nothing was taken of may have become readable, or known, without having changed.
    let nothing_taken = row.content_hash.is_none();
    // It was looked at as something else, or had columns that nobody had named.
    let otherwise = match file.kind.as_deref() {
        Some(kind) => row.source.as_deref() != Some(kind),
        // It may be of any kind now.
        None => row.status == InputStatus::Skipped && row.source.is_some() && !row.is_forgotten(),
    };
    let told = source.is_some_and(|source| source.uses(&options.hints));
    let is_log = row.job_id.is_some();
    let older = options.refresh && is_outdated(row, read_with, options);
    let has_more = source.is_some_and(|source| !source.on_request().is_empty());
    let without_dxt = options.dxt && has_more && is_log && row.status.has_rows() && !row.dxt;
    // A server may know more each time; of a dump another period may be wanted.
    let more = is_address(&file.name) || row.is_dump() && !row.period.covers(options.period);
    changed || older || without_dxt || more || nothing_taken && (otherwise || told)
}

fn source_of<'s>(row: &InputRow, options: &IngestOptions<'s>) -> Option<&'s dyn Source> {
    named(row.source.as_deref()?, options.sources)
}

/// Whether an input that the lake knows was read in another way than it would be now, or nothing was taken of it.
fn is_outdated(row: &InputRow, read_with: i64, options: &IngestOptions<'_>) -> bool {
    let nothing_taken = row.content_hash.is_none();
    let other_settings = row.settings.is_some_and(|settings| settings != read_with);
    let source = source_of(row, options);
    let older_reader = source.is_some_and(|s| row.reader_version < s.version());
    // Read in another zone, records and samples have other keys, and those of one dump cannot be told from those of others: they are
    // taken back with `iolode lake forget` first.
    !row.is_forgotten()
        && match row.job_id.is_some() {
            true => nothing_taken || other_settings || older_reader,
            false => nothing_taken || older_reader && !other_settings,
        }
}

/// Recognises the candidates and finds where their rows belong, on all threads. Logs outside the period are left out
/// without a trace, so that a later ingest takes them.
pub(in crate::lake) fn peek(
    candidates: &[Candidate],
    options: &IngestOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Peeked>> {
    let (peeked, failure) = on_threads(
        options.threads,
        candidates.iter().collect(),
        || Ok(vec![]),
        |head, file| {
            if options.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let found = peek_one(file, options, head);
            progress.peeked(1);
            Ok(found.unwrap_or_else(Peeked::RejectedInput))
        },
    );
    match failure {
        Some(e) => Err(e),
        None if options.is_cancelled() => Err(Error::Interrupted),
        None => Ok(peeked),
    }
}

/// The source of this name.
pub(in crate::lake) fn named<'s>(name: &str, sources: &[&'s dyn Source]) -> Option<&'s dyn Source> {
    sources.iter().copied().find(|source| source.name() == name)
}

/// Whether a source reads dumps, of which any part may be of any job.
fn takes_dumps(source: &dyn Source) -> bool {
    let tables = source.tables();
    tables
        .iter()
        .any(|table| source.row_merger(table).is_some())
}

/// Why nothing is taken of an input that no source recognises.
fn unrecognized(kind: Option<&dyn Source>, input: &Input) -> &'static str {
    match kind {
        _ if input.is_server() => "an address that iolode cannot ask",
        Some(source) => source.unrecognized(),
        None => "no log that iolode knows",
    }
}

fn peek_one(
    file: &Candidate,
    options: &IngestOptions<'_>,
    head: &mut Vec<u8>,
) -> Result<Peeked, Box<RejectedInput>> {
    let refuse = |source: Option<&dyn Source>, status, e: Error| {
        // The row has the path already.
        let mut row = InputRow {
            status,
            ..failed(file, source, &e)
        };
        // What it is not is a kind of input, too: as another one it may be looked at again.
        if row.source.is_none() {
            row.source = file.kind.as_deref().map(|kind| kind.to_string().into());
        }
        Box::new(RejectedInput {
            row,
            unread: matches!(e, Error::Io { .. }),
        })
    };
    let known = options.provider.and_then(|made| made.peek(file.path()));
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
    let kind = file.kind.as_deref();
    let kind = kind.and_then(|kind| named(kind, options.sources));
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
    if found.is_none() && kind.is_none_or(takes_dumps) && Packing::of(head).is_some() {
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
        let e = Error::Invalid(unrecognized(kind, input).into());
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
