//! Neighbouring operations become one where little time lies between them.

use super::operation::Operation;

/// Operations of one direction, with those merged that hardly anything separates.
///
/// # Input
/// `operations`: sorted by [`super::operation::sort`]. `total`: length of the run, seconds.
///
/// # Output
/// At most as many, by start.
///
/// # Method
/// With g the mean pause between neighbours that do not overlap, two neighbours a and b are merged if their distance d is under 0.001 of the run, under 0.75 g, or
/// under 0.01 of what both span, and in any case under 1.5 times the longer of them: points far from each other stay apart. The merged one is compared
/// with the next. One pass.
///
/// # Source
/// MOSAIC, merging; a span of 0 counts as no distance, where the published tool divides by zero.
pub fn merge(operations: &[Operation], total: f64) -> Vec<Operation> {
    let pauses = operations
        .windows(2)
        .filter(|pair| pair[1].start > pair[0].end)
        .map(|pair| pair[1].start - pair[0].end);
    let (sum, n) = pauses.fold((0.0, 0usize), |(sum, n), pause| (sum + pause, n + 1));
    if n == 0 {
        return operations.to_vec();
    }
    let pause = sum / n as f64;
    let mut merged: Vec<Operation> = Vec::with_capacity(operations.len());
    for next in operations {
        match merged.last_mut() {
            Some(last) if are_one(last, next, total, pause) => last.absorb(next),
            _ => merged.push(*next),
        }
    }
    merged
}

fn are_one(a: &Operation, b: &Operation, total: f64, pause: f64) -> bool {
    let (distance, span) = (b.start - a.end, b.end - a.start);
    let share = if span == 0.0 { 0.0 } else { distance / span };
    let is_near = distance < 0.001 * total || distance < 0.75 * pause || share < 0.01;
    is_near && distance < 1.5 * a.length().max(b.length())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(intervals: &[(f64, f64)], total: f64) -> Vec<(f64, f64, i64)> {
        let operation = |(start, end): &(f64, f64)| Operation {
            start: *start,
            end: *end,
            bytes: 1,
            ..Operation::default()
        };
        let operations: Vec<Operation> = intervals.iter().map(operation).collect();
        let merged = merge(&operations, total).into_iter();
        merged.map(|o| (o.start, o.end, o.bytes)).collect()
    }

    #[test]
    fn without_a_pause_nothing_is_merged() {
        let overlapping = [(0.0, 5.0), (1.0, 2.0), (2.0, 9.0)];
        assert_eq!(merged(&overlapping, 9.0).len(), 3);
    }

    #[test]
    fn short_pauses_are_closed_and_points_stay_apart() {
        // Pauses of 1 and 9: their mean is 5, and 1 is under three quarters of it.
        let found = merged(&[(0.0, 10.0), (11.0, 20.0), (29.0, 30.0)], 30.0);
        assert_eq!(found, [(0.0, 20.0, 2), (29.0, 30.0, 1)]);
        // Points have no length, however near they are.
        assert_eq!(
            merged(&[(0.0, 0.0), (1.0, 1.0), (90.0, 90.0)], 1e6).len(),
            3
        );
        // A point at the end of another has no distance and no length: it stays apart as well.
        assert_eq!(merged(&[(0.0, 0.0), (0.0, 0.0), (9.0, 9.0)], 9.0).len(), 3);
    }

    #[test]
    fn what_was_merged_is_compared_with_the_next() {
        // The inner operation ends before the outer one, so that the next follows the outer one's end.
        let found = merged(&[(0.0, 10.0), (2.0, 3.0), (10.5, 12.0), (50.0, 51.0)], 51.0);
        assert_eq!(found, [(0.0, 12.0, 3), (50.0, 51.0, 1)]);
    }
}
