//! The cases that SEMANTICS.md 1 to 4 names, and what darshan-parser 3.5.0 --perf --file prints, on the real logs.

use crate::support::shared_data;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow::record_batch::RecordBatch;
use iolode::source::darshan::Darshan;
use iolode::source::{BatchSink, Input, ReadContext, Source};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

crate::tests! {
    [Data] => {
        mpi_io_stands_in_where_posix_lost_the_records_of_the_rank_that_wrote,
        data_sieving_shows_as_amplification_and_as_reads_that_nobody_asked_for,
        streams_never_enter_critical_times,
        a_stream_is_known_by_its_id_though_anonymising_took_its_name,
        garbage_times_stay_in_the_module_and_are_no_time_of_the_file,
        negative_counts_are_null_and_what_may_be_negative_is_kept,
        every_rank_that_opens_a_file_counts_and_only_those_that_moved_bytes_read_or_write_it,
        bytes_lie_on_the_stripes_up_to_the_highest_byte_and_their_sum_is_the_file,
        bytes_of_every_real_file_with_a_layout_are_spread_without_loss,
        with_the_usual_default_of_one_stripe_of_one_mebibyte_only_jeanbez_is_custom,
        sequential_and_consecutive_are_two_things,
        logs_of_one_job_are_laid_on_the_clock_and_not_over_each_other,
        a_window_that_ends_after_the_run_is_kept_as_it_is,
        time_outside_the_window_is_kept_and_flagged,
        darshan_parsers_totals_and_bandwidths_are_columns_with_its_values,
        darshan_parsers_file_categories_follow_from_the_posix_table,
    }
}

const STDOUT: u64 = 15920181672442173319;
const STDERR: u64 = 7238257241479193519;

/// The tables of one log.
struct Log(BTreeMap<&'static str, RecordBatch>);

/// One row of a table.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a>(pub(crate) &'a RecordBatch, pub(crate) usize);

impl Log {
    fn read(path: &Path) -> Self {
        let names = || {
            let all = Darshan.tables().iter().copied();
            all.filter(|name| *name != "darshan_dxt")
        };
        let mut tables = BatchSink::new(names()).unwrap();
        let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
        let input = Input::open(path).unwrap();
        reader.read(&input, 1, None, &mut tables).unwrap();
        let batches = names().map(|name| (name, tables.get(name).unwrap().finish().unwrap()));
        Self(batches.collect())
    }

    /// A log of ../shared/data/darshan; None where that is absent.
    fn real(name: &str) -> Self {
        Self::read(&shared_data().join("darshan").join(name))
    }

    fn rows(&self, table: &str) -> impl Iterator<Item = Row<'_>> {
        let batch = &self.0[table];
        (0..batch.num_rows()).map(move |at| Row(batch, at))
    }

    fn log(&self) -> Row<'_> {
        self.rows("darshan_log").next().unwrap()
    }

    fn files(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows("darshan_file")
    }

    fn file(&self, which: impl Fn(&Row<'_>) -> bool) -> Row<'_> {
        let mut files = self.files().filter(which);
        let file = files.next().unwrap();
        assert!(files.next().is_none(), "more than one such file");
        file
    }

    /// Read and write windows of files that moved bytes and are no stream, in seconds from `zero`.
    fn windows(&self, zero: f64) -> Vec<(f64, f64)> {
        let mut windows = vec![];
        for file in self.files().filter(|file| !file.flag("is_stream")) {
            for (moved, start, end) in [
                ("bytes_read", "read_start", "read_end"),
                ("bytes_written", "write_start", "write_end"),
            ] {
                let window = file.float(start).zip(file.float(end));
                if let (Some((start, end)), true) = (window, file.int(moved) > Some(0)) {
                    windows.push((zero + start, zero + end));
                }
            }
        }
        windows
    }
}

impl<'a> Row<'a> {
    fn column(self, name: &str) -> &'a dyn Array {
        let column = self.0.column_by_name(name);
        column
            .unwrap_or_else(|| panic!("no column {name}"))
            .as_ref()
    }

    fn known(self, name: &str) -> bool {
        self.column(name).is_valid(self.1)
    }

    pub(crate) fn int(self, name: &str) -> Option<i64> {
        let column = self.column(name).as_primitive::<Int64Type>();
        self.known(name).then(|| column.value(self.1))
    }

    pub(crate) fn float(self, name: &str) -> Option<f64> {
        let column = self.column(name).as_primitive::<Float64Type>();
        self.known(name).then(|| column.value(self.1))
    }

    fn time(self, name: &str) -> Option<i64> {
        let column = self.column(name).as_primitive::<TimestampMicrosecondType>();
        self.known(name).then(|| column.value(self.1))
    }

    fn id(self) -> u64 {
        let column = self.column("record_id").as_primitive::<UInt64Type>();
        column.value(self.1)
    }

    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        let column = self.column(name).as_string::<i32>();
        self.known(name).then(|| column.value(self.1))
    }

    pub(crate) fn flag(self, name: &str) -> bool {
        self.column(name).as_boolean().value(self.1)
    }

    fn int64s(self, name: &str) -> Vec<i64> {
        let list = self.column(name).as_list::<i32>().value(self.1);
        list.as_primitive::<Int64Type>().values().to_vec()
    }
}

