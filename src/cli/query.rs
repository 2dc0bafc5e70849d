//! `iolode query`: questions that have a name.

use super::exit::Exit;
use super::output::Format;
use super::output::format_parser;
use super::period::{moment, period, zone};
use super::screen::Terminal;
use super::session::{QueryArgs, Session};
use super::shell::{OutFile, Settings, Shell};
use crate::answer::answer::Answer;
use crate::answer::{ANALYSES, Analysis, Values};
use crate::engine::queries::{FOLDERS, Param, ParamType, Query, queries, query};
use crate::error::Error;
use crate::lake::Lake;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use std::io::Write;
use std::path::PathBuf;

/// Run a built-in query; without a name, list them
pub(super) struct Args {
    common: Common,
    asked: Option<Asked>,
}

/// What is asked.
enum Asked {
    /// A named query, and the values of its parameters as they were typed.
    Query(&'static Query, Vec<(String, String)>),
    /// An analysis, and the values of its parameters.
    Analysis(&'static Analysis, Values),
}

#[derive(clap::Args)]
struct Common {
    #[command(flatten)]
    ask: QueryArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    format: &'static Format,
    /// Write results to this file (created only when complete)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With table output: one line per value (vertical)
    #[arg(short = 'x', long)]
    expanded: bool,
}

const EXAMPLES: &str = "\
Times are dates, or dates with a time, in the time zone of the lake. `iolode schema NAME` describes
the columns. In SQL a named query is a table function, and times without a zone are UTC:
  select * from ost_fullness(above => 80) where fs = 'snx11168'

Examples:
  iolode query                                       lists the questions
  iolode query coverage --lake /scratch/lake
  iolode query logs_at_time --lake /scratch/lake --fs snx11168 --from 2026-09-01T12:00 --to 2026-09-01T12:10 --ost 17";

/// Parameters that have the name of an option that all commands with a lake have.
fn is_common(name: &str) -> bool {
    ["from", "to"].contains(&name)
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let command = Common::augment_args(command)
            .about("Run a built-in query; without a name, list them")
            .before_help(listing())
            .after_help(EXAMPLES)
            .subcommand_value_name("NAME")
            .disable_help_subcommand(true);
        // They may stand before the name or after it.
        let command = command.mut_args(|arg| arg.global(true)).mut_arg("from", |arg| {
            arg.help("Start time, for queries that take one; with --logs or --ingest: only logs that start then or later")
        });
        let command = command.mut_arg("to", |arg| {
            arg.help("End (exclusive); with --logs or --ingest: only logs that start before")
        });
        let command = queries().iter().fold(command, |command, query| {
            command.subcommand(subcommand(query))
        });
        let command = ANALYSES.iter().fold(command, |command, analysis| {
            command.subcommand(page_command(analysis))
        });
        // clap knows one heading for all subcommands: they are listed by their folders before the options.
        let options = command.get_styles().get_header();
        let template = format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{{before-help}}{options}Options:{options:#}\n{{options}}{{after-help}}"
        );
        command.help_template(template)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Titles, and the names and meanings of what can be asked under each: named queries by their folders, then pages.
fn groups() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let mut groups = vec![];
    for (folder, title) in FOLDERS {
        let of_folder = queries().iter().filter(|query| query.folder == *folder);
        let questions = of_folder.map(|query| (query.name, query.doc.clone()));
        groups.push((*title, questions.collect()));
    }
    let pages = ANALYSES.iter();
    let pages = pages.map(|analysis| (analysis.name, analysis.doc.to_string()));
    groups.push(("Pages", pages.collect()));
    groups
}

/// What can be asked, for the help: each meaning on a line of its own, which is wrapped.
fn listing() -> String {
    let mut text = String::new();
    for (title, questions) in groups() {
        text += &format!("{title}:\n");
        for (name, doc) in questions {
            let others = query(name).map_or(&[][..], |query| &query.aliases);
            let others = match others.is_empty() {
                true => String::new(),
                false => format!(" (also {})", others.join(", ")),
            };
            text += &format!("  {name}{others}\n      {doc}\n");
        }
        text += "\n";
    }
    text.trim_end().into()
}

fn subcommand(query: &'static Query) -> Command {
    let given: Vec<String> = query
        .params
        .iter()
        .filter(|param| param.default.is_none())
        .map(|param| format!(" --{} {}", param.flag(), example(param)))
        .collect();
    let needed: Vec<String> = query
        .params
        .iter()
        .filter(|param| param.default.is_none())
        .map(|param| format!(" --{} <{}>", param.flag(), placeholder(param.kind)))
        .collect();
    let usage = format!(
        "iolode query {} --lake <[NAME=]LAKE>{} [OPTIONS]",
        query.name,
        needed.concat()
    );
    let source = match query.source.as_str() {
        "" => String::new(),
        source => format!("Source: {source}\n"),
    };
    let examples = format!(
        "A row is {}; its columns: iolode schema {}\n{source}\nExample:\n  iolode query {} --lake /scratch/lake{}",
        query.grain,
        query.name,
        query.name,
        given.concat()
    );
    let command = Command::new(query.name)
        .visible_aliases(query.aliases.iter().map(String::as_str))
        .about(query.doc.clone())
        .override_usage(usage)
        .after_help(examples);
    let own = query.params.iter().filter(|param| !is_common(&param.name));
    own.fold(command, |command, param| command.arg(option(param)))
}

/// The command of an analysis.
fn page_command(analysis: &'static Analysis) -> Command {
    let params = (analysis.params)();
    let name = analysis.name;
    let needed = |shown: fn(&Param) -> String| {
        let needed = params.iter().filter(|param| param.default.is_none());
        needed
            .map(|param| format!(" --{} {}", param.flag(), shown(param)))
            .collect::<String>()
    };
    let usage = needed(|param| format!("<{}>", placeholder(param.kind)));
    let given = needed(|param| match param.name.as_str() {
        "job" => "6100047".into(),
        _ => example(param).into(),
    });
    let command = Command::new(name)
        .about(analysis.doc)
        .override_usage(format!(
            "iolode query {name} --lake <[NAME=]LAKE>{usage} [OPTIONS]"
        ))
        .after_help(format!(
            "The answer is a page of text; with --format json an array of objects, whose blocks hold the numbers.\n\n\
             Example:\n  iolode query {name} --lake /scratch/lake{given}"
        ));
    params
        .iter()
        .fold(command, |command, param| command.arg(option(param)))
}

/// The option for a parameter.
fn option(param: &Param) -> Arg {
    let help = match param.default.as_deref() {
        None | Some("NULL") => param.doc.clone(),
        Some(default) => format!("{} [default: {default}]", param.doc),
    };
    let arg = Arg::new(param.name.clone())
        .long(param.flag())
        .alias(param.name.clone())
        .help(help);
    let arg = match param.values.is_empty() {
        true => arg,
        false => arg.value_parser(PossibleValuesParser::new(param.values.clone())),
    };
    arg.value_name(placeholder(param.kind))
        .allow_hyphen_values(true)
        .required(param.default.is_none())
}

fn placeholder(kind: ParamType) -> &'static str {
    match kind {
        ParamType::Text => "TEXT",
        ParamType::Timestamp => "TIME",
        ParamType::Int => "N",
        ParamType::Float => "NUMBER",
        ParamType::Bool => "BOOL",
    }
}

fn example(param: &Param) -> &str {
    match param.kind {
        ParamType::Text if !param.values.is_empty() => &param.values[0],
        ParamType::Text => "snx11168",
        ParamType::Timestamp if param.name == "to" => "2026-09-02",
        ParamType::Timestamp => "2026-09-01",
        ParamType::Int => "17",
        ParamType::Float => "0.5",
        ParamType::Bool => "true",
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let common = Common::from_arg_matches(matches)?;
        let Some((name, values)) = matches.subcommand() else {
            return Ok(Self {
                common,
                asked: None,
            });
        };
        let unknown =
            |e: Error| clap::Error::raw(clap::error::ErrorKind::InvalidSubcommand, e.to_string());
        if let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == name) {
            let params = (analysis.params)();
            let given = params.into_iter().filter_map(|param| {
                let value = values.get_one::<String>(&param.name)?;
                Some((param.name, value.clone()))
            });
            let asked = Asked::Analysis(analysis, Values(given.collect()));
            return Ok(Self {
                common,
                asked: Some(asked),
            });
        }
        let query = query(name).map_err(unknown)?;
        let mut given = vec![];
        for param in &query.params {
            let value = match param.name.as_str() {
                "from" => common.ask.from.clone(),
                "to" => common.ask.to.clone(),
                name => values.get_one::<String>(name).cloned(),
            };
            given.extend(value.map(|value| (param.name.clone(), value)));
        }
        Ok(Self {
            common,
            asked: Some(Asked::Query(query, given)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let Common {
        ask,
        format,
        output,
        expanded,
    } = &args.common;
    let (query, values) = match &args.asked {
        Some(Asked::Query(query, values)) => (query, values),
        Some(Asked::Analysis(analysis, values)) => {
            return write_answers(&args.common, analysis, values.clone(), screen);
        }
        None => return list(screen),
    };
    let out = output.as_deref().map(OutFile::create).transpose()?;
    // Times are those of the site.
    let site = match (&ask.timezone, ask.lake.first()) {
        (Some(name), _) => zone(name).map_err(Error::Invalid)?,
        (None, Some(lake)) => Lake::open(super::session::named(lake).1)?.site()?.zone()?,
        (None, None) => chrono_tz::UTC,
    };
    let value = |wanted: &str| {
        let found = values.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    period(value("from"), value("to"), site).map_err(Error::Invalid)?;
    let mut typed = vec![];
    for (name, value) in values {
        let time = query
            .params
            .iter()
            .any(|param| param.name == *name && param.kind == ParamType::Timestamp);
        let value = match time {
            true => {
                let micros =
                    moment(value, site).map_err(|why| Error::Invalid(format!("--{name} {why}")))?;
                let time = chrono::DateTime::from_timestamp_micros(micros);
                time.map_or_else(
                    || value.clone(),
                    |time| time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
                )
            }
            false => value.clone(),
        };
        typed.push((name.clone(), value));
    }
    let statement = query.statement(&typed)?;
    let session = Session::open_for(
        ask,
        query.params.iter().any(|param| is_common(&param.name)),
        screen,
    )?;
    let exit = session.exit();
    let settings = Settings {
        format,
        expanded: *expanded,
        timing: true,
    };
    let look = screen.look;
    let mut shell = Shell::new(session, settings, &mut screen.data, look, out);
    shell.feed_all(&format!("{statement};"))?;
    shell.finish()?;
    Ok(exit)
}

/// The names of all questions.
fn list(screen: &mut Terminal) -> anyhow::Result<Exit> {
    let groups = groups();
    let names = groups.iter().flat_map(|(_, questions)| questions);
    let width = names.map(|(name, _)| name.len()).max().unwrap_or(0);
    for (at, (title, questions)) in groups.iter().enumerate() {
        if at > 0 {
            writeln!(screen.data)?;
        }
        writeln!(screen.data, "{title}")?;
        for (name, doc) in questions {
            writeln!(screen.data, "  {name:width$}  {doc}")?;
        }
    }
    screen.say(
        "ask one with: iolode query NAME --lake LAKE; what it takes says iolode query NAME --help",
    );
    Ok(Exit::Done)
}

/// What an analysis finds, as a page or as JSON.
fn write_answers(
    common: &Common,
    analysis: &'static Analysis,
    values: Values,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    let as_json = match common.format.name {
        "table" => false,
        "json" => true,
        other => {
            return Err(Error::Invalid(format!(
                "{} is a page; --format {other} is for questions that are answered with rows: write table or json",
                analysis.name
            ))
            .into());
        }
    };
    analysis.check(&values)?;
    let out = common.output.as_deref().map(OutFile::create).transpose()?;
    let session = Session::open(&common.ask, screen)?;
    let exit = session.exit();
    let answers = session.answers(analysis, values)?;
    let text = match as_json {
        true => serde_json::to_string_pretty(&answers)? + "\n",
        false => {
            let pages: Vec<String> = answers.iter().map(Answer::page).collect();
            pages.join("\n")
        }
    };
    match out {
        Some(out) => out.write(&text)?,
        None => screen.data.write_all(text.as_bytes())?,
    }
    Ok(exit)
}
