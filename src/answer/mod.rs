//! Answers that are more than one table: made of the answers to several questions, as blocks of a page.
//!
//! [`analysis`] asks questions and makes an [`answer::Answer`] of them; `rules` makes findings of the rows that rules are met by; `rows` are rows as
//! Rust values.

pub mod analysis;
#[allow(clippy::module_inception)]
pub mod answer;
mod rows;
mod rules;
