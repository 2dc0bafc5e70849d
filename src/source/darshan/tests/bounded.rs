//! Logs that are larger than the memory they may take. Real ones are read as if they were in `spilled_real_logs`.

use crate::source::darshan::counters::posix;
use crate::source::darshan::header::{ByteOrder, Compression};
use crate::source::darshan::log::{Limits, Log, ModuleSet};
use crate::source::darshan::reader::DarshanReader;
use crate::source::darshan::spilled_records;
use crate::source::darshan::write::{Apmpi, ApmpiRecord, Module, Record, Records, Segment, Trace};
use crate::source::darshan::write::{DarshanLog, Job};
use crate::source::darshan::{Darshan, ModuleId};
use crate::source::{BatchSink, Input, Outcome, ReadContext, Reader, Source, Status};
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Float64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use std::process::Command;
use std::sync::{Arc, Mutex};

pub(super) const MIB: usize = 1 << 20;

/// Memory that a log may take here.
const MEMORY: usize = 16 * MIB;

/// Where the process that is measured finds the log, and of which tables it wants rows.
const LOG: &str = "IOLODE_BOUNDED_LOG";
const TABLES: &str = "IOLODE_BOUNDED_TABLES";
/// The test that is this process.
const CHILD: &str = "source::darshan::tests::bounded::the_process_that_reads_one_log";

/// What the process may hold beyond the memory of a log: what the allocator keeps, and pages of code.
const SLACK: usize = 4 * MIB;

/// A number of bytes that Linux tells of this process.
pub(crate) fn of_process(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: usize = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024)
}

#[test]
fn the_process_that_reads_one_log() {
    let (Some(path), Ok(names)) = (std::env::var_os(LOG), std::env::var(TABLES)) else {
        return;
    };
    let wanted = |name: &&str| names.split(',').any(|wanted| wanted == *name);
    let names: Vec<&str> = Darshan.tables().iter().copied().filter(wanted).collect();
    let input = Input::from_bytes("large.darshan", std::fs::read(&path).unwrap());
    // What reading needs of code, and once, is there before.
    let small = log_of(large(10, |n| n as u64), vec![]).to_bytes();
    read_with_memory(&Input::from_bytes("small.darshan", small), &names);
    let before = of_process("VmRSS:").unwrap();
    read_with_memory(&input, &names);
    let most = of_process("VmHWM:").unwrap().saturating_sub(before);
    std::fs::write(path, most.to_string()).unwrap();
}

/// Reads a log in a process of its own, which must not hold more than it may. Of the system's allocator, as of the libraries that inflate, only
/// the system knows what it holds.
#[track_caller]
fn stays_within_the_memory(bytes: &[u8], names: &[&str]) {
    if of_process("VmHWM:").is_none() {
        return;
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(log.path(), bytes).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--test-threads=1"])
        .env(LOG, log.path())
        .env(TABLES, names.join(","))
        // What is given back is given back to the system, so that it does not hide what is taken afterwards.
        .env("MALLOC_ARENA_MAX", "1")
        .env("MALLOC_TRIM_THRESHOLD_", "0")
        .env("MALLOC_MMAP_THRESHOLD_", "65536")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let most = std::fs::read_to_string(log.path()).unwrap();
    let most: usize = most.parse().unwrap();
    assert!(most < MEMORY + SLACK, "{most} bytes were held");
}

/// A reader of such limits.
pub(super) fn reader(limits: Option<Limits>) -> DarshanReader {
    DarshanReader {
        log: limits.map_or_else(Log::new, Log::with_limits),
        context: Arc::new(ReadContext::default()),
        also: ModuleSet::default(),
        by_parts: false,
    }
}

/// All tables of one log.
pub(super) fn read(input: &Input, limits: Option<Limits>) -> (Outcome, Vec<RecordBatch>) {
    let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
    let outcome = reader(limits).read(input, 1, None, &mut tables).unwrap();
    let batches = tables.builders().iter_mut().map(|b| b.finish().unwrap());
    (outcome, batches.collect())
}

/// Rows are equal but for the numbers of records; sums of floats may have been added up in another order in the log's row.
pub(super) fn assert_same(found: &[RecordBatch], expected: &[RecordBatch], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        for (field, (found, expected)) in expected
            .schema()
            .fields()
            .iter()
            .zip(found.columns().iter().zip(expected.columns()))
        {
            // Records that were read part by part have lost their numbers.
            if found == expected || field.name() == "record" {
                continue;
            }
            assert_eq!(field.data_type(), &DataType::Float64, "{what}: {field:?}");
            let floats = |column: &arrow::array::ArrayRef| -> Vec<Option<f64>> {
                column.as_primitive::<Float64Type>().iter().collect()
            };
            for (found, expected) in floats(found).into_iter().zip(floats(expected)) {
                let near = match (found, expected) {
                    (Some(a), Some(b)) => {
                        (a - b).abs() <= 1e-12 * b.abs() || a.is_nan() && b.is_nan()
                    }
                    (a, b) => a == b,
                };
                assert!(
                    near,
                    "{what}: {} is {found:?}, not {expected:?}",
                    field.name()
                );
            }
        }
    }
}

