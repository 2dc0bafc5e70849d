//! Publishing the next version after the files of its ranges are written.

use super::convert::RangeResult;
use super::failpoint::failpoint;
use super::ingest::IngestOptions;
use super::manifest::{Manifest, Part, Summary};
use super::parts::{
    DataFile, InputRow, InputStatus, files_to_batch, inputs_to_batch, read_part, write_part,
};
use super::ranges::range_of;
use super::snapshot::Snapshot;
use super::writer::fit;
use super::{Lake, now};
use crate::error::{Error, Result};
use crate::table::{table, tables};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Lists of inputs that a manifest may name before small ones are merged.
const MOST_PARTS: usize = 64;

impl Lake {
    /// Records inputs without rows of theirs, in a version of its own: for measuring a lake that knows very many.
    ///
    /// # Errors
    /// [`Error::Conflict`] if somebody else commits at the same time, [`Error::Io`].
    pub fn record_inputs(&self, inputs: Vec<InputRow>) -> Result<u64> {
        let snapshot = self.snapshot(None)?;
        let (splits, osts) = (
            snapshot.manifest.splits.clone(),
            snapshot.manifest.osts.clone(),
        );
        let committed = self.commit(
            "ingest",
            &snapshot,
            splits,
            osts,
            &[],
            &inputs.iter().collect::<Vec<_>>(),
            &IngestOptions::default(),
        )?;
        let reason = "somebody else committed at the same time; try again".to_string();
        committed.ok_or_else(|| Error::Conflict {
            lake: self.store.show(""),
            reason,
        })
    }

