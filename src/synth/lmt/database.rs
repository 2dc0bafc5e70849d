//! A database as a file: SQLite, or what mysqldump writes.

use super::schema::Table;
use crate::error::{Error, Result};
use chrono::DateTime;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    /// At most six digits, for the database has 4-byte floats.
    Float(f64),
    Text(String),
}

/// A row of integers.
pub(crate) fn ints<const N: usize>(values: [i64; N]) -> [Cell; N] {
    values.map(Cell::Int)
}

/// A source of rows, which calls its argument once for each.
pub(crate) type Rows<'a> = dyn FnMut(&mut dyn FnMut(&[Cell]) -> Result<()>) -> Result<()> + 'a;

/// A database file that is written table by table.
pub(crate) trait Database {
    /// Makes the table of this name with its rows.
    fn table(&mut self, name: &str, rows: &mut Rows<'_>) -> Result<()>;

    /// Flushes and closes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Discards rows: generating them advances the counters to the start of the next database.
pub(crate) struct Nowhere;

impl Database for Nowhere {
    fn table(&mut self, _: &str, rows: &mut Rows<'_>) -> Result<()> {
        rows(&mut |_| Ok(()))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A SQLite copy of the database. Its columns have no types.
pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Connection,
}

impl Sqlite {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            // No reader opens it before it is complete.
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.execute_batch("BEGIN")?;
            Ok(connection)
        };
        Ok(Self {
            connection: open().map_err(|e| sqlite_error(path, &e))?,
            path: path.to_path_buf(),
        })
    }
}

impl Database for Sqlite {
    fn table(&mut self, name: &str, rows: &mut Rows<'_>) -> Result<()> {
        let failed = |e: rusqlite::Error| sqlite_error(&self.path, &e);
        let table = Table::named(name);
        let columns = &table.columns;
        // SQLite wants a key where the original has none.
        let key = table.key.unwrap_or_else(|| columns[..3].join(", "));
        let create = format!(
            "CREATE TABLE {name} ({}, PRIMARY KEY({key}))",
            columns.join(", ")
        );
        self.connection.execute_batch(&create).map_err(failed)?;
        let places = vec!["?"; columns.len()].join(", ");
        let insert = format!("INSERT INTO {name} VALUES ({places})");
        let mut insert = self.connection.prepare(&insert).map_err(failed)?;
        rows(&mut |cells| {
            insert
                .execute(params_from_iter(cells))
                .map(|_| ())
                .map_err(failed)
        })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let failed = |e: rusqlite::Error| sqlite_error(&self.path, &e);
        self.connection.execute_batch("COMMIT").map_err(failed)?;
        self.connection
            .close()
            .map_err(|(_, e)| sqlite_error(&self.path, &e))
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Float(value) => ValueRef::Real(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

fn sqlite_error(path: &Path, error: &rusqlite::Error) -> Error {
    Error::io(
        path,
        "cannot write",
        std::io::Error::other(error.to_string()),
    )
}

/// A dump of the database, as mysqldump writes it.
pub(crate) struct Dump {
    path: PathBuf,
    out: BufWriter<File>,
    line: String,
    /// When it says that it was made.
    made: i64,
}

/// Bytes after which mysqldump begins another statement.
const STATEMENT: usize = 1_000_000;

impl Dump {
    pub(crate) fn create(path: &Path, lmt: &str, made: i64) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io(path, "cannot create", e))?;
        let mut dump = Self {
            path: path.to_path_buf(),
            out: BufWriter::with_capacity(1 << 16, file),
            line: String::new(),
            made,
        };
        dump.put(&include_str!("mysqldump/head.sql").replace("{lmt}", lmt))?;
        Ok(dump)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        let written = self.out.write_all(text.as_bytes());
        written.map_err(|e| Error::io(&self.path, "cannot write", e))
    }
}

impl Database for Dump {
    fn table(&mut self, name: &str, rows: &mut Rows<'_>) -> Result<()> {
        let text = include_str!("mysqldump/table.sql").replace("{name}", name);
        let text = text.replace("{create}", Table::named(name).create);
        let (before, after) = text.split_once("{rows}").unwrap_or_default();
        self.put(before)?;
        let begin = format!("INSERT INTO `{name}` VALUES\n(");
        let mut statement = 0;
        rows(&mut |cells| {
            let mut line = std::mem::take(&mut self.line);
            line.clear();
            line += if statement == 0 { &begin } else { ",\n(" };
            for (at, cell) in cells.iter().enumerate() {
                line += if at > 0 { "," } else { "" };
                let _ = match cell {
                    Cell::Null => write!(line, "NULL"),
                    Cell::Int(value) => write!(line, "{value}"),
                    Cell::Float(value) => write!(line, "{value}"),
                    Cell::Text(value) => {
                        let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
                        write!(line, "'{quoted}'")
                    }
                };
            }
            line.push(')');
            statement += line.len();
            if statement > STATEMENT {
                line.push_str(";\n");
                statement = 0;
            }
            self.put(&line)?;
            self.line = line;
            Ok(())
        })?;
        self.put(if statement > 0 { ";\n" } else { "" })?;
        self.put(after)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let made = DateTime::from_timestamp(self.made, 0).unwrap_or_default();
        let made = made.format("%Y-%m-%d %k:%M:%S").to_string();
        self.put(&include_str!("mysqldump/tail.sql").replace("{made}", &made))?;
        let written = self.out.flush();
        written.map_err(|e| Error::io(&self.path, "cannot write", e))
    }
}
