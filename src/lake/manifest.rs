//! The manifest of one version: which files hold the lake, and where the job ids are cut.

use super::function::UserFunction;
use super::store::Store;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Format of manifests that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;
const DIRECTORY: &str = "_iolode/manifest";
const HINT: &str = "_iolode/_last";

/// One version of a lake. Written once, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of this file.
    pub format: u32,
    /// The lake, the same in all its versions.
    pub lake_id: String,
    /// Number of the version, from 1.
    pub version: u64,
    /// The version that it was made from; None for the first.
    pub parent: Option<u64>,
    /// Microseconds since 1970, UTC.
    pub time: i64,
    /// What made it: `create`, `ingest`, ..
    pub operation: String,
    /// Version of each table's schema when it was written.
    pub schema_versions: BTreeMap<String, u32>,
    /// Bytes of Parquet that a range should hold over all tables.
    pub range_bytes: u64,
    /// Job ids at which a new range begins, ascending: range i holds `splits[i - 1] <= job_id < splits[i]`.
    pub splits: Vec<i64>,
    /// The target on which each range lies; one more than there are splits.
    pub osts: Vec<Option<i64>>,
    /// The list of all data files; None if there are none.
    pub files: Option<Part>,
    /// Lists of inputs; of several rows for one path the one with the highest version counts.
    pub inputs: Vec<Part>,
    /// Users' own functions, in the order in which they were made; a manifest without the field has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<UserFunction>,
    /// Figures of this version for `lake_version`.
    pub summary: Summary,
}

/// An immutable list in Parquet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Where it lies.
    pub path: String,
    /// Rows.
    pub rows: u64,
}

/// What a version changed, and what the lake holds after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Inputs taken in.
    pub inputs: u64,
    /// Inputs that could not be read.
    pub inputs_failed: u64,
    /// Data files written.
    pub files_added: u64,
    /// Data files replaced.
    pub files_removed: u64,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of all data files.
    pub bytes: u64,
}

impl Manifest {
    /// Where the manifest of a version lies.
    pub fn path(version: u64) -> String {
        format!("{DIRECTORY}/{version:020}.json")
    }

    /// Reads the manifest of a version; None if there is none.
    ///
    /// # Errors
    /// [`Error::Lake`] if it is damaged or of a newer format.
    pub fn read(store: &Store, version: u64) -> Result<Option<Self>> {
        let path = Self::path(version);
        let Some(bytes) = store.read(&path)? else {
            return Ok(None);
        };
        Self::parse(&bytes).map(Some).map_err(|reason| Error::Lake {
            lake: store.show(""),
            reason: format!("{path}: {reason}"),
        })
    }

    /// Reads a manifest's text.
    ///
    /// # Errors
    /// What is wrong with it, as text.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let damaged = |e: serde_json::Error| format!("damaged: {e}");
        let manifest = serde_json::from_slice::<Self>(bytes);
        // The fields of a newer format may be others.
        let format = match &manifest {
            Ok(manifest) => manifest.format,
            Err(_) => {
                serde_json::from_slice::<Format>(bytes)
                    .map_err(damaged)?
                    .format
            }
        };
        if format > FORMAT {
            return Err(format!(
                "made by a newer iolode (manifest format {format}, this one reads {FORMAT}); use a newer iolode"
            ));
        }
        let manifest = manifest.map_err(damaged)?;
        if manifest.osts.len() != manifest.splits.len() + 1
            || !manifest.splits.is_sorted_by(|a, b| a < b)
        {
            return Err("damaged: its ranges make no sense".into());
        }
        Ok(manifest)
    }

    /// Publishes this version. False if the version exists already: somebody else was faster.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn publish(&self, store: &Store) -> Result<bool> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| Error::columns("manifest", e))?;
        let published = store.put_new(&Self::path(self.version), &text)?;
        if published {
            store.hint(HINT, self.version.to_string().as_bytes());
            super::failpoint::failpoint("hint-written");
        }
        Ok(published)
    }

    /// The newest version; None in a store without one. The hint only saves looking: it may be old or missing.
    ///
    /// # Errors
    /// [`Error::Io`], and as [`Manifest::read`].
    pub fn newest(store: &Store) -> Result<Option<Self>> {
        let mut newest = match hint(store)? {
            Some(version) => Self::read(store, version)?,
            None => None,
        };
        if newest.is_none() {
            newest = match Self::versions(store)?.last() {
                Some(version) => Self::read(store, *version)?,
                None => return Ok(None),
            };
        }
        while let Some(next) = newest.as_ref().map(|m| m.version + 1) {
            match Self::read(store, next)? {
                Some(manifest) => newest = Some(manifest),
                None => break,
            }
        }
        Ok(newest)
    }

    /// Whether a version is there and none newer, without reading it. False also where the hint is another: then they have to be read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn is_newest(store: &Store, version: u64) -> Result<bool> {
        Ok(hint(store)? == Some(version)
            && store.exists(&Self::path(version))?
            && !store.exists(&Self::path(version + 1))?)
    }

    /// The versions that have a manifest, ascending.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn versions(store: &Store) -> Result<Vec<u64>> {
        let number = |path: &str| {
            path.strip_prefix(DIRECTORY)?
                .strip_prefix('/')?
                .strip_suffix(".json")?
                .parse()
                .ok()
        };
        let mut versions: Vec<u64> = store
            .list(DIRECTORY)?
            .iter()
            .filter_map(|entry| number(&entry.path))
            .collect();
        versions.sort_unstable();
        Ok(versions)
    }
}

/// The number of the version that was the newest when it was written.
fn hint(store: &Store) -> Result<Option<u64>> {
    let text = store.read(HINT)?;
    Ok(text.and_then(|bytes| std::str::from_utf8(&bytes).ok()?.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_format_is_refused_by_number_even_if_its_fields_are_unknown() {
        let error = Manifest::parse(br#"{"format": 2, "everything": "new"}"#).unwrap_err();
        assert!(
            error.contains("manifest format 2, this one reads 1"),
            "{error}"
        );
        assert!(
            Manifest::parse(b"{\"format\": 1}")
                .unwrap_err()
                .starts_with("damaged")
        );
        assert!(Manifest::parse(b"\0\0").is_err());
    }
}
