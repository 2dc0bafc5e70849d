//! The manifest of one version: which files hold the lake, where the job ids are cut, and what the site knows.
//!
//! Its file is one line of JSON, `{"checksum":"<XXH3 in hex>","manifest":{..}}`: the checksum is that of the bytes of the inner object.

use super::store::Store;
use super::user_function::UserFunction;
use crate::error::{Error, Result};
use crate::table::tables;
use crate::text::quoted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::io::ErrorKind;
use xxhash_rust::xxh3::xxh3_64;

/// Format of lakes that this program makes, reads and writes.
pub const FORMAT: u32 = 2;
pub(in crate::lake) const VERSION_HINT: &str = "_iolode/_last";

/// What became of a version that was to be published.
#[derive(Debug)]
pub(in crate::lake) enum Published {
    /// Somebody else was faster.
    Taken,
    /// It is there, and stays.
    Lasting,
    /// It is there, and a crash may undo it: its directory could not be synced.
    Undoable(Error),
}

/// Why the file of a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not what was written: in which way, if that is known.
    Damaged(Option<String>),
    /// Another program wrote it: which, and what to do.
    Format(String),
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged(None) => f.write_str("its manifest is damaged"),
            Self::Damaged(Some(how)) => write!(f, "its manifest is damaged: {how}"),
            Self::Format(what) => f.write_str(what),
        }
    }
}

/// One version of a lake. Written once, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of this file.
    pub format: u32,
    /// The least format that a program must know to read this version.
    pub min_reader: u32,
    /// The least format that a program must know to make the next version.
    pub min_writer: u32,
    /// The lake, the same in all its versions.
    pub lake_id: String,
    /// The commit, of which no other has the same.
    pub commit_id: String,
    /// Number of the version, from 1.
    pub version: u64,
    /// The version that it was made from; None for the first.
    pub parent: Option<u64>,
    /// The commit of that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_commit: Option<String>,
    /// Microseconds since 1970, UTC.
    pub time: i64,
    /// What made it: `create`, `ingest`, ..
    pub operation: String,
    /// Version of each table's schema when it was written.
    pub schema_versions: BTreeMap<String, u32>,
    /// What the site knows: the TOML text as it was given ([`crate::lake::SiteFile`]).
    pub settings: String,
    /// Bytes of Parquet that a range should hold over all tables.
    pub range_bytes: u64,
    /// The ranges of job ids, ascending; there is at least one.
    pub ranges: Vec<JobRange>,
    /// Lists of data files, the oldest first: together they say which there are.
    pub files: Vec<ListFile>,
    /// Lists of inputs, each sorted by path; of several rows for one path the one with the highest version counts.
    pub inputs: Vec<ListFile>,
    /// Users' own functions, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<UserFunction>,
    /// The derived tables that it keeps, and the version of the derivation that their rows are of; 0 if of none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub derived: BTreeMap<String, u32>,
    /// Its rows have pseudonyms: nothing is imported beside them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anonymised: bool,
    /// Figures of this version for `lake_version`.
    pub summary: Summary,
    /// Fields of a newer format, which are kept as they are.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// A range of job ids: from its lower bound up to that of the next range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRange {
    /// Least job id; None for the first range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The target on which it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ost: Option<i64>,
}

/// An immutable list in Parquet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFile {
    /// Where it lies.
    pub path: String,
    /// Rows.
    pub rows: u64,
    /// XXH3 of its bytes.
    pub checksum: i64,
    /// How often its rows were merged: of lists of one level a certain number become one of the next.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub level: u8,
    /// Least and greatest path, of a list of inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<(String, String)>,
    /// Rows without a time of their file, of a list of inputs: of servers, and of what could not be listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undated: u64,
}

