//! What an ingest has to do: which inputs are new or changed, and which rows go because of them.

use super::candidate::{Peeked, Planned, PreviousImport};
use super::discover::{InputsByPath, Listing};
use super::external_sort::Dump;
use super::options::IngestOptions;
use crate::error::Result;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::lake::version::snapshot::Snapshot;
use crate::source::Peek;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// What the lake knows, as far as an ingest needs it.
pub(in crate::lake) struct KnownInputs<'a> {
    snapshot: &'a Snapshot,
    /// The newest rows of what is to be taken.
    pub(in crate::lake) known: &'a InputsByPath,
    /// What the lake holds, once somebody asks.
    hashes: OnceCell<Hashes>,
    /// Number of the settings with which inputs are read.
    read_with: i64,
}

/// Content hashes of the inputs of which rows are in the lake, that are skipped because of one of which they are, or that were forgotten for
/// good: sorted, each as often as inputs have it. A lake may know ten million, and most ingests ask for few.
#[derive(Debug, Default)]
pub(in crate::lake) struct Hashes(Vec<i64>);

impl Hashes {
    /// Those of a version.
    ///
    /// # Errors
    /// As [`Snapshot::inputs`](crate::lake::Version::inputs).
    pub(in crate::lake) fn read(snapshot: &Snapshot) -> Result<Self> {
        let mut hashes = vec![];
        let mut inputs = snapshot.input_keys();
        while let Some(newest) = inputs.next()? {
            hashes.extend(newest.content_hash().filter(|_| !newest.is_taken_back()));
        }
        hashes.sort_unstable();
        Ok(Self(hashes))
    }

    /// Whether such a log is not to be taken: its rows are in the lake, or were forgotten for good.
    pub(in crate::lake) fn contains(&self, hash: i64) -> bool {
        self.0.binary_search(&hash).is_ok()
    }

    /// How many inputs have these bytes.
    fn count(&self, hash: i64) -> usize {
        self.0.partition_point(|h| *h <= hash) - self.0.partition_point(|h| *h < hash)
    }
}

impl<'a> KnownInputs<'a> {
    pub(in crate::lake) fn new(
        snapshot: &'a Snapshot,
        known: &'a InputsByPath,
        read_with: i64,
    ) -> Self {
        Self {
            snapshot,
            known,
            hashes: OnceCell::new(),
            read_with,
        }
    }

    /// The content hashes of all inputs, for which all lists are read: an ingest that finds nothing new asks for none.
    ///
    /// # Errors
    /// As [`Snapshot::inputs`](crate::lake::Version::inputs).
    pub(in crate::lake) fn hashes(&self) -> Result<&Hashes> {
        if let Some(hashes) = self.hashes.get() {
            return Ok(hashes);
        }
        let hashes = Hashes::read(self.snapshot)?;
        Ok(self.hashes.get_or_init(|| hashes))
    }

    /// Whether an input whose rows change no file needs no new version: the lake knows exactly this, or of a dump another period.
    pub(in crate::lake) fn needs_no_version(&self, row: &InputRow) -> bool {
        let known = self.known.get(&row.path);
        let known = known.filter(|known| has_as_much(known, row));
        self.knows(row)
            || known.is_some_and(|known| {
                self.knows(&InputRow {
                    period: known.period,
                    ..row.clone()
                })
            })
    }

    /// Whether the lake knows exactly this already.
    pub(in crate::lake) fn knows(&self, row: &InputRow) -> bool {
        let known = self.known.get(&row.path);
        known.is_some_and(|known| {
            *known
                == InputRow {
                    version: known.version,
                    settings: row
                        .settings
                        .or(Some(self.read_with).filter(|_| row.status.has_rows())),
                    ..row.clone()
                }
        })
    }
}

/// Whether a dump's row says of it what is known, and of what was taken no more than that.
fn has_as_much(known: &InputRow, row: &InputRow) -> bool {
    row.is_dump() && known.is_dump() && !row.period.covers(known.period)
}

