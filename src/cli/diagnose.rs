//! `iolode diagnose`: the page of a job, also of logs that are in no lake.

use super::exit::Exit;
use super::lake_args::none_given;
use super::query::{self, Common};
use super::screen::Terminal;
use crate::answer::analysis::ANALYSES;
use crate::error::Error;
use std::path::PathBuf;

/// Show where the I/O time of a job went, and why; log files need no lake
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("format", |arg| arg.help(FORMATS).hide_possible_values(true)),
    mut_arg("expanded", |arg| arg.hide(true)),
    mut_arg("human", |arg| arg.hide(true)),
)]
pub(super) struct Args {
    /// Darshan logs, or directories of logs; without a lake a page for each of their jobs, if they are 20 at most
    #[arg(value_name = "FILE", conflicts_with_all = ["lake", "logs"])]
    files: Vec<PathBuf>,
    /// Job id
    #[arg(long, value_name = "N")]
    job: Option<i64>,
    /// One log of it, by its log_id
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    log: Option<i64>,
    /// Also the critical path by busy times, and the factors beside those of other jobs
    #[arg(long)]
    long: bool,
    #[command(flatten)]
    common: Common,
}

/// Rows have more of them, and options that are refused here.
const FORMATS: &str = "Output format: table, markdown or json (default: table, or what the ending of the output file says)";

const EXAMPLES: &str = "\
Examples:
  iolode diagnose user_app_id4211.darshan
  iolode diagnose --lake /scratch/lake --job 6102078 --long
  iolode diagnose --lake /scratch/lake --job 6102078 --format markdown -o job.md";

/// Runs the command.
///
/// # Errors
/// Those of the analysis.
pub(super) fn run(mut args: Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    args.common.ask.logs.append(&mut args.files);
    let number = |name: &str, value: Option<i64>| Some((name.to_string(), value?.to_string()));
    let given = [number("job", args.job), number("log", args.log)];
    let mut given: Vec<_> = given.into_iter().flatten().collect();
    given.push(("long".into(), args.long.to_string()));
    let analysis = ANALYSES.iter().find(|analysis| analysis.name == "diagnose");
    let analysis =
        analysis.ok_or_else(|| Error::Invalid("there is no analysis `diagnose`".into()))?;
    let ask = args.common.ask.or_default_lake()?;
    if ask.lake.is_empty() && ask.logs.is_empty() {
        return Err(none_given("--lake LAKE, or logs as FILE").into());
    }
    query::write_answers(&ask, &args.common.output, analysis, &given, screen)
}
