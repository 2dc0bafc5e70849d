//! Panics: each is one line on stderr, and no command ends as done after one, in whichever thread it was.

use crate::text::shown;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

static PANICKED: AtomicBool = AtomicBool::new(false);

/// How a panic of tokio begins that gets no thread for a worker of a new runtime.
const NO_WORKER: &str = "OS can't spawn worker thread";

/// From now on a panic is one line on stderr; with `RUST_BACKTRACE=1`, its backtrace as well.
///
/// Where tokio gets no thread for a worker the process ends here with exit code 2: while it unwinds, tokio waits for ever for those workers that have
/// started. Nothing is open then that an end at once could spoil: the runtime is built before the first query.
pub(super) fn report() {
    std::panic::set_hook(Box::new(|panic| {
        PANICKED.store(true, Ordering::Relaxed);
        let mut stderr = std::io::stderr().lock();
        let _ = writeln!(stderr, "iolode: {}", line(panic));
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(stderr, "{trace}");
        }
        if panic
            .payload_as_str()
            .is_some_and(|what| what.starts_with(NO_WORKER))
        {
            drop(stderr);
            std::process::exit(2);
        }
    }));
}

/// Whether a thread has panicked.
pub(super) fn happened() -> bool {
    PANICKED.load(Ordering::Relaxed)
}

fn line(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("no reason given");
    explain(what, panic.location().map(ToString::to_string).as_deref())
}

/// Libraries panic where the system gives no thread; everything else is a fault of the program.
fn explain(what: &str, place: Option<&str>) -> String {
    match what.contains("spawn") && what.contains("thread") {
        true => format!(
            "the system gives no further thread ({}): raise the limits on processes (`ulimit -u`) and on memory \
             (`ulimit -v`), or ask for fewer with --threads",
            shown(what)
        ),
        false => format!(
            "internal error: {} at {}; please report it",
            shown(what),
            place.unwrap_or("an unknown place")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_line_that_says_what_to_do() {
        let no_thread = format!("{NO_WORKER}: Resource temporarily unavailable");
        let line = explain(&no_thread, Some("a.rs:1:2"));
        assert!(line.contains("`ulimit -v`"), "{line}");
        assert!(line.contains("unavailable"), "{line}");
        let line = explain("index\nout of bounds", Some("a.rs:1:2"));
        assert!(!line.contains('\n'), "{line}");
        assert!(line.contains("a.rs:1:2"), "{line}");
    }
}
