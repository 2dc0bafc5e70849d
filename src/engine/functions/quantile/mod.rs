//! Quantiles, exact and approximate.

pub(super) mod approx_percentiles;
pub(super) mod digest;
pub(super) mod exact;
pub(super) mod percentiles;
pub(super) mod quantiles;
