//! What a range gets of a derived table.

use serde::{Deserialize, Serialize};

/// A derived table that a range gets rows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) struct Derivation {
    /// Name of the table.
    pub(in crate::lake) table: String,
    /// All its rows are made anew, not only those of new logs.
    pub(in crate::lake) anew: bool,
}
