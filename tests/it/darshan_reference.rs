//! `darshan_file` and `darshan_log` of real logs, against an independent computation.

use crate::semantics::Row;
use crate::support::shared_data;
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use arrow::record_batch::RecordBatch;
use iolode::source::darshan::Darshan;
use iolode::source::{BatchSink, Input, ReadContext, Source};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

crate::tests! {
    [Data] => {
        every_file_of_every_real_log_agrees_with_the_reference,
    }
}

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
    let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
    reader
        .read(&Input::open(path).unwrap(), 1, None, &mut tables)
        .unwrap();
    let mut batch = |name: &str| tables.get(name).unwrap().finish().unwrap();
    (batch("darshan_file"), batch("darshan_log"))
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        // The JSON reader rounds the last digit; sums may be added up in another order.
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        (a, b) => a == b,
    }
}

fn every_file_of_every_real_log_agrees_with_the_reference() {
    let data = shared_data();
    let reference = data.join("reference/darshan_file_reference.json");
    let text = std::fs::read_to_string(reference).unwrap();
    let logs: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(logs.len(), 72);
    let mut wrong = vec![];
    for expected in &logs {
        let name = expected["log"].as_str().unwrap();
        let (files, log) = read(&data.join("darshan").join(name));
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
