//! Physical optimizer rules that make use of rows of one key standing together.
//!
//! Parquet stores columns that repeat as runs, and where a grouping can do with these they are read as they are stored ([`scan`]).
//!
//! A lake is sorted by job and log, samples of LMT by target and time: 3 million files come in 100,000 runs of one log each. No
//! order is asked for or stated, so none can be false: each batch is looked at as it comes, and where its rows are in no runs, they are
//! treated as DataFusion treats them.

mod begun;
mod chunk;
mod function;
mod group;
mod held;
mod hybrid;
mod join;
mod kept;
mod reduce;
mod scan;
mod top;
mod words;

pub(super) use group::RULE as GROUP_RUNS;
pub(super) use join::{JoinRunsExec, RULE as JOIN_RUNS};
pub(super) use top::RULE as TOP_OF_RUNS;
pub(super) use words::runs_of;

/// So many rows tell whether they come in runs.
const SAMPLE: usize = 2048;

/// Rows of a run, in the mean of a batch, from which on runs are worth it.
const RUN: usize = 4;