/// Length of the union of intervals, by their ends alone: where at least one is open.
fn union(windows: &[(f64, f64)]) -> f64 {
    let mut ends: Vec<(f64, i32)> = windows.iter().flat_map(|w| [(w.0, 1), (w.1, -1)]).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (mut open, mut length, mut from) = (0, 0.0, 0.0);
    for (at, step) in ends {
        if open == 0 {
            from = at;
        }
        open += step;
        if open == 0 {
            length += at - from;
        }
    }
    length
}

/// To the digits that the specification gives.
fn near(found: Option<f64>, expected: f64, digits: f64) {
    let found = found.unwrap();
    assert!(
        (found - expected).abs() <= digits / 2.0,
        "{found} instead of {expected}"
    );
}

/// A file's bytes read and written, greatest offset, records, and whether one of them is shared.
type Category = (i64, i64, i64, usize, bool);

fn mpi_io_stands_in_where_posix_lost_the_records_of_the_rank_that_wrote() {
    let log = Log::real("imbalanced-io.darshan");
    let file = log.file(|file| file.text("path") == Some("/lus/theta-fs0/312046190"));
    assert_eq!(file.text("bytes_source"), Some("mpiio"));
    assert!(file.flag("posix_incomplete"));
    assert_eq!(file.int("posix_bytes_written"), Some(78_480));
    near(
        file.int("bytes_written").map(|b| b as f64),
        25.1e9,
        0.1e9 / 2.0,
    );
    // Request shares, ratios and differences of a POSIX that is not whole mean nothing.
    for column in [
        "posix_writes",
        "size_write_0_100",
        "seq_writes",
        "consec_writes",
        "extra_written",
    ] {
        assert_eq!(file.int(column), None, "{column}");
    }
    assert_eq!(file.float("amplification_write"), None);
    let incomplete = log.files().filter(|file| file.flag("posix_incomplete"));
    assert_eq!(incomplete.count(), 2);
    let written = |column| log.log().int(column).map(|b| b as f64);
    near(written("bytes_written"), 79.52e9, 0.01e9);
    near(written("posix_bytes_written"), 52.94e9, 0.01e9);
    assert!(log.log().flag("partial"));
}

fn data_sieving_shows_as_amplification_and_as_reads_that_nobody_asked_for() {
    let name = "shane_macsio_id29959_5-22-32552-7035573431850780836_1590156158.darshan";
    let log = Log::real(name);
    let file = log.file(|file| file.int("mpiio_bytes_written") > Some(0));
    assert_eq!(file.int("mpiio_bytes_written"), Some(13_286_360));
    assert_eq!(file.int("posix_bytes_written"), Some(54_579_416));
    assert_eq!(file.int("posix_bytes_read"), Some(39_816_960));
    assert_eq!(file.text("bytes_source"), Some("posix"));
    assert_eq!(
        file.float("amplification_write"),
        Some(54_579_416.0 / 13_286_360.0)
    );
    // No ratio to nothing, but a difference.
    assert_eq!(file.float("amplification_read"), None);
    assert_eq!(file.int("extra_read"), Some(39_816_960));
    assert_eq!(file.int("extra_written"), Some(54_579_416 - 13_286_360));
}

