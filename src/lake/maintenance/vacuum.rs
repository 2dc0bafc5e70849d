//! Removing what no kept version names.

use super::check::present;
use super::referenced::Referenced;
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::version::lease::Leases;
use crate::lake::version::manifest::{Manifest, version_of};
use crate::lake::version::time::micros;
use chrono::{DateTime, SecondsFormat};
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
    /// Files that are old enough and stay because somebody who writes holds a lease.
    pub held: u64,
    /// When the leases that hold now end if nobody renews them: microseconds since 1970.
    pub held_until: Option<i64>,
}

impl Lake {
    /// Removes old versions, and the files that only they named or that nobody names. Readers of a removed version fail; those
    /// of a kept one do not notice.
    ///
    /// Time is that of the file system. What was written since the start of a lease that holds stays, whatever its age.
    ///
    /// # Errors
    /// [`Error::Lake`] if a kept version cannot be read, or the newest is not whole, as far as that is seen without reading its data files: then
    /// nothing is removed.
    /// [`Error::Io`].
    pub fn vacuum(&self, options: &VacuumOptions) -> Result<VacuumReport> {
        self.check_owner()?;
        let store = self.store();
        let now = store.time()?;
        let since = |age: Duration| {
            micros(now).saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX))
        };
        let manifests = store.list(Manifest::DIRECTORY)?;
        let mut versions: Vec<(u64, i64)> = manifests
            .iter()
            .filter_map(|entry| Some((version_of(&entry.path)?, micros(entry.modified))))
            .collect();
        versions.sort_unstable();
        // A version was the newest until the next one came. What goes is the oldest ones, without a gap: the newest is found by
        // counting up.
        let horizon = since(options.keep_versions);
        let is_old = |next: &(u64, i64)| next.1 <= horizon;
        let gone = versions
            .iter()
            .skip(1)
            .take_while(|next| is_old(next))
            .count();
        let (gone, keep) = versions.split_at(gone);
        let refuse = |reason: &str| Error::Lake {
            lake: store.show(""),
            reason: reason.into(),
        };
        let mut named = Referenced::default();
        for (at, (version, _)) in keep.iter().enumerate() {
            let added = named.add(store, *version);
            added.map_err(|e| self.unreadable(e, *version, keep.get(at + 1)))?;
        }
        if let Some(flaw) = named.flaw_of_newest(store)? {
            return Err(refuse(&format!(
                "version {}: {flaw}; nothing was removed",
                keep.last().map_or(0, |(version, _)| *version)
            )));
        }
        // Directories outside the lake are known from the files of every version that is still there.
        let mut all = named.clone();
        for (version, _) in gone {
            let _ = all.add(store, *version);
        }
        self.check_placed(all.placed())?;
        let mut report = VacuumReport {
            versions: gone.iter().map(|(version, _)| *version).collect(),
            ..VacuumReport::default()
        };
        let leases = Leases::read(store, now)?;
        report.held_until = leases.until;
        let old_enough = since(options.min_age);
        let is_held = |modified: i64| leases.oldest.is_some_and(|start| start <= modified);
        let mut old = vec![];
        for entry in present(self, all.placed())? {
            let modified = micros(entry.modified);
            if named.contains(store, &entry.path) || modified > old_enough {
                continue;
            }
            if is_held(modified) {
                report.held += 1;
            } else {
                report.bytes += entry.bytes;
                report.files.push(entry.path.clone());
                old.push(entry);
            }
        }
        report.files.sort();
        if options.dry_run {
            return Ok(report);
        }
        for path in &leases.expired {
            store.delete(path)?;
        }
        // Manifests go first: a version without all its files must not be seen.
        for version in &report.versions {
            store.delete(&Manifest::path(*version))?;
        }
        let mut newest = keep.last().map_or(0, |(version, _)| *version);
        for entry in old {
            // Others may have committed since, and whoever is about to makes his files young.
            while store.exists(&Manifest::path(newest + 1))? {
                newest += 1;
                named.add(store, newest)?;
            }
            let untouched = store.modified(&entry.path)? == Some(entry.modified);
            if untouched && !named.contains(store, &entry.path) {
                store.delete(&entry.path)?;
            } else {
                report.files.retain(|path| *path != entry.path);
                report.bytes -= entry.bytes;
            }
        }
        Ok(report)
    }

    /// The error of a version that is to be kept and cannot be read: nobody knows which files it needs. `next` is the version that followed
    /// it, with its time.
    fn unreadable(&self, error: Error, version: u64, next: Option<&(u64, i64)>) -> Error {
        let (Error::Lake { lake, reason }, Some((next, time))) = (&error, next) else {
            return error;
        };
        // What to do instead of reading it stands behind.
        let what = reason.split("; ").next().unwrap_or(reason);
        let time = DateTime::from_timestamp_micros(*time).map_or_else(String::new, |time| {
            time.to_rfc3339_opts(SecondsFormat::Secs, true)
        });
        Error::Lake {
            lake: lake.clone(),
            reason: format!(
                "{what} ({}), so nobody knows which files it needs, and nothing was removed; version {next} superseded it at {time}: \
                 a --keep that does not reach back to then removes it",
                Manifest::path(version)
            ),
        }
    }
}
