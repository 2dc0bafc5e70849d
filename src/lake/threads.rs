//! Work on many items by several threads.

use crate::error::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// Takes the items in their order on so many threads, each with what `start` gives it: the results, in the order of the items, and the first error.
/// After an error nothing further is begun, and the results of what was done are there all the same.
pub(in crate::lake) fn on_threads<T: Send, S, R: Send>(
    threads: usize,
    items: Vec<T>,
    start: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, T) -> Result<R> + Sync,
) -> (Vec<R>, Option<Error>) {
    let threads = threads.max(1).min(items.len());
    let todo = Mutex::new(items.into_iter().enumerate());
    let (done, failure) = (Mutex::new(vec![]), Mutex::new(None));
    let run = || -> Result<()> {
        let mut state = start()?;
        while let Some((number, item)) = next(&todo, &failure) {
            let result = work(&mut state, item)?;
            lock(&done).push((number, result));
        }
        Ok(())
    };
    let worker = || {
        if let Err(e) = run() {
            lock(&failure).get_or_insert(e);
        }
    };
    std::thread::scope(|scope| {
        // This thread is one of them: the work is done where no other is to be had, too.
        for _ in 1..threads {
            if Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        if threads > 0 {
            worker();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    (
        done.into_iter().map(|(_, result)| result).collect(),
        failure,
    )
}

/// The next item, unless something has failed.
fn next<T>(todo: &Mutex<impl Iterator<Item = T>>, failure: &Mutex<Option<Error>>) -> Option<T> {
    match *lock(failure) {
        Some(_) => None,
        None => lock(todo).next(),
    }
}

/// What is behind a lock, which is held for single calls only.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_are_in_the_order_of_the_items_and_each_thread_has_its_own_state() {
        for threads in [0, 1, 3, 200] {
            let states = AtomicUsize::new(0);
            let start = || Ok(states.fetch_add(1, Ordering::Relaxed));
            let (results, failure) =
                on_threads(threads, (0..100).collect(), start, |_, n: u64| Ok(n * n));
            assert!(failure.is_none());
            assert_eq!(results, (0..100).map(|n| n * n).collect::<Vec<u64>>());
            assert_eq!(states.into_inner(), threads.clamp(1, 100));
        }
    }

    #[test]
    fn after_an_error_nothing_is_begun_and_what_was_done_is_there() {
        let work = |_: &mut (), n: u64| match n {
            3 => Err(Error::Invalid("three".into())),
            n => Ok(n),
        };
        let (results, failure) = on_threads(1, (0..100).collect(), || Ok(()), work);
        assert_eq!(results, [0, 1, 2]);
        assert_eq!(failure.unwrap().to_string(), "three");
        let none = on_threads(
            2,
            vec![1],
            || Err::<(), _>(Error::Interrupted),
            |_, n: u64| Ok(n),
        );
        assert!(none.0.is_empty() && matches!(none.1, Some(Error::Interrupted)));
        let (results, failure) = on_threads(2, Vec::<u64>::new(), || Ok(()), |_, n| Ok(n));
        assert!(results.is_empty() && failure.is_none());
    }
}
