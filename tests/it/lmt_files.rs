//! Real files of LMT: totals that were worked out outside of this program, and that every form says the same.

use crate::columns::{self, floats, indexes, ints, texts};
use crate::random::Random;
use crate::support::shared_data;
use arrow::array::{Array, AsArray};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::record_batch::RecordBatch;
use iolode::source::lmt::Lmt;
use iolode::source::{BatchSink, Input, Outcome, Peek, ReadContext, Source, Status};
use iolode::table::table;
pub(crate) use rows::{context, resolved, rows, sorted};
use std::collections::{BTreeMap, BTreeSet};

/// How the reader's own tests read.
#[path = "../../src/source/lmt/tests/rows.rs"]
mod rows;

crate::tests! {
    [Data] => {
        every_form_of_the_same_five_minutes_has_the_totals_that_were_worked_out_elsewhere,
        every_form_gives_the_same_intervals,
        the_counters_of_a_database_are_kept_as_they_came,
        a_copy_and_a_dump_of_a_database_have_the_same_rows,
        a_dump_is_damaged_where_it_is_cut_and_keeps_the_rows_before,
        load_in_hdf5_files_has_the_time_of_its_sample_not_that_of_an_intervals_end,
        a_time_series_says_how_full_targets_are_and_how_much_memory_servers_use,
        all_forms_together_are_one_set_of_rows_without_contradiction,
        ten_slices_taken_in_one_by_one_in_any_order_are_the_whole,
        real_files_of_lmt_are_taken_and_what_lies_beside_them_is_not,
        a_file_is_read_from_its_path_as_it_is_from_memory,
        the_real_recording_has_each_sample_once_and_leaves_out_the_file_system_that_fell_silent,
        entries_of_the_real_recording_before_repetitions_are_left_out,
    }
}

pub(crate) const DUMP: &str = "filesystem_snx11025.mysqldump.sql";
pub(crate) const SQLITE: &str = "snx11025_2018-01-28.sqlite3";
pub(crate) const H5LMT: &str = "snx11025_2018-01-28.h5lmt";
pub(crate) const TOKIO: &str = "snx11025_2018-01-28.hdf5";
const RECORDING: &str = "tycho-newrecov.log";

/// A real file of LMT.
pub(crate) fn real(name: &str) -> Vec<u8> {
    std::fs::read(shared_data().join("lmt").join(name)).unwrap()
}

