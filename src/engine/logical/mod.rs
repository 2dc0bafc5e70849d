//! Rewrites of the logical plan.

pub(super) mod anti_join;
pub(super) mod condition_values;
pub(super) mod extremes;
pub(super) mod intersect;
pub(super) mod not_in;
pub(super) mod null_safe_keys;
pub(super) mod semi_join_pushdown;
