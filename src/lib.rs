//! iolode.

pub mod error;
pub mod table;
pub mod source;

pub use error::{Error, Result};
