//! What Ctrl-C does: it depends on what is going on.

use nix::sys::signal::{SigSet, Signal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// What is going on.
enum Mode {
    /// Nothing that could be stopped halfway: the process ends.
    Plain,
    /// The prompt is there or about to come: nothing happens.
    Prompt,
    /// An ingest, which aborts and leaves the lake unchanged; if it is asked twice, the process ends.
    Ingest(Arc<AtomicBool>),
    /// A statement, which is given up.
    Statement(Arc<Notify>),
}

static MODE: Mutex<Mode> = Mutex::new(Mode::Plain);

/// While it lives, Ctrl-C does what it was made for; then what it did before.
pub(crate) struct During {
    before: Mode,
}

/// Until the guard is dropped, Ctrl-C does nothing where no statement runs.
///
/// # Errors
/// If the system does not let us listen; the same holds below.
pub(crate) fn at_the_prompt() -> anyhow::Result<During> {
    enter(Mode::Prompt)
}

/// Until the guard is dropped, Ctrl-C sets the flag.
pub(crate) fn during_ingest() -> anyhow::Result<(During, Arc<AtomicBool>)> {
    let flag = Arc::new(AtomicBool::new(false));
    Ok((enter(Mode::Ingest(flag.clone()))?, flag))
}

/// Until the guard is dropped, Ctrl-C notifies.
pub(crate) fn during_statement() -> anyhow::Result<(During, Arc<Notify>)> {
    let notify = Arc::new(Notify::new());
    Ok((enter(Mode::Statement(notify.clone()))?, notify))
}

/// Leaves SIGHUP ignored where it is, as nohup has it: what listens for signals would catch it. To be called before the first thread begins.
pub(super) fn keep_nohup() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if ignored.is_some_and(|mask| mask & 1 == 1) {
        let mut hangup = SigSet::empty();
        hangup.add(Signal::SIGHUP);
        // Threads that begin later inherit it.
        let _ = hangup.thread_block();
    }
}

fn enter(mode: Mode) -> anyhow::Result<During> {
    listen()?;
    let mut now = MODE.lock().unwrap_or_else(PoisonError::into_inner);
    // What was stopped before has nothing to do with what begins.
    STOPPED.store(false, Ordering::Relaxed);
    Ok(During {
        before: std::mem::replace(&mut *now, mode),
    })
}

impl Drop for During {
    fn drop(&mut self) {
        let mut now = MODE.lock().unwrap_or_else(PoisonError::into_inner);
        *now = std::mem::replace(&mut self.before, Mode::Plain);
    }
}

/// Starts the thread that waits for Ctrl-C and the signals that end a process, once.
fn listen() -> anyhow::Result<()> {
    static LISTENS: Mutex<bool> = Mutex::new(false);
    let mut listens = LISTENS.lock().unwrap_or_else(PoisonError::into_inner);
    if !*listens {
        ctrlc::set_handler(interrupted)
            .map_err(|e| anyhow::anyhow!("cannot listen for Ctrl-C: {e}"))?;
        *listens = true;
    }
    Ok(())
}

/// Whether Ctrl-C, or a signal that ends a process, has stopped something.
pub(crate) fn has_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

static STOPPED: AtomicBool = AtomicBool::new(false);

fn interrupted() {
    let now = MODE.lock().unwrap_or_else(PoisonError::into_inner);
    match &*now {
        Mode::Prompt => {}
        Mode::Statement(notify) => {
            STOPPED.store(true, Ordering::Relaxed);
            notify.notify_one();
        }
        Mode::Ingest(flag) if !flag.swap(true, Ordering::Relaxed) => {
            STOPPED.store(true, Ordering::Relaxed);
        }
        Mode::Ingest(_) | Mode::Plain => std::process::exit(130),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ctrl_c_stops_is_the_innermost_thing_that_is_going_on() {
        let _prompt = at_the_prompt().unwrap();
        {
            let (_during, notify) = during_statement().unwrap();
            interrupted();
            // A notification that came before anybody waited is kept.
            futures::executor::block_on(notify.notified());
        }
        // The statement is over: nothing happens, above all no end of the process.
        interrupted();
        let (during, flag) = during_ingest().unwrap();
        assert!(!flag.load(Ordering::Relaxed));
        interrupted();
        assert!(flag.load(Ordering::Relaxed));
        drop(during);
        interrupted();
    }
}
