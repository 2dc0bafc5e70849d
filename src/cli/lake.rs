//! `iolode lake`: what a lake is made of.

mod check;
mod copy;
mod files;
mod history;
pub(in crate::cli) mod settings;

use super::exit::Exit;
use super::lake_args::LakeArg;
use super::open::open_to_read;
use super::screen::Terminal;
use super::source_args::Chosen;
use super::{interrupt, size};
use crate::answer::analysis::DERIVED;
use crate::error::Error;
use crate::lake::{
    CompactOptions, CreateOptions, Lake, OstSet, Placement, RANGE_BYTES, SettingsEdit, Shape,
    Silent, VacuumOptions,
};
use crate::source::moment::moment;
use crate::text::{quoted, shown};
use chrono::{DateTime, SecondsFormat};
use clap::{Subcommand, ValueEnum};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Create, inspect, check, compact, clean up and copy lakes
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  iolode lake create /scratch/lake
  iolode lake info /scratch/lake")]
pub(super) struct Args {
    #[command(subcommand)]
    what: LakeCommand,
}

#[derive(Subcommand)]
enum LakeCommand {
    Create(Create),
    Info(Info),
    Set(settings::Set),
    Files(files::Files),
    Check(check::Check),
    Compact(Compact),
    Vacuum(Vacuum),
    Restore(settings::Restore),
    Forget(Forget),
    Copy(copy::Copy),
    Moved(copy::Moved),
    History(history::History),
}

/// Create an empty lake
#[derive(clap::Args)]
#[command(after_help = "\
A lake is divided into ranges of job ids: a range has one file for each table, all on one target.

Examples:
  iolode lake create /scratch/lake
  iolode lake create /scratch/lake --cluster cori --timezone America/Los_Angeles
  iolode lake create /scratch/lake --place lustre --osts 0-7,12
  iolode lake create /fast/lake --place dirs --dirs /disk1/lake,/disk2/lake")]
struct Create {
    /// A new or empty directory
    lake: PathBuf,
    /// Size of a range of job ids: bytes of Parquet over all tables (default: 128MiB)
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value_t = RANGE_BYTES, hide_default_value = true)]
    range_bytes: u64,
    /// Placement of data files: default of the file system, on chosen OSTs, or in several directories
    #[arg(long, value_enum)]
    place: Option<Place>,
    /// With --place lustre: the OSTs to use, such as 0-7,12
    #[arg(long, value_name = "LIST", required_if_eq("place", "lustre"))]
    osts: Option<OstSet>,
    /// With --place lustre: the pool of these OSTs
    #[arg(long, value_name = "NAME", requires = "osts")]
    pool: Option<String>,
    /// With --place dirs: the directories to use, such as /disk1/lake,/disk2/lake
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        required_if_eq("place", "dirs")
    )]
    dirs: Vec<PathBuf>,
    /// Settings (TOML): cluster, time zone, mounts and their file systems, names of programs, sources
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// The cluster whose logs the lake will hold
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Time zone of the site, in which dates are read, such as America/Los_Angeles (default: UTC)
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// Default of the file system
    None,
    /// On chosen OSTs of a Lustre file system
    Lustre,
    /// In several directories, one for each disk
    Dirs,
}

/// Show what a lake holds
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  iolode lake info /scratch/lake
  iolode lake info /scratch/lake --site > site.toml")]
struct Info {
    #[command(flatten)]
    lake: LakeArg,
    /// Print the settings (TOML) as they were given, to be edited and handed to `iolode lake set`
    #[arg(long)]
    site: bool,
}

/// Rewrite files that are too small or too large after many ingests
#[derive(clap::Args)]
#[command(after_help = "\
Adjacent ranges of job ids are merged or split until each has about the size given by --range-bytes \
when the lake was created, or a sixteenth of a small lake. Files whose placement differs from the \
settings, and files with the layout of an older iolode, are rewritten. Lists of inputs are merged. \
Queries and ingests may run at the same time. The old files stay until `iolode lake vacuum`, so the \
rewritten files need additional space.

Examples:
  iolode lake compact /scratch/lake --dry-run
  iolode lake compact /scratch/lake --threads 2 --memory 1G")]
