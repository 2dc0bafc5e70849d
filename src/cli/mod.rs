//! The command line: the only place that reads arguments, prints, and picks exit codes.
//!
//! Data goes to stdout, everything else to stderr. An error is one line, `iolode: <what> <where>: <why>`. Exit codes: 0 done,
//! 1 done but some inputs failed, 2 wrong usage or it could not be done. A reader that closes the pipe is no error.
//!
//! # Adding a command
//! One file here, one variant of `Command` and its arm in `Command::run`. Its help must show an example; a test looks.

mod analyze;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
mod cluster_sbatch;
mod completions;
mod demo;
mod diagnose;
mod executor;
mod exit;
mod export;
mod ingest;
mod inspect;
mod interrupt;
mod lake;
mod lake_args;
mod limits;
mod open;
mod output;
mod output_args;
mod panics;
mod period;
mod progress;
mod query;
mod query_args;
mod repl;
mod report;
mod runner;
mod schema;
mod screen;
mod session;
mod shell;
mod site_zone;
mod size;
mod small_pages;
mod source_args;
mod split_statements;
mod sql;
mod synth;
#[cfg(feature = "cluster")]
mod warnings;

use self::exit::{Exit, message};
use crate::engine::views::VIEWS;
use crate::table::TABLES;
use clap::{CommandFactory, Parser, Subcommand};
use screen::Terminal;
use std::io::{self, Write};
use std::process::ExitCode;

/// Import Darshan, Slurm and LMT logs into one lake of Parquet files, and query it in SQL: why was the I/O slow?
#[derive(Parser)]
#[command(
    name = "iolode",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  iolode demo                        # try it on a synthetic month
  iolode lake create /scratch/lake
  iolode ingest --lake /scratch/lake --darshan /darshan/logs
  iolode sql --lake /scratch/lake
  iolode query coverage --lake /scratch/lake
  iolode inspect job.darshan         # one log, without a lake"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Ingest(ingest::Args),
    Sql(sql::Args),
    Query(query::Args),
    Diagnose(diagnose::Args),
    Analyze(analyze::Args),
    Report(report::Args),
    Export(export::Args),
    Inspect(inspect::Args),
    Synth(synth::Args),
    Lake(lake::Args),
    #[cfg(feature = "cluster")]
    Cluster(cluster::Args),
    Schema(schema::Args),
    Completions(completions::Completions),
    Man(completions::Man),
}

impl Command {
    fn run(self, screen: &mut Terminal) -> anyhow::Result<Exit> {
        match self {
            Self::Demo(args) => demo::run(&args, screen),
            Self::Ingest(args) => ingest::run(&args, screen),
            Self::Sql(args) => sql::run(&args, screen),
            Self::Query(args) => query::run(&args, screen),
            Self::Diagnose(args) => diagnose::run(args, screen),
            Self::Analyze(args) => analyze::run(&args, screen),
            Self::Report(args) => report::run(&args, screen),
            Self::Export(args) => export::run(&args, screen),
            Self::Inspect(args) => inspect::run(&args, screen),
            Self::Synth(args) => synth::run(&args, screen),
            Self::Lake(args) => lake::run(&args, screen),
            #[cfg(feature = "cluster")]
            Self::Cluster(args) => cluster::run(&args, screen),
            Self::Schema(args) => schema::run(&args, screen),
            Self::Completions(args) => completions::run(&args, command(), screen),
            Self::Man(args) => completions::man(&args, command(), screen),
        }
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    interrupt::keep_nohup();
    panics::report();
    limits::make_file_size_an_error();
    small_pages::ask_for_them();
    // Queries are planned here, and as deep as their expressions go.
    let whole = std::thread::Builder::new().stack_size(crate::engine::STACK);
    let exit = match whole.spawn(run) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(FAILED)),
        Err(_) => run(),
    };
    match exit == ExitCode::SUCCESS && panics::happened() {
        true => ExitCode::from(FAILED),
        false => exit,
    }
}

/// The exit code of what could not be done.
const FAILED: u8 = 2;

fn run() -> ExitCode {
    let mut screen = Terminal::new();
    let result = match Cli::try_parse() {
        Ok(cli) => cli.command.run(&mut screen),
        Err(error) => usage(&error, &mut screen),
    };
    let result = result.and_then(|exit| {
        screen.data.flush()?;
        Ok(exit)
    });
    match (result, screen.data.failed()) {
        (_, Some((io::ErrorKind::BrokenPipe, _))) => ExitCode::SUCCESS,
        (_, Some((_, why))) => {
            screen.say(format_args!("iolode: stdout: cannot write: {why}"));
            ExitCode::from(FAILED)
        }
        (Ok(Exit::Done), None) => ExitCode::SUCCESS,
        (Ok(Exit::SomeFailed), None) => ExitCode::from(1),
        (Err(error), None) => {
            screen.say(message(&error));
            ExitCode::from(if interrupt::has_stopped() {
                130
            } else {
                FAILED
            })
        }
    }
}

