//! The inputs of an export's lake: the logs that it holds.

use super::choose::Chosen;
use super::pseudonym::Key;
use crate::error::Result;
use crate::lake::{InputRow, Snapshot};
use crate::source::Period;
use crate::table::Domain;

/// The rows of `lake_input` of the chosen logs.
///
/// # Errors
/// Those of the lists of inputs.
pub(super) fn of_logs(snapshot: &Snapshot, chosen: &Chosen) -> Result<Vec<InputRow>> {
    let mut rows = snapshot.inputs()?;
    rows.retain(|row| {
        let is_chosen = |log| chosen.logs.contains_key(&log);
        row.job_id.is_some() && row.status.has_rows() && row.content_hash.is_some_and(is_chosen)
    });
    Ok(rows)
}

/// The rows of `lake_input` of an export; under pseudonyms they say of each log that it is there, and nothing else.
///
/// # Errors
/// As [`of_logs`].
pub(super) fn inputs(
    snapshot: &Snapshot,
    chosen: &Chosen,
    key: Option<&Key>,
) -> Result<Vec<InputRow>> {
    let of_logs = of_logs(snapshot, chosen)?.into_iter();
    let Some(key) = key else {
        // Rows of the original's versions would count as newer than those that the export takes in.
        return Ok(of_logs.map(|row| InputRow { version: 1, ..row }).collect());
    };
    // They are converted where they are: there may be very many.
    let rows = of_logs.filter_map(|row| {
        let (log, job) = (key.log(row.content_hash?), row.job_id?);
        Some(anonymous(log, key.number(Domain::Job, job), &row))
    });
    let mut rows: Vec<InputRow> = rows.collect();
    rows.sort_by_key(|row| row.content_hash);
    rows.dedup_by(|later, kept| {
        let is_same = later.content_hash == kept.content_hash;
        if is_same {
            std::mem::swap(later, kept);
        }
        is_same
    });
    Ok(rows)
}

fn anonymous(log: i64, job: i64, row: &InputRow) -> InputRow {
    InputRow {
        path: format!("{log}.darshan").into(),
        source: row.source.clone(),
        status: row.status,
        // Why is told in the words of a reader, which may hold names.
        error: None,
        bytes: 0,
        modified: 0,
        content_hash: Some(log),
        job_id: Some(job),
        start_time: None,
        dxt: row.dxt,
        period: Period::default(),
        reader_version: row.reader_version,
        version: 1,
        settings: None,
    }
}
