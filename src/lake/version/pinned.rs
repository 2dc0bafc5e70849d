//! One version of a lake, of which a question reads what it needs.

use super::file_index::FileIndex;
use super::input_index::InputIndex;
use super::list_file::{DataFile, InputRow, files_to_batch, inputs_to_batch};
use super::manifest::{Manifest, Unreadable};
use super::site::SiteFile;
use super::store::Store;
use crate::error::Result;
use crate::table::{TableBuilder, table};
use arrow::record_batch::RecordBatch;

/// One version of a lake.
#[derive(Debug)]
pub struct Version {
    pub(in crate::lake) store: Store,
    pub(in crate::lake) manifest: Manifest,
    index: FileIndex,
}

impl Version {
    pub(in crate::lake) fn open(store: Store, manifest: Manifest) -> Result<Self> {
        let index = FileIndex::open(&store, &manifest.files, manifest.splits())?;
        Ok(Self {
            store,
            manifest,
            index,
        })
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
        self.index.splits()
    }

    /// All data files, by table, range and path.
    ///
    /// # Errors
    /// [`crate::Error::Columns`] or [`crate::Error::Invalid`] if their list is damaged.
    pub fn read_files(&self) -> Result<Vec<DataFile>> {
        self.index.all()
    }

    /// The data files of a table; of those cut by job id the ones of `ranges`, ascending, if they are given.
    ///
    /// # Errors
    /// As [`Version::read_files`].
    pub fn files_of(&self, table: &str, ranges: Option<&[usize]>) -> Result<Vec<DataFile>> {
        self.index.of(table, ranges)
    }

    /// Whether the files of some ranges take less to read than all.
    pub fn has_pages(&self) -> bool {
        self.index.has_pages()
    }

    /// Bytes of the data files of each range, over all tables.
    ///
    /// # Errors
    /// As [`Version::read_files`].
    pub fn range_bytes(&self) -> Result<Vec<u64>> {
        self.index.range_bytes()
    }

    /// Every input by path, as its newest row says.
    ///
    /// # Errors
    /// [`crate::Error::Lake`] or [`crate::Error::Columns`] if a list is damaged.
    pub fn inputs(&self) -> Result<Vec<InputRow>> {
        self.input_index().rows().collect()
    }

    /// The newest row of each input, by path.
    pub(in crate::lake) fn input_index(&self) -> InputIndex {
        InputIndex::new(&self.store, &self.manifest.inputs)
    }

    /// As [`Version::input_index`], of paths, content hashes and whether they were taken back alone.
    pub(in crate::lake) fn input_keys(&self) -> InputIndex {
        InputIndex::keys(&self.store, &self.manifest.inputs)
    }

    /// As [`Version::input_index`], of the lists that have rows without a time: those of what could not be listed, and few others.
    pub(in crate::lake) fn undated_inputs(&self) -> InputIndex {
        let lists = self.manifest.inputs.iter();
        InputIndex::new(&self.store, lists.filter(|list| list.undated > 0))
    }

    /// The rows of `lake_input`.
    ///
    /// # Errors
    /// As [`Version::inputs`].
    pub fn input_batch(&self) -> Result<RecordBatch> {
        inputs_to_batch(&self.inputs()?)
    }

    /// The rows of `lake_file`.
    ///
    /// # Errors
    /// As [`Version::inputs`].
    pub fn file_batch(&self) -> Result<RecordBatch> {
        files_to_batch(&self.read_files()?, self.splits())
    }

    /// What the site knew.
    ///
    /// # Errors
    /// As [`SiteFile::parse`].
    pub fn site(&self) -> Result<SiteFile> {
        SiteFile::parse(&self.manifest.settings)
    }

    /// The rows of `lake_mount`: the mounts in the settings of this version.
    ///
    /// # Errors
    /// As [`SiteFile::parse`], and [`crate::Error::Columns`] if they do not fit the schema.
    pub fn mount_batch(&self) -> Result<RecordBatch> {
        let mut builder = TableBuilder::new(table("lake_mount")?);
        for mount in self.site()?.mount {
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

    /// The rows of `lake_version`: this version and those before it that can still be read.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn version_batch(&self) -> Result<RecordBatch> {
        history(&self.store, self.version()).map(|(rows, _)| rows)
    }
}

/// The rows of `lake_version` up to a version, and the versions whose manifests are there and cannot be read.
pub(in crate::lake) fn history(
    store: &Store,
    last: u64,
) -> Result<(RecordBatch, Vec<(u64, Unreadable)>)> {
    let mut builder = TableBuilder::new(table("lake_version")?);
    let mut unreadable = vec![];
    for version in Manifest::versions(store)? {
        if version > last {
            break;
        }
        let manifest = match Manifest::look(store, version)? {
            Ok(Some(manifest)) => manifest,
            Ok(None) => continue,
            Err(why) => {
                unreadable.push((version, why));
                continue;
            }
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
    Ok((builder.finish()?, unreadable))
}
