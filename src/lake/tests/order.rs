//! Rows lie in the order that their files declare, and no key is there twice.

use super::dumps::Dumps;
use super::row_order::rows_in_order;
use super::*;
use crate::source::darshan::ModuleId;
use crate::source::darshan::write::{DarshanLog, Job};
use crate::source::darshan::write::{Heatmap, Module, Records, Segment, Trace};
use std::collections::BTreeMap;

fn sound(lake: &Lake) -> BTreeMap<String, usize> {
    assert_eq!(lake.check().unwrap().wrong, []);
    rows_in_order(lake)
}

/// Step id and start of each step, in seconds since the least.
fn steps(dumps: &Dumps) -> Vec<(String, Option<i64>)> {
    let rows = dumps.rows("slurm_step");
    let (ids, starts) = (
        rows.column_by_name("step_id"),
        rows.column_by_name("start_time"),
    );
    let starts = starts
        .unwrap()
        .as_primitive::<arrow::datatypes::TimestampMicrosecondType>();
    let least = arrow::compute::min(starts).unwrap_or(0);
    let seconds = starts
        .iter()
        .map(|start| start.map(|start| (start - least) / 1_000_000));
    let ids = ids.unwrap().as_string::<i32>();
    ids.iter()
        .map(|id| id.unwrap().to_string())
        .zip(seconds)
        .collect()
}

#[test]
fn a_dump_without_start_leaves_the_steps_of_another_where_they_were() {
    // Step 1 began before step 0. The dump without Start knows that they have ended, and of one more step.
    let with_start = "JobIDRaw|JobID|State|Submit|Start|End\n\
        7|7|RUNNING|2026-09-01T00:00:00|2026-09-01T00:00:05|Unknown\n\
        7.0|7.0|RUNNING|2026-09-01T00:00:00|2026-09-01T00:00:20|Unknown\n\
        7.1|7.1|RUNNING|2026-09-01T00:00:00|2026-09-01T00:00:10|Unknown\n\
        8|8|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:05|2026-09-01T00:00:06\n\
        8.0|8.0|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:05|2026-09-01T00:00:06\n";
    let without = "JobIDRaw|JobID|State|Submit|End\n\
        7|7|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:01:00\n\
        7.0|7.0|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:50\n\
        7.1|7.1|FAILED|2026-09-01T00:00:00|2026-09-01T00:00:40\n\
        7.2|7.2|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:45\n";
    let texts = [with_start, without];
    let expected = [("1", Some(5)), ("0", Some(15)), ("2", None), ("0", Some(0))];
    let expected = expected.map(|(step, start)| (step.to_string(), start));
    for order in [[0, 1], [1, 0]] {
        let one_by_one = Dumps::new();
        for at in order {
            one_by_one.take(one_by_one.write(&format!("{at}.psv"), texts[at]));
            sound(&one_by_one.lake);
        }
        assert_eq!(steps(&one_by_one), expected, "{order:?}");
        let at_once = Dumps::new();
        for (n, at) in order.into_iter().enumerate() {
            at_once.write(&format!("dump{n}.psv"), texts[at]);
        }
        at_once.take(at_once.directory.path());
        sound(&at_once.lake);
        for table in ["slurm_job", "slurm_step"] {
            assert_eq!(at_once.rows(table), one_by_one.rows(table), "{order:?}");
        }
    }
}

#[test]
fn records_of_which_no_dump_says_when_they_were_submitted_stand_in_one_order_whichever_came_first()
{
    let dump = |start: i64, state: &str| {
        format!("JobIDRaw|JobID|State|Start\n9|9|{state}|2026-09-01T00:00:0{start}\n")
    };
    let texts = [
        dump(1, "REQUEUED"),
        dump(5, "NODE_FAIL"),
        dump(9, "COMPLETED"),
    ];
    let expected = [
        (9, "REQUEUED".to_string(), false),
        (9, "NODE_FAIL".to_string(), false),
        (9, "COMPLETED".to_string(), true),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let dumps = Dumps::new();
        for at in order {
            dumps.take(dumps.write(&format!("{at}.psv"), &texts[at]));
        }
        assert_eq!(
            super::dumps::states(&dumps.rows("slurm_job")),
            expected,
            "{order:?}"
        );
        assert_eq!(dumps.lake.check().unwrap().wrong, []);
    }
}

