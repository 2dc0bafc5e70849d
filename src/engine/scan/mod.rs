//! The data files of a table to partitions of rows.

pub(super) mod job_partitions;
pub(super) mod lake_table;
pub(super) mod local_store;
pub(super) mod projected_metadata;
