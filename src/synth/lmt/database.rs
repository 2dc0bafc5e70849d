//! A database as a file: SQLite, or what mysqldump writes.

use super::schema::Table;
use chrono::DateTime;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Error, Result, Write};
use std::path::Path;

/// A database that is written table by table.
pub(crate) struct Database {
    form: Form,
    /// The statement that inserts into the current table, or what begins it, and what stands behind the table's last.
    insert: String,
    after: String,
}

pub(crate) enum Form {
    /// Discards rows: generating them advances the counters to the start of the next database.
    Nowhere,
    /// A SQLite copy of the database, whose columns have no types, and values of rows that are not inserted yet.
    Sqlite(Connection, Vec<Value>),
    /// A dump, as mysqldump writes it, when it says that it was made, and the statement so far.
    Dump(BufWriter<File>, i64, String),
}

/// Values for which an insertion is prepared.
const VALUES: usize = 10_000;
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
        let connection = open().map_err(Error::other)?;
        Ok(Self::Sqlite(connection, vec![]))
    }

    pub(crate) fn dump(path: &Path, lmt: &str, made: i64) -> Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        let head = include_str!("mysqldump/head.sql").replace("{lmt}", lmt);
        out.write_all(head.as_bytes())?;
        Ok(Self::Dump(out, made, String::new()))
    }
}

impl Database {
    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            insert: String::new(),
            after: String::new(),
        }
    }

    /// Makes the table of this name, into which the rows that follow go.
    pub(crate) fn table(&mut self, name: &str) -> Result<()> {
        self.end_table()?;
        let table = Table::named(name);
        match &mut self.form {
            Form::Nowhere => Ok(()),
            Form::Sqlite(connection, _) => {
                let places = vec!["?"; table.columns.len()].join(", ");
                self.insert = format!("INSERT INTO {name} VALUES ({places})");
                let columns = table.columns.join(", ");
                // SQLite wants a key where the original has none.
                let key = table.key.unwrap_or_else(|| table.columns[..3].join(", "));
                let create = format!("CREATE TABLE {name} ({columns}, PRIMARY KEY({key}))");
                connection.execute_batch(&create).map_err(Error::other)
            }
            Form::Dump(out, ..) => {
                self.insert = format!("INSERT INTO `{name}` VALUES\n(");
                let text = include_str!("mysqldump/table.sql").replace("{name}", name);
                let text = text.replace("{create}", table.create);
                let (before, after) = text.split_once("{rows}").unwrap_or_default();
                self.after = after.to_string();
                out.write_all(before.as_bytes())
            }
        }
    }

    /// Adds a row to the table.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Value>) -> Result<()> {
        let is_full = match &mut self.form {
            Form::Nowhere => false,
            Form::Sqlite(_, values) => {
                values.extend(cells);
                values.len() >= VALUES
            }
            Form::Dump(.., statement) => {
                *statement += match statement.is_empty() {
                    true => &self.insert,
                    false => ",\n(",
                };
                for (at, cell) in cells.into_iter().enumerate() {
                    *statement += if at > 0 { "," } else { "" };
                    let _ = match cell {
                        Value::Integer(value) => write!(statement, "{value}"),
                        Value::Real(value) => write!(statement, "{value}"),
                        Value::Text(value) => {
                            let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
                            write!(statement, "'{quoted}'")
                        }
                        _ => write!(statement, "NULL"),
                    };
                }
                statement.push(')');
                statement.len() > STATEMENT
            }
        };
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Writes the rows that are kept.
    fn flush(&mut self) -> Result<()> {
        match &mut self.form {
            Form::Sqlite(connection, values) if !values.is_empty() => {
                let insert = || -> rusqlite::Result<()> {
                    let mut insert = connection.prepare(&self.insert)?;
                    for row in values.chunks(insert.parameter_count()) {
                        insert.execute(params_from_iter(row))?;
                    }
                    Ok(())
                };
                insert().map_err(Error::other)?;
                values.clear();
            }
            Form::Dump(out, _, statement) if !statement.is_empty() => {
                writeln!(out, "{statement};")?;
                statement.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<()> {
        self.flush()?;
        match &mut self.form {
            Form::Dump(out, ..) => out.write_all(std::mem::take(&mut self.after).as_bytes()),
            _ => Ok(()),
        }
    }

    /// Flushes and closes the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.end_table()?;
        match self.form {
            Form::Nowhere => Ok(()),
            Form::Sqlite(connection, _) => {
                connection.execute_batch("COMMIT").map_err(Error::other)?;
                connection.close().map_err(|(_, e)| Error::other(e))
            }
            Form::Dump(mut out, made, _) => {
                let made = DateTime::from_timestamp(made, 0).unwrap_or_default();
                let made = made.format("%Y-%m-%d %k:%M:%S").to_string();
                let tail = include_str!("mysqldump/tail.sql").replace("{made}", &made);
                out.write_all(tail.as_bytes())?;
                out.flush()
            }
        }
    }
}
