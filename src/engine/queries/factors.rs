//! The factors of `perf_factors`: what may make a log's I/O slow, a number each.
//!
//! # Adding a factor
//! One file `queries/factors/NAME.sql`: front matter as of a query (`doc`, and `type` and `unit` if it is no plain number), then
//! an aggregate over `c`, the critical files of a log, whose columns are those of the common table expression `critical` in
//! `queries/iominer/perf_factors.sql`; one line in [`FACTORS`]. `perf_factors` then has a column of that name.

use super::query_params::QueryColumn;
use crate::error::{Error, Result};
use serde::Deserialize;

macro_rules! factors {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../queries/factors/", $name, ".sql")))),*] };
}

/// Every factor, in the order of its columns: its name, and its file.
pub const FACTORS: &[(&str, &str)] =
    factors!["small", "non_consec", "coll", "ost_count", "proc_per_ost"];

/// Where the columns of a query stand that are the factors.
const COLUMNS: &str = "factors";

/// Puts the factors in their places in a query's SQL, and among its columns.
///
/// # Errors
/// [`Error::Invalid`] if the front matter of a factor cannot be read.
pub(in crate::engine) fn insert(
    sql: &str,
    columns: Vec<QueryColumn>,
) -> Result<(String, Vec<QueryColumn>)> {
    if columns.iter().all(|column| column.name != COLUMNS) {
        return Ok((sql.to_string(), columns));
    }
    let factors = FACTORS
        .iter()
        .map(|(name, text)| parse(name, text))
        .collect::<Result<Vec<_>>>()?;
    let expressions = factors
        .iter()
        .map(|(column, sql)| format!("{sql} AS {}, ", column.name));
    let names = FACTORS.iter().map(|(name, _)| format!("x.{name}, "));
    let sql = sql
        .replace("/* factors */", &expressions.collect::<String>())
        .replace("/* names of factors */", &names.collect::<String>());
    let mut all = vec![];
    for column in columns {
        match column.name == COLUMNS {
            true => all.extend(factors.iter().map(|(column, _)| column.clone())),
            false => all.push(column),
        }
    }
    Ok((sql, all))
}

/// A factor's column and its aggregate.
fn parse(name: &str, text: &str) -> Result<(QueryColumn, String)> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Front {
        doc: String,
        #[serde(rename = "type", default = "number")]
        type_name: String,
        #[serde(default)]
        unit: String,
    }
    let (front, sql) = super::front_matter::front_matter(text);
    let front: Front = toml::from_str(&front)
        .map_err(|e| Error::Invalid(format!("queries/factors/{name}.sql: {e}")))?;
    let column = QueryColumn {
        name: name.into(),
        type_name: front.type_name,
        unit: front.unit,
        doc: front.doc,
    };
    Ok((column, sql))
}

fn number() -> String {
    "Float64".into()
}
