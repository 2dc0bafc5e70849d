//! Numerics on slices, which know nothing of tables.

pub(super) mod intervals;
pub(super) mod random;
#[cfg(feature = "engine")]
pub(super) mod sweep;
