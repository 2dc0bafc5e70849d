//! A lake whose newest version has lost its manifest: how that is noticed, and what to say of it.
//!
//! The hint names the newest version, and it is written after the manifest. So whoever reads the hint first must find the manifest of that
//! version, or one of a later version. If neither is there the newest version was deleted: readers answer from the newest that is left and
//! say so, and no version is published on top of it before somebody has decided which one to go on from ([`Lake::restore`]).

use super::manifest::{Manifest, hint};
use super::store::Store;
use crate::error::{Error, Result};
use crate::lake::{Lake, Snapshot};
use crate::text::quoted;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;

/// The newest version of a lake, whose manifest is missing. Its text is a warning for who reads an older version instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVersion {
    lake: PathBuf,
    /// The version that is missing.
    pub version: u64,
    /// The newest of those that are there, which is read.
    pub newest: u64,
}

impl MissingVersion {
    fn what(&self) -> String {
        let manifest = Manifest::path(self.version);
        format!("version {} is missing ({manifest})", self.version)
    }

    fn remedy(&self) -> String {
        format!(
            "put that file back, or run `iolode lake restore {} --version {}` to go on without it",
            quoted(&self.lake),
            self.newest
        )
    }
}

impl Display for MissingVersion {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (lake, newest) = (self.lake.display(), self.newest);
        let (what, remedy) = (self.what(), self.remedy());
        write!(
            f,
            "lake {lake}: its newest {what}, answering from version {newest}; {remedy}"
        )
    }
}

impl Lake {
    /// The newest version if its manifest is missing, so that an older one passes for the newest.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn missing_version(&self) -> Result<Option<MissingVersion>> {
        let missing = missing_version(&self.store)?;
        Ok(missing.map(|(version, newest)| MissingVersion {
            lake: self.store.show(""),
            version,
            newest,
        }))
    }

    /// Refuses to change a lake whose newest version is missing: what it held would be lost without a word.
    ///
    /// # Errors
    /// [`Error::Lake`], which says what to do; [`Error::Io`].
    pub(in crate::lake) fn refuse_missing_version(&self) -> Result<()> {
        match self.missing_version()? {
            None => Ok(()),
            Some(missing) => Err(Error::Lake {
                reason: format!(
                    "its newest {}, and nothing may be written on top of version {}: {}",
                    missing.what(),
                    missing.newest,
                    missing.remedy()
                ),
                lake: missing.lake,
            }),
        }
    }

    /// The newest version, for who makes the next one of it.
    ///
    /// # Errors
    /// As [`Lake::snapshot`]; [`Error::Lake`] if a newer one is missing.
    pub(in crate::lake) fn snapshot_to_change(&self) -> Result<Arc<Snapshot>> {
        let snapshot = self.snapshot(None)?;
        self.refuse_missing_version()?;
        Ok(snapshot)
    }
}

/// The version that the hint names and the newest that is there, if that is an older one.
fn missing_version(store: &Store) -> Result<Option<(u64, u64)>> {
    let Some(hinted) = hint(store) else {
        return Ok(None);
    };
    if store.exists(&Manifest::path(hinted.0))? {
        return Ok(None);
    }
    // A client of NFS may remember an older state of the directory than that in which the hint was written.
    store.revalidate(Manifest::DIRECTORY);
    let newest = Manifest::versions(store)?.last().copied();
    let Some(newest) = newest.filter(|newest| *newest < hinted.0) else {
        return Ok(None);
    };
    // While the directory was listed others may have committed and a vacuum may have removed the version: then the hint is another.
    Ok((hint(store) == Some(hinted.clone())).then_some((hinted.0, newest)))
}
