//! Copies of LMT's database in SQLite, as pytokio's `cache_lmtdb` makes them: the same tables, of which some may be missing.

use super::database::{self, Database};
use super::dimensions::Field;
use crate::error::{Error, Result};
use crate::source::{BatchSink, Input, Outcome, ReadContext};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// How such a file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether an input is an SQLite database; whose, its tables say.
pub(super) fn probe(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Checks that it is LMT's.
pub(super) fn peek(input: &Input) -> Result<()> {
    Sqlite::open(input)?.check()
}

/// Appends the rows of a copy.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let mut copy = Sqlite::open(input)?;
    copy.check()?;
    let name = copy
        .path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .map(str::to_string);
    let name = name.and_then(|stem| stem.split(['_', '.']).next().map(str::to_string));
    database::read(&mut copy, name.as_deref(), context, tables)
}

struct Sqlite {
    path: PathBuf,
    connection: Connection,
    /// Columns of each table, in capitals.
    columns: HashMap<String, Vec<String>>,
}

impl Sqlite {
    fn open(input: &Input) -> Result<Self> {
        let path = input.path().to_path_buf();
        let error = |e: rusqlite::Error| Error::Malformed {
            path: path.clone(),
            region: "SQLite database".into(),
            at: None,
            reason: reason(&e),
        };
        let connection = match input.slice(0, input.len() as usize) {
            Some(bytes) => {
                let mut connection = Connection::open_in_memory().map_err(error)?;
                connection
                    .deserialize_read_exact("main", bytes, bytes.len(), true)
                    .map_err(error)?;
                connection
            }
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX
                    | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(uri(input.file()), flags).map_err(error)?
            }
        };
        // Somebody else's database: none of its views, triggers or functions may run.
        connection
            .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON")
            .map_err(error)?;
        let columns = columns(&connection).map_err(error)?;
        Ok(Self {
            path,
            connection,
            columns,
        })
    }

    fn check(&self) -> Result<()> {
        let lacks = |table: &&str| !self.columns.contains_key(*table);
        let missing: Vec<&str> = ["TIMESTAMP_INFO"].into_iter().filter(lacks).collect();
        let none = super::samples::TABLES
            .iter()
            .all(|table| lacks(&table.name));
        if missing.is_empty() && !none {
            return Ok(());
        }
        let reason = match none {
            true => "an SQLite database, but not LMT's: it has none of OST_DATA, OSS_DATA, MDS_DATA, MDS_OPS_DATA".into(),
            false => format!("an SQLite copy of LMT's database without {}", missing.join(", ")),
        };
        Err(Error::Unsupported {
            path: self.path.clone(),
            reason,
        })
    }

    fn malformed(&self, table: &str, e: &rusqlite::Error) -> Error {
        Error::Malformed {
            path: self.path.clone(),
            region: table.into(),
            at: None,
            reason: reason(e),
        }
    }
}

impl Database for Sqlite {
    fn has(&self, table: &str) -> bool {
        self.columns.contains_key(table)
    }

    fn rows(
        &mut self,
        table: &str,
        columns: &[&str],
        stamps: Option<(i64, i64)>,
        each: &mut dyn FnMut(&[Field]) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(there) = self.columns.get(table) else {
            return Ok(());
        };
        let named = database::selected(columns, there);
        let range = match stamps {
            Some((from, to)) => format!(" WHERE TS_ID BETWEEN {from} AND {to}"),
            None => String::new(),
        };
        let sql = format!("SELECT {named} FROM {table}{range}");
        let malformed = |e: rusqlite::Error| self.malformed(table, &e);
        let mut statement = self.connection.prepare(&sql).map_err(malformed)?;
        let mut rows = statement.query([]).map_err(malformed)?;
        while let Some(row) = rows.next().map_err(malformed)? {
            let mut fields = [Field::Null; database::COLUMNS];
            for (at, field) in fields.iter_mut().take(columns.len()).enumerate() {
                *field = match row.get_ref(at).map_err(malformed)? {
                    ValueRef::Null => Field::Null,
                    ValueRef::Integer(n) => Field::Int(n),
                    ValueRef::Real(x) => Field::Float(x),
                    ValueRef::Text(text) | ValueRef::Blob(text) => Field::Text(text),
                };
            }
            if each(&fields[..columns.len().min(database::COLUMNS)]).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The tables and their columns, in capitals: names in SQL have no case.
fn columns(connection: &Connection) -> rusqlite::Result<HashMap<String, Vec<String>>> {
    let wanted = super::samples::TABLES.iter().map(|table| table.name);
    let wanted = wanted.chain(super::dimensions::TABLES.iter().map(|(name, _)| *name));
    let mut found = HashMap::new();
    let mut tables = connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE")?;
    for name in wanted {
        if tables.exists([name])? {
            let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            let names = statement.query_map([name], |row| row.get::<_, String>(0))?;
            let names: rusqlite::Result<Vec<String>> = names
                .map(|name| name.map(|name| name.to_ascii_uppercase()))
                .collect();
            found.insert(name.to_string(), names?);
        }
    }
    Ok(found)
}

/// The address of a file that nobody writes: no lock is taken and no journal is made beside it.
fn uri(path: &std::path::Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut uri = String::from("file:");
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}

fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, Some(text)) => match text.is_empty() {
            true => code.to_string(),
            false => text.clone(),
        },
        other => other.to_string(),
    }
}