/// Whether both say of the same file that it is nothing that iolode knows, though it was looked at as different kinds of input.
fn is_skipped_again(known: &InputRow, row: &InputRow) -> bool {
    known.is_no_log()
        && row.is_no_log()
        && (known.bytes, known.modified) == (row.bytes, row.modified)
        && !known.is_taken_back()
}

/// What is to be done in one try.
pub(in crate::lake) struct ChangeSet {
    pub(in crate::lake) logs: Vec<Planned>,
    pub(in crate::lake) dumps: Vec<Dump>,
    /// Rows of `lake_input` that are known beforehand.
    pub(in crate::lake) rows: Vec<InputRow>,
    /// Jobs and logs whose rows go.
    pub(in crate::lake) drops: Vec<(i64, i64)>,
    /// Inputs that were to be taken anew and could not be read, and why: what the lake holds of them stays.
    pub(in crate::lake) unreadable: Vec<(String, String)>,
    /// Logs that lie outside the period.
    pub(in crate::lake) outside: u64,
    /// Files that are no known kind of input, with the kind that was tried now. They are recorded with the next version, and cause none.
    pub(in crate::lake) no_logs: Vec<InputRow>,
    /// How many of them the lake did not know as such.
    pub(in crate::lake) new_no_logs: u64,
    /// Inputs that were looked at again and are what the lake knows.
    pub(in crate::lake) unchanged: u64,
    /// Those of them of which nothing can be taken.
    pub(in crate::lake) failed_before: u64,
}

