//! The memory of a session: consumers that can spill share three quarters of it, and so do the merges of sorts, which can do with less; the
//! rest is reserved for consumers that can do neither.
//!
//! A large sort ends in a merge of its sorted parts, which cannot spill. With DataFusion's own pool the parts, each with an equal share
//! of all memory, leave it nothing where there are few of them, and the sort is refused though everything else of it went to disk.
//! Each part in turn merges what it wrote to disk, as many files at once as it gets memory for, and can do with two: where the parts
//! came to that at the same time, they had all there was.
//!
//! A grouping merges what it wrote to disk under the same name, and takes for it what it can get: its groups get the memory that is set aside for a merge from
//! what is kept.
//!
//! An equal share is little where a plan has sorts and groupings by the dozen, of which most hold nothing at a time: with 4 GiB and 57
//! of them a sort was refused its first batch, 74 MB, while all together held 400 MB. So one may have more than its share as long as
//! all together hold at most half of what they may.

use datafusion::common::{Result, resources_datafusion_err};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, human_readable_size,
};
use std::fmt::{Display, Formatter};
use std::sync::{Mutex, MutexGuard};

/// The memory.
#[derive(Debug)]
pub(in crate::engine) struct TieredPool {
    bytes: usize,
    set_aside: usize,
    held: Mutex<Reserved>,
}

#[derive(Debug, Default)]
struct Reserved {
    /// How many there are that can spill, and what they hold together.
    spillers: usize,
    spillable: usize,
    /// How many sorts merge what they wrote to disk, or may have to.
    merges: usize,
    /// What the others hold.
    fixed: usize,
}

impl TieredPool {
    /// `bytes` for a session of `threads` threads.
    pub(in crate::engine) fn new(bytes: usize, threads: usize) -> Self {
        Self {
            bytes,
            set_aside: Self::set_aside(bytes, threads),
            held: Mutex::default(),
        }
    }

    /// What each sort sets aside for its merge, from the quarter that is kept: the sorts of one node together half of it, the other
    /// half is for the merge of their parts.
    pub(in crate::engine) fn set_aside(bytes: usize, threads: usize) -> usize {
        bytes / (8 * threads)
    }

    fn held(&self) -> MutexGuard<'_, Reserved> {
        self.held.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What a reservation may still grow by.
    fn left(&self, reservation: &MemoryReservation, held: &Reserved) -> usize {
        if !reservation.consumer().can_spill() {
            let left = self.bytes.saturating_sub(held.fixed + held.spillable);
            if !merges(reservation.consumer()) {
                return left;
            }
            let share = (self.bytes / 4 * 3 / held.merges.max(1)).max(self.set_aside);
            return left.min(share.saturating_sub(reservation.size()));
        }
        let limit = self.bytes.saturating_sub(held.fixed.max(self.bytes / 4));
        let share = (limit / held.spillers.max(1)).saturating_sub(reservation.size());
        let unused = (limit / 2).saturating_sub(held.spillable);
        let most = share.max(unused);
        // Who holds much can spill it; who holds little has to get its next batch from anywhere.
        let all = self.bytes.saturating_sub(held.fixed + held.spillable);
        let little = self.set_aside.saturating_sub(reservation.size());
        let first = if reservation.size() == 0 { most } else { 0 };
        let spillable = most.min(limit.saturating_sub(held.spillable));
        spillable.max(first.max(little).min(all))
    }
}

/// Whether it is the merge of what one sort has written to disk. DataFusion tells it only by its name.
fn merges(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with("ExternalSorterMerge")
}

impl Reserved {
    fn of(&mut self, reservation: &MemoryReservation) -> &mut usize {
        match reservation.consumer().can_spill() {
            true => &mut self.spillable,
            false => &mut self.fixed,
        }
    }
}

