//! Sets of ids.

pub(super) mod set_agg;
pub(super) mod set_union;
pub(super) mod sets;
