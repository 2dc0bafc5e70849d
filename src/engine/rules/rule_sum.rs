//! The sums of one rule about counters over the files of a log.

/// The sums of a rule over the files of a log.
///
/// | field | what it is |
/// |---|---|
/// | `sum`, `whole` | of the weights; of what they are a part of |
/// | `least` | the least `least` of files with weight |
/// | `cost`, `touched`, `moved` | of files with weight in which it matters |
/// | `files`, `costly_files` | with weight; those of them in which it matters |
/// | `best`, `record_id` | the greatest weight, and the file that has it; of several that of the least id |
/// | `all`, `slow`, `one` | `time` of these files: in shared records; of the slowest process in those; of the process with most of it in records of its own |
pub(super) const NUMBERS: [&str; 12] = [
    "sum",
    "whole",
    "least",
    "cost",
    "touched",
    "files",
    "best",
    "all",
    "one",
    "moved",
    "slow",
    "costly_files",
];

/// The sums of a rule; NaN where nothing was added.
#[derive(Clone, Copy)]
pub(super) struct OfRule {
    pub(super) numbers: [f64; NUMBERS.len()],
    pub(super) record: u64,
}

pub(super) const SUM: usize = 0;
pub(super) const WHOLE: usize = 1;
const LEAST: usize = 2;
pub(super) const COST: usize = 3;
pub(super) const TOUCHED: usize = 4;
pub(super) const FILES: usize = 5;
const BEST: usize = 6;
pub(super) const ALL: usize = 7;
pub(super) const ONE: usize = 8;
pub(super) const MOVED: usize = 9;
pub(super) const SLOW: usize = 10;
pub(super) const COSTLY: usize = 11;

impl OfRule {
    pub(super) const NONE: Self = Self {
        numbers: [f64::NAN; NUMBERS.len()],
        record: u64::MAX,
    };

    pub(super) fn add(&mut self, of: usize, value: f64) {
        let sum = &mut self.numbers[of];
        *sum = if sum.is_nan() { value } else { *sum + value };
    }

    pub(super) fn lower(&mut self, to: f64) {
        self.numbers[LEAST] = self.numbers[LEAST].min(to);
    }

    /// A file with this weight.
    pub(super) fn see(&mut self, weight: f64, record: u64) {
        let best = self.numbers[BEST];
        if best.is_nan() || weight > best || weight == best && record < self.record {
            (self.numbers[BEST], self.record) = (weight, record);
        }
    }

    /// Has this file stand for the log if none has a weight.
    pub(super) fn without_weight(&mut self, record: u64) {
        if self.numbers[BEST].is_nan() {
            self.record = record;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for of in [SUM, WHOLE, COST, TOUCHED, FILES, ALL, MOVED, SLOW, COSTLY] {
            if !other.numbers[of].is_nan() {
                self.add(of, other.numbers[of]);
            }
        }
        self.lower(other.numbers[LEAST]);
        if !other.numbers[BEST].is_nan() {
            self.see(other.numbers[BEST], other.record);
        }
    }
}
