//! `iolode synth`: writes a synthetic month.

use super::analyze::ANALYSES;
use super::exit::Exit;
use super::progress::{self, Bar};
use super::screen::Terminal;
use super::{interrupt, size};
use crate::answer::analysis::DERIVED;
use crate::error::Error;
use crate::lake::{CreateOptions, IngestOptions, Lake};
use crate::synth::{GeneratedInputs, Kind, Month, check_new, write_with};
use clap::ArgGroup;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write Darshan logs, Slurm accounting and LMT samples of a synthetic month, with known faults planted
#[derive(clap::Args)]
#[command(override_usage = "iolode synth [OPTIONS] <--jobs N|--scale F> <--out DIR|--lake LAKE>")]
#[command(group = ArgGroup::new("size").required(true).args(["jobs", "scale"]))]
#[command(group = ArgGroup::new("target").required(true).args(["out", "lake"]))]
#[command(after_help = "\
All files have the formats of the real programs and agree with each other: the servers counted the \
bytes that the logs moved.

  DIR/YYYY/M/D/
      Darshan logs
  DIR/slurm/
      dumps of sacct, one a day: text until the middle of the month, JSON from there on
  DIR/lmt/
      LMT databases with a sample every 5 s, SQLite and mysqldump in turns
  DIR/site.toml
      mounts, file systems and zone
  DIR/truth.json
      what was planted

By default LMT samples are written for the busiest hours only: each hour takes 20 MB. The same \
options give the same bytes.

--lake writes a lake instead of files, the same lake that `iolode ingest` would make of the files. \
LAKE.truth.json lists what was planted.

--scale 1 is a month of a machine like Cori: a million logs with 30 million files, a million jobs in \
Slurm, 248 OSTs and 30 days of LMT with 4.3 million rows of OSTs each. Its logs compress as real \
ones do, and 0.08 % of its jobs have custom striping.

The other kinds of months have Darshan logs only, one for each job, and site.toml. truth.json lists \
what was planted in each job:

  causes
      half of the jobs are healthy; the others have one or two causes of slow I/O that make it 1.2, 2 or 5 times as slow, or \
are decoys, which nearly show one
  clean
      healthy jobs of the same shapes and sizes
  slow-ost
      an OST that slows down each file that is striped over it, and programs that are slow or fast for other reasons, always \
on the same OSTs
  periods
      periodic checkpoints with jitter, alone, beside a steady stream and two periods at once, and as many bytes without a \
period: each as windows, heat maps and traces tell of it; 736 jobs have four of each

Examples:
  iolode synth --jobs 2000 --out month --seed 7
  iolode synth --jobs 100000 --out month --lmt-days 3
  iolode synth --jobs 2000 --out month --darshan-only
  iolode synth --scale 0.1 --lake month-lake
  iolode synth --scale 0.01 --days 2 --lake small-lake --truth planted.json
  iolode synth --month causes --jobs 1360 --out causes")]
pub(super) struct Args {
    /// Number of jobs; there are about 1.15 logs for each job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    jobs: Option<u64>,
    /// Size relative to a month of a machine like Cori: 0.1 has 100,000 logs
    #[arg(long, value_name = "F", value_parser = scale, conflicts_with_all = ["month", "lmt_hours", "lmt_days", "darshan_only"])]
    scale: Option<f64>,
    /// With --scale: days of LMT (default: 30 times the scale, at least 1)
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u16).range(0..=30))]
    days: Option<u16>,
    /// A new or empty directory for the files
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A new or empty directory for a lake, instead of files
    #[arg(long, value_name = "LAKE")]
    lake: Option<PathBuf>,
    /// With --lake: file for the list of what was planted (default: LAKE.truth.json)
    #[arg(long, value_name = "FILE", requires = "lake")]
    truth: Option<PathBuf>,
    /// With --lake: memory for the import
    #[arg(long, value_name = "SIZE", requires = "lake", value_parser = size::parse, default_value = "512M")]
    memory: u64,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Kind of month
    #[arg(long, value_name = "KIND", default_value = Kind::Usual.name(), value_parser = kinds())]
    month: Kind,
    /// Hours of LMT (default: 2, fewer for less than 1,000 jobs); 0 for none
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(u16).range(0..=720))]
    lmt_hours: Option<u16>,
    /// Days of LMT, starting at midnight in the time zone of the site
    #[arg(long, value_name = "D", conflicts_with = "lmt_hours", value_parser = clap::value_parser!(u16).range(0..=30))]
    lmt_days: Option<u16>,
    /// Write no Slurm accounting and no LMT
    #[arg(long, conflicts_with_all = ["lmt_hours", "lmt_days"])]
    darshan_only: bool,
    /// Analyse logs as well: mosaic fills darshan_mosaic
    #[arg(long, value_name = "ANALYSIS", value_parser = ANALYSES)]
    analyze: Vec<String>,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Reads a scale.
fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale > 0.0 && scale <= 100.0 => Ok(scale),
        _ => Err("a number above 0 and up to 100, such as 0.1".into()),
    }
}

