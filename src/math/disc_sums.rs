//! Sums over the points of a plane that lie within a distance of a place.

use super::exact_sum::ExactSum;

/// Points of a leaf.
const LEAF: usize = 8;

/// Points by place: a k-d tree whose nodes know the sums of their points, so that only the nodes on the edge of a disc are looked into.
///
/// # Method
/// Each node is split at the median of its longer side. A disc's edge crosses O(sqrt n) nodes, fewer where hardly any points lie near it. Whether a
/// node lies within a distance is told by its box with the formula that is used for points; rounding is monotone in each step of it, so that no
/// point is counted otherwise than by its own distance.
///
/// # Source
/// Bentley (1975), *Multidimensional binary search trees used for associative searching*, <https://doi.org/10.1145/361002.361007>.
pub(super) struct DiscSums {
    /// Points, those of a node together.
    points: Vec<[f64; 2]>,
    /// Number that each point was given with.
    order: Vec<usize>,
    nodes: Vec<Node>,
}

struct Node {
    low: [f64; 2],
    high: [f64; 2],
    /// Its points: from, to.
    from: usize,
    to: usize,
    sums: [ExactSum; 2],
    /// The node of the second half of its points; that of the first one follows it. 0 for a leaf.
    second: usize,
}

impl Node {
    /// The least and the greatest distance of a place from points of the node's box.
    fn distances(&self, at: &[f64; 2]) -> (f64, f64) {
        let side = |axis: usize| {
            let (low, high) = (self.low[axis] - at[axis], at[axis] - self.high[axis]);
            (low.max(high).max(0.0), low.abs().max(high.abs()))
        };
        let ((near_x, far_x), (near_y, far_y)) = (side(0), side(1));
        (length(near_x, near_y), length(far_x, far_y))
    }
}

fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// Distance of two points.
pub(super) fn distance(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    length(a[0] - b[0], a[1] - b[1])
}

impl DiscSums {
    pub(super) fn new(points: &[[f64; 2]]) -> Self {
        let mut tree = Self {
            points: vec![],
            order: (0..points.len()).collect(),
            nodes: vec![],
        };
        if !points.is_empty() {
            tree.split(points, 0, points.len());
        }
        tree.points = tree.order.iter().map(|at| points[*at]).collect();
        tree
    }

    /// Makes the node of some points and those below it.
    fn split(&mut self, points: &[[f64; 2]], from: usize, to: usize) {
        let own = &mut self.order[from..to];
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut sums = [ExactSum::default(); 2];
        for at in own.iter() {
            for axis in 0..2 {
                let coordinate = points[*at][axis];
                low[axis] = low[axis].min(coordinate);
                high[axis] = high[axis].max(coordinate);
                sums[axis].add(coordinate);
            }
        }
        let node = self.nodes.len();
        self.nodes.push(Node {
            low,
            high,
            from,
            to,
            sums,
            second: 0,
        });
        if own.len() > LEAF {
            let axis = usize::from(high[1] - low[1] > high[0] - low[0]);
            let half = own.len() / 2;
            own.select_nth_unstable_by(half, |a, b| points[*a][axis].total_cmp(&points[*b][axis]));
            self.split(points, from, from + half);
            self.nodes[node].second = self.nodes.len();
            self.split(points, from + half, to);
        }
    }

    /// The mean of the points within a distance of a place, and their number; the place itself if there are none.
    pub(super) fn mean_within(&self, at: &[f64; 2], h: f64) -> ([f64; 2], usize) {
        let (mut sums, mut within) = ([ExactSum::default(); 2], 0);
        self.visit(|node, is_leaf| {
            let (least, greatest) = node.distances(at);
            if greatest <= h {
                within += node.to - node.from;
                for (sum, of_node) in sums.iter_mut().zip(&node.sums) {
                    sum.add_sum(of_node);
                }
            } else if least <= h && is_leaf {
                let points = self.points[node.from..node.to].iter();
                for point in points.filter(|point| distance(point, at) <= h) {
                    within += 1;
                    sums[0].add(point[0]);
                    sums[1].add(point[1]);
                }
            }
            greatest > h && least <= h
        });
        match within {
            0 => (*at, 0),
            n => (sums.map(|sum| sum.value() / n as f64), n),
        }
    }

