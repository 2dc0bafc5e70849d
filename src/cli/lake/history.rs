//! `iolode lake history`: the versions of a lake.

use super::files::list;
use crate::cli::exit::Exit;
use crate::cli::lake_args::LakeArg;
use crate::cli::open::warn_if_missing;
use crate::cli::output::Format;
use crate::cli::output::format_parser;
use crate::cli::screen::Terminal;
use crate::lake::{Lake, Manifest};

/// List the versions of a lake: what made each, and what it added
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  iolode lake history /scratch/lake")]
pub(super) struct History {
    #[command(flatten)]
    lake: LakeArg,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    format: &'static Format,
}

pub(super) fn history(args: &History, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let lake = Lake::open_damaged(&args.lake.to_read()?)?;
    warn_if_missing(&lake, screen)?;
    let (rows, unreadable) = lake.history()?;
    for (version, why) in unreadable {
        screen.say(format_args!(
            "note: version {version} cannot be read: {why} ({})",
            Manifest::path(version)
        ));
    }
    list(&rows, args.format, screen)
}
