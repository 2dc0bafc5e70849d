//! Sets of OSTs: roaring bitmaps that functions read in place.

pub(super) mod bits;
pub(super) mod fold;
pub(super) mod ost_and;
pub(super) mod ost_bits;
pub(super) mod ost_contains;
pub(super) mod ost_count;
pub(super) mod ost_intersect;
pub(super) mod ost_list;
pub(super) mod ost_or;
pub(super) mod ost_overlap;
pub(super) mod ost_union;
