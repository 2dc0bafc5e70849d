//! The rows of one log in the tables that a lake would have.

use crate::error::Result;
use crate::source::darshan::Darshan;
use crate::source::{BatchSink, Input, Reader, Site, Source};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use std::sync::Arc;

/// The rows of one log, by table.
pub(super) struct Rows {
    pub(super) log: RecordBatch,
    pub(super) module: RecordBatch,
    pub(super) mount: RecordBatch,
    pub(super) file: RecordBatch,
    /// Why the log is not whole; None if it is.
    pub(super) why: Option<String>,
}

pub(super) fn rows(input: &Input, names: &[&str]) -> Result<Rows> {
    let (mut tables, why) = tables(input, names)?;
    let mut take = |name: &str| match tables.get(name) {
        Some(builder) => builder.finish(),
        None => Ok(RecordBatch::new_empty(
            crate::table::table(name)?.schema.clone(),
        )),
    };
    Ok(Rows {
        log: take("darshan_log")?,
        module: take("darshan_module")?,
        mount: take("darshan_mount")?,
        file: take("darshan_file")?,
        why,
    })
}

/// The rows of a log in some tables, and why they are not all.
pub(super) fn tables(input: &Input, names: &[&str]) -> Result<(BatchSink, Option<String>)> {
    let mut tables = BatchSink::new(names.iter().copied())?;
    let mut reader: Box<dyn Reader> = Darshan.reader(Arc::new(Site::default()));
    let outcome = reader.read(input, input.hash()?, None, &mut tables)?;
    Ok((tables, outcome.why))
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
