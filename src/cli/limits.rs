//! Limits of the system on a process.

/// From now on a write beyond `ulimit -f` fails with "File too large", and the command says which file it was. The system would end the process by SIGXFSZ
/// without a line.
#[cfg(unix)]
pub(super) fn make_file_size_an_error() {
    use nix::sys::signal::{SigSet, Signal};
    // Threads take over what is blocked where they are started. If it cannot be blocked, the process ends as it would without this.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
}

#[cfg(not(unix))]
pub(super) fn make_file_size_an_error() {}
