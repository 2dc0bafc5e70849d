//! A database as a file: SQLite, or what mysqldump writes. Rows come as SQL in both.

use super::schema::Table;
use chrono::DateTime;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Error, Result, Write};
use std::path::Path;

/// A database that is written table by table.
pub(crate) struct Database {
    form: Form,
    /// What begins the statements of the current table, and what stands behind them.
    begin: String,
    after: String,
    /// The statement so far.
    statement: String,
}

pub(crate) enum Form {
    /// Discards rows: generating them advances the counters to the start of the next database.
    Nowhere,
    /// A SQLite copy of the database. Its columns have no types.
    Sqlite(Connection),
    /// A dump, as mysqldump writes it, and when it says that it was made.
    Dump(BufWriter<File>, i64),
}

/// Bytes after which mysqldump begins another statement.
const STATEMENT: usize = 1_000_000;

/// A row of integers.
pub(crate) fn ints<const N: usize>(values: [i64; N]) -> [Value; N] {
    values.map(Value::Integer)
}

/// A value of text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

impl Form {
    pub(crate) fn sqlite(path: &Path) -> Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            // No reader opens it before it is complete.
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.execute_batch("BEGIN")?;
            Ok(connection)
        };
        open().map(Self::Sqlite).map_err(Error::other)
    }

    pub(crate) fn dump(path: &Path, lmt: &str, made: i64) -> Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        let head = include_str!("mysqldump/head.sql").replace("{lmt}", lmt);
        out.write_all(head.as_bytes())?;
        Ok(Self::Dump(out, made))
    }

    fn put(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Sqlite(connection) => connection.execute_batch(text).map_err(Error::other),
            Self::Dump(out, _) => out.write_all(text.as_bytes()),
        }
    }
}

impl Database {
    pub(crate) fn new(form: Form) -> Self {
        let [begin, after, statement] = [const { String::new() }; 3];
        Self {
            form,
            begin,
            after,
            statement,
        }
    }

    /// Makes the table of this name, into which the rows that follow go.
    pub(crate) fn table(&mut self, name: &str) -> Result<()> {
        self.end_table()?;
        let table = Table::named(name);
        let create = match self.form {
            // SQLite wants a key where the original has none.
            Form::Sqlite(_) => {
                let columns = table.columns.join(", ");
                let key = table.key.unwrap_or_else(|| table.columns[..3].join(", "));
                format!("CREATE TABLE {name} ({columns}, PRIMARY KEY({key}))")
            }
            _ => {
                let text = include_str!("mysqldump/table.sql").replace("{name}", name);
                let text = text.replace("{create}", table.create);
                let (before, after) = text.split_once("{rows}").unwrap_or_default();
                self.after = after.to_string();
                before.to_string()
            }
        };
        self.begin = format!("INSERT INTO `{name}` VALUES\n(");
        self.form.put(&create)
    }

    /// Adds a row to the table.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Value>) -> Result<()> {
        if let Form::Nowhere = self.form {
            return Ok(());
        }
        let statement = &mut self.statement;
        *statement += match statement.is_empty() {
            true => &self.begin,
            false => ",\n(",
        };
        for (at, cell) in cells.into_iter().enumerate() {
            *statement += if at > 0 { "," } else { "" };
            let _ = match (&cell, &self.form) {
                (Value::Integer(value), _) => write!(statement, "{value}"),
                // Without a point it would be an integer.
                (Value::Real(value), Form::Sqlite(_)) => write!(statement, "{value:?}"),
                (Value::Real(value), _) => write!(statement, "{value}"),
                (Value::Text(value), _) => {
                    let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
                    write!(statement, "'{quoted}'")
                }
                _ => write!(statement, "NULL"),
            };
        }
        statement.push(')');
        match statement.len() > STATEMENT {
            true => self.end_statement(),
            false => Ok(()),
        }
    }

    fn end_statement(&mut self) -> Result<()> {
        if !self.statement.is_empty() {
            self.statement.push_str(";\n");
            self.form.put(&self.statement)?;
            self.statement.clear();
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<()> {
        self.end_statement()?;
        self.form.put(&std::mem::take(&mut self.after))
    }

    /// Flushes and closes the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.end_table()?;
        match self.form {
            Form::Nowhere => Ok(()),
            Form::Sqlite(connection) => {
                connection.execute_batch("COMMIT").map_err(Error::other)?;
                connection.close().map_err(|(_, e)| Error::other(e))
            }
            Form::Dump(mut out, made) => {
                let made = DateTime::from_timestamp(made, 0).unwrap_or_default();
                let made = made.format("%Y-%m-%d %k:%M:%S").to_string();
                let tail = include_str!("mysqldump/tail.sql").replace("{made}", &made);
                out.write_all(tail.as_bytes())?;
                out.flush()
            }
        }
    }
}