/// Everything is spilled, a few records at a time, and read again a few records at a time.
pub(super) fn tiny(piece: usize) -> Limits {
    Limits {
        whole: 0,
        names: 64 * MIB,
        spill: Some(spilled_records::Limits {
            piece,
            part: 2000,
            record: 64 * MIB,
            file: 64 * MIB,
            buffers: 0,
            totals: MIB,
        }),
    }
}

/// Every kind of record, in both byte orders and all compressions, which no real logs show together.
#[test]
fn written_logs_of_all_kinds_are_read_piece_by_piece() {
    let traces = |ranks: i64| -> Vec<Trace> {
        let segment = |n| Segment {
            offset: n,
            length: 10,
            start: 1.0,
            end: 2.0,
            thread: 3,
        };
        (0..ranks)
            .rev()
            .map(|rank| Trace {
                id: 7 + (rank % 3) as u64,
                rank,
                writes: (0..rank).map(segment).collect(),
                reads: vec![segment(5)],
                ..Trace::default()
            })
            .collect()
    };
    let apmpi = Apmpi {
        records: (0..5)
            .rev()
            .map(|rank| ApmpiRecord {
                id: 3,
                rank,
                ..ApmpiRecord::default()
            })
            .collect(),
        ..Apmpi::default()
    };
    for byte_order in [ByteOrder::Little, ByteOrder::Big] {
        for compression in [Compression::None, Compression::Zlib, Compression::Bzip2] {
            let log = DarshanLog {
                byte_order,
                compression,
                job: Job {
                    nprocs: 40,
                    ..Job::default()
                },
                names: (0..50).map(|id| (id, format!("/a/{id}").into())).collect(),
                modules: vec![
                    Module {
                        streams: vec![3; 20],
                        ..Module::new(ModuleId::POSIX, 4, counters(50, 40))
                    },
                    Module::new(ModuleId::DXT_POSIX, 1, Records::Dxt(traces(40))),
                    Module::new(ModuleId::APMPI, 1, Records::Apmpi(apmpi.clone())),
                ],
                ..DarshanLog::default()
            };
            let input = Input::from_bytes("written.darshan", log.to_bytes());
            let (outcome, whole) = read(&input, None);
            assert_eq!(outcome, Outcome::default());
            for piece in [61, 4096] {
                let what = format!("{byte_order:?} {compression:?} by {piece}");
                let (found, batches) = read(&input, Some(tiny(piece)));
                assert_eq!(found, outcome, "{what}");
                assert_same(&batches, &whole, &what);
            }
        }
    }
}

/// Records of POSIX, of `ids` files and so many processes, neither in order.
fn counters(ids: u64, ranks: i64) -> Records {
    let record = |n: u64| {
        let (mut ints, mut floats) = (
            vec![n as i64; posix::INTS.len()],
            vec![0.5; posix::FLOATS.len()],
        );
        ints[posix::BYTES_READ] = 1000 + n as i64;
        floats[posix::F_READ_START_TIMESTAMP] = 1.0 + n as f64;
        floats[posix::F_READ_END_TIMESTAMP] = 3.0 + n as f64;
        Record {
            id: n * 7 % ids,
            rank: n as i64 % ranks,
            ints,
            floats,
            ..Record::default()
        }
    };
    Records::Counters((0..200).map(record).collect())
}

/// Bytes of a record of POSIX.
const RECORD: usize = 16 + 8 * (69 + 17);

