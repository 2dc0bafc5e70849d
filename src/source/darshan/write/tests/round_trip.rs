//! Our own reader reads what is written.

use super::*;
use crate::source::Input;
use crate::source::darshan::log::{Log, ModuleSet};
use crate::source::darshan::module::{Status, dxt, lustre};

/// What our own reader says of a log is what was written.
#[track_caller]
fn assert_read_back(log: &DarshanLog) {
    let mut read = Log::new();
    read.read(
        &Input::from_bytes("written", log.to_bytes()),
        ModuleSet::ALL,
    )
    .unwrap();
    let head = read.header().unwrap();
    assert_eq!(
        (head.version, head.order, head.compression),
        (log.version, log.byte_order, log.compression)
    );
    assert_eq!(
        (read.names_error(), read.why().filter(|_| log.partial == 0)),
        (None, None)
    );

    let (job, wrote) = (read.job().unwrap(), &log.job);
    let nanos = |nanos: i64| if log.version < (3, 41) { 0 } else { nanos };
    assert_eq!(
        (job.start_sec, job.start_nsec),
        (wrote.start.0, nanos(wrote.start.1))
    );
    assert_eq!(
        (job.end_sec, job.end_nsec),
        (wrote.end.0, nanos(wrote.end.1))
    );
    assert_eq!(
        (job.uid, job.nprocs, job.job_id),
        (wrote.uid, wrote.nprocs, wrote.job_id)
    );
    assert_eq!(
        (&job.metadata, &job.exe, &job.mounts),
        (&wrote.metadata, &wrote.exe, &wrote.mounts)
    );
    for (id, name) in &log.names {
        assert_eq!(read.name(*id), Some(name.as_slice()));
    }

    let held = |module: &&Module| header::slot(log.version, usize::from(module.id.0)).is_some();
    let mut modules: Vec<&Module> = log.modules.iter().filter(held).collect();
    modules.sort_by_key(|module| module.id);
    // A region of empty streams takes bytes in the file, too.
    let has_bytes = |module: &&&Module| {
        let streams = !module.streams.is_empty() && log.compression != Compression::None;
        streams || !module.encode(ByteOrder::Little).0.is_empty()
    };
    let stored: Vec<ModuleId> = modules
        .iter()
        .filter(has_bytes)
        .map(|module| module.id)
        .collect();
    let found = read.modules().iter().filter(|state| state.bytes > 0);
    assert_eq!(found.map(|state| state.id).collect::<Vec<_>>(), stored);
    for module in modules {
        assert_module_read_back(&read, module, log.partial);
    }
}

