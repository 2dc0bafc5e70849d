//! Each log is examined by brute force, from the counters alone: what is planted is there, and nothing else.

use super::*;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{mpiio, posix, stdio};
use crate::source::darshan::write::{DarshanLog, Record, Records};
use crate::synth::darshan;
use crate::synth::month::{Kind, Month};
use crate::synth::scenario::cause::{EFFECTS, Habit, PLANTS};
use crate::synth::scenario::plan::deal;
use crate::synth::tests::examined::{Interval, examine, exclusive, files};
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: [u64; 3] = [1, 2, 3];

/// Jobs in which each plant of each size is twice.
const JOBS: u64 = 4 * 49;

/// Every job of a month: what it is, and its only log.
fn month(kind: Kind, jobs: u64, seed: u64) -> impl Iterator<Item = (Case, DarshanLog)> {
    let plan = Plan::new(Month::of(kind, jobs, seed));
    (0..jobs).map(move |index| {
        let job = job(&plan, index);
        let Some(Scenario::Case(case)) = job.scenario else {
            panic!("{index} is no case");
        };
        let mut logs = darshan::logs(&plan, &job);
        assert_eq!(logs.len(), 1);
        (case, logs.swap_remove(0).0.log)
    })
}

/// The name of a cause in truth.json.
fn name(cause: Cause) -> String {
    serde_json::to_value(cause)
        .unwrap()
        .as_str()
        .unwrap()
        .to_string()
}

/// The names of what is found with one interval.
fn names(log: &DarshanLog, direction: Direction, interval: Interval) -> Vec<&'static str> {
    let found = examine(log, direction == Direction::Read, interval);
    found.into_keys().collect()
}

#[test]
fn a_large_effect_shows_its_causes_and_no_others_with_either_interval() {
    for seed in SEEDS {
        for (case, log) in month(Kind::Causes, JOBS, seed) {
            let Planted::Causes(causes, effect) = case.planted else {
                continue;
            };
            let mut expected: Vec<String> = causes.iter().map(|cause| name(*cause)).collect();
            expected.sort_unstable();
            for interval in [Interval::Window, Interval::Busy] {
                let found = examine(&log, case.direction == Direction::Read, interval);
                let names: Vec<_> = found.keys().copied().collect();
                let what = format!("{seed} {:?} {interval:?}: {found:?}", case.planted);
                if effect == 5.0 {
                    assert_eq!(names, expected, "{what}");
                    let planned = odds(causes, effect) / (1.0 + odds(causes, effect));
                    for share in found.values() {
                        assert!((share / planned - 1.0).abs() < 0.03, "{what}");
                        let one_file = causes.contains(&Cause::OneFile);
                        assert!(!one_file || (0.94..0.965).contains(share), "{what}");
                    }
                } else {
                    // A smaller one may show, but nothing else does.
                    assert!(
                        names
                            .iter()
                            .all(|name| expected.iter().any(|other| other == name)),
                        "{what}"
                    );
                    // One file that has four fifths of the time is none, but lying on one OST it is one OST.
                    let large = effect > 1.5 || causes == [Cause::OneFile, Cause::OneOst];
                    assert!(large || names.is_empty(), "{what}");
                }
            }
            let other = case.direction.other();
            assert!(names(&log, other, Interval::Window).is_empty());
        }
    }
}

#[test]
fn the_planted_share_is_that_of_truth() {
    for (case, log) in month(Kind::Causes, JOBS, 4) {
        let Planted::Causes(causes, 5.0) = case.planted else {
            continue;
        };
        let found = examine(&log, case.direction == Direction::Read, Interval::Window);
        for cause in causes {
            let (share, planned) = (found[&*name(*cause)], case.share.unwrap());
            assert!(
                (share - planned).abs() < 0.001,
                "{cause:?}: {share}, not {planned}"
            );
        }
    }
}

/// Records of a module of the files in which a habit is planted.
fn members(log: &DarshanLog, id: ModuleId) -> Vec<&Record> {
    let is_member = |record: &&Record| {
        let mut names = log.names.iter();
        names.any(|(name, path)| {
            *name == record.id && String::from_utf8_lossy(path).contains("/member/")
        })
    };
    let modules = log.modules.iter().filter(|module| module.id == id);
    let records = modules.filter_map(|module| match &module.records {
        Records::Counters(records) => Some(records),
        _ => None,
    });
    records.flatten().filter(is_member).collect()
}

