//! Dumps: rows that belong to many ranges or days, and say again what others have said.

use super::*;
use crate::source::Period;
use arrow::array::Array;
use arrow::compute::concat_batches;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::record_batch::RecordBatch;

pub(super) const HEADER: &str =
    "JobIDRaw|JobID|User|State|Submit|Start|End|ElapsedRaw|NNodes|JobName\n";

/// A line of sacct: a job of one node, times in seconds of 2026-09-01.
pub(super) fn line(
    id: i64,
    state: &str,
    submit: i64,
    start: Option<i64>,
    end: Option<i64>,
) -> String {
    let time = |second: i64| {
        format!(
            "2026-09-01T{:02}:{:02}:{:02}",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    };
    let or_unknown = |second: Option<i64>| second.map_or("Unknown".into(), time);
    let elapsed = start.map_or(0, |start| end.unwrap_or(start + 7) - start);
    format!(
        "{id}|{id}|ada|{state}|{}|{}|{}|{elapsed}|1|job {id}\n",
        time(submit),
        or_unknown(start),
        or_unknown(end)
    )
}

pub(super) fn dump(lines: &[String]) -> String {
    HEADER.to_string() + &lines.concat()
}

/// A lake, and a directory for dumps.
pub(super) struct Dumps {
    pub(super) directory: tempfile::TempDir,
    pub(super) lake: Lake,
}

impl Dumps {
    pub(super) fn new() -> Self {
        Self::with(&CreateOptions::default())
    }

    pub(super) fn with(options: &CreateOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::create(directory.path().join("lake"), options).unwrap();
        Self { directory, lake }
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn take(&self, path: impl Into<PathBuf>) -> IngestReport {
        self.take_with(path, IngestOptions::default())
    }

    pub(super) fn take_with(
        &self,
        path: impl Into<PathBuf>,
        options: IngestOptions<'_>,
    ) -> IngestReport {
        let options = IngestOptions {
            paths: vec![path.into().into()],
            threads: 2,
            ..options
        };
        self.lake.ingest(&options, &Silent).unwrap()
    }

    /// All rows of a table, in the order of its files.
    pub(super) fn rows(&self, name: &str) -> RecordBatch {
        rows(&self.lake, name)
    }
}

fn rows(lake: &Lake, name: &str) -> RecordBatch {
    let snapshot = lake.snapshot(None).unwrap();
    let mut files: Vec<&DataFile> = snapshot
        .files()
        .iter()
        .filter(|file| file.table == name)
        .collect();
    files.sort_by_key(|file| (file.job_id, file.day.clone()));
    let table = crate::table::table(name).unwrap();
    let batches = files.into_iter().flat_map(|file| {
        crate::lake::file::data_reader::read_rows(lake.store(), table, &file.path, 1000).unwrap()
    });
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    concat_batches(&table.schema, &batches).unwrap()
}

/// Job id, state and whether it is the last record of its job.
pub(super) fn states(rows: &RecordBatch) -> Vec<(i64, String, bool)> {
    let ids = rows
        .column_by_name("job_id")
        .unwrap()
        .as_primitive::<Int64Type>();
    let states = rows.column_by_name("state").unwrap().as_string::<i32>();
    let last = rows.column_by_name("last_record").unwrap().as_boolean();
    (0..rows.num_rows())
        .map(|row| {
            (
                ids.value(row),
                states.value(row).to_string(),
                last.value(row),
            )
        })
        .collect()
}

#[test]
fn of_overlapping_dumps_the_newest_state_stays_in_whatever_order_they_come() {
    let monday = dump(&[
        line(1, "COMPLETED", 0, Some(1), Some(50)),
        line(2, "RUNNING", 10, Some(20), None),
        line(3, "PENDING", 30, None, None),
    ]);
    let tuesday = dump(&[
        line(2, "REQUEUED", 10, Some(20), Some(100)),
        line(2, "COMPLETED", 100, Some(200), Some(300)),
        line(3, "RUNNING", 30, Some(400), None),
    ]);
    let wednesday = dump(&[line(3, "TIMEOUT", 30, Some(400), Some(900))]);
    let texts = [monday, tuesday, wednesday];
    let expected = [
        (1, "COMPLETED".to_string(), true),
        (2, "REQUEUED".to_string(), false),
        (2, "COMPLETED".to_string(), true),
        (3, "TIMEOUT".to_string(), true),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let one_by_one = Dumps::new();
        for at in order {
            let path = one_by_one.write(&format!("{at}.psv"), &texts[at]);
            one_by_one.take(path);
        }
        assert_eq!(states(&one_by_one.rows("slurm_job")), expected, "{order:?}");
        let at_once = Dumps::new();
        for (n, at) in order.into_iter().enumerate() {
            at_once.write(&format!("dump{n}.psv"), &texts[at]);
        }
        at_once.take(at_once.directory.path());
        assert_eq!(
            at_once.rows("slurm_job"),
            one_by_one.rows("slurm_job"),
            "{order:?}"
        );
    }
}

#[test]
fn a_dump_that_says_nothing_new_changes_no_file() {
    let dumps = Dumps::new();
    let lines: Vec<String> = (0..100)
        .map(|id| line(id, "COMPLETED", id, Some(id), Some(id + 9)))
        .collect();
    dumps.take(dumps.write("a.psv", &dump(&lines)));
    let files = |dumps: &Dumps| dumps.lake.snapshot(None).unwrap().files().to_vec();
    let before = files(&dumps);
    // A part of the same, and other bytes.
    dumps.take(dumps.write("b.psv", &dump(&lines[20..50])));
    assert_eq!(files(&dumps), before);
    assert_eq!(
        dumps.lake.snapshot(None).unwrap().inputs().unwrap().len(),
        2
    );
    // The same file once more is not read at all.
    let report = dumps.take(dumps.directory.path().join("b.psv"));
    assert_eq!((report.version, report.unchanged), (None, 1));
}

#[test]
fn rows_of_dumps_lie_in_the_ranges_of_their_jobs_also_when_ranges_are_cut() {
    let dumps = Dumps::with(&CreateOptions {
        range_bytes: 4096,
        ..CreateOptions::default()
    });
    let mut expected = vec![];
    for part in 0..6 {
        // Each part has ids among those of the others, in no order.
        let ids = (0..400).map(|n| (n * 389 % 400) * 6 + part);
        let lines: Vec<String> = ids
            .map(|id| line(id, "COMPLETED", id, Some(id), Some(id + 9)))
            .collect();
        expected.extend((0..400).map(|n| (n * 6 + part, "COMPLETED".to_string(), true)));
        dumps.take(dumps.write(&format!("{part}.psv"), &dump(&lines)));
    }
    expected.sort();
    assert_eq!(states(&dumps.rows("slurm_job")), expected);
    let snapshot = dumps.lake.snapshot(None).unwrap();
    assert!(snapshot.splits().len() > 4, "{:?}", snapshot.splits());
    let report = dumps.lake.check().unwrap();
    assert!(report.wrong.is_empty(), "{report:?}");
}

#[test]
fn of_a_dump_another_period_can_be_taken_later() {
    let dumps = Dumps::new();
    let lines: Vec<String> = (0..24)
        .map(|hour| {
            line(
                hour,
                "COMPLETED",
                hour * 3600,
                Some(hour * 3600),
                Some(hour * 3600 + 60),
            )
        })
        .collect();
    let path = dumps.write("a.psv", &dump(&lines));
    // 2026-09-01T00:00:00Z.
    let hour = |hour: i64| Some(1_788_220_800_000_000 + hour * 3_600_000_000);
    let period = |from, to| IngestOptions {
        period: Period { from, to },
        ..IngestOptions::default()
    };
    dumps.take_with(&path, period(hour(6), hour(12)));
    assert_eq!(dumps.rows("slurm_job").num_rows(), 6);
    assert_eq!(
        dumps.take_with(&path, period(hour(7), hour(9))).version,
        None
    );
    dumps.take_with(&path, period(hour(12), hour(14)));
    assert_eq!(dumps.rows("slurm_job").num_rows(), 8);
    assert_eq!(
        dumps.take_with(&path, period(hour(6), hour(14))).version,
        None
    );
    dumps.take(&path);
    assert_eq!(dumps.rows("slurm_job").num_rows(), 24);
    assert_eq!(
        dumps.take_with(&path, period(hour(6), hour(14))).version,
        None
    );
}

#[test]
fn two_periods_that_are_asked_for_by_turns_make_no_versions_without_rows() {
    let dumps = Dumps::new();
    let lines: Vec<String> = (0..24)
        .map(|hour| hour * 3600)
        .map(|at| line(at, "COMPLETED", at, Some(at), Some(at + 60)))
        .collect();
    let path = dumps.write("a.psv", &dump(&lines));
    let hour = |hour: i64| Some(1_788_220_800_000_000 + hour * 3_600_000_000);
    let take = |from: i64, to: i64| {
        let period = Period {
            from: hour(from),
            to: hour(to),
        };
        let options = IngestOptions {
            period,
            ..IngestOptions::default()
        };
        dumps.take_with(&path, options).version
    };
    assert_eq!((take(2, 4), take(8, 10)), (Some(2), Some(3)));
    for _ in 0..2 {
        assert_eq!((take(2, 4), take(8, 10)), (None, None));
    }
    assert_eq!(dumps.rows("slurm_job").num_rows(), 4);
    // A longer one says more of the dump, also where it has no rows.
    dumps.take(&path);
    assert_eq!(dumps.rows("slurm_job").num_rows(), 24);
    assert_eq!(take(2, 4), None);
}

#[test]
fn a_dump_that_was_cut_off_is_recorded_and_what_it_has_is_kept() {
    let dumps = Dumps::new();
    let whole = dump(&[
        line(1, "COMPLETED", 0, Some(1), Some(2)),
        line(2, "COMPLETED", 0, Some(1), Some(2)),
    ]);
    let report = dumps.take(dumps.write("cut.psv", &whole[..whole.len() - 30]));
    assert_eq!(report.inputs.get(&InputStatus::Damaged), Some(&1));
    let cut = |(_, why): &(String, String)| {
        why.contains("1 line cannot be split for certain and it was left out: 3")
    };
    assert!(report.warnings.iter().any(cut), "{:?}", report.warnings);
    assert_eq!(dumps.rows("slurm_job").num_rows(), 1);
}

fn times(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<TimestampMicrosecondType>()
        .iter()
        .collect()
}

/// A mysqldump of one OST with samples at these seconds of 2018-01-28 (UTC) and counters.
pub(super) fn samples(samples: &[(i64, i64)]) -> String {
    let stamp = |second: i64| {
        let time = chrono::DateTime::from_timestamp(1_517_097_600 + second, 0).unwrap();
        time.format("%Y-%m-%d %H:%M:%S").to_string()
    };
    let rows = |row: &dyn Fn(usize, (i64, i64)) -> String| {
        samples
            .iter()
            .enumerate()
            .map(|(id, sample)| row(id + 1, *sample))
            .collect::<Vec<_>>()
            .join(",\n")
    };
    format!(
        "-- MySQL dump 10.13\n--\n-- Host: localhost    Database: filesystem_fs1\n-- ------\n\
         INSERT INTO `FILESYSTEM_INFO` VALUES (1,'fs1','fs1',1.1);\n\
         INSERT INTO `OSS_INFO` VALUES (1,1,'oss1','');\n\
         INSERT INTO `OST_INFO` VALUES (1,1,'fs1-OST0000','oss1',0,'');\n\
         INSERT INTO `OST_DATA` VALUES\n{};\n\
         INSERT INTO `TIMESTAMP_INFO` VALUES\n{};\n-- Dump completed\n",
        rows(&|id, (_, counter)| format!("(1,{id},{counter},{counter},NULL,1,1,1,1)")),
        rows(&|id, (second, _)| format!("({id},'{}')", stamp(second))),
    )
}

#[test]
fn an_interval_across_midnight_is_formed_whichever_day_comes_first() {
    let day = 86_400;
    let first = samples(&[(day - 10, 100), (day - 5, 130)]);
    let second = samples(&[(day, 150), (day + 5, 151)]);
    let expected = [None, Some(30), Some(20), Some(1)];
    for order in [[&first, &second], [&second, &first]] {
        let dumps = Dumps::new();
        for (n, text) in order.into_iter().enumerate() {
            dumps.take(dumps.write(&format!("{n}.sql"), text));
        }
        let rows = dumps.rows("lmt_ost");
        let read = rows
            .column_by_name("bytes_read")
            .unwrap()
            .as_primitive::<Int64Type>();
        assert_eq!(read.iter().collect::<Vec<_>>(), expected);
        let (start, time) = (times(&rows, "start_time"), times(&rows, "time"));
        assert!(start[0].is_none() && (1..4).all(|row| start[row] == time[row - 1]));
        let snapshot = dumps.lake.snapshot(None).unwrap();
        let days: Vec<_> = snapshot
            .files()
            .iter()
            .filter(|f| f.table == "lmt_ost")
            .map(|f| f.day.clone().unwrap())
            .collect();
        assert_eq!(
            days,
            [("fs1".to_string(), 17_559), ("fs1".to_string(), 17_560)]
        );
    }
}

#[test]
fn a_target_that_is_silent_for_a_day_begins_anew_in_whatever_order_the_days_come() {
    let day = 86_400;
    let texts = [
        samples(&[(10, 100)]),
        samples(&[(day + 10, 160)]),
        samples(&[(3 * day + 10, 200)]),
    ];
    // Samples of consecutive days that are there belong together; the counters between are those of the gap.
    for order in [[0, 1, 2], [2, 0, 1], [2, 1, 0], [1, 2, 0]] {
        let dumps = Dumps::new();
        for at in order {
            dumps.take(dumps.write(&format!("{at}.sql"), &texts[at]));
        }
        let rows = dumps.rows("lmt_ost");
        let read = rows
            .column_by_name("bytes_read")
            .unwrap()
            .as_primitive::<Int64Type>();
        assert_eq!(
            read.iter().collect::<Vec<_>>(),
            [None, Some(60), Some(40)],
            "{order:?}"
        );
        let gap = rows.column_by_name("gap").unwrap().as_boolean();
        assert!(gap.value(1) && gap.value(2), "{order:?}");
    }
}

/// The times of a column, hours since 2026-09-01T00:00:00Z.
#[test]
fn of_two_clusters_each_keeps_its_job_of_one_id() {
    let dumps = Dumps::new();
    let text = "Cluster|JobIDRaw|User|State|Submit|Start|End\n\
        alpha|500|ada|RUNNING|2026-09-01T00:00:00|2026-09-01T00:00:01|Unknown\n\
        beta|500|bob|FAILED|2026-09-01T00:00:00|2026-09-01T00:00:02|2026-09-01T00:00:09\n\
        alpha|500|ada|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:01|2026-09-01T00:00:05\n\
        alpha|500.0|ada|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:03|2026-09-01T00:00:05\n\
        beta|500.0|bob|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:03|2026-09-01T00:00:05\n";
    dumps.take(dumps.write("both.psv", text));
    let mut found = states(&dumps.rows("slurm_job"));
    found.sort();
    assert_eq!(
        found,
        [
            (500, "COMPLETED".into(), true),
            (500, "FAILED".into(), true)
        ]
    );
    assert_eq!(dumps.rows("slurm_step").num_rows(), 2);
}

#[test]
fn a_dump_without_submit_says_more_of_the_last_record_and_makes_none_of_its_own() {
    let poor = "JobIDRaw|JobID|State|ReqMem\n1|1|COMPLETED|200M\n";
    let rich = dump(&[
        line(1, "REQUEUED", 0, Some(1), Some(50)),
        line(1, "COMPLETED", 60, Some(70), Some(90)),
    ]);
    for order in [[poor, &rich], [&rich, poor]] {
        let dumps = Dumps::new();
        for (at, text) in order.into_iter().enumerate() {
            dumps.take(dumps.write(&format!("{at}.psv"), text));
        }
        let rows = dumps.rows("slurm_job");
        assert_eq!(
            states(&rows),
            [(1, "REQUEUED".into(), false), (1, "COMPLETED".into(), true)]
        );
        let memory = rows
            .column_by_name("req_mem")
            .unwrap()
            .as_primitive::<Int64Type>();
        assert_eq!((memory.is_null(0), memory.value(1)), (true, 200 << 20));
    }
}

#[test]
fn of_two_that_differ_the_same_is_taken_whatever_the_order() {
    let say = |mem: &str, rss: &str| {
        format!(
            "JobIDRaw|JobID|State|Submit|ReqMem|MaxRSS\n1|1|COMPLETED|2026-09-01T00:00:00|{mem}|\n1.0|1.0|COMPLETED||{mem}|{rss}\n"
        )
    };
    let three = [say("2Gn", "71052K"), say("4G", "69.39M"), say("3Gn", "")];
    let mut seen = vec![];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let dumps = Dumps::new();
        for at in order {
            dumps.take(dumps.write(&format!("{at}.psv"), &three[at]));
        }
        let (jobs, steps) = (dumps.rows("slurm_job"), dumps.rows("slurm_step"));
        let int = |rows: &RecordBatch, name: &str| {
            rows.column_by_name(name)
                .unwrap()
                .as_primitive::<Int64Type>()
                .value(0)
        };
        let per = jobs
            .column_by_name("req_mem_per")
            .unwrap()
            .as_string::<i32>()
            .value(0)
            .to_string();
        seen.push((int(&jobs, "req_mem"), per, int(&steps, "max_rss")));
    }
    // An amount stays with what it is for.
    assert!(seen.iter().all(|found| *found == seen[0]), "{seen:?}");
    assert_eq!(
        seen[0],
        (
            3 << 30,
            "node".into(),
            (69.39f64 * 1048576.0).round() as i64
        )
    );
}

#[test]
fn temporary_files_go_where_they_are_asked_for_and_a_lake_that_has_them_is_sound() {
    let dumps = Dumps::new();
    let text = dump(&[line(1, "COMPLETED", 0, Some(1), Some(2))]);
    let path = dumps.write("a.psv", &text);
    let in_directory = |temp: PathBuf| IngestOptions {
        paths: vec![path.clone().into()],
        temp: Some(temp),
        ..IngestOptions::default()
    };
    let none = dumps.directory.path().join("none");
    let error = dumps.lake.ingest(&in_directory(none.clone()), &Silent);
    assert_eq!(
        error.unwrap_err().to_string(),
        format!(
            "{}: cannot make a temporary file: no such file or directory",
            none.display()
        )
    );
    let own = dumps.lake.root().unwrap().join("_iolode/tmp");
    dumps
        .lake
        .ingest(&in_directory(own.clone()), &Silent)
        .unwrap();
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0, "they have no names");
    // Somebody was killed where a file has a name for a moment.
    fs::write(own.join(".tmpX1y2Z3"), "rows").unwrap();
    let all = VacuumOptions {
        keep_versions: Duration::ZERO,
        min_age: Duration::ZERO,
        dry_run: false,
    };
    let removed = dumps.lake.vacuum(&all).unwrap().files;
    assert!(
        removed.iter().all(|file| !file.contains("tmp")),
        "{removed:?}"
    );
    let report = dumps.lake.check().unwrap();
    assert!(
        report.wrong.is_empty() && report.unreferenced.is_empty(),
        "{report:?}"
    );
    assert_eq!(dumps.rows("slurm_job").num_rows(), 1);
}
