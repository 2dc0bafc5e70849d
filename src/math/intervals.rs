//! Intervals as pairs of start and end.

/// Length of the union of intervals; 0 of none. Sorts them by start.
pub(crate) fn union_length(intervals: &mut [(f64, f64)]) -> f64 {
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut length, mut covered) = (0.0, f64::NEG_INFINITY);
    for (start, end) in intervals.iter() {
        length += (end - start.max(covered)).max(0.0);
        covered = covered.max(*end);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_intervals_cover_counts_once() {
        assert_eq!(union_length(&mut [(5.0, 6.0), (0.0, 2.0), (1.0, 3.0)]), 4.0);
        assert_eq!(union_length(&mut [(0.0, 9.0), (2.0, 3.0), (1.0, 9.0)]), 9.0);
        assert_eq!(union_length(&mut [(1.0, 1.0)]), 0.0);
        assert_eq!(union_length(&mut []), 0.0);
    }
}