    /// Publishes the next version, which `operation` made; None if somebody else was faster.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn commit(
        &self,
        operation: &str,
        snapshot: &Snapshot,
        splits: Vec<i64>,
        osts: Vec<Option<i64>>,
        results: &[&RangeResult],
        inputs: &[&InputRow],
        options: &IngestOptions<'_>,
    ) -> Result<Option<u64>> {
        let version = snapshot.version() + 1;
        let mut inputs = inputs.to_vec();
        inputs.sort_by(|a, b| a.path.cmp(&b.path));
        let twins = twins(snapshot, &inputs)?;
        let input = |row: &&InputRow| {
            let twin = is_unnamed_twin(row)
                .then(|| twins.get(&row.content_hash?))
                .flatten();
            let error = twin.map(|path| format!("the same bytes as {path}"));
            InputRow {
                version,
                error: error.or_else(|| row.error.clone()),
                ..(*row).clone()
            }
        };

        let replaced: HashSet<&str> = results
            .iter()
            .flat_map(|r| r.replaced.iter().map(String::as_str))
            .collect();
        let mut files: Vec<DataFile> = snapshot
            .files()
            .iter()
            .filter(|file| !replaced.contains(file.path.as_str()))
            .cloned()
            .collect();
        let added = results
            .iter()
            .flat_map(|r| r.files.iter().cloned())
            .map(|file| DataFile { version, ..file });
        files.extend(added);
        for file in &mut files {
            file.range = file.job_id.map(|(least, _)| range_of(&splits, least));
        }
        files.sort_by(|a, b| (&a.table, a.range, &a.path).cmp(&(&b.table, b.range, &b.path)));

        let mut written = vec![];
        let publish = |written: &mut Vec<Part>| -> Result<bool> {
            let mut lists = snapshot.manifest.inputs.clone();
            let rows = inputs.chunks(8192);
            let rows = rows.map(|rows| inputs_to_batch(rows.iter().map(input)));
            if let Some(part) = write_part(&self.store, "input", rows)? {
                written.push(part.clone());
                lists.push(part);
            }
            failpoint("input-part-written");
            if lists.len() > MOST_PARTS {
                lists = self.merge_parts(lists, written)?;
            }
            let list = if files.is_empty() {
                None
            } else {
                write_part(&self.store, "file", [files_to_batch(&files, &splits)])?
            };
            written.extend(list.clone());
            failpoint("file-part-written");
            let added: usize = results.iter().map(|r| r.files.len()).sum();
            let manifest = Manifest {
                version,
                parent: Some(snapshot.version()),
                time: now(),
                operation: operation.into(),
                schema_versions: tables()
                    .map(|table| (table.name.clone(), table.version))
                    .collect(),
                splits: splits.clone(),
                osts: osts.clone(),
                files: list,
                inputs: lists,
                summary: Summary {
                    inputs: inputs.iter().filter(|row| row.status.has_rows()).count() as u64,
                    inputs_failed: inputs
                        .iter()
                        .filter(|row| row.status == InputStatus::Failed)
                        .count() as u64,
                    files_added: added as u64,
                    files_removed: replaced.len() as u64,
                    rows: files.iter().map(|file| file.rows).sum(),
                    bytes: files.iter().map(|file| file.bytes).sum(),
                },
                ..snapshot.manifest.clone()
            };
            failpoint("parts-done");
            if options.is_cancelled() {
                return Err(Error::Interrupted);
            }
            // A vacuum may have run since this ingest began. If it removed the version that this one follows, others have
            // committed after that.
            if !self.store.exists(&Manifest::path(snapshot.version()))? {
                return Ok(false);
            }
            for file in results.iter().flat_map(|r| &r.files) {
                if !self.store.exists(&file.path)? {
                    return Err(Error::Lake {
                        lake: self.store.show(""),
                        reason: format!(
                            "{} was deleted before it was published, by a vacuum that spares too little; run this again",
                            file.path
                        ),
                    });
                }
            }
            manifest.publish(&self.store)
        };
        match publish(&mut written) {
            Ok(true) => Ok(Some(version)),
            other => {
                written
                    .iter()
                    .for_each(|part| _ = self.store.delete(&part.path));
                other.map(|_| None)
            }
        }
    }

    /// Merges the smaller half of the lists of inputs into one, so that their number stays small and no large one is rewritten
    /// for a small addition.
    fn merge_parts(&self, mut lists: Vec<Part>, written: &mut Vec<Part>) -> Result<Vec<Part>> {
        lists.sort_by_key(|part| part.rows);
        let large = lists.split_off(lists.len() / 2 + 1);
        let rows = lists.iter().map(|part| read_part(&self.store, part));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        // Lists of an older program have fewer columns.
        let schema = &table("lake_input")?.schema;
        let rows = rows.into_iter().flatten().map(|rows| fit(&rows?, schema));
        let merged = write_part(&self.store, "input", rows)?;
        written.extend(merged.clone());
        Ok(large.into_iter().chain(merged).collect())
    }
}

/// A copy of an input of which it is not said yet which one that is.
fn is_unnamed_twin(row: &InputRow) -> bool {
    row.status == InputStatus::Skipped && row.content_hash.is_some() && row.error.is_none()
}

/// Of which input's bytes the skipped ones are copies, by their hash.
fn twins(snapshot: &Snapshot, inputs: &[&InputRow]) -> Result<HashMap<i64, Arc<str>>> {
    let unnamed = inputs.iter().filter(|row| is_unnamed_twin(row));
    let wanted: HashSet<i64> = unnamed.filter_map(|row| row.content_hash).collect();
    let mut twins = HashMap::new();
    if wanted.is_empty() {
        return Ok(twins);
    }
    let mut holds = |row: &InputRow| {
        let hash = row.content_hash.filter(|hash| wanted.contains(hash));
        if let Some(hash) = hash.filter(|_| row.status.has_rows()) {
            twins.insert(hash, row.path.clone());
        }
    };
    let now: HashSet<&str> = inputs.iter().map(|row| &*row.path).collect();
    snapshot.each_input(|row| {
        if !now.contains(&*row.path) {
            holds(&row);
        }
    })?;
    inputs.iter().for_each(|row| holds(row));
    Ok(twins)
}
