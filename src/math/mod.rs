//! Numerics on slices, which know nothing of tables.

pub(super) mod sweep;
