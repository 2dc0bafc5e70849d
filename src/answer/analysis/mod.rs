//! Analyses: questions that are answered with pages. They take parameters as named queries do.
//!
//! # Adding an analysis
//! One file here that makes an [`crate::answer::answer::Answer`]; one line in [`ANALYSES`]. `iolode query NAME` then writes its page as text or Markdown, or its
//! JSON. A test asks each for a job by the parameter `job`.
//!
//! [`mosaic`] works on the rows of one log and knows no engine, so that an ingest can call it: it fills a table of the lake ([`DERIVED`]).

#[cfg(feature = "engine")]
pub mod diagnose;
pub mod mosaic;
#[cfg(feature = "engine")]
mod registry;

use crate::lake::DerivedTable;

/// The analyses whose results a lake can keep: whoever ingests passes them on ([`IngestOptions::derived`](crate::lake::IngestOptions::derived)).
pub const DERIVED: &[&dyn DerivedTable] = &[&mosaic::MosaicTable];

#[cfg(feature = "engine")]
pub use registry::{ANALYSES, Analysis, Values};