impl MemoryPool for TieredPool {
    fn name(&self) -> &str {
        "memory"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        let mut held = self.held();
        held.spillers += usize::from(consumer.can_spill());
        held.merges += usize::from(merges(consumer));
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut held = self.held();
        held.spillers -= usize::from(consumer.can_spill());
        held.merges -= usize::from(merges(consumer));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.held().of(reservation) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        *self.held().of(reservation) -= shrink;
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut held = self.held();
        let left = self.left(reservation, &held);
        if additional > left {
            // In the words of DataFusion's own pools, from which `engine/error.rs` takes who it was.
            return Err(resources_datafusion_err!(
                "Failed to allocate additional {} for {} with {} already allocated for it: {} are left of {}",
                human_readable_size(additional),
                reservation.consumer().name(),
                human_readable_size(reservation.size()),
                human_readable_size(left),
                human_readable_size(self.bytes)
            ));
        }
        *held.of(reservation) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let held = self.held();
        held.spillable + held.fixed
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

impl Display for TieredPool {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "memory of {}", human_readable_size(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn consumer(pool: &Arc<dyn MemoryPool>, spills: bool) -> MemoryReservation {
        named("one", pool, spills)
    }

    fn named(name: &str, pool: &Arc<dyn MemoryPool>, spills: bool) -> MemoryReservation {
        MemoryConsumer::new(name)
            .with_can_spill(spills)
            .register(pool)
    }

    #[test]
    fn a_quarter_is_kept_for_who_cannot_spill() {
        let pool: Arc<dyn MemoryPool> = Arc::new(TieredPool::new(800, 2));
        let (sort, other, merge) = (
            consumer(&pool, true),
            consumer(&pool, true),
            consumer(&pool, false),
        );
        assert!(sort.try_grow(301).is_err());
        sort.try_grow(300).unwrap();
        other.try_grow(300).unwrap();
        assert!(other.try_grow(1).is_err());
        merge.try_grow(200).unwrap();
        assert_eq!(pool.reserved(), 800);
        assert!(merge.try_grow(1).is_err());
        drop(sort);
        merge.try_grow(100).unwrap();
        // 500 are left for the one that spills now.
        other.try_grow(200).unwrap();
        assert!(other.try_grow(1).is_err());
        drop((other, merge));
        assert_eq!(pool.reserved(), 0);
    }

    /// Of 800 the merges of the parts of a sort may have 600, each of two 300; each may have what it set aside, 800 / (8 * 2) = 50, however
    /// many there are.
    #[test]
    fn the_merges_of_a_sorts_parts_leave_something_for_the_merge_of_these() {
        let pool: Arc<dyn MemoryPool> = Arc::new(TieredPool::new(800, 2));
        let merge = |part: usize| named(&format!("ExternalSorterMerge[{part}]"), &pool, false);
        let parts = [merge(0), merge(1)];
        for part in &parts {
            assert!(part.try_grow(301).is_err());
            part.try_grow(300).unwrap();
            assert!(part.try_grow(1).is_err());
        }
        consumer(&pool, false).try_grow(200).unwrap();
        let more: Vec<_> = (2..20).map(merge).collect();
        more[0].try_grow(50).unwrap();
        assert!(more[0].try_grow(1).is_err());
    }

    /// Of 800 ten that can spill may have 600, each 60; one alone has 300, half of it, and the others their first 60 all the same.
    #[test]
    fn one_of_many_may_have_more_than_its_share_while_the_others_hold_nothing() {
        let pool: Arc<dyn MemoryPool> = Arc::new(TieredPool::new(800, 2));
        let all: Vec<_> = (0..10).map(|_| consumer(&pool, true)).collect();
        assert!(all[0].try_grow(301).is_err());
        all[0].try_grow(300).unwrap();
        assert!(all[0].try_grow(1).is_err());
        assert!(all[1].try_grow(61).is_err());
        for late in &all[1..6] {
            late.try_grow(60).unwrap();
        }
        // All 600 are held. What was one's share before is not, for one that has something to spill.
        assert!(all[5].try_grow(1).is_err());
        all[6].try_grow(40).unwrap();
        assert!(all[6].try_grow(20).is_err());
        all[0].free();
        all[6].try_grow(20).unwrap();
        drop(all);
        assert_eq!(pool.reserved(), 0);
    }

    /// A grouping that merges what it wrote to disk has a reservation for the merge and one for the groups, which cannot spill then.
    #[test]
    fn merges_of_groupings_leave_something_for_their_groups() {
        let pool: Arc<dyn MemoryPool> = Arc::new(TieredPool::new(800, 2));
        let merges = [consumer(&pool, true), consumer(&pool, true)];
        for merge in &merges {
            merge.try_grow(300).unwrap();
        }
        let groups = merges.each_ref().map(MemoryReservation::new_empty);
        for groups in &groups {
            groups.try_grow(20).unwrap();
            groups.try_grow(30).unwrap();
            assert!(groups.try_grow(1).is_err());
        }
    }

    #[test]
    fn who_cannot_spill_may_have_all_that_nobody_holds() {
        let pool: Arc<dyn MemoryPool> = Arc::new(TieredPool::new(800, 2));
        let table = consumer(&pool, false);
        table.try_grow(800).unwrap();
        let error = table.try_grow(8 << 20).unwrap_err().to_string();
        assert!(
            error.contains("additional 8.0 MB for one with 800.0 B already allocated for it: 0.0 B are left of 800.0 B"),
            "{error}"
        );
        assert!(consumer(&pool, true).try_grow(1).is_err());
    }
}
