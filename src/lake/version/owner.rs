//! Whose the directories outside a lake's root are that hold its files.
//!
//! A copy of the root names the same directories as the original, and a vacuum of the copy would delete the original's files. So each
//! directory holds a file with the lake's id and the path of its root, which is written before the first data file. Where it names
//! another root the lake can be read and not changed.

use super::list_file::DataFile;
use super::manifest::Manifest;
use super::owner_file::{FILE, Owner};
use super::pinned::Version;
use super::site::SiteFile;
use super::snapshot::Snapshot;
use super::store::Store;
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::maintenance::referenced::{Referenced, outside};
use crate::text::quoted;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What [`Lake::moved`] recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Directories outside the root that hold its files.
    pub directories: u64,
    /// The root that they named before; None if they named this one or none.
    pub from: Option<PathBuf>,
}

impl Lake {
    /// Refuses to change a lake whose directories belong to another root, as those of a copied one do, or whose newest version is missing.
    /// Each operation that writes calls it first.
    ///
    /// # Errors
    /// [`Error::Lake`], which says what to do; [`Error::Io`].
    pub(in crate::lake) fn check_owner(&self) -> Result<()> {
        if self.root().is_none() {
            return Ok(());
        }
        let manifest = self.manifest(None)?;
        if manifest.lake_id != self.lake_id {
            return Err(self.refuse("another lake was made there meanwhile; open it anew"));
        }
        let newest = Version::open(self.store.clone(), manifest)?;
        self.refuse_missing_version()?;
        self.check_directories(&newest.read_files()?)
    }

    /// As [`Lake::check_owner`], of the directories of these files too.
    pub(in crate::lake) fn check_directories(&self, files: &[DataFile]) -> Result<()> {
        let of_files = files.iter().filter_map(|file| outside(&file.path));
        self.check_placed(&of_files.collect())
    }

    /// As [`Lake::check_owner`], of these directories of data files too.
    pub(in crate::lake) fn check_placed(&self, placed: &BTreeSet<PathBuf>) -> Result<()> {
        self.check_places(&self.site()?, placed)
    }

    /// As [`Lake::check_owner`], for who goes by a version that need not be the newest, which may be damaged.
    pub(in crate::lake) fn check_version(&self, snapshot: &Snapshot) -> Result<()> {
        let of_files = snapshot.files().iter();
        let placed = of_files.filter_map(|file| outside(&file.path)).collect();
        self.check_places(&snapshot.site()?, &placed)
    }

    fn check_places(&self, site: &SiteFile, placed: &BTreeSet<PathBuf>) -> Result<()> {
        let Some(root) = self.root() else {
            return Ok(());
        };
        let own = Owner::new(&self.lake_id, root);
        for directory in self.directories_of(site, placed) {
            let used = || placed.contains(&directory);
            match Owner::read(&directory)? {
                None if !directory.is_dir() && used() => {
                    return Err(self.refuse_missing(&directory));
                }
                None if is_empty(&directory)? => {}
                None => {
                    let what = format!("{} does not say whose it is", directory.display());
                    return Err(self.refuse_unless_moved(&what));
                }
                Some(Err(what)) => {
                    let what = format!("{}/{what}", directory.display());
                    return Err(self.refuse_unless_moved(&what));
                }
                Some(Ok(owner)) if owner.lake_id != self.lake_id => {
                    let what = format!("{}/{FILE} is of another lake", directory.display());
                    return Err(self.refuse_unless_moved(&what));
                }
                Some(Ok(owner)) if owner.is_at(&own) => {}
                Some(Ok(owner)) => return Err(self.refuse_other_root(&owner, &own)),
            }
        }
        Ok(())
    }

    /// The directories outside the lake's root, or placed inside it, where its files lie or will lie: those of its placement, and
    /// those of `placed` that are its own, whose placement may have been another.
    ///
    /// # Errors
    /// As [`Lake::site`].
    pub(in crate::lake) fn directories(
        &self,
        placed: &BTreeSet<PathBuf>,
    ) -> Result<BTreeSet<PathBuf>> {
        Ok(self.directories_of(&self.site()?, placed))
    }

    fn directories_of(&self, site: &SiteFile, placed: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let of_settings = site.place.directories(&self.lake_id);
        let is_ours = |path: &&PathBuf| path.file_name().is_some_and(|name| name == &*self.lake_id);
        of_settings
            .into_iter()
            .chain(placed.iter().filter(is_ours).cloned())
            .collect()
    }

    /// Records the path of a lake that was moved in the directories that hold its files.
    ///
    /// # Errors
    /// [`Error::Lake`] if a lake of the same id is still where it was, which makes this one a copy, or a directory is not there.
    /// [`Error::Io`].
    pub fn moved(&self) -> Result<Moved> {
        let Some(root) = self.root() else {
            return Ok(Moved::default());
        };
        let own = Owner::new(&self.lake_id, root);
        let (mut directories, mut report) = (vec![], Moved::default());
        for (directory, used) in self.all_directories()? {
            match Owner::read(&directory)? {
                None if !directory.is_dir() && used => return Err(self.refuse_missing(&directory)),
                None if is_empty(&directory)? => continue,
                Some(Ok(owner)) if owner.lake_id == self.lake_id && !owner.is_at(&own) => {
                    if !owner.is_mounted_at(&own) {
                        self.check_that_it_left(&owner)?;
                    }
                    report.from = Some(owner.root.into());
                }
                _ => {}
            }
            directories.push(directory);
        }
        for directory in &directories {
            Store::directory(directory).replace(FILE, &own.text()?)?;
        }
        report.directories = directories.len() as u64;
        Ok(report)
    }

