//! Real logs: what their headers say, values worked out by hand, and the order of the rows.

#![allow(clippy::print_stdout)]

use super::counters::posix;
use super::header::ByteOrder;
use super::log::{Log, ModuleSet};
use super::module::Status as Read;
use super::write::{DarshanLog, Job};
use super::write::{Module, Records, Segment, Trace};
use super::{Darshan, ModuleId};
use crate::source::tests::shared;
use crate::source::{BatchSink, Input, Site, Source, Status};
use arrow::row::{RowConverter, SortField};
use std::path::PathBuf;
use std::sync::Arc;

/// Every real log; none, with a printed line, where they are absent.
pub(super) fn real_logs() -> Vec<(PathBuf, Vec<u8>)> {
    let Some(folder) = shared("darshan") else {
        return vec![];
    };
    let mut logs: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|e| (e.path(), std::fs::read(e.path()).unwrap()))
        .collect();
    logs.sort();
    logs
}

fn real_log(name: &str) -> Option<Log> {
    let (path, bytes) = real_logs()
        .into_iter()
        .find(|(path, _)| path.file_name().is_some_and(|n| n == name))?;
    let mut log = Log::new();
    log.read(&Input::from_bytes(path, bytes), ModuleSet::ALL)
        .unwrap();
    Some(log)
}

#[test]
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

#[test]
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
        let Some(log) = real_log(name) else { continue };
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

#[test]
fn a_command_line_without_mounts_is_not_lost() {
    let Some(log) = real_log("dxt.darshan") else {
        return;
    };
    let job = log.job().unwrap();
    assert!(job.exe.len() > 2_900 && job.exe_truncated && job.mounts.is_empty());
}

/// Rows of every table, DXT included, must come in the order that the table declares: the Parquet files and the engine's joins
/// rely on it.
#[test]
fn rows_come_in_the_order_that_each_table_declares() {
    let mut logs = real_logs();
    logs.retain(|(_, bytes)| bytes.len() < 200_000);
    logs.push(("both.darshan".into(), traced_by_both_modules()));
    let mut reader = Darshan.reader(Arc::new(Site::default()));
    for (path, bytes) in logs {
        let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
        reader
            .read(&Input::from_bytes(&path, bytes), 1, None, &mut tables)
            .unwrap();
        for builder in tables.builders() {
            let (table, batch) = (builder.table().clone(), builder.finish().unwrap());
            let columns: Vec<_> = table
                .sort
                .iter()
                .map(|name| batch.column(table.index(name).unwrap()).clone())
                .collect();
            let fields = columns
                .iter()
                .map(|c| SortField::new(c.data_type().clone()))
                .collect();
            let rows = RowConverter::new(fields)
                .unwrap()
                .convert_columns(&columns)
                .unwrap();
            assert!(rows.iter().is_sorted(), "{path:?}: {}", table.name);
        }
    }
}

fn traced_by_both_modules() -> Vec<u8> {
    let segment = Segment {
        length: 10,
        ..Segment::default()
    };
    let trace = |id| Trace {
        id,
        writes: vec![segment; 2],
        reads: vec![segment],
        ..Trace::default()
    };
    let traces = || Records::Dxt(vec![trace(9), trace(3)]);
    let log = DarshanLog {
        job: Job {
            nprocs: 1,
            ..Job::default()
        },
        modules: vec![
            Module::new(ModuleId::DXT_POSIX, 1, traces()),
            Module::new(ModuleId::DXT_MPIIO, 2, traces()),
        ],
        ..DarshanLog::default()
    };
    log.to_bytes()
}

