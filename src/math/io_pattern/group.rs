//! Segments that are alike in length and bytes are a group: what may be repetitions of one thing.

use super::segment::Segment;
use crate::math::mean_shift;
use crate::math::variation::{mean, sample_deviation, sample_variation};

/// Segments of one direction that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Start of its first segment, seconds since the log's start.
    pub start: f64,
    /// End of its last segment; of a single one the end of its work.
    pub end: f64,
    /// Number of segments.
    pub segments: usize,
    /// Mean seconds from start to start; of a single one from start to end.
    pub period: f64,
    /// Mean seconds of work in a segment.
    pub work: f64,
    /// Sample deviation of the seconds of work over their mean; 0 for fewer than three segments.
    pub work_cv: f64,
    /// Mean bytes of a segment.
    pub bytes: f64,
    /// Mean of rank seconds over seconds of work, over the segments whose work has a length; 0 without one.
    pub ranks: f64,
    /// Mean of twice the opens and the seeks of a segment.
    pub metadata: f64,
}

/// What clustering compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Seconds and bytes as they are, so that bytes outweigh seconds.
    Raw,
    /// Each over its sample deviation.
    UnitDeviation,
}

/// The groups of segments, by start.
///
/// # Method
/// Cluster, take the smallest cluster out as a group - of equally small ones the one whose first segment comes last - and cluster the rest again. Segments whose
/// lengths, or bytes, hardly differ are clustered by the other alone. Mean shift of n points is O(n log n) by one of both and about O(n sqrt n) by both, and
/// takes place for each group once.
///
/// # Source
/// MOSAIC, groups. Means of 0 count as no variation, where the published tool divides by zero.
pub fn groups(segments: &[Segment], scale: Scale) -> Vec<Group> {
    let mut groups = vec![];
    let mut rest: Vec<Segment> = segments.to_vec();
    let mut own = vec![];
    while !rest.is_empty() {
        let labels = cluster(&rest, scale);
        let smallest = smallest(&labels);
        own.clear();
        let mut labels = labels.into_iter();
        rest.retain(|segment| {
            let is_own = labels.next() == Some(smallest);
            if is_own {
                own.push(*segment);
            }
            !is_own
        });
        groups.extend(group(&own));
    }
    groups.sort_by(|a, b| a.start.total_cmp(&b.start));
    groups
}

/// The label that fewest have; of equals the one whose first comes last.
fn smallest(labels: &[usize]) -> usize {
    // How many, and where the first is.
    let mut sizes: Vec<(usize, usize)> = vec![];
    for (at, label) in labels.iter().enumerate() {
        if sizes.len() <= *label {
            sizes.resize(label + 1, (0, 0));
        }
        let (size, first) = &mut sizes[*label];
        *first = if *size == 0 { at } else { *first };
        *size += 1;
    }
    let used = sizes.iter().enumerate().filter(|(_, (size, _))| *size > 0);
    let least = used.min_by_key(|(_, (size, first))| (*size, std::cmp::Reverse(*first)));
    least.map_or(0, |(label, _)| label)
}

/// Whether every value is within a quarter of the mean.
fn is_near(values: &[f64]) -> bool {
    let mean = mean(values);
    mean == 0.0 || values.iter().all(|x| (x - mean).abs() / mean <= 0.25)
}

/// A label for each segment.
fn cluster(segments: &[Segment], scale: Scale) -> Vec<usize> {
    if segments.len() == 1 {
        return vec![0];
    }
    let mut lengths: Vec<f64> = segments.iter().map(Segment::length).collect();
    let mut bytes: Vec<f64> = segments.iter().map(|s| s.bytes as f64).collect();
    let (bytes_near, bytes_cv) = (is_near(&bytes), sample_variation(&bytes));
    let bytes_same = bytes_cv < 0.01 && bytes_near;
    let limit = if bytes_same { 0.1 } else { 0.01 };
    let lengths_alike = sample_variation(&lengths) < limit && (bytes_same || is_near(&lengths));
    let bytes_alike = bytes_cv < 0.005 && bytes_near;
    if lengths_alike && bytes_alike {
        return vec![0; segments.len()];
    }
    if scale == Scale::UnitDeviation {
        to_unit_deviation(&mut lengths);
        to_unit_deviation(&mut bytes);
    }
    if lengths_alike {
        return mean_shift::on_a_line(&bytes);
    }
    if bytes_alike {
        return mean_shift::on_a_line(&lengths);
    }
    let points = lengths.iter().zip(&bytes).map(|(l, b)| [*l, *b]);
    mean_shift::in_a_plane(&points.collect::<Vec<_>>())
}

fn to_unit_deviation(values: &mut [f64]) {
    let deviation = sample_deviation(values);
    if deviation > 0.0 {
        values.iter_mut().for_each(|value| *value /= deviation);
    }
}

/// What segments have in common, given by start; None of none.
pub(super) fn group(segments: &[Segment]) -> Option<Group> {
    let (first, last) = (segments.first()?, segments.last()?);
    let m = segments.len();
    let (end, period) = match m {
        1 => (first.work_end, first.work_end - first.start),
        _ => (last.end, (last.start - first.start) / (m - 1) as f64),
    };
    let work: Vec<f64> = segments.iter().map(Segment::work).collect();
    let of = |value: fn(&Segment) -> f64| segments.iter().map(value).sum::<f64>() / m as f64;
    let ranks = segments.iter().filter(|segment| segment.work() > 0.0);
    let ranks = ranks.map(|s| s.rank_seconds / s.work());
    let (ranks, n) = ranks.fold((0.0, 0usize), |(sum, n), ranks| (sum + ranks, n + 1));
    Some(Group {
        start: first.start,
        end,
        segments: m,
        period,
        work: mean(&work),
        work_cv: if m < 3 { 0.0 } else { sample_variation(&work) },
        bytes: of(|segment| segment.bytes as f64),
        ranks: ranks / n.max(1) as f64,
        metadata: of(|segment| segment.metadata as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_label_is_taken_and_of_equals_the_one_that_begins_last() {
        assert_eq!(smallest(&[0, 0, 1, 0]), 1);
        assert_eq!(smallest(&[0, 2, 2, 0]), 2);
        assert_eq!(smallest(&[1, 0, 0, 1]), 0);
        assert_eq!(smallest(&[3]), 3);
    }
}
