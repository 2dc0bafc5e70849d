//! Names to tables: lakes, the tables of a snapshot, system tables, views; files of the user.

pub(super) mod lakes;
pub(super) mod local_files;
pub(super) mod snapshot_tables;
pub(super) mod system_tables;
pub mod views;
