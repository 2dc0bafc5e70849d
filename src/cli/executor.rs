//! What runs a statement, and what it knows of names; tests put another one in its place.

use crate::cli::output::Format;
use crate::cli::output::writer::{Sink, Style};
use crate::engine::Question;
use std::collections::BTreeMap;

/// One statement.
pub(crate) enum Ask<'a> {
    /// As it was typed.
    Sql(&'a str),
    /// A named query with the values of its parameters, and the units of its columns.
    Query(Box<Question>, Vec<Option<String>>),
}

/// Runs statements.
pub(crate) trait Executor {
    /// Runs one statement and writes its rows.
    ///
    /// # Errors
    /// Whatever keeps it from being answered; `interrupted` if the user stopped it.
    fn run(
        &mut self,
        ask: Ask<'_>,
        format: &Format,
        style: Style,
        sink: Sink<'_>,
    ) -> anyhow::Result<Ran>;

    /// Tables, columns and functions that statements can name.
    ///
    /// # Errors
    /// Those of the lake.
    fn names(&mut self) -> anyhow::Result<Names>;
}

/// What running a statement gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Rows written.
    pub(crate) rows: u64,
    /// Whether the statement has an answer at all.
    pub(crate) answered: bool,
    /// What was left out for want of room, why there are no rows, and with `--verbose` how the statement was run in another way than
    /// planned.
    pub(crate) notes: Vec<String>,
}

/// What statements can name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Columns of each table, in order, by `schema.table`.
    pub(crate) tables: BTreeMap<(String, String), Vec<String>>,
    /// Functions.
    pub(crate) functions: Vec<String>,
    /// Of those that users made: who keeps it, its name, how it is called, and its expression.
    pub(crate) users: Vec<[String; 4]>,
}

impl Names {
    /// One more column.
    pub(crate) fn add(&mut self, schema: &str, table: &str, column: &str) {
        let key = (schema.to_string(), table.to_string());
        self.tables.entry(key).or_default().push(column.to_string());
    }

    /// The columns of a table, by its name or `schema.name`.
    pub(crate) fn columns(&self, table: &str) -> Option<&[String]> {
        let (schema, name) = table
            .rsplit_once('.')
            .map_or((None, table), |(schema, name)| (Some(schema), name));
        let mut found = self
            .tables
            .iter()
            .filter(|((s, t), _)| t == name && schema.is_none_or(|schema| s == schema));
        found.next().map(|(_, columns)| columns.as_slice())
    }
}
