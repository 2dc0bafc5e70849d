//! When intervals of I/O lie in a run, and whether they come again and again: from operations to classes.
//!
//! ```text
//! operations --[train]--> bursts at equal distances, others --[merge]--> [segment] --[group]--> groups --[temporality, periodicity]--> classes
//! ```
//!
//! [`pattern::pattern`] does it all. [`mod@merge`] closes short pauses, [`segment`] cuts the time where work begins, [`mod@group`] puts segments together that are alike, by mean
//! shift; [`slices`] adds up what is too much for that. [`train`] finds what comes at equal distances, whatever else goes on. [`corrections`] says which of the steps are as the
//! published tool has them.
//!
//! # Source
//! T. Jolivel, F. Tessier, J. Monniot, G. Pallez (2024), *MOSAIC: detection and categorization of I/O patterns in HPC applications*, PDSW at SC24,
//! <https://doi.org/10.1109/SCW63240.2024.00172>.

pub mod class;
pub mod corrections;
pub mod group;
pub mod merge;
pub mod operation;
pub mod pattern;
pub mod periodicity;
pub mod segment;
pub mod slices;
pub mod temporality;
pub mod train;
