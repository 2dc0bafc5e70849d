//! What the published tool's functions gave for operations that were put to them: writes of four processes, without opens.

use super::{names, operation, pattern_of};
use crate::answer::analysis::mosaic::options::Mode;
use crate::math::io_pattern::operation::Operation;

const GB: i64 = 1_000_000_000;

/// `n` operations of that length and size, one each `period` seconds.
fn every(period: f64, length: f64, n: usize, bytes: i64) -> Vec<Operation> {
    let starts = (0..n).map(|i| period * i as f64);
    starts
        .map(|start| operation(start, start + length, bytes))
        .collect()
}

/// Segments, start, end, period, work, bytes of a group.
type Group = (usize, f64, f64, f64, f64, f64);

fn check(operations: &[Operation], total: f64, classes: &[&str], groups: &[Group]) {
    let found = pattern_of(operations, total, Mode::Reference);
    assert_eq!(names(&found), classes, "{operations:?}");
    let of_group = found.groups.iter();
    let of_group: Vec<Group> = of_group
        .map(|g| (g.segments, g.start, g.end, g.period, g.work, g.bytes))
        .collect();
    assert_eq!(of_group.len(), groups.len(), "{of_group:?}");
    for (found, expected) in of_group.iter().zip(groups) {
        let numbers = |g: &Group| [g.1, g.2, g.3, g.4, g.5];
        let same = numbers(found).into_iter().zip(numbers(expected));
        let same = same.fold(true, |same, (a, b)| same && (a - b).abs() <= 1e-9 * b.abs());
        assert!(found.0 == expected.0 && same, "{found:?} for {expected:?}");
    }
}

/// One operation, which is one group.
fn check_one(start: f64, end: f64, classes: &[&str]) {
    let length = end - start;
    let group = (1, start, end, length, length, 1e9);
    check(&[operation(start, end, GB)], 100.0, classes, &[group]);
}

#[test]
fn one_operation_lies_in_a_part_of_the_run() {
    check_one(0.0, 10.0, &["on_start"]);
    check_one(90.0, 100.0, &["on_end"]);
    check_one(0.0, 100.0, &["steady"]);
    check_one(30.0, 70.0, &["after_start_before_end"]);
    check_one(0.0, 75.0, &["before_end"]);
    check_one(25.0, 100.0, &["after_start"]);
    check_one(0.0, 25.0, &["on_start"]);
    check_one(0.0, 50.0, &["unclear_pattern"]);
}

#[test]
fn two_operations_are_a_period_of_the_published_tool_only() {
    let halves = [operation(0.0, 10.0, GB / 2), operation(90.0, 100.0, GB / 2)];
    let classes = [
        "on_start_and_on_end",
        "periodic",
        "periodic_min",
        "periodic_low_busy_time",
    ];
    check(
        &halves,
        100.0,
        &classes,
        &[(2, 0.0, 180.0, 90.0, 10.0, 5e8)],
    );
    let full = pattern_of(&halves, 100.0, Mode::Full);
    assert_eq!(names(&full), ["on_start_and_on_end"]);

    let pair = every(50.0, 1.0, 2, GB);
    let classes = [
        "unclear_pattern",
        "periodic",
        "periodic_min",
        "periodic_low_busy_time",
    ];
    check(&pair, 100.0, &classes, &[(2, 0.0, 100.0, 50.0, 1.0, 1e9)]);
    let full = pattern_of(&pair, 100.0, Mode::Full);
    assert_eq!((names(&full), full.period), (vec!["unclear_pattern"], None));
}

#[test]
fn repetitions_have_a_period_and_a_part_of_it_that_is_work() {
    let three: Vec<Operation> = [10.0, 40.0, 70.0]
        .map(|start| operation(start, start + 1.0, GB))
        .to_vec();
    let low = |first, length| vec![first, "periodic", length, "periodic_low_busy_time"];
    // 30 seconds count as seconds.
    let classes = low("before_end", "periodic_s");
    check(&three, 100.0, &classes, &[(3, 10.0, 100.0, 30.0, 1.0, 1e9)]);
    let classes = low("steady", "periodic_s");
    let ten = every(10.0, 1.0, 10, GB);
    check(&ten, 100.0, &classes, &[(10, 0.0, 100.0, 10.0, 1.0, 1e9)]);
    // Nothing merges: pauses of 2 with a mean of 2, and 2 of 18 seconds.
    let long = every(10.0, 8.0, 10, GB);
    let classes = [
        "steady",
        "periodic",
        "periodic_s",
        "periodic_high_busy_time",
    ];
    check(&long, 100.0, &classes, &[(10, 0.0, 100.0, 10.0, 8.0, 1e9)]);
    let minutes = every(60.0, 2.0, 10, GB);
    let classes = low("steady", "periodic_min");
    check(
        &minutes,
        600.0,
        &classes,
        &[(10, 0.0, 600.0, 60.0, 2.0, 1e9)],
    );
    // Neither low nor high: half of the period is work.
    let hundred = every(1.0, 0.5, 100, 20_000_000);
    let classes = ["steady", "periodic", "periodic_s"];
    check(
        &hundred,
        100.0,
        &classes,
        &[(100, 0.0, 100.0, 1.0, 0.5, 2e7)],
    );
}

