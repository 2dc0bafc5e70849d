//! Exit codes, and errors as one line.

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// All of it was done.
    Done,
    /// It was done, but some inputs failed.
    SomeFailed,
}

/// An error as one line: what was being done, and why that failed.
pub(super) fn message(error: &anyhow::Error) -> String {
    let mut text = "iolode".to_string();
    for cause in error.chain() {
        text = format!("{text}: {cause}");
        // Ours say their cause themselves.
        if cause.is::<crate::Error>() {
            break;
        }
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