#[track_caller]
fn assert_module_read_back(read: &Log, module: &Module, partial: u64) {
    let what = format!("{:?} version {}", module.id, module.version);
    // As little-endian numbers the records are the same bytes, whatever the order of the log.
    let (bytes, ends) = module.encode(ByteOrder::Little);
    let Some(state) = read
        .modules()
        .iter()
        .find(|state| state.id == module.id && state.bytes > 0)
    else {
        assert!(bytes.is_empty(), "{what}: it is missing");
        return;
    };
    let flagged = partial >> module.id.0 & 1 == 1;
    let status = if flagged {
        Status::PartialFlag
    } else {
        Status::Ok
    };
    assert_eq!(
        (state.status, state.partial, state.version),
        (status, flagged, module.version)
    );
    assert_eq!(state.records, Some(ends.len() as u64), "{what}");
    assert_eq!(state.inflated_bytes, Some(bytes.len() as u64), "{what}");
    match &module.records {
        Records::Counters(records) => {
            let got = read.records(module.id).unwrap();
            assert_eq!(got.len(), records.len());
            for (at, record) in records.iter().enumerate() {
                let (ints, floats) = expected(module.id, module.version, record);
                assert_eq!(
                    (got.id(at), got.rank(at)),
                    (record.id, record.rank),
                    "{what}"
                );
                let got_ints: Vec<_> = (0..ints.len()).map(|c| Some(got.int(at, c))).collect();
                assert_eq!(got_ints, ints, "{what}");
                let got_floats: Vec<_> =
                    (0..floats.len()).map(|c| Some(got.float(at, c))).collect();
                assert_eq!(got_floats, floats, "{what}");
                let raw = &got.bytes[got.start(at)..got.start(at + 1)];
                let file = got.layout.file_record_id.map(|at| number(raw, at) as u64);
                match (&record.extra, file) {
                    (Extra::File(wrote), Some(file)) => assert_eq!(file, *wrote, "{what}"),
                    (_, file) => assert_eq!(file, None, "{what}"),
                }
                if let Extra::Stored {
                    pool,
                    container,
                    object,
                } = &record.extra
                {
                    let tail = &raw[got.layout.tail.unwrap()..];
                    assert_eq!(tail[..32], [*pool, *container].concat(), "{what}");
                    let ids: Vec<u64> = tail[32..]
                        .chunks(8)
                        .map(|id| number(id, 0) as u64)
                        .collect();
                    let wrote = [object.0, object.1];
                    assert_eq!(
                        ids,
                        if module.id == ModuleId::DAOS {
                            &wrote[..]
                        } else {
                            &[]
                        }
                    );
                }
            }
        }
        Records::Lustre(layouts) => {
            let got: Vec<_> = read.lustre().collect();
            assert_eq!(got.len(), layouts.len());
            for (got, wrote) in got.iter().zip(layouts) {
                assert_layout(got, wrote, module.version);
            }
        }
        Records::Dxt(traces) => {
            let got: Vec<_> = read.dxt(module.id).collect();
            assert_eq!(got.len(), traces.len());
            let newest = [(ModuleId::DXT_POSIX, 2), (ModuleId::DXT_MPIIO, 3)];
            let threads = newest.contains(&(module.id, module.version));
            let offsets = (module.id, module.version) != (ModuleId::DXT_MPIIO, 1);
            let as_read = |segment: &Segment| dxt::Segment {
                offset: offsets.then_some(segment.offset),
                length: segment.length,
                start: segment.start,
                end: segment.end,
                thread: threads.then_some(segment.thread),
            };
            for (got, wrote) in got.iter().zip(traces) {
                assert_eq!(
                    (got.id, got.rank, got.hostname),
                    (wrote.id, wrote.rank, &wrote.hostname[..])
                );
                assert!(got.writes().eq(wrote.writes.iter().map(as_read)), "{what}");
                assert!(got.reads().eq(wrote.reads.iter().map(as_read)), "{what}");
            }
        }
        _ => {
            let starts = std::iter::once(&0).chain(&ends).zip(&ends);
            let mut records: Vec<&[u8]> = starts.map(|(from, to)| &bytes[*from..*to]).collect();
            if let (ModuleId::APMPI, Some(first)) = (module.id, records.first_mut()) {
                // The header stands before the first record.
                *first = &first[48..];
            }
            let got: Vec<&[u8]> = read.pieces(module.id).collect();
            assert_eq!(got.len(), records.len());
            for (got, wrote) in got.iter().zip(records) {
                // Two pointers in a heat map mean nothing, and have no byte order.
                let junk = if module.id == ModuleId::HEATMAP {
                    32..48
                } else {
                    0..0
                };
                let means = |bytes: &[u8]| [&bytes[..junk.start], &bytes[junk.end..]].concat();
                assert!(means(got) == means(wrote), "{what}");
            }
        }
    }
}

#[track_caller]
fn assert_layout(got: &lustre::Layout<'_>, wrote: &Layout, version: u32) {
    assert_eq!((got.id, got.rank), (wrote.id, wrote.rank));
    let kept = wrote
        .components
        .iter()
        .take_while(|component| component.stripe_size != -1);
    let got_components: Vec<_> = got.components().collect();
    if version == 1 {
        assert_eq!((got.osts, got.mdts), (Some(wrote.osts), Some(wrote.mdts)));
        assert_eq!(got.stripe_offset, Some(wrote.stripe_offset));
        assert_eq!(got_components.len(), 1);
    } else {
        assert_eq!((got.osts, got.mdts, got.stripe_offset), (None, None, None));
        assert_eq!(got_components.len(), kept.clone().count());
    }
    for (got, wrote) in got_components.iter().zip(kept) {
        assert_eq!(
            (got.stripe_size, got.stripe_count),
            (wrote.stripe_size, wrote.osts.len() as i64)
        );
        assert!(got.osts().eq(wrote.osts.iter().copied()));
        if version > 1 {
            assert_eq!(
                (got.stripe_pattern, got.flags),
                (wrote.pattern, wrote.flags)
            );
            assert_eq!(
                (got.ext_start, got.ext_end),
                (wrote.ext_start, wrote.ext_end)
            );
            assert_eq!(
                (got.mirror_id, got.pool),
                (wrote.mirror_id, &wrote.pool[..])
            );
        }
    }
}

