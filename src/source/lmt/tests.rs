//! Real files of LMT: totals that were worked out outside of this program, and that every form says the same.

#![allow(clippy::print_stdout)]

use super::Lmt;
use crate::source::tests::shared;
use crate::source::{BatchSink, Input, Outcome, Site, Source, Status};
use crate::table::table;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A real file of LMT; None, with a printed line, where it is absent.
pub(super) fn real(name: &str) -> Option<Vec<u8>> {
    let path = shared(&format!("lmt/{name}"))?;
    Some(std::fs::read(path).unwrap())
}

pub(super) const DUMP: &str = "filesystem_snx11025.mysqldump.sql";
pub(super) const SQLITE: &str = "snx11025_2018-01-28.sqlite3";
pub(super) const H5LMT: &str = "snx11025_2018-01-28.h5lmt";
pub(super) const TOKIO: &str = "snx11025_2018-01-28.hdf5";

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

/// The rows of a real file as a lake keeps them.
pub(super) fn real_rows(table: &str, file: &str) -> Option<RecordBatch> {
    let input = Input::from_bytes(file, real(file)?);
    let (rows, outcome) = rows(table, &input, &site());
    assert_eq!(outcome, Outcome::default(), "{file}");
    Some(resolved(table, &[&rows]))
}

/// When snx11025's five minutes begin: 2018-01-28T00:00:00 in California.
const BEGIN: i64 = 1_517_126_400_000_000;

/// The 1440 intervals of a file, as (fs, ost, start_time, time, bytes_read, bytes_written).
fn intervals(rows: &RecordBatch) -> Vec<(String, i32, i64, i64, i64, i64)> {
    let (fs, ost) = (texts(rows, "fs"), indexes(rows, "ost"));
    let numbers =
        ["start_time", "time", "bytes_read", "bytes_written"].map(|name| ints(rows, name));
    (0..rows.num_rows())
        .filter_map(|row| {
            let [start, time, read, written] = [0, 1, 2, 3].map(|at: usize| numbers[at][row]);
            Some((fs[row].clone()?, ost[row], start?, time?, read?, written?))
        })
        .collect()
}

/// FORMAT.md 13.
fn check_totals(file: &str) {
    let Some(rows) = real_rows("lmt_ost", file) else {
        return;
    };
    // h5lmt has intervals alone, the others a sample more than intervals.
    let firsts = if file == H5LMT { 0 } else { 24 };
    assert_eq!(rows.num_rows(), 1440 + firsts, "{file}");
    let intervals = intervals(&rows);
    assert_eq!(intervals.len(), 1440, "{file}");
    let (mut minutes, mut osts) = ([(0, 0); 5], BTreeMap::new());
    for (fs, ost, start, time, read, written) in &intervals {
        assert_eq!((fs.as_str(), time - start), ("snx11025", 5_000_000));
        // A sample at a full minute ends the minute before.
        let minute = &mut minutes[((time - 1 - BEGIN) / 60_000_000) as usize];
        *minute = (minute.0 + read, minute.1 + written);
        let of_ost = osts.entry(*ost).or_insert((0, 0));
        *of_ost = (of_ost.0 + read, of_ost.1 + written);
    }
    let minutes_read = minutes.map(|(read, _)| read);
    let minutes_written = minutes.map(|(_, written)| written);
    assert_eq!(
        minutes_read,
        [
            1_308_172_288,
            1_182_109_696,
            1_348_096_000,
            1_295_183_872,
            1_213_612_032
        ],
        "{file}"
    );
    assert_eq!(
        minutes_written,
        [
            24_265_460_328,
            22_945_162_677,
            29_308_755_940,
            15_686_643_886,
            26_831_902_598
        ],
        "{file}"
    );
    assert_eq!(minutes_read.iter().sum::<i64>(), 6_347_173_888);
    assert_eq!(minutes_written.iter().sum::<i64>(), 119_037_925_429);
    assert_eq!(osts.len(), 24);
    assert_eq!(osts[&0], (989_085_696, 12_835_898_398), "{file}");
    let most = |of: fn(&(i64, i64)) -> i64| {
        let (ost, moved) = osts.iter().max_by_key(|(_, moved)| of(moved)).unwrap();
        (*ost, of(moved))
    };
    assert_eq!(most(|m| m.0), (0x13, 1_559_195_648), "{file}");
    assert_eq!(most(|m| m.1), (0xf, 12_990_907_394), "{file}");
    // Neither resets nor gaps.
    for name in ["reset", "gap"] {
        let column = rows.column_by_name(name).unwrap().as_boolean().clone();
        assert_eq!(
            (column.true_count(), column.null_count()),
            (0, firsts),
            "{file}: {name}"
        );
    }
}

