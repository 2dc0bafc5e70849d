//! The first version of a lake that is made whole: all its files and inputs at once.

use super::file_index::next_lists;
use super::input_lists::write_inputs;
use super::list_file::{DataFile, InputRow, InputStatus};
use super::manifest::{JobRange, Manifest, Summary};
use super::store::Store;
use super::time::micros;
use super::user_function::UserFunction;
use crate::error::Result;
use std::collections::BTreeMap;

/// What the lake holds.
pub(in crate::lake) struct FirstVersion<'a> {
    pub(in crate::lake) lake_id: &'a str,
    /// What made it: `copy`, `export`.
    pub(in crate::lake) operation: &'a str,
    pub(in crate::lake) settings: String,
    pub(in crate::lake) range_bytes: u64,
    pub(in crate::lake) ranges: Vec<JobRange>,
    pub(in crate::lake) files: &'a [DataFile],
    /// By path, ascending.
    pub(in crate::lake) inputs: &'a [InputRow],
    pub(in crate::lake) functions: Vec<UserFunction>,
    /// The derived tables that it keeps.
    pub(in crate::lake) derived: BTreeMap<String, u32>,
    /// The rows have pseudonyms.
    pub(in crate::lake) anonymised: bool,
}

impl FirstVersion<'_> {
    /// Writes the lists, and makes the manifest that names them, which is to be published. The paths of what was written by then are in
    /// `written` whatever happens.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::lake) fn manifest(
        self,
        store: &Store,
        written: &mut Vec<String>,
    ) -> Result<Manifest> {
        let (files, inputs) = (self.files, self.inputs);
        let entries = files.iter().map(|file| (file.clone(), false)).collect();
        let mut lists = vec![];
        let file_lists = next_lists(store, &[], entries, files, &mut lists);
        written.extend(lists.into_iter().map(|part| part.path));
        let (rows, mut input_lists) = (inputs.iter().cloned().map(Ok), vec![]);
        let listed = write_inputs(store, rows, inputs.len() as u64, &mut input_lists);
        written.extend(input_lists.iter().map(|part| part.path.clone()));
        listed?;
        let with = |wanted: &dyn Fn(InputStatus) -> bool| {
            inputs.iter().filter(|row| wanted(row.status)).count() as u64
        };
        Ok(Manifest {
            files: file_lists?,
            inputs: input_lists,
            functions: self.functions,
            derived: self.derived,
            anonymised: self.anonymised,
            summary: Summary {
                inputs: with(&InputStatus::has_rows),
                inputs_failed: with(&|status| status == InputStatus::Failed),
                files_added: files.len() as u64,
                files_removed: 0,
                rows: files.iter().map(|file| file.rows).sum(),
                bytes: files.iter().map(|file| file.bytes).sum(),
            },
            ..Manifest::first(
                self.lake_id,
                self.operation,
                micros(store.time()?),
                self.settings,
                self.range_bytes,
                self.ranges,
            )
        })
    }
}
