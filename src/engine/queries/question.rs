//! A statement on its way to its answer.

use super::param_names::CallNames;
use datafusion::sql::parser::Statement;

/// A statement in which named queries are replaced by their SQL, and the names that they were given.
#[derive(Clone, Debug)]
pub struct Question {
    /// The statement.
    pub statement: Statement,
    /// What its named queries were asked about: why an answer is empty may be that a lake does not know a name.
    pub(in crate::engine) calls: Vec<CallNames>,
}
