//! `iolode synth`: a month of logs that never was.

use super::screen::Screen;
use super::{Exit, size};
use crate::source::synth::{Month, write_with};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write Darshan logs of a synthetic month, with known faults planted
#[derive(clap::Args)]
#[command(after_help = "\
The logs are in Darshan's own formats. truth.json beside them says what was planted. The same number of jobs and seed
give the same bytes.

Example:
  iolode synth --jobs 2000 --out month --seed 7")]
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
    /// Threads; those of the machine if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> anyhow::Result<Exit> {
    let month = Month::new(args.jobs, args.seed);
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
    Ok(format!(
        "{} logs of {} jobs, {}, in {:.1} s",
        size::count(written.logs),
        size::count(written.jobs),
        size::show(written.bytes),
        begin.elapsed().as_secs_f64()
    ))
}
