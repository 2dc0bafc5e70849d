//! What versions reference: a file that none names is unreferenced.

use crate::error::{Error, Result};
use crate::lake::version::file_list::FileList;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::manifest::{ListFile, Manifest, go_back};
use crate::lake::version::store::Store;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Files and lists that some versions name. Each list is read once, so that it takes memory for each file, not for each file of each
/// version.
#[derive(Clone, Default)]
pub(in crate::lake) struct Referenced {
    /// Hashes of the paths of data files and lists.
    paths: HashSet<u128>,
    /// Lists that were read.
    read: HashSet<String>,
    /// Directories of data files outside the lake, with the name of the lake at their end.
    placed: BTreeSet<PathBuf>,
    /// The newest version that was added.
    newest: Option<Manifest>,
}

impl Referenced {
    /// Adds what a version names; nothing if there is no such version.
    ///
    /// # Errors
    /// [`Error::Lake`] if its manifest or a list cannot be read.
    pub(in crate::lake) fn add(&mut self, store: &Store, version: u64) -> Result<()> {
        let Some(manifest) = Manifest::read(store, version)? else {
            return Ok(());
        };
        // Of the first version the files that are gone by then are left out. What later ones add stays until its list is merged.
        let first = self.read.is_empty();
        let mut gone = HashSet::new();
        for part in manifest.inputs.iter().chain(&manifest.files) {
            self.paths.insert(hash(store, &part.path));
        }
        for part in manifest.files.iter().rev() {
            if !self.read.insert(part.path.clone()) {
                continue;
            }
            for (file, is_gone) in FileList::open(store, part)?.all()? {
                let path = hash(store, &file.path);
                if is_gone {
                    gone.insert(path);
                } else if !first || !gone.contains(&path) {
                    self.paths.insert(path);
                    self.placed.extend(outside(&file.path));
                }
            }
        }
        for part in &manifest.inputs {
            if !store.exists(&part.path)? {
                return Err(Error::Lake {
                    lake: store.show(""),
                    reason: format!(
                        "version {version}: {} is missing; {}",
                        part.path,
                        go_back(store, |manifest| !manifest.has_list(&part.path))
                    ),
                });
            }
        }
        if self
            .newest
            .as_ref()
            .is_none_or(|newest| newest.version < version)
        {
            self.newest = Some(manifest);
        }
        Ok(())
    }

    /// Whether a version names it.
    pub(in crate::lake) fn contains(&self, store: &Store, path: &str) -> bool {
        self.paths.contains(&hash(store, path))
    }

    /// The directories outside the lake in which data files lie.
    pub(in crate::lake) fn placed(&self) -> &BTreeSet<PathBuf> {
        &self.placed
    }

    /// What is wrong with the newest version and what to do, as far as that is seen without reading its data files; None if nothing is.
    ///
    /// # Errors
    /// [`Error::Io`], and as [`Referenced::add`].
    pub(in crate::lake) fn flaw_of_newest(&self, store: &Store) -> Result<Option<String>> {
        let Some(newest) = &self.newest else {
            return Ok(None);
        };
        for list in &newest.inputs {
            if let Some(what) = flaw_of_list(store, list)? {
                let remedy = go_back(store, |manifest| !manifest.has_list(&list.path));
                return Ok(Some(format!("{} {what}; {remedy}", list.path)));
            }
        }
        let version = crate::lake::version::pinned::Version::open(store.clone(), newest.clone())?;
        for file in version.read_files()? {
            if let Some(what) = flaw_of_file(store, &file)? {
                let remedy = go_back(store, |manifest| manifest.version < file.version);
                return Ok(Some(format!("{} {what}; {remedy}", file.path)));
            }
        }
        Ok(None)
    }
}

/// What is wrong with a data file, whose bytes are not read: a lake may have terabytes of them.
pub(in crate::lake) fn flaw_of_file(store: &Store, file: &DataFile) -> Result<Option<String>> {
    if !store.exists(&file.path)? {
        return Ok(Some("is missing".into()));
    }
    let found = store.local(&file.path).map(|path| {
        let found = path.metadata();
        found.map_err(|e| Error::io(path, "cannot look for", e))
    });
    let found = found
        .transpose()?
        .map(|found| found.len())
        .filter(|found| *found != file.bytes);
    Ok(found.map(|found| {
        format!(
            "is damaged: it has {found} bytes, {} were written",
            file.bytes
        )
    }))
}

/// What is wrong with a list.
pub(in crate::lake) fn flaw_of_list(
    store: &Store,
    list: &ListFile,
) -> Result<Option<&'static str>> {
    Ok(match store.hash(&list.path)? {
        None => Some("is missing"),
        Some(found) if found == list.checksum => None,
        Some(_) => Some("is damaged: its bytes are not those that were written"),
    })
}

/// One number for each file, whatever way leads to it.
fn hash(store: &Store, path: &str) -> u128 {
    xxh3_128(real(store, path).as_os_str().as_encoded_bytes())
}

/// The directory of a lake's files in a directory of its placement; None of a path below the lake.
pub(in crate::lake) fn outside(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let directory = path.is_absolute().then(|| path.ancestors().nth(2));
    directory.flatten().map(Path::to_path_buf)
}

/// One name for each file, whatever way leads to it: a directory of a placement may lie inside the lake, or behind a link.
pub(in crate::lake) fn real(store: &Store, path: &str) -> PathBuf {
    let shown = store.show(path);
    shown.canonicalize().unwrap_or(shown)
}
