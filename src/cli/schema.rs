//! `iolode schema`: the tables and their columns, as `schemas/*/*.toml`, the views and the named queries describe them.

use super::executor::Names;
use super::exit::Exit;
use super::output::Format;
use super::output::format_parser;
use super::output::writer::{Sink, Style};
use super::screen::Terminal;
use crate::answer::analysis::ANALYSES;
use crate::engine::functions::{AGGREGATE, FunctionDoc, SCALAR};
use crate::engine::queries::{QueryColumn, queries};
use crate::engine::views::{VIEWS, view, views};
use crate::error::Error;
use crate::table::{TABLES, table, tables};
use crate::text::shown;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use std::io::Write as _;
use std::sync::Arc;

/// List the tables, or the columns of one with unit and meaning
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  iolode schema
  iolode schema darshan_file
  iolode schema coverage
  iolode schema darshan_posix --format csv")]
pub(super) struct Args {
    /// A table, a view, a named query, a page or a function
    table: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    format: &'static Format,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let style = Style {
        look: screen.look,
        ..Style::default()
    };
    let note = match &args.table {
        None => {
            let style = sentences(style);
            args.format.write(&mut screen.data, &all()?, style)?
        }
        Some(name) => {
            let known = TABLES
                .iter()
                .map(|(name, _)| *name)
                .chain(VIEWS.iter().map(|(name, _)| *name))
                .chain(queries().iter().map(|query| query.name))
                .chain(ANALYSES.iter().map(|analysis| analysis.name))
                .chain(pages().map(|page| page.name));
            match (described(name), function(name, &[])) {
                (Some(described), _) => described.show(args.format, &mut screen.data, style)?,
                (None, Ok(page)) if args.format.name == "table" => {
                    writeln!(screen.data, "{page}")?;
                    None
                }
                (None, Ok(_)) => {
                    let why = format!(
                        "{name} is a function, whose page is text; --format is for tables, views and named queries"
                    );
                    return Err(Error::Invalid(why).into());
                }
                (None, Err(_)) => return Err(Error::unknown("table", name, known).into()),
            }
        }
    };
    note.into_iter().for_each(|note| screen.say(note));
    Ok(Exit::Done)
}

/// A table, view or named query with its columns, or an analysis with its parameters.
pub(super) struct Described {
    /// What a row is, and what identifies it.
    heading: String,
    /// The names of what follows.
    names: &'static [&'static str],
    /// A line for each column, or parameter.
    lines: Vec<Vec<String>>,
}

/// What is said of a column.
const OF_COLUMNS: &[&str] = &["column", "type", "unit", "null", "meaning", "source"];
/// What is said of a parameter.
const OF_PARAMETERS: &[&str] = &["parameter", "type", "default", "meaning"];
/// What takes several lines where the terminal is narrow; the types of structures are long, too.
const SENTENCES: &[&str] = &["type", "meaning", "source", "about", "gives"];

/// What is known about a table, view, named query or analysis of that name; None if it is none of them.
pub(super) fn described(name: &str) -> Option<Described> {
    let of_columns = |heading: String, columns: Vec<[&str; 6]>| Described {
        heading,
        names: OF_COLUMNS,
        lines: columns
            .iter()
            .map(|column| column.map(str::to_string).to_vec())
            .collect(),
    };
    if let Ok(table) = table(name) {
        let columns = table.columns.iter().map(|column| {
            let null = if column.null { "" } else { "never" };
            let (name, kind, unit) = (&column.name, &column.type_name, &column.unit);
            [name, kind, unit, null, &column.doc, &column.source]
        });
        let heading = format!("{name}: {}; key {}", table.doc, table.key.join(", "));
        return Some(of_columns(heading, columns.collect()));
    }
    let of_query = |columns: &'static [QueryColumn]| -> Vec<[&str; 6]> {
        let columns = columns.iter();
        columns
            .map(|column| {
                let (name, kind, unit) = (&column.name, &column.type_name, &column.unit);
                [name, kind, unit, "", &column.doc, ""]
            })
            .collect()
    };
    if let Some(query) = queries().iter().find(|query| query.is_called(name)) {
        let heading = format!(
            "{}, a named query: {}; a row is {}",
            query.usage(),
            query.doc,
            query.grain
        );
        return Some(of_columns(heading, of_query(&query.columns)));
    }
    if let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == name) {
        let params = (analysis.params)();
        let lines = params.iter().map(|param| {
            let default = match (param.typed_default(), &param.default) {
                (Some(default), _) => default,
                (None, Some(_)) => String::new(),
                (None, None) => "must be given".into(),
            };
            let kind = format!("{:?}", param.kind);
            vec![
                format!("--{}", param.flag()),
                kind,
                default,
                param.doc.clone(),
            ]
        });
        return Some(Described {
            heading: format!(
                "{name}, a page: {}; `iolode query {name}` writes it, with --format json as blocks with their numbers",
                analysis.doc
            ),
            names: OF_PARAMETERS,
            lines: lines.collect(),
        });
    }
    let view = view(name)?;
    let heading = format!("{name}, a view: {}; key {}", view.doc, view.key.join(", "));
    Some(of_columns(heading, of_query(&view.columns)))
}