/// Operations of the five minutes: FORMAT.md 13.
fn check_operations(file: &str) {
    let Some(rows) = real_rows("lmt_mdt_op", file) else {
        return;
    };
    let (ops, samples) = (texts(&rows, "op"), ints(&rows, "samples"));
    let mut totals: BTreeMap<String, i64> = BTreeMap::new();
    for (op, samples) in ops.into_iter().zip(samples) {
        *totals.entry(op.unwrap()).or_default() += samples.unwrap_or(0);
    }
    let expected = [
        ("open", 1_529_078),
        ("close", 1_512_366),
        ("getattr", 2_968_372),
        ("setattr", 4_516),
        ("unlink", 8),
        ("rename", 18),
        ("statfs", 29),
        ("getxattr", 1_271),
        ("mknod", 1),
    ];
    for (op, total) in expected {
        assert_eq!(totals.get(op), Some(&total), "{file}: {op}");
    }
}

#[test]
fn every_form_of_the_same_five_minutes_has_the_totals_that_were_worked_out_elsewhere() {
    for file in [SQLITE, DUMP, H5LMT, TOKIO] {
        check_totals(file);
        check_operations(file);
    }
}

#[test]
fn every_form_gives_the_same_intervals() {
    let Some(expected) = real_rows("lmt_ost", SQLITE) else {
        return;
    };
    for file in [DUMP, H5LMT, TOKIO] {
        let Some(found) = real_rows("lmt_ost", file) else {
            return;
        };
        assert_eq!(intervals(&found), intervals(&expected), "{file}");
    }
}

#[test]
fn the_counters_of_a_database_are_kept_as_they_came() {
    for file in [SQLITE, DUMP] {
        let Some(rows) = real_rows("lmt_ost", file) else {
            return;
        };
        // FORMAT.md 13: raw sums. They exceed an i64's half, not an i64.
        let sum = |name| ints(&rows, name).into_iter().flatten().sum::<i64>();
        assert_eq!(sum("read_counter"), 24_802_805_078_724_608, "{file}");
        assert_eq!(sum("write_counter"), 52_341_294_707_738_599, "{file}");
        // KiB used at the first and the last stamp.
        let (times, used) = (ints(&rows, "time"), ints(&rows, "bytes_used"));
        let used_at = |time| {
            let rows = times.iter().zip(&used).filter(|(t, _)| **t == Some(time));
            rows.map(|(_, used)| used.unwrap() / 1024).sum::<i64>()
        };
        assert_eq!(used_at(BEGIN), 1_227_867_764_792, "{file}");
        assert_eq!(used_at(BEGIN + 300_000_000), 1_227_932_676_984, "{file}");
    }
}

#[test]
fn a_copy_and_a_dump_of_a_database_have_the_same_rows() {
    for name in Lmt.tables() {
        let (Some(copy), Some(dump)) = (real_rows(name, SQLITE), real_rows(name, DUMP)) else {
            return;
        };
        assert_eq!(copy, dump, "{name}");
        assert!(copy.num_rows() > 0);
    }
    let (Some(oss), Some(mdt)) = (real_rows("lmt_oss", DUMP), real_rows("lmt_mdt", DUMP)) else {
        return;
    };
    // First rows of OSS_DATA and MDS_DATA: (1,8921898,2.05103,94.2455), (1,8921898,2.66902,2149167040,106286540,..).
    assert_eq!(texts(&oss, "oss")[0].as_deref(), Some("snx11025n004"));
    assert_eq!(
        (floats(&oss, "pct_cpu")[0], floats(&oss, "pct_memory")[0]),
        (Some(2.05103), Some(94.2455))
    );
    assert_eq!(texts(&mdt, "mds")[0].as_deref(), Some("snx11025n003"));
    assert_eq!(ints(&mdt, "bytes_free")[0], Some(2_149_167_040 * 1024));
    assert_eq!(ints(&mdt, "time")[0], Some(BEGIN));
}

#[test]
fn a_dump_is_damaged_where_it_is_cut_and_keeps_the_rows_before() {
    let Some(whole) = real(DUMP) else { return };
    let text = String::from_utf8(whole.clone()).unwrap();
    // Inside OST_DATA, right behind one of its rows, and before the last line: the small tables that follow may be gone.
    let stamps = text.find("INSERT INTO `TIMESTAMP_INFO`").unwrap();
    let last = text.find("-- Dump completed").unwrap();
    for (cut, rows_kept) in [(last, 1464), (stamps + 300, 24 * 8)] {
        let input = Input::from_bytes("cut.sql", whole[..cut].to_vec());
        let (rows, outcome) = rows("lmt_ost", &input, &site());
        assert_eq!(outcome.status, Status::Damaged);
        let why = outcome.why.unwrap();
        assert!(why.contains(&format!("cut at byte {cut}")), "{why}");
        assert_eq!(rows.num_rows(), rows_kept, "{why}");
        assert_eq!(
            why.contains("stands for no known time"),
            rows_kept < 1464,
            "{why}"
        );
    }
}

