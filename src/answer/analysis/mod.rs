//! Analyses: questions that are answered with pages. They take parameters as named queries do.
//!
//! # Adding an analysis
//! One file here that makes an [`crate::answer::answer::Answer`]; one line in [`ANALYSES`]. `iolode query NAME` then writes its page as text or Markdown, or its
//! JSON. A test asks each for a job by the parameter `job`.
//!
//! [`mosaic`] works on one log and knows neither lake nor engine, so that an ingest can call it.

#[cfg(feature = "engine")]
pub mod diagnose;
pub mod mosaic;
#[cfg(feature = "engine")]
mod registry;

#[cfg(feature = "engine")]
pub use registry::{ANALYSES, Analysis, Values};