impl Described {
    /// Writes the columns, for a person with the heading above; answers what was left out.
    pub(super) fn show(
        &self,
        format: &Format,
        sink: Sink<'_>,
        style: Style,
    ) -> anyhow::Result<Option<String>> {
        if format.name == "table" {
            writeln!(sink, "{}\n", self.heading)?;
        }
        let column = |at: usize| -> Vec<&str> {
            let lines = self.lines.iter();
            lines.map(|line| line[at].as_str()).collect()
        };
        let columns = self.names.iter().enumerate();
        let mut columns: Vec<(&str, Vec<&str>)> =
            columns.map(|(at, name)| (*name, column(at))).collect();
        let mut left_out = vec![];
        if let (Some(room), "table") = (style.look.width, format.name) {
            // Where a value comes from gives way first, then what takes room from the meaning.
            for (name, meaning) in [("source", usize::MAX), ("null", 24)] {
                let at = columns.iter().position(|(known, _)| *known == name);
                if let Some(at) = at.filter(|_| room < width(&columns, meaning)) {
                    columns.remove(at);
                    left_out.push(name);
                }
            }
        }
        let note = format.write(sink, &texts(&columns)?, sentences(style))?;
        Ok(note.or_else(|| {
            let names = left_out.join(" and ");
            (!left_out.is_empty()).then(|| {
                format!(
                    "without {names}, for which the terminal is too narrow; --format csv has all"
                )
            })
        }))
    }
}

/// Characters that a table of these columns takes, if sentences take so many at most.
fn width(columns: &[(&str, Vec<&str>)], sentence: usize) -> usize {
    let columns = columns.iter().map(|(name, values)| {
        let widths = values.iter().chain([name]).map(|text| text.chars().count());
        let widest = widths.max().unwrap_or(0);
        3 + match SENTENCES.contains(name) {
            true => widest.min(sentence),
            false => widest,
        }
    });
    columns.sum()
}

/// The style in which names stay whole and sentences are wrapped.
pub(super) fn sentences(style: Style) -> Style {
    Style {
        sentences: SENTENCES,
        ..style
    }
}

/// Every table, view, named query and page: name, and what its rows or its answer are about.
fn all() -> anyhow::Result<RecordBatch> {
    let (mut names, mut docs) = (vec![], vec![]);
    for table in tables() {
        names.push(table.name.as_str());
        docs.push(table.doc.as_str());
    }
    for view in views() {
        names.push(view.name);
        docs.push(&view.doc);
    }
    let questions: Vec<String> = queries()
        .iter()
        .map(|query| format!("{}()", query.name))
        .collect();
    for (question, query) in questions.iter().zip(queries()) {
        names.push(question);
        docs.push(&query.doc);
    }
    for analysis in ANALYSES {
        names.push(analysis.name);
        docs.push(analysis.doc);
    }
    texts(&[("table", names), ("about", docs)])
}

/// The same for the tables that a session has, under their schemas, then the named queries of every lake; tables that nobody described have
/// no meaning.
pub(super) fn of_names(names: &Names) -> anyhow::Result<RecordBatch> {
    let doc = |name: &str| match (table(name), view(name)) {
        (Ok(table), _) => table.doc.as_str(),
        (_, Some(view)) => view.doc.as_str(),
        _ => "",
    };
    // In the order of the schema files, where the important ones stand first.
    let place = |name: &str| {
        TABLES
            .iter()
            .position(|(table, _)| *table == name)
            .unwrap_or(TABLES.len())
    };
    let mut tables: Vec<_> = names.tables.keys().collect();
    tables.sort_by_key(|(schema, table)| (schema, place(table), table));
    let (mut schemas, mut shown, mut docs) = (vec![], vec![], vec![]);
    for (schema, table) in tables {
        schemas.push(schema.as_str());
        shown.push(table.as_str());
        docs.push(doc(table));
    }
    let questions: Vec<String> = queries()
        .iter()
        .map(|query| format!("{}()", query.name))
        .collect();
    if !names.tables.is_empty() {
        for (question, query) in questions.iter().zip(queries()) {
            schemas.push("");
            shown.push(question);
            docs.push(&query.doc);
        }
    }
    texts(&[("lake", schemas), ("table", shown), ("about", docs)])
}

