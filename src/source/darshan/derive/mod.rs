//! `darshan_file` and `darshan_log`: what the records of all modules say of each file and of the program.
//!
//! The rules are those of SEMANTICS.md 1 to 5; each file here keeps some of them: [`mod@file`] one row for a file,
//! [`mod@log`] one for the log out of its `totals`, [`ost`] bytes on storage targets, [`mount`] the file system, [`app`] the program's name.

pub mod app;
pub mod direction_stats;
pub mod file;
mod file_row;
pub mod interface;
pub mod log;
pub mod mount;
pub mod ost;
mod row;
mod sum;
#[cfg(test)]
mod tests;
mod totals;

use super::log::Log;
use crate::source::{BatchSink, Input, ReadContext};
pub(super) use row::RowWriter;
pub(super) use totals::Totals;

/// Appends one log's rows to `darshan_file` and its row to `darshan_log`, where they are asked for. What a damaged log lacks is NULL.
pub fn fill_file_and_log(
    log: &Log,
    log_id: i64,
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) {
    let mut totals = Totals::default();
    fill_files(log, log_id, context, &mut totals, tables);
    fill_log(log, totals, log_id, input, context, tables);
}

/// Appends to `darshan_file` the rows of the files whose records the log holds, and adds them to what `darshan_log` says.
pub(super) fn fill_files(
    log: &Log,
    log_id: i64,
    context: &ReadContext,
    totals: &mut Totals,
    tables: &mut BatchSink,
) {
    if !tables.wants("darshan_file") && !tables.wants("darshan_log") {
        return;
    }
    let Some(job) = log.job() else { return };
    let files = file::files(log, job, context);
    if let Some(builder) = tables.get("darshan_file") {
        let mut ost_bits = file_row::OstBits::default();
        files
            .iter()
            .for_each(|file| file_row::append(file, log_id, job, &mut ost_bits, builder));
    }
    if tables.wants("darshan_log") {
        totals.add(log, &files);
    }
}

/// Appends the row of `darshan_log`.
pub(super) fn fill_log(
    log: &Log,
    totals: Totals,
    log_id: i64,
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) {
    if let (Some(job), Some(builder)) = (log.job(), tables.get("darshan_log")) {
        log::append(log, job, totals, log_id, input, context, builder);
    }
}
