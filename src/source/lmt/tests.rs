//! Rows of LMT as tests read them. Real files are read in tests/it/lmt_files.rs.

#![allow(clippy::print_stdout)]

use super::Lmt;
use crate::source::{BatchSink, Input, Outcome, Site, Source};
use crate::table::table;
use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;
/// A site in the zone of the real files.
pub(super) fn site() -> Arc<Site> {
    Arc::new(Site {
        zone: chrono_tz::America::Los_Angeles,
        ..Site::default()
    })
}

/// The rows of an input as the reader gives them.
pub(super) fn rows(name: &str, input: &Input, site: &Arc<Site>) -> (RecordBatch, Outcome) {
    let mut tables = BatchSink::new([name]).unwrap();
    let outcome = Lmt
        .reader(site.clone())
        .read(input, 1, None, &mut tables)
        .unwrap();
    (tables.get(name).unwrap().finish().unwrap(), outcome)
}

/// Rows sorted as the table asks, those with one key in the order in which they came.
pub(super) fn sorted(name: &str, rows: &RecordBatch) -> RecordBatch {
    let table = table(name).unwrap();
    let mut keys: Vec<ArrayRef> = table
        .sort
        .iter()
        .map(|column| rows.column(table.index(column).unwrap()).clone())
        .collect();
    keys.push(Arc::new(UInt32Array::from_iter_values(
        0..rows.num_rows() as u32,
    )));
    let keys: Vec<SortColumn> = keys
        .into_iter()
        .map(|values| SortColumn {
            values,
            options: None,
        })
        .collect();
    let order = lexsort_to_indices(&keys, None).unwrap();
    let columns = rows
        .columns()
        .iter()
        .map(|column| take(column, &order, None).unwrap())
        .collect();
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

/// What a lake keeps of batches that come one after another.
pub(super) fn resolved(name: &str, batches: &[&RecordBatch]) -> RecordBatch {
    let rows = concat_batches(&batches[0].schema(), batches.iter().copied()).unwrap();
    Lmt.row_merger(name)
        .unwrap()
        .resolve(&sorted(name, &rows))
        .unwrap()
}

pub(super) fn ints(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = rows.column_by_name(name).unwrap();
    match column.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(times) => times.iter().collect(),
        None => column.as_primitive::<Int64Type>().iter().collect(),
    }
}

pub(super) fn floats(rows: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<Float64Type>()
        .iter()
        .collect()
}

pub(super) fn texts(rows: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = rows.column_by_name(name).unwrap().as_string::<i32>();
    column.iter().map(|text| text.map(str::to_string)).collect()
}

pub(super) fn indexes(rows: &RecordBatch, name: &str) -> Vec<i32> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<Int32Type>()
        .values()
        .to_vec()
}

#[test]
fn what_is_no_lmt_is_not_taken() {
    let probe = |head: &[u8]| Lmt.probe(std::path::Path::new("x"), head);
    let none: [&[u8]; 9] = [
        b"",
        b"1286581760 1286581759",
        b"1286581760 1286581759 tycho1 lmt_new 2;tycho1;",
        b"# darshan log version: 3.41\n",
        b"JobID|JobName|State\n44|a.out|COMPLETED\n",
        b"-- MySQL dump 10.13  Distrib 8.0\n--\n-- Host: localhost    Database: wordpress\n",
        b"filesystem_lc1 is what we call -- MySQL dump ",
        b"SQLite format 2\0",
        b"\x89PNG\r\n\x1a\n",
    ];
    for head in none {
        assert!(!probe(head), "{}", head.escape_ascii());
    }
}

#[test]
fn another_sqlite_database_or_hdf5_file_is_refused_with_the_tables_that_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.sqlite3");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE jobs (id); CREATE VIEW OST_DATA AS SELECT 1 AS OST_ID")
        .unwrap();
    drop(connection);
    let input = Input::open(&path).unwrap();
    let error = Lmt.peek(&input).unwrap_err().to_string();
    assert!(
        error.ends_with("none of OST_DATA, OSS_DATA, MDS_DATA, MDS_OPS_DATA"),
        "{error}"
    );
    let error = Lmt
        .reader(site())
        .read(&input, 1, None, &mut BatchSink::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("not LMT's"), "{error}");
}
