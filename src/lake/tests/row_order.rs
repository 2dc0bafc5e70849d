//! Whether the rows of a lake lie as its files say. tests/it/real_lakes.rs takes this file in as well.

use super::{Lake, table};
use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::{SortOptions, cast, concat_batches};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use arrow::util::display::array_value_to_string;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, HashSet};

/// Reads each file of the lake whole; its rows must ascend by the columns that it declares as sorting columns, which must be the
/// table's, and keys that are known must be unique over all files. How many there are of each table.
pub(super) fn rows_in_order(lake: &Lake) -> BTreeMap<String, usize> {
    let mut keys: BTreeMap<String, HashSet<Vec<String>>> = BTreeMap::new();
    for file in lake.snapshot(None).unwrap().files() {
        let table = table(&file.table).unwrap();
        let path = lake.root().unwrap().join(&file.path);
        let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap());
        let reader = reader.unwrap();
        for group in reader.metadata().row_groups() {
            let declared: Vec<_> = group
                .sorting_columns()
                .unwrap()
                .iter()
                .map(|column| {
                    assert!(!column.descending && !column.nulls_first);
                    table.columns[column.column_idx as usize].name.clone()
                })
                .collect();
            assert_eq!(declared, table.sort);
        }
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        let rows = concat_batches(&schema, &batches).unwrap();
        let columns = |names: &[String]| -> Vec<ArrayRef> {
            let column = |name: &String| match rows.column_by_name(name).unwrap() {
                times if times.data_type().is_temporal() => cast(times, &DataType::Int64).unwrap(),
                column => column.clone(),
            };
            names.iter().map(column).collect()
        };
        let options = SortOptions {
            descending: false,
            nulls_first: false,
        };
        let compare: Vec<_> = columns(&table.sort)
            .iter()
            .map(|column| make_comparator(column, column, options).unwrap())
            .collect();
        for row in 1..rows.num_rows() {
            let order = compare.iter().map(|compare| compare(row - 1, row));
            let order = order.reduce(std::cmp::Ordering::then).unwrap();
            assert!(order.is_le(), "{}: row {row} of {}", file.table, file.path);
        }
        let key = columns(&table.key);
        let seen = keys.entry(file.table.clone()).or_default();
        let known = columns(&table.sort);
        for row in 0..rows.num_rows() {
            // Of rows whose dumps did not say when they were submitted or started it is not known whether they are one.
            if known.iter().any(|column| column.is_null(row)) {
                continue;
            }
            let text = |column: &ArrayRef| match column.is_valid(row) {
                true => array_value_to_string(column, row).unwrap(),
                false => "NULL".into(),
            };
            let key: Vec<String> = key.iter().map(text).collect();
            assert!(seen.insert(key.clone()), "{}: {key:?} twice", file.table);
        }
    }
    keys.into_iter()
        .map(|(table, keys)| (table, keys.len()))
        .collect()
}