/// What clap has to say: help and version on stdout, a complaint as our one line.
fn usage(error: &clap::Error, screen: &mut Terminal) -> anyhow::Result<Exit> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            match screen.look.color {
                true => write!(screen.data, "{}", text.ansi())?,
                false => write!(screen.data, "{text}")?,
            }
            Ok(Exit::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = error.render().to_string();
            text.lines().for_each(|line| screen.say(line));
            anyhow::bail!("no command given; `iolode demo` is a good first one")
        }
        _ => {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            anyhow::bail!(complaint(&error.render().to_string(), words))
        }
    }
}

/// The one line of clap's several: what is wrong, its tips, and where help is.
fn complaint(text: &str, words: impl IntoIterator<Item = String>) -> String {
    let what = text.split("\nUsage: ").next().unwrap_or(text);
    let what = what.split("\nFor more information").next().unwrap_or(what);
    let what = what
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches("error: ")
                .trim_start_matches("tip: ")
        })
        .filter(|line| !line.is_empty());
    let mut line = String::new();
    for part in what {
        // What clap lists stands indented below a line that ends in a colon.
        line.push_str(match line.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        });
        line.push_str(part);
    }
    let command = named_command(words);
    // The commands below `query` are the named queries.
    if command == "iolode query" {
        let name = line.strip_prefix("unrecognized subcommand '");
        let name = name.and_then(|name| name.split('\'').next());
        if name.is_some_and(|name| name.contains(char::is_whitespace)) {
            return "`iolode query` has the names of built-in queries; a statement is asked by `iolode sql --lake LAKE -c \"SELECT ..\"`".into();
        }
        if let Some((name, relation)) = name.and_then(|name| Some((name, relation(name)?))) {
            return format!(
                "`{name}` is a {relation}, not a query; ask `iolode sql --lake LAKE -c \"select * from {name} limit 10\"`"
            );
        }
        line = line
            .replace("unrecognized subcommand", "unknown query")
            .replace("similar subcommand exists", "similar one exists")
            .replace("similar subcommands exist", "similar ones exist");
    }
    if command == "iolode query diagnose" && line.starts_with("unexpected argument") {
        line += "; a log that is in no lake is asked about by `iolode diagnose FILE`";
    }
    format!("{line}; see `{command} --help`")
}

/// What every lake has under this name.
fn relation(name: &str) -> Option<&'static str> {
    let is = |known: &[(&str, &str)]| known.iter().any(|(known, _)| *known == name);
    let view = is(VIEWS).then_some("view");
    view.or_else(|| is(TABLES).then_some("table"))
}

/// The command that the words of a command line name, as far as there is such a one.
fn named_command(words: impl IntoIterator<Item = String>) -> String {
    let (mut at, mut path) = (command(), "iolode".to_string());
    for word in words.into_iter().skip(1) {
        let Some(next) = at.find_subcommand(&word).cloned() else {
            break;
        };
        path = format!("{path} {}", next.get_name());
        at = next;
    }
    path
}

