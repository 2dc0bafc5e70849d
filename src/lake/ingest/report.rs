//! What an ingest did.

use crate::lake::derived::derivation::Derivation;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::lake::version::range_result::RangeResult;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What an ingest did.
#[derive(Clone, Debug, Default)]
pub struct IngestReport {
    /// The version it made; None if there was nothing new.
    pub version: Option<u64>,
    /// Inputs that the lake knew already.
    pub unchanged: u64,
    /// Those of them of which nothing could be taken then.
    pub failed_before: u64,
    /// Logs that lie outside the period.
    pub outside: u64,
    /// Files that are nothing that iolode knows, of those that the lake did not know as such.
    pub not_logs: u64,
    /// Logs with the bytes of another that the lake has, or has forgotten for good.
    pub copies: u64,
    /// Inputs taken in, by what became of them.
    pub inputs: BTreeMap<InputStatus, u64>,
    /// Bytes of the logs that were read.
    pub bytes_in: u64,
    /// Bytes of the data files that were written.
    pub bytes_out: u64,
    /// Rows of the data files that were written.
    pub rows: u64,
    /// Those of them that were derived, by table.
    pub rows_derived: BTreeMap<String, u64>,
    /// Rows of the data files that these replace: those of other inputs of the same ranges are written anew, too.
    pub rows_replaced: u64,
    /// Inputs of which nothing was taken, and why. Rows that the lake holds of one from before stay.
    pub failures: Vec<(String, String)>,
    /// What was taken and is not as it should be: the input, or what it is about, and what there is to say.
    pub warnings: Vec<(String, String)>,
}

impl IngestReport {
    /// Counts inputs that are what the lake knows. What could not be read again is a failure again.
    pub(in crate::lake) fn add_known<'a>(&mut self, rows: impl IntoIterator<Item = &'a InputRow>) {
        for row in rows {
            match row.is_unread() {
                true => self.failures.push(failure(row)),
                false => {
                    self.unchanged += 1;
                    self.failed_before += u64::from(row.status == InputStatus::Failed);
                }
            }
        }
    }
}

/// An input of which nothing was taken, and why.
pub(in crate::lake) fn failure(row: &InputRow) -> (String, String) {
    (row.path.to_string(), row.error.clone().unwrap_or_default())
}

/// What an ingest did that made a version.
pub(in crate::lake) fn report(
    version: u64,
    inputs: &[&InputRow],
    results: &[&RangeResult],
    derived: &[Derivation],
    named: &HashSet<Arc<str>>,
    so_far: IngestReport,
) -> IngestReport {
    let mut report = IngestReport {
        version: Some(version),
        ..so_far
    };
    if report.not_logs > 0 {
        report.inputs.insert(InputStatus::Skipped, report.not_logs);
    }
    for row in inputs {
        *report.inputs.entry(row.status).or_default() += 1;
        report.bytes_in += row.bytes;
        if row.status == InputStatus::Skipped {
            match row.content_hash {
                Some(_) => report.copies += 1,
                // A directory has no time.
                None => report.not_logs += u64::from(row.modified != 0),
            }
        }
        let is_named = row.is_no_log() && named.contains(&row.path);
        if row.status == InputStatus::Failed || is_named {
            report.failures.push(failure(row));
        } else if let Some(why) = row
            .error
            .clone()
            .filter(|_| row.job_id.is_none() && row.status.has_rows())
        {
            report.warnings.push((row.path.to_string(), why));
        }
    }
    for file in results.iter().flat_map(|r| &r.files) {
        report.bytes_out += file.bytes;
        report.rows += file.rows;
        if derived.iter().any(|derived| derived.table == file.table) {
            *report.rows_derived.entry(file.table.clone()).or_default() += file.rows;
        }
    }
    report
}
