//! Taking back what a source brought: dumps that were read in the wrong time zone cannot be parted from the others' rows.

use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::version::commit::Change;
use crate::lake::version::lease::Lease;
use crate::lake::version::list_file::{InputRow, InputStatus, TAKEN_BACK};
use crate::lake::version::range_result::RangeResult;
use crate::lake::version::snapshot::Snapshot;
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

/// How often it begins anew when others commit meanwhile.
pub(in crate::lake) const TRIES: usize = 5;

impl Lake {
    /// Forgets all that the lake has of some sources: their tables are empty in the next version, and inputs that are still
    /// there are new to the next ingest, those excepted that [`Lake::forget_before`] has forgotten for good. Older versions keep the rows until a [`Lake::vacuum`].
    ///
    /// What others commit at the same time is forgotten, too, if it is of these sources.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is nothing of them, [`Error::Conflict`] if others commit all the time,
    /// [`Error::Io`].
    pub fn forget(&self, sources: &[&dyn Source]) -> Result<Forgotten> {
        self.check_owner()?;
        let lease = Lease::take(&self.store)?;
        for tried in 0..TRIES {
            let snapshot = self.snapshot_to_change()?;
            let inputs = taken_back(&snapshot, sources)?;
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
                // Others forgot the same meanwhile.
                if tried > 0 {
                    return Ok(Forgotten {
                        version: snapshot.version(),
                        inputs: 0,
                        rows: 0,
                    });
                }
                let names: Vec<&str> = sources.iter().map(|source| source.name()).collect();
                let why = format!("nothing of {} is in the lake", names.join(" or "));
                return Err(Error::Invalid(why));
            }
            let change = Change {
                operation: "forget",
                results: vec![&gone],
                inputs: inputs.iter().collect(),
                lease: Some(&lease),
                ..Change::default()
            };
            if let Some(version) = self.commit(&snapshot, change)? {
                return Ok(Forgotten {
                    version,
                    inputs: inputs.len() as u64,
                    rows,
                });
            }
        }
        Err(self.conflict("forget", TRIES))
    }
}

/// What is noted of the inputs of some sources. What was forgotten for good stays so. Of the others it is kept which logs they are, so that
/// they can be forgotten for good.
fn taken_back(snapshot: &Snapshot, sources: &[&dyn Source]) -> Result<Vec<InputRow>> {
    let of_source = |row: &InputRow| {
        let source = row.source.as_deref();
        sources.iter().any(|known| Some(known.name()) == source)
    };
    let taken = snapshot.inputs()?.into_iter().filter(|row| of_source(row));
    let inputs = taken
        .filter(|row| row.status != InputStatus::Skipped || row.content_hash.is_some())
        .filter(|row| !row.is_forgotten() && !row.is_taken_back())
        .map(|row| InputRow {
            status: InputStatus::Skipped,
            error: Some(TAKEN_BACK.into()),
            dxt: false,
            ..row
        });
    Ok(inputs.collect())
}
