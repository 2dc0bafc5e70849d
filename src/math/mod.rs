//! Numerics on slices, which know nothing of tables.

mod disc_sums;
pub(super) mod evenness;
mod exact_sum;
pub(super) mod intervals;
pub mod io_pattern;
pub(super) mod mean_shift;
pub(super) mod random;
#[cfg(feature = "engine")]
pub(super) mod sweep;
pub(super) mod variation;
