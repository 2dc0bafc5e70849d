//! MOSAIC: what kind of I/O a log does - when in its run, whether again and again, and how it loads the metadata servers.
//!
//! ```text
//! rows of a log --[reference | full]--> operations --[io_pattern]--> classes of reads and writes
//!                                   \-> opens and seeks --[metadata]--> classes of the load on the metadata servers
//! ```
//!
//! [`of_log`] does it all from the rows that the tables have of a log ([`LogRows`]), [`MosaicTable`] for all logs of a range. [`mod@reference`] and [`full`] are the two
//! modes: they differ in the operations that they begin with, and in the corrections of the steps after them, which are functions on slices: [`io_pattern`]. [`evidence`] says what
//! classes rest on.
//!
//! # Source
//! T. Jolivel, F. Tessier, J. Monniot, G. Pallez (2024), *MOSAIC: detection and categorization of I/O patterns in HPC applications*, PDSW at SC24,
//! <https://doi.org/10.1109/SCW63240.2024.00172>; where the paper is silent, the authors' published tool, first version. "MOSAIC, segments" in
//! the code names its steps.
//!
//! # Example
//! ```no_run
//! use iolode::answer::analysis::mosaic::{LogRows, Mode, Options, io_pattern::operation::Direction, of_log};
//! use iolode::source::Input;
//!
//! let (rows, _) = LogRows::of_input(&Input::open("job.darshan")?)?;
//! let mosaic = of_log(&rows, Mode::Full, &Options::default());
//! println!("{}: {:?}", mosaic.status.name(), mosaic.class_names(Direction::Write));
//! # Ok::<(), iolode::Error>(())
//! ```

pub mod evidence;
pub mod full;
mod json;
pub mod log_rows;
pub mod metadata;
pub mod metadata_class;
mod mosaic_table;
pub mod observed;
pub mod options;
pub mod reference;
mod result;
pub mod status;
mod table_rows;
#[cfg(test)]
mod tests;

pub use crate::math::io_pattern;
pub use log_rows::LogRows;
pub use mosaic_table::MosaicTable;
pub use options::{Mode, Options};
pub use result::{Mosaic, of_log, of_observed};
pub use status::Status;