#[test]
fn habits_have_their_share_of_the_time_and_the_counters_that_tell_them() {
    let mut seen = BTreeMap::new();
    for (case, log) in month(Kind::Causes, JOBS, 6) {
        let Planted::Habit(habit, effect) = case.planted else {
            continue;
        };
        let records = members(&log, ModuleId::POSIX);
        let count = |of: usize| records.iter().map(|record| record.ints[of]).sum::<i64>();
        let time = |of: usize| records.iter().map(|record| record.floats[of]).sum::<f64>();
        let (requests, bytes) = (
            count(posix::READS) + count(posix::WRITES),
            count(posix::BYTES_READ) + count(posix::BYTES_WRITTEN),
        );
        let what = format!("{habit:?} {effect}");
        match habit {
            Habit::Sieving => {
                let asked = members(&log, ModuleId::MPIIO);
                let asked = |of: usize| asked.iter().map(|record| record.ints[of]).sum::<i64>();
                assert_eq!(asked(mpiio::BYTES_READ), 0, "{what}");
                assert_eq!(
                    asked(mpiio::BYTES_WRITTEN),
                    count(posix::BYTES_READ),
                    "{what}"
                );
                assert!(count(posix::BYTES_READ) > 100_000_000, "{what}");
            }
            Habit::Misaligned => {
                assert!(count(posix::FILE_NOT_ALIGNED) > requests / 2, "{what}");
                assert!(bytes / requests > 1 << 20, "{what}");
            }
            Habit::MetadataStorm => {
                let moved = time(posix::F_READ_TIME) + time(posix::F_WRITE_TIME);
                assert!(time(posix::F_META_TIME) > 20.0 * moved, "{what}");
            }
            Habit::EmptyReads => assert!(bytes == 0 && requests > 1000, "{what}"),
            Habit::StdioBulk => {
                let records = members(&log, ModuleId::STDIO);
                let moved = |record: &&Record| {
                    record.ints[stdio::BYTES_READ] + record.ints[stdio::BYTES_WRITTEN]
                };
                assert!(
                    records.iter().map(moved).sum::<i64>() > 100_000_000,
                    "{what}"
                );
            }
        }
        *seen.entry(what).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 15, "{seen:?}");
}

#[test]
fn nothing_is_found_in_decoys_and_healthy_jobs() {
    let months = SEEDS.iter().flat_map(|seed| {
        let clean = month(Kind::Clean, 60, *seed);
        month(Kind::Causes, JOBS, *seed).chain(clean)
    });
    let mut seen = BTreeMap::new();
    for (case, log) in months {
        let held = case.planted == Planted::Decoy(Decoy::HalfIdle);
        if let Planted::Causes(..) | Planted::Habit(..) = case.planted {
            continue;
        }
        for direction in [Direction::Read, Direction::Write] {
            let [window, busy] =
                [Interval::Window, Interval::Busy].map(|i| names(&log, direction, i));
            assert!(busy.is_empty(), "{case:?}: {busy:?}");
            match held && direction == Direction::Write {
                // By the window alone one file has it all.
                true => assert_eq!(window, ["one_file"]),
                false => assert!(window.is_empty(), "{case:?}: {window:?}"),
            }
        }
        let name = case.truth()["decoy"].to_string();
        *seen.entry(name).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 8, "{seen:?}");
}

#[test]
fn times_sizes_and_speeds_are_those_of_slow_jobs() {
    let mut sizes = BTreeSet::new();
    for (case, log) in month(Kind::Causes, 2 * JOBS, 5) {
        if let Planted::Habit(..) = case.planted {
            continue;
        }
        let files = files(&log, case.direction == Direction::Read);
        let windows: Vec<_> = files.iter().map(|file| file.window).collect();
        let critical: f64 = exclusive(&windows).iter().sum();
        assert!((20.0..2000.0).contains(&critical), "{case:?}: {critical} s");
        if case.planted == Planted::Decoy(Decoy::AlwaysOneOst) {
            assert!(log.job.nprocs <= 8);
            continue;
        }
        assert!((256..=8192).contains(&log.job.nprocs));
        sizes.insert((log.job.nprocs, files.len()));
        for file in &files {
            let ((start, end), (_, busy)) = (file.window, file.interval(Interval::Busy));
            let idle =
                case.planted == Planted::Decoy(Decoy::HalfIdle) && end - start > 0.9 * critical;
            let deck = file.bytes == 4000.0;
            assert!(
                idle || deck || (busy - start) / (end - start) > 0.9,
                "{case:?}: {file:?}"
            );
        }
    }
    assert!(sizes.len() > 60, "{} sizes", sizes.len());
}

#[test]
fn plants_are_dealt_out_evenly() {
    let dealt = deal(&Month::of(Kind::Causes, 10 * 49 * 2 + 7, 6));
    let count = |planted: Planted| dealt.iter().filter(|other| **other == planted).count();
    assert_eq!(count(Planted::Nothing), 494);
    for causes in PLANTS {
        for effect in EFFECTS {
            assert!([10, 11].contains(&count(Planted::Causes(causes, effect))));
        }
    }
    assert!(
        Decoy::ALL
            .iter()
            .all(|decoy| [10, 11].contains(&count(Planted::Decoy(*decoy))))
    );
    assert_ne!(dealt, deal(&Month::of(Kind::Causes, 10 * 49 * 2 + 7, 7)));
    let clean = deal(&Month::of(Kind::Clean, 50, 6));
    assert!(clean.iter().all(|planted| *planted == Planted::Nothing));
}
