//! The DataFusion session: its state, options and memory.

pub(super) mod memory_pool;
pub(super) mod names;
pub mod options;
pub(super) mod rules;
pub(super) mod state;
