//! Real logs, and mutants of them, give the same rows whether their records fit into memory or are spilled: by limits that only the crate
//! can set.

use super::bounded::{MIB, assert_same, read, reader, tiny};
use crate::math::random::Random;
use crate::source::darshan::Darshan;
use crate::source::darshan::header::{ByteOrder, Compression};
use crate::source::darshan::log::Log;
use crate::source::tests::shared_data;
use crate::source::{BatchSink, Input, Reader, Source};
use std::path::PathBuf;

#[path = "../../../../tests/fuzz/mutants/damage.rs"]
mod damage;

/// Every real log, by path.
fn real_logs() -> Vec<(PathBuf, Vec<u8>)> {
    let mut logs: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(shared_data("darshan"))
        .unwrap()
        .flatten()
        .map(|e| (e.path(), std::fs::read(e.path()).unwrap()))
        .collect();
    logs.sort();
    logs
}

#[test]
#[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
fn real_logs_give_the_same_rows_whether_their_records_are_spilled_or_not() {
    for (path, bytes) in real_logs() {
        let input = Input::from_bytes(&path, bytes);
        let (outcome, whole) = read(&input, None);
        for piece in [4000, 4 * MIB] {
            // Small pieces of a large log are more runs than there may be.
            if input.len() > 100_000 && piece < MIB {
                continue;
            }
            let what = format!("{} by {piece}", path.display());
            let (found, batches) = read(&input, Some(tiny(piece)));
            assert_eq!(found, outcome, "{what}");
            assert_same(&batches, &whole, &what);
        }
    }
}

/// Mutants of the small real logs, as tests/fuzz/mutants/darshan.rs makes them.
#[test]
#[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
fn mutants_give_as_many_rows_whether_their_records_are_spilled_or_not() {
    let [compressed, plain] = damage::small_logs(real_logs());
    let variable = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let mut random = Random::new(variable("IOLODE_SEED").unwrap_or(1), 0);
    let [mut whole, mut spilling] = [None, Some(tiny(4096))].map(reader);
    for mutant in 0..variable("IOLODE_MUTANTS").unwrap_or(2_000) {
        let logs = if mutant % 2 == 0 { &compressed } else { &plain };
        let (path, log) = &logs[random.index(logs.len())];
        let mut bytes = log.clone();
        damage::mutate(&mut bytes, &mut random);
        let input = Input::from_bytes(path, bytes);
        let [mut tables, mut spilled_tables] =
            [(); 2].map(|()| BatchSink::new(Darshan.tables().iter().copied()).unwrap());
        let by_pieces = spilling.read(&input, 1, None, &mut spilled_tables);
        match whole.read(&input, 1, None, &mut tables) {
            Ok(outcome) => {
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
            }
            Err(e) => assert!(by_pieces.is_err(), "{path:?}: {e}"),
        }
    }
}
