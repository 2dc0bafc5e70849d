//! The threads that plan and run queries.

use super::session::state;
use crate::error::{Error, Result};
use std::sync::Mutex;

/// Bytes of stack of a thread that plans or runs queries: an expression of thousands of terms, as programs write them, goes as
/// deep. What is not used takes no memory.
pub const STACK: usize = 64 << 20;

/// A tokio runtime with so many threads, or those of the machine.
///
/// # Errors
/// [`Error::Invalid`] if the system gives no threads.
pub fn runtime(threads: Option<usize>) -> Result<tokio::runtime::Runtime> {
    let threads = state::threads(threads);
    let no_threads = |why| {
        Error::Invalid(format!(
            "the system does not give the query engine {threads} threads with stacks of {} MiB ({why}): raise the limits on \
             processes (`ulimit -u`) and on memory (`ulimit -v`), or ask for fewer with --threads",
            STACK >> 20
        ))
    };
    // One more than the workers: files are opened on a thread of its own.
    spare(threads + 1).map_err(no_threads)?;
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK)
        .enable_all()
        .build();
    built.map_err(no_threads)
}

/// Whether the system gives so many threads at once. Where it does not, tokio panics, and then waits for ever for those of its workers
/// that have started. These threads may leave less address space than they found (an arena of the allocator each), so that tokio can
/// still be refused; the program's panic hook ends the process then.
fn spare(threads: usize) -> std::io::Result<()> {
    let gate = Mutex::new(());
    std::thread::scope(|scope| {
        // Each waits until all are there; if one is not, those before it end when this is dropped.
        let _closed = gate.lock();
        for _ in 0..threads {
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, || drop(gate.lock()))?;
        }
        Ok(())
    })
}