#[test]
fn a_damaged_job_region_is_told_and_its_unfinished_command_line_is_no_command_line() {
    let log = DarshanLog {
        job: Job {
            nprocs: 4,
            job_id: 77,
            exe: std::iter::successors(Some(1u64), |x| {
                Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
            })
            .map(|x| b'a' + (x >> 40) as u8 % 26)
            .take(2_000)
            .collect(),
            ..Job::default()
        },
        ..DarshanLog::default()
    };
    let whole = log.to_bytes();
    let mut read = Log::new();
    let input = |bytes: &[u8]| Input::from_bytes("x.darshan", bytes.to_vec());
    read.read(&input(&whole), ModuleSet::ALL).unwrap();
    assert_eq!(
        (read.status(), read.job().unwrap().exe.len()),
        (Status::Ok, 2_000)
    );
    read.read(&input(&whole[..whole.len() - 200]), ModuleSet::ALL)
        .unwrap();
    assert_eq!(read.status(), Status::Damaged);
    assert!(read.why().unwrap().starts_with("job region at offset "));
    let job = read.job().unwrap();
    assert_eq!((job.job_id, job.exe.len(), job.nprocs), (77, 0, 4));
}

#[test]
fn a_module_of_which_damage_left_nothing_has_no_records_rather_than_none_of_them() {
    let mut log = DarshanLog::default();
    let record = super::write::Record {
        id: 1,
        ints: vec![3; posix::INTS.len()],
        floats: vec![0.5; posix::FLOATS.len()],
        ..Default::default()
    };
    log.modules.push(Module::new(
        ModuleId::POSIX,
        4,
        Records::Counters(vec![record]),
    ));
    let whole = log.to_bytes();
    let records = |bytes: &[u8]| {
        let mut read = Log::new();
        read.read(&Input::from_bytes("x", bytes.to_vec()), ModuleSet::ALL)
            .unwrap();
        (
            read.status(),
            read.records(ModuleId::POSIX).map(|r| r.len()),
        )
    };
    assert_eq!(records(&whole), (Status::Ok, Some(1)));
    assert_eq!(records(&whole[..whole.len() - 9]), (Status::Damaged, None));
}

#[test]
fn common_accesses_of_version_3_20_are_not_to_be_trusted() {
    for version in [(3, 10), (3, 20), (3, 21)] {
        let mut log = DarshanLog {
            version,
            ..DarshanLog::default()
        };
        for id in [ModuleId::POSIX, ModuleId::STDIO] {
            log.modules.push(Module::new(id, 2, Records::Raw(vec![])));
        }
        let mut read = Log::new();
        read.read(&Input::from_bytes("x", log.to_bytes()), ModuleSet::ALL)
            .unwrap();
        let warned = read.warning(ModuleId::POSIX).is_some();
        assert_eq!(warned, version == (3, 20), "{version:?}");
        assert_eq!(read.warning(ModuleId::STDIO), None);
    }
}

#[test]
fn a_module_of_another_number_that_is_cut_off_is_no_whole_log() {
    let mut log = DarshanLog {
        job: Job {
            nprocs: 1,
            ..Job::default()
        },
        ..DarshanLog::default()
    };
    log.modules
        .push(Module::new(ModuleId(40), 1, Records::Raw(vec![7; 500])));
    let whole = log.to_bytes();
    let mut read = Log::new();
    read.read(&Input::from_bytes("x", whole.clone()), ModuleSet::ALL)
        .unwrap();
    assert_eq!(
        (read.status(), read.modules()[0].status),
        (Status::Ok, Read::Unknown)
    );
    let cut = whole[..whole.len() - 1].to_vec();
    read.read(&Input::from_bytes("x", cut), ModuleSet::ALL)
        .unwrap();
    assert_eq!(
        (read.status(), read.modules()[0].status),
        (Status::Damaged, Read::Truncated)
    );
}