#[test]
fn repetitions_of_two_sizes_are_two_groups() {
    let mut mixed = every(60.0, 2.0, 12, GB);
    mixed.iter_mut().step_by(3).for_each(|o| o.bytes = 4 * GB);
    let classes = [
        "steady",
        "periodic",
        "periodic_min",
        "periodic_low_busy_time",
    ];
    let groups = [
        (4, 0.0, 600.0, 180.0, 2.0, 4e9),
        (8, 60.0, 720.0, 600.0 / 7.0, 2.0, 1e9),
    ];
    check(&mixed, 720.0, &classes, &groups);
}

#[test]
fn three_repetitions_beside_two_single_segments_are_no_period() {
    let mut operations = every(10.0, 1.0, 4, GB);
    operations.push(operation(80.0, 81.0, 9 * GB));
    let groups = [
        (3, 0.0, 30.0, 10.0, 1.0, 1e9),
        (1, 30.0, 31.0, 1.0, 1.0, 1e9),
        (1, 80.0, 81.0, 1.0, 1.0, 9e9),
    ];
    check(&operations, 100.0, &["on_end"], &groups);
}

#[test]
fn a_hundred_million_bytes_are_significant() {
    check(
        &[operation(0.0, 10.0, 99_999_999)],
        100.0,
        &["insignificant"],
        &[],
    );
    let group = (1, 0.0, 10.0, 10.0, 10.0, 1e8);
    check(
        &[operation(0.0, 10.0, 100_000_000)],
        100.0,
        &["on_start"],
        &[group],
    );
    // Few bytes with more opens, or more seeks, than processes are significant too.
    for (opens, seeks, is_significant) in [(4, 4, false), (5, 0, true), (0, 5, true)] {
        let chatty = Operation {
            opens,
            seeks,
            ..operation(0.0, 10.0, 10)
        };
        let found = pattern_of(&[chatty], 100.0, Mode::Reference);
        assert_eq!(!found.groups.is_empty(), is_significant);
    }
}

#[test]
fn shares_are_those_of_the_bytes() {
    let shares = |operations: &[Operation]| {
        let found = pattern_of(operations, 100.0, Mode::Reference);
        found
            .shares
            .unwrap()
            .map(|share| (share * 1e9).round() / 1e9)
    };
    assert_eq!(shares(&[operation(0.0, 50.0, GB)]), [0.5, 0.5, 0.0]);
    assert_eq!(shares(&every(10.0, 1.0, 10, GB)), [0.3, 0.5, 0.2]);
}

#[test]
fn lengths_of_zero_divide_nothing() {
    // A burst without length lies whole in the quarter of its start; the limits are 25 and 75 of 100 seconds.
    for (at, class) in [
        (24.9, "on_start"),
        (25.0, "after_start_before_end"),
        (75.0, "on_end"),
    ] {
        check(
            &[operation(at, at, GB)],
            100.0,
            &[class],
            &[(1, at, at, 0.0, 0.0, 1e9)],
        );
    }
    check(
        &[operation(0.0, 0.0, GB)],
        0.0,
        &["unclear_pattern"],
        &[(1, 0.0, 0.0, 0.0, 0.0, 1e9)],
    );
    for mode in [Mode::Reference, Mode::Full] {
        let points: Vec<Operation> = (0..9)
            .map(|at| operation(f64::from(at), f64::from(at), GB))
            .collect();
        let found = pattern_of(&points, 9.0, mode);
        assert_eq!(found.groups.len(), 1);
        assert_eq!(found.period.unwrap().busy, 0.0);
    }
}
