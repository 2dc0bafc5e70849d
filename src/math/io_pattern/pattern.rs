//! What one direction of a log does: from its operations to its classes.

use super::class::Class;
use super::corrections::{Corrections, MOST_SEGMENTS};
use super::group::{Group, group, groups};
use super::merge::merge;
use super::operation::{Operation, sort};
use super::periodicity::{Period, period};
use super::segment::{Segment, segments};
use super::slices::slices;
use super::temporality;
use super::train::train;

/// What one direction of a log does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// Its classes, in the order in which they are given.
    pub classes: Vec<Class>,
    /// Groups of segments that are alike, by start; none if the direction is insignificant.
    pub groups: Vec<Group>,
    /// Shares of the bytes in the first quarter, the middle half and the last quarter of the run; None if the direction is insignificant.
    pub shares: Option<[f64; 3]>,
    /// How it repeats itself; None if it does not.
    pub period: Option<Period>,
    /// How sure the classes are, from 0 to 1; None for a direction without bytes.
    pub confidence: Option<f64>,
}

/// What a direction's operations are looked at beside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Length of the run, seconds.
    pub total: f64,
    /// Processes.
    pub nprocs: i64,
    /// Opens and seeks of the direction.
    pub opens_and_seeks: (i64, i64),
    /// Length of an interval, seconds, where operations are bytes by interval of time.
    pub bin: Option<f64>,
    /// Bytes from which on a direction is significant.
    pub min_bytes: i64,
}

/// Times are taken to be known to this part of the run.
const EXACT: f64 = 1e-9;

/// More segments than can be clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Whether a direction is too small to be looked at: few bytes, and no more opens or seeks than processes.
///
/// # Source
/// MOSAIC, significance.
pub fn is_insignificant(operations: &[Operation], run: &Run) -> bool {
    let bytes = operations.iter().map(|operation| operation.bytes);
    let bytes = bytes.fold(0, i64::saturating_add);
    let (opens, seeks) = run.opens_and_seeks;
    bytes < run.min_bytes && opens <= run.nprocs && seeks <= run.nprocs
}

/// What a direction does, given its operations in any order; those with the same start and the same earliest access are taken in the order given.
///
/// # Errors
/// [`TooMany`] segments to cluster.
pub fn pattern(
    mut operations: Vec<Operation>,
    run: Run,
    corrections: Corrections,
) -> Result<Pattern, TooMany> {
    if is_insignificant(&operations, &run) {
        return Ok(Pattern {
            classes: vec![Class::Insignificant],
            ..Pattern::default()
        });
    }
    sort(&mut operations);
    if corrections.trains {
        touch(&mut operations, run.total);
    }
    let train = match corrections.trains {
        true => train(&operations, run.total, run.bin),
        false => None,
    };
    let others = train.as_ref().map_or(&operations, |train| &train.others);
    let mut groups = groups(&cut(others, run.total, corrections)?, corrections.scale);
    let repeated = train.as_ref().map(|train| &train.segments[..]);
    groups.extend(repeated.and_then(group));
    groups.sort_by(|a, b| a.start.total_cmp(&b.start));
    let parts = match corrections.quarters_of_operations {
        true => temporality::of_operations(&operations, run.total),
        false => temporality::of_groups(&groups, run.total),
    };
    let period = match corrections.trains {
        true => repeated.and_then(Period::of_train),
        false => period(&groups),
    };
    let mut classes = temporality::classes(&parts, run.total);
    classes.extend(period.iter().flat_map(Period::classes));
    Ok(Pattern {
        classes,
        groups,
        shares: parts.shares(),
        period,
        confidence: None,
    })
}

/// Operations that are parted, or overlap, by less than a billionth of the run touch: ends that were computed from a start and a width are that inexact.
fn touch(operations: &mut [Operation], total: f64) {
    for at in 1..operations.len() {
        let next = operations[at].start;
        let before = &mut operations[at - 1];
        if (next - before.end).abs() <= EXACT * total {
            before.end = next;
        }
    }
}

/// The segments of operations; in slices where there are too many.
fn cut(
    operations: &[Operation],
    total: f64,
    corrections: Corrections,
) -> Result<Vec<Segment>, TooMany> {
    let all = segments(&merge(operations, total));
    match (all.len() > MOST_SEGMENTS, corrections.sliced) {
        (false, _) => Ok(all),
        (true, false) => Err(TooMany),
        (true, true) => {
            let sliced = slices(operations, total, MOST_SEGMENTS);
            Ok(segments(&merge(&sliced, total)))
        }
    }
}
