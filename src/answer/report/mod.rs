//! Reports: pages of questions that are asked together, week by week.
//!
//! In: a file of TOML ([`Report`]) and the period. Out: an [`Answer`] whose blocks are sections. `file` reads the file, `names` checks what it names, `lakes` has the rows of
//! questions, `head` says how much the logs explain, `section` asks and finds, `rows` makes tables, `html` writes the page that opens from disk (`rounded`
//! its numbers; `bundle` is of the build, and leaves of plotly.js what it needs), `mail` what a mail says of it, and `only` leaves one section.
//!
//! # Adding a report
//! One file `queries/reports/NAME.toml`; one line in [`REPORTS`].

#[cfg(test)]
mod bundle;
mod file;
mod head;
mod html;
mod lakes;
mod mail;
mod names;
mod only;
mod rounded;
mod rows;
mod section;

use crate::answer::answer::{Answer, Block, Parameter, Period, Section};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::source::moment::moment;
use chrono::DateTime;
use chrono_tz::Tz;
use datafusion::arrow::record_batch::RecordBatch;
pub use file::Report;
pub use html::{PLOTLY_FILE, Script, plotly};
use lakes::Lakes;

/// What is done with all rows of a section.
pub type EachSection<'a> = dyn FnMut(usize, &Section, &RecordBatch) -> Result<()> + Send + 'a;

macro_rules! reports {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../queries/reports/", $name, ".toml"))),)*] };
}

/// Every built-in report: its name and its file.
pub const REPORTS: &[(&str, &str)] = reports!["weekly", "iominer", "app", "job"];

/// The built-in report of that name.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name.
pub fn report(name: &str) -> Result<Report> {
    let found = REPORTS.iter().find(|(known, _)| *known == name);
    let known = REPORTS.iter().map(|(name, _)| *name);
    let (name, text) = found.ok_or_else(|| Error::unknown("report", name, known))?;
    Report::parse(&format!("queries/reports/{name}.toml"), text)
}

/// What a report says of the lakes of an engine, at one version of each; `given` are its parameters, `from` and `to` among them, as somebody types them.
///
/// A section whose question fails says so in its place: [`Answer::failed`] has its title.
///
/// # Errors
/// Those of the lakes; [`Error::Invalid`] or [`Error::Unknown`] for a value of no parameter, of another type than its parameter's, or that names what the lake does not
/// have, such as a program; [`Error::Unavailable`].
pub async fn answer(
    engine: &Engine,
    name: &str,
    report: &Report,
    given: &[(String, String)],
) -> Result<Answer> {
    answer_with_rows(engine, name, report, given, &mut |_, _, _| Ok(())).await
}

/// The same; `each` is called with all rows of a section's question, of which the section's table may have the first alone, and with the place of its block.
///
/// # Errors
/// As [`answer`], and those of `each`.
pub async fn answer_with_rows(
    engine: &Engine,
    name: &str,
    report: &Report,
    given: &[(String, String)],
    each: &mut EachSection<'_>,
) -> Result<Answer> {
    let (engine, lakes) = engine.pinned()?;
    let zone = engine.zone()?;
    let values = report.values(name, given)?;
    for asked in &report.sections {
        let (params, named) = asked.passed(given);
        engine.check_names(&params, &named).await?;
    }
    report.check_sql(&engine, &values).await?;
    let asked_lakes = Lakes::new(&engine);
    let mut head = vec![report.doc.clone()];
    if report.coverage {
        head.extend(head::lines(&asked_lakes, &values).await?);
    }
    let mut blocks = vec![Block::text(report.title.clone(), head)];
    for asked in &report.sections {
        let (section, rows) = section::section(&asked_lakes, report, asked, &values, zone).await?;
        if let Some(rows) = rows {
            each(blocks.len(), &section, &rows)?;
        }
        blocks.push(Block::Section(Box::new(section)));
    }
    Ok(Answer {
        analysis: name.to_string().into(),
        parameters: values
            .iter()
            .map(|(name, value)| Parameter {
                name: name.clone().into(),
                value: value.clone().into(),
            })
            .collect(),
        lakes,
        period: period(&values, zone)?,
        zone: Some(zone.name().to_string()),
        rests_on: vec![],
        citation: "",
        facts: serde_json::Value::Null,
        blocks,
    })
}

fn period(values: &[(String, String)], zone: Tz) -> Result<Option<Period>> {
    let at = |wanted: &str| {
        let found = values.iter().find(|(name, _)| name == wanted);
        let time = found
            .map(|(_, value)| moment(value, zone).map_err(Error::Invalid))
            .transpose()?;
        let time = time.and_then(DateTime::from_timestamp_micros);
        Ok::<_, Error>(time.map(|time| time.with_timezone(&zone).to_rfc3339()))
    };
    Ok(match (at("from")?, at("to")?) {
        (Some(from), Some(to)) => Some(Period { from, to }),
        _ => None,
    })
}

impl Answer {
    /// The titles of the sections that have no answer.
    pub fn failed(&self) -> Vec<&str> {
        let sections = self.blocks.iter().filter_map(|block| match block {
            Block::Section(section) => Some(section),
            _ => None,
        });
        let failed = sections.filter(|section| section.error.is_some());
        failed.map(|section| section.title.as_str()).collect()
    }
}
