//! Rows to typed tables: the only place that knows column types and units.
//!
//! `schemas/FOLDER/TABLE.toml` is the single truth about a table. From it come the Arrow schema (units and meanings in the
//! field metadata), the builders that readers fill, the SQL table and the output of `iolode schema`.
//!
//! # Adding a table
//! One file `schemas/FOLDER/TABLE.toml` and one line in [`TABLES`]. A column is never renamed, removed or given another type
//! or unit: a newer version of a table adds nullable columns, with `since` one higher and `version` of the table raised.

mod builder;
#[cfg(test)]
#[path = "tests/columns.rs"]
pub(crate) mod columns;
mod schema;
mod treatment;

pub use builder::{Column, Lists, TableBuilder};
#[cfg(test)]
pub(crate) use schema::NEWER;
pub use schema::{ColumnDef, Partition, TABLES, Table, table, tables};
pub use treatment::{Anew, Coarse, Domain, Treatment};
