//! `iolode ingest`: logs into a lake.

use super::analyze::ANALYSES;
use super::exit::Exit;
use super::lake::settings::outdated;
use super::lake_args::given_or_default;
use super::period::{period, zone};
use super::progress::{self, Bar};
use super::screen::Terminal;
use super::source_args::SourcePaths;
use super::{interrupt, size};
use crate::answer::analysis::DERIVED;
use crate::error::Error;
use crate::lake::{CreateOptions, IngestOptions, InputPath, Lake, OutdatedInputs};
use crate::source::Hints;
use std::path::{Path, PathBuf};

/// Import logs into a lake
#[derive(clap::Args)]
#[command(after_help = "\
Inputs already in the lake are not read again. Inputs that cannot be read are recorded with the \
reason and listed, and the exit code is 1; what the system did not let be read, such as a file \
without the right to read it, is tried again by each ingest. Ctrl-C aborts and \
leaves the lake unchanged. Temporary files take some hundred MiB for each thread. They are in \
--temp, else in TMPDIR or /tmp, or in the lake if /tmp is in memory.

Dates are days in the time zone of the lake's settings or of --timezone; --to is exclusive. \
Timestamps of sacct and LMT that carry no zone are in that zone too.

Slurm: output of `sacct -P`, `sacct -p` or `sacct --json` with any columns. Recommended, because \
epoch times need no zone:
  columns=Cluster,JobID,JobIDRaw,User,UID,Account,Partition,QOS,State,ExitCode
  columns=$columns,Submit,Eligible,Start,End,ElapsedRaw,Suspended,TimelimitRaw
  columns=$columns,NNodes,NCPUS,NTasks,NodeList,ReqMem,MaxRSS,AllocTRES,JobName
  SLURM_TIME_FORMAT=%s sacct -a -D -P -S 2026-09-01 -E 2026-10-01 \\
    --format=$columns > sacct-2026-09.psv

LMT: a database in MySQL or MariaDB (mysql://user@host:port/filesystem_NAME, password in \
MYSQL_PWD), its SQLite copy, a mysqldump, h5lmt and TOKIO HDF5 files, and recordings of ltop -r.

Examples:
  iolode ingest --lake /scratch/lake --darshan /darshan/logs
  iolode ingest --lake /scratch/lake --darshan /darshan/logs \\
    --from 2026-09-01 --to 2026-10-01
  iolode ingest --lake /scratch/lake --slurm sacct-2026-09.psv
  iolode ingest --lake /scratch/lake --lmt /lmt/2026-09-01.h5lmt
  iolode ingest --lake new-lake --create --darshan job1.darshan job2.darshan

Examples with the programs of the site, sacct and the LMT database:
  iolode ingest --lake /scratch/lake --slurm sacct: \\
    --from 2026-09-01 --to 2026-09-02
  iolode ingest --lake /scratch/lake --lmt mysql://reader@lmt/filesystem_scratch

Examples with a path that the lake remembers; the second imports what is new:
  iolode ingest --lake /scratch/lake --darshan /darshan/logs --register
  iolode ingest --lake /scratch/lake")]
pub(super) struct Args {
    /// The lake (default: IOLODE_LAKE, else that of the config file)
    #[arg(long, value_name = "LAKE")]
    lake: Option<PathBuf>,
    #[command(flatten)]
    paths: SourcePaths,
    /// Columns of sacct's output that has no header, such as JobID,JobIDRaw,State,Start,End
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    slurm_columns: Vec<String>,
    /// Column delimiter (default: detected)
    #[arg(long, value_name = "TEXT")]
    slurm_delimiter: Option<String>,
    /// Create the lake if it does not exist
    #[arg(long)]
    create: bool,
    /// Only logs that start at this date or later, such as 2026-09-01, and records and samples of dumps from then on;
    /// of directories year/month/day only these days and one day on either side are listed
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Only logs that start before this date
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Time zone for timestamps that carry none, such as Europe/Berlin (default: the lake's, else UTC)
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Import traced accesses (DXT) as well; they are added to logs that were imported without them
    #[arg(long)]
    dxt: bool,
    /// Analyse logs as well and keep the results in the lake, from now on with each ingest: mosaic fills darshan_mosaic
    #[arg(long, value_name = "ANALYSIS", value_parser = ANALYSES)]
    analyze: Vec<String>,
    /// Read inputs again that were read by an older version of iolode or with other settings of the lake, and dumps of which
    /// `lake forget --before` removed rows; without paths all such inputs of the lake
    #[arg(long)]
    refresh: bool,
    /// Store the paths in the settings; an ingest without paths imports what is new there
    #[arg(long)]
    register: bool,
    /// Convert logs on the cluster of this connect file, whose executors read them under the same paths
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
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
    let paths = args.paths.0.clone();
    let file = |path: &&InputPath| {
        let text = path.path.to_string_lossy();
        !text.contains("://") && text != "sacct:"
    };
    for InputPath { path, .. } in paths.iter().filter(file) {
        // A path that was mistyped is no input that failed.
        let failed = |e| Error::io(path, "cannot read", e);
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if !metadata.is_dir() && !metadata.is_file() {
            let why = std::io::Error::other("neither a file nor a directory");
            return Err(failed(why).into());
        }
    }
    let chosen = given_or_default(args.lake.as_deref(), "--lake LAKE")?;
    chosen.say(screen);
    let lake = open(&chosen.path, args.create)?;
    let zone = match &args.timezone {
        Some(name) => zone(name).map_err(Error::Invalid)?,
        None => lake.site()?.zone()?,
    };
    let period = period(args.from.as_deref(), args.to.as_deref(), zone).map_err(Error::Invalid)?;
    let (_during, cancel) = interrupt::during_ingest()?;
    let mut options = IngestOptions {
        paths,
        zone: args.timezone.is_some().then_some(zone),
        hints: Hints {
            slurm_columns: args.slurm_columns.clone(),
            slurm_delimiter: args.slurm_delimiter.clone(),
        },
        period,
        dxt: args.dxt,
        refresh: args.refresh,
        register: args.register,
        derived: DERIVED,
        analyze: args.analyze.clone(),
        memory: usize::try_from(args.memory).unwrap_or(usize::MAX),
        temp: args.temp.clone(),
        cancel,
        ..IngestOptions::default()
    };
    if let Some(threads) = args.threads {
        options.threads = usize::from(threads);
    }
    #[cfg(feature = "cluster")]
    if let Some(file) = &args.cluster {
        options.runner = Some(super::runner::ranges(file, &lake)?);
    }
    let bar = Bar::new(screen);
    let report = lake.ingest(&options, &bar);
    bar.clear();
    let report = report?;
    if args.refresh {
        let left = OutdatedInputs {
            logs: 0,
            ..lake.outdated_inputs()?
        };
        for line in outdated(left, &chosen.path) {
            screen.say(format_args!("note: {line}"));
        }
    }
    Ok(progress::end(&report, &lake, bar.elapsed(), screen))
}

/// The lake; a new one if there is none and that is wanted.
fn open(path: &Path, create: bool) -> anyhow::Result<Lake> {
    let nothing_there = || match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    };
    if create && nothing_there() {
        return Ok(Lake::create(path, &CreateOptions::default())?);
    }
    Ok(Lake::open(path)?)
}
