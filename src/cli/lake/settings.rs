//! `iolode lake set` and `iolode lake restore`: settings and versions of a lake.

use crate::cli::exit::Exit;
use crate::cli::lake_args::LakeArg;
use crate::cli::screen::Terminal;
use crate::cli::size;
use crate::error::Error;
use crate::lake::{Lake, OutdatedInputs, SiteFile};
use crate::text::{quoted, shown, shown_path};
use std::path::{Path, PathBuf};

/// Change the settings of a lake: cluster, time zone, mounts and their file systems, names of programs, sources, placement
#[derive(clap::Args)]
#[command(after_help = "\
Each version of a lake keeps its settings. Rows that are in the lake were read with the settings of \
their time; `iolode ingest --refresh` reads logs again.

Examples:
  iolode lake info /scratch/lake --site > site.toml
  iolode lake set /scratch/lake --site site.toml
  iolode lake set /scratch/lake --site site.toml --if-version 42")]
pub(super) struct Set {
    #[command(flatten)]
    lake: LakeArg,
    /// The settings (TOML)
    #[arg(long, value_name = "FILE")]
    site: PathBuf,
    /// Only if this is still the newest version of the lake
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

/// Go back to an older version, as a new version with the same content
#[derive(clap::Args)]
#[command(after_help = "\
This works also if the newest version is damaged, missing or lacks files. The versions in between \
stay until `iolode lake vacuum`.

Examples:
  iolode lake history /scratch/lake
  iolode lake restore /scratch/lake --version 41")]
pub(super) struct Restore {
    #[command(flatten)]
    lake: LakeArg,
    /// The version to go back to
    #[arg(long, value_name = "N")]
    version: u64,
}

/// The text of settings in a file, which was looked at.
pub(super) fn settings(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "cannot read", e))?;
    SiteFile::parse(&text).map_err(|e| {
        anyhow::anyhow!(
            "{}: {}",
            shown_path(path),
            e.to_string().trim_start_matches("site.toml: ")
        )
    })?;
    Ok(text)
}

pub(super) fn set(args: &Set, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let path = args.lake.to_change(screen)?;
    let lake = Lake::open(&path)?;
    let changed = lake.set_settings(&settings(&args.site)?, args.if_version)?;
    match changed.version {
        Some(version) => screen.say(format_args!("version {version} has these settings")),
        None => screen.say(format_args!("the lake has these settings already")),
    }
    for path in &changed.sources_dropped {
        screen.say(format_args!(
            "note: {} is no longer a source; `iolode ingest` alone does not look there",
            shown(path)
        ));
    }
    for line in outdated(changed.outdated_inputs, &path) {
        screen.say(line);
    }
    Ok(Exit::Done)
}

/// What to do about inputs that were read with other settings.
pub(in crate::cli) fn outdated(read: OutdatedInputs, lake: &Path) -> Vec<String> {
    let mut lines = vec![];
    if read.logs > 0 {
        lines.push(format!(
            "{} read with other settings; `iolode ingest --lake {} --refresh` reads what is still there again",
            size::counted(read.logs, "log was", "logs were"),
            quoted(lake)
        ));
    }
    if read.dumps > 0 {
        lines.push(format!(
            "{} read with other settings; --refresh leaves them as they are, for with other time zones or mounts their rows would stand \
             beside the old ones: if these changed, `iolode lake forget {} --slurm --lmt`, then ingest the dumps again",
            size::counted(read.dumps, "dump of Slurm or LMT was", "dumps of Slurm or LMT were"),
            quoted(lake)
        ));
    }
    lines
}

pub(super) fn restore(args: &Restore, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let version = Lake::open_damaged(&args.lake.to_change(screen)?)?.restore(args.version)?;
    screen.say(format_args!(
        "version {version} equals version {}",
        args.version
    ));
    Ok(Exit::Done)
}
