//! When a direction does its I/O: in which quarters of the run.

use super::class::Class;
use super::group::Group;
use super::operation::Operation;
use crate::math::variation::population_variation;

/// Bytes by part of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// In the first quarter.
    pub start: f64,
    /// In the middle half.
    pub middle: f64,
    /// In the last quarter.
    pub end: f64,
}

impl Parts {
    /// Adds the bytes of an interval, which are spread evenly over it. Those of an interval without length lie whole in the quarter of its start.
    fn add(&mut self, start: f64, length: f64, bytes: f64, total: f64) {
        let (first_end, last_start) = (total / 4.0, total - total / 4.0);
        let (first, last) = if length == 0.0 {
            let is = |holds: bool| if holds { 1.0 } else { 0.0 };
            (is(start < first_end), is(start >= last_start))
        } else {
            let share = |seconds: f64| (seconds / length).clamp(0.0, 1.0);
            (share(first_end - start), share(start + length - last_start))
        };
        self.start += first * bytes;
        self.end += last * bytes;
        self.middle += (1.0 - first - last) * bytes;
    }

    /// The parts of all bytes; None of no bytes.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let sum = self.start + self.middle + self.end;
        (sum > 0.0).then(|| [self.start, self.middle, self.end].map(|part| part / sum))
    }
}

/// The bytes by quarter as groups tell them: each as bursts at equal distances, of mean length and mean bytes.
///
/// # Source
/// MOSAIC, temporality.
pub fn of_groups(groups: &[Group], total: f64) -> Parts {
    let mut parts = Parts::default();
    for group in groups {
        for burst in 0..group.segments {
            let start = group.start + burst as f64 * group.period;
            parts.add(start, group.work, group.bytes, total);
        }
    }
    parts
}

/// The bytes by quarter of the operations themselves.
///
/// # Source
/// MOSAIC, correction c4: bursts at equal distances and of mean size are not what was traced.
pub fn of_operations(operations: &[Operation], total: f64) -> Parts {
    let mut parts = Parts::default();
    for operation in operations {
        let bytes = operation.bytes as f64;
        parts.add(operation.start, operation.length(), bytes, total);
    }
    parts
}

/// The classes that hold, in the order in which they are given. `total`: length of the run, seconds.
///
/// # Source
/// MOSAIC, temporality. A run without length has no pattern.
pub fn classes(parts: &Parts, total: f64) -> Vec<Class> {
    let (a, m, z) = (parts.start, parts.middle, parts.end);
    if total <= 0.0 {
        return vec![Class::UnclearPattern];
    }
    let alike = |parts: &[f64]| population_variation(parts) < 0.25;
    let half = m / 2.0;
    let mut classes = vec![];
    if a > 2.0 * (m + z) {
        classes.push(Class::OnStart);
    } else if a < (m + z) / 5.0 && alike(&[half, half, z]) {
        classes.push(Class::AfterStart);
    }
    if z > 2.0 * (a + m) {
        classes.push(Class::OnEnd);
    } else if z < (a + m) / 5.0 && alike(&[a, half, half]) {
        classes.push(Class::BeforeEnd);
    }
    if a + z > 4.0 * m && alike(&[a, z]) {
        classes.push(Class::OnStartAndOnEnd);
    }
    if m > 4.0 * (a + z) {
        classes.push(Class::AfterStartBeforeEnd);
    }
    if alike(&[a, half, half, z]) {
        classes.push(Class::Steady);
    }
    if classes.is_empty() {
        classes.push(Class::UnclearPattern);
    }
    classes
}
