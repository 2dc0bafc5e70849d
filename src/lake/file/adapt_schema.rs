//! Rows of an older file as rows of today's table.

use crate::error::{Error, Result};
use crate::table::Table;
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow::util::display::array_value_to_string;

/// Rows of `file` with the columns of the table, by name. Those that the file lacks are NULL, those of another type are cast.
///
/// # Errors
/// [`Error::Columns`] with table, column and file if a value has no equal in the column's type, or a column that may not be NULL
/// would be.
pub(in crate::lake) fn adapt_schema(
    rows: &RecordBatch,
    table: &Table,
    file: &str,
) -> Result<RecordBatch> {
    let fields = table.schema.fields().iter();
    let column = |field: &arrow::datatypes::FieldRef| match rows.column_by_name(field.name()) {
        None => Ok(new_null_array(field.data_type(), rows.num_rows())),
        Some(column) => cast(column, field.data_type()).map_err(|e| {
            let what = format!("{}.{}: {e}", table.name, field.name());
            Error::columns(file, ArrowError::CastError(what))
        }),
    };
    let columns = fields.map(column).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(table.schema.clone(), columns).map_err(|e| {
        let what = format!("{}: {e}", table.name);
        Error::columns(file, ArrowError::SchemaError(what))
    })
}

/// The same values in another type; what is wrong if one of them has no equal there.
fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    let from = column.data_type();
    if from == to {
        return Ok(column.clone());
    }
    if column.null_count() == column.len() {
        return Ok(new_null_array(to, column.len()));
    }
    if !can_cast_types(from, to) || !can_cast_types(to, from) {
        return Err(format!("{from} cannot be read as {to}"));
    }
    // What does not fit is NULL in one of the two, or comes back as another value.
    let options = CastOptions {
        safe: true,
        ..CastOptions::default()
    };
    let there = cast_with_options(column, to, &options).map_err(|e| e.to_string())?;
    let back = cast_with_options(&there, from, &options).map_err(|e| e.to_string())?;
    if back.to_data() == column.to_data() {
        return Ok(there);
    }
    let lost = |row: &usize| back.slice(*row, 1).to_data() != column.slice(*row, 1).to_data();
    let row = (0..column.len()).find(lost).unwrap_or(0);
    let value = column.slice(row, 1);
    // Times need a table of zones to be shown.
    let number =
        |_| array_value_to_string(&cast_with_options(&value, &DataType::Int64, &options)?, 0);
    let value = array_value_to_string(&value, 0)
        .or_else(number)
        .map_err(|e| e.to_string())?;
    Err(format!(
        "`{value}` in row {row} of a batch has no equal in {to}, only in {from}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use arrow::array::{
        AsArray, Float64Array, Int32Array, Int64Array, StringArray, TimestampNanosecondArray,
    };
    use arrow::datatypes::Int64Type;
    use std::sync::Arc;

    /// Two mounts of a log, with another column in the place of `position`; it has to be Int64.
    fn mounts(position: ArrayRef) -> RecordBatch {
        let numbers = Arc::new(Int64Array::from(vec![7; position.len()])) as ArrayRef;
        let texts = Arc::new(StringArray::from(vec!["/"; position.len()])) as ArrayRef;
        RecordBatch::try_from_iter([
            ("log_id", numbers.clone()),
            ("job_id", numbers),
            ("position", position),
            ("mount_point", texts.clone()),
            ("fs_type", texts),
        ])
        .unwrap()
    }

    fn adapted(position: impl Array + 'static) -> Result<Vec<i64>, String> {
        let table = table("darshan_mount").unwrap();
        let rows = adapt_schema(
            &mounts(Arc::new(position)),
            table,
            "darshan_mount/1.parquet",
        )
        .map_err(|e| e.to_string())?;
        assert_eq!(rows.schema(), table.schema);
        let position = rows.column_by_name("position").unwrap();
        Ok(position.as_primitive::<Int64Type>().values().to_vec())
    }

    #[test]
    fn a_column_of_another_type_keeps_its_values() {
        assert_eq!(adapted(Int64Array::from(vec![0, -1])), Ok(vec![0, -1]));
        assert_eq!(
            adapted(Int32Array::from(vec![3, i32::MIN])),
            Ok(vec![3, i64::from(i32::MIN)])
        );
        assert_eq!(
            adapted(Float64Array::from(vec![3.0, -4.0])),
            Ok(vec![3, -4])
        );
        assert_eq!(
            adapted(StringArray::from(vec!["12", "-5"])),
            Ok(vec![12, -5])
        );
    }

    #[test]
    fn a_value_that_has_no_equal_is_an_error_with_table_column_and_file() {
        let text = adapted(StringArray::from(vec!["12", "twelve"])).unwrap_err();
        for part in [
            "darshan_mount/1.parquet",
            "darshan_mount.position",
            "`twelve`",
            "row 1",
            "Int64",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // A fraction, a number past the largest, and one that is not a number.
        for float in [1.5, 1e300, f64::NAN] {
            assert!(
                adapted(Float64Array::from(vec![0.0, float])).is_err(),
                "{float}"
            );
        }
        // Times of a nanosecond that no microsecond tells.
        let table = table("slurm_step").unwrap();
        let times = Arc::new(TimestampNanosecondArray::from(vec![1_001]).with_timezone("UTC"));
        let rows = RecordBatch::try_from_iter([
            ("job_id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
            ("step_id", Arc::new(StringArray::from(vec!["0"]))),
            ("job_id_text", Arc::new(StringArray::from(vec!["1.0"]))),
            ("start_time", times),
        ])
        .unwrap();
        let error = adapt_schema(&rows, table, "f").unwrap_err().to_string();
        for part in ["slurm_step.start_time", "1001", "Timestamp(µs, \"UTC\")"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn a_column_that_is_missing_is_null_unless_it_may_not_be() {
        let table = table("darshan_mount").unwrap();
        let rows = mounts(Arc::new(Int64Array::from(vec![0, 1])));
        for at in 0..rows.num_columns() {
            let mut fewer = rows.clone();
            fewer.remove_column(at);
            let adapted = adapt_schema(&fewer, table, "darshan_mount/1.parquet");
            match table.schema.field(at).is_nullable() {
                true => assert_eq!(adapted.unwrap().column(at).null_count(), 2),
                false => {
                    let error = adapted.unwrap_err().to_string();
                    let name = table.schema.field(at).name();
                    assert!(
                        error.contains(name) && error.contains("darshan_mount/1.parquet"),
                        "{error}"
                    );
                }
            }
        }
        // A column that nobody had a value for loses none, whatever its type was.
        let nothing = new_null_array(&DataType::Boolean, 2);
        let step = RecordBatch::try_from_iter_with_nullable([
            (
                "job_id",
                Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef,
                false,
            ),
            (
                "step_id",
                Arc::new(StringArray::from(vec!["0", "0"])),
                false,
            ),
            (
                "job_id_text",
                Arc::new(StringArray::from(vec!["1.0", "2.0"])),
                false,
            ),
            ("end_time", nothing, true),
        ])
        .unwrap();
        let adapted = adapt_schema(&step, crate::table::table("slurm_step").unwrap(), "f").unwrap();
        assert_eq!(adapted.column_by_name("end_time").unwrap().null_count(), 2);
    }
}
