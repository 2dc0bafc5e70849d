//! The rows of one log in the tables that a lake would have.

use crate::error::{Error, Result};
use crate::source::darshan::Darshan;
use crate::source::{BatchSink, Input, Outcome, ReadContext, Reader, Source, Status};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_null_array};
use arrow::datatypes::{
    DataType, FieldRef, Float64Type, Int64Type, Schema, TimestampMicrosecondType, UInt64Type,
};
use std::sync::Arc;

/// The rows of one log, by table.
pub(super) struct Rows {
    pub(super) log: RecordBatch,
    pub(super) module: RecordBatch,
    pub(super) mount: RecordBatch,
    pub(super) file: RecordBatch,
    /// Why the log is not whole; None if it is.
    pub(super) why: Option<String>,
    /// Whether bytes are wrong or missing.
    pub(super) is_damaged: bool,
    /// Where a module lost records: the row of `log` over the records that are left. In `log` itself such totals are NULL.
    pub(super) at_least: Option<RecordBatch>,
}

/// The interfaces whose records make totals: the module, and how the columns begin that are its own.
const INTERFACES: [(&str, &str); 5] = [
    ("POSIX", "posix_"),
    ("MPI-IO", "mpiio_"),
    ("STDIO", "stdio_"),
    ("DFS", "dfs_"),
    ("DAOS", "daos_"),
];

pub(super) fn rows(input: &Input, names: &[&str]) -> Result<Rows> {
    // All modules, for `darshan_module` to say how much of each could be read.
    let reader = Darshan.reader_of_all_modules(Arc::new(ReadContext::default()));
    let (mut tables, outcome) = read(reader, input, names)?;
    let mut take = |name: &str| match tables.get(name) {
        Some(builder) => builder.finish(),
        None => Ok(RecordBatch::new_empty(
            crate::table::table(name)?.schema.clone(),
        )),
    };
    let (log, module) = (take("darshan_log")?, take("darshan_module")?);
    let known = known(&log, &module)?;
    let (log, at_least) = match known {
        Some(known) => (known, Some(log)),
        None => (log, None),
    };
    Ok(Rows {
        log,
        module,
        mount: take("darshan_mount")?,
        file: take("darshan_file")?,
        why: outcome.why,
        is_damaged: outcome.status == Status::Damaged,
        at_least,
    })
}

/// The row of `darshan_log` with NULL for totals over records that are not all there; None if all are.
fn known(log: &RecordBatch, module: &RecordBatch) -> Result<Option<RecordBatch>> {
    let lost: Vec<&str> = Row::all(module)
        .filter(|row| {
            let status = row.text("status");
            ["truncated", "corrupt", "unsupported_version"].contains(&status.unwrap_or_default())
        })
        .filter_map(|row| row.text("module"))
        .collect();
    let lost = |module: &str| lost.contains(&module);
    if !INTERFACES.iter().any(|(module, _)| lost(module)) {
        return Ok(None);
    }
    let schema = log.schema();
    let first = schema.index_of("files").unwrap_or(usize::MAX);
    let is_unknown = |at: usize, name: &str| {
        let own = INTERFACES.iter().find(|(_, begin)| name.starts_with(begin));
        at >= first && own.is_none_or(|(module, _)| lost(module))
    };
    let columns = schema.fields().iter().zip(log.columns()).enumerate();
    let columns = columns.map(|(at, (field, column))| match is_unknown(at, field.name()) {
        true => (
            Arc::new(field.as_ref().clone().with_nullable(true)),
            new_null_array(field.data_type(), log.num_rows()),
        ),
        false => (field.clone(), column.clone()),
    });
    let (fields, columns): (Vec<FieldRef>, Vec<ArrayRef>) = columns.unzip();
    let known = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    known
        .map(Some)
        .map_err(|e| Error::columns("darshan_log", e))
}

/// The rows of a log in some tables.
pub(super) fn tables(input: &Input, names: &[&str]) -> Result<BatchSink> {
    let reader = Darshan.reader(Arc::new(ReadContext::default()));
    Ok(read(reader, input, names)?.0)
}

fn read(
    mut reader: Box<dyn Reader>,
    input: &Input,
    names: &[&str],
) -> Result<(BatchSink, Outcome)> {
    let mut tables = BatchSink::new(names.iter().copied())?;
    let outcome = reader.read(input, input.hash()?, None, &mut tables)?;
    Ok((tables, outcome))
}

/// One row, its values by the names of their columns.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) batch: &'a RecordBatch,
    pub(super) row: usize,
}

impl<'a> Row<'a> {
    pub(super) fn all(batch: &'a RecordBatch) -> impl Iterator<Item = Row<'a>> + Clone {
        (0..batch.num_rows()).map(move |row| Row { batch, row })
    }

    pub(super) fn column(&self, name: &str) -> Option<&'a dyn Array> {
        let column = self.batch.column_by_name(name)?.as_ref();
        (!column.is_null(self.row)).then_some(column)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        let column = self.column(name)?;
        match column.data_type() {
            DataType::Timestamp(..) => Some(
                column
                    .as_primitive::<TimestampMicrosecondType>()
                    .value(self.row),
            ),
            _ => Some(column.as_primitive::<Int64Type>().value(self.row)),
        }
    }

    pub(super) fn id(&self, name: &str) -> Option<u64> {
        Some(
            self.column(name)?
                .as_primitive::<UInt64Type>()
                .value(self.row),
        )
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        Some(
            self.column(name)?
                .as_primitive::<Float64Type>()
                .value(self.row),
        )
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        Some(self.column(name)?.as_string::<i32>().value(self.row))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.column(name)
            .is_some_and(|column| column.as_boolean().value(self.row))
    }
}
