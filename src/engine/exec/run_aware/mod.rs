//! Physical optimizer rules that make use of rows of one key standing together.
//!
//! Parquet stores columns that repeat as runs, and where a grouping can do with these they are read as they are stored ([`rle_scan`]).
//!
//! A lake is sorted by job and log, samples of LMT by target and time: 3 million files come in 100,000 runs of one log each. No
//! order is asked for or stated, so none can be false: each batch is looked at as it comes, and where its rows are in no runs, they are
//! treated as DataFusion treats them.

mod column_runs;
mod fixed_keys;
mod function;
mod group;
mod partial_topk;
mod replay;
mod rle_bitpacked;
mod rle_scan;
mod run_states;
mod sample;
mod selection;

pub(in crate::engine) use fixed_keys::runs_of;
pub(in crate::engine) use group::RULE as GROUP_RUNS;
pub(in crate::engine) use partial_topk::RULE as TOP_OF_RUNS;
