//! `iolode sql`: questions in SQL, from the command line, a file, a pipe, or at a prompt.

use super::exit::Exit;
use super::output_args::OutputArgs;
use super::query_args::QueryArgs;
use super::repl;
use super::screen::Terminal;
use super::session::Session;
use super::shell::Shell;
use crate::error::Error;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

/// Query a lake or loose logs in SQL; without a statement, open a prompt
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  iolode sql --lake /scratch/lake    # a prompt; \\? there lists its commands
  iolode sql --lake /scratch/lake -c 'select app, nprocs from darshan_log'
  iolode sql --lake /scratch/lake -f questions.sql --format csv > answers.csv
  iolode sql --logs /darshan/2026/9/1 -c 'select count(*) from darshan_file'
  echo 'select 1' | iolode sql --format json")]
pub(super) struct Args {
    #[command(flatten)]
    ask: QueryArgs,
    /// Run these statements and exit; may be given several times
    #[arg(
        short = 'c',
        long,
        value_name = "SQL",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    command: Vec<String>,
    /// Run the statements of this file and exit; - is stdin
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let out = args.output.file()?;
    // What is to be run is read before anything is opened: a missing file must not cost an ingest.
    let stdin = std::io::stdin();
    let script = match (&args.file, args.command.as_slice()) {
        (Some(file), _) if file.as_os_str() == "-" => Some(read_stdin()?),
        (Some(file), _) => {
            let text = std::fs::read_to_string(file);
            Some(text.map_err(|e| Error::io(file, "cannot read", e))?)
        }
        (None, []) if stdin.is_terminal() => None,
        (None, []) => Some(read_stdin()?),
        (None, _) => None,
    };
    let session = Session::open(&args.ask.or_default_lake()?, screen)?;
    let exit = session.exit();
    let described = session.describe().to_string();
    let settings = args.output.settings();
    let look = screen.look;
    let mut shell = Shell::new(session, settings, &mut screen.data, look, out);
    match script {
        Some(text) => _ = shell.feed_all(&text)?,
        None if !args.command.is_empty() => {
            for text in &args.command {
                shell.feed_all(text)?;
            }
        }
        None => repl::run(&mut shell, &described)?,
    }
    shell.finish()?;
    Ok(exit)
}

fn read_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|e| Error::io("stdin", "cannot read", e))?;
    Ok(text)
}
