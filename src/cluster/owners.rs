//! Which executor reads the files of which OST: its owner.
//!
//! Rendezvous hashing with bounded load: of the executors that own less than their share of the bytes, an OST goes to the one with the greatest hash of both names. So
//! an OST stays with its executor from query to query, whose page cache has its files; an executor that is added or gone changes few owners; and no executor owns
//! more than its share and one OST's bytes. The scheduler decides by it, and EXPLAIN shows it.

use super::members::ExecutorStatus;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// The id of each OST's owner. `bytes` are those of each OST that a query may read.
///
/// An OST that executors were started with (`--osts`) belongs to one of these; others belong to executors that were started with none, if there are any. An executor's
/// share is by its cores.
pub(crate) fn owners(
    bytes: &BTreeMap<i64, u64>,
    executors: &[ExecutorStatus],
) -> BTreeMap<i64, String> {
    let cores: usize = executors.iter().map(|executor| executor.cores).sum();
    let total: u64 = bytes.values().sum();
    let mut owned = vec![0; executors.len()];
    let mut owners = BTreeMap::new();
    for (ost, bytes) in bytes {
        let candidates = candidates(*ost, executors);
        // Bytes in relation to the share; below 1 there is room.
        let load = |at: &usize| {
            let share = total as f64 * executors[*at].cores as f64 / cores.max(1) as f64;
            owned[*at] as f64 / share.max(1.0)
        };
        let open = candidates.iter().copied().filter(|at| load(at) < 1.0);
        let score = |at: &usize| score(*ost, &executors[*at]);
        let owner = open
            .max_by(|a, b| score(a).total_cmp(&score(b)))
            .or_else(|| {
                let all = candidates.iter().copied();
                all.min_by(|a, b| load(a).total_cmp(&load(b)))
            });
        if let Some(owner) = owner {
            owned[owner] += bytes;
            owners.insert(*ost, executors[owner].id.clone());
        }
    }
    owners
}

/// The executors that may own an OST.
fn candidates(ost: i64, executors: &[ExecutorStatus]) -> Vec<usize> {
    let places = || 0..executors.len();
    let lists = |at: &usize| {
        let osts = executors[*at].osts.as_ref();
        osts.is_some_and(|osts| osts.contains(&ost))
    };
    let listed: Vec<usize> = places().filter(lists).collect();
    if !listed.is_empty() {
        return listed;
    }
    let unlisted: Vec<usize> = places()
        .filter(|at| executors[*at].osts.is_none())
        .collect();
    match unlisted.is_empty() {
        true => places().collect(),
        false => unlisted,
    }
}

/// An executor's score for an OST: the greatest wins, in proportion to cores. The address stays when an executor is started again, its id does not.
fn score(ost: i64, executor: &ExecutorStatus) -> f64 {
    let hash = xxh3_64(format!("{ost} {}", executor.address).as_bytes());
    // Above 0 and below 1.
    let uniform = ((hash >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -(executor.cores as f64) / uniform.ln()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// So many executors of so many cores.
    pub(crate) fn executors(count: usize, cores: usize) -> Vec<ExecutorStatus> {
        let executor = |n: usize| ExecutorStatus {
            id: format!("e{n}"),
            address: format!("node{n:03}:7000"),
            cores,
            memory: None,
            lakes: vec![],
            osts: None,
        };
        (0..count).map(executor).collect()
    }

    fn owned(bytes: &BTreeMap<i64, u64>, owners: &BTreeMap<i64, String>) -> BTreeMap<String, u64> {
        let mut owned = BTreeMap::new();
        for (ost, owner) in owners {
            *owned.entry(owner.clone()).or_default() += bytes[ost];
        }
        owned
    }

    #[test]
    fn executors_own_about_equal_bytes() {
        for executors_count in [4, 16, 64] {
            let executors = executors(executors_count, 2);
            let equal: BTreeMap<i64, u64> = (0..256).map(|ost| (ost, 1 << 30)).collect();
            let of = owned(&equal, &owners(&equal, &executors));
            let mean = (256 << 30) / executors_count as u64;
            assert_eq!(of.len(), executors_count);
            for bytes in of.values() {
                assert!(bytes.abs_diff(mean) * 10 <= mean, "{bytes} of {mean}");
            }
            // As many OSTs as Cori's scratch, of unequal bytes.
            let unequal: BTreeMap<i64, u64> = (0..248)
                .map(|ost| (ost, (1 << 30) + (xxh3_64(&[ost as u8]) >> 35)))
                .collect();
            let of = owned(&unequal, &owners(&unequal, &executors));
            let mean = unequal.values().sum::<u64>() as f64 / executors_count as f64;
            let largest = *unequal.values().max().unwrap() as f64;
            assert!(of.values().all(|bytes| *bytes as f64 <= mean + largest));
        }
    }

    #[test]
    fn an_executor_that_is_gone_changes_few_owners() {
        let bytes: BTreeMap<i64, u64> = (0..256).map(|ost| (ost, 1)).collect();
        let all = executors(16, 2);
        let before = owners(&bytes, &all);
        let after = owners(&bytes, &all[..15]);
        let moved = before
            .iter()
            .filter(|(ost, owner)| after[*ost] != **owner)
            .count();
        // A sixteenth had it; placing all anew would move fifteen sixteenths.
        assert!((16..96).contains(&moved), "{moved}");
    }

    #[test]
    fn executors_own_what_they_were_started_with_and_by_their_cores() {
        let bytes: BTreeMap<i64, u64> = (0..90).map(|ost| (ost, 10)).collect();
        let mut of = executors(3, 1);
        of[0].osts = Some((0..10).collect());
        of[2].cores = 3;
        let owners = owners(&bytes, &of);
        assert!((0..10).all(|ost| owners[&ost] == "e0"));
        assert!((10..90).all(|ost| owners[&ost] != "e0"));
        let large = owners.values().filter(|owner| *owner == "e2").count();
        assert!((50..62).contains(&large), "{large}");
    }
}
