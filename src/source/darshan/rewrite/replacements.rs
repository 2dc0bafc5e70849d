//! What stands in a rewritten log in the place of names.

use crate::error::Result;
use crate::source::darshan::job::Job;
use crate::source::darshan::write;

/// What stands in a rewritten log in the place of what identifies somebody.
pub trait Replacements {
    /// The job region.
    ///
    /// # Errors
    /// Those of the names in it.
    fn job(&mut self, job: &Job) -> Result<write::Job>;

    /// The name of a record.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if nothing says what is done with names.
    fn name(&mut self, name: Name<'_>) -> Result<String>;

    /// The id of a record, by its name if it has one.
    fn record_id(&mut self, id: u64, name: Option<Name<'_>>) -> u64;

    /// A text in a column of a table.
    ///
    /// # Errors
    /// Those of the name.
    fn text(&mut self, table: &str, column: &str, text: &str) -> Result<String>;

    /// Whether a column of a table stays as it is.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if nothing says so.
    fn keeps(&self, table: &str, column: &str) -> Result<bool>;
}

/// The name of a record as the log has it.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// The name, as far as it is text.
    pub text: &'a str,
    /// An object in a file: the name is the path, a colon and what stands in the file.
    pub is_object: bool,
}
