//! `iolode inspect`: what a log holds, without a lake.

mod json;
mod mosaic;
mod parser;
mod performance;
mod rows;
mod summary;

use self::rows::{Rows, rows};
use super::exit::Exit;
use super::screen::Terminal;
use crate::answer::analysis::mosaic::LogRows;
use crate::error::{Error, Result};
use crate::source::darshan::log::{Log, ModuleSet};
use crate::source::{Input, Outcome, Status};
use crate::text::shown_path;
use std::path::{Path, PathBuf};

/// Show what Darshan logs hold, without a lake
#[derive(clap::Args)]
#[command(after_help = "\
Of a damaged log what could be read is shown; with --mosaic infos.log_status says so. Totals over records that are not all there are `unknown`, and null in JSON. \
The exit code is 1 if a log is damaged or, of several, could not be read; 2 if none could be.

Examples:
  iolode inspect job.darshan
  iolode inspect --json *.darshan | jq .log.bytes_written
  iolode inspect --mosaic *.darshan | jq .classes
  iolode inspect --darshan-parser job.darshan | grep POSIX_BYTES_READ
  iolode inspect --darshan-parser --perf --file job.darshan")]
pub(super) struct Args {
    /// Darshan logs
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// One JSON object on a line for each log: the rows of darshan_log, darshan_module, darshan_mount and darshan_file
    #[arg(long, conflicts_with = "darshan_parser")]
    json: bool,
    /// One JSON object on a line for each log: its classes by MOSAIC, in the form of the published tool. MODE is full or
    /// reference, which does as that tool
    #[arg(
        long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "full",
        value_parser = ["full", "reference"], conflicts_with_all = ["darshan_parser", "json"]
    )]
    mosaic: Option<String>,
    /// The text form of darshan-parser, for existing scripts
    #[arg(long)]
    darshan_parser: bool,
    /// With --darshan-parser: every counter of every record (default)
    #[arg(long, requires = "darshan_parser")]
    base: bool,
    /// With --darshan-parser: bytes, times and bandwidth of each module
    #[arg(long, requires = "darshan_parser")]
    perf: bool,
    /// With --darshan-parser: counts of files by kind of access
    #[arg(long, requires = "darshan_parser")]
    file: bool,
    /// Files shown in the summary, those with most bytes first
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

impl Args {
    /// Whether each log is an object on a line of its own.
    fn is_json(&self) -> bool {
        self.json || self.mosaic.is_some()
    }
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let (mut failed, mut damaged) = (0, 0);
    for (at, path) in args.logs.iter().enumerate() {
        if at > 0 && !args.is_json() {
            std::io::Write::write_all(&mut screen.data, b"\n")?;
        }
        match read(args, path) {
            Ok(read) => {
                read.show(args, screen)?;
                if let Some(why) = read.damage() {
                    damaged += 1;
                    // The summary says so itself.
                    if args.is_json() || args.darshan_parser {
                        let path = shown_path(path);
                        screen.say(format_args!("iolode: {path}: damaged: {why}"));
                    }
                }
            }
            // The only log that was asked for: that is the command's own failure.
            Err(error) if args.logs.len() == 1 => return Err(error.into()),
            Err(error) => {
                failed += 1;
                screen.say(format_args!("iolode: {error}"));
            }
        }
    }
    match failed {
        0 if damaged == 0 => Ok(Exit::Done),
        n if n == args.logs.len() => {
            Err(Error::Invalid(format!("none of the {n} logs could be read")).into())
        }
        _ => Ok(Exit::SomeFailed),
    }
}

/// A log that was read.
struct Inspected {
    input: Input,
    content: Content,
}

/// What is shown of a log.
enum Content {
    /// The log itself, for the text form of darshan-parser.
    Log(Box<Log>),
    /// Rows of the tables that say what is in it.
    Rows(Box<Rows>),
    /// Its rows as MOSAIC needs them, and how whole it is.
    Mosaic(Box<LogRows>, Outcome),
}

/// Logs up to this size are read into memory at once.
const WHOLE: u64 = 1 << 30;

fn read(args: &Args, path: &Path) -> Result<Inspected> {
    let input = Input::open(path)?.load(WHOLE, vec![])?;
    if args.darshan_parser {
        let mut log = Log::new();
        log.read(&input, ModuleSet::DEFAULT)?;
        let content = Content::Log(Box::new(log));
        return Ok(Inspected { input, content });
    }
    if args.mosaic.is_some() {
        let (rows, outcome) = LogRows::of_input(&input)?;
        let content = Content::Mosaic(Box::new(rows), outcome);
        return Ok(Inspected { input, content });
    }
    let rows = rows(
        &input,
        &[
            "darshan_log",
            "darshan_module",
            "darshan_mount",
            "darshan_file",
        ],
    )?;
    let content = Content::Rows(Box::new(rows));
    Ok(Inspected { input, content })
}

impl Inspected {
    /// Why the log is damaged; None if it is not.
    fn damage(&self) -> Option<String> {
        let (is_damaged, why) = match &self.content {
            Content::Log(log) => (log.status() == Status::Damaged, log.why()),
            Content::Rows(rows) => (rows.is_damaged, rows.why.clone()),
            Content::Mosaic(_, outcome) => (outcome.status == Status::Damaged, outcome.why.clone()),
        };
        is_damaged.then(|| why.unwrap_or_default())
    }

    fn show(&self, args: &Args, screen: &mut Terminal) -> anyhow::Result<()> {
        match &self.content {
            Content::Log(log) => {
                let show = parser::Show {
                    base: args.base || !(args.perf || args.file),
                    perf: args.perf,
                    file: args.file,
                };
                parser::print(log, &self.input, show, &mut screen.data)?;
            }
            Content::Mosaic(rows, outcome) => {
                let is_reference = args.mosaic.as_deref() == Some("reference");
                mosaic::print(
                    self.input.path(),
                    rows,
                    outcome,
                    is_reference,
                    &mut screen.data,
                )?;
            }
            Content::Rows(rows) if args.json => json::print(rows, &mut screen.data)?,
            Content::Rows(rows) => summary::print(
                self.input.path(),
                rows,
                args.top,
                screen.look,
                &mut screen.data,
            )?,
        }
        Ok(())
    }
}
