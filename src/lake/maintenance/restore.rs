//! Going back to an older version.

use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::version::commit::Change;
use crate::lake::version::lease::Lease;
use crate::lake::version::manifest::Manifest;
use crate::lake::version::pinned::Version;
use crate::lake::version::snapshot::Snapshot;

impl Lake {
    /// Publishes a version that equals an older one: its files, inputs, ranges, functions and settings. Also where the newest version is
    /// damaged, or files are missing that it names.
    ///
    /// # Errors
    /// [`Error::Lake`] if there is no such version, it is not whole itself, or the lake is a copy whose directories belong to another; [`Error::Conflict`] if somebody else commits meanwhile;
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
        let files = old
            .files()
            .iter()
            .map(|file| (&file.path, Some(file.bytes)));
        let lists = old.manifest.inputs.iter().map(|part| (&part.path, None));
        for (path, bytes) in files.chain(lists) {
            // Their bytes are not read: a lake may have terabytes of them.
            let found = self.store.local(path).and_then(|path| path.metadata().ok());
            let wrong = match (self.store.exists(path)?, bytes.zip(found)) {
                (false, _) => "is missing".to_string(),
                (true, Some((bytes, found))) if found.len() != bytes => {
                    format!(
                        "is damaged: it has {} bytes, {bytes} were written",
                        found.len()
                    )
                }
                (true, _) => continue,
            };
            return Err(refuse(format!(
                "version {version} cannot be restored: {path} {wrong}; `iolode lake history` lists the versions that are there"
            )));
        }
        let newest = Manifest::versions(&self.store)?.last().copied();
        let newest = newest.unwrap_or(version);
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
