//! Flat mean shift: clusters of points without saying how many.
//!
//! ```text
//! points --[bandwidth]--> h --[shift of every point]--> where each ends --[strike out]--> centres --> label of each point
//! ```
//!
//! One dimension takes O(n log n) for each step of all points: the points within h of a place are neighbours in sorted order, and their sum is a
//! difference of prefix sums. In two dimensions a tree has the sums of points that lie together. Both give the labels that the plain definition gives: see the
//! tests.

use super::disc_sums::{self, DiscSums};
use super::exact_sum::PrefixSums;
use std::collections::HashMap;

/// The smallest bandwidth. Half of two or three points is one point, the point itself, at a distance of 0.
const LEAST_BANDWIDTH: f64 = 0.1;

/// A point stays where it is once it moves by at most this part of the bandwidth.
const STILL: f64 = 0.001;

/// Moves after which a point stays where it is in any case.
const MOST_MOVES: usize = 300;

/// Clusters of values on a line: the number of the cluster of each.
///
/// # Input
/// `values`: finite, any order, repeats allowed. Length n.
///
/// # Output
/// A label for each value; the cluster in which most points meet has the label 0. Empty if n = 0.
///
/// # Method
/// Bandwidth h: for each point the distance to its k-th nearest point, itself the first, k = max(1, n / 2); their mean; at least 0.1. Every point moves to
/// the mean of the points within h until it moves by at most 0.001 h, or 300 times. The end points, by the number of points that their last mean was
/// taken over, then by coordinate, both descending: each that is left strikes out every other within h. A point belongs to the nearest that is
/// left, of equally near ones to the first.
///
/// All points that have once had the same neighbours move alike from there on, so that each set of neighbours is looked at once. O(n log n) time
/// where points move a few times, O(n) memory.
///
/// # Source
/// Comaniciu, Meer (2002), *Mean shift: a robust approach toward feature space analysis*, <https://doi.org/10.1109/34.1000236>, with the
/// choices of scikit-learn's `estimate_bandwidth(quantile 0.5)` and `MeanShift`, on which MOSAIC's published tool relies.
pub(crate) fn on_a_line(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let sorted: Vec<f64> = order.iter().map(|at| values[*at]).collect();
    let mut distances = vec![0.0; values.len()];
    for (place, distance) in distances_on_a_line(&sorted).into_iter().enumerate() {
        distances[order[place]] = distance;
    }
    let h = bandwidth(&distances);
    let mut ends = vec![([0.0], 0); values.len()];
    let mut shift = ShiftOnALine::new(&sorted, h);
    for (place, at) in order.iter().enumerate() {
        let (end, within) = shift.end(sorted[place]);
        ends[*at] = ([end], within);
    }
    let centres = centres(ends, h);
    let points: Vec<[f64; 1]> = values.iter().map(|value| [*value]).collect();
    nearest(&points, &centres)
}

/// Clusters of points in a plane, as [`on_a_line`] has them of values. About O(n sqrt n) time for each step of all points.
pub(crate) fn in_a_plane(points: &[[f64; 2]]) -> Vec<usize> {
    let sums = DiscSums::new(points);
    let h = bandwidth(&sums.distances_of_kth(neighbours(points.len())));
    // Where a point ends that has come to a place, and in how many moves: many come to the same.
    let mut known = HashMap::new();
    let ends = points.iter().map(|point| {
        let (mut at, mut path) = (*point, vec![]);
        let (end, within, after) = loop {
            let (mean, within) = sums.mean_within(&at, h);
            let moved = disc_sums::distance(&at, &mean);
            if moved <= STILL * h || path.len() + 1 == MOST_MOVES {
                break (mean, within, 0);
            }
            let place = mean.map(f64::to_bits);
            if let Some((end, within, after)) = known.get(&place)
                && path.len() + 1 + after <= MOST_MOVES
            {
                break (*end, *within, *after);
            }
            path.push(place);
            at = mean;
        };
        let whole = path.len() + after + 1 < MOST_MOVES;
        for (back, place) in path.iter().rev().enumerate().filter(|_| whole) {
            known.insert(*place, (end, within, after + 1 + back));
        }
        (end, within)
    });
    let centres = centres(ends.collect(), h);
    nearest(points, &centres)
}

/// The number of a point's nearest points, itself among them, whose distance makes the bandwidth: half of all.
fn neighbours(n: usize) -> usize {
    (n / 2).max(1)
}

fn bandwidth(distances: &[f64]) -> f64 {
    let sum: f64 = distances.iter().sum();
    (sum / distances.len().max(1) as f64).max(LEAST_BANDWIDTH)
}

