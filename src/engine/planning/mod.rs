//! Physical optimizer rules that need the whole plan: partitions, orders, build sides.

pub(super) mod aggregate_build_side;
pub(super) mod broadcast_joins;
pub(super) mod constant_keys;
pub(super) mod copartitioned_join;
pub(in crate::engine) mod drop_join_ordering;
pub(in crate::engine) mod group_limits;
pub(in crate::engine) mod preceding_frames;
mod push_projection;
pub(super) mod scan_filter;
pub(super) mod single_partition;
pub(in crate::engine) mod sort_fetch;