fn is_zero<N: Default + PartialEq>(n: &N) -> bool {
    *n == N::default()
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

/// What stands around the inner object of a manifest's file.
const BEFORE: &[u8] = b"{\"checksum\":\"";
const BETWEEN: &[u8] = b"\",\"manifest\":";
const AFTER: &[u8] = b"}\n";

impl Manifest {
    /// Where the manifests lie.
    pub const DIRECTORY: &str = "_iolode/manifest";

    /// Where the manifest of a version lies.
    pub fn path(version: u64) -> String {
        format!("{}/{version:020}.json", Self::DIRECTORY)
    }

    /// Job ids at which a new range begins, ascending: range i holds `splits[i - 1] <= job_id < splits[i]`.
    pub fn splits(&self) -> Vec<i64> {
        self.ranges.iter().filter_map(|range| range.from).collect()
    }

    /// The target on which each range lies.
    pub fn osts(&self) -> Vec<Option<i64>> {
        self.ranges.iter().map(|range| range.ost).collect()
    }

    /// Reads the manifest of a version; None if there is none.
    ///
    /// # Errors
    /// [`Error::Lake`] if it is damaged or of another format; it names the newest version that can be read.
    pub fn read(store: &Store, version: u64) -> Result<Option<Self>> {
        let unreadable = match Self::look(store, version)? {
            Ok(found) => return Ok(found),
            Err(unreadable) => unreadable,
        };
        let advice = match &unreadable {
            Unreadable::Format(_) => String::new(),
            Unreadable::Damaged(_) => format!("; {}", go_back(store, |_| true)),
        };
        Err(Error::Lake {
            lake: store.show(""),
            reason: format!(
                "version {version}: {unreadable}{advice} ({})",
                Self::path(version)
            ),
        })
    }

    /// As [`Manifest::read`], for who goes on without a version that cannot be read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn look(
        store: &Store,
        version: u64,
    ) -> Result<Result<Option<Self>, Unreadable>> {
        let path = Self::path(version);
        let bytes = match store.read(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Ok(None)),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::IsADirectory => {
                let how = "it is a directory, which has to be removed";
                return Ok(Err(Unreadable::Damaged(Some(how.into()))));
            }
            Err(e) => return Err(e),
        };
        Ok(Self::parse(&bytes).and_then(|manifest| {
            let number = manifest.version;
            let other = || Unreadable::Damaged(Some(format!("it is that of version {number}")));
            (number == version)
                .then_some(Some(manifest))
                .ok_or_else(other)
        }))
    }

    /// Reads a manifest's file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        let damaged = |e: serde_json::Error| Unreadable::Damaged(Some(e.to_string()));
        let Some((checksum, body)) = unwrapped(bytes) else {
            return Err(match serde_json::from_slice::<Formats>(bytes) {
                Ok(Formats { format: 1, .. }) => Unreadable::Format(
                    "it has the lake format 1 of an unreleased iolode; make a new lake and ingest the logs again".into(),
                ),
                _ => Unreadable::Damaged(None),
            });
        };
        if checksum != xxh3_64(body) {
            return Err(Unreadable::Damaged(None));
        }
        let formats: Formats = serde_json::from_slice(body).map_err(damaged)?;
        if formats.min_reader > FORMAT {
            return Err(Unreadable::Format(format!(
                "made by a newer iolode (lake format {}, this one reads {FORMAT}); use a newer iolode",
                formats.min_reader
            )));
        }
        let manifest: Self = serde_json::from_slice(body).map_err(damaged)?;
        let bounds = || manifest.ranges.iter().map(|range| range.from);
        match bounds().next() == Some(None) && bounds().is_sorted_by(|a, b| a < b) {
            true => Ok(manifest),
            false => Err(Unreadable::Damaged(Some("its ranges overlap".into()))),
        }
    }

    /// Whether a list of files or inputs is one of its own.
    pub(in crate::lake) fn has_list(&self, path: &str) -> bool {
        self.files
            .iter()
            .chain(&self.inputs)
            .any(|list| list.path == path)
    }

    /// The first version of a lake.
    pub(in crate::lake) fn first(
        lake_id: &str,
        operation: &str,
        time: i64,
        settings: String,
        range_bytes: u64,
        ranges: Vec<JobRange>,
    ) -> Self {
        Self {
            format: FORMAT,
            min_reader: FORMAT,
            min_writer: FORMAT,
            lake_id: lake_id.into(),
            commit_id: uuid::Uuid::new_v4().to_string(),
            version: 1,
            parent: None,
            parent_commit: None,
            time,
            operation: operation.into(),
            schema_versions: tables()
                .map(|table| (table.name.clone(), table.version))
                .collect(),
            settings,
            range_bytes: range_bytes.max(1),
            ranges,
            files: vec![],
            inputs: vec![],
            functions: vec![],
            derived: BTreeMap::new(),
            anonymised: false,
            summary: Summary::default(),
            other: BTreeMap::new(),
        }
    }

    /// What makes the next version of this one: its number, time and commit are set.
    pub(in crate::lake) fn next(&self, operation: &str, time: i64) -> Self {
        let mut schema_versions = self.schema_versions.clone();
        for table in tables() {
            let version = schema_versions.entry(table.name.clone()).or_default();
            *version = table.version.max(*version);
        }
        Self {
            format: self.format.max(FORMAT),
            commit_id: uuid::Uuid::new_v4().to_string(),
            version: self.version + 1,
            parent: Some(self.version),
            parent_commit: Some(self.commit_id.clone()),
            time,
            operation: operation.into(),
            schema_versions,
            summary: Summary {
                rows: self.summary.rows,
                bytes: self.summary.bytes,
                ..Summary::default()
            },
            ..self.clone()
        }
    }

    /// Whether this program may make the next version.
    ///
    /// # Errors
    /// [`Error::Lake`] if it is too old for that.
    pub(in crate::lake) fn check_writer(&self, store: &Store) -> Result<()> {
        match self.min_writer > FORMAT {
            true => Err(Error::Lake {
                lake: store.show(""),
                reason: format!(
                    "version {} was made by a newer iolode (lake format {}, this one writes {FORMAT}): it can be read, but only a newer iolode can change it",
                    self.version, self.min_writer
                ),
            }),
            false => Ok(()),
        }
    }

    /// The bytes of its file.
    fn bytes(&self) -> Result<Vec<u8>> {
        let body = serde_json::to_vec(self).map_err(|e| Error::columns("manifest", e))?;
        let checksum = format!("{:016x}", xxh3_64(&body));
        Ok([BEFORE, checksum.as_bytes(), BETWEEN, &body, AFTER].concat())
    }

    /// Publishes this version. False if somebody else was faster.
    ///
    /// An answer of the store that is lost says nothing: what lies there then is read.
    ///
    /// # Errors
    /// [`Error::Io`] if it was not published; [`Error::Outcome`] if nobody can say whether it was.
    pub fn publish(&self, store: &Store) -> Result<bool> {
        let published = self.try_publish(store)?;
        Ok(!matches!(published, Published::Taken))
    }

    /// As [`Manifest::publish`]; with whether a crash may undo it.
    pub(in crate::lake) fn try_publish(&self, store: &Store) -> Result<Published> {
        let (path, bytes) = (Self::path(self.version), self.bytes()?);
        let unknown = |reason: String| Error::Outcome {
            lake: store.show(""),
            version: self.version,
            reason,
        };
        let put = store.put_unsynced(&path, &bytes);
        let is_ours = match &put {
            Ok(true) => true,
            Ok(false) | Err(_) => {
                let found = store.read(&path).map_err(|e| unknown(e.to_string()))?;
                found.is_some_and(|found| found == bytes)
            }
        };
        if !is_ours {
            return put.map(|_| Published::Taken);
        }
        // Others may have seen the name by now. Whoever were told of an error would delete what the file refers to, so a
        // directory that cannot be synced is none.
        let published = match store.sync_name(&path) {
            Ok(()) => Published::Lasting,
            Err(e) => Published::Undoable(e),
        };
        match self
            .is_followed(store)
            .map_err(|e| unknown(e.to_string()))?
        {
            Followed::Rightly => {
                let hint = format!("{} {}", self.version, self.commit_id);
                store.hint(VERSION_HINT, hint.as_bytes());
                Ok(published)
            }
            Followed::ByOthers => {
                store.delete(&path).map_err(|e| unknown(e.to_string()))?;
                Ok(Published::Taken)
            }
            Followed::Unknown => Err(unknown("the versions after it are gone".into())),
        }
    }

    /// Whether the versions after this one, which was just published, were made from it. Where a vacuum has removed the versions up to this
    /// number, the number was free although others had committed since.
    fn is_followed(&self, store: &Store) -> Result<Followed> {
        let newest = Self::versions(store)?.last().copied().unwrap_or_default();
        if newest <= self.version {
            return Ok(Followed::Rightly);
        }
        Ok(match Self::read(store, self.version + 1)? {
            Some(next) if next.parent_commit.as_deref() == Some(&self.commit_id) => {
                Followed::Rightly
            }
            Some(_) => Followed::ByOthers,
            None => Followed::Unknown,
        })
    }

    /// The newest version; None in a store without one. The hint only saves looking: it may be old, missing or unreadable.
    ///
    /// # Errors
    /// [`Error::Io`], and as [`Manifest::read`].
    pub fn newest(store: &Store) -> Result<Option<Self>> {
        let hinted = |(version, _): (u64, String)| Self::read(store, version).ok().flatten();
        let mut newest = hint(store).and_then(hinted);
        let mut looked_at = None;
        while newest.is_none() {
            let last = Self::versions(store)?.last().copied();
            // One that is gone since was removed by a vacuum after others had committed: then another is the last.
            let Some(version) = last.filter(|last| looked_at != Some(*last)) else {
                return Ok(None);
            };
            newest = Self::read(store, version)?;
            looked_at = Some(version);
        }
        while let Some(next) = newest.as_ref().and_then(|m| m.version.checked_add(1)) {
            match Self::read(store, next)? {
                Some(manifest) => newest = Some(manifest),
                None => break,
            }
        }
        Ok(newest)
    }

    /// Whether this version is there and none newer, without reading it. False also where the hint is another: then they have to be read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn is_newest(&self, store: &Store) -> Result<bool> {
        let hinted = hint(store).is_some_and(|(_, commit_id)| commit_id == self.commit_id);
        Ok(hinted
            && store.exists(&Self::path(self.version))?
            && !store.exists(&Self::path(self.version + 1))?)
    }

    /// The versions that have a manifest, ascending.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn versions(store: &Store) -> Result<Vec<u64>> {
        let mut versions: Vec<u64> = store
            .list(Self::DIRECTORY)?
            .iter()
            .filter_map(|entry| version_of(&entry.path))
            .collect();
        versions.sort_unstable();
        Ok(versions)
    }
}

