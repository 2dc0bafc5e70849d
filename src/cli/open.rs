//! Lakes that are read.

use super::screen::Terminal;
use crate::error::Result;
use crate::lake::Lake;
use std::path::Path;

/// Opens a lake whose newest version is to be read.
pub(super) fn open_to_read(path: &Path, screen: &Terminal) -> Result<Lake> {
    let lake = Lake::open(path)?;
    warn_if_missing(&lake, screen)?;
    Ok(lake)
}

/// Warns if the newest version is missing, so that an older one is read.
pub(super) fn warn_if_missing(lake: &Lake, screen: &Terminal) -> Result<()> {
    if let Some(missing) = lake.missing_version()? {
        screen.say(format_args!("warning: {missing}"));
    }
    Ok(())
}
