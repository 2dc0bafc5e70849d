//! `schemas/*/*.toml` as Arrow schemas.

use super::treatment::Treatment;
use crate::error::{Error, Result};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

macro_rules! schemas {
    ($($folder:literal { $($name:literal),* $(,)? })*) => { &[$(
        $(($name, include_str!(concat!("../../schemas/", $folder, "/", $name, ".toml"))),)*
    )*] };
}

/// Every table of a lake, in the order in which they are shown: its name, and its schema file.
pub const TABLES: &[(&str, &str)] = schemas! {
    "darshan" {
        "darshan_log",
        "darshan_file",
        "darshan_posix",
        "darshan_mpiio",
        "darshan_stdio",
        "darshan_lustre",
        "darshan_h5f",
        "darshan_h5d",
        "darshan_pnetcdf_file",
        "darshan_pnetcdf_var",
        "darshan_dfs",
        "darshan_daos",
        "darshan_bgq",
        "darshan_mdhim",
        "darshan_apmpi",
        "darshan_apxc",
        "darshan_heatmap",
        "darshan_dxt",
        "darshan_mount",
        "darshan_module",
        "darshan_mosaic",
    }
    "slurm" {
        "slurm_job",
        "slurm_step",
    }
    "lmt" {
        "lmt_ost",
        "lmt_oss",
        "lmt_mdt",
        "lmt_mdt_op",
    }
    "lake" {
        "lake_input",
        "lake_file",
        "lake_version",
        "lake_mount",
    }
};

/// How the rows of a table are spread over files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partition {
    /// One file for each range of job ids.
    JobId,
    /// One file for each file system and day.
    Day,
    /// No files: the rows come from the lake's manifest.
    Manifest,
}

/// One column, as its schema file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnDef {
    /// Name in SQL.
    pub name: String,
    /// Type as the schema files write it: `Int64`, `List<Int32>`, `Timestamp`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// `B`, `s`, `B/s`, `count`, `rank`, ..; empty where there is none.
    #[serde(default)]
    pub unit: String,
    /// One line: what a value means.
    pub doc: String,
    /// Where it comes from: a counter's name, a field of the log, or a formula.
    #[serde(default)]
    pub source: String,
    /// Whether it can be NULL, that is, not available.
    #[serde(default = "yes")]
    pub null: bool,
    /// The table's version in which it first appeared.
    #[serde(default = "one")]
    pub since: u32,
    /// What an anonymised export does with it; an export refuses a column that does not say.
    pub export: Option<Treatment>,
}

/// One table: what `schemas/FOLDER/TABLE.toml` says, and the Arrow schema made from it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name in SQL.
    pub name: String,
    /// One line: what a row is.
    pub doc: String,
    /// Columns that identify a row within a lake.
    pub key: Vec<String>,
    /// Columns by which the rows of a file are sorted, ascending, nulls last.
    pub sort: Vec<String>,
    /// How the rows are spread over files.
    pub partition: Partition,
    /// Version of the schema; the highest `since` of its columns.
    pub version: u32,
    /// The columns in order.
    pub columns: Vec<ColumnDef>,
    /// The Arrow schema, with `unit` and `doc` in each field's metadata.
    pub schema: SchemaRef,
}

impl Table {
    /// Position of a column.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest name.
    pub fn index(&self, column: &str) -> Result<usize> {
        self.position(column).ok_or_else(|| {
            Error::unknown(
                "column",
                column,
                self.columns.iter().map(|c| c.name.as_str()),
            )
        })
    }

