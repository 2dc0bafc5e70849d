//! LMT's live database: `mysql://user@host:port/filesystem_NAME`.
//!
//! Only what is wanted is asked for: the stamps of the period, with a margin, and samples by TS_ID, an hour at a time, so that
//! neither side holds a large result. The password stands in the address or in the variable MYSQL_PWD, and is never printed.

use super::database::{self, Database};
use super::dimensions;
use super::dimensions::Field;
use super::samples::{self, widened};
use crate::error::{Error, Result};
use crate::source::{BatchSink, Input, Outcome, Period, ReadContext};
use chrono::{DateTime, TimeDelta, TimeZone};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Value};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server may take to answer at all.
const CONNECT: Duration = Duration::from_secs(10);

/// How long it may say nothing while it is asked.
const SILENCE: Duration = Duration::from_secs(120);

/// Stamps that are asked for at a time: an hour.
const SLICE: usize = 720;

/// Whether a path is the address of a server.
pub(super) fn probe(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.starts_with("mysql://"))
}

/// Checks the address; the server is asked by [`read`].
pub(super) fn peek(input: &Input) -> Result<()> {
    options(input).map(|_| ())
}

/// Appends the rows of the period.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let options = options(input)?;
    let name = options.get_db_name().map(str::to_string);
    let mut server = Server::connect(input, options, context)?;
    database::read(&mut server, name.as_deref(), context, tables)
}

/// What the address says.
fn options(input: &Input) -> Result<Opts> {
    // What the address was is not repeated: it may hold a password.
    let wrong = |reason: &str| {
        let expected = "expected `mysql://user@host:port/filesystem_NAME`";
        Error::Unsupported {
            path: input.path().to_path_buf(),
            reason: format!("{reason}; {expected}"),
        }
    };
    let address = input
        .address()
        .ok_or_else(|| wrong("no address of a server"))?;
    let options = Opts::from_url(address).map_err(|_| wrong("the address cannot be understood"))?;
    if options.get_db_name().is_none_or(str::is_empty) {
        return Err(wrong("the address names no database"));
    }
    let password = options
        .get_pass()
        .map(str::to_string)
        .or_else(|| std::env::var("MYSQL_PWD").ok());
    let options = OptsBuilder::from_opts(options)
        .pass(password)
        .prefer_socket(false)
        .tcp_connect_timeout(Some(CONNECT))
        .read_timeout(Some(SILENCE))
        .write_timeout(Some(SILENCE))
        // LMT's rows are small; a server that sends more than this at once is none of LMT's.
        .max_allowed_packet(Some(16 << 20));
    Ok(options.into())
}

struct Server {
    path: PathBuf,
    connection: Conn,
    columns: HashMap<String, Vec<String>>,
    period: Period,
    zone: chrono_tz::Tz,
}

impl Server {
    fn connect(input: &Input, options: Opts, context: &ReadContext) -> Result<Self> {
        let path = input.path().to_path_buf();
        let mut connection = Conn::new(options).map_err(|e| failed(&path, "cannot connect", &e))?;
        let sql = "SELECT UPPER(TABLE_NAME), UPPER(COLUMN_NAME) FROM information_schema.COLUMNS \
                   WHERE TABLE_SCHEMA = DATABASE() LIMIT 10000";
        let names: Vec<(String, String)> = connection
            .query(sql)
            .map_err(|e| failed(&path, "cannot read its tables", &e))?;
        let mut columns: HashMap<String, Vec<String>> = HashMap::new();
        for (table, column) in names {
            columns.entry(table).or_default().push(column);
        }
        if !columns.contains_key(dimensions::STAMPS)
            || !samples::TABLES
                .iter()
                .any(|table| columns.contains_key(table.name))
        {
            let reason = "a database, but not LMT's: it lacks TIMESTAMP_INFO, or all of OST_DATA, OSS_DATA, MDS_DATA, MDS_OPS_DATA";
            return Err(Error::Unsupported {
                path,
                reason: reason.into(),
            });
        }
        Ok(Self {
            path,
            connection,
            columns,
            period: widened(context.period),
            zone: context.zone,
        })
    }