/// What to do about a version that is not whole: read the newest one that is wanted, can be read and has all its lists.
pub(in crate::lake) fn go_back(store: &Store, is_wanted: impl Fn(&Manifest) -> bool) -> String {
    let versions = Manifest::versions(store).unwrap_or_default();
    let is_whole = |version: &u64| {
        let Ok(Ok(Some(manifest))) = Manifest::look(store, *version) else {
            return false;
        };
        let mut lists = manifest.files.iter().chain(&manifest.inputs);
        is_wanted(&manifest) && lists.all(|list| store.exists(&list.path).is_ok_and(|there| there))
    };
    match versions.iter().rev().find(|version| is_whole(version)) {
        Some(version) if Some(version) == versions.last() => {
            format!("version {version}, the newest, is whole")
        }
        Some(version) => format!(
            "`iolode lake restore {} --version {version}` goes back to version {version}",
            quoted(&store.show(""))
        ),
        None => "no older version is whole; get the lake back from a copy of it, or ingest its inputs into a new one".into(),
    }
}

/// The version whose manifest lies at a path.
pub(in crate::lake) fn version_of(path: &str) -> Option<u64> {
    path.strip_prefix(Manifest::DIRECTORY)?
        .strip_prefix('/')?
        .strip_suffix(".json")?
        .parse()
        .ok()
}

