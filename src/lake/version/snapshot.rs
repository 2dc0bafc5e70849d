//! One version of a lake, read once and then fixed.

use super::list_file::DataFile;
use super::manifest::Manifest;
use super::pinned::Version;
use super::store::Store;
use crate::error::Result;
use std::ops::Deref;

/// One version of a lake with all its data files, which whoever makes the next one has to know.
#[derive(Debug)]
pub struct Snapshot {
    version: Version,
    files: Vec<DataFile>,
}

impl Snapshot {
    pub(in crate::lake) fn load(store: Store, manifest: Manifest) -> Result<Self> {
        Self::of(Version::open(store, manifest)?)
    }

    /// A version with all its files.
    pub(in crate::lake) fn of(version: Version) -> Result<Self> {
        let files = version.read_files()?;
        Ok(Self { version, files })
    }

    /// All data files, by table, range and path.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }
}

impl Deref for Snapshot {
    type Target = Version;

    fn deref(&self) -> &Version {
        &self.version
    }
}
