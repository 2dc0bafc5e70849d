//! Answers that are more than one table: made of the answers to several questions, as blocks of a page. Without the engine: what is found in one log alone.
//!
//! [`export`] writes chosen logs as a lake of their own. [`chart`] draws rows; [`report`] asks the questions of a file and writes the page that opens in a browser. [`analysis`] asks questions and makes an [`answer::Answer`] of them; `findings` makes findings of the rows for which rules hold; `rows` are rows as
//! Rust values. `page` and `markdown` write an answer as text: an analysis gives an answer, a page is how a person sees it. A new page is a new analysis.

pub mod analysis;
#[cfg(feature = "engine")]
#[allow(clippy::module_inception)]
pub mod answer;
#[cfg(feature = "engine")]
pub mod chart;
#[cfg(feature = "engine")]
pub mod export;
#[cfg(feature = "engine")]
mod findings;
#[cfg(feature = "engine")]
pub(crate) mod markdown;
#[cfg(feature = "engine")]
mod page;
#[cfg(feature = "engine")]
pub mod report;
#[cfg(feature = "engine")]
mod rows;
#[cfg(feature = "engine")]
mod stated;
