//! `iolode lake check`: whether a lake is whole.

use crate::cli::exit::Exit;
use crate::cli::lake_args::LakeArg;
use crate::cli::screen::Terminal;
use crate::cli::size;
use crate::lake::{CheckReport, Lake};
use crate::source::{SOURCES, Source};
use crate::text::{quoted, shown, shown_path};
use std::io::Write;

/// Verify all files of a lake and report problems; exit code 1 if there are any
#[derive(clap::Args)]
#[command(after_help = "\
What is wrong with the newest version, or could not be read, goes to stdout and gives exit code 1. An older version that can be neither read nor restored is \
noted on stderr: the newest needs nothing of it, as after `iolode lake restore`, and `iolode lake vacuum` removes it.

Example:
  iolode lake check /scratch/lake")]
pub(super) struct Check {
    #[command(flatten)]
    lake: LakeArg,
}

pub(super) fn check(args: &Check, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let path = args.lake.to_read()?;
    let report = Lake::open(&path)?.check()?;
    for finding in report.wrong.iter().chain(&report.unread) {
        writeln!(
            screen.data,
            "{}: {}",
            shown(&finding.path),
            shown(&finding.what)
        )?;
    }
    for finding in &report.superseded {
        screen.say(format_args!(
            "note: {}: {}; superseded by version {}, and removed by `iolode lake vacuum` once it is older than --keep",
            finding.path, finding.what, report.version
        ));
    }
    if let Some(first) = report.misplaced.first() {
        screen.say(format_args!(
            "note: {} otherwise than the lake has noted, such as {}: {}; set the default layout of the directory to one stripe (`lfs setstripe -c 1`)",
            size::counted(report.misplaced.len() as u64, "data file lies", "data files lie"),
            first.path,
            first.what
        ));
    }
    if !report.unreferenced.is_empty() {
        screen.say(format_args!(
            "{} to no version: left by an ingest that was stopped, or being written now; `iolode lake vacuum` removes old ones",
            size::counted(report.unreferenced.len() as u64, "file belongs", "files belong")
        ));
    }
    let again = damaged_sources(&report).map(|name| format!(" --{name}"));
    let again: String = again.collect();
    screen.say(format_args!(
        "lake {}, version {}: {}, {}, {} found wrong{}{}{}",
        shown_path(&path),
        report.version,
        size::counted(report.files, "file", "files"),
        size::counted(report.rows, "row", "rows"),
        match report.wrong.len() {
            0 => "nothing".to_string(),
            n => size::count(n as u64),
        },
        match report.unread.len() {
            0 => String::new(),
            n => format!(", {} could not be read", size::count(n as u64)),
        },
        match (&report.remedy, report.wrong.len()) {
            (_, 0) => String::new(),
            (Some(remedy), _) => format!("; {remedy}"),
            (None, _) => format!(
                "; `iolode lake restore {0} --version N` goes back to a version whose files are whole, `iolode lake history {0}` lists all",
                quoted(&path)
            ),
        },
        match again.is_empty() {
            true => String::new(),
            false => format!(
                "; or forget and import again: `iolode lake forget {}{again}`, then `iolode ingest`",
                quoted(&path)
            ),
        }
    ));
    Ok(if report.wrong.is_empty() && report.unread.is_empty() {
        Exit::Done
    } else {
        Exit::SomeFailed
    })
}

/// The sources that have rows in data files that are wrong.
fn damaged_sources(report: &CheckReport) -> impl Iterator<Item = &'static str> {
    let is_damaged = |source: &&&dyn Source| {
        report.wrong.iter().any(|finding| {
            let mut parts = finding.path.split('/');
            parts.any(|part| source.tables().contains(&part))
        })
    };
    let damaged: Vec<&&dyn Source> = SOURCES.iter().filter(is_damaged).collect();
    damaged.into_iter().map(|source| source.name())
}