/// The command line as clap describes it, for completions, manual pages and tests.
fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_meaning_and_an_example_in_its_help() {
        fn walk(command: &clap::Command, path: &str) {
            let path = format!("{path}{}", command.get_name());
            assert!(command.get_about().is_some(), "{path} has no meaning");
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(help.contains("Example"), "{path} --help has no example");
            assert!(
                help.contains(&format!("  {path}")),
                "{path} --help has no example of its own"
            );
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{path}: {} has no meaning",
                    argument.get_id()
                );
            }
            command
                .get_subcommands()
                .for_each(|sub| walk(sub, &format!("{path} ")));
        }
        command().debug_assert();
        walk(&command(), "");
    }

    /// All commands as they are built, with their names.
    fn all_commands() -> Vec<(String, clap::Command)> {
        fn walk(command: &clap::Command, path: &str, all: &mut Vec<(String, clap::Command)>) {
            let path = format!("{path}{}", command.get_name());
            for sub in command.get_subcommands() {
                walk(sub, &format!("{path} "), all);
            }
            all.push((path, command.clone()));
        }
        let (mut root, mut all) = (command().term_width(80), vec![]);
        root.build();
        walk(&root, "", &mut all);
        all
    }

    /// The texts before and after the options of a command.
    fn texts(command: &clap::Command) -> String {
        let texts = [command.get_before_help(), command.get_after_help()];
        let texts = texts.into_iter().flatten().map(ToString::to_string);
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// The lines below `Example:` and `Examples:`, with what continues them.
    fn examples(command: &clap::Command) -> Vec<String> {
        let texts = texts(command);
        let lines = texts.lines();
        let lines = lines.skip_while(|line| !line.starts_with("Example"));
        let lines = lines.filter(|line| line.starts_with("  "));
        let mut examples: Vec<String> = vec![];
        for line in lines {
            match examples.last_mut() {
                Some(begun) if begun.ends_with('\\') => {
                    begun.pop();
                    begun.push_str(line.trim_start());
                }
                _ => examples.push(line.trim_start().into()),
            }
        }
        examples
    }

    /// The words of a command line up to a comment, a pipe or a redirection.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (vec![], String::new(), None);
        for c in line.chars().chain([' ']) {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
                (None, '#' | '|' | '>') if word.is_empty() => break,
                _ => word.push(c),
            }
        }
        words
    }

    #[test]
    fn each_paragraph_of_a_help_is_one_line_which_clap_wraps() {
        for (path, command) in all_commands() {
            let texts = texts(&command);
            for (line, next) in texts.lines().zip(texts.lines().skip(1)) {
                let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
                assert!(
                    !is_text(line) || !is_text(next),
                    "{path} --help:\n{line}\n{next}"
                );
            }
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string);
                assert!(!help.unwrap_or_default().contains('\n'), "{path}");
            }
        }
    }

    #[test]
    fn help_fits_a_terminal_of_80_columns() {
        for (path, mut command) in all_commands() {
            let help = command.render_long_help().to_string();
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{path} --help:\n{line}");
            }
        }
    }

    #[test]
    fn examples_can_be_pasted() {
        for (path, command) in all_commands() {
            let texts = texts(&command);
            for line in texts.lines().filter(|line| line.starts_with(' ')) {
                // What is longer is wrapped, and a line that is wrapped is two commands.
                let is_listed = line.starts_with("      ");
                assert!(
                    is_listed || line.chars().count() <= 80,
                    "{path} --help:\n{line}"
                );
            }
            for example in examples(&command) {
                if let Some((_, rest)) = example.split_once("  ") {
                    let rest = rest.trim_start();
                    assert!(rest.starts_with("# "), "{path} --help:\n{example}");
                }
                if !example.starts_with("iolode") {
                    continue;
                }
                if let Err(error) = Cli::try_parse_from(words(&example)) {
                    panic!("{path} --help:\n{example}\n{error}");
                }
            }
        }
    }

    #[test]
    fn the_help_of_a_query_has_its_own_options_apart_from_those_of_all_queries() {
        let commands = all_commands();
        let help = |name: &str| {
            let path = format!("iolode query {name}");
            let found = commands.iter().find(|(known, _)| *known == path);
            found.unwrap().1.clone().render_long_help().to_string()
        };
        let common = "\nOptions of all queries:\n";
        let text = help("perf_factors");
        let (own, of_all) = text.split_once(common).unwrap();
        for flag in ["--direction", "--min-bw", "--from", "--to"] {
            assert!(own.contains(&format!("\n      {flag} <")), "{own}");
            assert!(!of_all.contains(&format!("\n      {flag} <")), "{of_all}");
        }
        for flag in ["--lake <", "--logs <", "--version <", "--format <"] {
            assert!(of_all.contains(flag), "{of_all}");
            assert!(!own.contains(&format!("\n      {flag}")), "{own}");
        }
        assert!(
            own.contains("Usage: iolode query perf_factors [--lake LAKE|--logs PATH]"),
            "{own}"
        );
        // A query without a period takes none but that of --logs and --ingest.
        for name in ["ost_fullness", "diagnose"] {
            let text = help(name);
            let (own, of_all) = text.split_once(common).unwrap();
            assert!(!own.contains("--from"), "{own}");
            let from =
                "--from <DATE>\n          With --logs or --ingest: only logs that start at this";
            assert!(of_all.contains(from), "{of_all}");
        }
    }

    #[test]
    fn the_help_of_a_query_names_flags_and_no_parameters_of_sql() {
        for (path, command) in all_commands() {
            let is_query = path.starts_with("iolode query ");
            let mut of_query = command.get_arguments().map(|argument| {
                let help = argument.get_help().map(ToString::to_string);
                help.unwrap_or_default()
            });
            let all = of_query.by_ref().collect::<Vec<_>>().join("\n") + &texts(&command);
            if is_query {
                assert!(!all.contains("=>"), "{path}: {all}");
            }
            for argument in command.get_arguments().filter(|_| is_query) {
                let id = argument.get_id().as_str();
                let named = id.contains('_') && all.contains(&format!(" {id} "));
                assert!(!named, "{path}: {id} in {all}");
            }
        }
    }

    /// The names of types in two parts or more, such as `BatchSink`, in the code.
    fn type_names(folder: &std::path::Path, names: &mut std::collections::HashSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                type_names(&path, names);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            let defined = words
                .windows(2)
                .filter(|pair| ["struct", "enum", "trait"].contains(&pair[0]));
            for pair in defined {
                let end = pair[1].find(|c: char| !c.is_alphanumeric());
                let name = &pair[1][..end.unwrap_or(pair[1].len())];
                if name.chars().skip(1).any(char::is_uppercase) {
                    names.insert(name.into());
                }
            }
        }
    }

    #[test]
    fn no_help_names_a_type_of_the_code() {
        let mut names = std::collections::HashSet::new();
        type_names(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut names,
        );
        assert!(names.len() > 200 && names.contains("LakeCommand"));
        for (path, mut command) in all_commands() {
            let help = command.render_long_help().to_string();
            let mut words = help.split(|c: char| !c.is_alphanumeric());
            let name = words.find(|word| names.contains(*word));
            assert_eq!(name, None, "{path} --help");
        }
    }

    #[test]
    fn a_complaint_of_clap_becomes_one_line_with_its_tip() {
        let complain = |args: &[&str]| {
            let error = Cli::try_parse_from(args).err().unwrap();
            let words = args.iter().map(|word| word.to_string());
            complaint(&error.render().to_string(), words)
        };
        assert_eq!(
            complain(&["iolode", "sql", "--fromat", "csv"]),
            "unexpected argument '--fromat' found; a similar argument exists: '--format'; see `iolode sql --help`"
        );
        let line = complain(&["iolode", "query", "diagnose", "a.darshan"]);
        assert!(
            line.contains(
                "; a log that is in no lake is asked about by `iolode diagnose FILE`; see "
            ),
            "{line}"
        );
        assert_eq!(
            complain(&["iolode", "lake", "create"]),
            "the following required arguments were not provided: <LAKE>; see `iolode lake create --help`"
        );
        assert_eq!(
            complain(&["iolode", "lake", "forget", "L"]),
            "the following required arguments were not provided: <--before <DATE>|--darshan|--slurm|--lmt>; \
             see `iolode lake forget --help`"
        );
        assert!(
            Cli::try_parse_from([
                "iolode",
                "lake",
                "forget",
                "L",
                "--lmt",
                "--before",
                "2026-01-01"
            ])
            .is_ok()
        );
        let line = complain(&["iolode", "lake", "vacuum", "L", "--keep", "7x"]);
        assert!(
            line.ends_with("; see `iolode lake vacuum --help`"),
            "{line}"
        );
        let line = complain(&["iolode", "query", "top_writ"]);
        assert!(line.starts_with("unknown query 'top_writ'"), "{line}");
        assert!(line.ends_with("; see `iolode query --help`"), "{line}");
        for (name, what) in [("log_facts", "view"), ("darshan_file", "table")] {
            assert_eq!(
                complain(&["iolode", "query", name]),
                format!(
                    "`{name}` is a {what}, not a query; ask `iolode sql --lake LAKE -c \"select * from {name} limit 10\"`"
                )
            );
        }
        let line = complain(&["iolode", "query", "select 1"]);
        assert!(line.contains("asked by `iolode sql"), "{line}");
        let line = complain(&["iolode", "sqk"]);
        assert!(
            line.starts_with("unrecognized subcommand 'sqk'; a similar subcommand exists: 'sql'"),
            "{line}"
        );
    }

    #[test]
    fn an_error_of_several_lines_is_printed_as_one() {
        let error = anyhow::anyhow!("second\n  line").context("first");
        assert_eq!(message(&error), "iolode: first: second line");
        let not_found = io::Error::from_raw_os_error(2);
        let error = crate::Error::io("a  b", "cannot read", not_found).into();
        assert_eq!(
            message(&error),
            "iolode: a  b: cannot read: no such file or directory"
        );
    }
}