fn streams_never_enter_critical_times() {
    let log = Log::real("sample.darshan");
    near(log.log().float("critical_write_time"), 111.1, 0.1);
    let stdout = log.file(|file| file.id() == STDOUT);
    assert!(stdout.flag("is_stream"));
    assert_eq!(stdout.int("bytes_written"), Some(280));
    near(
        stdout
            .float("write_end")
            .zip(stdout.float("write_start"))
            .map(|(a, b)| a - b),
        116.2,
        0.1,
    );
    near(log.log().float("run_time"), 117.0, 0.1);
    // Totals include them, and say how much that is.
    let of_streams: i64 = log
        .files()
        .filter(|file| file.flag("is_stream"))
        .filter_map(|file| file.int("bytes_written"))
        .sum();
    assert_eq!(log.log().int("bytes_written_streams"), Some(of_streams));
    assert!(of_streams >= 280);

    let badost = Log::real("sample-badost.darshan");
    let stdout = badost.file(|file| file.id() == STDOUT);
    near(
        stdout
            .float("write_end")
            .zip(stdout.float("write_start"))
            .map(|(a, b)| a - b),
        778.8,
        0.1,
    );
    assert!(badost.log().float("critical_write_time") < Some(778.0));

    let dlio = "snyder_python3_id3116902-2110365_12-19-66957-188958432683465822_1.darshan";
    let dlio = Log::real(dlio);
    near(dlio.log().float("critical_write_time"), 0.48, 0.01);
    let with_streams: Vec<(f64, f64)> = dlio
        .files()
        .filter(|file| file.int("bytes_written") > Some(0))
        .filter_map(|file| file.float("write_start").zip(file.float("write_end")))
        .collect();
    near(Some(union(&with_streams)), 136.1, 0.1);
}

fn a_stream_is_known_by_its_id_though_anonymising_took_its_name() {
    let log = Log::real("nonmpi_dxt_anonymized.darshan");
    let streams: Vec<_> = log.files().filter(|file| file.flag("is_stream")).collect();
    assert_eq!(streams.len(), 3);
    assert!(
        streams
            .iter()
            .all(|file| file.text("path").is_some_and(|path| !path.starts_with('<')))
    );
}

fn garbage_times_stay_in_the_module_and_are_no_time_of_the_file() {
    let log = Log::real("sample.darshan");
    let stderr = log
        .rows("darshan_stdio")
        .find(|row| row.id() == STDERR && row.int("stdio_writes") > Some(0))
        .unwrap();
    near(stderr.float("stdio_f_write_time"), -2662.7, 0.1);
    assert_eq!(stderr.float("stdio_f_write_start_timestamp"), Some(0.0));
    let file = log.file(|file| file.id() == STDERR);
    assert_eq!(file.int("writes"), Some(68));
    // What is left are the times of ranks that wrote nothing.
    assert_eq!(file.float("write_time"), Some(0.0));
    for column in ["write_start", "write_end", "write_busy", "write_busy_end"] {
        assert_eq!(file.float(column), None, "{column}");
    }
    assert!(log.log().float("write_time") > Some(0.0));
}

fn negative_counts_are_null_and_what_may_be_negative_is_kept() {
    let log = Log::real("mpi-io-test-x86_64-3.1.3.darshan");
    // A version that does not know a counter, and sums of -1 over ranks.
    for row in log.rows("darshan_posix") {
        assert_eq!(row.int("posix_rename_sources"), None);
        assert!(row.int("posix_mmaps").is_none_or(|n| n >= 0));
    }
    assert!(
        log.rows("darshan_posix")
            .any(|row| row.int("rank") == Some(-1))
    );
}

fn every_rank_that_opens_a_file_counts_and_only_those_that_moved_bytes_read_or_write_it() {
    let name =
        "jeanbez_8_benchmark_parallel_id45195555_8-6-50011-11681279140261054765_1628283217.darshan";
    let log = Log::real(name);
    let file = log.file(|file| !file.flag("is_stream"));
    assert_eq!(file.int("file_nprocs_posix"), Some(1024));
    assert_eq!(file.int("readers"), Some(1024));
    assert_eq!(file.int("writers"), Some(165));
    assert_eq!(file.text("sharing"), Some("part_shared"));
}