/// Reads the name of a kind of month.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.doc()));
    let unknown = "no kind of month has this name";
    PossibleValuesParser::new(names).try_map(move |name| Kind::named(&name).ok_or(unknown))
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    if args.days.is_some() && args.scale.is_none() {
        let why = "--days goes with --scale; give --lmt-days with --jobs";
        return Err(Error::Invalid(why.into()).into());
    }
    let mut month = match (args.scale, args.jobs.unwrap_or(1), args.month) {
        (Some(scale), ..) => Month::scaled(scale, args.days.map(i64::from), args.seed),
        (None, jobs, Kind::Usual) if !args.darshan_only => Month::complete(jobs, args.seed),
        (None, jobs, kind) => Month::of(kind, jobs, args.seed),
    };
    let hours = args.lmt_days.map(|days| days * 24).or(args.lmt_hours);
    if args.month != Kind::Usual && hours.is_some() {
        let name = args.month.name();
        return Err(Error::Invalid(format!(
            "--month {name} has Darshan logs alone; leave out --lmt-hours and --lmt-days"
        ))
        .into());
    }
    if let Some(hours) = hours {
        month.lmt_seconds = i64::from(hours) * 3600;
    }
    match (&args.lake, &args.out) {
        (Some(lake), _) => into_lake(&month, lake, args, screen),
        (None, Some(out)) => {
            let made = make(&month, out, args.threads, screen)?;
            screen.say(format_args!("{made}: {}", out.display()));
            Ok(Exit::Done)
        }
        (None, None) => Err(Error::Invalid("give --out DIR or --lake LAKE".into()).into()),
    }
}

/// Makes a lake of a month without its files.
fn into_lake(
    month: &Month,
    path: &Path,
    args: &Args,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    check_new(path)?;
    let truth = args.truth.clone().unwrap_or_else(|| beside(path));
    let begin = Instant::now();
    let bar = jobs_bar(month, screen);
    let threads = threads(args.threads);
    // Where its files would lie if they had been written somewhere.
    let root = PathBuf::from(format!("/synth/seed-{}", args.seed));
    let inputs = GeneratedInputs::new(month, &root, threads, &|jobs| bar.set_position(jobs));
    bar.finish_and_clear();
    let inputs = inputs?;
    std::fs::write(&truth, inputs.truth()).map_err(|e| Error::io(&truth, "cannot write", e))?;
    let options = CreateOptions {
        settings: GeneratedInputs::site(),
        ..CreateOptions::default()
    };
    let lake = Lake::create(path, &options)?;
    let (_during, cancel) = interrupt::during_ingest()?;
    let options = IngestOptions {
        provider: Some(&inputs),
        derived: DERIVED,
        analyze: args.analyze.clone(),
        threads,
        memory: usize::try_from(args.memory).unwrap_or(usize::MAX),
        cancel,
        ..IngestOptions::default()
    };
    let bar = Bar::new(screen);
    let report = lake.ingest(&options, &bar);
    bar.clear();
    let report = report?;
    let exit = progress::end(&report, &lake, begin.elapsed(), screen);
    let (lake, truth) = (path.display(), truth.display());
    screen.say(format_args!("{lake}; what was planted: {truth}"));
    Ok(exit)
}

/// `LAKE.truth.json`.
fn beside(lake: &Path) -> PathBuf {
    // Without a slash at its end, behind which it would be in the lake.
    let lake: PathBuf = lake.components().collect();
    let mut name = lake.into_os_string();
    name.push(".truth.json");
    name.into()
}

fn threads(given: Option<u16>) -> usize {
    let machine = std::thread::available_parallelism().map_or(1, usize::from);
    given.map_or(machine, usize::from)
}

/// Writes a month, with a bar for a person; what was written, in a few words.
pub(super) fn make(
    month: &Month,
    out: &Path,
    threads_given: Option<u16>,
    screen: &Terminal,
) -> anyhow::Result<String> {
    let begin = Instant::now();
    let bar = jobs_bar(month, screen);
    let written = write_with(month, out, threads(threads_given), &|jobs| {
        bar.set_position(jobs)
    });
    bar.finish_and_clear();
    let written = written?;
    let dumps = match written.dumps {
        0 => String::new(),
        dumps => format!(
            ", {} dumps of Slurm and LMT, {}",
            size::count(dumps),
            size::show(written.dump_bytes)
        ),
    };
    Ok(format!(
        "{} logs of {} jobs, {}{dumps}, in {:.1} s",
        size::count(written.logs),
        size::count(written.jobs),
        size::show(written.bytes),
        begin.elapsed().as_secs_f64()
    ))
}

/// A bar of jobs for a person.
fn jobs_bar(month: &Month, screen: &Terminal) -> ProgressBar {
    let bar = ProgressBar::new(month.jobs);
    bar.set_draw_target(match screen.person {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    });
    let style =
        ProgressStyle::with_template("[{bar:28}] {human_pos} of {human_len} jobs, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar
}