/// The distance of each of the sorted values to its k-th nearest, itself the first. The k nearest stand together, and their first does not move back
/// from value to value.
fn distances_on_a_line(sorted: &[f64]) -> Vec<f64> {
    let k = neighbours(sorted.len());
    let mut first = 0;
    let of = |(place, value): (usize, &f64)| {
        while first + k < sorted.len()
            && (first + k <= place || sorted[first + k] - value < value - sorted[first])
        {
            first += 1;
        }
        (value - sorted[first]).max(sorted[first + k - 1] - value)
    };
    sorted.iter().enumerate().map(of).collect()
}

/// Moves values on a line, and remembers where those ended that once had the same neighbours.
struct ShiftOnALine<'a> {
    sorted: &'a [f64],
    sums: PrefixSums,
    h: f64,
    /// By the neighbours (from, to) whose mean a point has moved to: its end, the number of its last neighbours, and the moves to there.
    known: HashMap<(usize, usize), (f64, usize, usize)>,
    path: Vec<(usize, usize)>,
}

impl<'a> ShiftOnALine<'a> {
    fn new(sorted: &'a [f64], h: f64) -> Self {
        Self {
            sorted,
            sums: PrefixSums::new(sorted),
            h,
            known: HashMap::new(),
            path: vec![],
        }
    }

    /// Where a point ends, and over how many points its last mean was taken.
    fn end(&mut self, from: f64) -> (f64, usize) {
        let mut at = from;
        self.path.clear();
        let (end, within, after) = loop {
            let (first, past) = self.within(at);
            // Rounding may leave a place without neighbours.
            let mean = match first < past {
                true => self.sums.mean(first, past),
                false => at,
            };
            let moved = (mean - at).abs();
            if moved <= STILL * self.h || self.path.len() + 1 == MOST_MOVES {
                break (mean, past.saturating_sub(first), 0);
            }
            if let Some((end, within, after)) = self.known.get(&(first, past))
                && self.path.len() + 1 + after <= MOST_MOVES
            {
                break (*end, *within, *after);
            }
            self.path.push((first, past));
            at = mean;
        };
        // What ended because it had moved too often is no end for others.
        if self.path.len() + after + 1 < MOST_MOVES {
            for (back, neighbours) in self.path.iter().rev().enumerate() {
                self.known
                    .insert(*neighbours, (end, within, after + 1 + back));
            }
        }
        (end, within)
    }

    /// The values within h of a place: from, to.
    fn within(&self, at: f64) -> (usize, usize) {
        let first = self.sorted.partition_point(|value| at - value > self.h);
        let past = self.sorted.partition_point(|value| value - at <= self.h);
        (first, past)
    }
}

fn distance<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    match D {
        // Without the rounding of square and root.
        1 => (a[0] - b[0]).abs(),
        _ => squares.sum::<f64>().sqrt(),
    }
}

/// The centres, the one in which most points meet first. Of points that end at the same place the last says how many meet there.
fn centres<const D: usize>(ends: Vec<([f64; D], usize)>, h: f64) -> Vec<[f64; D]> {
    let mut latest: HashMap<[u64; D], ([f64; D], usize)> = HashMap::new();
    for (end, within) in ends {
        latest.insert(end.map(f64::to_bits), (end, within));
    }
    let mut ends: Vec<([f64; D], usize)> = latest.into_values().collect();
    ends.sort_by(|(a, met), (b, other)| {
        let coordinates = a.iter().zip(b).map(|(a, b)| b.total_cmp(a));
        let first = coordinates.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then);
        other.cmp(met).then(first)
    });
    let mut kept: Vec<[f64; D]> = vec![];
    for (end, _) in ends {
        if kept.iter().all(|other| distance(&end, other) > h) {
            kept.push(end);
        }
    }
    kept
}