    /// Which stamps are wanted: all from the first to the last TS_ID whose local time lies in the period, two hours wider, for the
    /// clock may go back or forward between. A condition on the times alone would leave stamps out between them.
    fn stamps(&self) -> String {
        let local = |time: Option<i64>, margin: i64| {
            let time = self
                .zone
                .from_utc_datetime(&DateTime::from_timestamp_micros(time?)?.naive_utc());
            time.naive_local()
                .checked_add_signed(TimeDelta::hours(margin))
        };
        let mut conditions = vec![];
        if let Some(from) = local(self.period.from, -2) {
            conditions.push(format!(
                "TIMESTAMP >= '{}'",
                from.format("%Y-%m-%d %H:%M:%S")
            ));
        }
        if let Some(to) = local(self.period.to, 2) {
            conditions.push(format!("TIMESTAMP <= '{}'", to.format("%Y-%m-%d %H:%M:%S")));
        }
        if conditions.is_empty() {
            return String::new();
        }
        let of = |which: &str| {
            let table = dimensions::STAMPS;
            format!(
                "(SELECT {which}(TS_ID) FROM {table} WHERE {})",
                conditions.join(" AND ")
            )
        };
        format!(" WHERE TS_ID BETWEEN {} AND {}", of("MIN"), of("MAX"))
    }
}

impl Database for Server {
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
            None if table == dimensions::STAMPS => self.stamps(),
            None => String::new(),
        };
        let sql = format!("SELECT {named} FROM {table}{range}");
        let path = self.path.clone();
        let error = |e: mysql::Error| failed(&path, "cannot read its rows", &e);
        // Rows come as the server sends them; none but this one is held.
        let rows = self.connection.query_iter(sql).map_err(error)?;
        for row in rows {
            let row = row.map_err(error)?;
            let mut fields = [Field::Null; database::COLUMNS];
            for (at, field) in fields.iter_mut().take(columns.len()).enumerate() {
                *field = match row.as_ref(at) {
                    Some(Value::Bytes(text)) => Field::Text(text),
                    Some(Value::Int(n)) => Field::Int(*n),
                    Some(Value::UInt(n)) => i64::try_from(*n).map_or(Field::Null, Field::Int),
                    Some(Value::Float(x)) => Field::Float(f64::from(*x)),
                    Some(Value::Double(x)) => Field::Float(*x),
                    _ => Field::Null,
                };
            }
            if each(&fields[..columns.len().min(database::COLUMNS)]).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn slices(&self, stamps: &[i64]) -> Option<Vec<(i64, i64)>> {
        let slices = stamps
            .chunks(SLICE)
            .filter_map(|slice| Some((*slice.first()?, *slice.last()?)));
        Some(slices.collect())
    }
}

/// What a server refused. It never repeats a password, and neither do our own words.
fn failed(path: &Path, what: &'static str, e: &mysql::Error) -> Error {
    let reason = match e {
        mysql::Error::IoError(e) => e.to_string(),
        mysql::Error::MySqlError(e) => e.message.clone(),
        mysql::Error::DriverError(e) => e.to_string(),
        _ => "the server answers otherwise than MySQL does".to_string(),
    };
    Error::io(path, what, std::io::Error::other(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::source::lmt::Lmt;

    #[test]
    fn an_address_that_cannot_be_understood_is_refused_without_repeating_it() {
        for address in [
            "mysql://lmt:geheim@",
            "mysql://lmt:geheim@host",
            "postgres://lmt:geheim@host/x",
            "mysql://lmt:geheim@h:x/y",
            "",
        ] {
            let error = Lmt.peek(&Input::server(address)).unwrap_err().to_string();
            assert!(!error.contains("geheim"), "{error}");
            assert!(
                error.ends_with("expected `mysql://user@host:port/filesystem_NAME`"),
                "{error}"
            );
        }
    }
}
