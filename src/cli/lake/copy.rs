//! `iolode lake copy` and `iolode lake moved`: a lake in another place.

use crate::cli::exit::Exit;
use crate::cli::lake_args::LakeArg;
use crate::cli::open::open_to_read;
use crate::cli::screen::Terminal;
use crate::cli::{interrupt, size};
use crate::lake::{CopyOptions, Lake};
use crate::text::quoted;
use std::path::PathBuf;

/// Copy a version of a lake into a new, independent lake
#[derive(clap::Args)]
#[command(after_help = "\
The copy is an independent lake with its own id: changes of one lake do not affect the other. The \
hashes of the copied files are verified. The new directory is a lake only when the copy is complete.

A lake whose files lie below its root can also be copied as a directory, with cp -a or rsync. A lake \
whose files lie in the directories of --dirs cannot: the copied root would refer to the files of the \
original, and refuses every write.

Examples:
  iolode lake copy /scratch/lake /project/lake
  iolode lake copy /scratch/lake /fast/lake --dirs /disk1/lake,/disk2/lake
  iolode lake copy /scratch/lake /project/lake-of-may --version 42")]
pub(super) struct Copy {
    /// The lake
    from: PathBuf,
    /// A new or empty directory
    to: PathBuf,
    /// The directories for the copy's data files, such as /disk1/lake,/disk2/lake; they lie below its root if not given
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    dirs: Vec<PathBuf>,
    /// Copy this version of the lake instead of its newest
    #[arg(long, value_name = "N")]
    version: Option<u64>,
}

/// Record the path of a lake that was moved, so that it can be written again
#[derive(clap::Args)]
#[command(after_help = "\
Each directory of a lake with --place dirs stores the path of the lake's root. If that path is not \
the lake's own, the lake can be read but not written: it may be a copy, whose vacuum would remove \
files of the original. This command stores the present path, unless a lake with the same id is at \
the old path.

Example:
  iolode lake moved /scratch/lake")]
pub(super) struct Moved {
    #[command(flatten)]
    lake: LakeArg,
}

pub(super) fn copy(args: &Copy, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let lake = match args.version {
        Some(_) => Lake::open(&args.from)?,
        None => open_to_read(&args.from, screen)?,
    };
    let (_during, cancel) = interrupt::during_ingest()?;
    let options = CopyOptions {
        dirs: (!args.dirs.is_empty()).then(|| args.dirs.clone()),
        version: args.version,
        cancel,
    };
    let report = lake.copy(&args.to, &options)?;
    screen.say(format_args!(
        "copied version {}: {}, {}, {}; next: iolode lake info {}",
        report.version,
        size::counted(report.files, "file", "files"),
        size::counted(report.rows, "row", "rows"),
        size::show(report.bytes),
        quoted(&args.to)
    ));
    Ok(Exit::Done)
}

pub(super) fn moved(args: &Moved, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let moved = Lake::open(&args.lake.to_change(screen)?)?.moved()?;
    match (moved.directories, moved.from) {
        (0, _) => screen.say("nothing to record: all files lie below the lake's root"),
        (directories, None) => screen.say(format_args!(
            "{} directories name this root",
            size::count(directories)
        )),
        (directories, Some(from)) => screen.say(format_args!(
            "{} directories name this root, and no more {}",
            size::count(directories),
            from.display()
        )),
    }
    Ok(Exit::Done)
}