#[test]
fn our_reader_reads_every_version_in_every_encoding() {
    for (number, version) in VERSIONS.into_iter().enumerate() {
        for back in 0..4 {
            let mut log = log(number as u64, version, back, 5);
            for order in [ByteOrder::Little, ByteOrder::Big] {
                for compression in [Compression::Zlib, Compression::Bzip2, Compression::None] {
                    (log.byte_order, log.compression) = (order, compression);
                    assert_read_back(&log);
                }
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..Default::default() })]

    #[test]
    fn any_log_is_read_back_as_it_was_written(
        seed: u64,
        version in 0..VERSIONS.len(),
        back in 0..4u32,
        records in 0..9usize,
        big: bool,
        compression in 0..3usize,
        partial: u64,
        splits in proptest::collection::vec(0..4usize, 0..5),
        chosen: u32,
    ) {
        let mut log = log(seed, VERSIONS[version], back, records);
        log.byte_order = if big { ByteOrder::Big } else { ByteOrder::Little };
        log.compression = [Compression::Zlib, Compression::Bzip2, Compression::None][compression];
        // Flags of modules that the version has a place for and the log has.
        let mut at = 0;
        log.modules.retain(|_| { at += 1; chosen >> (at % 32) & 1 == 1 });
        log.partial = 0;
        for module in &log.modules {
            if header::slot(log.version, usize::from(module.id.0)).is_some() {
                log.partial |= partial & 1 << module.id.0;
            }
        }
        log.name_streams = splits.clone();
        for module in &mut log.modules {
            module.streams = splits.clone();
        }
        assert_read_back(&log);
    }
}

#[test]
fn a_posix_1_record_with_stdio_calls_in_it_is_left_out_by_readers() {
    let mut log = log(3, (3, 0), 3, 4);
    log.partial = 0;
    log.modules.retain(|module| module.id == ModuleId::POSIX);
    let Records::Counters(records) = &mut log.modules[0].records else {
        unreachable!()
    };
    records[1].extra = Extra::Old(vec![1, 0, 0, 0]);
    let expect = [records[0].id, records[2].id, records[3].id];
    let mut read = Log::new();
    read.read(
        &Input::from_bytes("written", log.to_bytes()),
        ModuleSet::ALL,
    )
    .unwrap();
    let got = read.records(ModuleId::POSIX).unwrap();
    assert_eq!(
        (0..got.len()).map(|at| got.id(at)).collect::<Vec<_>>(),
        expect
    );
}

#[test]
fn our_reader_names_modules_that_it_does_not_know_and_stops_at_lies() {
    let lie = [
        [0u8; 16].as_slice(),
        &i64::MAX.to_le_bytes(),
        &i64::MAX.to_le_bytes(),
    ]
    .concat();
    let raw = |id, version, bytes: &[u8]| Module::new(id, version, Records::Raw(bytes.to_vec()));
    let job = Job {
        nprocs: 1,
        ..Job::default()
    };
    let good = Records::Counters(vec![Record::default()]);
    let modules = vec![
        raw(ModuleId(40), 7, b"something"),
        raw(ModuleId::LUSTRE, 2, &lie),
        raw(ModuleId::HEATMAP, 1, &[1; 47]),
        Module::new(ModuleId::POSIX, 5, good.clone()),
        Module::new(ModuleId::STDIO, 2, good),
    ];
    let log = DarshanLog {
        job,
        modules,
        ..DarshanLog::default()
    };
    let mut read = Log::new();
    read.read(
        &Input::from_bytes("written", log.to_bytes()),
        ModuleSet::ALL,
    )
    .unwrap();
    let states: Vec<_> = read
        .modules()
        .iter()
        .map(|state| (state.id.0, state.status))
        .collect();
    let expect = [
        (1, Status::UnsupportedVersion),
        (8, Status::Corrupt),
        (9, Status::Ok),
        (15, Status::Corrupt),
        (40, Status::Unknown),
    ];
    assert_eq!(states, expect);
}
