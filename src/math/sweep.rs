//! The sweep over intervals of time: how long at least one was open, and which few of them cover all of that time.
//!
//! # Source
//! Wang, Snyder, Lockwood, Carns, Wright, Byna (2018), *IOMiner: Large-scale analytics framework for gaining knowledge from I/O
//! logs*, algorithm 2. It takes the interval that began first where one ends, or the longest; here it is the one that ends
//! last, and only so is the cover minimum: [0, 10], [0.5, 11.5], [9, 19] need two, not three.

use std::cmp::{Ordering, Reverse};

/// From when to when something was open. Times are numbers in whose order they follow each other; `end` is greater than `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Which thing it is.
    pub(crate) id: u64,
}

/// Sorts intervals and moves those to the front that no other covers as a whole, of which both starts and ends ascend; how many
/// they are.
///
/// They have the same union and the same cover as all, and so have those of several such sets together: a partial state need
/// not keep more. Of equal intervals the one with the least id stays.
pub(crate) fn prune(intervals: &mut [Interval], by_id: impl Fn(u64, u64) -> Ordering) -> usize {
    intervals.sort_unstable_by(|a, b| {
        let times = (a.start, Reverse(a.end)).cmp(&(b.start, Reverse(b.end)));
        times.then_with(|| by_id(a.id, b.id))
    });
    let (mut left, mut farthest) = (0, i64::MIN);
    for at in 0..intervals.len() {
        if intervals[at].end > farthest {
            farthest = intervals[at].end;
            intervals[left] = intervals[at];
            left += 1;
        }
    }
    left
}

/// Calls `share` with each interval of the least number of them whose union is that of all, and with the time that is its own:
/// from where the one before it ends, or it begins, to its end. Intervals are as [`prune`] leaves them.
///
/// The first begins first. Where one ends, the next is the one that ends last of those that have begun by then, at that very
/// time included; if there is none there is a gap, and the one that begins next goes on.
pub(crate) fn cover(pruned: &[Interval], mut share: impl FnMut(&Interval, i64)) {
    let mut rest = pruned.iter().peekable();
    let mut until = i64::MIN;
    while let Some(first) = rest.next() {
        // Ends ascend: the last that has begun is the one that ends last.
        let mut next = first;
        while let Some(other) = rest.next_if(|other| other.start <= until) {
            next = other;
        }
        share(next, next.start.max(until));
        until = next.end;
    }
}