struct Compact {
    #[command(flatten)]
    lake: LakeArg,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory for all threads together
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "512M")]
    memory: u64,
    /// Directory of temporary files (default: TMPDIR or /tmp, or the lake if that is in memory)
    #[arg(long, value_name = "DIR")]
    temp: Option<PathBuf>,
    /// Only report what would be rewritten
    #[arg(long)]
    dry_run: bool,
}

/// Remove old versions of a lake and the files that only they use
#[derive(clap::Args)]
#[command(after_help = "\
While a version within --keep cannot be read nothing is removed, for nobody knows which files it needs: go back to an older one with \
`iolode lake restore`, or shorten --keep if a later version has superseded it.

Examples:
  iolode lake vacuum /scratch/lake --dry-run
  iolode lake vacuum /scratch/lake --keep 30d")]
struct Vacuum {
    #[command(flatten)]
    lake: LakeArg,
    /// Keep versions that were the newest within this time, such as 7d or 12h
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "7d", allow_hyphen_values = true)]
    keep: Duration,
    /// Keep files younger than this: an ingest may be writing them
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h", allow_hyphen_values = true)]
    min_age: Duration,
    /// Only report what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Remove the rows of a source so that it can be imported again, or remove rows older than a date for good
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("forgotten").required(true).multiple(true).arg("before").args(Chosen::names())))]
#[command(after_help = "\
--before removes Darshan logs that began before that date, accounting records of jobs that ended by \
then, and LMT samples up to then. Records of jobs without an end stay. If nothing is older, the lake \
stays as it is. The logs are recorded as forgotten: no later ingest imports them or copies of them \
again, also if all Darshan logs are forgotten before or afterwards. A dump that is in the lake is \
still skipped, so its records and samples come back only if it is ingested again with --refresh, if \
the file has changed, or if another dump, `sacct:` or a live database says them again. \
Older versions of the lake keep the rows until `iolode lake vacuum` removes these versions; \
`iolode lake restore` goes back to one.

Examples:
  iolode lake forget /scratch/lake --before 2025-01-01
  iolode lake forget /scratch/lake --lmt --before 2026-06-01

After dumps were read in the wrong time zone:
  iolode lake forget /scratch/lake --lmt
  iolode ingest --lake /scratch/lake --lmt /lmt --timezone America/Los_Angeles")]
struct Forget {
    #[command(flatten)]
    lake: LakeArg,
    /// Remove rows older than this date, in the time zone of the lake (default: of all sources)
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    #[command(flatten)]
    sources: Chosen,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    match &args.what {
        LakeCommand::Create(args) => create(args, screen),
        LakeCommand::Info(args) => info(args, screen),
        LakeCommand::Files(args) => files::files(args, screen),
        LakeCommand::Set(args) => settings::set(args, screen),
        LakeCommand::Restore(args) => settings::restore(args, screen),
        LakeCommand::History(args) => history::history(args, screen),
        LakeCommand::Check(args) => check::check(args, screen),
        LakeCommand::Compact(args) => compact(args, screen),
        LakeCommand::Vacuum(args) => vacuum(args, screen),
        LakeCommand::Forget(args) => forget(args, screen),
        LakeCommand::Copy(args) => copy::copy(args, screen),
        LakeCommand::Moved(args) => copy::moved(args, screen),
    }
}

fn create(args: &Create, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let given = args.site.as_deref().map(settings::settings).transpose()?;
    let place = match args.place {
        Some(Place::None) => Some(Placement::None),
        Some(Place::Lustre) => Some(Placement::Lustre {
            osts: args.osts.clone().unwrap_or_default().0,
            pool: args.pool.clone(),
            lfs: "lfs".into(),
        }),
        Some(Place::Dirs) => Some(Placement::Dirs {
            dirs: args
                .dirs
                .iter()
                .map(|dir| std::path::absolute(dir).map_err(|e| Error::io(dir, "cannot use", e)))
                .collect::<Result<_, _>>()?,
        }),
        None if args.osts.is_some() || !args.dirs.is_empty() => {
            return Err(Error::Invalid(
                "--osts and --dirs go with --place lustre and --place dirs".into(),
            )
            .into());
        }
        None => None,
    };
    let edit = SettingsEdit {
        cluster: args.cluster.clone(),
        timezone: args.timezone.clone(),
        place,
        ..SettingsEdit::default()
    };
    let options = CreateOptions {
        range_bytes: args.range_bytes,
        settings: edit.apply(&given.unwrap_or_default())?,
    };
    Lake::create(&args.lake, &options)?;
    let sources = Chosen::names().map(|name| format!(" --{name} PATH"));
    screen.say(format_args!(
        "an empty lake; next: iolode ingest --lake {}{}",
        quoted(&args.lake),
        sources.collect::<String>()
    ));
    Ok(Exit::Done)
}

