//! How many rows tell whether rows come in runs.

/// So many rows tell whether they come in runs.
pub(super) const SAMPLE: usize = 2048;

/// Rows of a run, in the mean of a batch, from which on runs are worth it.
pub(super) const RUN: usize = 4;