/// The records at these places of three that differ in id or rank, once more with other contents past place 2.
fn three(id: ModuleId, places: &[usize]) -> Module {
    let key = |place: usize| [(9u64, 1i64), (4, 1), (9, 0)][place % 3];
    let segments = |place: usize| {
        let segment = |at: usize| Segment {
            offset: at as i64,
            length: 10,
            ..Segment::default()
        };
        (0..=place).map(segment).collect::<Vec<_>>()
    };
    let places = places.iter().copied();
    let records = match id {
        ModuleId::LUSTRE => Records::Lustre(
            places
                .map(|place| super::write::Layout {
                    id: key(place).0,
                    rank: key(place).1,
                    osts: 8,
                    mdts: 1,
                    stripe_offset: 0,
                    components: vec![super::write::Component::plain(1 << 20, vec![place as i64])],
                })
                .collect(),
        ),
        ModuleId::DXT_POSIX | ModuleId::DXT_MPIIO => Records::Dxt(
            places
                .map(|place| Trace {
                    id: key(place).0,
                    rank: key(place).1,
                    writes: segments(place),
                    reads: segments(1),
                    ..Trace::default()
                })
                .collect(),
        ),
        ModuleId::HEATMAP => Records::Heatmap(
            places
                .map(|place| super::write::Heatmap {
                    id: key(place).0,
                    rank: key(place).1,
                    bin_width: 0.1,
                    writes: vec![place as i64; 3 + place],
                    reads: vec![1; 3 + place],
                })
                .collect(),
        ),
        ModuleId::MDHIM => Records::Mdhim(
            places
                .map(|place| super::write::Mdhim {
                    id: key(place).0,
                    rank: key(place).1,
                    ints: [place as i64, 0, 0, 0, 2],
                    floats: [0.0; 4],
                    servers: vec![1, 2],
                })
                .collect(),
        ),
        ModuleId::APMPI => Records::Apmpi(super::write::Apmpi {
            id: 5,
            records: places
                .map(|place| super::write::ApmpiRecord {
                    id: key(place).0,
                    rank: key(place).1,
                    ints: vec![place as u64],
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }),
        _ => Records::Counters(
            places
                .map(|place| super::write::Record {
                    id: key(place).0,
                    rank: key(place).1,
                    ints: vec![place as i64],
                    ..Default::default()
                })
                .collect(),
        ),
    };
    let newest = super::module::module(id).unwrap().newest;
    Module::new(id, newest, records)
}

/// Rows of all tables of a log, and what became of it.
fn rows(
    log: &DarshanLog,
) -> (
    Vec<arrow::record_batch::RecordBatch>,
    Status,
    Option<String>,
) {
    let input = Input::from_bytes("x.darshan", log.to_bytes());
    let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
    let mut reader = Darshan.reader(Arc::new(Site::default()));
    let outcome = reader.read(&input, 7, None, &mut tables).unwrap();
    let rows = tables.builders().iter_mut().map(|b| b.finish().unwrap());
    (rows.collect(), outcome.status, outcome.why)
}

#[test]
fn of_records_of_one_object_and_process_the_first_counts_in_every_module() {
    for module in super::module::MODULES {
        if module.shape == super::module::Shape::Apxc {
            continue;
        }
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            let log = |places: &[usize]| DarshanLog {
                byte_order,
                job: Job {
                    nprocs: 2,
                    ..Job::default()
                },
                modules: vec![three(module.id, places)],
                ..DarshanLog::default()
            };
            let (once, status, why) = rows(&log(&[0, 1, 2]));
            assert_eq!((status, why), (Status::Ok, None), "{}", module.name);
            let (twice, status, why) = rows(&log(&[0, 1, 3, 2, 6, 5]));
            assert_eq!(status, Status::Damaged, "{}", module.name);
            let why = why.unwrap();
            assert!(
                why.starts_with(module.name)
                    && why.ends_with("3 records twice, the first was taken"),
                "{why}"
            );
            for (table, (once, twice)) in Darshan.tables().iter().zip(once.iter().zip(&twice)) {
                match *table {
                    // Size and status are another log's.
                    "darshan_log" => {
                        for name in ["files", "bytes_read", "bytes_written", "reads", "writes"] {
                            assert_eq!(
                                once.column_by_name(name),
                                twice.column_by_name(name),
                                "{name}"
                            );
                        }
                    }
                    "darshan_module" => assert_eq!(
                        once.column_by_name("records"),
                        twice.column_by_name("records"),
                        "{}",
                        module.name
                    ),
                    table => assert_eq!(once, twice, "{table} of {}", module.name),
                }
            }
        }
    }
}

#[test]
fn of_a_log_that_is_cut_as_well_both_faults_are_told() {
    let mut log = DarshanLog {
        job: Job {
            nprocs: 2,
            ..Job::default()
        },
        ..DarshanLog::default()
    };
    let mut module = three(ModuleId::HEATMAP, &[0, 3, 1, 2]);
    // The last record in a stream of its own, which the file lacks.
    module.streams = vec![3];
    log.modules.push(module);
    let whole = log.to_bytes();
    let mut read = Log::new();
    let cut = whole[..whole.len() - 4].to_vec();
    read.read(&Input::from_bytes("x", cut), ModuleSet::ALL)
        .unwrap();
    let state = &read.modules()[0];
    assert_eq!(state.status, Read::Truncated);
    let error = state.error.as_deref().unwrap();
    assert!(error.starts_with("the file ends at byte"), "{error}");
    assert!(
        error.ends_with("; 1 record twice, the first was taken"),
        "{error}"
    );
}

#[test]
fn a_file_and_its_bytes_in_memory_are_read_alike() {
    for (path, bytes) in real_logs() {
        let (mut file, mut memory) = (Log::new(), Log::new());
        file.read(&Input::open(&path).unwrap(), ModuleSet::ALL)
            .unwrap();
        memory
            .read(&Input::from_bytes(&path, bytes), ModuleSet::ALL)
            .unwrap();
        assert_eq!(file.job(), memory.job());
        assert_eq!(
            format!("{:?}", file.modules()),
            format!("{:?}", memory.modules()),
            "{path:?}"
        );
        for module in file.modules() {
            assert_eq!(file.whole(module.id), memory.whole(module.id), "{path:?}");
        }
    }
}

#[test]
fn a_file_of_that_name_is_a_log_unless_it_is_text() {
    let probe = |name: &str, head: &[u8]| Darshan.probe(std::path::Path::new(name), head);
    assert!(!probe("Makefile.darshan", b"CFLAGS = -O2\n\tcc $<\n"));
    // Cut within a character.
    assert!(!probe("readme.darshan", &"Gr\u{fc}n".as_bytes()[..3]));
    // What a log lost of its front, all of it included, is no reason to pass over it.
    assert!(probe("job.darshan", b""));
    assert!(probe("job.darshan", &[0; 64]));
    assert!(probe("job.darshan_partial", b"3.41\0\x07\xff\x80"));
    assert!(!probe("job.log", &[0; 64]));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..Default::default() })]

    #[test]
    fn records_are_ordered_by_id_then_rank_then_place_however_the_ids_are_spread(
        keys in proptest::collection::vec((proptest::prelude::any::<u64>(), -1i64..3), 0..500),
        few in proptest::sample::select(vec![1, 5, u64::MAX]),
    ) {
        let key = |r: usize| (keys[r].0 % few, keys[r].1);
        let mut order = vec![9];
        let repeated = super::repeated::sort(&mut order, keys.len(), key);
        let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
        let mut seen = std::collections::HashSet::new();
        let again: Vec<u32> = expected.iter().copied().filter(|r| !seen.insert(key(*r as usize))).collect();
        proptest::prop_assert_eq!(repeated, again);
        expected.sort_by_key(|r| key(*r as usize));
        proptest::prop_assert_eq!(order, expected);
    }
}

#[test]
fn a_log_that_has_become_another_jobs_appends_nothing() {
    let log = |job_id| DarshanLog {
        job: Job {
            job_id,
            ..Job::default()
        },
        modules: vec![three(ModuleId::POSIX, &[0, 1, 2])],
        ..DarshanLog::default()
    };
    let (before, now) = (log(1).to_bytes(), log(2).to_bytes());
    let peeked = Darshan.peek(&Input::from_bytes("x.darshan", before));
    let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
    let mut reader = Darshan.reader(Arc::new(Site::default()));
    let input = Input::from_bytes("x.darshan", now);
    let error = reader.read(&input, 7, Some(peeked.unwrap()), &mut tables);
    let error = error.unwrap_err();
    assert!(
        matches!(error, crate::Error::Io { .. })
            && error.to_string().contains("it changed while it was read"),
        "{error}"
    );
    assert!(tables.builders().iter().all(|builder| builder.rows() == 0));
    let peeked = Darshan.peek(&input).unwrap();
    reader.read(&input, 7, Some(peeked), &mut tables).unwrap();
    assert!(tables.builders().iter().any(|builder| builder.rows() > 0));
}
