//! Removing what no kept version names.

use super::check::{named_by_versions, present, real};
use super::manifest::Manifest;
use super::{Lake, micros, now};
use crate::error::{Error, Result};
use std::time::Duration;

/// What a vacuum keeps.
#[derive(Clone, Debug)]
pub struct VacuumOptions {
    /// Versions that were the newest within this time stay; the newest always does.
    pub keep_versions: Duration,
    /// Files younger than this stay, named or not: somebody may be writing them.
    pub min_age: Duration,
    /// Only say what would be removed.
    pub dry_run: bool,
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self {
            keep_versions: Duration::from_secs(7 * 86_400),
            min_age: Duration::from_secs(86_400),
            dry_run: false,
        }
    }
}

/// What a vacuum removed, or would have.
#[derive(Clone, Debug, Default)]
pub struct VacuumReport {
    /// Versions that can no longer be read.
    pub versions: Vec<u64>,
    /// Files, in the order of their names.
    pub files: Vec<String>,
    /// Their bytes.
    pub bytes: u64,
}

impl Lake {
    /// Removes old versions, and the files that only they named or that nobody names. Readers of a removed version fail; those
    /// of a kept one do not notice.
    ///
    /// # Errors
    /// [`Error::Lake`] if a kept version cannot be read: then nothing is removed. [`Error::Io`].
    pub fn vacuum(&self, options: &VacuumOptions) -> Result<VacuumReport> {
        let store = self.store();
        let versions = Manifest::versions(store)?;
        let since = |age: Duration| {
            now().saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX))
        };
        let horizon = since(options.keep_versions);
        // A version was the newest until the next one came. What goes is the oldest ones, without a gap whatever the clocks said:
        // the newest is found by counting up.
        let mut gone = 0;
        while let Some(next) = versions.get(gone + 1) {
            match Manifest::read(store, *next)? {
                Some(manifest) if manifest.time >= horizon => break,
                _ => gone += 1,
            }
        }
        let (gone, keep) = versions.split_at(gone);
        let mut wrong = vec![];
        let named = named_by_versions(store, keep, &mut wrong)?;
        if let Some(finding) = wrong.first() {
            let reason = format!("{}: {}; nothing was removed", finding.path, finding.what);
            return Err(Error::Lake {
                lake: store.show(""),
                reason,
            });
        }
        // Directories outside the lake are known from the files of every version that is still there.
        let mut placed = vec![];
        for version in &versions {
            if let Ok(snapshot) = self.snapshot(Some(*version)) {
                placed.extend_from_slice(snapshot.files());
            }
        }
        let mut report = VacuumReport {
            versions: gone.to_vec(),
            ..VacuumReport::default()
        };
        let young = since(options.min_age);
        for entry in present(self, &placed)? {
            if !named.contains(&real(store, &entry.path)) && micros(entry.modified) < young {
                report.bytes += entry.bytes;
                report.files.push(entry.path);
            }
        }
        report.files.sort();
        // Manifests go first: a version without all its files must not be seen.
        if !options.dry_run {
            for version in &report.versions {
                store.delete(&Manifest::path(*version))?;
            }
            for path in &report.files {
                store.delete(path)?;
            }
        }
        Ok(report)
    }
}
