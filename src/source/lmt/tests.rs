//! What is no LMT. Real files are read in tests/it/lmt_files.rs.

mod rows;

use super::Lmt;
use crate::source::{BatchSink, Input, Outcome, ReadContext, Source};
use crate::table::{columns, table};
pub(super) use rows::{context, resolved, rows};

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
        .reader(context())
        .read(&input, 1, None, &mut BatchSink::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("not LMT's"), "{error}");
}
