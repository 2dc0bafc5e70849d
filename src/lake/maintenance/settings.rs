//! Changing what the site knows: a commit like any other.

use crate::error::{Error, Result};
use crate::lake::version::commit::Change;
use crate::lake::version::site::SiteFile;
use crate::lake::{Lake, Snapshot};

/// What a change of settings did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsChange {
    /// The version with the new settings; None if they were those of the newest.
    pub version: Option<u64>,
    /// Inputs that were read with other settings.
    pub outdated_inputs: OutdatedInputs,
    /// Registered sources that are no longer in the settings.
    pub sources_dropped: Vec<String>,
}

/// Inputs whose rows were read with other zones, mounts or names of programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutdatedInputs {
    /// Logs; `ingest --refresh` reads them again.
    pub logs: u64,
    /// Dumps, whose rows cannot be told from those of other dumps: [`Lake::forget`] takes them back, and then they are ingested again.
    pub dumps: u64,
}

impl Lake {
    /// The inputs that were read with other settings than those of the newest version.
    ///
    /// # Errors
    /// As [`Lake::snapshot`].
    pub fn outdated_inputs(&self) -> Result<OutdatedInputs> {
        let snapshot = self.snapshot(None)?;
        let read_with = snapshot.site()?.reading_hash()?;
        let inputs = snapshot.inputs()?;
        let otherwise = inputs.iter().filter(|row| {
            row.status.has_rows() && row.settings.is_some_and(|settings| settings != read_with)
        });
        let mut found = OutdatedInputs::default();
        for row in otherwise {
            match row.job_id {
                Some(_) => found.logs += 1,
                None => found.dumps += 1,
            }
        }
        Ok(found)
    }

    /// The text of the settings of the newest version, as it was given.
    ///
    /// # Errors
    /// As [`Lake::snapshot`].
    pub fn settings(&self) -> Result<String> {
        Ok(self.manifest(None)?.settings)
    }

    /// Publishes a version with other settings. If `if_version` is given it must be the newest version, which nobody else has changed since it
    /// was looked at.
    ///
    /// # Errors
    /// As [`SiteFile::parse`]; [`Error::Conflict`] if the newest version is another; [`Error::Io`].
    pub fn set_settings(&self, text: &str, if_version: Option<u64>) -> Result<SettingsChange> {
        let site = SiteFile::parse(text)?;
        // An OST that is full today is no reason to refuse another time zone.
        if let Some(root) = self.root()
            && site.place != self.site()?.place
        {
            site.place.check(root)?;
        }
        let mut sources_dropped = vec![];
        let version = self.change(|snapshot| {
            let newest = snapshot.version();
            if let Some(expected) = if_version.filter(|expected| *expected != newest) {
                return Err(Error::Conflict {
                    lake: self.store.show(""),
                    reason: format!(
                        "its newest version is {newest}, not {expected}: look at `iolode lake info --site` again"
                    ),
                });
            }
            let before = snapshot.site()?.source.into_iter();
            let is_gone = |path: &String| !site.source.iter().any(|source| source.path == *path);
            sources_dropped = before.map(|source| source.path).filter(is_gone).collect();
            Ok(changed_settings(snapshot, text))
        })?;
        Ok(SettingsChange {
            version,
            outdated_inputs: self.outdated_inputs()?,
            sources_dropped,
        })
    }
}

fn changed_settings(snapshot: &Snapshot, text: &str) -> Option<Change<'static>> {
    (text != snapshot.manifest.settings).then(|| Change {
        operation: "set",
        settings: Some(text.to_string()),
        ..Change::default()
    })
}
