//! Removing what is older than a date: the rows go in a new version, and their bytes once a vacuum removes the versions before it.
//!
//! What is older is said by the meaning of each table: a Darshan log goes by its start, with all its rows; an accounting record of a
//! job by its end, and one without an end stays; a step by its end, and it stays as long as its job does; an interval of LMT by
//! its end. A file of which all rows go is not read, and one of which none go stays.
//!
//! A log is noted as forgotten, since all its rows go together. A dump is noted as read by no reader's version ([`InputRow::is_incomplete`]): an
//! ingest skips it, and one with `--refresh` takes it in again.

use super::forget::{Forgotten, TRIES};
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::file::data_reader::read_rows;
use crate::lake::file::data_sink::{Finished, Syncing};
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::file::temp;
use crate::lake::file::temp::Spill;
use crate::lake::file::writer::RangeWriter;
use crate::lake::ingest::merge::in_order;
use crate::lake::version::commit::{Change, is_unknown};
use crate::lake::version::lease::Lease;
use crate::lake::version::list_file::{DataFile, FORGOTTEN, InputRow, InputStatus};
use crate::lake::version::range_result::RangeResult;
use crate::lake::version::ranges::range_of;
use crate::lake::version::site::SiteFile;
use crate::lake::version::snapshot::Snapshot;
use crate::source::Source;
use crate::table::{Table, table};
use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Bytes of memory for rows that are not in a file yet.
const MEMORY: usize = 16 << 20;

/// What of a range or a day goes.
struct Old {
    /// In microseconds since 1970.
    before: i64,
    /// Logs that go.
    logs: HashSet<i64>,
    /// Jobs that stay.
    jobs: HashSet<i64>,
}

impl Lake {
    /// Removes what some sources brought that is older than a time, in microseconds since 1970, and notes its logs as forgotten, so that no
    /// later ingest of the same files brings them back; also those that [`Lake::forget`] has taken out of the lake before. Of a dump only an
    /// ingest with `refresh` brings them back. If nothing is older, no version is made. Readers and ingests may go on meanwhile.
    ///
    /// # Errors
    /// [`Error::Conflict`] if others commit all the time, [`Error::Io`].
    pub fn forget_before(&self, sources: &[&dyn Source], before: i64) -> Result<Forgotten> {
        self.check_owner()?;
        let lease = Lease::take(&self.store)?;
        for _ in 0..TRIES {
            let (site, snapshot) = (self.site()?, self.snapshot_to_change()?);
            snapshot.manifest.check_writer(&self.store)?;
            let inputs = old_inputs(&snapshot, sources, before)?;
            let mut result = RangeResult::default();
            let removed = remove(&snapshot, &site, sources, &inputs, before, &mut result);
            let published = removed.and_then(|removed| {
                let rows = removed.values().sum();
                if rows == 0 && inputs.is_empty() {
                    return Ok(Some(Forgotten {
                        version: snapshot.version(),
                        inputs: 0,
                        rows,
                    }));
                }
                let dumps = old_dumps(&snapshot, sources, &removed, before)?;
                let change = Change {
                    operation: "forget",
                    results: vec![&result],
                    inputs: inputs.iter().chain(&dumps).collect(),
                    lease: Some(&lease),
                    ..Change::default()
                };
                let version = self.commit(&snapshot, change)?;
                Ok(version.map(|version| Forgotten {
                    version,
                    inputs: inputs.len() as u64,
                    rows,
                }))
            });
            if matches!(published, Ok(None) | Err(_)) && !is_unknown(&published) {
                for file in &result.files {
                    let _ = self.store.delete(&file.path);
                }
            }
            if let Some(forgotten) = published? {
                return Ok(forgotten);
            }
        }
        Err(self.conflict("forget", TRIES))
    }
}

/// The logs that began before and are in the lake or were, as they are noted from then on.
fn old_inputs(snapshot: &Snapshot, sources: &[&dyn Source], before: i64) -> Result<Vec<InputRow>> {
    let is_old = |row: &InputRow| {
        let source = row.source.as_deref();
        (row.status.has_rows() || row.is_taken_back())
            && row.start_time.is_some_and(|start| start < before)
            && sources.iter().any(|known| Some(known.name()) == source)
    };
    let rows = snapshot.inputs()?.into_iter().filter(is_old);
    let forgotten = rows.map(|row| InputRow {
        status: InputStatus::Skipped,
        error: Some(FORGOTTEN.into()),
        dxt: false,
        ..row
    });
    Ok(forgotten.collect())
}

