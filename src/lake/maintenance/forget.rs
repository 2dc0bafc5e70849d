//! Taking back what a source brought: dumps that were read in the wrong time zone cannot be parted from the others' rows.

use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::ingest::task::RangeResult;
use crate::lake::version::commit::Change;
use crate::lake::version::list_file::{InputRow, InputStatus, TAKEN_BACK};
use crate::source::Source;

/// What was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The version without it.
    pub version: u64,
    /// Inputs that the next ingest takes anew.
    pub inputs: u64,
    /// Rows that are gone.
    pub rows: u64,
}

impl Lake {
    /// Forgets all that the lake has of some sources: their tables are empty in the next version, and inputs that are still
    /// there are new to the next ingest, those excepted that [`Lake::forget_before`] has forgotten for good. Older versions keep the rows until a [`Lake::vacuum`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is nothing of them, [`Error::Conflict`] if somebody else commits at the same time,
    /// [`Error::Io`].
    pub fn forget(&self, sources: &[&dyn Source]) -> Result<Forgotten> {
        self.check_owner()?;
        let snapshot = self.snapshot_to_change()?;
        let of_source = |row: &InputRow| {
            let source = row.source.as_deref();
            sources.iter().any(|known| Some(known.name()) == source)
        };
        let taken = snapshot.inputs()?.into_iter().filter(|row| of_source(row));
        // What was forgotten for good stays so. Of the others it is kept which logs they are, so that they can be forgotten for good.
        let inputs: Vec<InputRow> = taken
            .filter(|row| row.status != InputStatus::Skipped || row.content_hash.is_some())
            .filter(|row| !row.is_forgotten() && !row.is_taken_back())
            .map(|row| InputRow {
                status: InputStatus::Skipped,
                error: Some(TAKEN_BACK.into()),
                dxt: false,
                ..row
            })
            .collect();
        let of_tables = |table: &str| {
            sources
                .iter()
                .any(|source| source.tables().contains(&table))
        };
        let files = snapshot
            .files()
            .iter()
            .filter(|file| of_tables(&file.table));
        let rows = files.clone().map(|file| file.rows).sum();
        let gone = RangeResult {
            replaced: files.map(|file| file.path.clone()).collect(),
            ..RangeResult::default()
        };
        if inputs.is_empty() && gone.replaced.is_empty() {
            let names: Vec<&str> = sources.iter().map(|source| source.name()).collect();
            let why = format!("nothing of {} is in the lake", names.join(" or "));
            return Err(Error::Invalid(why));
        }
        let committed = self.commit(
            &snapshot,
            Change {
                operation: "forget",
                results: vec![&gone],
                inputs: inputs.iter().collect(),
                ..Change::default()
            },
        )?;
        let version = committed.ok_or_else(|| self.conflict("forget", 1))?;
        Ok(Forgotten {
            version,
            inputs: inputs.len() as u64,
            rows,
        })
    }
}
