//! Real logs with bytes changed or cut: the reader must not panic, not take memory without measure, and never call a cut log
//! whole.

#![allow(clippy::print_stdout)]

use super::Darshan;
use super::bounded::tiny;
use super::header::{ByteOrder, Compression, Header, Place};
use super::log::{Log, ModuleSet};
use super::reader::DarshanReader;
use super::region::Regions;
use super::tests::real_logs;
use crate::math::random::Random;
use crate::source::{BatchSink, Input, Reader, Site, Source, Status};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Mutants of a run of the tests; the variables IOLODE_MUTANTS and IOLODE_SEED ask for more, and for others.
const MUTANTS: usize = 2_000;

fn small_logs() -> Vec<(PathBuf, Vec<u8>)> {
    let mut logs = real_logs();
    logs.retain(|(_, bytes)| bytes.len() < 40_000);
    logs
}

fn header_length(log: &[u8]) -> usize {
    if log.starts_with(b"3.41") { 1328 } else { 360 }
}

/// The same log without compression, as an mmap log of Darshan is: what is changed in it is a record, not a checksum.
fn uncompressed(path: &Path, log: &[u8]) -> Vec<u8> {
    let header = Header::read(&Input::from_bytes(path, log.to_vec()), log).unwrap();
    let mut regions = Regions::new();
    let mut inflated = |place: Place, into: &mut Vec<u8>| {
        let from = place.offset as usize;
        let region = &log[from..from + place.length as usize];
        regions.inflate(header.compression, region, into).unwrap();
    };
    let mut plain = log[..header_length(log)].to_vec();
    plain[16] = 2;
    inflated(header.job, &mut plain);
    let (maps, slots) = if header.version == (3, 41) {
        (32, 65)
    } else {
        (24, 17)
    };
    for at in (0..slots).map(|slot| maps + 16 * slot) {
        let number = |at| header.order.u64(log, at).unwrap();
        let (offset, length) = (number(at), number(at + 8));
        let from = plain.len();
        if length > 0 {
            inflated(Place { offset, length }, &mut plain);
        }
        // Without names the job region ends where an offset says.
        if offset > 0 {
            set(&mut plain, at, from as u64, header.order);
            let made = (plain.len() - from) as u64;
            set(&mut plain, at + 8, made, header.order);
        }
    }
    plain
}

fn set(bytes: &mut [u8], at: usize, number: u64, order: ByteOrder) {
    bytes[at..at + 8].copy_from_slice(&match order {
        ByteOrder::Little => number.to_le_bytes(),
        ByteOrder::Big => number.to_be_bytes(),
    });
}

