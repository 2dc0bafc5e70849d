//! APXC: Cray XC router counters, kept as they lie in the log, one row for the region.
//!
//! Source: FORMAT.md 7.6.

use super::Walk;
use crate::source::darshan::header::ByteOrder;
use crate::table::TableBuilder;

/// Notes the region as one record, if it holds the head of one.
pub(in crate::source::darshan) fn walk(bytes: &[u8], starts: &mut Vec<usize>) -> Walk {
    match bytes.len() {
        0 => Ok(()),
        n if n < 16 => Err((0, format!("{n} bytes where a record takes at least 16"))),
        _ => {
            starts.push(0);
            Ok(())
        }
    }
}

/// Appends the region to `darshan_apxc`.
pub(in crate::source::darshan) fn fill(
    bytes: &[u8],
    order: ByteOrder,
    log_id: i64,
    job_id: i64,
    builder: &mut TableBuilder,
) {
    builder.column(0).int64().push(log_id);
    builder.column(1).int64().push(job_id);
    builder
        .column(2)
        .uint64()
        .push(order.u64(bytes, 0).unwrap_or(0));
    builder
        .column(3)
        .int64()
        .push(order.i64(bytes, 8).unwrap_or(0));
    builder.column(4).binary().append_value(bytes);
}