/// What came after a version.
enum Followed {
    /// Nothing, or a version that was made from it.
    Rightly,
    /// A version that was made from another one of the same number.
    ByOthers,
    /// A version whose parent nobody can look at any more.
    Unknown,
}

/// The fields that every format has.
#[derive(Deserialize)]
struct Formats {
    #[serde(rename = "format")]
    format: u32,
    #[serde(default)]
    min_reader: u32,
}

/// The checksum of a manifest's file and its inner object.
fn unwrapped(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let rest = bytes.strip_prefix(BEFORE)?;
    let (checksum, rest) = rest.split_at_checked(16)?;
    let body = rest.strip_prefix(BETWEEN)?.strip_suffix(AFTER)?;
    let checksum = std::str::from_utf8(checksum).ok()?;
    Some((u64::from_str_radix(checksum, 16).ok()?, body))
}

/// The number and the commit of the version that was the newest when it was written; None whatever keeps it from being read.
pub(in crate::lake) fn hint(store: &Store) -> Option<(u64, String)> {
    let bytes = store.read(VERSION_HINT).ok()??;
    let (version, commit_id) = std::str::from_utf8(&bytes).ok()?.trim().split_once(' ')?;
    Some((version.parse().ok()?, commit_id.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let ranges = vec![
            JobRange::default(),
            JobRange {
                from: Some(7),
                ost: Some(3),
            },
        ];
        Manifest::first("lake", "create", 5, "# ours\n".into(), 1 << 20, ranges)
    }

    /// The same with other formats, and a field that this program does not know.
    fn of_formats(format: u32, min_reader: u32, min_writer: u32) -> Manifest {
        let other = [("snapshots".to_string(), serde_json::json!([1, "a"]))];
        Manifest {
            format,
            min_reader,
            min_writer,
            other: other.into(),
            ..manifest()
        }
    }

    #[test]
    fn a_manifest_comes_back_as_it_was_written() {
        let manifest = of_formats(9, FORMAT, FORMAT);
        let bytes = manifest.bytes().unwrap();
        assert_eq!(Manifest::parse(&bytes).unwrap(), manifest);
        // It is JSON, for others too.
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["manifest"]["ranges"][1]["from"], 7);
        // What is not known stays.
        assert_eq!(manifest.next("ingest", 6).other, manifest.other);
    }

    #[test]
    fn what_a_newer_program_made_is_read_if_it_says_so_and_changed_if_it_says_so() {
        let store = Store::Memory(Default::default());
        let error = Manifest::parse(&of_formats(9, 9, 9).bytes().unwrap()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("made by a newer iolode (lake format 9, this one reads 2)"),
            "{error}"
        );
        let read = Manifest::parse(&of_formats(9, FORMAT, 9).bytes().unwrap()).unwrap();
        let error = read.check_writer(&store).unwrap_err().to_string();
        assert!(
            error.contains("only a newer iolode can change it"),
            "{error}"
        );
        of_formats(9, FORMAT, FORMAT).check_writer(&store).unwrap();
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_seen() {
        let bytes = manifest().bytes().unwrap();
        for at in 0..bytes.len() {
            assert!(Manifest::parse(&bytes[..at]).is_err(), "{at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Manifest::parse(&changed).is_err(), "{at}");
        }
        let old = Manifest::parse(b"{\n  \"format\": 1,\n  \"lake_id\": \"x\"\n}").unwrap_err();
        let old = old.to_string();
        assert!(old.contains("ingest the logs again"), "{old}");
    }
}
