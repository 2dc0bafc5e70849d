//! What one direction of a log does: from its operations to its classes.

use super::class::Class;
use super::group::{Group, groups};
use super::merge::merge;
use super::operation::{Operation, sort};
use super::options::{Corrections, MOST_SEGMENTS};
use super::periodicity::{Period, period};
use super::segment::segments;
use super::slices::slices;
use super::status::Status;
use super::temporality;

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
    /// Whether operations are traced or binned, so that they tell when bytes were moved.
    pub is_traced: bool,
    /// Bytes from which on a direction is significant.
    pub min_bytes: i64,
}

/// Whether a direction is too small to be looked at: few bytes, and no more opens or seeks than processes.
///
/// # Source
/// MOSAIC, significance.
pub fn is_insignificant(operations: &[Operation], nprocs: i64, min_bytes: i64) -> bool {
    let sum =
        |value: fn(&Operation) -> i64| operations.iter().map(value).fold(0, i64::saturating_add);
    sum(|o| o.bytes) < min_bytes && sum(|o| o.opens) <= nprocs && sum(|o| o.seeks) <= nprocs
}

/// What a direction does, given its operations in any order; those with the same start and the same earliest access are taken in the order given.
///
/// # Errors
/// [`Status::TooMany`] segments to cluster.
pub fn pattern(
    mut operations: Vec<Operation>,
    run: Run,
    corrections: Corrections,
) -> Result<Pattern, Status> {
    if is_insignificant(&operations, run.nprocs, run.min_bytes) {
        return Ok(Pattern {
            classes: vec![Class::Insignificant],
            ..Pattern::default()
        });
    }
    sort(&mut operations);
    let mut cut = segments(&merge(&operations, run.total));
    if cut.len() > MOST_SEGMENTS {
        if !corrections.sliced {
            return Err(Status::TooMany);
        }
        let sliced = slices(&operations, run.total, MOST_SEGMENTS);
        cut = segments(&merge(&sliced, run.total));
    }
    let groups = groups(&cut, corrections.scale);
    let parts = match corrections.quarters_of_operations && run.is_traced {
        true => temporality::of_operations(&operations, run.total),
        false => temporality::of_groups(&groups, run.total),
    };
    let period = period(&groups, corrections.least_repetitions);
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