/// The dumps that may have brought the rows that are removed, as they are noted from then on.
fn old_dumps(
    snapshot: &Snapshot,
    sources: &[&dyn Source],
    removed: &BTreeMap<String, u64>,
    before: i64,
) -> Result<Vec<InputRow>> {
    let loses_rows = |source: &&dyn Source| {
        let mut tables = source.tables().iter();
        tables.any(|table| removed.contains_key(*table))
    };
    let sources: Vec<&str> = (sources.iter().filter(|source| loses_rows(source)))
        .map(|source| source.name())
        .collect();
    if sources.is_empty() {
        return Ok(vec![]);
    }
    let is_old = |row: &InputRow| {
        row.is_dump()
            && !row.is_incomplete()
            && row.period.from.is_none_or(|from| from < before)
            && row
                .source
                .as_deref()
                .is_some_and(|name| sources.contains(&name))
    };
    let rows = snapshot.inputs()?.into_iter().filter(is_old);
    Ok(rows.map(InputRow::incomplete).collect())
}

/// Writes anew what holds old rows and others. How many rows of each table are gone then.
fn remove(
    snapshot: &Snapshot,
    site: &SiteFile,
    sources: &[&dyn Source],
    inputs: &[InputRow],
    before: i64,
    result: &mut RangeResult,
) -> Result<BTreeMap<String, u64>> {
    // The id of a log is the hash of its bytes.
    let mut logs: HashMap<usize, HashSet<i64>> = HashMap::new();
    for (job, log) in inputs
        .iter()
        .filter_map(|row| row.job_id.zip(row.content_hash))
    {
        let range = range_of(snapshot.splits(), job);
        logs.entry(range).or_default().insert(log);
    }
    let mut syncing = Syncing::new(snapshot.store());
    let mut removed: BTreeMap<String, u64> = BTreeMap::new();
    for ((range, _), files) in groups(snapshot, sources) {
        let old = Old {
            before,
            logs: range
                .and_then(|range| logs.remove(&range))
                .unwrap_or_default(),
            jobs: jobs_that_stay(snapshot, &files, before)?,
        };
        let mut of_table: BTreeMap<&str, Vec<DataFile>> = BTreeMap::new();
        for file in &files {
            of_table.entry(&file.table).or_default().push(file.clone());
        }
        for (name, files) in of_table {
            let had: u64 = files.iter().map(|file| file.rows).sum();
            let whole = old.takes_all(snapshot, &files)?;
            let left = match whole {
                Some(true) => None,
                Some(false) => continue,
                None => old.write_rest(snapshot, site, name, &files)?,
            };
            let left_rows = left.as_ref().map_or(0, |file| file.data.rows);
            if let Some(file) = left {
                result.files.push(file.data);
                syncing.push(file.unsynced)?;
            }
            if had > left_rows {
                *removed.entry(name.to_string()).or_default() += had - left_rows;
            }
            result
                .replaced
                .extend(files.into_iter().map(|file| file.path));
        }
    }
    syncing.finish()?;
    Ok(removed)
}

/// A range of job ids, or a file system and day.
type Place = (Option<usize>, Option<(String, i64)>);

/// The files of these sources by range of job ids, or by file system and day.
fn groups(snapshot: &Snapshot, sources: &[&dyn Source]) -> BTreeMap<Place, Vec<DataFile>> {
    let mut groups: BTreeMap<_, Vec<DataFile>> = BTreeMap::new();
    for file in snapshot.files() {
        let tables = |source: &&dyn Source| source.tables().contains(&file.table.as_str());
        if sources.iter().any(tables) {
            let group = groups.entry((file.range, file.day.clone())).or_default();
            group.push(file.clone());
        }
    }
    groups
}

/// The jobs that had not ended by then.
fn jobs_that_stay(snapshot: &Snapshot, files: &[DataFile], before: i64) -> Result<HashSet<i64>> {
    let mut jobs = HashSet::new();
    for file in files {
        if !has_ends_of_jobs(table(&file.table)?) {
            continue;
        }
        each_row(snapshot, file, |rows, row| {
            if !is_before(rows, "end_time", row, before.saturating_add(1)) {
                jobs.extend(number(rows, "job_id", row));
            }
        })?;
    }
    Ok(jobs)
}

