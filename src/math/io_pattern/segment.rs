//! A direction's time cut into segments: each begins with work and lasts until the next begins.

use super::operation::Operation;

/// Work, and the pause after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Start of its work, seconds since the log's start.
    pub start: f64,
    /// Start of the next segment; of the last one as much after its start as the one before lasts.
    pub end: f64,
    /// End of its work.
    pub work_end: f64,
    /// Bytes moved.
    pub bytes: i64,
    /// Twice the opens, for each file is closed too, and the seeks.
    pub metadata: i64,
    /// Rank seconds of its work.
    pub rank_seconds: f64,
}

impl Segment {
    /// Seconds until the next segment.
    pub fn length(&self) -> f64 {
        self.end - self.start
    }

    /// Seconds of work.
    pub fn work(&self) -> f64 {
        self.work_end - self.start
    }
}

/// The segments of merged operations, by start. Operations that overlap or touch are one segment's work.
///
/// # Source
/// MOSAIC, segments.
pub fn segments(merged: &[Operation]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::with_capacity(merged.len());
    for operation in merged {
        let metadata = operation
            .opens
            .saturating_mul(2)
            .saturating_add(operation.seeks);
        match segments.last_mut() {
            Some(last) if operation.start <= last.work_end => {
                last.work_end = last.work_end.max(operation.end);
                last.end = last.work_end;
                last.bytes = last.bytes.saturating_add(operation.bytes);
                last.metadata = last.metadata.saturating_add(metadata);
                last.rank_seconds += operation.rank_seconds;
            }
            _ => segments.push(Segment {
                start: operation.start,
                end: operation.end,
                work_end: operation.end,
                bytes: operation.bytes,
                metadata,
                rank_seconds: operation.rank_seconds,
            }),
        }
    }
    for at in 1..segments.len() {
        segments[at - 1].end = segments[at].start;
    }
    if let [.., before, last] = &mut segments[..] {
        last.end = last.start + before.length();
    }
    segments
}