    /// The directories of all its versions, each with whether the newest has files there.
    fn all_directories(&self) -> Result<Vec<(PathBuf, bool)>> {
        let newest = self.snapshot(None)?;
        let of_files = newest.files().iter().filter_map(|file| outside(&file.path));
        let used: BTreeSet<PathBuf> = of_files.collect();
        let mut named = Referenced::default();
        for version in Manifest::versions(&self.store)? {
            let _ = named.add(&self.store, version);
        }
        let directories = self.directories(named.placed())?.into_iter();
        Ok(directories
            .map(|path| (path.clone(), used.contains(&path)))
            .collect())
    }

    /// Refuses if a lake of this id is at another root.
    fn check_that_it_left(&self, owner: &Owner) -> Result<()> {
        match holds(Path::new(&owner.root), &self.lake_id)? {
            false => Ok(()),
            true => Err(self.refuse(&format!(
                "the lake that it is a copy of is still at {}; run `iolode lake copy` to make a copy of that",
                owner.root
            ))),
        }
    }

    fn refuse_other_root(&self, owner: &Owner, own: &Owner) -> Error {
        let shown = self.shown_root();
        self.refuse(&match owner.is_mounted_at(own) {
            true => format!(
                "its directories name it by another path, {}; use that one, or run `iolode lake moved {shown}` to go by this one",
                owner.root
            ),
            false => format!(
                "its directories belong to the lake at {}; run `iolode lake moved {shown}` if it was moved, or `iolode lake copy` to make a copy",
                owner.root
            ),
        })
    }

    fn refuse_unless_moved(&self, what: &str) -> Error {
        let shown = self.shown_root();
        self.refuse(&format!(
            "{what}; if no copy of the lake uses it, run `iolode lake moved {shown}`"
        ))
    }

    fn refuse_missing(&self, directory: &Path) -> Error {
        self.refuse(&format!(
            "its directory {} is not there; is its disk mounted?",
            directory.display()
        ))
    }

    pub(in crate::lake) fn refuse(&self, reason: &str) -> Error {
        Error::Lake {
            lake: self.root().unwrap_or(Path::new("in memory")).into(),
            reason: reason.into(),
        }
    }

    fn shown_root(&self) -> String {
        self.root().map_or_else(String::new, quoted)
    }
}

/// Whether a directory holds a lake of that id. A manifest that is damaged says nothing; one of a newer program has an id too.
fn holds(root: &Path, lake_id: &str) -> Result<bool> {
    #[derive(Deserialize)]
    struct Id {
        lake_id: String,
    }
    #[derive(Deserialize)]
    struct Written {
        manifest: Id,
    }
    let there = root.try_exists();
    if !there.map_err(|e| Error::io(root, "cannot look for", e))? {
        return Ok(false);
    }
    let store = Store::directory(root);
    for version in Manifest::versions(&store)?.into_iter().rev() {
        let bytes = store.read(&Manifest::path(version))?;
        let written = bytes.and_then(|bytes| serde_json::from_slice::<Written>(&bytes).ok());
        if let Some(Written { manifest }) = written {
            return Ok(manifest.lake_id == lake_id);
        }
    }
    Ok(false)
}

/// Whether nothing is in a directory, or there is none.
fn is_empty(directory: &Path) -> Result<bool> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(true),
        Err(e) => Err(Error::io(directory, "cannot list", e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lake::CreateOptions;

    #[test]
    fn a_root_that_is_mounted_at_two_places_is_told_from_a_copy() {
        let directory = tempfile::tempdir().unwrap();
        let (root, link) = (directory.path().join("lake"), directory.path().join("link"));
        let lake = Lake::create(&root, &CreateOptions::default()).unwrap();
        // The link stands for the other mount point: it is not resolved here.
        std::os::unix::fs::symlink(&root, &link).unwrap();
        let at = |root: &Path| Owner {
            lake_id: lake.id().into(),
            root: root.to_string_lossy().into_owned(),
        };
        assert!(at(&link).is_mounted_at(&at(&root)));
        assert!(!at(directory.path()).is_mounted_at(&at(&root)));
        assert!(!at(&directory.path().join("none")).is_mounted_at(&at(&root)));
        let refused = lake.refuse_other_root(&at(&link), &at(&root));
        let expected = format!(
            "lake {0}: its directories name it by another path, {1}; use that one, or run `iolode lake moved {0}` to go by this one",
            root.display(),
            link.display()
        );
        assert_eq!(refused.to_string(), expected);
    }
}
