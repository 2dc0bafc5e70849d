//! `iolode synth`: a month that never was.

use super::screen::Screen;
use super::{Exit, size};
use crate::error::Error;
use crate::source::synth::{Kind, Month, write_with};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write Darshan logs, Slurm accounting and LMT samples of a synthetic month, with known faults planted
#[derive(clap::Args)]
#[command(after_help = "\
Everything is in the formats of the programs themselves, and agrees: what the logs moved is what the servers counted.

  DIR/YYYY/M/D/    Darshan logs
  DIR/slurm/       dumps of sacct, one a day: text until the middle of the month, JSON from there on
  DIR/lmt/         LMT databases with a sample every 5 s, SQLite and mysqldump in turns
  DIR/site.toml    mounts, file systems and zone
  DIR/truth.json   what was planted

LMT is written for the busiest hours only, unless it is asked for more: each hour is 20 MB. The same options give the
same bytes.

The other kinds of months have Darshan logs alone, one for each job, with site.toml; truth.json lists what each job has:

  causes           half of the jobs healthy; in the others one cause of slow I/O, or two, which make it take 1.2, 2 or
                   5 times as long, and decoys, in which nothing is to be found
  clean            healthy jobs of the same shapes and sizes
  slow-ost         an OST that slows down each file that has it among its stripes, and programs that are slow or fast
                   for other reasons, always on the same OSTs

Examples:
  iolode synth --jobs 2000 --out month --seed 7
  iolode synth --jobs 100000 --out month --lmt-days 3
  iolode synth --jobs 2000 --out month --darshan-only
  iolode synth --month causes --jobs 1360 --out causes")]
pub(super) struct Args {
    /// Jobs; some have several logs, about 1.15 for each job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    jobs: u64,
    /// A new or empty directory
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Another seed is another month
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// What the month is for
    #[arg(long, value_name = "KIND", default_value = Kind::Usual.name(), value_parser = kinds())]
    month: Kind,
    /// Hours of LMT; 2 if not given, fewer for less than 1,000 jobs, 0 for none
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(u16).range(0..=720))]
    lmt_hours: Option<u16>,
    /// Days of LMT, from a midnight of the site on
    #[arg(long, value_name = "D", conflicts_with = "lmt_hours", value_parser = clap::value_parser!(u16).range(0..=30))]
    lmt_days: Option<u16>,
    /// Write no Slurm accounting and no LMT
    #[arg(long, conflicts_with_all = ["lmt_hours", "lmt_days"])]
    darshan_only: bool,
    /// Threads; those of the machine if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Reads the name of a kind of month.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.doc()));
    let unknown = "no kind of month has this name";
    PossibleValuesParser::new(names).try_map(move |name| Kind::named(&name).ok_or(unknown))
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> anyhow::Result<Exit> {
    let mut month = match (args.month, args.darshan_only) {
        (Kind::Usual, false) => Month::complete(args.jobs, args.seed),
        (kind, _) => Month::of(kind, args.jobs, args.seed),
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
    let made = make(&month, &args.out, args.threads, screen)?;
    screen.say(format_args!("{made}: {}", args.out.display()));
    Ok(Exit::Done)
}

/// Writes a month, with a bar for a person; what was written, in a few words.
pub(super) fn make(
    month: &Month,
    out: &Path,
    threads: Option<u16>,
    screen: &Screen,
) -> anyhow::Result<String> {
    let begin = Instant::now();
    let bar = ProgressBar::new(month.jobs);
    bar.set_draw_target(match screen.person {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    });
    let style =
        ProgressStyle::with_template("[{bar:28}] {human_pos} of {human_len} jobs, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    let machine = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.map_or(machine, usize::from);
    let written = write_with(month, out, threads, &|jobs| bar.set_position(jobs));
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
