//! APMPI records: the MPI communication of each process, by the AutoPerf MPI module.
//!
//! ```text
//! header:  id u64, rank i64, magic i64, sync flag u32, 4 bytes, variance of total time f64, of synchronisation time f64
//! process: id u64, rank i64, u64[396], f64[222], f64[16], f64[2], node name char[128]
//! ```
//!
//! Source: FORMAT.md 7.5. Differs from libdarshan 3.5.0, which reads the header of a process's first log only
//! (FORMAT.md 12.9).

use super::{Walk, float, int, swap_words};
use crate::table::TableBuilder;
use std::ops::Range;

/// Bytes before the records, which belong to all of them.
pub(in crate::source::darshan) const HEADER: usize = 48;
const INTS: usize = 396;
const FLOATS: usize = 222 + 16 + 2;
const NODE: usize = 16 + 8 * (INTS + FLOATS);
const RECORD: usize = NODE + 128;

/// Where a record names its node.
pub(in crate::source::darshan) const NODE_NAME: Range<usize> = NODE..RECORD;

/// Finds the header, unless the first `head` bytes are one that was found before, and the records of a region, makes their numbers
/// little-endian if `swap`, and notes where each record begins.
pub(in crate::source::darshan) fn walk(
    bytes: &mut [u8],
    head: usize,
    swap: bool,
    starts: &mut Vec<usize>,
) -> Walk {
    if bytes.is_empty() {
        return Ok(());
    }
    if bytes.len() < HEADER {
        return Err((
            0,
            format!("{} bytes where the header takes {HEADER}", bytes.len()),
        ));
    }
    if swap && head == 0 {
        swap_words(bytes, 0, 24);
        if let Some(flag) = bytes.get_mut(24..28) {
            flag.reverse();
        }
        swap_words(bytes, 32, HEADER);
    }
    let mut at = HEADER;
    while at < bytes.len() {
        let left = bytes.len() - at;
        if left < RECORD {
            return Err((
                at,
                format!("{left} bytes are left where a record takes {RECORD}"),
            ));
        }
        if swap {
            swap_words(bytes, at, at + NODE);
        }
        starts.push(at);
        at += RECORD;
    }
    Ok(())
}

/// Appends the record that begins at `at` of a region to `darshan_apmpi`.
pub(in crate::source::darshan) fn fill(
    bytes: &[u8],
    at: usize,
    log_id: i64,
    job_id: i64,
    builder: &mut TableBuilder,
) {
    let record = bytes.get(at..).unwrap_or_default();
    let flag = bytes
        .get(24..28)
        .and_then(|b| b.try_into().ok())
        .map(u32::from_le_bytes);
    let known = |v: f64| (v != -1.0).then_some(v);
    builder.column(0).int64().push(log_id);
    builder.column(1).int64().push(job_id);
    builder.column(2).uint64().push(int(record, 0) as u64);
    builder.column(3).int64().push(int(record, 8));
    builder
        .column(4)
        .boolean()
        .append_option(flag.map(|flag| flag != 0));
    builder.column(5).float64().push(known(float(bytes, 32)));
    builder.column(6).float64().push(known(float(bytes, 40)));
    let node = record
        .get(NODE..RECORD)
        .unwrap_or_default()
        .split(|b| *b == 0)
        .next()
        .unwrap_or_default();
    builder
        .column(7)
        .utf8()
        .append_option((!node.is_empty()).then(|| String::from_utf8_lossy(node)));
    for i in 0..INTS {
        builder
            .column(8 + i)
            .int64()
            .push(Some(int(record, 16 + 8 * i)).filter(|v| *v >= 0));
    }
    for i in 0..FLOATS {
        builder
            .column(8 + INTS + i)
            .float64()
            .push(known(float(record, 16 + 8 * (INTS + i))));
    }
}
