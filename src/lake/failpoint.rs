//! Places at which a test can kill the process, to see that a half-done change is never seen.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every failpoint, in the order in which an ingest passes them.
pub const FAILPOINTS: &[&str] = &[
    "data-file-created",
    "data-file-written",
    "data-file-synced",
    "range-done",
    "all-ranges-done",
    "input-part-written",
    "file-part-written",
    "parts-done",
    "manifest-temporary-written",
    "manifest-published",
    "manifest-directory-synced",
    "hint-written",
];

/// Aborts the process at the n-th passage of the point named in `IOLODE_FAILPOINT` (`name` or `name:n`).
pub(super) fn failpoint(name: &'static str) {
    static CHOSEN: OnceLock<Option<(String, AtomicU64)>> = OnceLock::new();
    debug_assert!(FAILPOINTS.contains(&name), "{name} is not listed");
    let chosen = CHOSEN.get_or_init(|| {
        let text = std::env::var("IOLODE_FAILPOINT").ok()?;
        let (name, n) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_string(), AtomicU64::new(n.parse().unwrap_or(1))))
    });
    if let Some((chosen, left)) = chosen
        && chosen == name
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        std::process::abort();
    }
}
