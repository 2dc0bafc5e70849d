//! `darshan_file` and `darshan_log` on real logs, against an independent computation.

#![allow(clippy::print_stdout)]

use crate::source::darshan::Darshan;
use crate::source::tests::shared;
use crate::source::{BatchSink, Input, Site, Source};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// `darshan_file` and `darshan_log` of one log.
fn read(path: &std::path::Path) -> (RecordBatch, RecordBatch) {
    // Without DXT, which would tell the readers and writers of shared files.
    let mut tables = BatchSink::new(
        Darshan
            .tables()
            .iter()
            .copied()
            .filter(|table| *table != "darshan_dxt"),
    )
    .unwrap();
    let mut reader = Darshan.reader(Arc::new(Site::default()));
    reader
        .read(&Input::open(path).unwrap(), 1, None, &mut tables)
        .unwrap();
    let mut batch = |name: &str| tables.get(name).unwrap().finish().unwrap();
    (batch("darshan_file"), batch("darshan_log"))
}

struct Row<'a>(&'a RecordBatch, usize);

impl Row<'_> {
    fn column(&self, name: &str) -> &dyn Array {
        self.0
            .column_by_name(name)
            .unwrap_or_else(|| panic!("no column {name}"))
            .as_ref()
    }

    fn int(&self, name: &str) -> Option<i64> {
        let column = self.column(name).as_primitive::<Int64Type>();
        column.is_valid(self.1).then(|| column.value(self.1))
    }

    fn float(&self, name: &str) -> Option<f64> {
        let column = self.column(name).as_primitive::<Float64Type>();
        column.is_valid(self.1).then(|| column.value(self.1))
    }

    fn text(&self, name: &str) -> Option<&str> {
        let column = self.column(name).as_string::<i32>();
        column.is_valid(self.1).then(|| column.value(self.1))
    }

    fn flag(&self, name: &str) -> bool {
        self.column(name).as_boolean().value(self.1)
    }
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        // The JSON reader rounds the last digit; sums may be added up in another order.
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        (a, b) => a == b,
    }
}