/// The rows of a real file as a lake keeps them.
fn real_rows(table: &str, file: &str) -> RecordBatch {
    let input = Input::from_bytes(file, real(file));
    let (rows, outcome) = rows(table, &input, &context());
    assert_eq!(outcome, Outcome::default(), "{file}");
    resolved(table, &[&rows])
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
    let rows = real_rows("lmt_ost", file);
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
    let rows = real_rows("lmt_mdt_op", file);
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

fn every_form_of_the_same_five_minutes_has_the_totals_that_were_worked_out_elsewhere() {
    for file in [SQLITE, DUMP, H5LMT, TOKIO] {
        check_totals(file);
        check_operations(file);
    }
}

fn every_form_gives_the_same_intervals() {
    let expected = real_rows("lmt_ost", SQLITE);
    for file in [DUMP, H5LMT, TOKIO] {
        let found = real_rows("lmt_ost", file);
        assert_eq!(intervals(&found), intervals(&expected), "{file}");
    }
}

fn the_counters_of_a_database_are_kept_as_they_came() {
    for file in [SQLITE, DUMP] {
        let rows = real_rows("lmt_ost", file);
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

fn a_copy_and_a_dump_of_a_database_have_the_same_rows() {
    for name in Lmt.tables() {
        let (copy, dump) = (real_rows(name, SQLITE), real_rows(name, DUMP));
        assert_eq!(copy, dump, "{name}");
        assert!(copy.num_rows() > 0);
    }
    let (oss, mdt) = (real_rows("lmt_oss", DUMP), real_rows("lmt_mdt", DUMP));
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

fn a_dump_is_damaged_where_it_is_cut_and_keeps_the_rows_before() {
    let whole = real(DUMP);
    let text = String::from_utf8(whole.clone()).unwrap();
    // Inside OST_DATA, right behind one of its rows, and before the last line: the small tables that follow may be gone.
    let stamps = text.find("INSERT INTO `TIMESTAMP_INFO`").unwrap();
    let last = text.find("-- Dump completed").unwrap();
    for (cut, rows_kept) in [(last, 1464), (stamps + 300, 24 * 8)] {
        let input = Input::from_bytes("cut.sql", whole[..cut].to_vec());
        let (rows, outcome) = rows("lmt_ost", &input, &context());
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

fn load_in_hdf5_files_has_the_time_of_its_sample_not_that_of_an_intervals_end() {
    for (table, server) in [("lmt_oss", "oss"), ("lmt_mdt", "mds")] {
        let database = real_rows(table, SQLITE);
        let expected = loads(table, server, &database);
        let servers = if table == "lmt_oss" { 24 } else { 1 };
        // The time series lacks the last sample, at the end of its last interval.
        for (file, samples) in [(H5LMT, 61), (TOKIO, 60)] {
            let rows = real_rows(table, file);
            let found = loads(table, server, &rows);
            assert_eq!(found.len(), samples * servers, "{file}");
            for (key, load) in found {
                assert_eq!(expected.get(&key), Some(&load), "{file}: {key:?}");
            }
        }
    }
}

fn a_time_series_says_how_full_targets_are_and_how_much_memory_servers_use() {
    let (rows, expected) = (real_rows("lmt_ost", TOKIO), real_rows("lmt_ost", SQLITE));
    for name in ["bytes_free", "bytes_used", "inodes_free", "inodes_used"] {
        let (found, expected) = (ints(&rows, name), ints(&expected, name));
        // 61 samples of each OST in the database; the last is not in the series.
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let expected = if at % 61 == 60 { &None } else { expected };
            assert_eq!(found, expected, "{name} of row {at}");
        }
    }
    let servers = real_rows("lmt_oss", TOKIO);
    assert_eq!(floats(&servers, "pct_memory")[0], Some(94.2455));
}

fn all_forms_together_are_one_set_of_rows_without_contradiction() {
    let expected = real_rows("lmt_ost", SQLITE);
    let mut batches = vec![];
    for file in [TOKIO, H5LMT, DUMP, SQLITE] {
        let bytes = real(file);
        batches.push(rows("lmt_ost", &Input::from_bytes(file, bytes), &context()).0);
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

fn a_file_is_read_from_its_path_as_it_is_from_memory() {
    for file in [SQLITE, DUMP, H5LMT, TOKIO, "tycho-newrecov.log"] {
        let bytes = real(file);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("a %?#&'{file}"));
        std::fs::write(&path, &bytes).unwrap();
        for name in Lmt.tables() {
            let expected = rows(name, &Input::from_bytes(file, bytes.clone()), &context());
            let input = Input::open(&path).unwrap();
            assert!(Lmt.peek(&input).is_ok());
            assert_eq!(rows(name, &input, &context()), expected, "{file}");
        }
        // Nothing is left beside a file that is only read.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

fn ten_slices_taken_in_one_by_one_in_any_order_are_the_whole() {
    for name in Lmt.tables() {
        for file in [SQLITE, DUMP, H5LMT] {
            let bytes = real(file);
            let (all, _) = rows(name, &Input::from_bytes(file, bytes), &context());
            let whole = resolved(name, &[&all]);
            let begin = ints(&whole, "time").into_iter().flatten().min().unwrap();
            let slices: Vec<RecordBatch> = (0..=10)
                .map(|slice| {
                    let from = begin + slice * 30_000_000;
                    let inside = ints(&all, "time")
                        .into_iter()
                        .map(|t| t.map(|t| (from..from + 30_000_000).contains(&t)));
                    filter_record_batch(&all, &inside.collect()).unwrap()
                })
                .collect();
            let mut random = Random::new(7, 0);
            for _ in 0..6 {
                let mut order: Vec<usize> = (0..slices.len()).collect();
                random.shuffle(&mut order);
                let mut kept = RecordBatch::new_empty(whole.schema());
                for at in &order {
                    // A slice twice changes nothing.
                    for _ in 0..2 {
                        let both = concat_batches(&whole.schema(), [&kept, &slices[*at]]).unwrap();
                        let mut row_merger = Lmt.row_merger(name).unwrap();
                        kept = row_merger.resolve(&sorted(name, &both)).unwrap();
                        assert_eq!(row_merger.contradictions(), None);
                    }
                }
                assert_eq!(kept, whole, "{name} of {file} in the order {order:?}");
            }
        }
    }
}

fn real_files_of_lmt_are_taken_and_what_lies_beside_them_is_not() {
    let probe = |head: &[u8]| Lmt.probe(std::path::Path::new("x"), head);
    for file in [SQLITE, DUMP, H5LMT, TOKIO, "tycho-newrecov.log"] {
        let bytes = real(file);
        assert!(probe(&bytes[..4096]), "{file}");
        let input = Input::from_bytes(file, bytes);
        assert_eq!(Lmt.peek(&input).unwrap(), Peek::Dump);
    }
    for file in ["lfs-df.txt.gz", "sample_ost-map.txt.gz"] {
        let bytes = real(file);
        assert!(!probe(&bytes[..4096]), "{file}");
    }
}

fn the_real_recording_has_each_sample_once_and_leaves_out_the_file_system_that_fell_silent() {
    let input = Input::from_bytes(RECORDING, real(RECORDING));
    let (found, outcome) = rows("lmt_ost", &input, &context());
    // FORMAT.md 13: 96 OSTs lc1-OST0000..005f; replayed through LMT's own inserts the recording made
    // 4800 rows of OST_DATA, 1600 of OSS_DATA, 46 of MDS_DATA and 966 of MDS_OPS_DATA.
    let counts = ["lmt_ost", "lmt_oss", "lmt_mdt", "lmt_mdt_op"]
        .map(|name| rows(name, &input, &context()).0.num_rows());
    assert_eq!(counts, [4800, 1600, 46, 966]);
    let osts: BTreeSet<i32> = indexes(&found, "ost").into_iter().collect();
    assert!(osts.into_iter().eq(0..96));
    assert!(
        texts(&found, "fs")
            .iter()
            .all(|fs| fs.as_deref() == Some("lc1"))
    );
    assert_eq!(outcome.status, Status::Partial);
    let why = outcome.why.unwrap();
    assert_eq!(
        why,
        "122 samples (lmt_mdt) of the file system lc2 left out: its server stopped reporting, and they are up to 91289 s older than \
         the poll that shows them"
    );
    // Byte counters do not move.
    let kept = resolved("lmt_ost", &[&found]);
    assert_eq!(kept.num_rows(), 4800);
    assert!(
        ints(&kept, "bytes_read")
            .iter()
            .all(|moved| moved.unwrap_or(0) == 0)
    );
    assert_eq!(
        ints(&kept, "bytes_read")
            .iter()
            .filter(|moved| moved.is_none())
            .count(),
        96
    );
}

fn entries_of_the_real_recording_before_repetitions_are_left_out() {
    let input = real(RECORDING);
    // FORMAT.md 13.
    let lines: Vec<&[u8]> = input
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines.len(), 4880);
    let (mut polls, mut entries, mut recovering) = (BTreeSet::new(), 0, 0);
    let mut tables = BatchSink::new(["lmt_ost"]).unwrap();
    let mut reader = Lmt.reader(context());
    // Each line by itself, so that no line repeats another.
    for line in lines {
        polls.insert(line.split(|b| *b == b' ').next().unwrap());
        let input = Input::from_bytes("line.log", [line, b"\n"].concat());
        let outcome = reader.read(&input, 1, None, &mut tables).unwrap();
        assert_ne!(outcome.status, Status::Damaged, "{outcome:?}");
        let rows = tables.get("lmt_ost").unwrap().finish().unwrap();
        entries += rows.num_rows();
        recovering += texts(&rows, "recovery_status")
            .iter()
            .filter(|status| status.as_deref().unwrap().starts_with("RECOVERING"))
            .count();
    }
    assert_eq!((polls.len(), entries, recovering), (122, 11_712, 677));
}
