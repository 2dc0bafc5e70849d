//! One file system's table that is cut by day: what the lake holds of some days and what dumps bring, day by day in order, because
//! the first interval of a day begins with the last sample of the day before.

use super::external_sort::SortedRun;
use super::merge::{merge, prime};
use super::options::IngestOptions;
use super::task::DaysTask;
use super::write_range::{contradictions, row_merger};
use crate::error::{Error, Result};
use crate::lake::file::data_sink::Syncing;
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::version::list_file::DataFile;
use crate::lake::version::range_result::RangeResult;
use crate::table::table;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Converts the days of one table and file system.
///
/// # Errors
/// As [`super::write_range::Worker::convert_range`].
pub(in crate::lake) fn convert_days(
    task: &DaysTask,
    options: &IngestOptions<'_>,
) -> Result<RangeResult> {
    let mut result = RangeResult::default();
    let mut syncing = Syncing::new(&task.target.store);
    let converted = convert(task, options, &mut result, &mut syncing);
    if let Err(e) = converted.and_then(|()| syncing.finish()) {
        // Files that were whole already are unreferenced now.
        result
            .files
            .iter()
            .for_each(|file| _ = task.target.store.delete(&file.path));
        return Err(e);
    }
    Ok(result)
}

fn convert(
    task: &DaysTask,
    options: &IngestOptions<'_>,
    result: &mut RangeResult,
    syncing: &mut Syncing,
) -> Result<()> {
    let table = table(&task.table)?;
    let Some(mut row_merger) = row_merger(options, &task.table) else {
        return Err(Error::Invalid(format!(
            "nothing resolves rows of {}",
            task.table
        )));
    };
    let mut held: BTreeMap<i64, Vec<DataFile>> = BTreeMap::new();
    for file in &task.old {
        if let Some((_, day)) = &file.day {
            held.entry(*day).or_default().push(file.clone());
        }
    }
    let mut todo: BTreeMap<i64, Option<i64>> = task.days.iter().copied().collect();
    let none = BTreeSet::new();
    // The last day that the merger has seen.
    let mut seen = None;
    while let Some((day, ost)) = todo.pop_first() {
        if options.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let target = FileDestination {
            day: Some((task.fs.clone(), day)),
            ost: RangeTarget::new(ost),
            ..task.target.clone()
        };
        if let Some((before, files)) = held.range(..day).next_back()
            && seen.is_none_or(|seen| seen < *before)
        {
            row_merger.start_day();
            prime(table, &target, files, &mut *row_merger)?;
        }
        row_merger.start_day();
        let runs: Vec<Arc<SortedRun>> = task
            .runs
            .iter()
            .filter(|run| run.day.as_ref().is_some_and(|(_, d)| *d == day))
            .cloned()
            .collect();
        let old = held.get(&day).cloned().unwrap_or_default();
        let merged = merge(table, &target, &old, &runs, &mut *row_merger, false, &none)?;
        seen = Some(day);
        if !merged.changed {
            continue;
        }
        result
            .replaced
            .extend(old.into_iter().map(|file| file.path));
        if let Some(file) = merged.file {
            result.files.push(file.data);
            syncing.push(file.unsynced)?;
        }
        // Its last samples begin the intervals of the next day.
        if let Some((next, files)) = held.range(day + 1..).next() {
            todo.entry(*next)
                .or_insert_with(|| files.first().and_then(|file| file.ost));
        }
    }
    result
        .warnings
        .extend(contradictions(&task.table, &*row_merger));
    Ok(())
}