impl ChangeSet {
    pub(in crate::lake) fn new(
        listing: &Listing,
        peeked: Vec<Peeked>,
        known_inputs: &KnownInputs<'_>,
        options: &IngestOptions<'_>,
    ) -> Result<Self> {
        let mut work = Self {
            logs: Vec::with_capacity(listing.candidates.len()),
            dumps: vec![],
            rows: vec![],
            drops: vec![],
            unreadable: vec![],
            outside: 0,
            no_logs: vec![],
            new_no_logs: 0,
            unchanged: 0,
            failed_before: 0,
        };
        // What each of the inputs was, and whether its file is still the same.
        let mut before: Vec<(&InputRow, bool)> = vec![];
        for (file, peeked) in listing.candidates.iter().zip(peeked) {
            let known = known_inputs.known.get(&file.name);
            let held = known.and_then(|row| {
                row.content_hash.map(|hash| PreviousImport {
                    hash,
                    unchanged: row.bytes == file.bytes && row.modified == file.modified,
                    status: row.status,
                    run: (row.job_id, row.start_time),
                })
            });
            match peeked {
                Peeked::Known(source, Peek::Dump) => {
                    let same = |row: &&InputRow| {
                        row.status.has_rows()
                            && row.bytes == file.bytes
                            && row.modified == file.modified
                    };
                    work.dumps.push(Dump {
                        file: file.clone(),
                        source,
                        taken: (known.filter(same)).map(|row| (row.period, row.reader_version)),
                        known: known.is_some_and(|row| row.status.has_rows()),
                    });
                    continue;
                }
                Peeked::Known(source, Peek::Log { job_id, start_time }) => {
                    work.logs.push(Planned {
                        file: file.clone(),
                        source,
                        job_id,
                        start_time,
                        // What was taken once is not lost by being taken anew.
                        dxt: options.dxt || known.is_some_and(|row| row.dxt),
                        held,
                    })
                }
                Peeked::RejectedInput(refused)
                    if held.is_some_and(|held| held.stays(refused.unread)) =>
                {
                    let why = refused.row.error.clone().unwrap_or_default();
                    work.unreadable.push((file.name.to_string(), why));
                    continue;
                }
                Peeked::RejectedInput(refused)
                    if known_inputs.knows(&refused.row) && refused.unread =>
                {
                    let why = refused.row.error.clone().unwrap_or_default();
                    work.unreadable.push((file.name.to_string(), why));
                    continue;
                }
                Peeked::RejectedInput(refused) if known_inputs.knows(&refused.row) => {
                    work.unchanged += 1;
                    work.failed_before += u64::from(refused.row.status == InputStatus::Failed);
                    continue;
                }
                Peeked::RejectedInput(refused)
                    if known.is_some_and(|row| is_skipped_again(row, &refused.row)) =>
                {
                    work.unchanged += 1;
                    work.no_logs.push(refused.row);
                    continue;
                }
                Peeked::RejectedInput(refused)
                    if refused.row.is_no_log() && known.is_none_or(InputRow::is_no_log) =>
                {
                    work.new_no_logs += 1;
                    work.no_logs.push(refused.row);
                    continue;
                }
                Peeked::RejectedInput(refused) => work.rows.push(refused.row),
                Peeked::Outside => {
                    work.outside += 1;
                    continue;
                }
            }
            // A log that was forgotten for good stays so under another time of its file.
            let before_it = known.filter(|row| !row.is_forgotten());
            before.extend(before_it.map(|row| (row, held.is_some_and(|held| held.unchanged))));
        }
        for row in &listing.unlisted {
            match known_inputs.knows(row) {
                // The lake knows it, and whoever runs this must hear of it every time.
                true => work
                    .unreadable
                    .push((row.path.to_string(), row.error.clone().unwrap_or_default())),
                false => work.rows.push(row.clone()),
            }
        }
        for name in &listing.directories {
            let known = known_inputs.known.get(name);
            work.rows.extend(
                known
                    .filter(|row| row.status == InputStatus::Failed)
                    .map(|row| InputRow {
                        status: InputStatus::Skipped,
                        error: Some("a directory, which can be read again".into()),
                        ..row.clone()
                    }),
            );
        }

        // Several inputs can have the same bytes: their rows go with the last of them.
        let mut leaving: HashMap<i64, usize> = HashMap::new();
        let mut retaken: HashSet<i64> = HashSet::new();
        for (row, unchanged) in &before {
            let Some(hash) = row.content_hash else {
                continue;
            };
            *leaving.entry(hash).or_default() += 1;
            if *unchanged && row.status.has_rows() {
                retaken.insert(hash);
            }
        }
        let mut orphans: HashMap<i64, &InputRow> = HashMap::new();
        for (row, _) in &before {
            let (Some(hash), Some(job)) = (row.content_hash, row.job_id) else {
                continue;
            };
            let all = known_inputs.hashes()?.count(hash);
            if retaken.contains(&hash) || leaving.get(&hash).is_some_and(|n| *n >= all) {
                work.drops.push((job, hash));
            } else if row.status.has_rows() {
                orphans.insert(hash, row);
            }
        }
        if !orphans.is_empty() {
            let gone: HashSet<&str> = before.iter().map(|(row, _)| &*row.path).collect();
            work.rows
                .extend(reassign(known_inputs.snapshot, orphans, &gone)?);
        }
        Ok(work)
    }

    pub(in crate::lake) fn is_empty(&self) -> bool {
        self.logs.is_empty()
            && self.dumps.is_empty()
            && self.rows.is_empty()
            && self.drops.is_empty()
    }
}

/// Where an input changes whose bytes others still have, the first of these stands for the rows from now on.
fn reassign(
    snapshot: &Snapshot,
    mut orphans: HashMap<i64, &InputRow>,
    gone: &HashSet<&str>,
) -> Result<Vec<InputRow>> {
    let mut rows = vec![];
    for row in snapshot.input_index().rows() {
        let row = row?;
        if gone.contains(&*row.path) || row.is_taken_back() {
            continue;
        }
        if let Some(orphan) = row.content_hash.and_then(|hash| orphans.remove(&hash)) {
            rows.push(InputRow {
                path: row.path,
                bytes: row.bytes,
                modified: row.modified,
                ..orphan.clone()
            });
        }
    }
    Ok(rows)
}
