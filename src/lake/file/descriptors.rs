//! How many files an ingest or a compaction has open at once: a share for each thread, together at most half of what the process
//! may have (`ulimit -n`), however many days, ranges, tables and old files there are.
//!
//! A thread needs a few whatever it does. What it would like to have open beyond these, because opening it again costs time, it
//! asks for ([`try_acquire`]); where nothing is spare, a file is opened for each access and synced by whoever has written it.

use rustix::process::{Resource, getrlimit};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Descriptors that a thread needs whatever it does: an input, what it unpacks, a temporary file, a file that it writes.
const NEEDED: usize = 4;
/// Descriptors of a thread, on average.
const MOST: usize = 32;

/// Threads that read and write files now.
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// Descriptors that are open beyond those that they need.
static PERMITS: AtomicUsize = AtomicUsize::new(0);

/// Threads that read and write files as long as this lives.
pub(in crate::lake) struct Threads(usize);

impl Threads {
    /// As many of `wanted` as there are descriptors for, at least one.
    pub(in crate::lake) fn new(wanted: usize) -> Self {
        let threads = wanted.min(half() / NEEDED).max(1);
        THREADS.fetch_add(threads, Ordering::Relaxed);
        Self(threads)
    }

    /// How many they are.
    pub(in crate::lake) fn count(&self) -> usize {
        self.0
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        THREADS.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Permission to have a file open; one of those that are counted.
#[derive(Debug)]
pub(in crate::lake) struct FdPermit(());

impl Drop for FdPermit {
    fn drop(&mut self) {
        PERMITS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Permission to have one more file open; None if there are enough.
pub(in crate::lake) fn try_acquire() -> Option<FdPermit> {
    let most = most(half(), THREADS.load(Ordering::Relaxed));
    let one_more = |open: usize| (open < most).then_some(open + 1);
    let taken = PERMITS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
    taken.ok().map(|_| FdPermit(()))
}

/// Descriptors that threads may have open beyond those that they need.
fn most(half: usize, threads: usize) -> usize {
    let threads = threads.max(1);
    let beyond = (MOST - NEEDED).saturating_mul(threads);
    half.saturating_sub(NEEDED.saturating_mul(threads))
        .min(beyond)
}

/// Half of the descriptors that the process may have.
fn half() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit / 2).unwrap_or(usize::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_32_each_and_together_half_of_what_the_process_may_have() {
        // Of 1,024 descriptors: 2 threads have 64, of which they need 8; 128 have 512, all of which they need.
        assert_eq!(most(512, 2), 56);
        assert_eq!(most(512, 16), 512 - 64);
        assert_eq!(most(512, 128), 0);
        // Of 64.
        assert_eq!((most(32, 2), most(32, 8)), (24, 0));
        assert_eq!(most(usize::MAX, 2), 56);
    }
}
