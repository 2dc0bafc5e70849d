//! What must not change the classes.

use super::{mosaic_of, names, operation, pattern_of, posix_log, record};
use crate::answer::analysis::mosaic::options::Mode;
use crate::math::io_pattern::operation::Operation;
use crate::math::io_pattern::pattern::Pattern;
use crate::source::darshan::write::DarshanLog;
use proptest::prelude::*;

/// Operations that begin at different times, in units of 1/64 of a second: sums and differences of such times are exact.
fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let one = (0..2_000i64, 1..9i64);
    prop::collection::btree_map(0..64_000i64, one, 1..40).prop_map(|all| {
        let each = all.into_iter().map(|(start, (length, bytes))| {
            let [start, end] = [start, start + length].map(|at| at as f64 / 64.0);
            operation(start, end, bytes * 300_000_000)
        });
        each.collect()
    })
}

fn total(operations: &[Operation]) -> f64 {
    let ends = operations.iter().map(|operation| operation.end);
    ends.fold(1000.0, f64::max)
}

fn counts(pattern: &Pattern) -> Vec<usize> {
    pattern.groups.iter().map(|group| group.segments).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(29), ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_operations_with_distinct_starts_does_not_matter(
        (operations, shuffled) in operations().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    ) {
        let total = total(&operations);
        for mode in [Mode::Reference, Mode::Full] {
            let [a, b] = [&operations, &shuffled].map(|all| pattern_of(all, total, mode));
            prop_assert_eq!(names(&a), names(&b));
            prop_assert_eq!(counts(&a), counts(&b));
        }
    }

    #[test]
    fn shares_sum_to_one(operations in operations()) {
        let total = total(&operations);
        for mode in [Mode::Reference, Mode::Full] {
            let shares = pattern_of(&operations, total, mode).shares.unwrap();
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(shares.iter().all(|share| (-1e-12..=1.0 + 1e-12).contains(share)));
        }
    }

    #[test]
    fn groups_hold_each_segment_once_and_come_by_start(operations in operations()) {
        let total = total(&operations);
        let merged = crate::math::io_pattern::merge::merge(&operations, total);
        let segments = crate::math::io_pattern::segment::segments(&merged);
        for mode in [Mode::Reference, Mode::Full] {
            let found = pattern_of(&operations, total, mode);
            // A burst of a train may hold several segments.
            if mode == Mode::Reference || found.period.is_none() {
                prop_assert_eq!(counts(&found).iter().sum::<usize>(), segments.len());
            }
            prop_assert!(found.groups.windows(2).all(|pair| pair[0].start < pair[1].start));
            let bytes: f64 = found.groups.iter().map(|g| g.bytes * g.segments as f64).sum();
            let all: i64 = operations.iter().map(|operation| operation.bytes).sum();
            prop_assert!((bytes - all as f64).abs() <= 1e-12 * all as f64);
        }
    }

    #[test]
    fn more_bytes_in_proportion_change_no_temporality_of_traces(operations in operations(), factor in 2..1000i64) {
        let total = total(&operations);
        let more: Vec<Operation> = operations
            .iter()
            .map(|operation| Operation { bytes: operation.bytes * factor, ..*operation })
            .collect();
        let [a, b] = [&operations, &more].map(|all| {
            let found = pattern_of(all, total, Mode::Full);
            let classes = found.classes.into_iter().map(|class| class.name());
            classes.filter(|name| !name.starts_with("periodic")).collect::<Vec<_>>()
        });
        prop_assert_eq!(a, b);
    }

    #[test]
    fn a_later_start_of_the_log_changes_metadata_seconds_alone(operations in operations(), seconds in 1..1_000_000i64) {
        let log = log_of_operations(&operations);
        let mut later = log.clone();
        later.job.start.0 += seconds;
        later.job.end.0 += seconds;
        for mode in [Mode::Reference, Mode::Full] {
            let [mut a, mut b] = [&log, &later].map(|log| mosaic_of(log, mode));
            (a.metadata, b.metadata) = (None, None);
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn other_ranks_and_another_order_of_records_change_nothing(
        (operations, order) in operations().prop_flat_map(|all| {
            let places: Vec<usize> = (0..all.len()).collect();
            (Just(all), Just(places).prop_shuffle())
        }),
        rank in 0..4i64,
    ) {
        let log = log_of_operations(&operations);
        let moved: Vec<Operation> = order.iter().map(|at| operations[*at]).collect();
        let mut other = log_of_operations(&moved);
        if let crate::source::darshan::write::Records::Counters(records) = &mut other.modules[0].records {
            records.iter_mut().for_each(|record| record.rank = rank);
        }
        for mode in [Mode::Reference, Mode::Full] {
            let [a, b] = [&log, &other].map(|log| mosaic_of(log, mode));
            prop_assert_eq!(a.metadata, b.metadata);
            let [a, b] = [a.patterns, b.patterns].map(|patterns| {
                patterns.unwrap().map(|pattern| (names(&pattern), counts(&pattern)))
            });
            prop_assert_eq!(a, b);
        }
    }
}

/// A log with a file for each operation, which writes.
fn log_of_operations(operations: &[Operation]) -> DarshanLog {
    // A start of 0 is no time to `full`.
    let later = |at: f64| at + 0.5;
    let records = operations.iter().map(|o| {
        let id = (o.start * 64.0) as u64 + 1;
        record(id, 0, None, Some((later(o.start), later(o.end), o.bytes)))
    });
    let mut log = posix_log(records.collect());
    log.job.end.0 = log.job.start.0 + 1100;
    log
}