    /// The table with these columns alone, in this order; with all if none are named.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest name.
    pub fn with_columns(&self, only: &[&str]) -> Result<Self> {
        if only.is_empty() {
            return Ok(self.clone());
        }
        let places = only.iter().map(|name| self.index(name));
        let places = places.collect::<Result<Vec<_>>>()?;
        let fields = places.iter().map(|at| self.schema.fields()[*at].clone());
        Ok(Self {
            columns: places.iter().map(|at| self.columns[*at].clone()).collect(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            ..self.clone()
        })
    }

    /// Columns that determine the order of rows in all files: those of the sort order, then the rest of the key.
    pub fn order(&self) -> impl Iterator<Item = &String> {
        let rest = self.key.iter().filter(|name| !self.sort.contains(name));
        self.sort.iter().chain(rest)
    }

    /// Position of a column that the table need not have.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }
}

/// The table of that name.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name.
pub fn table(name: &str) -> Result<&'static Arc<Table>> {
    static PARSED: OnceLock<Vec<OnceLock<Arc<Table>>>> = OnceLock::new();
    let at = TABLES.iter().position(|(n, _)| *n == name);
    let at = at.ok_or_else(|| Error::unknown("table", name, TABLES.iter().map(|(n, _)| *n)))?;
    let parsed = PARSED.get_or_init(|| TABLES.iter().map(|_| OnceLock::new()).collect());
    // A schema file is part of the program: that each of them parses is a test of this module.
    Ok(parsed[at].get_or_init(|| {
        let (name, text) = TABLES[at];
        #[cfg(test)]
        let text = &newer(name, text);
        Arc::new(parse(name, text).expect("schema files are checked by a test"))
    }))
}

/// Set in a process that stands for a newer iolode: `darshan_mount` has a column more.
#[cfg(test)]
pub(crate) const NEWER: &str = "IOLODE_NEWER_TABLES";

/// The schema file that a table has in this process.
#[cfg(test)]
fn newer(name: &str, text: &str) -> String {
    if name != "darshan_mount" || std::env::var_os(NEWER).is_none() {
        return text.into();
    }
    let column =
        r#"  { name = "quota", type = "Int64", since = 2, doc = "Bytes that may be used" },"#;
    let (version, end) = (("version = 1", "version = 2"), "\n]");
    text.replace(version.0, version.1)
        .replace(end, &format!("\n{column}{end}"))
}

/// All tables, in the order of [`TABLES`].
pub fn tables() -> impl Iterator<Item = &'static Arc<Table>> {
    TABLES.iter().filter_map(|(name, _)| table(name).ok())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaFile {
    doc: String,
    key: Vec<String>,
    sort: Vec<String>,
    partition: Partition,
    version: u32,
    columns: Vec<ColumnDef>,
}

fn parse(name: &str, text: &str) -> Result<Table> {
    let bad = |reason: String| Error::Invalid(format!("schemas/*/{name}.toml: {reason}"));
    let file: SchemaFile = toml::from_str(text).map_err(|e| bad(e.to_string()))?;
    let mut fields = vec![];
    for column in &file.columns {
        let data_type = data_type(&column.type_name).ok_or_else(|| {
            bad(format!(
                "column `{}`: unknown type `{}`",
                column.name, column.type_name
            ))
        })?;
        let mut metadata = HashMap::from([("doc".to_string(), column.doc.clone())]);
        if !column.unit.is_empty() {
            metadata.insert("unit".to_string(), column.unit.clone());
        }
        fields.push(Field::new(&column.name, data_type, column.null).with_metadata(metadata));
    }
    for column in file.key.iter().chain(&file.sort) {
        if !file.columns.iter().any(|c| c.name == *column) {
            return Err(bad(format!(
                "key or sort column `{column}` is not among the columns"
            )));
        }
    }
    Ok(Table {
        name: name.to_string(),
        doc: file.doc,
        key: file.key,
        sort: file.sort,
        partition: file.partition,
        version: file.version,
        columns: file.columns,
        schema: Arc::new(Schema::new(fields)),
    })
}

