//! What `iolode export` says of an export.

use crate::answer::export::{ExportOptions, ExportReport};
use crate::cli::exit::Exit;
use crate::cli::screen::Terminal;
use crate::cli::size;
use crate::table::{Partition, tables};
use std::io::Write;

/// Says that there is no export.
pub(super) fn nothing(report: &ExportReport, options: &ExportOptions, screen: &Terminal) -> Exit {
    told(report, options, screen);
    screen.say(match report.left_out {
        0 => "no log is chosen: nothing was exported",
        _ => "no log is left: nothing was exported",
    });
    Exit::SomeFailed
}

/// What an export holds, in a few words.
pub(super) fn shown(report: &ExportReport) -> String {
    let rows: u64 = report.rows.values().sum();
    format!(
        "{}, {}: {}, {}, {}",
        size::counted(report.jobs, "job", "jobs"),
        size::counted(report.logs, "log", "logs"),
        size::counted(rows, "row", "rows"),
        size::counted(report.files, "file", "files"),
        size::show(report.bytes)
    )
}

/// Says which jobs can be singled out by their looks, and what a policy keeps.
pub(super) fn told(report: &ExportReport, options: &ExportOptions, screen: &Terminal) {
    if options.anonymize.is_none() {
        return;
    }
    if report.left_out > 0 {
        screen.say(format_args!(
            "left out {}, as fewer than {} jobs share program, nodes, processes and day",
            size::counted(report.left_out, "job", "jobs"),
            options.k
        ));
    }
    if report.unique > 0 {
        screen.say(format_args!(
            "{} of the export can be singled out: no other has the same program, nodes, processes and day (--k 2 leaves them out)",
            size::counted(report.unique, "job", "jobs"),
        ));
    }
    if let Some((_, policy)) = &options.anonymize
        && let Ok(kept) = policy.kept()
        && !kept.is_empty()
    {
        screen.say(format_args!("kept by the policy: {}", kept.join(", ")));
    }
}

/// Says what an export would be.
pub(super) fn dry(
    report: &ExportReport,
    options: &ExportOptions,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    screen.say(format_args!(
        "would export {}, {} with {}: about {} of data files, and samples of LMT beside them",
        size::counted(report.jobs, "job", "jobs"),
        size::counted(report.logs, "log", "logs"),
        size::counted(report.files_of_logs, "file", "files"),
        size::show(report.bytes)
    ));
    told(report, options, screen);
    let Some((_, policy)) = &options.anonymize else {
        screen.say("columns are as they are in the lake; --anonymize --key FILE replaces names");
        return Ok(Exit::Done);
    };
    for table in tables().filter(|table| table.partition != Partition::Manifest) {
        for column in &table.columns {
            let treatment = policy.of(table, &column.name)?;
            writeln!(
                screen.data,
                "{:46} {treatment}",
                format!("{}.{}", table.name, column.name)
            )?;
        }
    }
    Ok(Exit::Done)
}
