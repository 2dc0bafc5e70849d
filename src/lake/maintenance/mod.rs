//! What keeps a lake in order: new versions that bring no logs, and files that no version needs.

pub(super) mod check;
pub(super) mod compact;
pub(super) mod compact_inputs;
pub(super) mod copy;
pub(super) mod forget;
pub(super) mod function;
pub(super) mod rebalance;
pub(super) mod referenced;
pub(super) mod restore;
pub(super) mod retention;
pub(super) mod settings;
pub(super) mod vacuum;
