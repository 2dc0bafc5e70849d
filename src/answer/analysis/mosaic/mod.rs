//! MOSAIC: what kind of I/O a log does - when in its run, whether again and again, and how it loads the metadata servers.
//!
//! ```text
//! rows of a log --[reference | full]--> operations --[merge]--> [segment] --[group]--> groups --[temporality, periodicity]--> classes
//!                                   \-> opens and seeks --[metadata]--> classes
//! ```
//!
//! [`of_log`] does it all from the rows that the tables have of a log ([`LogRows`]), [`MosaicTable`] for all logs of a range. [`mod@reference`] and [`full`] are the two modes: they differ in the operations that they begin with and in the
//! [`options::Corrections`] of the steps after them, which are functions on slices: [`mod@merge`] closes short pauses, [`segment`] cuts the time where work begins, [`mod@group`]
//! puts segments together that are alike, by mean shift, [`temporality`] and [`periodicity`] give the classes of one direction ([`mod@pattern`]), [`metadata`]
//! those of the log. [`evidence`] says what they rest on. In mode `full` bursts at equal distances are a group before others are put together, and what is periodic: [`mod@train`].
//!
//! # Source
//! T. Jolivel, F. Tessier, J. Monniot, G. Pallez (2024), *MOSAIC: detection and categorization of I/O patterns in HPC applications*, PDSW at SC24,
//! <https://doi.org/10.1109/SCW63240.2024.00172>; where the paper is silent, the authors' published tool, first version. "MOSAIC, segments" in
//! the code names its steps.
//!
//! # Example
//! ```no_run
//! use iolode::answer::analysis::mosaic::{LogRows, Mode, Options, of_log, operation::Direction};
//! use iolode::source::Input;
//!
//! let (rows, _) = LogRows::of_input(&Input::open("job.darshan")?)?;
//! let mosaic = of_log(&rows, Mode::Full, &Options::default());
//! println!("{}: {:?}", mosaic.status.name(), mosaic.class_names(Direction::Write));
//! # Ok::<(), iolode::Error>(())
//! ```

pub mod class;
pub mod evidence;
pub mod full;
pub mod group;
mod json;
pub mod log_rows;
pub mod merge;
pub mod metadata;
mod mosaic_table;
pub mod observed;
pub mod operation;
pub mod options;
pub mod pattern;
pub mod periodicity;
pub mod reference;
mod result;
pub mod segment;
pub mod slices;
pub mod status;
pub mod temporality;
#[cfg(test)]
mod tests;
pub mod train;

pub use log_rows::LogRows;
pub use mosaic_table::MosaicTable;
pub use options::{Mode, Options};
pub use result::{Mosaic, of_log, of_observed};
pub use status::Status;