fn info(args: &Info, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let lake = open_to_read(&args.lake.to_read()?, screen)?;
    if args.site {
        let settings = lake.settings()?;
        write!(screen.data, "{settings}")?;
        return Ok(Exit::Done);
    }
    let (snapshot, site) = (lake.snapshot(None)?, lake.site()?);
    let manifest = snapshot.manifest();
    let out = &mut screen.data;
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        writeln!(out, "{name:<12} {}", shown(&value.to_string()))
    };
    line(
        "lake",
        &lake.root().unwrap_or(Path::new("in memory")).display(),
    )?;
    line("id", &lake.id())?;
    line(
        "version",
        &format_args!(
            "{}, {} of {}",
            snapshot.version(),
            manifest.operation,
            time(manifest.time)
        ),
    )?;
    line("cluster", &site.cluster.as_deref().unwrap_or("not named"))?;
    line("time zone", &site.zone()?.name())?;
    let place = match &site.place {
        Placement::None => "default".to_string(),
        Placement::Dirs { dirs } => format!("in {} directories", dirs.len()),
        Placement::Lustre { osts, .. } => format!("on {} OSTs", osts.len()),
    };
    line("placement", &place)?;
    let ranges = format!(
        "{}, each of about {} of Parquet",
        snapshot.splits().len() + 1,
        size::show(manifest.range_bytes)
    );
    line("ranges", &ranges)?;
    for source in &site.source {
        line(
            "source",
            &format_args!(
                "{} {}",
                source.kind.as_deref().unwrap_or("any"),
                source.path
            ),
        )?;
    }
    for (table, version) in &manifest.derived {
        let known = DERIVED.iter().find(|known| known.table() == table);
        let what = match known {
            Some(known) if known.version() == *version => known.name().into(),
            Some(known) => format!(
                "{name}, of another version; `iolode analyze {name}` makes it anew",
                name = known.name()
            ),
            None => format!("{table}, by another iolode"),
        };
        line("analysed", &what)?;
    }
    let mut inputs: BTreeMap<_, u64> = BTreeMap::new();
    for input in snapshot.inputs()? {
        *inputs.entry(input.status).or_default() += 1;
    }
    let shown: Vec<_> = inputs
        .iter()
        .map(|(status, n)| format!("{} {}", size::count(*n), status.name()))
        .collect();
    line(
        "inputs",
        &if shown.is_empty() {
            "none yet".to_string()
        } else {
            shown.join(", ")
        },
    )?;

    let mut tables: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for file in snapshot.files() {
        let figures = tables.entry(&file.table).or_default();
        *figures = (figures.0 + 1, figures.1 + file.rows, figures.2 + file.bytes);
    }
    let all = tables
        .values()
        .fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
    if !tables.is_empty() {
        writeln!(
            out,
            "\n{:<22} {:>6} {:>14} {:>10}",
            "table", "files", "rows", "bytes"
        )?;
    }
    for (table, (files, rows, bytes)) in tables
        .iter()
        .map(|(t, f)| (*t, *f))
        .chain((!tables.is_empty()).then_some(("all", all)))
    {
        writeln!(
            out,
            "{table:<22} {:>6} {:>14} {:>10}",
            size::count(files),
            size::count(rows),
            size::show(bytes)
        )?;
    }
    Ok(Exit::Done)
}

fn forget(args: &Forget, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let sources = &args.sources.0;
    let lake = Lake::open(&args.lake.to_change(screen)?)?;
    let before = args.before.as_deref();
    let forgotten = match before {
        None => lake.forget(sources)?,
        Some(date) => {
            let zone = lake.site()?.zone()?;
            let before =
                moment(date, zone).map_err(|why| Error::Invalid(format!("--before {why}")))?;
            lake.forget_before(sources, before)?
        }
    };
    if let Some(date) = before.filter(|_| (forgotten.inputs, forgotten.rows) == (0, 0)) {
        screen.say(format_args!(
            "nothing in the lake is older than {date}; version {} stays",
            forgotten.version
        ));
        return Ok(Exit::Done);
    }
    screen.say(format_args!(
        "{} and {} forgotten, version {}; older versions keep them until `iolode lake vacuum` removes these",
        size::counted(forgotten.inputs, "input", "inputs"),
        size::counted(forgotten.rows, "row", "rows"),
        forgotten.version
    ));
    Ok(Exit::Done)
}

