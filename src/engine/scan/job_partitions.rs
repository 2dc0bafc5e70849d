//! Where the job ids are cut into the partitions of a scan.

use std::cmp::Ordering;

/// The partitions of the job ids, the same for all tables of a lake version: partition `p` holds `points[p - 1] <= job_id < points[p]`.
///
/// Always exactly as many partitions as were asked for, so that tables that have no file at all join with the others
/// partition by partition: where a lake has fewer ranges, the partitions above them are empty.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JobPartitions(Vec<i64>);

impl JobPartitions {
    /// Packs adjacent ranges into partitions of about equal bytes. `splits` are the lake's range split points (range `i`
    /// holds `splits[i - 1] <= job_id < splits[i]`), ascending; `bytes` is the size of each range over all tables.
    pub(crate) fn new(splits: &[i64], bytes: &[u64], partitions: usize) -> Self {
        debug_assert_eq!(splits.len() + 1, bytes.len());
        let (mut left, mut here, mut points) = (bytes.iter().sum::<u64>(), 0, vec![]);
        for (i, split) in splits.iter().enumerate() {
            here += bytes[i];
            let open = (partitions - points.len()) as u64;
            // Close the partition where its size is nearest to an equal share of what is left, and in any case while there
            // are no more ranges left than partitions: an empty partition at the end helps nobody.
            let scarce = ((splits.len() - i) as u64) < open;
            if open > 1 && (scarce || here + bytes[i + 1] / 2 >= left / open) {
                points.push(*split);
                left -= std::mem::take(&mut here);
            }
        }
        // Empty partitions above all: points must ascend, so they count down from the top of the numbers.
        let missing = (partitions - 1 - points.len()) as i64;
        let top = points.last().copied().unwrap_or(i64::MIN);
        let room = i64::MAX.checked_sub(top).is_none_or(|room| room > missing);
        match room {
            true => points.extend((0..missing).rev().map(|down| i64::MAX - down)),
            // A job id at the very top, which no scheduler gives: fewer partitions are right, too.
            false => points.dedup(),
        }
        Self(points)
    }

    /// The split points, ascending; one fewer than partitions.
    pub(crate) fn points(&self) -> &[i64] {
        &self.0
    }

    /// How many partitions there are.
    pub(crate) fn partitions(&self) -> usize {
        self.0.len() + 1
    }

    /// The partition of a job.
    pub(crate) fn partition(&self, job_id: i64) -> usize {
        self.0
            .partition_point(|point| point.cmp(&job_id) != Ordering::Greater)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn partitions_hold_about_equal_bytes() {
        let splits: Vec<i64> = (1..40).collect();
        let jobs = JobPartitions::new(&splits, &[10; 40], 8);
        assert_eq!(jobs.points(), [5, 10, 15, 20, 25, 30, 35]);
        // One range as large as all others together has a partition for itself.
        let mut bytes = [10; 40];
        bytes[20] = 390;
        let jobs = JobPartitions::new(&splits, &bytes, 8);
        assert_eq!(
            (jobs.partition(20), jobs.partition(19), jobs.partition(21)),
            (
                jobs.partition(20),
                jobs.partition(20) - 1,
                jobs.partition(20) + 1
            )
        );
    }

    #[test]
    fn a_lake_of_few_ranges_has_a_partition_for_each_and_empty_ones_above() {
        let jobs = JobPartitions::new(&[100, 200], &[1, 1000, 1], 8);
        assert_eq!(jobs.partitions(), 8);
        assert_eq!(&jobs.points()[..2], [100, 200]);
        assert!(jobs.points()[2] > i64::MAX - 8);
        assert_eq!(JobPartitions::new(&[], &[5], 8).partition(123_456), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn every_job_of_a_range_lies_in_one_partition_and_partitions_ascend(
            splits in prop::collection::btree_set(-1000i64..1_000_000, 0..60), bytes in prop::collection::vec(0u64..1_000_000, 61), partitions in 1usize..33
        ) {
            let splits: Vec<i64> = splits.into_iter().collect();
            let jobs = JobPartitions::new(&splits, &bytes[..splits.len() + 1], partitions);
            prop_assert_eq!(jobs.partitions(), partitions);
            prop_assert!(jobs.points().windows(2).all(|pair| pair[0] < pair[1]));
            let mut last = 0;
            for i in 0..=splits.len() {
                let first = if i == 0 { i64::MIN } else { splits[i - 1] };
                // The last job of the last range: any that a scheduler gives.
                let end = splits.get(i).map_or(1 << 40, |split| split - 1);
                prop_assert_eq!(jobs.partition(first), jobs.partition(end));
                prop_assert!(jobs.partition(first) == last || jobs.partition(first) == last + 1);
                last = jobs.partition(first);
            }
        }
    }
}