/// A region of POSIX of so many records that are equal but for their ids.
fn large(records: usize, id: impl Fn(usize) -> u64) -> Vec<u8> {
    let mut record = vec![0u8; RECORD];
    record[16 + 8 * posix::BYTES_READ] = 1;
    record[16 + 8 * posix::READS] = 1;
    let mut region = Vec::with_capacity(records * RECORD);
    for n in 0..records {
        record[..8].copy_from_slice(&id(n).to_le_bytes());
        region.extend_from_slice(&record);
    }
    region
}

fn log_of(posix: Vec<u8>, streams: Vec<usize>) -> DarshanLog {
    DarshanLog {
        job: Job {
            nprocs: 4,
            job_id: 5,
            ..Job::default()
        },
        modules: vec![
            Module {
                streams,
                ..Module::new(ModuleId::POSIX, 4, Records::Raw(posix))
            },
            Module::new(
                ModuleId::STDIO,
                2,
                Records::Counters(vec![Record {
                    id: 1,
                    ints: vec![2; 14],
                    floats: vec![0.0; 15],
                    ..Record::default()
                }]),
            ),
        ],
        ..DarshanLog::default()
    }
}

/// What is seen while rows are given away.
#[derive(Default)]
struct Seen {
    rows: Vec<usize>,
    /// Ids of `darshan_file`.
    ids: Vec<u64>,
}