#[test]
fn every_file_of_every_real_log_agrees_with_the_reference() {
    let Some(data) = shared("darshan") else {
        return;
    };
    let reference = shared("reference/darshan_file_reference.json").unwrap();
    let text = std::fs::read_to_string(reference).unwrap();
    let logs: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(logs.len(), 72);
    let mut wrong = vec![];
    for expected in &logs {
        let name = expected["log"].as_str().unwrap();
        let (files, log) = read(&data.join(name));
        let log = Row(&log, 0);
        let mut differ = |what: String, ours: String, theirs: &Value| {
            wrong.push(format!("{name}: {what}: {ours}, reference {theirs}"))
        };
        for key in [
            "job_id",
            "nprocs",
            "files",
            "streams",
            "bytes_read",
            "bytes_written",
            "bytes_read_streams",
            "bytes_written_streams",
            "read_files",
            "write_files",
        ] {
            if log.int(key) != expected[key].as_i64() {
                differ(key.into(), format!("{:?}", log.int(key)), &expected[key]);
            }
        }
        for module in ["posix", "mpiio", "stdio"] {
            for direction in ["read", "written"] {
                let key = format!("{module}_bytes_{direction}");
                if log.int(&key).unwrap_or(0) != expected[&key].as_i64().unwrap() {
                    differ(key.clone(), format!("{:?}", log.int(&key)), &expected[&key]);
                }
            }
        }
        for (ours, theirs) in [
            ("run_time", "run_time"),
            ("read_start", "read_start"),
            ("read_end", "read_end"),
            ("write_start", "write_start"),
            ("write_end", "write_end"),
            ("critical_read_time", "critical_read_seconds"),
            ("critical_write_time", "critical_write_seconds"),
        ] {
            if !near(log.float(ours), expected[theirs].as_f64()) {
                differ(
                    ours.into(),
                    format!("{:?}", log.float(ours)),
                    &expected[theirs],
                );
            }
        }
        if log.text("log_version") != expected["log_version"].as_str() {
            differ(
                "log_version".into(),
                format!("{:?}", log.text("log_version")),
                &expected["log_version"],
            );
        }
        let rows: HashMap<String, usize> = files
            .column_by_name("record_id")
            .unwrap()
            .as_primitive::<UInt64Type>()
            .values()
            .iter()
            .enumerate()
            .map(|(i, id)| (id.to_string(), i))
            .collect();
        for row in expected["rows"].as_array().unwrap() {
            let id = row["record_id"].as_str().unwrap();
            let Some(at) = rows.get(id) else {
                differ(id.into(), "no row".into(), &Value::Null);
                continue;
            };
            let file = Row(&files, *at);
            let mut check = |what: &str, same: bool, ours: String, theirs: &Value| {
                if !same {
                    differ(format!("{id} {what}"), ours, theirs);
                }
            };
            for (ours, theirs) in [
                ("bytes_read", "bytes_read"),
                ("bytes_written", "bytes_written"),
                ("reads", "reads"),
                ("writes", "writes"),
                ("readers", "readers"),
                ("writers", "writers"),
                ("file_nprocs_posix", "nprocs_posix"),
                ("file_nprocs_mpiio", "nprocs_mpiio"),
                ("mpiio_bytes_read", "mpiio_bytes_read"),
                ("mpiio_bytes_written", "mpiio_bytes_written"),
                ("extra_read", "extra_read"),
                ("extra_written", "extra_written"),
            ] {
                check(
                    ours,
                    file.int(ours) == row[theirs].as_i64(),
                    format!("{:?}", file.int(ours)),
                    &row[theirs],
                );
            }
            for (ours, theirs) in [
                ("read_time", "read_time"),
                ("write_time", "write_time"),
                ("amplification_read", "amplification_read"),
                ("amplification_write", "amplification_write"),
            ] {
                check(
                    ours,
                    near(file.float(ours), row[theirs].as_f64()),
                    format!("{:?}", file.float(ours)),
                    &row[theirs],
                );
            }
            for (start, end, window) in [
                ("read_start", "read_end", "read_window"),
                ("write_start", "write_end", "write_window"),
            ] {
                let same = near(file.float(start), row[window][0].as_f64())
                    && near(file.float(end), row[window][1].as_f64());
                check(
                    window,
                    same,
                    format!("{:?} to {:?}", file.float(start), file.float(end)),
                    &row[window],
                );
            }
            check(
                "path",
                file.text("path") == row["path"].as_str(),
                format!("{:?}", file.text("path")),
                &row["path"],
            );
            check(
                "bytes_source",
                file.text("bytes_source") == row["bytes_source"].as_str(),
                format!("{:?}", file.text("bytes_source")),
                &row["bytes_source"],
            );
            for flag in ["is_stream", "posix_incomplete", "may_overlap"] {
                check(
                    flag,
                    file.flag(flag) == row[flag].as_bool().unwrap_or(false),
                    format!("{}", file.flag(flag)),
                    &row[flag],
                );
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

#[test]
fn a_trace_tells_the_writers_of_a_shared_file_at_the_level_of_its_source() {
    use super::super::write::{DarshanLog, Job};
    use crate::source::darshan::ModuleId;
    use crate::source::darshan::counters::{mpiio, posix};
    use crate::source::darshan::write::{Module, Record, Records, Segment, Trace};
    // 100 bytes in 1 s of writing within a window of 2 s.
    let record = |id, n: (usize, usize), bytes, calls, start, end, time| {
        let (mut ints, mut floats) = (vec![0; n.0], vec![0.0; n.1]);
        (ints[bytes], ints[calls]) = (100, 1);
        (floats[start], floats[end], floats[time]) = (1.0, 3.0, 1.0);
        Record {
            id,
            rank: -1,
            ints,
            floats,
            ..Record::default()
        }
    };
    let posix = |id| {
        let (start, end) = (posix::F_WRITE_START_TIMESTAMP, posix::F_WRITE_END_TIMESTAMP);
        record(
            id,
            (69, 17),
            posix::BYTES_WRITTEN,
            posix::WRITES,
            start,
            end,
            posix::F_WRITE_TIME,
        )
    };
    let mpiio = |id| {
        let (start, end) = (mpiio::F_WRITE_START_TIMESTAMP, mpiio::F_WRITE_END_TIMESTAMP);
        record(
            id,
            (51, 17),
            mpiio::BYTES_WRITTEN,
            mpiio::COLL_WRITES,
            start,
            end,
            mpiio::F_WRITE_TIME,
        )
    };
    let traces = |id, ranks: &[i64]| -> Vec<Trace> {
        let segment = Segment {
            offset: 0,
            length: 50,
            start: 1.0,
            end: 2.0,
            thread: 0,
        };
        ranks
            .iter()
            .map(|rank| Trace {
                id,
                rank: *rank,
                writes: vec![segment],
                ..Trace::default()
            })
            .collect()
    };
    let log = DarshanLog {
        job: Job {
            nprocs: 4,
            job_id: 9,
            ..Job::default()
        },
        modules: vec![
            Module::new(ModuleId::POSIX, 4, Records::Counters(vec![posix(1)])),
            Module::new(ModuleId::MPIIO, 3, Records::Counters(vec![mpiio(2)])),
            Module::new(
                ModuleId::DXT_POSIX,
                1,
                Records::Dxt([traces(1, &[2]), traces(2, &[0])].concat()),
            ),
            Module::new(ModuleId::DXT_MPIIO, 2, Records::Dxt(traces(2, &[0, 1, 3]))),
        ],
        ..DarshanLog::default()
    };
    let mut tables = BatchSink::new(["darshan_file", "darshan_dxt"]).unwrap();
    let input = Input::from_bytes("traced.darshan", log.to_bytes());
    Darshan
        .reader(Arc::default())
        .read(&input, 1, None, &mut tables)
        .unwrap();
    let files = tables.get("darshan_file").unwrap().finish().unwrap();
    let found: Vec<_> = (0..2)
        .map(|at| Row(&files, at))
        .map(|f| (f.int("writers"), f.float("write_busy")))
        .collect();
    assert_eq!(found, [(Some(1), Some(0.5)), (Some(3), Some(1.0 / 6.0))]);
}
