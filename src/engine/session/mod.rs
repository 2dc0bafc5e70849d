//! The DataFusion session: its state, options and memory.

mod logical_rules;
pub(super) mod memory_pool;
pub(super) mod names;
pub mod options;
mod physical_rules;
pub(super) mod state;
