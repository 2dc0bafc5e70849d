//! Publishing the next version: the only place where a lake changes.

use super::file_index::next_lists;
use super::file_list::Entry;
use super::input_lists::{is_small, merge, write_inputs};
use super::lease::Lease;
use super::list_file::DataFile;
use super::list_file::{FORGOTTEN, InputRow, InputStatus};
use super::manifest::{JobRange, ListFile, Manifest, Published, Summary, go_back};
use super::range_result::RangeResult;
use super::ranges::range_of;
use super::snapshot::Snapshot;
use super::store::Store;
use super::time::micros;
use super::user_function::UserFunction;
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::table::table;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Small lists of inputs that a manifest may name before they are merged.
const MOST_PARTS: usize = 64;
/// How often a change that takes little time is tried again while others commit.
const TRIES: usize = 100;

/// What a commit changes; all else stays as the version has it that it follows.
#[derive(Default)]
pub(in crate::lake) struct Change<'a> {
    /// What makes it: `ingest`, `compact`, ..
    pub(in crate::lake) operation: &'a str,
    /// The ranges of job ids.
    pub(in crate::lake) ranges: Option<Vec<JobRange>>,
    /// Data files that come and go.
    pub(in crate::lake) results: Vec<&'a RangeResult>,
    /// What became of inputs.
    pub(in crate::lake) inputs: Vec<&'a InputRow>,
    /// Number of the settings with which these were read.
    pub(in crate::lake) read_with: Option<i64>,
    /// Lists of inputs in the place of those that there are.
    pub(in crate::lake) input_lists: Option<Vec<ListFile>>,
    /// Lists of data files in the place of those that there are, and what they hold.
    pub(in crate::lake) file_lists: Option<(Vec<ListFile>, Summary)>,
    /// Users' functions.
    pub(in crate::lake) functions: Option<Vec<UserFunction>>,
    /// The derived tables that the lake keeps, and their versions.
    pub(in crate::lake) derived: Option<BTreeMap<String, u32>>,
    /// The text of the settings.
    pub(in crate::lake) settings: Option<String>,
    /// Set to stop.
    pub(in crate::lake) cancel: Option<&'a AtomicBool>,
    /// What whoever has written data files holds.
    pub(in crate::lake) lease: Option<&'a Lease>,
}

/// A version that was published.
pub(in crate::lake) struct Committed {
    pub(in crate::lake) version: u64,
    /// A crash may undo it: what, and why.
    pub(in crate::lake) warning: Option<(String, String)>,
}

impl Lake {
    /// Records inputs without rows of theirs, in a version of its own: for measuring a lake that knows very many.
    ///
    /// # Errors
    /// [`Error::Conflict`] if others commit all the time, [`Error::Io`].
    pub fn record_inputs(&self, inputs: Vec<InputRow>) -> Result<u64> {
        let committed = self.change(|_| {
            Ok(Some(Change {
                operation: "ingest",
                inputs: inputs.iter().collect(),
                ..Change::default()
            }))
        })?;
        committed.ok_or_else(|| Error::Invalid("no inputs to record".into()))
    }

