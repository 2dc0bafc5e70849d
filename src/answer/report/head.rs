//! The first lines of a page: how much of the I/O the logs explain, and what could not be read.

use super::file::PERIOD;
use super::lakes::Lakes;
use crate::engine::queries::query;
use crate::error::{Error, Result};
use crate::text::amount::{count, counted, share, significant, size};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;

/// A line about what `coverage` answers for the period, and one about what `unreadable_logs` does; `given` are the parameters of the report.
///
/// # Errors
/// [`Error::Unavailable`].
pub(super) async fn lines(lakes: &Lakes<'_>, given: &[(String, String)]) -> Result<Vec<String>> {
    let of_period = given.iter().any(is_of_period);
    let said = |what: &str, line: Result<String>| match line {
        Err(error @ Error::Unavailable(_)) => Err(error),
        Err(error) => Ok(format!("{what} is not known: {error}")),
        said => said,
    };
    let covered = rows(lakes, "coverage", given).await;
    let covered = said("Coverage", covered.map(|rows| coverage(&rows, of_period)))?;
    let unread_rows = rows(lakes, "unreadable_logs", given).await;
    let unread = unread_rows.map(|rows| unread(&rows));
    Ok(vec![covered, said("What could not be read", unread)?])
}

fn is_of_period((name, _): &(String, String)) -> bool {
    PERIOD.contains(&name.as_str())
}

async fn rows(lakes: &Lakes<'_>, name: &str, given: &[(String, String)]) -> Result<RecordBatch> {
    let period = given.iter().filter(|given| is_of_period(given));
    let period: Vec<_> = period.cloned().collect();
    let question = query(name)?.question(&period, lakes.engine.zone()?)?;
    Ok(lakes.remembered(question).await?.batch.clone())
}

/// The rows of `coverage` in one line: each share names what it is a part of. Of a job that runs into the period or out of it the node-hours are those within.
fn coverage(rows: &RecordBatch, of_period: bool) -> String {
    let sum = |name: &str| {
        numbers(rows, name)
            .into_iter()
            .flatten()
            .reduce(|a, b| a + b)
    };
    // What is explained of a day is not a column: its share of what LMT counted is.
    let explained = |part: &str, whole: &str| {
        let parts = numbers(rows, part).into_iter().zip(numbers(rows, whole));
        parts
            .filter_map(|(part, whole)| Some(part? * whole?))
            .sum::<f64>()
    };
    let of_bytes = |part: &str, whole: &str, done: &str| {
        let bytes = sum(whole).filter(|bytes| *bytes > 0.0)?;
        let part = share(explained(part, whole) / bytes);
        Some(format!(
            "{part} of the {} that LMT counted as {done}",
            size(bytes as u64)
        ))
    };
    let read = of_bytes("share_read", "lmt_read", "read");
    let written = of_bytes("share_written", "lmt_written", "written");
    let bytes: Vec<String> = read.into_iter().chain(written).collect();
    let bytes = match bytes.is_empty() {
        true => "LMT has no bytes to compare with".to_string(),
        false => format!("logs explain {}", bytes.join(" and ")),
    };
    let hours = match sum("node_hours").filter(|hours| *hours > 0.0) {
        Some(hours) => {
            let part = share(sum("node_hours_with_log").unwrap_or(0.0) / hours);
            let hours = significant(hours);
            let within = if of_period { " within the period" } else { "" };
            format!("jobs with a log have {part} of Slurm's {hours} node-hours{within}")
        }
        None => "there is no Slurm record".into(),
    };
    let logs = counted(sum("logs").unwrap_or(0.0) as u64, "log", "logs");
    let of_them = |name: &str, what: &str| {
        let logs = sum(name).filter(|logs| *logs > 0.0)?;
        Some(format!(", {} {what}", count(logs as u64)))
    };
    let partial = of_them("logs_partial", "of them partial").unwrap_or_default();
    let damaged = of_them("logs_damaged", "of them damaged").unwrap_or_default();
    format!("Coverage: {logs}{partial}{damaged}; {bytes}; {hours}.")
}

/// The rows of `unreadable_logs` in one line.
fn unread(rows: &RecordBatch) -> String {
    let status = rows.column_by_name("status");
    let status = status.and_then(|column| cast(column, &DataType::Utf8).ok());
    let status: Vec<String> = match &status {
        Some(column) => column
            .as_string::<i32>()
            .iter()
            .flatten()
            .map(String::from)
            .collect(),
        None => vec![],
    };
    let number = |wanted: &str| status.iter().filter(|status| *status == wanted).count();
    let said = [
        (number("failed"), "not read"),
        (number("damaged"), "damaged and read in part"),
        (number("partial"), "partial"),
    ];
    let said = said.iter().filter(|(number, _)| *number > 0);
    let said = said.map(|(number, what)| format!("{} {what}", count(*number as u64)));
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "All inputs were read.".into(),
        false => format!("Inputs: {}.", said.join("; ")),
    }
}

/// The numbers of a column.
fn numbers(rows: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    let column = rows.column_by_name(name);
    let column = column.and_then(|column| cast(column, &DataType::Float64).ok());
    column.map_or_else(Vec::new, |column| {
        column.as_primitive::<Float64Type>().iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use std::sync::Arc;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(
            columns
                .into_iter()
                .map(|(name, column)| (name, column, true)),
        )
        .unwrap()
    }

    /// Of 1,024 B and 3,072 B read 512 B and 3,072 B are explained: 3,584 of 4,096 B, 87.5 %. Of 100 node-hours 40 have a log.
    #[test]
    fn shares_of_days_are_weighed_by_what_they_are_a_part_of() {
        let int =
            |values: [Option<i64>; 3]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let float = |values: [Option<f64>; 3]| -> ArrayRef {
            Arc::new(Float64Array::from(values.to_vec()))
        };
        let rows = batch(vec![
            ("lmt_read", int([None, Some(1024), Some(3072)])),
            ("share_read", float([None, Some(0.5), Some(1.0)])),
            ("lmt_written", int([None, Some(0), None])),
            ("share_written", float([None, None, None])),
            ("node_hours", float([Some(100.0), None, None])),
            ("node_hours_with_log", float([Some(40.0), None, None])),
            ("logs", int([Some(1234), None, None])),
            ("logs_partial", int([Some(2), None, None])),
            ("logs_damaged", int([Some(0), None, None])),
        ]);
        assert_eq!(
            coverage(&rows, false),
            "Coverage: 1 234 logs, 2 of them partial; logs explain 88 % of the 4.00 KiB that LMT counted as read; jobs with a log have 40 % of Slurm's 100 node-hours."
        );
        assert!(coverage(&rows, true).ends_with("Slurm's 100 node-hours within the period."));
        assert_eq!(
            coverage(&rows.slice(0, 0), true),
            "Coverage: 0 logs; LMT has no bytes to compare with; there is no Slurm record."
        );
    }

    #[test]
    fn what_was_not_read_is_counted_by_how_much_is_missing() {
        let of = |status: &[&str]| {
            let status: ArrayRef = Arc::new(StringArray::from(status.to_vec()));
            unread(&batch(vec![("status", status)]))
        };
        assert_eq!(of(&[]), "All inputs were read.");
        assert_eq!(
            of(&["failed", "partial", "partial"]),
            "Inputs: 1 not read; 2 partial."
        );
    }
}