fn bytes_lie_on_the_stripes_up_to_the_highest_byte_and_their_sum_is_the_file() {
    let name =
        "jeanbez_8_benchmark_parallel_id45195555_8-6-50011-11681279140261054765_1628283217.darshan";
    let log = Log::real(name);
    let file = log.file(|file| !file.flag("is_stream"));
    assert_eq!(file.int("stripe_size"), Some(32 << 20));
    assert_eq!(file.int("stripe_count"), Some(64));
    assert_eq!(file.int("ost_count"), Some(64));
    let highest = file.int("max_byte_read").max(file.int("max_byte_written"));
    assert_eq!(highest, Some(1_342_244_888 - 1));
    assert_eq!(file.int("ost_used"), Some(41));
    for (list, total) in [
        ("ost_bytes_read", "bytes_read"),
        ("ost_bytes_written", "bytes_written"),
    ] {
        let bytes = file.int64s(list);
        assert_eq!(bytes.len(), 64);
        assert_eq!(bytes.iter().filter(|b| **b > 0).count(), 41);
        assert_eq!(Some(bytes.iter().sum()), file.int(total));
    }
}

fn bytes_of_every_real_file_with_a_layout_are_spread_without_loss() {
    let data = shared_data();
    let mut spread = 0;
    for entry in std::fs::read_dir(data.join("darshan")).unwrap() {
        let log = Log::read(&entry.unwrap().path());
        for file in log.files().filter(|file| file.int("ost_count") > Some(0)) {
            for (list, total) in [
                ("ost_bytes_read", "bytes_read"),
                ("ost_bytes_written", "bytes_written"),
            ] {
                assert_eq!(Some(file.int64s(list).iter().sum()), file.int(total));
            }
            spread += 1;
        }
    }
    assert!(spread > 2_500, "{spread}");
}

fn with_the_usual_default_of_one_stripe_of_one_mebibyte_only_jeanbez_is_custom() {
    let custom = |name: &str| {
        let log = Log::real(name);
        log.files().any(|file| {
            file.known("stripe_size")
                && (file.int("stripe_size"), file.int("stripe_count")) != (Some(1 << 20), Some(1))
        })
    };
    for name in [
        "sample-badost.darshan",
        "sample-goodost.darshan",
        "imbalanced-io.darshan",
    ] {
        assert!(!custom(name), "{name}");
    }
    let name =
        "jeanbez_8_benchmark_parallel_id45195555_8-6-50011-11681279140261054765_1628283217.darshan";
    assert!(custom(name));
}

fn sequential_and_consecutive_are_two_things() {
    let log = Log::real("sample.darshan");
    let file = log.file(|file| file.int("posix_writes") > Some(0));
    assert_eq!(file.int("consec_writes"), Some(0));
    assert_eq!(file.int("seq_writes"), Some(16_384));
    assert_eq!(file.int("posix_writes"), Some(16_402));
}

fn logs_of_one_job_are_laid_on_the_clock_and_not_over_each_other() {
    let data = shared_data();
    let folder = data.join("linked/darshan_logs");
    let mut logs: Vec<Log> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| Log::read(&entry.unwrap().path()))
        .filter(|log| log.log().int("job_id") == Some(44))
        .collect();
    assert_eq!(logs.len(), 5);
    let start = |log: &Log| log.log().time("start_time").unwrap();
    let end = |log: &Log| log.log().time("end_time").unwrap();
    logs.sort_by_key(start);
    // The first two side by side, by about a millisecond.
    assert!((0..2_000).contains(&(end(&logs[0]) - start(&logs[1]))));
    let zero = start(&logs[0]);
    let windows = |clock: bool| -> Vec<(f64, f64)> {
        let from = |log: &Log| {
            if clock {
                (start(log) - zero) as f64 / 1e6
            } else {
                0.0
            }
        };
        logs.iter().flat_map(|log| log.windows(from(log))).collect()
    };
    near(Some(union(&windows(true))), 0.125, 0.001);
    near(Some(union(&windows(false))), 0.050, 0.001);
    // The columns on the clock say the same as start and seconds.
    for log in &logs {
        for file in log.files() {
            let clock = file.float("write_end").map(|s| (s * 1e6).round() as i64);
            assert_eq!(file.time("write_end_time"), clock.map(|c| start(log) + c));
        }
    }
}