fn compact(args: &Compact, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let lake = Lake::open(&args.lake.to_change(screen)?)?;
    let (_during, cancel) = interrupt::during_ingest()?;
    let mut options = CompactOptions {
        memory: usize::try_from(args.memory).unwrap_or(usize::MAX),
        dry_run: args.dry_run,
        temp: args.temp.clone(),
        cancel,
        ..CompactOptions::default()
    };
    if let Some(threads) = args.threads {
        options.threads = usize::from(threads);
    }
    let report = lake.compact(&options, &Silent)?;
    let shape = |shape: &Shape| {
        format!(
            "{} in {}, {} of inputs",
            size::counted(shape.files, "file", "files"),
            size::counted(shape.ranges, "range", "ranges"),
            size::counted(shape.lists, "list", "lists")
        )
    };
    let written = format!(
        "{}, {}",
        size::counted(report.rewritten, "file", "files"),
        size::show(report.rewritten_bytes)
    );
    match report.version {
        _ if args.dry_run && report.before == report.after && report.rewritten == 0 => {
            screen.say(format_args!("nothing to do: {}", shape(&report.before)));
        }
        _ if args.dry_run => screen.say(format_args!(
            "would write {written}: {} would become about {}",
            shape(&report.before),
            shape(&report.after)
        )),
        Some(version) if report.rewritten == 0 => screen.say(format_args!(
            "merged lists: {} became {}, version {version}",
            shape(&report.before),
            shape(&report.after)
        )),
        Some(version) => screen.say(format_args!(
            "wrote {written}: {} ({}) became {} ({}), version {version}",
            shape(&report.before),
            size::show(report.before.bytes),
            shape(&report.after),
            size::show(report.after.bytes)
        )),
        None => screen.say(format_args!("nothing to do: {}", shape(&report.before))),
    }
    if report.given_up > 0 {
        screen.say(format_args!(
            "{} left to ingests that wrote there all the time; run it again later",
            size::counted(report.given_up, "piece was", "pieces were")
        ));
    }
    Ok(Exit::Done)
}

fn vacuum(args: &Vacuum, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let options = VacuumOptions {
        keep_versions: args.keep,
        min_age: args.min_age,
        dry_run: args.dry_run,
    };
    let lake = Lake::open(&args.lake.to_change(screen)?)?;
    let report = lake.vacuum(&options)?;
    for file in &report.files {
        writeln!(screen.data, "{}", shown(file))?;
    }
    screen.say(format_args!(
        "{} {}, {}, {}",
        if args.dry_run {
            "would remove"
        } else {
            "removed"
        },
        size::counted(report.versions.len() as u64, "version", "versions"),
        size::counted(report.files.len() as u64, "file", "files"),
        size::show(report.bytes)
    ));
    if let (1.., Some(until)) = (report.held, report.held_until) {
        screen.say(format_args!(
            "{} to no version and stayed: an ingest or another command that writes this lake may still need what it has written. If none is running, as after a kill, run this again after {}",
            size::counted(report.held, "file belongs", "files belong"),
            time(until)
        ));
    }
    Ok(Exit::Done)
}

fn time(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros).map_or_else(String::new, |time| {
        time.to_rfc3339_opts(SecondsFormat::Secs, true)
    })
}

/// Reads `7d`, `12h`, `30m` or `45s`.
fn duration(text: &str) -> Result<Duration, String> {
    let expected = || {
        format!(
            "`{text}` is not a duration; expected a number of days, hours, minutes or seconds, such as `7d` or `12h`"
        )
    };
    let unit = text.chars().last().ok_or_else(expected)?;
    let number: u64 = text
        .strip_suffix(unit)
        .and_then(|number| number.parse().ok())
        .ok_or_else(expected)?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(expected()),
    };
    number
        .checked_mul(seconds)
        .map(Duration::from_secs)
        .ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_one_unit() {
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for text in ["", "d", "7", "7 days", "-1h", "99999999999999999999d", "7ö"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
