//! Physical optimizer rules, and nodes, that put one node in the place of another that gives the same.

pub(super) mod semi_join;
