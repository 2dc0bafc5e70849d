//! `darshan_file` and `darshan_log`: what the records of all modules say of each file and of the program.
//!
//! The rules are those of semantics.md, sections 1 to 5; each file here keeps some of them: [`mod@file`] one row for a file,
//! [`mod@log`] one for the log, [`ost`] bytes on storage targets, [`mount`] the file system, [`app`] the program's name.

pub mod app;
pub mod file;
mod file_row;
pub mod flow;
pub mod interface;
pub mod log;
pub mod mount;
pub mod ost;
mod row;
#[cfg(test)]
mod tests;

use super::log::Log;
use crate::error::Result;
use crate::source::{Input, Site, Tables};

/// Appends one log's rows to `darshan_file` and its row to `darshan_log`, where they are asked for.
///
/// # Errors
/// None today: what a damaged log lacks is NULL.
pub fn fill_file_and_log(
    log: &Log,
    log_id: i64,
    input: &Input,
    site: &Site,
    tables: &mut Tables,
) -> Result<()> {
    if !tables.wants("darshan_file") && !tables.wants("darshan_log") {
        return Ok(());
    }
    let Some(job) = log.job() else { return Ok(()) };
    let files = file::files(log, job, site);
    if let Some(builder) = tables.get("darshan_file") {
        let mut ost_bits = file_row::OstBits::default();
        files
            .iter()
            .for_each(|file| file_row::append(file, log_id, job, &mut ost_bits, builder));
    }
    if let Some(builder) = tables.get("darshan_log") {
        log::append(log, job, &files, log_id, input, site, builder);
    }
    Ok(())
}

/// The sum of what is known; None if nothing is. Negative counters are not known.
fn sum(values: impl Iterator<Item = i64>) -> Option<i64> {
    values
        .filter(|v| *v >= 0)
        .fold(None, |sum: Option<i64>, v| {
            Some(sum.unwrap_or(0).saturating_add(v))
        })
}

/// The sum of the times that are known; None if none is. Negative times are not.
fn sum_time(values: impl Iterator<Item = f64>) -> Option<f64> {
    values
        .filter(|v| *v >= 0.0)
        .fold(None, |sum: Option<f64>, v| Some(sum.unwrap_or(0.0) + v))
}
