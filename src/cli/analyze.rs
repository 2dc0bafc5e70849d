//! `iolode analyze`: the results of an analysis, kept in the lake.

use super::exit::Exit;
use super::lake_args::given_or_default;
use super::progress::{self, Bar};
use super::screen::Terminal;
use super::{interrupt, size};
use crate::answer::analysis::DERIVED;
use crate::lake::{IngestOptions, Lake};
use std::path::PathBuf;

/// Names of the analyses that there are.
pub(super) const ANALYSES: [&str; 1] = ["mosaic"];

/// Analyse the logs of a lake and keep the results in it
#[derive(clap::Args)]
#[command(after_help = "\
mosaic: when each log reads and writes, how regularly, and how it loads the metadata servers. It fills \
darshan_mosaic, which the queries mosaic, mosaic_classes and others read.

Results are made of the rows that the lake holds; the logs are not needed. They are kept from now on: each ingest \
adds those of its logs, and makes all anew when a later iolode finds others.

Examples:
  iolode analyze mosaic --lake /scratch/lake
  iolode query mosaic_classes --lake /scratch/lake
  iolode ingest --lake /scratch/lake --darshan /darshan/logs --analyze mosaic")]
pub(super) struct Args {
    /// The analysis
    #[arg(value_name = "ANALYSIS", value_parser = ANALYSES)]
    analysis: String,
    /// The lake (default: IOLODE_LAKE, else that of the config file)
    #[arg(long, value_name = "LAKE")]
    lake: Option<PathBuf>,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory for all threads together
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "512M")]
    memory: u64,
    /// Directory of temporary files (default: TMPDIR or /tmp, or the lake if that is in memory)
    #[arg(long, value_name = "DIR")]
    temp: Option<PathBuf>,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let chosen = given_or_default(args.lake.as_deref(), "--lake LAKE")?;
    chosen.say(screen);
    let lake = Lake::open(&chosen.path)?;
    let (_during, cancel) = interrupt::during_ingest()?;
    let mut options = IngestOptions {
        derived: DERIVED,
        analyze: vec![args.analysis.clone()],
        memory: usize::try_from(args.memory).unwrap_or(usize::MAX),
        temp: args.temp.clone(),
        cancel,
        ..IngestOptions::default()
    };
    if let Some(threads) = args.threads {
        options.threads = usize::from(threads);
    }
    let bar = Bar::new(screen);
    let report = lake.analyze(&options, &bar);
    bar.clear();
    let report = report?;
    let exit = progress::failures(&report, screen);
    let known = DERIVED.iter().find(|known| known.name() == args.analysis);
    let table = known.map_or("", |known| known.table());
    screen.say(match report.version {
        None => format!("{table} is up to date"),
        Some(version) => {
            let replaced = match report.rows_replaced {
                0 => String::new(),
                n => format!(" (replacing {})", size::count(n)),
            };
            let seconds = bar.elapsed().as_secs_f64();
            let rows = size::counted(report.rows, "row", "rows");
            format!("{table}: {rows}{replaced} in {seconds:.1} s, version {version}")
        }
    });
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_analyses_that_can_be_asked_for_are_those_that_there_are() {
        let known: Vec<&str> = DERIVED.iter().map(|known| known.name()).collect();
        assert_eq!(known, ANALYSES);
    }
}