#[test]
fn no_mutant_of_a_real_log_panics_or_takes_memory_without_measure() {
    let compressed = small_logs();
    if compressed.is_empty() {
        return;
    }
    let plain: Vec<_> = compressed
        .iter()
        .map(|(path, log)| (path.clone(), uncompressed(path, log)))
        .collect();
    let mutants = std::env::var("IOLODE_MUTANTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(MUTANTS);
    let seed = std::env::var("IOLODE_SEED")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1);
    let mut random = Random::new(seed, 0);
    let mut reader = Darshan.reader(Arc::new(Site::default()));
    let mut spilling = DarshanReader {
        log: Log::with_limits(tiny(4096)),
        site: Arc::new(Site::default()),
    };
    let mut outcomes = [0usize; 4];
    for mutant in 0..mutants {
        // In turns: compressed bytes exercise header and streams, plain ones the counts in the records.
        let logs = if mutant % 2 == 0 { &compressed } else { &plain };
        let (path, whole) = &logs[random.index(logs.len())];
        let mut bytes = whole.clone();
        let header = header_length(&bytes);
        match random.index(6) {
            // A bit anywhere, a few bits, a number of the header, bytes taken out of the middle, junk put in.
            0 => (0..1 + random.index(4)).for_each(|_| {
                let at = random.index(bytes.len());
                bytes[at] ^= 1 << random.index(8);
            }),
            1 => {
                let at = random.index(header / 8 - 2) * 8 + 16;
                let number = [
                    0,
                    1,
                    u64::MAX,
                    u64::MAX / 2,
                    1 << 40,
                    bytes.len() as u64,
                    random.bits(),
                ][random.index(7)];
                bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            2 => {
                let at = header + random.index(bytes.len() - header);
                let n = random.index(64).min(bytes.len() - at);
                bytes.drain(at..at + n);
            }
            3 => {
                let at = header + random.index(bytes.len() - header);
                let junk: Vec<u8> = (0..random.index(64)).map(|_| random.bits() as u8).collect();
                bytes.splice(at..at, junk);
            }
            // A number of a record, if the log is plain.
            4 => (0..1 + random.index(3)).for_each(|_| {
                let words = (bytes.len() - header).saturating_sub(8) / 8;
                let at = header + 8 * random.index(words) % bytes.len();
                let number = [0, 1, 3, 1 << 33, u64::MAX, u64::MAX / 16, 1 << 60][random.index(7)];
                let order = [ByteOrder::Little, ByteOrder::Big][random.index(2)];
                if at + 8 <= bytes.len() {
                    set(&mut bytes, at, number, order);
                }
            }),
            _ => bytes.truncate(random.index(bytes.len())),
        }
        let size = bytes.len();
        let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
        let mut spilled_tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
        let input = Input::from_bytes(path, bytes.clone());
        let by_pieces = spilling.read(&input, 1, None, &mut spilled_tables);
        match reader.read(&Input::from_bytes(path, bytes), 1, None, &mut tables) {
            Ok(outcome) => {
                outcomes[outcome.status as usize] += 1;
                let by_pieces = by_pieces.unwrap();
                assert_eq!(
                    by_pieces.status, outcome.status,
                    "{path:?}: {outcome:?} {by_pieces:?}"
                );
                let builders = tables.builders().iter_mut();
                for (builder, spilled) in builders.zip(spilled_tables.builders()) {
                    let name = &builder.table().name;
                    assert_eq!(
                        builder.rows(),
                        spilled.rows(),
                        "{path:?}: {name}, {outcome:?} {by_pieces:?}"
                    );
                }
                assert_eq!(
                    outcome.status == Status::Ok,
                    outcome.why.is_none(),
                    "{path:?}: {outcome:?}"
                );
            }
            Err(e) => {
                outcomes[3] += 1;
                assert!(by_pieces.is_err(), "{path:?}: {e}");
                assert!(!e.to_string().contains('\n'), "{e}");
                assert!(
                    tables.builders().iter().all(|b| b.rows() == 0),
                    "rows of a refused log: {path:?}"
                );
            }
        }
        for builder in tables.builders() {
            // A row of fixed columns takes up to 9 KB (APMPI); inflating gives at most 1032 times the input.
            assert!(
                builder.bytes() <= 64 * 1032 * size.max(1000),
                "{path:?}: {} takes {} bytes",
                builder.table().name,
                builder.bytes()
            );
            builder.finish().unwrap();
        }
    }
    println!(
        "{mutants} mutants: {} whole, {} partial, {} damaged, {} refused",
        outcomes[0], outcomes[1], outcomes[2], outcomes[3]
    );
}

#[test]
fn a_cut_log_is_never_whole_and_keeps_the_records_before_the_cut() {
    let mut log = Log::new();
    let logs = small_logs();
    let plain: Vec<_> = logs
        .iter()
        .map(|(path, log)| (path.clone(), uncompressed(path, log)))
        .collect();
    for (path, bytes) in logs.into_iter().chain(plain) {
        log.read(&Input::from_bytes(&path, bytes.clone()), ModuleSet::ALL)
            .unwrap();
        let (whole, places) = (log.status(), log.header().unwrap().modules);
        let records: Vec<Option<u64>> = log.modules().iter().map(|m| m.records).collect();
        assert_ne!(whole, Status::Damaged, "{path:?}");
        let header = log.header().unwrap().clone();
        let end = places
            .iter()
            .chain([&header.names, &header.job])
            .map(|p| p.offset + p.length)
            .max()
            .unwrap_or(0);
        for cut in [
            bytes.len() - 1,
            bytes.len() - 20,
            bytes.len() * 3 / 4,
            bytes.len() / 2,
        ] {
            // What lies after the last region is not missed, nor what no length tells of: the end of a job region without
            // compression, names and modules.
            let untold = header.compression == Compression::None && header.names.offset == 0;
            if end <= cut as u64 || untold {
                continue;
            }
            let result = log.read(
                &Input::from_bytes(&path, bytes[..cut].to_vec()),
                ModuleSet::ALL,
            );
            if result.is_ok() {
                assert_eq!(log.status(), Status::Damaged, "{path:?} cut at {cut}");
                for (state, whole) in log.modules().iter().zip(&records) {
                    let place = places[usize::from(state.id.0)];
                    if place.offset + place.length <= cut as u64 {
                        assert_eq!(
                            state.records, *whole,
                            "{path:?} cut at {cut}: {}",
                            state.name
                        );
                    }
                }
            }
        }
    }
}
