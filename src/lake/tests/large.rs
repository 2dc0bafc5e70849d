//! A log that is larger than the memory of an ingest.

use super::*;
use crate::source::darshan::tests::bounded::{BOMB_RECORDS, BOMB_STREAMS, bomb, of_process};
use crate::source::darshan::write::{DarshanLog, Job};
use crate::source::darshan::write::{Module, Records};
use crate::source::darshan::{Darshan, ModuleId};
use arrow::datatypes::UInt64Type;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::Command;

/// Bytes of a record of POSIX, version 4.
const RECORD: usize = 16 + 8 * (69 + 17);

/// A log whose region of POSIX holds so many records, of as many files, in no order.
fn log(job_id: i64, records: u64, names: usize) -> Vec<u8> {
    let mut region = vec![0; records as usize * RECORD];
    for (n, record) in (1..).zip(region.chunks_mut(RECORD)) {
        let id = u64::wrapping_mul(n, 0x9e37_79b9_7f4a_7c15);
        record[..8].copy_from_slice(&id.to_le_bytes());
    }
    let log = DarshanLog {
        job: Job {
            nprocs: 1,
            job_id,
            ..Job::default()
        },
        names: (0..names as u64).map(|id| (id, vec![b'x'; 1000])).collect(),
        modules: vec![Module::new(ModuleId::POSIX, 4, Records::Raw(region))],
        ..DarshanLog::default()
    };
    log.to_bytes()
}

/// Job and record id of all rows of a table.
fn keys(lake: &Lake, table: &str) -> Vec<(i64, u64)> {
    let snapshot = lake.snapshot(None).unwrap();
    let mut keys = vec![];
    for file in snapshot.files().iter().filter(|file| file.table == table) {
        for batch in
            crate::lake::file::data_reader::read_data(lake.store(), &file.path, 1000).unwrap()
        {
            let batch = batch.unwrap();
            let column = |name: &str| batch.column_by_name(name).unwrap().clone();
            let (jobs, ids) = (column("job_id"), column("record_id"));
            let jobs = jobs.as_primitive::<Int64Type>().values();
            let ids = ids.as_primitive::<UInt64Type>().values();
            keys.extend(jobs.iter().copied().zip(ids.iter().copied()));
        }
    }
    keys
}

#[test]
fn a_log_larger_than_the_memory_is_taken_in_whole_and_in_order_between_others() {
    let bench = Bench::new();
    let large = 12 * (1 << 20) / RECORD as u64;
    for (job, records) in [(7, 3), (8, large), (9, 2)] {
        let path = bench.logs().join(format!("{job}.darshan"));
        fs::write(path, log(job, records, 0)).unwrap();
    }
    let options = IngestOptions {
        sources: &[&Darshan],
        // 16 MiB for a log, 4 MiB of which may be records in memory.
        memory: 64 << 20,
        threads: 1,
        ..bench.options()
    };
    bench.lake.ingest(&options, &Silent).unwrap();
    let mut expected: Vec<(i64, u64)> = [(7, 3), (8, large), (9, 2)]
        .into_iter()
        .flat_map(|(job, records)| {
            (1..=records).map(move |n| (job, n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(keys(&bench.lake, "darshan_posix"), expected);
    assert_eq!(keys(&bench.lake, "darshan_file"), expected);
    let statuses: Vec<_> = bench.statuses().into_iter().map(|s| (s.1, s.2)).collect();
    assert_eq!(statuses, vec![("ok", String::new()); 3]);
}

#[test]
fn a_log_that_exceeds_the_memory_is_damaged_and_says_where_and_is_not_read_again() {
    let bench = Bench::new();
    fs::write(bench.logs().join("names.darshan"), log(7, 3, 20_000)).unwrap();
    let options = IngestOptions {
        sources: &[&Darshan],
        memory: 64 << 20,
        threads: 1,
        ..bench.options()
    };
    bench.lake.ingest(&options, &Silent).unwrap();
    // A quarter of 16 MiB holds 4,194 names, each of which lies behind its id and before a NUL.
    let at = 4194 * 1009;
    let why = format!(
        "name region at offset {at} (uncompressed): its names take more than 4194304 bytes"
    );
    let expected = vec![("names.darshan".to_string(), "damaged", why)];
    assert_eq!(bench.statuses(), expected);
    assert_eq!(keys(&bench.lake, "darshan_posix").len(), 3);
    let again = bench.lake.ingest(&options, &Silent).unwrap();
    assert_eq!(again.version, None);
}

const DIRECTORY: &str = "IOLODE_LARGE_DIRECTORY";
/// The test that is the process with little memory.
const CHILD: &str = "lake::tests::large::the_process_with_little_memory";
/// What it may map beyond what it has when it begins. A region of 1 GiB that was inflated as a whole took 3.9 GiB.
const LITTLE: u64 = 512 << 20;

#[test]
fn the_process_with_little_memory() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let mapped = of_process("VmSize:").unwrap() as u64;
    let little = Rlimit {
        current: Some(mapped + LITTLE),
        ..getrlimit(Resource::As)
    };
    setrlimit(Resource::As, little).unwrap();
    let directory = Path::new(&directory);
    let lake = Lake::open(directory.join("lake")).unwrap();
    let options = IngestOptions {
        paths: vec![directory.join("logs").into()],
        sources: &[&Darshan],
        memory: 64 << 20,
        threads: 1,
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
}

#[test]
fn a_log_that_inflates_to_more_than_may_be_mapped_stops_no_ingest() {
    let bench = Bench::new();
    fs::write(bench.logs().join("bomb.darshan"), bomb()).unwrap();
    fs::write(bench.logs().join("small.darshan"), log(9, 3, 0)).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--test-threads=1"])
        .env(DIRECTORY, bench.directory.path())
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let repeated = (BOMB_STREAMS - 1) * BOMB_RECORDS;
    let why = format!("POSIX region: {repeated} records twice, the first was taken");
    let expected = [
        ("bomb.darshan".to_string(), "damaged", why),
        ("small.darshan".to_string(), "ok", String::new()),
    ];
    assert_eq!(bench.statuses(), expected);
    assert_eq!(keys(&bench.lake, "darshan_posix").len(), BOMB_RECORDS + 3);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}
