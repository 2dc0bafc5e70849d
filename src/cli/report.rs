//! `iolode report`: a page of questions that are asked together.

use super::exit::Exit;
use super::lake_args::none_given;
use super::period::{named, period, zone};
use super::query_args::QueryArgs;
use super::screen::Terminal;
use super::session::{Session, named as named_lake};
use super::shell::OutFile;
use crate::answer::answer::Answer;
use crate::answer::report::{self, PLOTLY_FILE, REPORTS, Report, Script};
use crate::error::Error;
use crate::lake::Lake;
use anyhow::Context;
use chrono::Utc;
use chrono_tz::Tz;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a page of questions with charts; without a name, list the reports
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A built-in report, or the TOML file of one
    #[arg(value_name = "NAME|FILE")]
    name: Option<String>,
    /// last-week, last-month, yesterday, 2018, 2018-01, 2018-W05, 2018-01-28 or FROM..TO, in the time zone of the lake (default: all times)
    #[arg(long, value_name = "PERIOD", conflicts_with_all = ["from", "to"])]
    period: Option<String>,
    /// The value of a parameter of the report
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The form of the page (default: what the ending of the file says, else text)
    #[arg(long, value_name = "FORMAT")]
    format: Option<Form>,
    /// Write the page to this file (created only when complete)
    #[arg(short, long, visible_alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where a page of HTML has the script that draws its charts: in the page, or as one file beside a series of pages
    #[arg(long, value_name = "PLACE", default_value = "inside")]
    js: Place,
    /// Print the file of the report, to make another of it
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    ask: QueryArgs,
}

const EXAMPLES: &str = "\
Exit code 1: some sections have no answer; the page says why, and has the others.

Examples:
  iolode report weekly --lake /scratch/lake --period last-week --out weekly.html
  iolode report weekly --show > ours.toml
  iolode report ours.toml --lake /scratch/lake --period 2026-09 -o ours.md";

/// Forms of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A page with charts, for a browser
    Html,
    /// Findings and tables as Markdown
    #[value(alias = "md")]
    Markdown,
    /// All values, with the charts
    Json,
    /// Findings and tables as text
    Text,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Place {
    Inside,
    Beside,
}

/// Runs the command.
///
/// # Errors
/// Those of the report's file, of the lake and of the page.
pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let Some(name) = args.name.as_deref() else {
        return list(screen);
    };
    let (report, text) = read(name)?;
    if args.show {
        screen.data.write_all(text.as_bytes())?;
        return Ok(Exit::Done);
    }
    let form = form(args)?;
    let ask = args.ask.or_default_lake()?;
    if ask.lake.is_empty() && ask.logs.is_empty() {
        return Err(none_given("--lake LAKE, or logs as --logs PATH").into());
    }
    let mut given = vec![];
    for set in &args.set {
        let pair = set.split_once('=');
        let (name, value) = pair.with_context(|| format!("--set {set}: expected NAME=VALUE"))?;
        given.push((name.to_string(), value.to_string()));
    }
    let site = site_zone(&ask)?;
    let times = match &args.period {
        Some(text) => {
            let today = Utc::now().with_timezone(&site).date_naive();
            named(text, today).map_err(Error::Invalid)?.map(Some)
        }
        None => [ask.from.clone(), ask.to.clone()],
    };
    period(times[0].as_deref(), times[1].as_deref(), site).map_err(Error::Invalid)?;
    let [from, to] = times;
    given.extend(from.map(|from| ("from".to_string(), from)));
    given.extend(to.map(|to| ("to".to_string(), to)));
    let out = args.out.as_deref().map(OutFile::create).transpose()?;
    let session = Session::open_for(&ask, true, screen)?;
    let exit = session.exit();
    let title = file_stem(name);
    let (answer, notes) = session.page(|engine| {
        Box::pin(async move { report::answer(&engine, &title, &report, &given).await })
    })?;
    notes.iter().for_each(|note| screen.say(note));
    let page = match form {
        Form::Html => answer.html(match args.js {
            Place::Inside => Script::Inside,
            Place::Beside => Script::Beside,
        })?,
        Form::Markdown => answer.markdown(),
        Form::Json => serde_json::to_string_pretty(&answer)? + "\n",
        Form::Text => answer.page(),
    };
    match out {
        Some(out) => {
            out.write(&page)?;
            if let (Form::Html, Place::Beside, Some(path)) = (form, args.js, args.out.as_deref()) {
                script_beside(path)?;
            }
        }
        None => screen.data.write_all(page.as_bytes())?,
    }
    Ok(end(&answer, exit, screen))
}

/// Says which sections have no answer.
fn end(answer: &Answer, exit: Exit, screen: &Terminal) -> Exit {
    let failed = answer.failed();
    if failed.is_empty() {
        return exit;
    }
    let (n, all) = (failed.len(), failed.join(", "));
    screen.say(format_args!("sections without an answer: {n}: {all}"));
    Exit::SomeFailed
}

/// The report of a name or file, and its text.
fn read(name: &str) -> anyhow::Result<(Report, String)> {
    let is_file = name.ends_with(".toml") || name.contains('/');
    if !is_file {
        let report = report::report(name)?;
        let text = REPORTS.iter().find(|(known, _)| *known == name);
        return Ok((report, text.map_or("", |(_, text)| text).to_string()));
    }
    let text =
        std::fs::read_to_string(name).map_err(|e| Error::io(Path::new(name), "cannot read", e))?;
    Ok((Report::parse(name, &text)?, text))
}

fn file_stem(name: &str) -> String {
    let stem = Path::new(name).file_stem();
    stem.map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned())
}

fn form(args: &Args) -> anyhow::Result<Form> {
    if let Some(form) = args.format {
        return Ok(form);
    }
    let Some(out) = &args.out else {
        return Ok(Form::Text);
    };
    let ending = out
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    Ok(match ending.as_str() {
        "html" | "htm" => Form::Html,
        "md" | "markdown" => Form::Markdown,
        "json" => Form::Json,
        "txt" | "text" => Form::Text,
        _ => anyhow::bail!(
            "--out {}: the ending says no form of a page; give one by --format: html, markdown, json, text",
            out.display()
        ),
    })
}

/// The zone of the period.
fn site_zone(ask: &QueryArgs) -> anyhow::Result<Tz> {
    Ok(match (&ask.timezone, ask.lake.first()) {
        (Some(name), _) => zone(name).map_err(Error::Invalid)?,
        (None, Some(lake)) => {
            let lake = Lake::open(named_lake(lake).1)?;
            lake.version_or(ask.version, None)?.site()?.zone()?
        }
        (None, None) => Tz::UTC,
    })
}

/// Writes plotly.js next to a page, unless it is there.
fn script_beside(page: &Path) -> anyhow::Result<()> {
    let path = page.with_file_name(PLOTLY_FILE);
    let script = report::plotly()?;
    let is_there = std::fs::metadata(&path).is_ok_and(|meta| meta.len() == script.len() as u64);
    if !is_there {
        OutFile::create(&path)?.write(&script)?;
    }
    Ok(())
}

/// The names of the built-in reports.
fn list(screen: &mut Terminal) -> anyhow::Result<Exit> {
    for (name, _) in REPORTS {
        let report = report::report(name)?;
        writeln!(screen.data, "{name:10}  {}", report.doc)?;
    }
    screen.say("write one with: iolode report NAME --lake LAKE --out FILE.html");
    Ok(Exit::Done)
}
