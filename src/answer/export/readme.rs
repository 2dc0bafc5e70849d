//! What stands beside the tables of an export: `README.txt` for a person, `export.json` for a program, `policy.toml` if one was given.

use super::choose::Grain;
use super::form::Form;
use super::lmt_times::Lmt;
use super::options::{ExportOptions, ExportReport, Logs};
use super::policy::Policy;
use super::target::{MARK, Target};
use crate::error::{Error, Result};
use crate::lake::Snapshot;
use crate::table::{Treatment, tables};
use chrono_tz::Tz;
use std::fmt::Write;

const LAKE: &str = "\
An export of a lake of I/O logs, made by iolode. The directory is a lake itself:

    iolode sql --lake . -c \"SELECT app, sum(bytes_written) FROM darshan_log GROUP BY app\"

Each table is a directory of Parquet files; none of them was replaced, so a glob such as darshan_log/*.parquet reads a table whole
with pandas, Polars, DuckDB or Spark. `iolode schema TABLE` says what each column means.

";

const DELTA: &str = "\
An export of a lake of I/O logs, made by iolode. Each directory is a Delta table, which Spark, Polars and delta-rs open; iolode itself does
not. Delta has no unsigned integers: record ids, and other columns that are UInt64 in a lake, are Int64 with the same bits. `iolode schema TABLE`
says what each column means.

";

/// Writes them.
///
/// # Errors
/// [`Error::Io`]; [`Error::Invalid`] for a column that does not say what is done with it.
pub(super) fn write(
    target: &Target,
    snapshot: &Snapshot,
    options: &ExportOptions,
    report: &ExportReport,
    zone: Tz,
) -> Result<()> {
    let policy = options.anonymize.as_ref().map(|(_, policy)| policy);
    target.write("README.txt", &readme(snapshot, options, report, zone)?)?;
    let changes = policy
        .map(Policy::text)
        .filter(|changes| !changes.is_empty());
    if let Some(changes) = changes {
        target.write("policy.toml", &changes)?;
    }
    let value = serde_json::json!({
        "made_by": concat!("iolode ", env!("CARGO_PKG_VERSION")),
        "anonymised": policy.is_some(),
        "export": report,
    });
    let text = serde_json::to_string_pretty(&value);
    target.write(
        MARK,
        &(text.map_err(|e| Error::Invalid(e.to_string()))? + "\n"),
    )
}

fn readme(
    snapshot: &Snapshot,
    options: &ExportOptions,
    report: &ExportReport,
    zone: Tz,
) -> Result<String> {
    let mut text = match options.form {
        Form::Lake => String::from(LAKE),
        Form::Delta => String::from(DELTA),
    };
    let counted =
        |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    _ = writeln!(
        text,
        "{}, {}:",
        counted(report.jobs, "job", "jobs"),
        counted(report.logs, "Darshan log", "Darshan logs")
    );
    for (table, rows) in &report.rows {
        _ = writeln!(text, "  {table:22} {}", counted(*rows, "row", "rows"));
    }
    let anonymize = options.anonymize.as_ref();
    let is_coarse = match anonymize.filter(|_| options.lmt != Lmt::None) {
        Some((_, policy)) => policy.unit_of_times()?.is_some(),
        None => false,
    };
    let samples = match options.lmt {
        Lmt::Used if is_coarse => {
            "those of the days, hours or minutes in which each log ran, to which its times are exact (60 s before and after them), of the OSTs of its files and of the servers of their file systems"
        }
        Lmt::Used => {
            "those of the time of each log (60 s before and after it), of the OSTs of its files and of the servers of their file systems"
        }
        Lmt::Period => "all of the time from the first to the last log",
        Lmt::None => "none",
    };
    _ = writeln!(text, "\nSamples of LMT: {samples}.");
    let kept = match options.logs {
        None => None,
        Some(Logs::Copied) => Some((report.logs_copied, "as they were")),
        Some(Logs::Rewritten) => Some((
            report.logs_rewritten,
            "written anew under the pseudonyms of the tables, with every counter as it was",
        )),
    };
    if let Some((logs, how)) = kept {
        let logs = counted(logs, "log", "logs");
        _ = writeln!(
            text,
            "In logs/ are {logs} {how}; logs.csv lists them, and what was left out."
        );
    }
    match &options.anonymize {
        // A condition may name users and programs.
        None => {
            let logs = match options.grain {
                Grain::Log => "logs",
                Grain::Job => "logs of jobs with a log",
            };
            let condition = options.condition.as_deref().unwrap_or("true");
            let condition = match condition.char_indices().nth(1000) {
                Some((end, _)) => format!(
                    "{} .. ({} characters)",
                    &condition[..end],
                    condition.chars().count()
                ),
                None => condition.to_string(),
            };
            _ = writeln!(
                text,
                "Made of version {}: {logs} for which holds: {condition}",
                snapshot.version()
            );
            if options.condition.is_some() && zone != Tz::UTC {
                _ = writeln!(text, "Its times without an offset are in {}.", zone.name());
            }
        }
        Some((_, policy)) => treatments(&mut text, policy, report)?,
    }
    Ok(text)
}

/// What was done with each column.
fn treatments(text: &mut String, policy: &Policy, report: &ExportReport) -> Result<()> {
    text.push_str(
        "\nNames and numbers of users, programs, nodes, jobs and paths are pseudonyms: HMAC-SHA256 under a key that is not here. Exports by one key\n\
         have the same pseudonyms. Times, sizes and counters are as they were unless the list below says otherwise: whoever knows when a job\n\
         ran and how large it was can find it again.",
    );
    let kept = policy.kept()?;
    if !kept.is_empty() {
        _ = write!(
            text,
            " By policy.toml these stay as they were: {}.",
            kept.join(", ")
        );
    }
    text.push_str(" Columns that were changed:\n\n");
    for table in tables().filter(|table| report.rows.contains_key(&table.name)) {
        for column in &table.columns {
            let treatment = policy.of(table, &column.name)?;
            if treatment != Treatment::Kept {
                _ = writeln!(
                    text,
                    "  {:46} {treatment}",
                    format!("{}.{}", table.name, column.name)
                );
            }
        }
    }
    // Where they are left out there is nothing to tell apart.
    if matches!(policy.unit_of_times(), Ok(Some(_))) {
        text.push_str(
            "\nRecords of a job whose times are equal once they are less exact, where a time is part of the key, are told apart: each is\n\
             a microsecond later than the one before, as 09:00:00.000001 is.\n",
        );
    }
    Ok(())
}
