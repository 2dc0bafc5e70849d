//! iolode.

pub mod error;
pub mod source;
pub mod table;

pub use error::{Error, Result};