/// The Arrow type that a schema file's word stands for.
fn data_type(word: &str) -> Option<DataType> {
    Some(match word {
        "Int32" => DataType::Int32,
        "Int64" => DataType::Int64,
        "UInt64" => DataType::UInt64,
        "Float64" => DataType::Float64,
        "Boolean" => DataType::Boolean,
        "Utf8" => DataType::Utf8,
        "Binary" => DataType::Binary,
        "Timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        _ => {
            if let Some(item) = word.strip_prefix("List<").and_then(|w| w.strip_suffix('>')) {
                DataType::List(Arc::new(Field::new("item", data_type(item)?, true)))
            } else if let Some(inside) = word.strip_prefix("Map<").and_then(|w| w.strip_suffix('>'))
            {
                // Arrow's own names, which Parquet readers expect.
                let [key, value] = top_level_parts(inside)[..] else {
                    return None;
                };
                let entry = Fields::from(vec![
                    Field::new("key", data_type(key.trim())?, false),
                    Field::new("value", data_type(value.trim())?, true),
                ]);
                let entries = Field::new("entries", DataType::Struct(entry), false);
                DataType::Map(Arc::new(entries), false)
            } else {
                // Struct<name: type, ..>; a type inside may itself hold commas.
                let inside = word
                    .strip_prefix("Struct<")
                    .and_then(|w| w.strip_suffix('>'))?;
                let mut fields = vec![];
                for part in top_level_parts(inside) {
                    let (name, word) = part.split_once(':')?;
                    fields.push(Field::new(name.trim(), data_type(word.trim())?, true));
                }
                DataType::Struct(Fields::from(fields))
            }
        }
    })
}

fn top_level_parts(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, vec![]);
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_file_parses_and_keeps_the_house_rules() {
        for (name, text) in TABLES {
            let table = parse(name, text).unwrap();
            let mut seen = std::collections::HashSet::new();
            for column in &table.columns {
                assert!(
                    seen.insert(&column.name),
                    "{name}.{} stands twice",
                    column.name
                );
                assert!(
                    !column.doc.is_empty(),
                    "{name}.{} has no meaning",
                    column.name
                );
                assert!(
                    column.export.is_some(),
                    "{name}.{} does not say what an export does with it",
                    column.name
                );
                assert!(
                    !column.doc.ends_with('.') || column.doc.ends_with(", .."),
                    "{name}.{}: a meaning has no full stop",
                    column.name
                );
                assert!(
                    (1..=table.version).contains(&column.since),
                    "{name}.{}: since {}",
                    column.name,
                    column.since
                );
                assert!(
                    column.since == 1 || column.null,
                    "{name}.{}: a later column must be nullable",
                    column.name
                );
            }
            for key in &table.key {
                let column = &table.columns[table.index(key).unwrap()];
                // Dumps of accounting records need not have every column.
                assert!(
                    !column.null
                        || name.starts_with("slurm_")
                            && (key.ends_with("_time") || key == "cluster"),
                    "{name}: key column {key} is nullable"
                );
            }
            // A row lies in one file only, so a file shows whether its key is unique.
            let cut_by = match table.partition {
                Partition::JobId => &["job_id"][..],
                Partition::Day => &["fs", "time"],
                Partition::Manifest => &[],
            };
            for column in cut_by {
                let determined = table.key.iter().any(|key| key == column || key == "log_id");
                assert!(determined, "{name}: two files may hold one key");
            }
            if table.partition == Partition::JobId {
                assert_eq!(
                    table.sort[0], "job_id",
                    "{name} is not sorted by job_id first"
                );
            }
        }
    }

    #[test]
    fn nested_types_are_read() {
        let item = |t| Arc::new(Field::new("item", t, true));
        let inner = DataType::Struct(Fields::from(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::List(item(DataType::Int32)), true),
        ]));
        assert_eq!(
            data_type("List<Struct<a: Int64, b: List<Int32>>>"),
            Some(DataType::List(item(inner)))
        );
        let Some(DataType::Map(entries, false)) = data_type("Map<Utf8, Int64>") else {
            panic!("no map");
        };
        let DataType::Struct(entry) = entries.data_type() else {
            panic!("no entries");
        };
        assert_eq!(entry[1].data_type(), &DataType::Int64);
        assert_eq!(data_type("Int16"), None);
    }
}