/// Reads a log with 16 MiB of memory, and gives rows away where there are more than 64 KiB of them in a table. Another process does the
/// same, and must not hold more.
fn read_large(log: &DarshanLog, names: &[&'static str]) -> (Outcome, Seen, DarshanReader) {
    read_within(log.to_bytes(), names)
}

/// The same for the bytes of a log.
fn read_within(bytes: Vec<u8>, names: &[&'static str]) -> (Outcome, Seen, DarshanReader) {
    stays_within_the_memory(&bytes, names);
    read_with_memory(&Input::from_bytes("large.darshan", bytes), names)
}

fn read_with_memory(input: &Input, names: &[&'static str]) -> (Outcome, Seen, DarshanReader) {
    let mut tables = BatchSink::new(names.iter().copied()).unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let take = |seen: &Mutex<Seen>, builders: &mut [crate::table::TableBuilder], least| {
        let mut seen = seen.lock().unwrap();
        seen.rows.resize(builders.len(), 0);
        for (at, builder) in builders.iter_mut().enumerate() {
            if builder.bytes() > least {
                seen.rows[at] += builder.rows();
                let name = builder.table().name.clone();
                let batch = builder.finish().unwrap();
                if name == "darshan_file" {
                    let ids = batch.column_by_name("record_id").unwrap();
                    seen.ids.extend(ids.as_primitive::<UInt64Type>().values());
                }
            }
        }
    };
    let drain = seen.clone();
    tables.set_drain(move |builders| {
        take(&drain, builders, 64 << 10);
        Ok(())
    });
    let mut reader = DarshanReader {
        log: Log::with_memory(MEMORY, None),
        context: Arc::new(ReadContext::default()),
        also: ModuleSet::default(),
        by_parts: false,
    };
    let outcome = reader.read(input, 1, None, &mut tables).unwrap();
    take(&seen, tables.builders(), 0);
    tables.remove_drain();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen, reader)
}

/// A log with a region of POSIX that inflates to 1 GiB, or to a quarter of that in a slow build: so many times the same stream of 4 MiB.
pub(crate) fn bomb() -> Vec<u8> {
    let log = DarshanLog {
        modules: vec![Module::new(
            ModuleId::POSIX,
            4,
            Records::Raw(large(BOMB_RECORDS, |n| n as u64)),
        )],
        ..log_of(vec![], vec![])
    };
    let mut bytes = log.to_bytes();
    // The offset and the length of the region of POSIX lie behind 48 bytes and an entry of 16.
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (offset, length) = (number(64) as usize, number(72) as usize);
    assert_eq!(offset + length, bytes.len());
    let stream = bytes[offset..].to_vec();
    (1..BOMB_STREAMS).for_each(|_| bytes.extend_from_slice(&stream));
    bytes[72..80].copy_from_slice(&(BOMB_STREAMS as u64 * length as u64).to_le_bytes());
    bytes
}

pub(crate) const BOMB_STREAMS: usize = if cfg!(debug_assertions) { 64 } else { 256 };

/// Records in 4 MiB, less what is left over.
pub(crate) const BOMB_RECORDS: usize = 4 * MIB / RECORD;

#[test]
fn a_region_of_many_times_the_memory_that_repeats_its_records_gives_each_once() {
    let bytes = bomb();
    assert!(bytes.len() < 20 * MIB, "{} bytes", bytes.len());
    let names = ["darshan_posix", "darshan_file", "darshan_log"];
    let (outcome, seen, reader) = read_within(bytes, &names);
    let why = format!(
        "POSIX region: {} records twice, the first was taken",
        (BOMB_STREAMS - 1) * BOMB_RECORDS
    );
    assert_eq!((outcome.status, outcome.why), (Status::Damaged, Some(why)));
    assert_eq!(seen.rows, [BOMB_RECORDS, BOMB_RECORDS, 1]);
    let state = &reader.log.modules()[0];
    assert_eq!(state.records, Some(BOMB_RECORDS as u64));
    let inflated = BOMB_STREAMS * BOMB_RECORDS * RECORD;
    assert_eq!(state.inflated_bytes, Some(inflated as u64));
}

#[test]
fn a_region_of_many_times_the_memory_is_read_whole_and_its_files_come_in_order() {
    let records = 64 * MIB / RECORD;
    let id = |n: usize| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Streams of 100 records, as processes write them.
    let streams = vec![100 * RECORD; records / 100];
    let log = log_of(large(records, id), streams);
    let (outcome, seen, _) = read_large(&log, &["darshan_file", "darshan_posix", "darshan_log"]);
    assert_eq!(outcome, Outcome::default());
    let mut expected: Vec<u64> = (0..records).map(id).chain([1]).collect();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(seen.ids, expected);
    assert_eq!(seen.rows, [expected.len(), records, 1]);
}

#[test]
fn names_beyond_the_memory_end_their_region_and_nothing_else() {
    let mut log = log_of(large(10, |n| n as u64), vec![]);
    let name = vec![b'x'; 1000];
    log.names = (0..20_000).map(|id| (id, name.clone())).collect();
    let (outcome, seen, reader) = read_large(&log, &["darshan_posix", "darshan_stdio"]);
    assert_eq!(outcome.status, Status::Damaged);
    // 4 MiB are 4,194 names of 1,000 bytes, each of which lies behind its id and before a NUL.
    let why = format!(
        "name region at offset {} (uncompressed): its names take more than 4194304 bytes",
        4194 * 1009
    );
    assert_eq!(outcome.why, Some(why));
    assert_eq!(seen.rows, [10, 1]);
    assert_eq!(reader.log.name(4193), Some(name.as_slice()));
    assert_eq!(reader.log.name(4194), None);
}

#[test]
fn names_that_all_processes_repeat_take_memory_once() {
    let mut log = log_of(large(10, |n| n as u64), vec![]);
    let name = |id: u64| format!("/scratch/{id:0100}").into_bytes();
    log.names = (0..300_000).map(|n| (n % 100, name(n % 100))).collect();
    let (outcome, _, reader) = read_large(&log, &["darshan_posix"]);
    assert_eq!(outcome, Outcome::default());
    for id in 0..100 {
        assert_eq!(reader.log.name(id), Some(name(id).as_slice()));
    }
}

#[test]
fn a_record_that_must_be_whole_and_is_too_large_ends_its_region() {
    let segment = Segment {
        length: 1,
        ..Segment::default()
    };
    let trace = |rank, segments| Trace {
        id: 3,
        rank,
        writes: vec![segment; segments],
        ..Trace::default()
    };
    let mut log = log_of(large(10, |n| n as u64), vec![]);
    // 32 bytes each, behind 104: 2 MiB are an eighth of the memory.
    let traces = vec![trace(0, 1000), trace(1, 200_000), trace(2, 1000)];
    log.modules
        .push(Module::new(ModuleId::DXT_POSIX, 1, Records::Dxt(traces)));
    let (outcome, seen, _) = read_large(&log, &["darshan_dxt", "darshan_posix"]);
    let why = outcome.why.unwrap();
    let expected = format!(
        "DXT_POSIX region at offset {} (uncompressed): a record takes more than 2097152 bytes: 200000 writes",
        104 + 32_000,
    );
    assert!(why.starts_with(&expected), "{why}");
    assert_eq!(
        (outcome.status, seen.rows),
        (Status::Damaged, vec![1000, 10])
    );
}

#[test]
fn a_file_of_too_many_records_is_told() {
    let records = 8 * MIB / RECORD;
    let mut region = large(records, |_| 9);
    for (rank, record) in (0..).zip(region.chunks_mut(RECORD)) {
        record[8..16].copy_from_slice(&i64::to_le_bytes(rank));
    }
    let mut log = log_of(region, vec![]);
    log.job.nprocs = 1 << 20;
    let (outcome, seen, _) = read_large(&log, &["darshan_file", "darshan_posix"]);
    let why = "POSIX region: the records of one file take more than 4194304 bytes";
    assert_eq!(outcome.why.as_deref(), Some(why));
    // The first record beyond 4 MiB is the last.
    assert_eq!(seen.rows, [2, 4 * MIB / RECORD + 1]);
}

/// What is kept of a real record of each kind takes several times its bytes in rows.
#[test]
fn records_of_every_kind_that_fill_the_memory_stay_within_it() {
    let segment = |n: i64| Segment {
        offset: n,
        length: 1,
        ..Segment::default()
    };
    // 32 bytes a segment, 8 an OST, 16 a bin: 24 MiB of each, in records of about 1 MiB, which are those of few files.
    let traces = (0..24).map(|rank| Trace {
        id: 3 + rank as u64 % 8,
        rank,
        writes: (0..32_000).map(segment).collect(),
        ..Trace::default()
    });
    let layouts = (0..24).map(|rank| crate::source::darshan::write::Layout {
        id: 3 + rank as u64 % 8,
        rank,
        components: vec![crate::source::darshan::write::Component::plain(
            1 << 20,
            (0..128_000).collect(),
        )],
        ..crate::source::darshan::write::Layout::default()
    });
    let heatmaps = (0..24).map(|rank| crate::source::darshan::write::Heatmap {
        id: 3,
        rank,
        reads: vec![1; 64_000],
        writes: vec![2; 64_000],
        ..crate::source::darshan::write::Heatmap::default()
    });
    let of = |id, version, records| DarshanLog {
        modules: vec![Module::new(id, version, records)],
        job: Job {
            nprocs: 24,
            job_id: 5,
            ..Job::default()
        },
        ..DarshanLog::default()
    };
    let names = [
        "darshan_dxt",
        "darshan_lustre",
        "darshan_heatmap",
        "darshan_file",
        "darshan_log",
    ];
    let log = of(ModuleId::DXT_POSIX, 1, Records::Dxt(traces.collect()));
    let (outcome, seen, _) = read_large(&log, &names);
    assert_eq!(
        (outcome, seen.rows),
        (Outcome::default(), vec![24 * 32_000, 0, 0, 0, 1])
    );
    let log = of(ModuleId::LUSTRE, 2, Records::Lustre(layouts.collect()));
    let (outcome, seen, _) = read_large(&log, &names);
    assert_eq!(
        (outcome, seen.rows),
        (Outcome::default(), vec![0, 24, 0, 0, 1])
    );
    let log = of(ModuleId::HEATMAP, 1, Records::Heatmap(heatmaps.collect()));
    let (outcome, seen, _) = read_large(&log, &names);
    assert_eq!(
        (outcome, seen.rows),
        (Outcome::default(), vec![0, 0, 24 * 64_000, 0, 1])
    );
}

#[test]
fn a_log_of_65_536_processes_with_a_file_each_is_read_whole() {
    let mut region = large(1 << 16, |n| n as u64);
    for (rank, record) in (0..).zip(region.chunks_mut(RECORD)) {
        record[8..16].copy_from_slice(&i64::to_le_bytes(rank));
    }
    let mut log = log_of(region, vec![]);
    log.job.nprocs = 1 << 16;
    log.modules.truncate(1);
    let (outcome, seen, _) = read_large(&log, &["darshan_file", "darshan_posix", "darshan_log"]);
    assert_eq!(
        (outcome, seen.rows),
        (Outcome::default(), vec![1 << 16, 1 << 16, 1])
    );
}

#[test]
fn a_directory_of_temporary_files_that_is_not_there_is_told() {
    let input = Input::from_bytes(
        "large.darshan",
        log_of(large(8 * MIB / RECORD, |n| n as u64), vec![]).to_bytes(),
    );
    let directory = tempfile::tempdir().unwrap().path().join("none");
    let mut log = Log::with_memory(16 * MIB, Some(&directory));
    let error = log
        .read(&input, crate::source::darshan::log::ModuleSet::ALL)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("none: cannot make a temporary file"),
        "{error}"
    );
}
