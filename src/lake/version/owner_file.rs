//! The file in a directory outside a lake's root that says whose it is.

use crate::error::{Error, Result};
use crate::lake::version::store::{Store, create_directory};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(super) const FILE: &str = "_iolode_lake.json";

/// What a lake's directory says of itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// The lake whose files are in it.
    pub(super) lake_id: String,
    /// The root of that lake, without links.
    pub(super) root: String,
}

impl Owner {
    pub(super) fn new(lake_id: &str, root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        Self {
            lake_id: lake_id.into(),
            root: root.to_string_lossy().into_owned(),
        }
    }

    /// The owner of a directory; None if it names none.
    pub(super) fn read(directory: &Path) -> Result<Option<Result<Self, String>>> {
        let bytes = Store::directory(directory).read(FILE)?;
        let parse = |bytes: &[u8]| {
            serde_json::from_slice(bytes).map_err(|e| format!("{FILE} is damaged: {e}"))
        };
        Ok(bytes.map(|bytes| parse(&bytes)))
    }

    /// The text of the file.
    pub(super) fn text(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|e| Error::columns(FILE, e))
    }

    /// Whether it is the lake that this one was read in; `own` names its root without links.
    pub(super) fn is_at(&self, own: &Self) -> bool {
        let leads_there = |root: PathBuf| root.to_string_lossy() == own.root;
        self.root == own.root || Path::new(&self.root).canonicalize().is_ok_and(leads_there)
    }

    /// Whether its root is the same directory as another's, mounted at two places.
    pub(super) fn is_mounted_at(&self, own: &Self) -> bool {
        let identity = |root: &str| fs::metadata(root).map(|m| (m.dev(), m.ino())).ok();
        let here = identity(&own.root);
        here.is_some() && identity(&self.root) == here
    }
}

/// Notes in a directory, made for it, whose it is, unless it says so already.
pub(in crate::lake) fn claim(directory: &Path, lake_id: &str, root: &Path) -> Result<()> {
    create_directory(directory).map_err(|e| Error::io(directory, "cannot create", e))?;
    let store = Store::directory(directory);
    if !store.exists(FILE)? {
        store.put_if_absent(FILE, &Owner::new(lake_id, root).text()?)?;
    }
    Ok(())
}
