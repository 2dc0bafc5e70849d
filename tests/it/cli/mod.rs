//! The commands: what they print where, and how they exit.

pub(crate) mod default_lake;
pub(crate) mod help;
pub(crate) mod lake;
pub(crate) mod output;
pub(crate) mod query;
pub(crate) mod sql;
