//! The calls by which a store changes or reads a directory, with a hook before and after each, for tests.

use std::path::Path;

/// Told of each call that changes a directory: tests let calls fail here, be lost, or be the last.
pub trait Calls: std::fmt::Debug + Send + Sync {
    /// Before a call; an error is the call's, which is not made then.
    ///
    /// # Errors
    /// Whatever the call shall fail with.
    fn before(&self, _call: Call, _path: &Path) -> std::io::Result<()> {
        Ok(())
    }

    /// After a call that was made; an error is the call's, although it was made.
    ///
    /// # Errors
    /// Whatever the call shall fail with.
    fn after(&self, _call: Call, _path: &Path) -> std::io::Result<()> {
        Ok(())
    }
}

/// A call that changes a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A file was written whole and synced.
    Write,
    /// A data file was created.
    Create,
    /// A data file, or a directory, was synced.
    Sync,
    /// A file got its name, if that was free.
    Link,
    /// A file took the place of another.
    Rename,
    /// A file was deleted.
    Delete,
    /// A file's time became now.
    Touch,
    /// A file was read: no change, but its answer may be lost, too.
    Read,
}

/// Every call is made.
#[derive(Debug)]
pub(super) struct AllCalls;

impl Calls for AllCalls {}
