//! What fills a derived table.

use super::range_rows::RangeRows;
use crate::error::Result;
use arrow::record_batch::RecordBatch;

/// A table whose rows follow from rows of other tables of the same jobs.
pub trait DerivedTable: Send + Sync {
    /// What it is asked for by: `iolode analyze NAME`.
    fn name(&self) -> &'static str;

    /// Name of the table, one of [`crate::table::TABLES`] with a log's id.
    fn table(&self) -> &'static str;

    /// Version of the derivation: raised when the same rows would give others.
    fn version(&self) -> u32;

    /// The tables that its rows are made of.
    fn made_of(&self) -> &'static [&'static str];

    /// The rows of some logs of a range, given to `write` in the order of the table.
    ///
    /// # Errors
    /// Those of `range` and of `write`.
    fn derive(
        &self,
        range: &RangeRows<'_>,
        write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()>;
}

impl std::fmt::Debug for dyn DerivedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.table(), self.version())
    }
}
