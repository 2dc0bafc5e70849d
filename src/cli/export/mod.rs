//! `iolode export`: chosen logs as a lake that stands alone, or one table or answer of them as a file.

mod one_file;

use crate::answer::export::{self, ExportOptions, ExportReport, Form, Grain, Key, Lmt, Policy};
use crate::cli::exit::Exit;
use crate::cli::lake_args::none_given;
use crate::cli::query_args::QueryArgs;
use crate::cli::screen::Terminal;
use crate::cli::session::Session;
use crate::cli::size;
use crate::error::Error;
use crate::lake::Lake;
use crate::table::{Partition, tables};
use crate::text::{quoted, shown_path};
use anyhow::Context;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write chosen logs, and all that belongs to them, as a lake of their own
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// SQL over darshan_log: the logs for which it holds are exported (default: all)
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// A new directory, or the file of one table; it is there when the export is complete
    #[arg(long, value_name = "PATH", required_unless_present_any = ["new_key", "dry_run"])]
    to: Option<PathBuf>,
    /// What is exported with a log: itself, or all logs of its job
    #[arg(long, value_name = "GRAIN", default_value = "log")]
    grain: GrainArg,
    /// Samples of LMT: of the time and OSTs of each log, all from the first to the last log, or none
    #[arg(long, value_name = "ROWS", default_value = "used")]
    lmt: LmtArg,
    /// What the export is: a lake, Delta tables for Spark, Polars and delta-rs, or a file with one table or answer
    #[arg(long, value_name = "FORM", default_value = "lake")]
    format: FormArg,
    /// With --format csv, ndjson, arrow or parquet: the table whose rows are written
    #[arg(long, value_name = "TABLE", conflicts_with = "query")]
    table: Option<String>,
    /// With --format csv, ndjson, arrow or parquet: SQL over the chosen logs, whose rows are written
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// Copy the logs as well, to DIR/logs, and list them in DIR/logs.csv
    #[arg(long, value_name = "WAY", conflicts_with = "anonymize")]
    logs: Option<LogsArg>,
    /// Replace names and numbers of users, programs, nodes, jobs and paths by pseudonyms
    #[arg(long, requires = "key")]
    anonymize: bool,
    /// With --anonymize: the key of the pseudonyms; exports by one key have the same
    #[arg(long, value_name = "FILE", requires = "anonymize")]
    key: Option<PathBuf>,
    /// With --anonymize: a TOML file that changes what is done with columns, such as app = "keep"
    #[arg(long, value_name = "FILE", requires = "anonymize")]
    policy: Option<PathBuf>,
    /// With --anonymize: leave out jobs whose program, nodes, processes and day fewer than N jobs share
    #[arg(long, value_name = "N", requires = "anonymize", default_value = "0")]
    k: u64,
    /// Say how much would be exported and what is done with each column, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace an export that is there already
    #[arg(long)]
    force: bool,
    /// Make a new key for --key, and nothing else
    #[arg(long, value_name = "FILE", exclusive = true)]
    new_key: Option<PathBuf>,
    #[command(flatten)]
    ask: QueryArgs,
}

const EXAMPLES: &str = "\
The export has the files and modules of the logs, the Slurm records of their jobs and samples of \
LMT. It is a lake: every command of iolode works on it, and other tools read its Parquet files. \
README.txt says what it holds.

Exit code 1: no log is chosen, and nothing was written; or logs could not be copied.

Examples:
  iolode export --lake /scratch/lake --where \"app = 'vasp'\" --to vasp
  iolode export --lake /scratch/lake --where \"bytes_written > 1e12\" --dry-run
  iolode export --new-key key
  iolode export --lake /scratch/lake --to shared --anonymize --key key
  iolode export --lake /scratch/lake --table darshan_log --format csv --to logs.csv";