/// Calls `part` with the begin and the end of each part of the union, in order; parts do not touch. Intervals are as [`prune`]
/// leaves them.
pub(crate) fn union(pruned: &[Interval], mut part: impl FnMut(i64, i64)) {
    let mut intervals = pruned.iter();
    let Some(first) = intervals.next() else {
        return;
    };
    let (mut start, mut end) = (first.start, first.end);
    for interval in intervals {
        if interval.start > end {
            part(start, end);
            start = interval.start;
        }
        end = interval.end;
    }
    part(start, end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    fn pruned(intervals: &[(i64, i64)]) -> Vec<Interval> {
        let interval = |(id, (start, end)): (usize, &(i64, i64))| Interval {
            start: *start,
            end: *end,
            id: id as u64,
        };
        let mut intervals: Vec<Interval> = intervals.iter().enumerate().map(interval).collect();
        let left = prune(&mut intervals, |a, b| a.cmp(&b));
        intervals.truncate(left);
        intervals
    }

    /// Index, begin and end of each share.
    fn shares(intervals: &[(i64, i64)]) -> Vec<(u64, i64, i64)> {
        let mut found = vec![];
        cover(&pruned(intervals), |interval, from| {
            found.push((interval.id, from, interval.end));
        });
        found
    }

    #[test]
    fn figure_3_of_the_paper() {
        let files = [(0, 10), (6, 12), (4, 8), (16, 18)];
        assert_eq!(shares(&files), [(0, 0, 10), (1, 10, 12), (3, 16, 18)]);
    }

    #[test]
    fn of_equal_choices_the_one_that_ends_last_begins_first_and_has_the_least_id_is_taken() {
        // Equal ones; then ones with equal ends, of which the first to begin is taken; then touching ones.
        assert_eq!(shares(&[(3, 5), (3, 5)]), [(0, 3, 5)]);
        assert_eq!(shares(&[(0, 4), (3, 9), (2, 9)]), [(0, 0, 4), (2, 4, 9)]);
        assert_eq!(shares(&[(0, 5), (3, 6), (5, 10)]), [(0, 0, 5), (2, 5, 10)]);
        assert_eq!(
            shares(&[(0, 20), (1, 23), (18, 38)]),
            [(0, 0, 20), (2, 20, 38)]
        );
        assert_eq!(shares(&[]), []);
    }

    /// The unit cells of a line of 30 that intervals cover.
    fn cells<'a>(intervals: impl IntoIterator<Item = &'a (i64, i64)>) -> u32 {
        let cells =
            |(start, end): &(i64, i64)| (*start..*end).fold(0, |set, cell| set | 1u32 << cell);
        intervals
            .into_iter()
            .fold(0, |set, interval| set | cells(interval))
    }

    /// By trying all subsets, in all of 100,000 cases: the union is right, shares lie one after another, and no smaller set covers it.
    #[test]
    fn the_cover_is_minimum_and_the_union_right_against_all_subsets() {
        let random = &mut Random::new(7, 0);
        for _ in 0..100_000 {
            let n = random.int(0, 9) as usize;
            let mut intervals = vec![];
            for _ in 0..n {
                let start = random.int(0, 20);
                intervals.push((start, start + 1 + random.int(0, 10)));
            }
            let whole = cells(&intervals);
            let least = (0u32..1 << n)
                .filter(|chosen| {
                    let chosen = |(i, _): &(usize, _)| chosen >> i & 1 == 1;
                    cells(intervals.iter().enumerate().filter(chosen).map(|(_, x)| x)) == whole
                })
                .map(u32::count_ones)
                .min();
            let found = shares(&intervals);
            assert_eq!(Some(found.len() as u32), least, "{intervals:?}");
            for (id, from, to) in &found {
                let (start, end) = intervals[*id as usize];
                assert!(start <= *from && from < to && *to == end, "{intervals:?}");
            }
            assert!(found.windows(2).all(|w| w[0].2 <= w[1].1), "{intervals:?}");
            let own: Vec<(i64, i64)> = found.iter().map(|(_, from, to)| (*from, *to)).collect();
            assert_eq!(cells(&own), whole);
            let mut parts = vec![];
            union(&pruned(&intervals), |from, to| parts.push((from, to)));
            assert_eq!(cells(&parts), whole);
            assert!(parts.windows(2).all(|w| w[0].1 < w[1].0), "{intervals:?}");
            let length: i64 = parts.iter().map(|(from, to)| to - from).sum();
            assert_eq!(length, i64::from(whole.count_ones()));
        }
    }

    #[test]
    fn pruned_parts_together_give_what_all_give() {
        let random = &mut Random::new(11, 0);
        for _ in 0..20_000 {
            let intervals: Vec<(i64, i64)> = (0..random.int(0, 12))
                .map(|_| {
                    let start = random.int(0, 20);
                    (start, start + 1 + random.int(0, 10))
                })
                .collect();
            let all = pruned(&intervals);
            let mut parts = [vec![], vec![], vec![]];
            for (id, (start, end)) in intervals.iter().enumerate() {
                let part = random.int(0, 3) as usize;
                parts[part].push(Interval {
                    start: *start,
                    end: *end,
                    id: id as u64,
                });
            }
            let mut merged = vec![];
            for part in &mut parts {
                let left = prune(part, |a, b| a.cmp(&b));
                merged.extend_from_slice(&part[..left]);
            }
            let left = prune(&mut merged, |a, b| a.cmp(&b));
            merged.truncate(left);
            assert_eq!(merged, all);
        }
    }
}
