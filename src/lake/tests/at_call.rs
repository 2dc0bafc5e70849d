//! Other processes that act at a moment of a lake's work: at one of its calls to the file system.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which calls are counted.
pub(super) type Picks = fn(Call, &Path) -> bool;

/// Lets others act at the n-th call that is picked, right before or right after it.
pub(super) struct AtCall<F> {
    root: PathBuf,
    picks: Picks,
    at: usize,
    is_after: bool,
    seen: AtomicUsize,
    act: F,
}

impl<F: Fn(&Lake) + Send + Sync + 'static> AtCall<F> {
    /// The lake at a root, in which others act with a handle of their own.
    pub(super) fn lake(root: &Path, picks: Picks, at: usize, is_after: bool, act: F) -> Lake {
        let calls = Self {
            root: root.to_path_buf(),
            picks,
            at,
            is_after,
            seen: 0.into(),
            act,
        };
        Lake::open_store(Store::with_calls(root, Arc::new(calls))).unwrap()
    }

    fn act_at(&self, call: Call, path: &Path, is_after: bool) {
        let is_time = is_after == self.is_after && (self.picks)(call, path);
        if is_time && self.seen.fetch_add(1, Ordering::SeqCst) == self.at {
            (self.act)(&Lake::open(&self.root).unwrap());
        }
    }
}

impl<F> std::fmt::Debug for AtCall<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AtCall({})", self.at)
    }
}

impl<F: Fn(&Lake) + Send + Sync + 'static> Calls for AtCall<F> {
    fn before(&self, call: Call, path: &Path) -> std::io::Result<()> {
        self.act_at(call, path, false);
        Ok(())
    }

    fn after(&self, call: Call, path: &Path) -> std::io::Result<()> {
        self.act_at(call, path, true);
        Ok(())
    }
}
