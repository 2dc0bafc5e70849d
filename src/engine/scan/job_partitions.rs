//! Where the job ids are cut into the partitions of a scan.

use std::cmp::Ordering;

/// The partitions of the job ids, the same for all tables of a lake version: group `g` holds `cuts[g - 1] <= job_id < cuts[g]`.
///
/// Always exactly as many groups as were asked for, so that tables that have no file at all join with the others group
/// by group: where a lake has fewer ranges, the groups above them are empty.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JobPartitions(Vec<i64>);

impl JobPartitions {
    /// Packs adjacent ranges into groups of about equal bytes. `splits` are the lake's range split points (range `i`
    /// holds `splits[i - 1] <= job_id < splits[i]`), ascending; `bytes` is the size of each range over all tables.
    pub(crate) fn new(splits: &[i64], bytes: &[u64], groups: usize) -> Self {
        debug_assert_eq!(splits.len() + 1, bytes.len());
        let (mut left, mut here, mut cuts) = (bytes.iter().sum::<u64>(), 0, vec![]);
        for (i, split) in splits.iter().enumerate() {
            here += bytes[i];
            let open = (groups - cuts.len()) as u64;
            // Close the group where its size is nearest to an equal share of what is left, and in any case while there
            // are no more ranges left than groups: an empty group at the end helps nobody.
            let scarce = ((splits.len() - i) as u64) < open;
            if open > 1 && (scarce || here + bytes[i + 1] / 2 >= left / open) {
                cuts.push(*split);
                left -= std::mem::take(&mut here);
            }
        }
        // Empty groups above all: cuts must ascend, so they count down from the top of the numbers.
        let missing = (groups - 1 - cuts.len()) as i64;
        let top = cuts.last().copied().unwrap_or(i64::MIN);
        let room = i64::MAX.checked_sub(top).is_none_or(|room| room > missing);
        match room {
            true => cuts.extend((0..missing).rev().map(|down| i64::MAX - down)),
            // A job id at the very top, which no scheduler gives: fewer groups are right, too.
            false => cuts.dedup(),
        }
        Self(cuts)
    }

    /// The cuts, ascending; one fewer than groups.
    pub(crate) fn points(&self) -> &[i64] {
        &self.0
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.0.len() + 1
    }

    /// The group of a job.
    pub(crate) fn group(&self, job_id: i64) -> usize {
        self.0
            .partition_point(|cut| cut.cmp(&job_id) != Ordering::Greater)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_hold_about_equal_bytes() {
        let splits: Vec<i64> = (1..40).collect();
        let cuts = JobPartitions::new(&splits, &[10; 40], 8);
        assert_eq!(cuts.points(), [5, 10, 15, 20, 25, 30, 35]);
        // One range as large as all others together has a group for itself.
        let mut bytes = [10; 40];
        bytes[20] = 390;
        let cuts = JobPartitions::new(&splits, &bytes, 8);
        assert_eq!(
            (cuts.group(20), cuts.group(19), cuts.group(21)),
            (cuts.group(20), cuts.group(20) - 1, cuts.group(20) + 1)
        );
    }

    #[test]
    fn a_lake_of_few_ranges_has_a_group_for_each_and_empty_ones_above() {
        let cuts = JobPartitions::new(&[100, 200], &[1, 1000, 1], 8);
        assert_eq!(cuts.groups(), 8);
        assert_eq!(&cuts.points()[..2], [100, 200]);
        assert!(cuts.points()[2] > i64::MAX - 8);
        assert_eq!(JobPartitions::new(&[], &[5], 8).group(123_456), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn every_job_of_a_range_lies_in_one_group_and_groups_ascend(
            splits in prop::collection::btree_set(-1000i64..1_000_000, 0..60), bytes in prop::collection::vec(0u64..1_000_000, 61), groups in 1usize..33
        ) {
            let splits: Vec<i64> = splits.into_iter().collect();
            let cuts = JobPartitions::new(&splits, &bytes[..splits.len() + 1], groups);
            prop_assert_eq!(cuts.groups(), groups);
            prop_assert!(cuts.points().windows(2).all(|pair| pair[0] < pair[1]));
            let mut last = 0;
            for i in 0..=splits.len() {
                let first = if i == 0 { i64::MIN } else { splits[i - 1] };
                // The last job of the last range: any that a scheduler gives.
                let end = splits.get(i).map_or(1 << 40, |split| split - 1);
                prop_assert_eq!(cuts.group(first), cuts.group(end));
                prop_assert!(cuts.group(first) == last || cuts.group(first) == last + 1);
                last = cuts.group(first);
            }
        }
    }
}
