//! Rewrites of the logical plan.

pub(super) mod anti_join;
pub(super) mod bottom_up;
pub(in crate::engine) mod canonical_floats;
pub(in crate::engine) mod checked_arithmetic;
pub(in crate::engine) mod compared;
pub(super) mod condition_values;
pub(super) mod correlated_first;
pub(super) mod extremes;
pub(super) mod filter_equality;
pub(super) mod grouping_keys;
pub(super) mod intersect;
pub(super) mod kept_names;
pub(super) mod keys_as_columns;
pub(super) mod local_times;
pub(super) mod not_in;
pub(super) mod null_safe_keys;
pub(super) mod semi_join_pushdown;
mod set_comparison;
pub(in crate::engine) mod time_texts;
pub(in crate::engine) mod unsigned_division;
pub(in crate::engine) mod utc_times;
pub(in crate::engine) mod window_cost;
