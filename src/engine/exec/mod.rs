//! Physical optimizer rules, and nodes, that put one node in the place of another that gives the same.

pub(super) mod compact_string_views;
pub(super) mod radix_distinct;
pub(super) mod run_aware;
pub(super) mod semi_join;
