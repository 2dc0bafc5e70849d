//! `iolode schema`: the tables and their columns, as `schemas/*/*.toml`, the views and the named queries describe them.

use super::executor::Names;
use super::exit::Exit;
use super::output::Format;
use super::output::format_parser;
use super::output::writer::{Sink, Style};
use super::screen::Terminal;
use crate::engine::functions::{AGGREGATE, FunctionDoc, SCALAR};
use crate::engine::queries::queries;
use crate::engine::views::{VIEWS, view, views};
use crate::error::Error;
use crate::table::{TABLES, table, tables};
use crate::text::shown;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
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
    /// A table, a view or a named query
    table: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    format: &'static Format,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let style = Style {
        look: screen.look,
        expanded: false,
    };
    let note = match &args.table {
        None => args.format.write(&mut screen.data, &all()?, style)?,
        Some(name) => {
            let known = TABLES
                .iter()
                .map(|(name, _)| *name)
                .chain(VIEWS.iter().map(|(name, _)| *name))
                .chain(queries().iter().map(|query| query.name));
            let described = described(name).ok_or_else(|| Error::unknown("table", name, known))?;
            described.show(args.format, &mut screen.data, style)?
        }
    };
    note.into_iter().for_each(|note| screen.say(note));
    Ok(Exit::Done)
}

/// A table, view or named query with its columns.
pub(super) struct Described {
    /// What a row is, and what identifies it.
    heading: String,
    columns: Vec<[String; 6]>,
}

/// What is known about a table, view or named query of that name; None if it is none of them.
pub(super) fn described(name: &str) -> Option<Described> {
    if let Ok(table) = table(name) {
        let columns = table.columns.iter().map(|column| {
            let null = if column.null { "" } else { "never" };
            [
                &column.name,
                &column.type_name,
                &column.unit,
                null,
                &column.doc,
                &column.source,
            ]
            .map(str::to_string)
        });
        return Some(Described {
            heading: format!("{name}: {}; key {}", table.doc, table.key.join(", ")),
            columns: columns.collect(),
        });
    }
    if let Some(query) = queries().iter().find(|query| query.is_called(name)) {
        let columns = query.columns.iter().map(|column| {
            [
                &column.name,
                &column.type_name,
                &column.unit,
                "",
                &column.doc,
                "",
            ]
            .map(str::to_string)
        });
        return Some(Described {
            heading: format!(
                "{}, a named query: {}; a row is {}",
                query.usage(),
                query.doc,
                query.grain
            ),
            columns: columns.collect(),
        });
    }
    let view = view(name)?;
    let columns = view.columns.iter().map(|column| {
        [
            &column.name,
            &column.type_name,
            &column.unit,
            "",
            &column.doc,
            "",
        ]
        .map(str::to_string)
    });
    Some(Described {
        heading: format!("{name}, a view: {}; key {}", view.doc, view.key.join(", ")),
        columns: columns.collect(),
    })
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
        let column = |at: usize| {
            self.columns
                .iter()
                .map(|column| column[at].as_str())
                .collect()
        };
        let names = ["column", "type", "unit", "null", "meaning", "source"];
        let columns: Vec<(&str, Vec<&str>)> = names
            .into_iter()
            .enumerate()
            .map(|(at, name)| (name, column(at)))
            .collect();
        format.write(sink, &texts(&columns)?, style)
    }
}

/// Every table and view: name, and what a row is.
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
    texts(&[("table", names), ("a row is", docs)])
}

/// The same for the tables that a session has, under their schemas; those that nobody described have no meaning.
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
    texts(&[("lake", schemas), ("table", shown), ("a row is", docs)])
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
            assert!(!described.columns.is_empty());
        }
        assert!(described("darshan_lgo").is_none());
    }
}
