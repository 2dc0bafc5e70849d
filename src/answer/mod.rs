//! Answers that are more than one table: made of the answers to several questions, as blocks of a page.
//!
//! [`export`] writes chosen logs as a lake of their own. [`chart`] draws rows; [`report`] asks the questions of a file and writes the page that opens in a browser. [`analysis`] asks questions and makes an [`answer::Answer`] of them; `findings` makes findings of the rows for which rules hold; `rows` are rows as
//! Rust values. `page` and `markdown` write an answer as text: an analysis gives an answer, a page is how a person sees it. A new page is a new analysis.

pub mod analysis;
#[allow(clippy::module_inception)]
pub mod answer;
pub mod chart;
pub mod export;
mod findings;
pub(crate) mod markdown;
mod page;
pub mod report;
mod rows;
