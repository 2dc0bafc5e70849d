//! Where the job ids are cut.

/// The range of a job id: the number of split points at or below it.
pub fn range_of(splits: &[i64], job_id: i64) -> usize {
    splits.partition_point(|split| *split <= job_id)
}

/// Split points that cut weighted job ids into at most `parts` pieces of about equal weight, never inside a job.
///
/// # Input
/// `weights`: job id and weight (bytes), in any order, a job id as often as it likes.
///
/// # Output
/// Ascending job ids, each the least of its piece; fewer than `parts - 1` if there are not that many jobs.
pub fn splits_for(weights: &mut [(i64, u64)], parts: usize) -> Vec<i64> {
    weights.sort_unstable_by_key(|(job_id, _)| *job_id);
    let mut left: u128 = weights.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let (mut splits, mut here) = (vec![], 0u128);
    for job in weights.chunk_by(|a, b| a.0 == b.0) {
        let weight: u128 = job.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let pieces = (parts - splits.len()) as u128;
        // Close the piece where its weight is nearest to an equal share of what is left.
        if pieces > 1 && here > 0 && (here + weight / 2) * pieces >= left {
            splits.push(job[0].0);
            left -= std::mem::take(&mut here);
        }
        here += weight;
    }
    splits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_jobs_are_cut_into_equal_pieces() {
        let mut weights: Vec<(i64, u64)> = (0..100).rev().map(|job| (job, 10)).collect();
        assert_eq!(splits_for(&mut weights, 4), [25, 50, 75]);
        assert_eq!(splits_for(&mut [(7, 1), (7, 100)], 4), [] as [i64; 0]);
        assert_eq!(splits_for(&mut [], 4), [] as [i64; 0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn ranges_hold_every_job_exactly_once_also_after_a_range_is_split(
            mut weights in prop::collection::vec((-50i64..50, 0u64..1000), 0..60), parts in 1usize..9, again in 1usize..5, ask in prop::collection::vec(-60i64..60, 20)
        ) {
            let mut splits = splits_for(&mut weights, parts);
            prop_assert!(splits.len() < parts.max(1));
            for _ in 0..2 {
                prop_assert!(splits.is_sorted_by(|a, b| a < b));
                for job in &ask {
                    let holding: Vec<usize> = (0..=splits.len())
                        .filter(|r| (*r == 0 || splits[r - 1] <= *job) && (*r == splits.len() || *job < splits[*r]))
                        .collect();
                    prop_assert_eq!(holding, vec![range_of(&splits, *job)]);
                }
                // Split the middle range again.
                let range = splits.len() / 2;
                let mut inside: Vec<(i64, u64)> = weights.iter().copied().filter(|(job, _)| range_of(&splits, *job) == range).collect();
                let more = splits_for(&mut inside, again);
                splits.splice(range..range, more);
            }
        }
    }
}
