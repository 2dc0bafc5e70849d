//! `iolode report`: a page of questions that are asked together.
//!
//! `args` has the options, `form` makes the page of an answer, `destination` knows where it goes: to a file, to a directory with a page for each period (`kept`), or
//! as a directory of CSV files (`csv_directory`). `browser` prints it and `mail` sends it, with `programs` of others. `timer` prints what runs the same `command_line` by a
//! `schedule`: units of `systemd`, or lines of `cron`.

mod args;
mod browser;
mod command_line;
mod cron;
mod csv_directory;
mod destination;
mod form;
mod kept;
mod mail;
mod programs;
mod schedule;
mod systemd;
mod timer;

use self::args::{Form, Place, is_file};
use self::browser::Browser;
use self::destination::Destination;
use self::kept::Period;
use self::mail::{Attached, Mailer};
use super::exit::Exit;
use super::lake_args::none_given;
use super::period::{between, named, period};
use super::query_args::QueryArgs;
use super::screen::Terminal;
use super::session::Session;
use super::site_zone::site_zone;
use crate::answer::answer::Answer;
use crate::answer::report::{self, EachSection, REPORTS, Report};
use crate::error::Error;
use crate::source;
use anyhow::Context;
pub(super) use args::Args;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use std::io::Write;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// Those of the report's file, of the lake and of the page.
pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let Some(name) = args.name.as_deref() else {
        return list(screen);
    };
    let (mut report, text) = read(name)?;
    if args.show {
        screen.data.write_all(text.as_bytes())?;
        return Ok(Exit::Done);
    }
    if let Some(section) = &args.png {
        report = report.only(section)?;
    }
    let form = form::form(args)?;
    let ask = args.ask.or_default_lake()?;
    if ask.lake.is_empty() && ask.logs.is_empty() {
        return Err(none_given("--lake LAKE, or logs as --logs PATH").into());
    }
    let site = site_zone(&ask)?;
    let (given, period) = values(args, &ask, site)?;
    let title = file_stem(name);
    destination::check(args, form, period)?;
    // A timer runs when nobody looks: it is refused what a run would be refused.
    report.values(&title, &given)?;
    if let Some(when) = args.timer {
        timer::run(args, form, when, &title, &ask, site, screen)?;
        return Ok(Exit::Done);
    }
    // What is missing is said before the questions are asked.
    let browser = form::browser_for(form).map(Browser::find).transpose()?;
    let mailer = match args.mail.is_empty() {
        true => None,
        false => Some(Mailer::find(&args.mail, args.mail_from.as_deref())?),
    };
    let is_terminal = screen.look.width.is_some();
    let destination = Destination::open(args, form, &title, period, is_terminal)?;
    let session = Session::open_for(&ask, true, screen)?;
    let exit = session.exit();
    let mut rows_writer: Box<EachSection<'static>> = match &destination {
        Destination::Directory(directory, _) => Box::new(directory.rows_writer(site)),
        _ => Box::new(|_, _, _| Ok(())),
    };
    let analysis = title.clone();
    let (mut answer, notes) = session.page(|engine| {
        Box::pin(async move {
            report::answer_with_rows(&engine, &analysis, &report, &given, &mut rows_writer).await
        })
    })?;
    notes.iter().for_each(|note| screen.say(note));
    let page = form::page(&answer, form, args.js, browser.as_ref())?;
    let attached = match &mailer {
        Some(_) => Some(attached(&answer, form, args.js, &page, &title, period)?),
        None => None,
    };
    match destination {
        Destination::Directory(directory, kept) => {
            directory.finish(&answer)?;
            kept.map_or(Ok(()), |kept| destination::publish(&kept, screen))?;
        }
        other => other.write(&page, args, form, screen)?,
    }
    let exit = end(&answer, exit, screen);
    if let (Some(mailer), Some(attached)) = (&mailer, &attached) {
        answer.shorten_for_mail();
        mailer.send(&answer, period.map(kept::label).as_deref(), attached)?;
    }
    Ok(exit)
}

/// Names of parameters and their values, as somebody types them.
type Given = Vec<(String, String)>;

/// The values of the report's parameters, and its period if that has both ends.
fn values(args: &Args, ask: &QueryArgs, site: Tz) -> anyhow::Result<(Given, Option<Period>)> {
    let mut given = vec![];
    for set in &args.set {
        let pair = set.split_once('=');
        let (name, value) = pair.with_context(|| format!("--set {set}: expected NAME=VALUE"))?;
        given.push((name.to_string(), value.to_string()));
    }
    let (dates, times) = match &args.period {
        Some(text) => {
            let today = Utc::now().with_timezone(&site).date_naive();
            let dates = named(text, today).map_err(Error::Invalid)?;
            let times = between(text, &dates, site);
            (dates.map(Some), times)
        }
        None => {
            let dates = [ask.from.clone(), ask.to.clone()];
            let [from, to] = dates.each_ref().map(Option::as_deref);
            let times = period(from, to, site);
            (dates, times)
        }
    };
    let (times, [from, to]) = (times.map_err(Error::Invalid)?, dates);
    given.extend(from.map(|from| ("from".to_string(), from)));
    given.extend(to.map(|to| ("to".to_string(), to)));
    Ok((given, in_zone(times, site)))
}

/// The page of a mail: the one that is written, if it opens without another file, else that of HTML.
fn attached(
    answer: &Answer,
    form: Form,
    js: Place,
    page: &[u8],
    title: &str,
    period: Option<Period>,
) -> anyhow::Result<Attached> {
    let name = match period {
        Some(period) => format!("{title}-{}", kept::label(period)),
        None => title.to_string(),
    };
    let (ending, kind, page) = match (form, js) {
        (Form::Pdf, _) => ("pdf", "application/pdf", page.to_vec()),
        (Form::Html, Place::Inside) => ("html", "text/html; charset=utf-8", page.to_vec()),
        _ => {
            let page = form::page(answer, Form::Html, Place::Inside, None)?;
            ("html", "text/html; charset=utf-8", page)
        }
    };
    Ok(Attached {
        name: format!("{name}.{ending}"),
        kind,
        page,
    })
}

/// A period with both ends, as the clocks of the site show them.
fn in_zone(times: source::Period, zone: Tz) -> Option<Period> {
    let local = |micros: i64| {
        let time = DateTime::from_timestamp_micros(micros)?;
        Some(time.with_timezone(&zone).naive_local())
    };
    Some([local(times.from?)?, local(times.to?)?])
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
    if !is_file(name) {
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

/// The names of the built-in reports.
fn list(screen: &mut Terminal) -> anyhow::Result<Exit> {
    for (name, _) in REPORTS {
        let report = report::report(name)?;
        writeln!(screen.data, "{name:10}  {}", report.doc)?;
    }
    screen.say("write one with: iolode report NAME --lake LAKE --out FILE.html");
    Ok(Exit::Done)
}
