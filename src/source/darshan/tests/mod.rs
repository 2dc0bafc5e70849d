//! Logs that are written here: the order of the rows, damage, and records that are there twice. Real logs are read in
//! tests/it/darshan_logs.rs.

pub(crate) mod bounded;
mod plausible;
mod spilled_real_logs;

use super::counters::posix;
use super::header::{ByteOrder, Compression};
use super::log::{Log, ModuleSet};
use super::module::Status as Read;
use super::write::{DarshanLog, Job};
use super::write::{Module, Records, Segment, Trace};
use super::{Darshan, ModuleId};
use crate::source::{BatchSink, Input, ReadContext, Source, Status};
use crate::table::columns::ascend;
use std::sync::Arc;

/// Rows of every table, DXT included, must come in the order that the table declares: the Parquet files and the engine's joins
/// rely on it.
#[test]
fn rows_come_in_the_order_that_each_table_declares() {
    let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
    let input = Input::from_bytes("both.darshan", traced_by_both_modules());
    let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
    reader.read(&input, 1, None, &mut tables).unwrap();
    for builder in tables.builders() {
        let (table, batch) = (builder.table().clone(), builder.finish().unwrap());
        assert!(ascend(&batch, &table.sort), "{}", table.name);
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
    let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
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
    let written = super::module::MODULES.iter();
    let written = written.filter(|module| module.shape != super::module::Shape::Apxc);
    let modules: Vec<Module> = written.map(|module| three(module.id, &[0, 1, 2])).collect();
    for compression in [Compression::Zlib, Compression::None] {
        let log = DarshanLog {
            compression,
            job: Job {
                nprocs: 2,
                ..Job::default()
            },
            names: (0..500).map(|id| (id, format!("/a/{id}").into())).collect(),
            modules: modules.clone(),
            ..DarshanLog::default()
        };
        let bytes = log.to_bytes();
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), &bytes).unwrap();
        let (mut file, mut memory) = (Log::new(), Log::new());
        file.read(&Input::open(path.path()).unwrap(), ModuleSet::ALL)
            .unwrap();
        let input = Input::from_bytes(path.path(), bytes);
        memory.read(&input, ModuleSet::ALL).unwrap();
        assert_eq!(file.job(), memory.job());
        assert_eq!(file.modules().len(), modules.len());
        assert_eq!(
            format!("{:?}", file.modules()),
            format!("{:?}", memory.modules())
        );
        for module in file.modules() {
            let of = |log: &Log| {
                let region = log.region(module.id).unwrap();
                (region.bytes.clone(), region.starts.clone())
            };
            assert_eq!(of(&file), of(&memory), "{}", module.name);
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
