//! What a copy of LMT's database and the live one have in common: tables that are asked for rows.

use super::dimensions;
use super::dimensions::Field;
use super::samples::{self, Holds, NULL, Samples, Table, float_bits};
use crate::error::Result;
use crate::source::{BatchSink, Outcome, ReadContext, Status};
use std::ops::ControlFlow;

/// Columns that are asked for at once, at most.
pub(super) const COLUMNS: usize = 8;

/// A database that can be asked for rows of LMT's tables.
pub(super) trait Database {
    /// Whether it has a table.
    fn has(&self, table: &str) -> bool;

    /// Gives `each` the rows of a table until it breaks off: the named columns, NULL for those that this copy lacks. With
    /// `stamps` only rows whose TS_ID lies between them, both included.
    ///
    /// # Errors
    /// Those of the database.
    fn rows(
        &mut self,
        table: &str,
        columns: &[&str],
        stamps: Option<(i64, i64)>,
        each: &mut dyn FnMut(&[Field]) -> ControlFlow<()>,
    ) -> Result<()>;

    /// The slices of TS_IDs in which tables of samples are asked for, one after another; None for all at once.
    fn slices(&self, _stamps: &[i64]) -> Option<Vec<(i64, i64)>> {
        None
    }
}

/// Appends all rows of a database. `name` is that of its file system, if nothing else says so.
///
/// # Errors
/// Those of the database before a row was taken, and those of whoever takes the rows. What fails later is damage.
pub(super) fn read(
    database: &mut dyn Database,
    name: Option<&str>,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let (mut small, mut senseless) = (dimensions::Rows::default(), 0u64);
    for (table, columns) in dimensions::TABLES {
        if database.has(table) {
            database.rows(table, columns, None, &mut |row| {
                senseless += u64::from(!small.push(table, row));
                ControlFlow::Continue(())
            })?;
        }
    }
    let (info, mut faults) = small.finish(context, name);
    if senseless > 0 {
        faults.push(format!(
            "{senseless} rows of the tables *_INFO make no sense"
        ));
    }
    let slices = match database.slices(info.times.ids()) {
        Some(slices) => slices.into_iter().map(Some).collect(),
        None => vec![None],
    };
    for table in &samples::TABLES {
        if !database.has(table.name) || !tables.wants(table.to) {
            continue;
        }
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let mut samples = Samples::new(table, context.period);
        for slice in &slices {
            let mut taken = Ok(());
            let read = database.rows(table.name, &columns, *slice, &mut |row| {
                if put(&mut samples, table, row) {
                    taken = samples.flush(&info, tables);
                }
                match taken {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            taken?;
            if let Err(e) = read {
                faults.push(e.to_string());
                break;
            }
        }
        samples.flush(&info, tables)?;
        faults.extend(samples.lost());
    }
    Ok(super::outcome::outcome(Status::Damaged, faults))
}

/// Puts a row; true if the buffer must be flushed.
fn put(samples: &mut Samples, table: &Table, row: &[Field]) -> bool {
    for (at, (field, column)) in row.iter().zip(table.columns).enumerate() {
        let value = match column.holds {
            Holds::Float => float_bits(field.float()),
            _ => field.int().unwrap_or(NULL),
        };
        samples.put(at, value);
    }
    samples.end_rows(1)
}

/// What a statement selects for these columns: NULL for those that are not there. Only names that are written in this program reach
/// it.
pub(super) fn selected(columns: &[&str], there: &[String]) -> String {
    let each = columns.iter().map(|column| {
        let known = there.iter().any(|name| name == column);
        if known { *column } else { "NULL" }
    });
    each.collect::<Vec<_>>().join(", ")
}