fn a_window_that_ends_after_the_run_is_kept_as_it_is() {
    let data = shared_data();
    let mut latest: f64 = 0.0;
    for entry in std::fs::read_dir(data.join("linked/darshan_logs")).unwrap() {
        let log = Log::read(&entry.unwrap().path());
        let run_time = log.log().float("run_time").unwrap();
        for (_, end) in log.windows(0.0) {
            latest = latest.max(end - run_time);
        }
    }
    near(Some(latest), 0.077, 0.001);
}

fn time_outside_the_window_is_kept_and_flagged() {
    for (name, files) in [
        ("sample-badost.darshan", 2048),
        ("sample-goodost.darshan", 48),
    ] {
        let log = Log::real(name);
        let synced = log.files().filter(|file| file.flag("sync_outside_window"));
        assert_eq!(
            synced
                .inspect(|f| assert!(f.int("bytes_written") > Some(0)))
                .count(),
            files
        );
    }
}

fn darshan_parsers_totals_and_bandwidths_are_columns_with_its_values() {
    // total_bytes, agg_time_by_slowest, agg_perf_by_slowest of darshan-parser 3.5.0 --perf --show-incomplete.
    for (name, bytes, seconds, mib_s, digits) in [
        (
            "sample-goodost.darshan",
            51_539_607_552,
            3.758158,
            13_078.75,
            0.01,
        ),
        (
            "sample-badost.darshan",
            549_755_813_888,
            778.494366,
            673.464090,
            1e-6,
        ),
        (
            "imbalanced-io.darshan",
            106_730_099_902,
            616.911529,
            164.992467,
            1e-6,
        ),
    ] {
        let log = Log::real(name);
        let row = log.log();
        assert_eq!(row.int("posix_total_bytes"), Some(bytes), "{name}");
        near(row.float("posix_agg_time_by_slowest"), seconds, 1e-6);
        near(row.float("posix_agg_perf_by_slowest_mib_s"), mib_s, digits);
    }
}

fn darshan_parsers_file_categories_follow_from_the_posix_table() {
    // total, read-only, write-only, read-write, unique, shared with part-shared; highest offset of unique or of both kinds of shared.
    for (name, categories, highest) in [
        ("sample-goodost.darshan", [48, 0, 48, 0, 48, 0], None),
        (
            "sample-badost.darshan",
            [2048, 0, 2048, 0, 2048, 0],
            Some([268_435_455, 0]),
        ),
        (
            "imbalanced-io.darshan",
            [1026, 12, 2, 1, 1023, 3],
            Some([52_938_398_983, 24_293_491_975]),
        ),
    ] {
        let log = Log::real(name);
        let mut files: BTreeMap<u64, (i64, i64, i64, usize, bool)> = BTreeMap::new();
        for row in log.rows("darshan_posix") {
            let file = files.entry(row.id()).or_insert((0, 0, 0, 0, false));
            let count = |column| row.int(column).unwrap_or(0);
            file.0 += count("posix_bytes_read");
            file.1 += count("posix_bytes_written");
            file.2 = file
                .2
                .max(count("posix_max_byte_read"))
                .max(count("posix_max_byte_written"));
            file.3 += 1;
            file.4 |= row.int("rank") == Some(-1);
        }
        let many =
            |keep: &dyn Fn(&Category) -> bool| files.values().filter(|file| keep(file)).count();
        let found = [
            files.len(),
            many(&|f| f.0 > 0 && f.1 == 0),
            many(&|f| f.0 == 0 && f.1 > 0),
            many(&|f| f.0 > 0 && f.1 > 0),
            many(&|f| f.3 == 1 && !f.4),
            many(&|f| f.3 > 1 || f.4),
        ];
        assert_eq!(found, categories, "{name}");
        if let Some(highest) = highest {
            let most = |keep: &dyn Fn(&Category) -> bool| {
                files
                    .values()
                    .filter(|f| keep(f))
                    .map(|f| f.2)
                    .max()
                    .unwrap_or(0)
            };
            let found = match categories[5] {
                0 => [most(&|f| f.3 == 1 && !f.4), 0],
                // Added up they are the 77,231,890,958 that darshan-parser prints (source/darshan/FORMAT.md 12.11).
                _ => [most(&|f| f.4), most(&|f| !f.4 && f.3 > 1)],
            };
            assert_eq!(found, highest, "{name}");
        }
    }
}
