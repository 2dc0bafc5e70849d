//! HEATMAP records: bytes that one process moved through one interface, by interval of time.
//!
//! `id u64, rank i64, bin width f64, bins i64, 16 bytes of no meaning, bytes written i64[bins], bytes read i64[bins]`.
//! The record's name tells the interface, as in `heatmap:POSIX`. Source: FORMAT.md 7.3.

use super::{Walk, float, int, int_of, swap_words};
use crate::table::TableBuilder;

const HEAD: usize = 48;

/// The bytes that one process moved through one interface.
#[derive(Clone, Copy)]
struct HeatmapRecord<'a> {
    /// Record id: that of the name `heatmap:POSIX` and the like.
    id: u64,
    /// The process.
    rank: i64,
    /// Seconds in a bin.
    bin_width: f64,
    written: &'a [u8],
    read: &'a [u8],
}

impl<'a> HeatmapRecord<'a> {
    /// Reads the record at the front of `bytes`, which [`walk`] has found whole.
    fn read(bytes: &'a [u8]) -> Self {
        let bins = bytes.get(HEAD..).unwrap_or_default();
        let (written, read) = bins.split_at(bins.len() / 16 * 8);
        Self {
            id: int(bytes, 0) as u64,
            rank: int(bytes, 8),
            bin_width: float(bytes, 16),
            written,
            read,
        }
    }

    /// Bytes written in each bin.
    fn bytes_written(&self) -> impl ExactSizeIterator<Item = i64> + use<'a> {
        self.written.chunks_exact(8).map(|bin| int(bin, 0))
    }

    /// Bytes read in each bin.
    fn bytes_read(&self) -> impl ExactSizeIterator<Item = i64> + use<'a> {
        self.read.chunks_exact(8).map(|bin| int(bin, 0))
    }
}

/// Finds the records of a region, makes their numbers little-endian if `swap`, and notes where each begins.
pub(in crate::source::darshan) fn walk(
    bytes: &mut [u8],
    swap: bool,
    starts: &mut Vec<usize>,
) -> Walk {
    let mut at = 0;
    while at < bytes.len() {
        let left = bytes.len() - at;
        if left < HEAD {
            return Err((
                at,
                format!("{left} bytes are left where a record takes at least {HEAD}"),
            ));
        }
        let bins = int_of(bytes, at + 24, swap);
        let size = || {
            usize::try_from(bins)
                .ok()?
                .checked_mul(16)?
                .checked_add(HEAD)
                .filter(|size| *size <= left)
        };
        let size = size().ok_or_else(|| {
            (
                at,
                format!("{bins} bins do not fit the {left} bytes that are left"),
            )
        })?;
        if swap {
            swap_words(bytes, at, at + 32);
            swap_words(bytes, at + HEAD, at + size);
        }
        starts.push(at);
        at += size;
    }
    Ok(())
}

/// Appends one record to `darshan_heatmap`: a row for each bin, also those in which nothing was moved.
pub(in crate::source::darshan) fn fill(
    record: &[u8],
    name: Option<&[u8]>,
    log_id: i64,
    job_id: i64,
    builder: &mut TableBuilder,
) {
    let record = HeatmapRecord::read(record);
    let (width, n) = (record.bin_width, record.bytes_written().len());
    let module = name
        .and_then(|name| name.strip_prefix(b"heatmap:"))
        .map(String::from_utf8_lossy);
    builder.column(0).int64().extend_constant(log_id, n);
    builder.column(1).int64().extend_constant(job_id, n);
    builder.column(2).uint64().extend_constant(record.id, n);
    builder.column(3).int64().extend_constant(record.rank, n);
    (0..n).for_each(|_| builder.column(4).utf8().append_option(module.as_deref()));
    builder
        .column(5)
        .int64()
        .extend((0..n).map(|i| i as i64), |_| true);
    builder.column(6).float64().extend_constant(width, n);
    builder
        .column(7)
        .float64()
        .extend((0..n).map(|bin| bin as f64 * width), |_| true);
    builder
        .column(8)
        .int64()
        .extend(record.bytes_read(), |v| v >= 0);
    builder
        .column(9)
        .int64()
        .extend(record.bytes_written(), |v| v >= 0);
}