fn pages() -> impl Iterator<Item = &'static FunctionDoc> {
    SCALAR
        .iter()
        .map(|function| &function.doc)
        .chain(AGGREGATE.iter().map(|function| &function.doc))
}

/// Every SQL function that users made or iolode adds: how it is called, and what it gives.
pub(super) fn functions(users: &[[String; 4]]) -> anyhow::Result<RecordBatch> {
    let (mut syntax, mut description) = (vec![], vec![]);
    let texts_of_users: Vec<String> = users.iter().map(|f| format!("RETURN {}", f[3])).collect();
    for ([.., call, _], text) in users.iter().zip(&texts_of_users) {
        syntax.push(call.as_str());
        description.push(text.as_str());
    }
    for page in pages() {
        syntax.push(page.syntax);
        description.push(page.description);
    }
    texts(&[("function", syntax), ("gives", description)])
}

/// The page of a function, with its example and the answer to it; of a user's, its expression.
///
/// # Errors
/// [`Error::Unknown`] if neither a user made nor iolode adds such a function.
pub(super) fn function(name: &str, users: &[[String; 4]]) -> anyhow::Result<String> {
    if let Some([keeper, _, call, text]) = users.iter().find(|user| user[1] == name) {
        let [keeper, call, text] = [keeper, call, text].map(|part| shown(part));
        return Ok(format!("{call}\n  RETURN {text}\n  kept by {keeper}"));
    }
    let page = pages().find(|page| page.name == name);
    let known = pages().map(|page| page.name);
    let known = known.chain(users.iter().map(|user| user[1].as_str()));
    let page = page.ok_or_else(|| Error::unknown("function", name, known))?;
    let arguments: Vec<String> = page
        .arguments
        .iter()
        .map(|(name, text)| format!("  {name}: {text}"))
        .collect();
    Ok(format!(
        "{}\n  {}\n{}\nExample:\n  {}\n  {}",
        page.syntax,
        page.description,
        arguments.join("\n"),
        page.example,
        page.answer
    ))
}

/// Columns of text as rows.
pub(super) fn texts(columns: &[(&str, Vec<&str>)]) -> anyhow::Result<RecordBatch> {
    let columns = columns.iter().map(|(name, values)| {
        (
            *name,
            Arc::new(StringArray::from_iter_values(values)) as ArrayRef,
        )
    });
    Ok(RecordBatch::try_from_iter(columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::format;
    use crate::cli::screen::TerminalStyle;

    /// What is shown of a table on a terminal of so many columns, and what is said of it.
    fn on_terminal(name: &str, width: usize) -> (String, Option<String>) {
        let style = Style {
            look: TerminalStyle {
                width: Some(width),
                color: false,
            },
            ..Style::default()
        };
        let mut out = vec![];
        let table = format("table").unwrap();
        let note = described(name).unwrap().show(table, &mut out, style);
        (String::from_utf8(out).unwrap(), note.unwrap())
    }

    #[test]
    fn a_narrow_terminal_shows_all_names_and_meanings_and_leaves_out_sources_first() {
        let (wide, note) = on_terminal("darshan_file", 1000);
        assert!(wide.contains("| source") && note.is_none());
        for (name, _) in TABLES {
            let (text, note) = on_terminal(name, 80);
            let table = text.split_once("\n\n").unwrap().1;
            assert!(
                table.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            let header = table.lines().next().unwrap();
            assert!(!text.contains('…') && !header.contains("source"), "{text}");
            assert!(
                note.is_some_and(|note| note.starts_with("without source")),
                "{text}"
            );
            for column in &crate::table::table(name).unwrap().columns {
                assert!(
                    table.contains(&format!("\n {} ", column.name)),
                    "{}",
                    column.name
                );
                let last = column.doc.split(' ').next_back().unwrap();
                // A word that is longer than its column is cut in two.
                let is_whole = last.len() <= 16;
                assert!(!is_whole || table.contains(last), "{}: {last}", column.name);
            }
        }
    }

    #[test]
    fn every_table_and_view_can_be_described() {
        for name in TABLES
            .iter()
            .map(|(name, _)| *name)
            .chain(VIEWS.iter().map(|(name, _)| *name))
            .chain(queries().iter().map(|query| query.name))
        {
            let described = described(name).unwrap();
            assert!(described.heading.starts_with(name));
            assert!(!described.lines.is_empty());
        }
        for analysis in ANALYSES {
            let described = described(analysis.name).unwrap();
            assert_eq!(described.lines.len(), (analysis.params)().len());
        }
        assert!(described("darshan_lgo").is_none());
    }
}
