//! `iolode query`: questions that have a name.

use super::executor::Ask;
use super::exit::Exit;
use super::lake_args::none_given;
use super::output_args::OutputArgs;
use super::period::period;
use super::query_args::QueryArgs;
use super::screen::Terminal;
use super::session::Session;
use super::shell::Shell;
use super::site_zone::site_zone;
use crate::answer::analysis::{ANALYSES, Analysis};
use crate::answer::answer::Answer;
use crate::engine::queries::{FOLDERS, Param, ParamType, Query, queries, query};
use crate::error::Error;
use crate::source::moment::moment;
use chrono_tz::Tz;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use std::io::Write;

/// Run a built-in query; without a name, list them
pub(super) struct Args {
    common: Common,
    /// The values of its parameters, as they were typed.
    given: Vec<(String, String)>,
    asked: Option<Asked>,
}

/// What is asked.
#[derive(Clone, Copy)]
enum Asked {
    Query(&'static Query),
    Analysis(&'static Analysis),
}

impl Asked {
    fn params(self) -> Vec<Param> {
        match self {
            Self::Query(query) => query.params.clone(),
            Self::Analysis(analysis) => (analysis.params)(),
        }
    }
}

/// What is asked, and where the answer goes.
#[derive(clap::Args)]
pub(super) struct Common {
    #[command(flatten)]
    pub(super) ask: QueryArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

const EXAMPLES: &str = "\
Times are dates, or dates with a time, in the time zone of the lake; an offset or Z behind them is honoured, \
as in 2026-09-11T12:00Z. Times in the answer are in the zone of the lake too, with their offset. \
`iolode schema NAME` describes the columns. In SQL a named query is a table function, whose times are UTC:
  select * from ost_fullness(above => 80) where fs = 'scratch'

Examples:
  iolode query                       # lists the questions
  iolode query coverage --lake /scratch/lake
  iolode query logs_at_time --lake /scratch/lake --fs scratch --ost 17 \\
    --from 2026-09-11T12:00 --to 2026-09-11T13:00";

/// The heading of what all queries take, in the help of one.
const COMMON: &str = "Options of all queries";

/// Parameters that have the name of an option that all commands with a lake have: they may stand before the name of the query as well.
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
        // They may stand before the name or after it; the help of a query shows them behind its parameters.
        let mut places = 100..;
        let common = |arg: Arg| {
            let place = places.next().unwrap_or(100);
            arg.global(true).help_heading(COMMON).display_order(place)
        };
        let command = command.mut_args(common).mut_arg("from", |arg| {
            arg.help("Start time, for queries that take one; with --logs or --ingest: only logs that start then or later")
        });
        let command = command.mut_arg("to", |arg| {
            arg.help("End (exclusive); with --logs or --ingest: only logs that start before")
        });
        let command = queries().iter().fold(command, |command, query| {
            command.subcommand(without_period(subcommand(query)))
        });
        let command = ANALYSES.iter().fold(command, |command, analysis| {
            command.subcommand(without_period(page_command(analysis)))
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

/// With --from and --to as they are for a query that has no period of its own: those of the logs that are read or imported first.
fn without_period(command: Command) -> Command {
    let taken = |name: &str| command.get_arguments().any(|arg| arg.get_id() == name);
    let described = <QueryArgs as clap::Args>::augment_args(Command::new(""));
    let order = |arg: &Arg| {
        described
            .get_arguments()
            .position(|known| known.get_id() == arg.get_id())
    };
    let added = described.get_arguments().filter(|arg| {
        let name = arg.get_id().as_str();
        is_common(name) && !taken(name)
    });
    let added = added.map(|arg| {
        let place = 100 + order(arg).unwrap_or(0);
        arg.clone().help_heading(COMMON).display_order(place)
    });
    let added: Vec<Arg> = added.collect();
    command.args(added)
}

/// Words behind a command, on lines of at most 80 columns together with `before` characters in front of the first, and `indent`
/// blanks in front of the others; `end` stands where a line is continued.
fn wrapped(command: &str, words: Vec<String>, before: usize, indent: usize, end: &str) -> String {
    let mut lines = command.to_string();
    let mut length = before + command.len();
    for word in words {
        if length + 1 + word.len() + end.len() > 80 {
            lines += &format!("{end}\n{}{word}", " ".repeat(indent));
            length = indent + word.len();
        } else {
            lines += &format!(" {word}");
            length += 1 + word.len();
        }
    }
    lines
}

/// How a query is called, with the values that it needs.
fn usage(name: &str, params: &[Param]) -> String {
    let needed = params.iter().filter(|param| param.default.is_none());
    let needed = needed.map(|param| format!("--{} <{}>", param.flag(), placeholder(param.kind)));
    let mut words = vec!["[--lake LAKE|--logs PATH]".to_string()];
    words.extend(needed);
    words.push("[OPTIONS]".into());
    wrapped(
        &format!("iolode query {name}"),
        words,
        "Usage: ".len(),
        9,
        "",
    )
}

/// A call with example values.
fn example_of(name: &str, params: &[Param]) -> String {
    let needed = params.iter().filter(|param| param.default.is_none());
    let needed = needed.map(|param| format!("--{} {}", param.flag(), example(param)));
    let mut words = vec!["--lake /scratch/lake".to_string()];
    words.extend(needed);
    wrapped(&format!("iolode query {name}"), words, 2, 4, " \\")
}

fn subcommand(query: &'static Query) -> Command {
    let usage = usage(query.name, &query.params);
    let source = match query.source.as_str() {
        "" => String::new(),
        source => format!("\nSource: {source}\n"),
    };
    let needs = match &query.analysis {
        None => String::new(),
        Some(analysis) => format!("\nIt asks the results of iolode analyze {analysis}.\n"),
    };
    let examples = format!(
        "A row is {}; its columns: iolode schema {}\n{needs}{source}\nExample:\n  {}",
        query.grain,
        query.name,
        example_of(query.name, &query.params)
    );
    let command = Command::new(query.name)
        .visible_aliases(query.aliases.iter().map(String::as_str))
        .about(query.doc.clone())
        .override_usage(usage)
        .after_help(examples);
    let params = query.params.iter();
    params.fold(command, |command, param| command.arg(option(param)))
}

/// The command of an analysis.
fn page_command(analysis: &'static Analysis) -> Command {
    let params = (analysis.params)();
    let name = analysis.name;
    let command = Command::new(name)
        .about(analysis.doc)
        .override_usage(usage(name, &params))
        .after_help(format!(
            "The answer is a page of text; with --format markdown the same as Markdown, with --format json an array of objects, whose facts and blocks \
             hold the numbers.\n\n\
             Example:\n  {}",
            example_of(name, &params)
        ));
    let params = params.iter();
    params.fold(command, |command, param| command.arg(option(param)))
}

/// The option for a parameter.
fn option(param: &Param) -> Arg {
    let mut help = param.doc.clone();
    if let Some([least, most]) = param.range {
        help.push_str(&format!(" [{least} to {most}]"));
    }
    if let Some(default) = param.typed_default() {
        help.push_str(&format!(" [default: {default}]"));
    }
    let arg = Arg::new(param.name.clone())
        .long(param.flag())
        .alias(param.name.clone())
        .aliases(param.aliases.clone())
        .help(help);
    let arg = match param.values.is_empty() {
        true => arg,
        false => arg.value_parser(PossibleValuesParser::new(param.values.clone())),
    };
    // `--long` alone is `--long true`.
    let arg = match param.kind {
        ParamType::Bool => arg.num_args(0..=1).default_missing_value("true"),
        _ => arg.allow_hyphen_values(true),
    };
    arg.value_name(placeholder(param.kind))
        .required(param.default.is_none() && !is_common(&param.name))
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
        ParamType::Text => "scratch",
        ParamType::Timestamp if param.name == "to" => "2026-09-12",
        ParamType::Timestamp => "2026-09-11",
        ParamType::Int if param.name == "job" => "6102078",
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
                given: vec![],
                asked: None,
            });
        };
        let unknown =
            |e: Error| clap::Error::raw(clap::error::ErrorKind::InvalidSubcommand, e.to_string());
        let asked = match ANALYSES.iter().find(|analysis| analysis.name == name) {
            Some(analysis) => Asked::Analysis(analysis),
            None => Asked::Query(query(name).map_err(unknown)?),
        };
        let given = asked.params().into_iter().filter_map(|param| {
            let value = match param.name.as_str() {
                "from" => common.ask.from.clone(),
                "to" => common.ask.to.clone(),
                name => values.get_one::<String>(name).cloned(),
            };
            Some((param.name, value?))
        });
        Ok(Self {
            given: given.collect(),
            common,
            asked: Some(asked),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let output = &args.common.output;
    let Some(asked) = args.asked else {
        return list(screen);
    };
    // What is wrong with the parameters is said before a lake is looked for.
    match asked {
        Asked::Query(query) => drop(query.question(&args.given, Tz::UTC)?),
        Asked::Analysis(analysis) => drop(analysis.values(&args.given)?),
    }
    let ask = &args.common.ask.or_default_lake()?;
    if ask.lake.is_empty() && ask.logs.is_empty() {
        return Err(none_given("--lake LAKE, or logs as --logs PATH").into());
    }
    let typed = typed(&args.given, &asked.params(), ask)?;
    let query = match asked {
        Asked::Query(query) => query,
        Asked::Analysis(analysis) => {
            return write_answers(ask, output, analysis, &typed, screen);
        }
    };
    let question = query.question(&typed, site_zone(ask)?)?;
    let out = output.file()?;
    let session = Session::open_for(
        ask,
        query.params.iter().any(|param| is_common(&param.name)),
        screen,
    )?;
    let exit = session.exit();
    let look = screen.look;
    let mut shell = Shell::new(session, output.settings(), &mut screen.data, look, out);
    let units = query.columns.iter().map(|column| &column.unit);
    let units = units.map(|unit| (!unit.is_empty()).then(|| unit.clone()));
    shell.run(Ask::Query(Box::new(question), units.collect()))?;
    shell.finish()?;
    Ok(exit)
}

/// Values as queries take them: times, which are in the zone of the site if they say no offset, in UTC.
fn typed(
    given: &[(String, String)],
    params: &[Param],
    ask: &QueryArgs,
) -> anyhow::Result<Vec<(String, String)>> {
    let is_time = |name: &str| {
        let mut params = params.iter();
        params.any(|param| param.name == name && param.kind == ParamType::Timestamp)
    };
    if !given.iter().any(|(name, _)| is_time(name)) {
        return Ok(given.to_vec());
    }
    let site = site_zone(ask)?;
    let value = |wanted: &str| {
        let found = given.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    period(value("from"), value("to"), site).map_err(Error::Invalid)?;
    let typed = given.iter().map(|(name, value)| {
        let mut value = value.clone();
        if is_time(name) {
            let micros =
                moment(&value, site).map_err(|why| Error::Invalid(format!("--{name} {why}")))?;
            if let Some(time) = chrono::DateTime::from_timestamp_micros(micros) {
                value = time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
            }
        }
        Ok((name.clone(), value))
    });
    typed.collect()
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
        "ask one with: iolode query NAME --lake LAKE; for its options: iolode query NAME --help",
    );
    Ok(Exit::Done)
}

/// What an analysis finds, as a page or as JSON.
///
/// # Errors
/// If the form is none of a page, and those of the analysis.
pub(super) fn write_answers(
    ask: &QueryArgs,
    output: &OutputArgs,
    analysis: &'static Analysis,
    given: &[(String, String)],
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    let text: fn(&[Answer]) -> anyhow::Result<String> = match output.format().name {
        "table" => |answers| Ok(pages(answers, Answer::page)),
        "markdown" => |answers| Ok(pages(answers, Answer::markdown)),
        "json" => |answers| Ok(serde_json::to_string_pretty(answers)? + "\n"),
        other => {
            return Err(Error::Invalid(format!(
                "{} is a page; --format {other} is for questions that are answered with rows: write table, markdown or json",
                analysis.name
            ))
            .into());
        }
    };
    output.for_page(analysis.name)?;
    let values = analysis.values(given)?;
    let out = output.file()?;
    let takes_period = (analysis.params)();
    let takes_period = takes_period.iter().any(|param| is_common(&param.name));
    let session = Session::open_for(ask, takes_period, screen)?;
    let exit = session.exit();
    let (answers, notes) = session
        .page(|engine| Box::pin(async move { (analysis.answers)(&engine, &values).await }))?;
    notes.iter().for_each(|note| screen.say(note));
    let text = text(&answers)?;
    match out {
        Some(out) => out.write(text.as_bytes())?,
        None => screen.data.write_all(text.as_bytes())?,
    }
    Ok(exit)
}

fn pages(answers: &[Answer], page: fn(&Answer) -> String) -> String {
    let pages: Vec<String> = answers.iter().map(page).collect();
    pages.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args as _;

    fn command() -> Command {
        Args::augment_args(Command::new("query"))
    }

    #[test]
    fn a_period_may_stand_before_the_name_of_a_query_or_after_it() {
        let period = ["--from", "2026-09-01", "--to", "2026-09-02"];
        let before = [&["query"], &period[..], &["coverage"]].concat();
        let after = [&["query", "coverage"], &period[..]].concat();
        for words in [before, after] {
            let matches = command().try_get_matches_from(&words).unwrap();
            let args = Args::from_arg_matches(&matches).unwrap();
            let given = [("from", "2026-09-01"), ("to", "2026-09-02")];
            let given = given.map(|(name, value)| (name.to_string(), value.to_string()));
            assert_eq!(args.given, given, "{words:?}");
            assert_eq!(args.common.ask.from.as_deref(), Some("2026-09-01"));
        }
    }

    #[test]
    fn the_help_of_a_query_begins_with_all_of_its_parameters() {
        for query in queries() {
            let help = command().try_get_matches_from(["query", query.name, "--help"]);
            let help = help.unwrap_err().to_string();
            let place = |flag: &str| {
                let ends = [' ', '\n'].map(|end| help.find(&format!("\n      --{flag}{end}")));
                ends.into_iter()
                    .flatten()
                    .min()
                    .unwrap_or_else(|| panic!("--{flag}: {help}"))
            };
            for param in &query.params {
                assert!(place(&param.flag()) < place("lake"), "{help}");
            }
        }
    }
}
