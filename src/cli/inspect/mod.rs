//! `iolode inspect`: what a log holds, without a lake.

mod json;
mod parser;
mod performance;
mod summary;

use super::Exit;
use super::screen::Terminal;
use crate::error::{Error, Result};
use crate::source::darshan::Darshan;
use crate::source::darshan::log::{Log, ModuleSet};
use crate::source::{BatchSink, Input, Reader, Site, Source};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Show what Darshan logs hold, without a lake
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  iolode inspect job.darshan
  iolode inspect --json *.darshan | jq .log.bytes_written
  iolode inspect --darshan-parser job.darshan | grep POSIX_BYTES_READ
  iolode inspect --darshan-parser --perf --file job.darshan")]
pub(super) struct Args {
    /// Darshan logs
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// One JSON object on a line for each log: the rows of darshan_log, darshan_module, darshan_mount and darshan_file
    #[arg(long, conflicts_with = "darshan_parser")]
    json: bool,
    /// The text form of darshan-parser, for existing scripts
    #[arg(long)]
    darshan_parser: bool,
    /// With --darshan-parser: every counter of every record, as when none of these is given
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

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let mut failed = 0;
    for (at, path) in args.logs.iter().enumerate() {
        if at > 0 && !args.json {
            std::io::Write::write_all(&mut screen.data, b"\n")?;
        }
        match read(args, path) {
            Ok(read) => read.show(args, screen)?,
            // The only log that was asked for: that is the command's own failure.
            Err(error) if args.logs.len() == 1 => return Err(error.into()),
            Err(error) => {
                failed += 1;
                screen.say(format_args!("iolode: {error}"));
            }
        }
    }
    match failed {
        0 => Ok(Exit::Done),
        n if n == args.logs.len() => {
            Err(Error::Invalid(format!("none of the {n} logs could be read")).into())
        }
        _ => Ok(Exit::SomeFailed),
    }
}

/// A log that was read.
struct Inspected {
    input: Input,
    /// The log itself, where the text form of darshan-parser is wanted.
    log: Option<Log>,
    /// Rows of the tables that say what is in it.
    rows: Rows,
}

/// The rows of one log, by table.
struct Rows {
    log: RecordBatch,
    module: RecordBatch,
    mount: RecordBatch,
    file: RecordBatch,
    /// Why the log is not whole; None if it is.
    why: Option<String>,
}

/// Logs up to this size are read into memory at once.
const WHOLE: u64 = 1 << 30;

fn read(args: &Args, path: &Path) -> Result<Inspected> {
    let input = Input::open(path)?.load(WHOLE, vec![])?;
    if args.darshan_parser {
        let mut log = Log::new();
        log.read(&input, ModuleSet::DEFAULT)?;
        let rows = rows(&input, &[])?;
        return Ok(Inspected {
            input,
            log: Some(log),
            rows,
        });
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
    Ok(Inspected {
        input,
        log: None,
        rows,
    })
}

impl Inspected {
    fn show(&self, args: &Args, screen: &mut Terminal) -> anyhow::Result<()> {
        match &self.log {
            Some(log) => {
                let show = parser::Show {
                    base: args.base || !(args.perf || args.file),
                    perf: args.perf,
                    file: args.file,
                };
                parser::print(log, &self.input, show, &mut screen.data)?;
            }
            None if args.json => json::print(&self.rows, &mut screen.data)?,
            None => summary::print(
                self.input.path(),
                &self.rows,
                args.top,
                screen.look,
                &mut screen.data,
            )?,
        }
        Ok(())
    }
}

fn rows(input: &Input, names: &[&str]) -> Result<Rows> {
    let (mut tables, why) = tables(input, names)?;
    let mut take = |name: &str| match tables.get(name) {
        Some(builder) => builder.finish(),
        None => Ok(RecordBatch::new_empty(
            crate::table::table(name)?.schema.clone(),
        )),
    };
    Ok(Rows {
        log: take("darshan_log")?,
        module: take("darshan_module")?,
        mount: take("darshan_mount")?,
        file: take("darshan_file")?,
        why,
    })
}

/// The rows of a log in some tables, and why they are not all.
fn tables(input: &Input, names: &[&str]) -> Result<(BatchSink, Option<String>)> {
    let mut tables = BatchSink::new(names.iter().copied())?;
    let mut reader: Box<dyn Reader> = Darshan.reader(Arc::new(Site::default()));
    let outcome = reader.read(input, input.hash()?, &mut tables)?;
    Ok((tables, outcome.why))
}

/// One row, its values by the names of their columns.
#[derive(Clone, Copy)]
struct Row<'a> {
    batch: &'a RecordBatch,
    row: usize,
}

impl<'a> Row<'a> {
    fn all(batch: &'a RecordBatch) -> impl Iterator<Item = Row<'a>> + Clone {
        (0..batch.num_rows()).map(move |row| Row { batch, row })
    }

    fn column(&self, name: &str) -> Option<&'a dyn Array> {
        let column = self.batch.column_by_name(name)?.as_ref();
        (!column.is_null(self.row)).then_some(column)
    }

    fn int(&self, name: &str) -> Option<i64> {
        let column = self.column(name)?;
        match column.data_type() {
            DataType::Timestamp(..) => Some(
                column
                    .as_primitive::<TimestampMicrosecondType>()
                    .value(self.row),
            ),
            _ => Some(column.as_primitive::<Int64Type>().value(self.row)),
        }
    }

    fn id(&self, name: &str) -> Option<u64> {
        Some(
            self.column(name)?
                .as_primitive::<UInt64Type>()
                .value(self.row),
        )
    }

    fn float(&self, name: &str) -> Option<f64> {
        Some(
            self.column(name)?
                .as_primitive::<Float64Type>()
                .value(self.row),
        )
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        Some(self.column(name)?.as_string::<i32>().value(self.row))
    }

    fn flag(&self, name: &str) -> bool {
        self.column(name)
            .is_some_and(|column| column.as_boolean().value(self.row))
    }
}