    /// The distance of each point to its k-th nearest, itself the first; in the order in which the points were given.
    ///
    /// It differs between two points by no more than their distance, so that of each next point only those are looked at that lie about as far away
    /// as the k-th of the one before.
    pub(super) fn distances_of_kth(&self, k: usize) -> Vec<f64> {
        let mut distances = vec![0.0; self.points.len()];
        let (mut before, mut about) = ([0.0; 2], f64::INFINITY);
        let mut candidates = vec![];
        for (point, given) in self.points.iter().zip(&self.order) {
            // Wider by far than what rounding takes.
            let apart = distance(point, &before);
            let slack = apart + (apart + about) * 1e-9;
            let found = match about.is_finite() {
                true => self.kth_between(point, k, about - slack, about + slack, &mut candidates),
                false => None,
            };
            let all = (f64::NEG_INFINITY, f64::INFINITY);
            let found = found.or_else(|| self.kth_between(point, k, all.0, all.1, &mut candidates));
            about = found.unwrap_or(0.0);
            before = *point;
            distances[*given] = about;
        }
        distances
    }

    /// The k-th distance from a place, if it lies between two distances.
    fn kth_between(
        &self,
        at: &[f64; 2],
        k: usize,
        from: f64,
        to: f64,
        candidates: &mut Vec<f64>,
    ) -> Option<f64> {
        candidates.clear();
        let mut nearer = 0;
        self.visit(|node, is_leaf| {
            let (least, greatest) = node.distances(at);
            if greatest < from {
                nearer += node.to - node.from;
                return false;
            }
            if least > to {
                return false;
            }
            if is_leaf {
                for point in &self.points[node.from..node.to] {
                    let distance = distance(point, at);
                    if distance < from {
                        nearer += 1;
                    } else if distance <= to {
                        candidates.push(distance);
                    }
                }
            }
            true
        });
        let place = k.checked_sub(nearer + 1)?;
        if place >= candidates.len() {
            return None;
        }
        let (_, kth, _) = candidates.select_nth_unstable_by(place, f64::total_cmp);
        Some(*kth)
    }

    /// Visits nodes from the root on, and those below a node for which `descend` says so; it is told whether the node is a leaf.
    fn visit(&self, mut descend: impl FnMut(&Node, bool) -> bool) {
        let mut waiting = vec![0];
        while let Some(at) = waiting.pop() {
            let Some(node) = self.nodes.get(at) else {
                return;
            };
            let is_leaf = node.second == 0;
            if descend(node, is_leaf) && !is_leaf {
                waiting.push(node.second);
                waiting.push(at + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    #[test]
    fn discs_and_distances_are_those_of_all_points() {
        let random = &mut Random::new(5, 0);
        for n in [1usize, 2, 8, 9, 100, 1000] {
            // Whole numbers, so that many points lie on the edge of a disc and many at one place.
            let mut whole = || random.below(30) as f64;
            let points: Vec<[f64; 2]> = (0..n).map(|_| [whole(), whole()]).collect();
            let tree = DiscSums::new(&points);
            for k in [1, n.div_ceil(2), n] {
                let kth = points.iter().map(|point| {
                    let all = points.iter().map(|other| distance(point, other));
                    let mut all: Vec<f64> = all.collect();
                    all.sort_by(f64::total_cmp);
                    all[k - 1]
                });
                assert_eq!(tree.distances_of_kth(k), kth.collect::<Vec<_>>());
            }
            for h in [0.0, 1.0, 5.0, 13.0, 99.0] {
                let at = points[n / 2];
                let within = points.iter().filter(|point| distance(point, &at) <= h);
                let within: Vec<&[f64; 2]> = within.collect();
                let mean = [0, 1].map(|axis| {
                    let sum: f64 = within.iter().map(|point| point[axis]).sum();
                    sum / within.len() as f64
                });
                assert_eq!(tree.mean_within(&at, h), (mean, within.len()));
            }
            assert_eq!(tree.mean_within(&[-9.0, -9.0], 1.0), ([-9.0, -9.0], 0));
        }
    }
}
