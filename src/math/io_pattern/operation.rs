//! What MOSAIC begins with: intervals in which a direction moved bytes.

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

impl Direction {
    /// Both, in the order of every pair.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// What stands before the name of a class.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Read => "read_",
            Self::Write => "write_",
        }
    }
}

/// An interval in which one direction moved bytes, or several that were merged.
///
/// # Source
/// MOSAIC, operations: (start, end, bytes, opens, seeks, rank seconds).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operation {
    /// First access in the direction, seconds since the log's start.
    pub start: f64,
    /// Last access in the direction, seconds since the log's start.
    pub end: f64,
    /// Bytes moved.
    pub bytes: i64,
    /// Opens.
    pub opens: i64,
    /// Seeks.
    pub seeks: i64,
    /// Length times the processes that may have moved the bytes.
    pub rank_seconds: f64,
    /// First access of the record in either direction, which is the order of operations with the same start.
    pub earliest: f64,
}

impl Operation {
    /// Seconds from first to last access.
    pub fn length(&self) -> f64 {
        self.end - self.start
    }

    /// Takes another operation in.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.opens = self.opens.saturating_add(other.opens);
        self.seeks = self.seeks.saturating_add(other.seeks);
        self.rank_seconds += other.rank_seconds;
        self.earliest = self.earliest.min(other.earliest);
    }
}

/// Sorts operations of one direction by start, then by the earliest access of their records; what is equal in both keeps its order.
pub fn sort(operations: &mut [Operation]) {
    operations.sort_by(|a, b| {
        let start = a.start.total_cmp(&b.start);
        start.then(a.earliest.total_cmp(&b.earliest))
    });
}
