//! DXT records: every access of one process to one file.
//!
//! ```text
//! id u64, rank i64, shared i64, hostname char[64], writes i64, reads i64, write segments, read segments
//! segment: offset i64, length i64, start f64, end f64[, thread u64]
//! ```
//!
//! The thread stands in DXT_POSIX from version 2 and in DXT_MPIIO from version 3; in DXT_MPIIO version 1 offsets mean nothing.
//! Source: FORMAT.md 7.2.

use super::{ModuleId, Walk, float, int, int_of, swap_words};
use crate::table::TableBuilder;
use std::ops::Range;

const HEAD: usize = 104;

/// Where a record names its node.
pub(in crate::source::darshan) const HOSTNAME: Range<usize> = 24..88;

/// The accesses of one process to one file.
#[derive(Clone, Copy)]
pub struct DxtRecord<'a> {
    /// Record id of the file.
    pub id: u64,
    /// The process.
    pub rank: i64,
    /// Node on which it ran.
    pub hostname: &'a [u8],
    writes: &'a [u8],
    reads: &'a [u8],
    form: Form,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// File offset; None where the log does not say.
    pub offset: Option<i64>,
    /// Bytes moved.
    pub length: i64,
    /// Start, seconds since the start of the log.
    pub start: f64,
    /// End, seconds since the start of the log.
    pub end: f64,
    /// Thread; None where the log does not say.
    pub thread: Option<u64>,
}

/// What differs between versions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::source::darshan) struct Form {
    segment: usize,
    offsets: bool,
}

impl Form {
    pub(in crate::source::darshan) fn new(module: ModuleId, version: u32) -> Self {
        let threads_since = if module == ModuleId::DXT_POSIX { 2 } else { 3 };
        Self {
            segment: if version >= threads_since { 40 } else { 32 },
            offsets: module == ModuleId::DXT_POSIX || version >= 2,
        }
    }
}

impl<'a> DxtRecord<'a> {
    /// Reads the record at the front of `bytes`, which [`walk`] has found whole.
    pub(in crate::source::darshan) fn read(bytes: &'a [u8], form: Form) -> Self {
        let host = bytes.get(HOSTNAME).unwrap_or_default();
        let writes = HEAD + form.segment.saturating_mul(int(bytes, 88).max(0) as usize);
        Self {
            id: int(bytes, 0) as u64,
            rank: int(bytes, 8),
            hostname: host.split(|b| *b == 0).next().unwrap_or_default(),
            writes: bytes.get(HEAD..writes).unwrap_or_default(),
            reads: bytes.get(writes..).unwrap_or_default(),
            form,
        }
    }

    /// Its writes, in the order of the log.
    pub fn writes(&self) -> impl ExactSizeIterator<Item = Segment> + use<'a> {
        segments(self.writes, self.form)
    }

    /// Its reads, in the order of the log.
    pub fn reads(&self) -> impl ExactSizeIterator<Item = Segment> + use<'a> {
        segments(self.reads, self.form)
    }
}

fn segments(bytes: &[u8], form: Form) -> impl ExactSizeIterator<Item = Segment> {
    bytes
        .chunks_exact(form.segment)
        .map(move |segment| Segment {
            offset: form
                .offsets
                .then(|| int(segment, 0))
                .filter(|offset| *offset >= 0),
            length: int(segment, 8),
            start: float(segment, 16),
            end: float(segment, 24),
            thread: (form.segment == 40).then(|| int(segment, 32) as u64),
        })
}

/// Finds the records of a region, makes their numbers little-endian if `swap`, and notes where each begins.
pub(in crate::source::darshan) fn walk(
    bytes: &mut [u8],
    form: Form,
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
        let (writes, reads) = (int_of(bytes, at + 88, swap), int_of(bytes, at + 96, swap));
        let size = || -> Option<usize> {
            let segments = usize::try_from(writes)
                .ok()?
                .checked_add(usize::try_from(reads).ok()?)?;
            segments
                .checked_mul(form.segment)?
                .checked_add(HEAD)
                .filter(|size| *size <= left)
        };
        let size = size().ok_or_else(|| {
            (
                at,
                format!(
                    "{writes} writes and {reads} reads do not fit the {left} bytes that are left"
                ),
            )
        })?;
        if swap {
            swap_words(bytes, at, at + 24);
            swap_words(bytes, at + 88, at + size);
        }
        starts.push(at);
        at += size;
    }
    Ok(())
}

/// Sets the threads of a record to 0, if it has any.
pub(in crate::source::darshan) fn clear_threads(record: &mut [u8], module: ModuleId, version: u32) {
    let segment = Form::new(module, version).segment;
    let segments = record.get_mut(HEAD..).unwrap_or_default();
    for thread in segments.chunks_exact_mut(segment) {
        thread.get_mut(32..).unwrap_or_default().fill(0);
    }
}

/// Appends records, sorted by file and process, to `darshan_dxt`.
pub(in crate::source::darshan) fn fill<'a>(
    records: impl Iterator<Item = DxtRecord<'a>>,
    module: &str,
    log_id: i64,
    job_id: i64,
    builder: &mut TableBuilder,
) {
    for record in records {
        let host = String::from_utf8_lossy(record.hostname);
        for (operation, bytes) in [("read", record.reads), ("write", record.writes)] {
            let segments = || segments(bytes, record.form);
            let n = segments().len();
            builder.column(0).int64().extend_constant(log_id, n);
            builder.column(1).int64().extend_constant(job_id, n);
            (0..n).for_each(|_| builder.column(2).utf8().append_value(module));
            builder.column(3).uint64().extend_constant(record.id, n);
            builder.column(4).int64().extend_constant(record.rank, n);
            (0..n).for_each(|_| builder.column(5).utf8().append_value(operation));
            builder
                .column(6)
                .int64()
                .extend((0..n).map(|i| i as i64), |_| true);
            (0..n).for_each(|_| builder.column(7).utf8().append_value(&host));
            builder
                .column(8)
                .int64()
                .extend(segments().map(|s| s.offset.unwrap_or(-1)), |v| v >= 0);
            builder
                .column(9)
                .int64()
                .extend(segments().map(|s| s.length), |v| v >= 0);
            builder
                .column(10)
                .float64()
                .extend(segments().map(|s| s.start), |_| true);
            builder
                .column(11)
                .float64()
                .extend(segments().map(|s| s.end), |_| true);
            segments().for_each(|s| builder.column(12).uint64().push(s.thread));
        }
    }
}