#[derive(Clone, Copy, clap::ValueEnum)]
enum GrainArg {
    Log,
    Job,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormArg {
    Lake,
    Delta,
    Csv,
    Ndjson,
    Arrow,
    Parquet,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LogsArg {
    Copy,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LmtArg {
    Used,
    Period,
    None,
}

/// Runs the command.
///
/// # Errors
/// Those of the key, the policy, the lake and the target.
pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    if let Some(path) = &args.new_key {
        Key::create(path)?;
        screen.say(format_args!(
            "wrote the key {}: whoever has it can tell whose a pseudonym is; keep it where only you can read it",
            quoted(path)
        ));
        return Ok(Exit::Done);
    }
    let mut ask = args.ask.or_default_lake()?;
    let [given] = ask.lake.as_slice() else {
        return Err(match ask.lake.is_empty() {
            true => none_given("--lake LAKE").into(),
            false => Error::Invalid("an export is of one lake; give one --lake".into()).into(),
        });
    };
    let lake = Lake::open(super::session::named(given).1)?;
    let snapshot = lake.snapshot(ask.version)?;
    // What is asked and what is read is one version.
    ask.version = Some(snapshot.version());
    let options = ExportOptions {
        condition: args.condition.clone(),
        grain: match args.grain {
            GrainArg::Log => Grain::Log,
            GrainArg::Job => Grain::Job,
        },
        lmt: match args.lmt {
            LmtArg::Used => Lmt::Used,
            LmtArg::Period => Lmt::Period,
            LmtArg::None => Lmt::None,
        },
        anonymize: anonymize(args)?,
        form: match args.format {
            FormArg::Delta => Form::Delta,
            _ => Form::Lake,
        },
        table: None,
        copy_logs: args.logs.is_some(),
        k: args.k,
        force: args.force,
        threads: ask.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        ),
        memory: 16 << 20,
    };
    let session = Session::open_for(&ask, false, screen)?;
    if args.dry_run {
        let asked = options.clone();
        let (report, _) = session.page(move |engine| {
            Box::pin(async move { export::dry_run(&engine, &snapshot, &asked).await })
        })?;
        if report.logs == 0 {
            return Ok(nothing(&report, &options, screen));
        }
        return dry(&report, &options, screen);
    }
    let to = args.to.clone().context("no --to PATH is given")?;
    if let Some(file) = one_file::asked(args)? {
        let session = (session, snapshot, options);
        return file.write(&to, &ask, session, screen);
    }
    let (report, notes) = session.page({
        let (to, options) = (to.clone(), options.clone());
        move |engine| {
            Box::pin(async move { export::export(&engine, snapshot, &to, &options).await })
        }
    })?;
    notes.iter().for_each(|note| screen.say(note));
    if report.logs == 0 {
        return Ok(nothing(&report, &options, screen));
    }
    told(&report, &options, screen);
    let next = match args.format {
        FormArg::Delta => format!("Delta tables below {}", quoted(&to)),
        _ => format!("next: iolode lake info {}", quoted(&to)),
    };
    for (path, why) in &report.logs_missing {
        screen.say(format_args!(
            "{}: not copied: {why}",
            shown_path(Path::new(path))
        ));
    }
    screen.say(format_args!("exported {}; {next}", shown(&report)));
    match report.logs_missing.is_empty() {
        true => Ok(session.exit()),
        false => Ok(Exit::SomeFailed),
    }
}

fn anonymize(args: &Args) -> anyhow::Result<Option<(Key, Policy)>> {
    let Some(key) = args.key.as_deref().filter(|_| args.anonymize) else {
        return Ok(None);
    };
    let policy = match &args.policy {
        None => Policy::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|e| Error::io(Path::new(path), "cannot read", e))?;
            Policy::parse(&path.display().to_string(), &text)?
        }
    };
    Ok(Some((Key::read(key)?, policy)))
}

fn nothing(report: &ExportReport, options: &ExportOptions, screen: &Terminal) -> Exit {
    told(report, options, screen);
    screen.say(match report.left_out {
        0 => "no log is chosen: nothing was exported",
        _ => "no log is left: nothing was exported",
    });
    Exit::SomeFailed
}

fn shown(report: &ExportReport) -> String {
    let rows: u64 = report.rows.values().sum();
    format!(
        "{}, {}: {}, {}, {}",
        size::counted(report.jobs, "job", "jobs"),
        size::counted(report.logs, "log", "logs"),
        size::counted(rows, "row", "rows"),
        size::counted(report.files, "file", "files"),
        size::show(report.bytes)
    )
}

/// Says which jobs can be told by their looks.
fn told(report: &ExportReport, options: &ExportOptions, screen: &Terminal) {
    if options.anonymize.is_none() {
        return;
    }
    if report.left_out > 0 {
        screen.say(format_args!(
            "left out {}, as fewer than {} jobs share program, nodes, processes and day",
            size::counted(report.left_out, "job", "jobs"),
            options.k
        ));
    }
    if report.unique > 0 {
        screen.say(format_args!(
            "{} of the export can be told: no other has the same program, nodes, processes and day (--k 2 leaves them out)",
            size::counted(report.unique, "job", "jobs"),
        ));
    }
}

/// Says what an export would be.
fn dry(
    report: &ExportReport,
    options: &ExportOptions,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    screen.say(format_args!(
        "would export {}, {}: about {} of data files, without samples of LMT",
        size::counted(report.jobs, "job", "jobs"),
        size::counted(report.logs, "log", "logs"),
        size::show(report.bytes)
    ));
    told(report, options, screen);
    let Some((_, policy)) = &options.anonymize else {
        screen.say("columns are as they are in the lake; --anonymize --key FILE replaces names");
        return Ok(Exit::Done);
    };
    for table in tables().filter(|table| table.partition != Partition::Manifest) {
        for column in &table.columns {
            let treatment = policy.of(table, &column.name)?;
            writeln!(
                screen.data,
                "{:46} {treatment}",
                format!("{}.{}", table.name, column.name)
            )?;
        }
    }
    Ok(Exit::Done)
}