/// Load of servers, by (server, time).
fn loads(table: &str, server: &str, rows: &RecordBatch) -> BTreeMap<(String, i64), f64> {
    let (servers, times, loads) = (
        texts(rows, server),
        ints(rows, "time"),
        floats(rows, "pct_cpu"),
    );
    let rows = servers.into_iter().zip(times).zip(loads);
    rows.map(|((server, time), load)| {
        let server = server.filter(|_| table == "lmt_oss").unwrap_or_default();
        ((server, time.unwrap()), load.unwrap())
    })
    .collect()
}

#[test]
fn load_in_hdf5_files_has_the_time_of_its_sample_not_that_of_an_intervals_end() {
    for (table, server) in [("lmt_oss", "oss"), ("lmt_mdt", "mds")] {
        let Some(database) = real_rows(table, SQLITE) else {
            return;
        };
        let expected = loads(table, server, &database);
        let servers = if table == "lmt_oss" { 24 } else { 1 };
        // The time series lacks the last sample, at the end of its last interval.
        for (file, samples) in [(H5LMT, 61), (TOKIO, 60)] {
            let Some(rows) = real_rows(table, file) else {
                return;
            };
            let found = loads(table, server, &rows);
            assert_eq!(found.len(), samples * servers, "{file}");
            for (key, load) in found {
                assert_eq!(expected.get(&key), Some(&load), "{file}: {key:?}");
            }
        }
    }
}

#[test]
fn a_time_series_says_how_full_targets_are_and_how_much_memory_servers_use() {
    let (Some(rows), Some(expected)) = (real_rows("lmt_ost", TOKIO), real_rows("lmt_ost", SQLITE))
    else {
        return;
    };
    for name in ["bytes_free", "bytes_used", "inodes_free", "inodes_used"] {
        let (found, expected) = (ints(&rows, name), ints(&expected, name));
        // 61 samples of each OST in the database; the last is not in the series.
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let expected = if at % 61 == 60 { &None } else { expected };
            assert_eq!(found, expected, "{name} of row {at}");
        }
    }
    let Some(servers) = real_rows("lmt_oss", TOKIO) else {
        return;
    };
    assert_eq!(floats(&servers, "pct_memory")[0], Some(94.2455));
}

#[test]
fn all_forms_together_are_one_set_of_rows_without_contradiction() {
    let Some(expected) = real_rows("lmt_ost", SQLITE) else {
        return;
    };
    let mut batches = vec![];
    for file in [TOKIO, H5LMT, DUMP, SQLITE] {
        let Some(bytes) = real(file) else { return };
        batches.push(rows("lmt_ost", &Input::from_bytes(file, bytes), &site()).0);
    }
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
        // As a lake takes them: one after another.
        let mut kept = RecordBatch::new_empty(expected.schema());
        for at in order {
            let rows = concat_batches(&expected.schema(), [&kept, &batches[at]]).unwrap();
            let mut row_merger = Lmt.row_merger("lmt_ost").unwrap();
            kept = row_merger.resolve(&sorted("lmt_ost", &rows)).unwrap();
            assert_eq!(row_merger.contradictions(), None, "{order:?}");
        }
        assert_eq!(kept, expected, "{order:?}");
    }
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
    for file in [SQLITE, DUMP, H5LMT, TOKIO, "tycho-newrecov.log"] {
        let Some(bytes) = real(file) else { return };
        assert!(probe(&bytes[..4096]), "{file}");
        let input = Input::from_bytes(file, bytes);
        assert_eq!(Lmt.peek(&input).unwrap(), crate::source::Peek::Dump);
    }
    for file in ["lfs-df.txt.gz", "sample_ost-map.txt.gz"] {
        let Some(bytes) = real(file) else { return };
        assert!(!probe(&bytes[..4096]), "{file}");
    }
}

#[test]
fn a_file_is_read_from_its_path_as_it_is_from_memory() {
    for file in [SQLITE, DUMP, H5LMT, TOKIO, "tycho-newrecov.log"] {
        let Some(bytes) = real(file) else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("a %?#&'{file}"));
        std::fs::write(&path, &bytes).unwrap();
        for name in Lmt.tables() {
            let expected = rows(name, &Input::from_bytes(file, bytes.clone()), &site());
            let input = Input::open(&path).unwrap();
            assert!(Lmt.peek(&input).is_ok());
            assert_eq!(rows(name, &input, &site()), expected, "{file}");
        }
        // Nothing is left beside a file that is only read.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
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
