//! Writes the derived rows of one range.

use super::derivation::Derivation;
use super::derived_table::DerivedTable;
use super::range_rows::RangeRows;
use crate::error::{Error, Result};
use crate::lake::file::data_sink::Finished;
use crate::lake::file::range_writers::old_of;
use crate::lake::file::writer::RangeWriter;
use crate::lake::ingest::task::RangeTask;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::range_result::RangeResult;
use crate::table::table;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes the rows of a derived table: those that stay, and those of the logs that `result` has taken in, or of all. None if no row is left, or nothing changes.
///
/// # Errors
/// [`Error::Interrupted`], and those of the derivation and of files.
pub(in crate::lake) fn write_derived(
    derived: &dyn DerivedTable,
    derivation: &Derivation,
    task: &RangeTask,
    result: &mut RangeResult,
    memory: usize,
    cancel: &AtomicBool,
) -> Result<Option<Finished>> {
    let taken = result.inputs.iter().filter(|row| row.status.has_rows());
    let logs: HashSet<i64> = taken.filter_map(|row| row.content_hash).collect();
    let has_new = derivation.anew || !logs.is_empty();
    if !has_new && task.drop.is_empty() && !task.rewrite {
        return Ok(None);
    }
    let old = old_of(&task.old, &derivation.table);
    let stays = if derivation.anew { &[][..] } else { &old };
    let mut writer = RangeWriter::new(
        table(&derivation.table)?,
        task.target.clone(),
        stays,
        task.drop.clone(),
    )?;
    if has_new {
        let replaced: HashSet<&String> = result.replaced.iter().collect();
        let held = task
            .old
            .iter()
            .filter(|file| !replaced.contains(&file.path));
        let held: Vec<&DataFile> = held.collect();
        // Files of this ingest alone hold no other logs.
        let all = derivation.anew || held.is_empty();
        let range = RangeRows {
            store: &task.target.store,
            files: held.into_iter().chain(&result.files).cloned().collect(),
            logs: (!all).then(|| Arc::new(logs)),
        };
        derived.derive(&range, &mut |rows| {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            writer.write(rows)?;
            match writer.memory() > memory {
                true => writer.spill_rows(),
                false => Ok(()),
            }
        })?;
    }
    result
        .replaced
        .extend(old.into_iter().map(|file| file.path));
    writer.finish()
}
