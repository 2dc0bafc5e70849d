//! A section of a report: its question asked, and what its rows say.

use super::file::{Asked, Finding, PERIOD, Report};
use super::lakes::Lakes;
use super::rows;
use crate::answer::analysis::Analysis;
use crate::answer::answer::Section;
use crate::answer::chart::data::Data;
use crate::engine::rules::sentence::{JsonRow, fill};
use crate::engine::{Engine, Question};
use crate::error::{Error, Result};
use crate::text::shown;
use chrono_tz::Tz;
use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::record_batch::RecordBatch;
use serde_json::Value;

/// The answer to the question of a section, with all of its rows; one that fails says why in its place.
///
/// # Errors
/// [`Error::Unavailable`]: the others would wait for the same.
pub(super) async fn section(
    lakes: &Lakes<'_>,
    report: &Report,
    asked: &Asked,
    given: &[(String, String)],
    zone: Tz,
) -> Result<(Section, Option<RecordBatch>)> {
    let mut section = Section {
        title: asked.title.clone(),
        why: asked.why.clone(),
        ..Section::default()
    };
    if !asked.is_dated()
        && given
            .iter()
            .any(|(name, _)| PERIOD.contains(&name.as_str()))
    {
        section
            .notes
            .push("Of all times: this question takes no period.".into());
    }
    let filled = match asked.analysis() {
        Some(analysis) => analysed(&mut section, lakes.engine, analysis, asked, given)
            .await
            .map(|()| None),
        None => fill_in(&mut section, lakes, report, asked, given, zone)
            .await
            .map(Some),
    };
    match filled {
        Ok(rows) => Ok((section, rows)),
        Err(error @ Error::Unavailable(_)) => Err(error),
        Err(error) => {
            section.error = Some(error.to_string());
            Ok((section, None))
        }
    }
}

/// The blocks of the answers of an analysis.
async fn analysed(
    section: &mut Section,
    engine: &Engine,
    analysis: &Analysis,
    asked: &Asked,
    given: &[(String, String)],
) -> Result<()> {
    let values = analysis.values(&asked.values(given))?;
    let answers = (analysis.answers)(engine, &values).await?;
    let methods = answers.first().map(|answer| answer.citation);
    let methods = methods.filter(|citation| !citation.is_empty());
    section
        .notes
        .extend(methods.map(|citation| format!("Methods: {citation}.")));
    section.blocks = answers
        .into_iter()
        .flat_map(|answer| answer.blocks)
        .collect();
    Ok(())
}

async fn fill_in(
    section: &mut Section,
    lakes: &Lakes<'_>,
    report: &Report,
    asked: &Asked,
    given: &[(String, String)],
    zone: Tz,
) -> Result<RecordBatch> {
    let engine = lakes.engine;
    let question = question(engine, report, asked, given)?;
    section.sql = match asked.named() {
        // As somebody asks it: the statement has pages.
        Some(query) => query.call(&asked.values(given))?,
        None => question.statement.to_string(),
    };
    let answer = lakes.rows(question).await?;
    let (batch, schema) = (&answer.batch, answer.batch.schema());
    section.notes.extend(answer.notes.iter().cloned());
    let described = asked.named();
    let units: Vec<Option<String>> = match described {
        Some(query) => query
            .columns
            .iter()
            .map(|column| (!column.unit.is_empty()).then(|| column.unit.clone()))
            .collect(),
        None => {
            let stated = answer.units.iter().zip(schema.fields());
            let stated =
                stated.map(|(unit, field)| asked.units.get(field.name()).or(unit.as_ref()));
            stated.map(Option::<&String>::cloned).collect()
        }
    };
    section.findings = findings(lakes, report, asked, batch, given, zone).await?;
    let names = schema.fields().iter().map(|field| field.name().as_str());
    if let Some(chart) = asked.chart(names)? {
        let data = Data::new(&schema, &units, std::slice::from_ref(batch), zone)?;
        section.chart = chart.figure(&data)?;
        if section.chart.is_none() && !data.is_empty() {
            section
                .notes
                .push("The columns of the chart have no values.".into());
        }
        section
            .notes
            .extend(section.chart.iter().flat_map(|figure| figure.notes.clone()));
    }
    let described = described.map_or(&[][..], |query| &query.columns);
    let mut table = rows::table(batch, &units, &asked.columns, described, asked.rows, zone)?;
    match batch.num_rows() {
        0 => section.notes.push("There are no rows.".into()),
        n if n > table.len() => table
            .notes
            .push(format!("The first {} of {n} rows.", table.len())),
        _ => {}
    }
    section.table = Some(table);
    Ok(batch.clone())
}

fn question(
    engine: &Engine,
    report: &Report,
    asked: &Asked,
    given: &[(String, String)],
) -> Result<Question> {
    match (asked.named(), &asked.sql) {
        (Some(query), _) => query.question(&asked.values(given), engine.zone()?),
        (None, Some(sql)) => engine.question(sql.get_ref(), &report.all_params(), given),
        (None, None) => Err(Error::Invalid(format!(
            "section `{}` asks nothing",
            asked.title
        ))),
    }
}

