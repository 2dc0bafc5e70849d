//! Going back to an older version.

use super::referenced::{flaw_of_file, flaw_of_list};
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::version::commit::Change;
use crate::lake::version::lease::Lease;
use crate::lake::version::manifest::{Manifest, Unreadable};
use crate::lake::version::pinned::Version;
use crate::lake::version::snapshot::Snapshot;
use crate::text::quoted;

impl Lake {
    /// Publishes a version that equals an older one: its files, inputs, ranges, functions and settings. Also where the newest version is
    /// damaged, or files are missing that it names.
    ///
    /// # Errors
    /// [`Error::Lake`] if there is no such version, it is not whole itself, a newer program made the newest one, or the lake is a copy whose directories belong to another; [`Error::Conflict`] if somebody else commits meanwhile;
    /// [`Error::Io`].
    pub fn restore(&self, version: u64) -> Result<u64> {
        let lease = Lease::take(&self.store)?;
        let old = self.snapshot(Some(version))?;
        let refuse = |reason: String| Error::Lake {
            lake: self.store.show(""),
            reason,
        };
        old.manifest.check_writer(&self.store)?;
        self.check_version(&old)?;
        let flawed = |path: &str, what: &str| {
            refuse(format!(
                "version {version} cannot be restored: {path} {what}; `iolode lake history {}` lists the versions that are there",
                quoted(&self.store.show(""))
            ))
        };
        // A vacuum that runs at the same time may have decided to remove what this version alone names: it leaves what became young before it
        // looks at it once more, which is right before it removes it.
        for file in old.files() {
            if let Some(what) = flaw_of_file(&self.store, file)? {
                return Err(flawed(&file.path, &what));
            }
            self.store.touch(&file.path)?;
        }
        for list in old.manifest.inputs.iter().chain(&old.manifest.files) {
            if let Some(what) = flaw_of_list(&self.store, list)? {
                return Err(flawed(&list.path, what));
            }
            self.store.touch(&list.path)?;
        }
        let newest = Manifest::versions(&self.store)?.last().copied();
        let newest = newest.unwrap_or(version);
        match Manifest::look(&self.store, newest)? {
            Ok(manifest) => manifest.map_or(Ok(()), |newest| newest.check_writer(&self.store))?,
            // What another program made is whole, and only that program may go on from it.
            Err(Unreadable::Format(what)) => {
                return Err(refuse(format!("version {newest}: {what}")));
            }
            Err(Unreadable::Damaged(_)) => {}
        }
        // The next number is that after the newest version, which may be damaged.
        let base = Manifest {
            version: newest,
            commit_id: String::new(),
            ..old.manifest.clone()
        };
        let base = Snapshot::of(Version::open(self.store.clone(), base)?)?;
        let change = Change {
            operation: "restore",
            file_lists: Some((old.manifest.files.clone(), old.manifest.summary.clone())),
            lease: Some(&lease),
            ..Change::default()
        };
        self.commit(&base, change)?
            .ok_or_else(|| self.conflict("restore", 1))
    }
}
