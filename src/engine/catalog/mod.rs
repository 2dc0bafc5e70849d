//! Names to tables: lakes, the tables of a snapshot, system tables, views.

pub(super) mod lakes;
pub(super) mod snapshot_tables;
pub(super) mod system_tables;
pub mod views;