/// The number of the nearest centre of each point.
fn nearest<const D: usize>(points: &[[f64; D]], centres: &[[f64; D]]) -> Vec<usize> {
    let of = |point: &[f64; D]| {
        let distances = centres.iter().map(|centre| distance(point, centre));
        let nearest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map_or(0, |(at, _)| at)
    };
    points.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact_sum::ExactSum;
    use crate::math::random::Random;

    /// The mean of the points within h of a place, and their number.
    fn mean_within<const D: usize>(
        points: &[[f64; D]],
        at: &[f64; D],
        h: f64,
    ) -> ([f64; D], usize) {
        let (mut sums, mut within) = ([ExactSum::default(); D], 0);
        for point in points.iter().filter(|point| distance(point, at) <= h) {
            within += 1;
            for (sum, coordinate) in sums.iter_mut().zip(point) {
                sum.add(*coordinate);
            }
        }
        match within {
            0 => (*at, 0),
            _ => (sums.map(|sum| sum.value() / within as f64), within),
        }
    }

    /// The definition, by all pairs.
    fn plain<const D: usize>(points: &[[f64; D]]) -> Vec<usize> {
        let k = (points.len() / 2).max(1);
        let mut sum = 0.0;
        for point in points {
            let mut all: Vec<f64> = points.iter().map(|other| distance(point, other)).collect();
            all.sort_by(f64::total_cmp);
            sum += all[k - 1];
        }
        let h = (sum / points.len() as f64).max(0.1);
        let mut ends: Vec<([f64; D], usize)> = vec![];
        for point in points {
            let mut at = *point;
            let mut met = 0;
            for _ in 0..300 {
                let (mean, within) = mean_within(points, &at, h);
                let moved = distance(&at, &mean);
                (at, met) = (mean, within);
                if moved <= 0.001 * h {
                    break;
                }
            }
            ends.retain(|(end, _)| *end != at);
            ends.push((at, met));
        }
        ends.sort_by(|a, b| (b.1, b.0).partial_cmp(&(a.1, a.0)).unwrap());
        let mut struck = vec![false; ends.len()];
        for centre in 0..ends.len() {
            for other in 0..ends.len() {
                let near = other != centre && distance(&ends[centre].0, &ends[other].0) <= h;
                struck[other] |= near && !struck[centre];
            }
        }
        let kept = ends.iter().zip(struck).filter(|(_, struck)| !struck);
        let kept: Vec<[f64; D]> = kept.map(|(end, _)| end.0).collect();
        let mut labels = vec![];
        for point in points {
            let mut best = 0;
            for centre in 1..kept.len() {
                if distance(point, &kept[centre]) < distance(point, &kept[best]) {
                    best = centre;
                }
            }
            labels.push(best);
        }
        labels
    }

    /// A coordinate of one of the kinds that occur: bytes, seconds, repeats, whole numbers at equal distances, clusters.
    fn coordinate(random: &mut Random, kind: u64, scale: f64) -> f64 {
        let noise = random.float(-1.0, 1.0);
        match kind {
            0 => random.float(0.0, scale),
            1 => random.below(6) as f64,
            2 => random.below(40) as f64 * scale,
            3 => 1e9 + random.below(4) as f64 * 1e6 + noise,
            4 => 60.0 + noise * random.magnitude(0.01, 10.0),
            _ => random.magnitude(1.0, 1e12),
        }
    }

    #[test]
    fn labels_are_those_of_the_definition_by_all_pairs() {
        let random = &mut Random::new(29, 0);
        let mut several = 0;
        for _ in 0..10_000 {
            let n = 1 + random.below(40) as usize;
            let (kinds, scale) = (
                [random.below(6), random.below(6)],
                random.magnitude(0.1, 1e4),
            );
            let points: Vec<[f64; 2]> = (0..n)
                .map(|_| kinds.map(|kind| coordinate(random, kind, scale)))
                .collect();
            let line: Vec<f64> = points.iter().map(|point| point[0]).collect();
            let as_points: Vec<[f64; 1]> = line.iter().map(|value| [*value]).collect();
            let found = on_a_line(&line);
            assert_eq!(found, plain(&as_points), "{line:?}");
            assert_eq!(in_a_plane(&points), plain(&points), "{points:?}");
            several += usize::from(found.iter().any(|label| *label > 0));
        }
        assert!(several > 1000, "{several}");
    }

    #[test]
    fn larger_sets_have_the_labels_of_the_definition_too() {
        let random = &mut Random::new(30, 0);
        for n in [100, 257, 600] {
            for kind in 0..6 {
                let line: Vec<f64> = (0..n).map(|_| coordinate(random, kind, 10.0)).collect();
                let points: Vec<[f64; 1]> = line.iter().map(|value| [*value]).collect();
                assert_eq!(on_a_line(&line), plain(&points), "{n} of kind {kind}");
                let bytes = random.below(6);
                let points: Vec<[f64; 2]> = line
                    .iter()
                    .map(|value| [*value, coordinate(random, bytes, 10.0)])
                    .collect();
                assert_eq!(
                    in_a_plane(&points),
                    plain(&points),
                    "{n} of kind {kind}, {bytes}"
                );
            }
        }
    }

    #[test]
    fn two_and_three_points_are_one_cluster_only_within_a_tenth() {
        assert!(on_a_line(&[]).is_empty());
        assert_eq!(on_a_line(&[5.0]), [0]);
        assert_eq!(on_a_line(&[5.0, 5.05]), [0, 0]);
        // The cluster of equally many points with the larger coordinate comes first.
        assert_eq!(on_a_line(&[5.0, 5.2]), [1, 0]);
        assert_eq!(on_a_line(&[5.0, 9.0, 5.05]), [0, 1, 0]);
        assert!(in_a_plane(&[]).is_empty());
        assert_eq!(in_a_plane(&[[1.0, 2.0]]), [0]);
        assert_eq!(in_a_plane(&[[1.0, 5.0], [1.0, 5.2]]), [1, 0]);
    }
}
