//! Columns of rows as vectors, and rows in order: for tests. tests/it takes this file in as well.

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use std::sync::Arc;

/// Integers, or times in microseconds.
pub(crate) fn ints(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = rows.column_by_name(name).unwrap();
    match column.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(times) => times.iter().collect(),
        None => column.as_primitive::<Int64Type>().iter().collect(),
    }
}

/// Integers of 32 bits that are never NULL, such as those of OSTs.
pub(crate) fn indexes(rows: &RecordBatch, name: &str) -> Vec<i32> {
    let column = rows.column_by_name(name).unwrap();
    column.as_primitive::<Int32Type>().values().to_vec()
}

pub(crate) fn floats(rows: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    let column = rows.column_by_name(name).unwrap();
    column.as_primitive::<Float64Type>().iter().collect()
}

pub(crate) fn texts(rows: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = rows.column_by_name(name).unwrap().as_string::<i32>();
    column.iter().map(|text| text.map(str::to_string)).collect()
}

fn columns_of(rows: &RecordBatch, names: &[String]) -> Vec<ArrayRef> {
    let column = |name: &String| rows.column_by_name(name).unwrap().clone();
    names.iter().map(column).collect()
}

/// The rows sorted by these columns, NULL last; rows that are equal in them keep their order.
pub(crate) fn sorted(rows: &RecordBatch, by: &[String]) -> RecordBatch {
    let at: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..rows.num_rows() as u32));
    let keys: Vec<SortColumn> = columns_of(rows, by)
        .into_iter()
        .chain([at])
        .map(|values| SortColumn {
            values,
            options: Some(SortOptions::new(false, false)),
        })
        .collect();
    take_record_batch(rows, &lexsort_to_indices(&keys, None).unwrap()).unwrap()
}

/// Whether the rows ascend by these columns.
pub(crate) fn ascend(rows: &RecordBatch, by: &[String]) -> bool {
    let columns = columns_of(rows, by);
    let fields = columns
        .iter()
        .map(|c| SortField::new(c.data_type().clone()));
    let converter = RowConverter::new(fields.collect()).unwrap();
    let rows = converter.convert_columns(&columns).unwrap();
    rows.iter().is_sorted()
}
