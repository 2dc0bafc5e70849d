//! Intervals of time: what was open when, and for how long.

pub(super) mod critical_files;
pub(super) mod intervals;
pub(super) mod io_pattern;
pub(super) mod io_time;
