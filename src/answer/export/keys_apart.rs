//! Keys that were told apart by a time before it was made less exact.

use crate::error::{Error, Result};
use crate::table::{Partition, Table};
use arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use arrow::row::{OwnedRow, RowConverter, SortField};
use std::collections::HashMap;
use std::sync::Arc;

/// Tells rows with one key apart again: each is a microsecond later than the one before.
pub(super) struct KeysApart {
    /// The time of the key.
    time: usize,
    job_at: usize,
    /// The rest of the key.
    others: Vec<usize>,
    converter: RowConverter,
    /// The last time of each key of a job.
    taken: HashMap<OwnedRow, i64>,
    job: Option<i64>,
}

impl KeysApart {
    /// For a table of jobs in whose key a time stands; None for others.
    ///
    /// # Errors
    /// [`Error::Columns`] for a key of a type that cannot be sorted.
    pub(super) fn of(table: &Table) -> Result<Option<Self>> {
        let order: Vec<usize> = table
            .order()
            .filter_map(|name| table.position(name))
            .collect();
        let kind = |at: &usize| table.schema.field(*at).data_type().clone();
        let is_time = |at: &usize| matches!(kind(at), DataType::Timestamp(..));
        let time = order.iter().copied().find(is_time);
        let Some(time) = time.filter(|_| table.partition == Partition::JobId) else {
            return Ok(None);
        };
        let others: Vec<usize> = order.into_iter().filter(|at| *at != time).collect();
        let fields = others.iter().map(|at| SortField::new(kind(at))).collect();
        let converter = RowConverter::new(fields).map_err(|e| Error::columns(&*table.name, e))?;
        Ok(Some(Self {
            time,
            job_at: table.index("job_id")?,
            others,
            converter,
            taken: HashMap::new(),
            job: None,
        }))
    }

    /// Rows with keys of their own, of a table whose jobs and times ascend.
    ///
    /// # Errors
    /// [`Error::Columns`].
    pub(super) fn rows(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let failed = |e| Error::columns("a key", e);
        let others: Vec<ArrayRef> = self
            .others
            .iter()
            .map(|at| rows.column(*at).clone())
            .collect();
        let others = self.converter.convert_columns(&others).map_err(failed)?;
        let times = rows
            .column(self.time)
            .as_primitive::<TimestampMicrosecondType>();
        let mut made = TimestampMicrosecondArray::builder(rows.num_rows());
        let jobs = rows
            .column(self.job_at)
            .as_primitive::<Int64Type>()
            .values();
        for (row, job) in jobs.iter().enumerate() {
            if self.job != Some(*job) {
                self.job = Some(*job);
                self.taken.clear();
            }
            if times.is_null(row) {
                made.append_null();
                continue;
            }
            let taken = self.taken.get(&others.row(row).owned()).copied();
            let time = taken.map_or(times.value(row), |taken| times.value(row).max(taken + 1));
            self.taken.insert(others.row(row).owned(), time);
            made.append_value(time);
        }
        let mut columns = rows.columns().to_vec();
        let made = made.finish().with_data_type(times.data_type().clone());
        columns[self.time] = Arc::new(made);
        RecordBatch::try_new(rows.schema(), columns).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use arrow::array::{Int64Array, StringArray, new_null_array};

    #[test]
    fn steps_of_one_hour_keep_keys_of_their_own() {
        let table = table("slurm_step").unwrap();
        let column = |field: &arrow::datatypes::FieldRef| -> ArrayRef {
            match field.name().as_str() {
                "job_id" => Arc::new(Int64Array::from(vec![1, 1, 1, 2])),
                "step_id" | "job_id_text" => Arc::new(StringArray::from(vec!["0", "1", "0", "0"])),
                "start_time" => {
                    Arc::new(TimestampMicrosecondArray::from(vec![7; 4]).with_timezone("UTC"))
                }
                _ => new_null_array(field.data_type(), 4),
            }
        };
        let columns = table.schema.fields().iter().map(column).collect();
        let rows = RecordBatch::try_new(table.schema.clone(), columns).unwrap();
        let mut apart = KeysApart::of(table).unwrap().unwrap();
        let times = apart.rows(&rows).unwrap();
        let times = times.column_by_name("start_time").unwrap();
        let times = times.as_primitive::<TimestampMicrosecondType>();
        assert_eq!(times.values().to_vec(), [7, 7, 8, 7]);
    }
}
