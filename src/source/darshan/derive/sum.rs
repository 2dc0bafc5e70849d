//! Sums that are NULL where nothing is known.

/// The sum of what is known; None if nothing is. Negative counters are not known.
pub(super) fn sum(values: impl Iterator<Item = i64>) -> Option<i64> {
    values
        .filter(|v| *v >= 0)
        .fold(None, |sum: Option<i64>, v| {
            Some(sum.unwrap_or(0).saturating_add(v))
        })
}

/// The sum of the times that are known; None if none is. Negative times are not.
pub(super) fn sum_time(values: impl Iterator<Item = f64>) -> Option<f64> {
    values
        .filter(|v| *v >= 0.0)
        .fold(None, |sum: Option<f64>, v| Some(sum.unwrap_or(0.0) + v))
}