    /// Publishes a change of the newest version, anew on top of theirs when others commit at the same time; None if there is none.
    ///
    /// # Errors
    /// Those of `make`; [`Error::Conflict`] if others commit all the time; as [`Lake::commit`].
    pub(in crate::lake) fn change<'a>(
        &self,
        mut make: impl FnMut(&Snapshot) -> Result<Option<Change<'a>>>,
    ) -> Result<Option<u64>> {
        for _ in 0..TRIES {
            let snapshot = self.snapshot_to_change()?;
            self.check_directories(snapshot.files())?;
            let Some(change) = make(&snapshot)? else {
                return Ok(None);
            };
            if let Some(version) = self.commit(&snapshot, change)? {
                return Ok(Some(version));
            }
        }
        Err(self.conflict("change", TRIES))
    }

    /// The error of whoever lost to others so often.
    pub(in crate::lake) fn conflict(&self, what: &str, tries: usize) -> Error {
        let times = match tries {
            1 => String::new(),
            tries => format!(" {tries} times"),
        };
        Error::Conflict {
            lake: self.store.show(""),
            reason: format!("others committed{times} while this {what} was ready; run it again"),
        }
    }

    /// Publishes the version that follows `snapshot`; None if somebody else was faster.
    ///
    /// # Errors
    /// [`Error::Lake`] if this program is too old for the lake, or what was written is gone; [`Error::Interrupted`]; [`Error::Io`];
    /// [`Error::Outcome`] if nobody can say whether it was published: then nothing that it names may be deleted.
    pub(in crate::lake) fn commit(
        &self,
        snapshot: &Snapshot,
        change: Change<'_>,
    ) -> Result<Option<u64>> {
        let committed = self.commit_with_warning(snapshot, change)?;
        Ok(committed.map(|committed| committed.version))
    }

    /// As [`Lake::commit`]; with a word if a crash may undo it.
    ///
    /// # Errors
    /// As [`Lake::commit`].
    pub(in crate::lake) fn commit_with_warning(
        &self,
        snapshot: &Snapshot,
        change: Change<'_>,
    ) -> Result<Option<Committed>> {
        let mut written = vec![];
        let published = self
            .prepare(snapshot, &change, &mut written)
            .and_then(|manifest| {
                if change
                    .cancel
                    .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
                {
                    return Err(Error::Interrupted);
                }
                // A vacuum that runs at the same time looks at the times of files, and this is the last look at whether they are there.
                let files = change.results.iter().flat_map(|result| &result.files);
                let paths = files
                    .map(|file| &file.path)
                    .chain(written.iter().map(|part| &part.path));
                for path in paths {
                    self.still_there(path)?;
                }
                if let Some(lease) = change.lease {
                    lease.check()?;
                }
                // If a vacuum removed the version that this one follows, others have committed after that.
                match Manifest::versions(&self.store)?.last() == Some(&snapshot.version()) {
                    true => Ok(committed(
                        manifest.version,
                        manifest.try_publish(&self.store)?,
                    )),
                    false => Ok(None),
                }
            });
        if matches!(published, Ok(None) | Err(_)) && !is_unknown(&published) {
            written
                .iter()
                .for_each(|part| _ = self.store.delete(&part.path));
        }
        published
    }

    /// Makes a file that is to be published as young as one that is written now.
    fn still_there(&self, path: &str) -> Result<()> {
        if self.store.exists(path)? {
            return self.store.touch(path);
        }
        Err(Error::Lake {
            lake: self.store.show(""),
            reason: format!(
                "{path} was deleted before it was published, by a vacuum whose --min-age is too short; run this again"
            ),
        })
    }

    /// Writes the lists of the next version, which are in `written` then, and makes its manifest.
    fn prepare(
        &self,
        snapshot: &Snapshot,
        change: &Change<'_>,
        written: &mut Vec<ListFile>,
    ) -> Result<Manifest> {
        let before = &snapshot.manifest;
        before.check_writer(&self.store)?;
        let mut manifest = before.next(change.operation, micros(SystemTime::now()));
        if let Some(ranges) = &change.ranges {
            manifest.ranges = ranges.clone();
        }
        if let Some(settings) = &change.settings {
            manifest.settings = settings.clone();
        }
        if let Some(derived) = &change.derived {
            manifest.derived = derived.clone();
        }
        if let Some(functions) = &change.functions {
            manifest.functions = functions.clone();
        }
        if let Some(lists) = &change.input_lists {
            manifest.inputs = lists.clone();
        }
        self.add_inputs(snapshot, change, &mut manifest, written)?;
        match &change.file_lists {
            Some((lists, summary)) => {
                manifest.files = lists.clone();
                manifest.summary = summary.clone();
            }
            None => self.change_files(snapshot, change, &mut manifest, written)?,
        }
        Ok(manifest)
    }

    fn add_inputs(
        &self,
        snapshot: &Snapshot,
        change: &Change<'_>,
        manifest: &mut Manifest,
        written: &mut Vec<ListFile>,
    ) -> Result<()> {
        let version = manifest.version;
        let mut inputs = change.inputs.clone();
        // What is said last of a path counts.
        inputs.reverse();
        inputs.sort_by(|a, b| a.path.cmp(&b.path));
        inputs.dedup_by(|next, kept| next.path == kept.path);
        let twins = twins(snapshot, &inputs)?;
        let input = |row: &InputRow| {
            let twin = is_unnamed_twin(row)
                .then(|| twins.get(&row.content_hash?))
                .flatten();
            InputRow {
                version,
                error: twin.or(row.error.as_ref()).cloned(),
                settings: row
                    .settings
                    .or(change.read_with.filter(|_| row.status.has_rows())),
                ..row.clone()
            }
        };
        let rows = inputs.iter().map(|row| Ok(input(row)));
        let mut new = vec![];
        let listed = write_inputs(&self.store, rows, inputs.len() as u64, &mut new);
        written.extend(new.iter().cloned());
        listed?;
        manifest.inputs.extend(new.iter().cloned());
        if manifest.inputs.iter().filter(|list| is_small(list)).count() > MOST_PARTS {
            let (small, mut lists): (Vec<ListFile>, _) = std::mem::take(&mut manifest.inputs)
                .into_iter()
                .partition(is_small);
            let mut merged = vec![];
            let listed = merge(&self.store, &small, &mut merged);
            written.extend(merged.iter().cloned());
            listed?;
            lists.extend(merged);
            manifest.inputs = lists;
            // What this commit has written itself is in the merged list, and no version will name it.
            for list in new.iter().filter(|list| is_small(list)) {
                self.store.delete(&list.path)?;
                written.retain(|part| part.path != list.path);
            }
        }
        let of_status = |wanted: fn(InputStatus) -> bool| {
            inputs.iter().filter(|row| wanted(row.status)).count() as u64
        };
        manifest.summary.inputs = of_status(InputStatus::has_rows);
        manifest.summary.inputs_failed = of_status(|status| status == InputStatus::Failed);
        Ok(())
    }

    fn change_files(
        &self,
        snapshot: &Snapshot,
        change: &Change<'_>,
        manifest: &mut Manifest,
        written: &mut Vec<ListFile>,
    ) -> Result<()> {
        let replaced = change.results.iter().flat_map(|result| &result.replaced);
        let replaced: HashSet<&str> = replaced.map(String::as_str).collect();
        let is_gone = |file: &&DataFile| replaced.contains(file.path.as_str());
        let gone = snapshot.files().iter().filter(is_gone).cloned();
        let mut changed: Vec<Entry> = gone.map(|file| (file, true)).collect();
        newest_known(&self.store, &changed)?;
        let written_anew = change.results.iter().filter(|one| !one.files.is_empty());
        let read: HashSet<&str> = written_anew
            .flat_map(|one| one.replaced.iter().map(String::as_str))
            .collect();
        for (file, _) in changed
            .iter()
            .filter(|(file, _)| read.contains(&*file.path))
        {
            self.as_written(file)?;
        }
        let removed = changed.len();
        let mut all: Vec<DataFile> = match replaced.is_empty() {
            true => snapshot.files().to_vec(),
            false => snapshot
                .files()
                .iter()
                .filter(|file| !is_gone(file))
                .cloned()
                .collect(),
        };
        let (splits, chosen) = (manifest.splits(), manifest.osts());
        for file in change.results.iter().flat_map(|result| &result.files) {
            let added = DataFile {
                version: manifest.version,
                range: file.job_id.map(|(least, _)| range_of(&splits, least)),
                ..file.clone()
            };
            // A target that refused a file was replaced by another, for what follows too.
            if let (Some(range), Some(real)) = (added.range, added.ost)
                && let Some(known) = manifest.ranges.get_mut(range)
                && chosen.get(range) != Some(&Some(real))
            {
                known.ost = Some(real);
            }
            all.push(added.clone());
            changed.push((added, false));
        }
        manifest.summary.files_removed = removed as u64;
        manifest.summary.files_added = (changed.len() - removed) as u64;
        manifest.summary.rows = all.iter().map(|file| file.rows).sum();
        manifest.summary.bytes = all.iter().map(|file| file.bytes).sum();
        manifest.files = next_lists(&self.store, &manifest.files, changed, &all, written)?;
        Ok(())
    }

    /// Refuses to replace a file whose bytes have changed: what was read of it would pass for right from then on.
    fn as_written(&self, file: &DataFile) -> Result<()> {
        let found = self.store.hash(&file.path)?;
        match file.content_hash.zip(found) {
            Some((written, found)) if written != found => Err(Error::Lake {
                lake: self.store.show(""),
                reason: format!(
                    "the bytes of {} are not those that were written: `iolode lake check` names all such files, {} without it",
                    file.path,
                    go_back(&self.store, |manifest| manifest.version < file.version)
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// What there is to say of a version that was published.
fn committed(version: u64, published: Published) -> Option<Committed> {
    let warning = match published {
        Published::Taken => return None,
        Published::Lasting => None,
        Published::Undoable(e) => Some((
            Manifest::path(version),
            format!(
                "version {version} is there, but a crash of this machine may undo it ({e}); ingest again after one"
            ),
        )),
    };
    Some(Committed { version, warning })
}

/// Whether nobody can say if a version was published.
pub(in crate::lake) fn is_unknown<T>(published: &Result<T>) -> bool {
    matches!(published, Err(Error::Outcome { .. }))
}

/// Refuses to replace files that were written with columns which this program does not know.
fn newest_known(store: &Store, gone: &[Entry]) -> Result<()> {
    for (file, _) in gone {
        let known = table(&file.table)?.version;
        if file.schema_version > known {
            return Err(Error::Lake {
                lake: store.show(""),
                reason: format!(
                    "{} was written by a newer iolode (version {} of the columns of {}, this one knows {known}): it can be read, but only a newer \
                     iolode can change it",
                    file.path, file.schema_version, file.table
                ),
            });
        }
    }
    Ok(())
}

/// A copy of an input of which it is not said yet which one that is.
fn is_unnamed_twin(row: &InputRow) -> bool {
    row.status == InputStatus::Skipped && row.content_hash.is_some() && row.error.is_none()
}

/// Of which input's bytes the skipped ones are copies, in the words of their rows and by their hash. Copies of a log that was forgotten for
/// good are forgotten, too.
fn twins(snapshot: &Snapshot, inputs: &[&InputRow]) -> Result<HashMap<i64, String>> {
    let unnamed = inputs.iter().filter(|row| is_unnamed_twin(row));
    let wanted: HashSet<i64> = unnamed.filter_map(|row| row.content_hash).collect();
    let mut twins = HashMap::new();
    if wanted.is_empty() {
        return Ok(twins);
    }
    let mut holds = |row: &InputRow| {
        let hash = row.content_hash.filter(|hash| wanted.contains(hash));
        let why = match row.status.has_rows() {
            true => Some(format!("the same bytes as {}", row.path)),
            false => row.is_forgotten().then(|| FORGOTTEN.to_string()),
        };
        twins.extend(hash.zip(why));
    };
    let now: HashSet<&str> = inputs.iter().map(|row| &*row.path).collect();
    for row in snapshot.input_index().rows() {
        let row = row?;
        if !now.contains(&*row.path) || row.is_forgotten() {
            holds(&row);
        }
    }
    inputs.iter().for_each(|row| holds(row));
    Ok(twins)
}
