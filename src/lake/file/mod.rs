//! Rows to data files, and back.
//!
//! `range_writers` takes rows from builders and hands them to a `writer` for each table. Rows wait in a `row_group_buffer`, `downcast`,
//! until their row group is full, and are written as `encoding` says to a `data_sink`, on the target that `placement` chose;
//! `lustre` sets layouts.
//! `data_reader` reads a file, `adapt_schema` gives its rows the columns of today's table.

pub(super) mod adapt_schema;
pub(super) mod data_reader;
pub(super) mod data_sink;
pub(super) mod descriptors;
pub(super) mod downcast;
pub(super) mod encoding;
pub(super) mod lustre;
pub(super) mod ost_set;
pub(super) mod placement;
pub(super) mod range_writers;
pub(super) mod row_group_buffer;
pub(super) mod target;
pub(super) mod temp;
pub(super) mod writer;
