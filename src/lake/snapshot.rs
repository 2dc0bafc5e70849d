//! One version of a lake, read once and then fixed.

use super::manifest::{Manifest, Part};
use super::parts::{
    DataFile, InputRow, batch_to_files, batch_to_inputs, files_to_batch, inputs_to_batch,
    look_at_inputs, read_part,
};
use super::site::SiteFile;
use super::store::Store;
use crate::error::Result;
use crate::table::{TableBuilder, table};
use arrow::record_batch::RecordBatch;
use std::collections::HashMap;
use std::sync::Arc;

/// One version of a lake.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) store: Store,
    pub(super) manifest: Manifest,
    files: Vec<DataFile>,
}

impl Snapshot {
    pub(super) fn load(store: Store, manifest: Manifest) -> Result<Self> {
        let mut files = vec![];
        if let Some(part) = &manifest.files {
            for batch in read_part(&store, part)? {
                batch_to_files(&batch?, &mut files)?;
            }
        }
        Ok(Self {
            store,
            manifest,
            files,
        })
    }

    /// This version as if its inputs stood in other lists.
    pub(super) fn with_inputs(&self, inputs: Vec<Part>) -> Result<Self> {
        let manifest = Manifest {
            inputs,
            ..self.manifest.clone()
        };
        Self::load(self.store.clone(), manifest)
    }

    /// Number of the version.
    pub fn version(&self) -> u64 {
        self.manifest.version
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the lake's bytes lie.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Job ids at which a new range begins: range i holds `splits[i - 1] <= job_id < splits[i]`.
    pub fn splits(&self) -> &[i64] {
        &self.manifest.splits
    }

    /// All data files.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }

    /// Every input by path, as its newest row says.
    ///
    /// # Errors
    /// [`crate::Error::Lake`] or [`crate::Error::Columns`] if a list is damaged.
    pub fn inputs(&self) -> Result<Vec<InputRow>> {
        let (mut rows, mut places): (Vec<InputRow>, HashMap<Arc<str>, usize>) =
            (vec![], HashMap::new());
        self.each_input(|row| match places.get(&row.path) {
            Some(at) if rows[*at].version > row.version => {}
            Some(at) => rows[*at] = row,
            None => {
                places.insert(row.path.clone(), rows.len());
                rows.push(row);
            }
        })?;
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(rows)
    }

    /// Every row of every list of inputs, replaced ones included.
    pub(super) fn each_input(&self, mut each: impl FnMut(InputRow)) -> Result<()> {
        for part in &self.manifest.inputs {
            for batch in read_part(&self.store, part)? {
                batch_to_inputs(&batch?, &mut each)?;
            }
        }
        Ok(())
    }

    /// As [`Snapshot::each_input`], for a look at all of them: path, version, content hash, and the row if it is wanted.
    pub(super) fn look_at_inputs(
        &self,
        mut each: impl FnMut(&str, u64, Option<i64>, &dyn Fn() -> InputRow),
    ) -> Result<()> {
        for part in &self.manifest.inputs {
            for batch in read_part(&self.store, part)? {
                look_at_inputs(&batch?, &mut each)?;
            }
        }
        Ok(())
    }

    /// The rows of `lake_input`.
    ///
    /// # Errors
    /// As [`Snapshot::inputs`].
    pub fn input_batch(&self) -> Result<RecordBatch> {
        inputs_to_batch(&self.inputs()?)
    }

    /// The rows of `lake_file`.
    ///
    /// # Errors
    /// [`crate::Error::Columns`] if they do not fit the schema.
    pub fn file_batch(&self) -> Result<RecordBatch> {
        files_to_batch(&self.files, self.splits())
    }

    /// The rows of `lake_mount`: the mounts of `site.toml` as it is now, whatever the version.
    ///
    /// # Errors
    /// As [`SiteFile::read`], and [`crate::Error::Columns`] if they do not fit the schema.
    pub fn mount_batch(&self) -> Result<RecordBatch> {
        let mut builder = TableBuilder::new(table("lake_mount")?);
        for mount in SiteFile::read(&self.store)?.mount {
            builder.column(0).utf8().append_value(&mount.path);
            builder.column(1).utf8().append_value(&mount.fs);
            builder.column(2).utf8().append_option(mount.lmt.as_deref());
            let (size, count) = mount.stripe();
            let osts = mount.osts.map(String::from);
            builder.column(3).utf8().append_option(osts);
            builder.column(4).int64().push(size);
            builder.column(5).int64().push(count);
        }
        builder.finish()
    }

    /// The rows of `lake_version`: this version and those before it that are still there.
    ///
    /// # Errors
    /// [`crate::Error::Lake`] if a manifest is damaged.
    pub fn version_batch(&self) -> Result<RecordBatch> {
        let mut builder = TableBuilder::new(table("lake_version")?);
        for version in Manifest::versions(&self.store)? {
            if version > self.version() {
                break;
            }
            let Some(manifest) = Manifest::read(&self.store, version)? else {
                continue;
            };
            let number = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
            builder.column(0).int64().push(number(version));
            builder.column(1).int64().push(manifest.parent.map(number));
            builder.column(2).timestamp().push(manifest.time);
            builder.column(3).utf8().append_value(&manifest.operation);
            let summary = &manifest.summary;
            let figures = [
                summary.inputs,
                summary.inputs_failed,
                summary.files_added,
                summary.files_removed,
                summary.rows,
                summary.bytes,
            ];
            for (at, figure) in figures.into_iter().enumerate() {
                builder.column(4 + at).int64().push(number(figure));
            }
        }
        builder.finish()
    }
}
