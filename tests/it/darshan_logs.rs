//! Real Darshan logs: what their headers say, values worked out by hand, and the order of the rows.

use crate::columns::ascend;
use crate::support::shared_data;
use arrow::record_batch::RecordBatch;
use iolode::source::darshan::counters::posix;
use iolode::source::darshan::header::ByteOrder;
use iolode::source::darshan::log::{Log, ModuleSet};
use iolode::source::darshan::module::Status as Read;
use iolode::source::darshan::{Darshan, ModuleId};
use iolode::source::{BatchSink, Input, Outcome, ReadContext, Source, Status};
use std::path::PathBuf;
use std::sync::Arc;

crate::tests! {
    [Data] => {
        every_real_log_is_whole_or_says_that_darshan_ran_out_of_memory,
        values_that_another_program_worked_out_are_found,
        a_command_line_without_mounts_is_not_lost,
        rows_of_real_logs_come_in_the_order_that_each_table_declares,
        a_file_and_its_bytes_in_memory_are_read_alike,
    }
}

/// Every real log, by path.
pub(crate) fn real_logs() -> Vec<(PathBuf, Vec<u8>)> {
    let mut logs: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(shared_data().join("darshan"))
        .unwrap()
        .flatten()
        .map(|e| (e.path(), std::fs::read(e.path()).unwrap()))
        .collect();
    logs.sort();
    logs
}

fn real_log(name: &str) -> Log {
    let path = shared_data().join("darshan").join(name);
    let mut log = Log::new();
    log.read(&Input::open(path).unwrap(), ModuleSet::ALL)
        .unwrap();
    log
}

/// All tables of a log.
fn read(input: &Input) -> (Outcome, Vec<RecordBatch>) {
    let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
    let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
    let outcome = reader.read(input, 1, None, &mut tables).unwrap();
    let batches = tables.builders().iter_mut().map(|b| b.finish().unwrap());
    (outcome, batches.collect())
}

fn every_real_log_is_whole_or_says_that_darshan_ran_out_of_memory() {
    let mut log = Log::new();
    for (path, bytes) in real_logs() {
        log.read(&Input::from_bytes(&path, bytes), ModuleSet::ALL)
            .unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let header = log.header().unwrap();
        let big = header.order == ByteOrder::Big;
        assert_eq!(big, name.contains("ppc64"), "{name}");
        // The log version by the release of Darshan in the name: 3.0 wrote 3.00, 3.1 3.10, 3.2.0 3.20, up to 3.4.0 3.21.
        let release = name
            .strip_prefix("mpi-io-test-")
            .and_then(|rest| rest.split_once('-')?.1.strip_suffix(".darshan"));
        if let Some(release) = release {
            let version = match release {
                r if r.starts_with("3.0") => (3, 0),
                r if r.starts_with("3.1") => (3, 10),
                "3.2.0" => (3, 20),
                r if r.starts_with("3.2") || r.starts_with("3.3") || r.starts_with("3.4.0") => {
                    (3, 21)
                }
                _ => (3, 41),
            };
            assert_eq!(header.version, version, "{name}");
        }
        let partial = log.modules().iter().any(|module| module.partial);
        let expected = if partial { Status::Partial } else { Status::Ok };
        assert_eq!(log.status(), expected, "{name}: {:?}", log.why());
        for module in log.modules() {
            assert!(
                matches!(module.status, Read::Ok | Read::PartialFlag),
                "{name}: {module:?}"
            );
        }
    }
}

fn values_that_another_program_worked_out_are_found() {
    // By Python's zlib and struct from the bytes: log, records of POSIX, bytes read and written, variance of time.
    for (name, n, bytes, variance) in [
        ("sample-badost.darshan", 2048, 549_755_813_888, 0.0),
        ("sample.darshan", 1, 2_199_023_259_968, 95.43424269349315),
        (
            "imbalanced-io.darshan",
            2014,
            106_730_099_902,
            683.8622263355682,
        ),
        (
            "mpi-io-test-ppc64-3.1.0.darshan",
            1,
            134_217_728,
            0.0021781495223961995,
        ),
        (
            "mpi-io-test-ppc64-3.1.7.darshan",
            1,
            134_217_728,
            0.004122348713677207,
        ),
        (
            "mpi-io-test-x86_64-3.1.0.darshan",
            1,
            134_217_728,
            0.00014686682483500135,
        ),
        (
            "mpi-io-test-x86_64-3.5.0.darshan",
            1,
            134_217_728,
            2.481323755887388e-05,
        ),
    ] {
        let log = real_log(name);
        let records = log.records(ModuleId::POSIX).unwrap();
        let each = || 0..records.len();
        let moved = [posix::BYTES_READ, posix::BYTES_WRITTEN]
            .map(|counter| each().map(|r| records.int(r, counter)).sum::<i64>());
        let most = each()
            .map(|r| records.float(r, posix::F_VARIANCE_RANK_TIME))
            .fold(0.0, f64::max);
        assert_eq!(
            (records.len(), moved[0] + moved[1], most),
            (n, bytes, variance),
            "{name}"
        );
    }
}

fn a_command_line_without_mounts_is_not_lost() {
    let log = real_log("dxt.darshan");
    let job = log.job().unwrap();
    assert!(job.exe.len() > 2_900 && job.exe_truncated && job.mounts.is_empty());
}

/// Rows of every table, DXT included, must come in the order that the table declares: the Parquet files and the engine's joins
/// rely on it.
fn rows_of_real_logs_come_in_the_order_that_each_table_declares() {
    let mut logs = real_logs();
    logs.retain(|(_, bytes)| bytes.len() < 200_000);
    let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
    for (path, bytes) in logs {
        let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
        reader
            .read(&Input::from_bytes(&path, bytes), 1, None, &mut tables)
            .unwrap();
        for builder in tables.builders() {
            let (table, batch) = (builder.table().clone(), builder.finish().unwrap());
            assert!(ascend(&batch, &table.sort), "{path:?}: {}", table.name);
        }
    }
}

fn a_file_and_its_bytes_in_memory_are_read_alike() {
    for (path, bytes) in real_logs() {
        let (mut file, mut memory) = (Log::new(), Log::new());
        let inputs = [Input::open(&path).unwrap(), Input::from_bytes(&path, bytes)];
        file.read(&inputs[0], ModuleSet::ALL).unwrap();
        memory.read(&inputs[1], ModuleSet::ALL).unwrap();
        assert_eq!(file.job(), memory.job());
        assert_eq!(
            format!("{:?}", file.modules()),
            format!("{:?}", memory.modules()),
            "{path:?}"
        );
        let [file, memory] = inputs.each_ref().map(read);
        assert!(file == memory, "{path:?}");
    }
}
