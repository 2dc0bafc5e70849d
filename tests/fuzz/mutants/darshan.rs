//! Real logs with bytes changed or cut: the reader must not panic, not take memory without measure, and never call a cut log
//! whole.

use super::damage::{mutate, small_logs};
use super::variable;
use crate::darshan_logs::real_logs;
use crate::random::Random;
use iolode::source::darshan::Darshan;
use iolode::source::darshan::header::Compression;
use iolode::source::darshan::log::{Log, ModuleSet};
use iolode::source::{BatchSink, Input, ReadContext, Source, Status};
use std::sync::Arc;

crate::tests! {
    [Data] => {
        no_mutant_of_a_real_log_panics_or_takes_memory_without_measure,
        a_cut_log_is_never_whole_and_keeps_the_records_before_the_cut,
    }
}

/// Mutants of a run of the tests; the variables IOLODE_MUTANTS and IOLODE_SEED ask for more, and for others.
const MUTANTS: u64 = 2_000;

fn no_mutant_of_a_real_log_panics_or_takes_memory_without_measure() {
    let [compressed, plain] = small_logs(real_logs());
    let mutants = variable("IOLODE_MUTANTS", MUTANTS);
    let mut random = Random::new(variable("IOLODE_SEED", 1), 0);
    let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
    let mut outcomes = [0usize; 4];
    for mutant in 0..mutants {
        // In turns: compressed bytes exercise header and streams, plain ones the counts in the records.
        let logs = if mutant % 2 == 0 { &compressed } else { &plain };
        let (path, whole) = &logs[random.index(logs.len())];
        let mut bytes = whole.clone();
        mutate(&mut bytes, &mut random);
        let size = bytes.len();
        let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
        match reader.read(&Input::from_bytes(path, bytes), 1, None, &mut tables) {
            Ok(outcome) => {
                outcomes[outcome.status as usize] += 1;
                assert_eq!(
                    outcome.status == Status::Ok,
                    outcome.why.is_none(),
                    "{path:?}: {outcome:?}"
                );
            }
            Err(e) => {
                outcomes[3] += 1;
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

fn a_cut_log_is_never_whole_and_keeps_the_records_before_the_cut() {
    let mut log = Log::new();
    let [logs, plain] = small_logs(real_logs());
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
