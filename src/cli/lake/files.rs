//! `iolode lake files`: which Parquet files a lake is made of.

use crate::cli::exit::Exit;
use crate::cli::lake_args::LakeArg;
use crate::cli::open::open_to_read;
use crate::cli::output::Format;
use crate::cli::output::format_parser;
use crate::cli::output::writer::Style;
use crate::cli::screen::Terminal;
use crate::table::table;
use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use std::io::Write;

/// List the Parquet files of a lake, with range and storage target
#[derive(clap::Args)]
#[command(after_help = "\
A reader without iolode must open exactly these paths: other files in the same directories belong \
to other versions.

Examples:
  iolode lake files /scratch/lake --format csv
  iolode lake files /scratch/lake --table darshan_log --paths")]
pub(super) struct Files {
    #[command(flatten)]
    lake: LakeArg,
    /// Only the files of this table
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Print absolute paths, one per line
    #[arg(long, conflicts_with = "format")]
    paths: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    format: &'static Format,
}

pub(super) fn files(args: &Files, screen: &mut Terminal) -> anyhow::Result<Exit> {
    if let Some(name) = &args.table {
        table(name)?;
    }
    if args.paths {
        return paths(args, screen);
    }
    let batch = open_to_read(&args.lake.to_read()?, screen)?
        .snapshot(None)?
        .file_batch()?;
    let wanted: BooleanArray = batch
        .column(0)
        .as_string::<i32>()
        .iter()
        .map(|name| Some(args.table.is_none() || name == args.table.as_deref()))
        .collect();
    list(&filter_record_batch(&batch, &wanted)?, args.format, screen)
}

/// The paths of data files, one a line.
fn paths(args: &Files, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let lake = open_to_read(&args.lake.to_read()?, screen)?;
    let snapshot = lake.snapshot(None)?;
    for file in snapshot.files() {
        if args.table.as_ref().is_none_or(|table| *table == file.table) {
            let path = lake.store().show(&file.path);
            writeln!(screen.data, "{}", path.display())?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn list(
    batch: &arrow::array::RecordBatch,
    format: &Format,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    let style = Style {
        look: screen.look,
        ..Style::default()
    };
    let note = format.write(&mut screen.data, batch, style)?;
    note.into_iter().for_each(|note| screen.say(note));
    Ok(Exit::Done)
}