#[test]
fn of_two_clusters_the_order_does_not_depend_on_which_came_first() {
    let dump = |cluster: &str| {
        format!(
            "Cluster|JobIDRaw|JobID|State|Submit\n{cluster}|5|5|COMPLETED|2026-09-01T00:00:00\n\
             {cluster}|5.0|5.0|COMPLETED|2026-09-01T00:00:00\n"
        )
    };
    let mut seen = vec![];
    for order in [["alpha", "beta"], ["beta", "alpha"]] {
        let dumps = Dumps::new();
        for cluster in order {
            dumps.take(dumps.write(&format!("{cluster}.psv"), &dump(cluster)));
        }
        sound(&dumps.lake);
        let rows = (dumps.rows("slurm_job"), dumps.rows("slurm_step"));
        assert_eq!((rows.0.num_rows(), rows.1.num_rows()), (2, 2));
        seen.push(rows);
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_dump_that_is_cut_inside_its_header_is_not_ok() {
    let header = super::dumps::HEADER;
    let dumps = Dumps::new();
    dumps.take(dumps.write("whole.psv", header));
    let mut failed = 0;
    for length in 1..header.len() {
        let path = dumps.write(&format!("{length}.psv"), &header[..length]);
        dumps.take(path);
    }
    for row in dumps.lake.snapshot(None).unwrap().inputs().unwrap() {
        let why = row.error.clone().unwrap_or_default();
        if row.path.ends_with("whole.psv") {
            assert_eq!((row.status.name(), &*why), ("ok", ""));
            continue;
        }
        assert_ne!(row.status.name(), "ok", "{}", row.path);
        if row.status == InputStatus::Failed
            && why == "line 1: the header has no end: the dump was cut"
        {
            failed += 1;
        }
    }
    // All but those in which nearly nothing of the first names is left.
    assert!(failed > header.len() / 2, "{failed}");
}

/// A log with a record of DXT and of HEATMAP twice.
fn log_with_repeats(times: usize) -> Vec<u8> {
    let segments = |n: usize| vec![Segment::default(); n];
    let trace = |rank: i64, n: usize| Trace {
        id: 3,
        rank,
        writes: segments(n),
        ..Trace::default()
    };
    let heatmap = |rank: i64, value: i64| Heatmap {
        id: 9,
        rank,
        bin_width: 0.1,
        writes: vec![value; 85],
        reads: vec![value; 85],
    };
    let mut traces = vec![trace(1, 3), trace(0, 2)];
    let mut heatmaps = vec![heatmap(0, 1), heatmap(1, 1)];
    for _ in 1..times {
        traces.push(trace(1, 5));
        heatmaps.push(heatmap(1, 1000));
        heatmaps.push(heatmap(0, 1000));
    }
    let log = DarshanLog {
        job: Job {
            nprocs: 2,
            job_id: 12,
            ..Job::default()
        },
        modules: vec![
            Module::new(ModuleId::DXT_POSIX, 2, Records::Dxt(traces)),
            Module::new(ModuleId::HEATMAP, 1, Records::Heatmap(heatmaps)),
        ],
        ..DarshanLog::default()
    };
    log.to_bytes()
}

#[test]
fn records_that_a_log_holds_twice_count_once_and_its_status_says_so() {
    for times in [1, 2] {
        let bench = Dumps::new();
        let path = bench.directory.path().join("a.darshan");
        fs::write(&path, log_with_repeats(times)).unwrap();
        bench.take_with(
            path,
            IngestOptions {
                dxt: true,
                ..IngestOptions::default()
            },
        );
        let rows = sound(&bench.lake);
        assert_eq!((rows["darshan_dxt"], rows["darshan_heatmap"]), (5, 170));
        let heatmap = bench.rows("darshan_heatmap");
        let written = heatmap.column_by_name("bytes_written").unwrap();
        let written = written.as_primitive::<Int64Type>();
        assert_eq!(arrow::compute::sum(written), Some(170));
        let inputs = bench.lake.snapshot(None).unwrap().inputs().unwrap();
        let why = inputs[0].error.clone().unwrap_or_default();
        match times {
            1 => assert_eq!((inputs[0].status.name(), &*why), ("ok", "")),
            _ => {
                assert_eq!(inputs[0].status.name(), "damaged");
                assert!(why.contains("HEATMAP region"), "{why}");
                assert!(
                    why.contains(": 1 record twice, the first was taken; "),
                    "{why}"
                );
                assert!(
                    why.ends_with(": 2 records twice, the first was taken"),
                    "{why}"
                );
            }
        }
    }
}

/// Mounts whose positions are the numbers that the log lists, as they come.
struct Positions;

impl Source for Positions {
    fn inputs(&self) -> &'static str {
        ""
    }

    fn rows(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &'static str {
        "positions"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["darshan_mount"]
    }

    fn version(&self) -> u32 {
        1
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        MountList.probe(path, head)
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        MountList.peek(input)
    }

    fn reader(&self, _: Arc<ReadContext>) -> Box<dyn Reader> {
        Box::new(Self)
    }
}

impl Reader for Positions {
    fn read(
        &mut self,
        input: &Input,
        id: i64,
        expected: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome> {
        MountList.peek(input)?.check(expected, input)?;
        let words = words(input)?;
        let builder = tables.get("darshan_mount").unwrap();
        for position in words.iter().skip(3) {
            builder.column(0).int64().push(id);
            builder.column(1).int64().push(1);
            builder
                .column(2)
                .int64()
                .push(position.parse::<i64>().unwrap());
            builder.column(3).utf8().append_value("/");
            builder.column(4).utf8().append_value("x");
        }
        Ok(Outcome::default())
    }
}

#[test]
fn check_finds_rows_out_of_order_and_keys_that_are_there_twice() {
    for (positions, wrong) in [
        ("0 1 2", None),
        ("0 2 1", Some("row 2 is out of order")),
        ("0 1 1", Some("row 2 has the key of the row before")),
    ] {
        let bench = Bench::new();
        bench.log("a", &format!("mounts 1 0 {positions}"));
        let options = IngestOptions {
            sources: &[&Positions],
            ..bench.options()
        };
        bench.lake.ingest(&options, &Silent).unwrap();
        let found = bench.lake.check().unwrap().wrong;
        let found: Vec<&str> = found.iter().map(|finding| &*finding.what).collect();
        assert_eq!(found, wrong.into_iter().collect::<Vec<_>>(), "{positions}");
    }
}
