//! The arguments of `iolode export`.

use crate::answer::export::{ExportOptions, Form, Grain, Key, Lmt, Logs, Policy};
use crate::cli::query_args::QueryArgs;
use crate::error::Error;
use std::path::{Path, PathBuf};

/// Write chosen logs, and all that belongs to them, as a lake of their own
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// SQL over darshan_log: the logs for which it holds are exported (default: all)
    #[arg(long = "where", value_name = "SQL")]
    pub(super) condition: Option<String>,
    /// A new directory, or the file of one table; it is there when the export is complete
    #[arg(long, value_name = "PATH", required_unless_present_any = ["new_key", "dry_run"])]
    pub(super) to: Option<PathBuf>,
    /// What is exported with a log: itself, or all logs of its job
    #[arg(long, value_name = "GRAIN", default_value = "log")]
    pub(super) grain: GrainArg,
    /// Samples of LMT: of the time and OSTs of each log, all from the first to the last log, or none
    #[arg(long, value_name = "ROWS", default_value = "used")]
    pub(super) lmt: LmtArg,
    /// What the export is: a lake, Delta tables for Spark, Polars and delta-rs, or a file with one table or answer
    #[arg(long, value_name = "FORM", default_value = "lake")]
    pub(super) format: FormArg,
    /// With --format csv, ndjson, arrow or parquet: the table whose rows are written
    #[arg(long, value_name = "TABLE", conflicts_with = "query")]
    pub(super) table: Option<String>,
    /// With --format csv, ndjson, arrow or parquet: SQL over the chosen logs, with --anonymize under their pseudonyms, whose rows are written
    #[arg(long, value_name = "SQL")]
    pub(super) query: Option<String>,
    /// Have the logs in DIR/logs, with a list in DIR/logs.csv: byte by byte, or with --anonymize written anew
    #[arg(long, value_name = "WAY")]
    pub(super) logs: Option<LogsArg>,
    /// Replace names and numbers of users, programs, nodes, jobs and paths by pseudonyms
    #[arg(long, requires = "key")]
    pub(super) anonymize: bool,
    /// With --anonymize: the key of the pseudonyms; exports by one key have the same
    #[arg(long, value_name = "FILE", requires = "anonymize")]
    pub(super) key: Option<PathBuf>,
    /// With --anonymize: a TOML file that changes what is done with columns, such as app = "keep"
    #[arg(long, value_name = "FILE", requires = "anonymize")]
    pub(super) policy: Option<PathBuf>,
    /// With --anonymize: leave out jobs whose program, nodes, processes and day (UTC) fewer than N jobs share
    #[arg(long, value_name = "N", requires = "anonymize", default_value = "0")]
    pub(super) k: u64,
    /// Say how much would be exported and what is done with each column, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Replace an export that is there already, if its directory holds nothing else
    #[arg(long)]
    pub(super) force: bool,
    /// Make a new key for --key, and nothing else
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub(super) new_key: Option<PathBuf>,
    /// The lake (default: IOLODE_LAKE, else that of the config file)
    #[arg(long, value_name = "LAKE")]
    lake: Vec<String>,
    /// Export this version of the lake instead of its newest
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Time zone of dates in --where that name no offset, such as Europe/Berlin (default: the lake's, else UTC)
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Memory for sorts, joins and groupings, such as 2GiB (default: half of the machine's, or of its control group's if that is less)
    #[arg(long, value_name = "SIZE", value_parser = crate::cli::size::parse)]
    memory: Option<u64>,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Have the cluster of this connect file, which `iolode cluster scheduler` wrote, find the logs
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// With --cluster: statements whose scans read less run in this process (default: 256MiB, and all of them if the cluster has no more cores than --threads)
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "SIZE", value_parser = crate::cli::size::parse, requires = "cluster")]
    cluster_above: Option<u64>,
    /// Report when a statement was planned again, for example for lack of memory, and with --cluster where it ran
    #[arg(short, long)]
    verbose: bool,
}

const EXAMPLES: &str = "\
The export has the files and modules of the logs, the Slurm records of their jobs and samples of \
LMT. It is a lake: every command of iolode works on it, and other tools read its Parquet files. \
README.txt says what it holds.

Exit code 1: no log is chosen, and nothing was written; or logs could not be copied or rewritten.

Examples:
  iolode export --lake /scratch/lake --where \"app = 'vasp'\" --to vasp
  iolode export --lake /scratch/lake --where \"bytes_written > 1e12\" --dry-run
  iolode export --new-key key
  iolode export --lake /scratch/lake --to shared --anonymize --key key
  iolode export --lake /scratch/lake --table darshan_log --format csv --to a.csv";

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum GrainArg {
    Log,
    Job,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum FormArg {
    Lake,
    Delta,
    Csv,
    Ndjson,
    Arrow,
    Parquet,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum LogsArg {
    Copy,
    Rewritten,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum LmtArg {
    Used,
    Period,
    None,
}

impl Args {
    /// What is asked.
    pub(super) fn ask(&self) -> QueryArgs {
        QueryArgs {
            lake: self.lake.clone(),
            version: self.version,
            timezone: self.timezone.clone(),
            memory: self.memory,
            threads: self.threads,
            #[cfg(feature = "cluster")]
            cluster: self.cluster.clone(),
            #[cfg(feature = "cluster")]
            cluster_above: self.cluster_above,
            verbose: self.verbose,
            ..QueryArgs::default()
        }
    }

    /// What they ask of an export.
    ///
    /// # Errors
    /// Those of the key and the policy.
    pub(super) fn options(&self, ask: &QueryArgs) -> anyhow::Result<ExportOptions> {
        Ok(ExportOptions {
            condition: self.condition.clone(),
            grain: match self.grain {
                GrainArg::Log => Grain::Log,
                GrainArg::Job => Grain::Job,
            },
            lmt: match self.lmt {
                LmtArg::Used => Lmt::Used,
                LmtArg::Period => Lmt::Period,
                LmtArg::None => Lmt::None,
            },
            anonymize: self.anonymize()?,
            form: match self.format {
                FormArg::Delta => Form::Delta,
                _ => Form::Lake,
            },
            table: None,
            logs: self.logs.map(|logs| match logs {
                LogsArg::Copy => Logs::Copied,
                LogsArg::Rewritten => Logs::Rewritten,
            }),
            k: self.k,
            force: self.force,
            threads: ask.threads.map_or_else(
                || std::thread::available_parallelism().map_or(1, usize::from),
                usize::from,
            ),
            memory: 16 << 20,
            // Less is slower, as there are more files; more is no quicker.
            sort_memory: ask.memory.map_or(64 << 20, |memory| {
                usize::try_from(memory / 16)
                    .unwrap_or(usize::MAX)
                    .clamp(4 << 20, 64 << 20)
            }),
        })
    }

    fn anonymize(&self) -> anyhow::Result<Option<(Key, Policy)>> {
        let Some(key) = self.key.as_deref().filter(|_| self.anonymize) else {
            return Ok(None);
        };
        let policy = match &self.policy {
            None => Policy::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|e| Error::io(Path::new(path), "cannot read", e))?;
                Policy::parse(&path.display().to_string(), &text)?
            }
        };
        Ok(Some((Key::read(key)?, policy)))
    }
}
