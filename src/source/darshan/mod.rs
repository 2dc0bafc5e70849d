//! Darshan logs.

pub mod counters;
pub mod write;

use super::{Input, Peek, Reader, Site, Source};
use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// Logs of Darshan 3.00 to 3.41.
pub struct Darshan;

impl Source for Darshan {
    fn name(&self) -> &'static str {
        "darshan"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["darshan_log"]
    }

    fn version(&self) -> u32 {
        1
    }

    fn probe(&self, _: &Path, _: &[u8]) -> bool {
        false
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        Err(Error::Unsupported { path: input.path().to_path_buf(), reason: "not read yet".into() })
    }

    fn reader(&self, _: Arc<Site>) -> Box<dyn Reader> {
        unimplemented!()
    }
}
