//! Exact quantiles of values in memory, interpolated as DuckDB's quantile_cont.

use crate::engine::logical::canonical_floats;
use datafusion::arrow::array::Float64Builder;

/// A NaN of either sign is the greatest value.
pub(in crate::engine::functions) fn order(a: &f64, b: &f64) -> std::cmp::Ordering {
    a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b))
}

/// The value a fraction of the way from `low` to `high`.
pub(in crate::engine::functions) fn between(low: f64, high: f64, fraction: f64) -> f64 {
    if fraction <= 0.0 || low == high {
        return low;
    }
    let span = high - low;
    let value = if span.is_finite() {
        low + span * fraction
    } else {
        low * (1.0 - fraction) + high * fraction
    };
    canonical_floats::float(if value > high { high } else { value })
}

/// Appends the quantiles at these places of values in any order, of which there is at least one.
pub(in crate::engine) fn quantiles_at(values: &mut [f64], at: &[f64], into: &mut Float64Builder) {
    // What is right of a place that was found stays right of it, so the next one is looked for there alone.
    let mut rising: Vec<usize> = (0..at.len()).collect();
    rising.sort_by(|a, b| at[*a].total_cmp(&at[*b]));
    let (mut found, mut first) = (vec![0.0; at.len()], 0);
    for i in rising {
        let place = (values.len() - 1) as f64 * at[i];
        let below = (place as usize).min(values.len() - 1);
        let (_, low, above) = values[first..].select_nth_unstable_by(below - first, order);
        let next = above.iter().copied().min_by(order);
        found[i] = between(*low, next.unwrap_or(*low), place - below as f64);
        first = below;
    }
    into.append_slice(&found);
}
