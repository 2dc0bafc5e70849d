//! Columns of rows as vectors, and all rows of a table of a lake.

use arrow::array::AsArray;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use iolode::lake::Lake;
use iolode::table::table;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

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

/// Times in whole seconds.
pub(crate) fn seconds(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = rows.column_by_name(name).unwrap();
    let times = column.as_primitive::<TimestampMicrosecondType>().iter();
    times.map(|time| time.map(|t| t / 1_000_000)).collect()
}

/// All rows of a table, in the order of its ranges or days.
pub(crate) fn rows_of(lake: &Lake, name: &str) -> RecordBatch {
    let snapshot = lake.snapshot(None).unwrap();
    let mut files: Vec<_> = snapshot.files().iter().collect();
    files.retain(|file| file.table == name);
    files.sort_by_key(|file| (file.job_id, file.day.clone()));
    let schema = &table(name).unwrap().schema;
    let mut batches = vec![];
    for file in files {
        let file = std::fs::File::open(lake.root().unwrap().join(&file.path)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let columns = schema.fields().iter().map(|field| {
                let column = batch.column_by_name(field.name()).unwrap();
                cast(column, field.data_type()).unwrap()
            });
            batches.push(RecordBatch::try_new(schema.clone(), columns.collect()).unwrap());
        }
    }
    concat_batches(schema, &batches).unwrap()
}
