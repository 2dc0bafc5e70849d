//! The rows of one range, as far as a derivation needs them.

use crate::error::Result;
use crate::lake::extract::chosen_rows::{BATCH, Batches, of_ids};
use crate::lake::file::data_reader::read_kept;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::store::Store;
use crate::table::table;
use std::collections::HashSet;
use std::sync::Arc;

/// The rows of a range that belong to the logs of which rows are derived.
pub struct RangeRows<'a> {
    pub(in crate::lake) store: &'a Store,
    /// Its data files as they are after the change.
    pub(in crate::lake) files: Vec<DataFile>,
    /// The logs; all if None.
    pub(in crate::lake) logs: Option<Arc<HashSet<i64>>>,
}

impl RangeRows<'_> {
    /// Some columns of a table, in its order; no batches if the range has none of its rows.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is no such table or column; in the batches those of its data file.
    pub fn rows(&self, name: &str, columns: &[&str]) -> Result<Batches> {
        let read = Arc::new(table(name)?.with_columns(columns)?);
        let mut batches: Vec<Batches> = vec![];
        for file in self.files.iter().filter(|file| file.table == name) {
            let kept = self.logs.clone();
            let kept = kept.map(|logs| of_ids("log_id", move |log| logs.contains(&log)));
            batches.push(read_kept(self.store, &read, &file.path, BATCH, kept)?);
        }
        Ok(Box::new(batches.into_iter().flatten()))
    }
}
