//! Views that every lake has: `queries/views/*.sql`, SQL over its tables, nothing else.
//!
//! # Adding a view
//! One file `queries/views/NAME.sql`: its front matter (what a row is, the columns that identify it, all columns as they come, which a test compares
//! with the plan; `TABLE.*` stands for those of a table that are not there yet), then its SQL with the key columns of the tables first, so that a condition on job_id reaches the scans; one line in [`VIEWS`]; an
//! `.slt`.

use crate::engine::queries::QueryColumn;
use crate::engine::queries::front_matter::front_matter;
use crate::error::{Error, Result};
use crate::table::table;
use serde::Deserialize;
use std::sync::OnceLock;

macro_rules! views {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../queries/views/", $name, ".sql")))),*] };
}

/// Every view, in the order in which they are shown: its name, and its file.
pub const VIEWS: &[(&str, &str)] = views![
    "darshan_log_group",
    "darshan_job",
    "darshan_file_category",
    "darshan_log_twin",
    "job",
    "file",
    "slurm_job_io",
    "log_facts",
];

/// A view.
#[derive(Debug)]
pub struct View {
    /// Name in SQL.
    pub name: &'static str,
    /// One line: what a row is.
    pub doc: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    /// The columns in order.
    pub columns: Vec<QueryColumn>,
    /// The query, over table names alone.
    pub sql: String,
}

/// All views.
pub fn views() -> &'static [View] {
    static PARSED: OnceLock<Vec<View>> = OnceLock::new();
    // A view's file is part of the program: that each of them parses is a test of this module.
    PARSED.get_or_init(|| {
        let views = VIEWS.iter().map(|(name, text)| parse(name, text));
        views
            .collect::<Result<_>>()
            .expect("views are checked by a test")
    })
}

/// The view of that name.
pub fn view(name: &str) -> Option<&'static View> {
    views().iter().find(|view| view.name == name)
}

fn parse(name: &'static str, text: &str) -> Result<View> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Front {
        doc: String,
        key: Vec<String>,
        columns: Vec<QueryColumn>,
    }
    let (front, sql) = front_matter(text);
    let front: Front = toml::from_str(&front)
        .map_err(|e| Error::Invalid(format!("queries/views/{name}.sql: {e}")))?;
    Ok(View {
        name,
        doc: front.doc,
        key: front.key,
        columns: written_out(front.columns)?,
        sql,
    })
}

/// The columns, those of tables in the places of `TABLE.*`.
fn written_out(columns: Vec<QueryColumn>) -> Result<Vec<QueryColumn>> {
    let mut all: Vec<QueryColumn> = vec![];
    for column in columns {
        let Some(of) = column.name.strip_suffix(".*") else {
            all.push(column);
            continue;
        };
        for column in &table(of)?.columns {
            if all.iter().all(|known| known.name != column.name) {
                all.push(QueryColumn {
                    name: column.name.clone(),
                    type_name: column.type_name.clone(),
                    unit: column.unit.clone(),
                    doc: column.doc.clone(),
                });
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_no_name_of_a_table_and_its_key_among_its_columns() {
        for view in views() {
            assert!(crate::table::table(view.name).is_err(), "{}", view.name);
            for key in &view.key {
                assert!(
                    view.columns.iter().any(|column| column.name == *key),
                    "{}: {key}",
                    view.name
                );
            }
            assert!(
                view.columns
                    .iter()
                    .all(|column| !column.doc.is_empty() && !column.doc.ends_with('.'))
            );
        }
    }
}