/// Whether a table says of each job when it ended.
fn has_ends_of_jobs(table: &Table) -> bool {
    let has = |column: &str| table.position(column).is_some();
    has("job_id") && has("end_time") && !has("log_id") && !has("step_id")
}

impl Old {
    /// Whether all rows of the files go, or none; None if the rows have to be looked at.
    fn takes_all(&self, snapshot: &Snapshot, files: &[DataFile]) -> Result<Option<bool>> {
        let Some(first) = files.first() else {
            return Ok(Some(false));
        };
        let table = table(&first.table)?;
        if first.day.is_some() {
            let times = || files.iter().map(|file| file.time);
            return Ok(
                if times().all(|time| time.is_some_and(|(_, last)| last <= self.before)) {
                    Some(true)
                } else if times().all(|time| time.is_some_and(|(first, _)| first > self.before)) {
                    Some(false)
                } else {
                    None
                },
            );
        }
        if table.position("log_id").is_some() && self.logs.is_empty() {
            return Ok(Some(false));
        }
        let (mut some, mut all) = (false, true);
        for file in files {
            each_row(snapshot, file, |rows, row| match self.takes(rows, row) {
                true => some = true,
                false => all = false,
            })?;
        }
        Ok((some == all).then_some(all))
    }

    /// Whether a row goes.
    fn takes(&self, rows: &RecordBatch, row: usize) -> bool {
        let ended = self.before.saturating_add(1);
        if let Some(log) = number(rows, "log_id", row) {
            return self.logs.contains(&log);
        }
        if let Some(job) = number(rows, "job_id", row) {
            let is_step = rows.column_by_name("step_id").is_some();
            return is_before(rows, "end_time", row, ended)
                && !(is_step && self.jobs.contains(&job));
        }
        is_before(rows, "time", row, ended)
    }

    /// Writes the rows that stay to a file; None if none do.
    fn write_rest(
        &self,
        snapshot: &Snapshot,
        site: &SiteFile,
        name: &str,
        files: &[DataFile],
    ) -> Result<Option<Finished>> {
        let table = table(name)?;
        let Some(first) = files.first() else {
            return Ok(None);
        };
        let splits = snapshot.splits();
        let target = FileDestination {
            store: snapshot.store().clone(),
            place: site.place.clone(),
            lake_id: snapshot.manifest.lake_id.clone(),
            range: first.range,
            day: first.day.clone(),
            from: (first.range.and_then(|range| range.checked_sub(1)))
                .and_then(|below| splits.get(below).copied()),
            to: first.range.and_then(|range| splits.get(range).copied()),
            ost: RangeTarget::new(first.ost.filter(|ost| site.place.has(*ost))),
            version: snapshot.version() + 1,
            memory: MEMORY,
            spill: Spill::new(&temp::directory(None, snapshot.store())),
        };
        let mut writer = RangeWriter::new(table, target.clone(), &[], Arc::default())?;
        in_order(table, &target, files, |rows| {
            let stays: BooleanArray = (0..rows.num_rows())
                .map(|row| Some(!self.takes(&rows, row)))
                .collect();
            let rows = filter_record_batch(&rows, &stays).map_err(|e| Error::columns(name, e))?;
            writer.write(&rows)
        })?;
        writer.finish()
    }
}

fn each_row(
    snapshot: &Snapshot,
    file: &DataFile,
    mut each: impl FnMut(&RecordBatch, usize),
) -> Result<()> {
    for rows in read_rows(snapshot.store(), table(&file.table)?, &file.path, 8192)? {
        let rows = rows?;
        (0..rows.num_rows()).for_each(|row| each(&rows, row));
    }
    Ok(())
}

/// Whether a time is there and lies before another.
fn is_before(rows: &RecordBatch, column: &str, row: usize, before: i64) -> bool {
    let column = rows.column_by_name(column);
    let times = column.and_then(|times| times.as_primitive_opt::<TimestampMicrosecondType>());
    times.is_some_and(|times| times.is_valid(row) && times.value(row) < before)
}

fn number(rows: &RecordBatch, column: &str, row: usize) -> Option<i64> {
    let numbers = rows
        .column_by_name(column)
        .and_then(|numbers| numbers.as_primitive_opt::<Int64Type>())?;
    numbers.is_valid(row).then(|| numbers.value(row))
}