/// The sentences of all findings.
async fn findings(
    lakes: &Lakes<'_>,
    report: &Report,
    asked: &Asked,
    batch: &RecordBatch,
    given: &[(String, String)],
    zone: Tz,
) -> Result<Vec<String>> {
    let mut places = JsonRow::new();
    for (name, value) in given {
        places.insert(name.clone(), value.clone().into());
    }
    places.insert("rows".into(), 0.into());
    places.insert("all_rows".into(), batch.num_rows().into());
    // What is missing, once it is looked for.
    let mut missing: Option<Option<String>> = None;
    let mut sentences = vec![];
    for finding in &asked.findings {
        let when = finding.when.as_ref().map(|when| when.get_ref().as_str());
        let rows = holding(lakes.engine, when, batch)?;
        if !rows.is_empty() {
            sentences.extend(said(finding, &rows, batch, &places, zone)?);
            continue;
        }
        let empty = finding.empty.as_ref().filter(|_| batch.num_rows() == 0);
        let text = match (empty, &finding.otherwise) {
            (Some(empty), _) => fill(empty.get_ref(), &places),
            (None, None) => continue,
            (None, Some(otherwise)) => {
                if missing.is_none() {
                    missing = Some(lacking(lakes, report, asked, batch, given, &places).await?);
                }
                let missing = missing.clone().flatten();
                missing.unwrap_or_else(|| fill(otherwise.get_ref(), &places))
            }
        };
        if !sentences.contains(&text) {
            sentences.push(text);
        }
    }
    Ok(sentences)
}

/// What is said of the first basis that is not there, if one is not.
async fn lacking(
    lakes: &Lakes<'_>,
    report: &Report,
    asked: &Asked,
    batch: &RecordBatch,
    given: &[(String, String)],
    places: &JsonRow,
) -> Result<Option<String>> {
    for name in &asked.needs {
        let basis = report.basis(name.get_ref())?;
        let is_there = match (&basis.sql, &basis.when) {
            (Some(sql), _) => {
                let params = report.all_params();
                let question = lakes.engine.question(sql.get_ref(), &params, given)?;
                lakes.remembered(question).await?.batch.num_rows() > 0
            }
            (None, when) => {
                let when = when.as_ref().map(|when| when.get_ref().as_str());
                !holding(lakes.engine, when, batch)?.is_empty()
            }
        };
        if !is_there {
            return Ok(Some(fill(basis.missing.get_ref(), places)));
        }
    }
    Ok(None)
}

/// The sentences of a finding about the rows for which its condition holds.
fn said(
    finding: &Finding,
    rows: &[usize],
    batch: &RecordBatch,
    places: &JsonRow,
    zone: Tz,
) -> Result<Vec<String>> {
    let mut places = places.clone();
    places.insert("rows".into(), rows.len().into());
    let sentence = |row: &usize| {
        let mut places = places.clone();
        places.extend(json_row(&batch.slice(*row, 1), zone)?);
        Ok(fill(finding.says.get_ref(), &places))
    };
    let mut sentences = rows
        .iter()
        .take(finding.most)
        .map(sentence)
        .collect::<Result<Vec<_>>>()?;
    match rows.len() - sentences.len() {
        _ if finding.most == 1 => {}
        0 => {}
        1 => sentences.push("One more row says the like.".into()),
        more => sentences.push(format!("{more} more rows say the like.")),
    }
    Ok(sentences)
}

/// The rows for which a condition holds.
fn holding(engine: &Engine, when: Option<&str>, batch: &RecordBatch) -> Result<Vec<usize>> {
    let Some(when) = when else {
        return Ok((0..batch.num_rows()).collect());
    };
    let mask = engine.condition(when, batch)?;
    Ok((0..mask.len())
        .filter(|row| mask.is_valid(*row) && mask.value(*row))
        .collect())
}

/// A row by the names of its columns, with its text escaped and its times as tables have them.
fn json_row(batch: &RecordBatch, zone: Tz) -> Result<JsonRow> {
    let bad = |why: String| Error::Invalid(format!("a row cannot be read: {why}"));
    let mut writer = LineDelimitedWriter::new(vec![]);
    writer
        .write(batch)
        .and_then(|()| writer.finish())
        .map_err(|e| bad(e.to_string()))?;
    let mut row: JsonRow =
        serde_json::from_slice(&writer.into_inner()).map_err(|e| bad(e.to_string()))?;
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if let (DataType::Timestamp(..), true) = (field.data_type(), column.is_valid(0)) {
            let cells = rows::cells_of(column, "", zone).map_err(|e| bad(e.to_string()))?;
            row.insert(field.name().clone(), cells[0].text.clone().into());
        }
    }
    let escaped = |value: Value| match value {
        Value::String(text) => Value::String(shown(&text).into_owned()),
        other => other,
    };
    Ok(row
        .into_iter()
        .map(|(name, value)| (name, escaped(value)))
        .collect())
}
