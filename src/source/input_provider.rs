//! Inputs that lie nowhere: made when they are read, and the same each time.

use super::{Input, Peek};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// Inputs by path of which only their maker knows the bytes, such as those of a synthetic month that nobody wants as files.
///
/// A lake takes them in as it takes files, and cannot tell the difference.
pub trait InputProvider: Sync {
    /// All of them.
    fn list(&self) -> Vec<InputMeta>;

    /// The source that knows an input, by name, and where its rows belong; None where somebody has to look at its bytes.
    fn peek(&self, path: &Path) -> Option<(&'static str, Peek)>;

    /// An input, made anew.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if there is none at that path, or no room for one that needs a temporary file.
    fn open(&self, path: &Path) -> Result<Input>;
}

/// What a directory would say of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputMeta {
    /// Where it would lie, absolute.
    pub path: PathBuf,
    /// Its size; 0 for a dump that has not been made yet.
    pub bytes: u64,
    /// When it would have been written, microseconds since 1970.
    pub modified: i64,
}
