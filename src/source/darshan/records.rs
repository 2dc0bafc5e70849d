//! The records of a module whose counters lie in fixed places.

use super::layout::{Layout, Slot};
use super::module::{float, int};

/// The records of a module whose counters lie in fixed places.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) layout: &'static Layout,
    pub(super) starts: &'a [usize],
    /// Records from front to back without a gap, when `starts` is empty.
    pub(super) n: usize,
}

impl<'a> Records<'a> {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Record id of a record.
    #[inline]
    pub fn id(&self, record: usize) -> u64 {
        int(self.bytes, self.start(record)) as u64
    }

    /// Process of a record; -1 for all.
    #[inline]
    pub fn rank(&self, record: usize) -> i64 {
        int(self.bytes, self.start(record) + 8)
    }

    /// Record id of the file that a record's object lies in; None where the module's version has none.
    pub fn file_id(&self, record: usize) -> Option<u64> {
        let slot = self.layout.file_record_id?;
        Some(int(self.bytes, self.start(record) + slot) as u64)
    }

    /// An integer counter, by its index in [`super::counters`]; -1 where the module's version lacks it.
    #[inline]
    pub fn int(&self, record: usize, counter: usize) -> i64 {
        let at = self.start(record);
        match self.layout.ints.get(counter) {
            Some(Slot::At(slot)) => int(self.bytes, at + slot),
            Some(Slot::Sum(a, b)) => match (int(self.bytes, at + a), int(self.bytes, at + b)) {
                (a, b) if a < 0 || b < 0 => -1,
                (a, b) => a.saturating_add(b),
            },
            _ => -1,
        }
    }

    /// A floating-point counter, by its index in [`super::counters`]; -1 where the module's version lacks it.
    #[inline]
    pub fn float(&self, record: usize, counter: usize) -> f64 {
        match self.layout.floats.get(counter) {
            Some(Slot::At(slot)) => float(self.bytes, self.start(record) + slot),
            _ => -1.0,
        }
    }

    /// The bytes of a record.
    #[inline]
    pub(super) fn bytes_of(&self, record: usize) -> &'a [u8] {
        self.bytes
            .get(self.start(record)..self.start(record + 1))
            .unwrap_or_default()
    }

    /// Where a record begins; the end for the one after the last.
    #[inline]
    pub(super) fn start(&self, record: usize) -> usize {
        match self.starts {
            [] => record * self.layout.size,
            starts => starts.get(record).copied().unwrap_or(self.bytes.len()),
        }
    }
}
