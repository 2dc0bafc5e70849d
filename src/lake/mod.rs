//! Tables to files: the only place that knows the paths of a lake and writes its data files.
//!
//! ```text
//! lake/
//!   _iolode/manifest/00000000000000000042.json   one immutable manifest for each version
//!   _iolode/_last                                a hint to the newest: where to begin to look, and whether it is gone
//!   _iolode/part/..parquet                       immutable lists that manifests refer to: data files, inputs
//!   _iolode/lease/..                             who is changing the lake
//!   _iolode/tmp/                                 temporary files without names, where /tmp is memory
//!   darshan_file/000012-<uuid>.parquet           one file for each (table, range of job ids)
//!   lmt_ost/2018-01-28-<uuid>.parquet            one file for each (table, file system, day)
//! disk1/<id of the lake>/                        where data files are placed in directories:
//!   _iolode_lake.json                            the root of the lake that they belong to
//!   darshan_file/000012-<uuid>.parquet
//! ```
//!
//! # How a change becomes visible
//!
//! ```text
//!  read version N --> write data files --> write lists --> manifest N+1, if there is none yet --> done
//!        ^            under new names      under new names          |
//!        |                                                          | somebody else made N+1
//!        +---- leave out what they took, redo what overlaps --------+
//! ```
//!
//! Nothing that a manifest names is ever changed, and the manifest is published in one step, so a reader sees version N or
//! N + 1 of all tables. What a killed or beaten writer leaves behind is named by no manifest; [`vacuum`](Lake::vacuum) removes it.

mod derived;
mod extract;
mod file;
mod ingest;
mod maintenance;
#[cfg(test)]
mod tests;
mod threads;
mod version;

use self::version::manifest::VERSION_HINT;
use self::version::time::micros;
pub use derived::derived_table::DerivedTable;
pub use derived::range_rows::RangeRows;
pub use extract::chosen_rows::{Batches, ChosenRows, FsTimes, LmtRows, Times};
pub use extract::lake_writer::{LakeWriter, TableWriter};
pub use file::ost_set::OstSet;
pub use file::placement::Placement;
pub use ingest::options::{IngestOptions, InputPath, Progress, Silent};
pub use ingest::range_runner::RangeRunner;
pub use ingest::remote::RangeConverter;
pub use ingest::report::IngestReport;
pub use maintenance::check::{CheckReport, Finding};
pub use maintenance::compact::{CompactOptions, CompactReport, Shape};
pub use maintenance::copy::{CopyOptions, CopyReport};
pub use maintenance::forget::Forgotten;
pub use maintenance::settings::{OutdatedInputs, SettingsChange};
pub use maintenance::vacuum::{VacuumOptions, VacuumReport};
pub use version::calls::{Call, Calls};
pub use version::list_file::{
    DataFile, InputRow, InputStatus, batch_to_files, batch_to_inputs, files_to_batch,
    inputs_to_batch,
};
pub use version::manifest::{FORMAT, JobRange, ListFile, Manifest, Summary, Unreadable};
pub use version::owner::Moved;
pub use version::pinned::Version;
pub use version::ranges::{range_of, splits_for};
pub use version::recovery::MissingVersion;
pub use version::site::{App, Mount, RegisteredSource, SettingsEdit, SiteFile};
pub use version::snapshot::Snapshot;
pub use version::store::{Directory, Entry, Store};
pub use version::user_function::{UserFunction, UserParameter};

use crate::error::{Error, Result};
use crate::table::TABLES;
use crate::text::{quoted, ranges};
use arrow::record_batch::RecordBatch;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes of Parquet that a range holds over all tables, unless the lake was created with another figure.
pub const RANGE_BYTES: u64 = 128 << 20;

/// A lake: a directory, or memory.
#[derive(Clone, Debug)]
pub struct Lake {
    store: Store,
    lake_id: String,
}

/// How a lake is created.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Bytes of Parquet that a range should hold over all tables.
    pub range_bytes: u64,
    /// The text of the settings: what the site knows, placement included ([`SiteFile`]).
    pub settings: String,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            range_bytes: RANGE_BYTES,
            settings: String::new(),
        }
    }
}

impl Lake {
    /// Makes an empty lake in a directory, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::Lake`] if a lake or anything else is there, [`Error::Io`], [`Error::Invalid`] for options that make no sense.
    pub fn create(root: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        let root = absolute(root.as_ref())?;
        if has_control(&root) {
            return Err(Error::Lake {
                lake: root,
                reason: "its path has a control character; give it another name".into(),
            });
        }
        vacant(&root)?;
        Self::start(Store::directory(root), options)
    }

    /// An empty lake in memory; it is gone with the last copy of the value.
    ///
    /// # Errors
    /// As [`Lake::create`].
    pub fn in_memory() -> Result<Self> {
        Self::start(Store::Memory(Arc::default()), &CreateOptions::default())
    }

    fn start(store: Store, options: &CreateOptions) -> Result<Self> {
        let site = SiteFile::parse(&options.settings)?;
        if let Store::Local(directory) = &store {
            site.place.check(directory.root())?;
        }
        let mut place = site.place.clone();
        place.make_absolute()?;
        let settings = match place == site.place {
            true => options.settings.clone(),
            false => SettingsEdit {
                place: Some(place.clone()),
                ..SettingsEdit::default()
            }
            .apply(&options.settings)?,
        };
        let lake_id = uuid::Uuid::new_v4().to_string();
        let ost = place.choose(|_| 0);
        let manifest = Manifest::first(
            &lake_id,
            "create",
            micros(SystemTime::now()),
            settings,
            options.range_bytes,
            vec![JobRange { from: None, ost }],
        );
        if let Store::Local(directory) = &store {
            let root = directory.root();
            version::store::create_directory(root)
                .map_err(|e| Error::io(root, "cannot create", e))?;
            for directory in site.place.directories(&lake_id) {
                version::owner_file::claim(&directory, &lake_id, root)?;
            }
        }
        if !manifest.publish(&store)? {
            return Err(Error::Lake {
                lake: store.show(""),
                reason: "there is a lake already".into(),
            });
        }
        Ok(Self { store, lake_id })
    }

    /// An error of work that took long; another one if the lake was moved or removed meanwhile.
    fn unless_gone(&self, error: Error) -> Error {
        match self.root() {
            Some(root) if !root.is_dir() => Error::Lake {
                lake: root.into(),
                reason: "its directory is gone; was it moved or removed?".into(),
            },
            _ => error,
        }
    }

    /// Opens the lake in a directory.
    ///
    /// # Errors
    /// [`Error::Lake`] if there is none, the directory holds something else, or the lake is newer than this program.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        let root = absolute(root.as_ref())?;
        let refuse = |reason: String| Error::Lake {
            lake: root.clone(),
            reason,
        };
        match std::fs::metadata(&root) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(refuse(match has_control(&root) {
                    true => "there is none".into(),
                    false => format!(
                        "there is none; make one with `iolode lake create {}`",
                        quoted(&root)
                    ),
                }));
            }
            Err(e) => return Err(Error::io(&root, "cannot open the lake", e)),
            Ok(metadata) if !metadata.is_dir() => {
                return Err(refuse("not a lake: it is not a directory".into()));
            }
            Ok(_) => {}
        }
        Self::open_store(Store::directory(&root))
    }

    /// Opens a lake whose newest version may be damaged, to look at its [`history`](Lake::history) or [`restore`](Lake::restore) an older one.
    ///
    /// # Errors
    /// As [`Lake::open`] if none of its versions can be read.
    pub fn open_damaged(root: impl AsRef<Path>) -> Result<Self> {
        let opened = Self::open(&root);
        if opened.is_ok() {
            return opened;
        }
        let store = Store::directory(absolute(root.as_ref())?);
        let mut versions = Manifest::versions(&store)?.into_iter().rev();
        let whole = versions.find_map(|version| Manifest::read(&store, version).ok().flatten());
        match whole {
            Some(Manifest { lake_id, .. }) => Ok(Self { store, lake_id }),
            None => opened,
        }
    }

    /// Opens the lake in a store.
    fn open_store(store: Store) -> Result<Self> {
        let refuse = |reason: String| Error::Lake {
            lake: store.show(""),
            reason,
        };
        let newest = Manifest::newest(&store)?;
        let newest = newest.ok_or_else(|| {
            refuse(match version::manifest::hint(&store) {
                Some((version, _)) => format!(
                    "the manifests of all its versions are gone, of which {version} was the newest; put _iolode/manifest back from a copy of the lake"
                ),
                None if is_delta(&store) => {
                    "not a lake: its tables are Delta tables, which Spark, Polars and delta-rs open".into()
                }
                None => "not a lake: it has no _iolode/manifest; give the directory of a lake".into(),
            })
        })?;
        Ok(Self {
            store,
            lake_id: newest.lake_id,
        })
    }

    /// Where its bytes lie.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its directory; None in memory.
    pub fn root(&self) -> Option<&Path> {
        match &self.store {
            Store::Local(directory) => Some(directory.root()),
            Store::Memory(_) => None,
        }
    }

    /// What names it, the same in all its versions.
    pub fn id(&self) -> &str {
        &self.lake_id
    }

    /// One version of it, the newest if none is given. What is read through it is that version, whatever happens meanwhile.
    ///
    /// # Errors
    /// [`Error::Lake`] if there is no such version or it is damaged.
    pub fn snapshot(&self, version: Option<u64>) -> Result<Arc<Snapshot>> {
        let manifest = self.manifest(version)?;
        Snapshot::load(self.store.clone(), manifest).map(Arc::new)
    }

    /// As [`Lake::snapshot`], for who needs some of its files: their list is read in parts, as far as it is asked for. If `known` is that
    /// version of the lake that is there now, it is given back.
    ///
    /// # Errors
    /// As [`Lake::snapshot`].
    pub fn version_or(
        &self,
        version: Option<u64>,
        known: Option<&Arc<Version>>,
    ) -> Result<Arc<Version>> {
        if let Some(known) = known
            && version.is_none()
            && known.manifest().is_newest(&self.store)?
        {
            return Ok(known.clone());
        }
        let manifest = self.manifest(version)?;
        // A lake that was made anew in the same place has versions of the same numbers.
        let same = |known: &&Arc<Version>| known.manifest().commit_id == manifest.commit_id;
        if let Some(known) = known.filter(same) {
            return Ok(known.clone());
        }
        Version::open(self.store.clone(), manifest).map(Arc::new)
    }

    fn manifest(&self, version: Option<u64>) -> Result<Manifest> {
        let manifest = match version {
            None => Manifest::newest(&self.store)?,
            Some(version) => Manifest::read(&self.store, version)?,
        };
        manifest.ok_or_else(|| {
            let known = Manifest::versions(&self.store).unwrap_or_default();
            let known = match ranges(&known) {
                known if known.is_empty() => "none".to_string(),
                known => known,
            };
            let reason = version.map_or("its manifests are gone".to_string(), |v| {
                format!("it has no version {v}; it has {known}")
            });
            Error::Lake {
                lake: self.store.show(""),
                reason,
            }
        })
    }

    /// The rows of `lake_version` of all versions that can be read, also where the newest cannot; and those that cannot, with the reason.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn history(&self) -> Result<(RecordBatch, Vec<(u64, Unreadable)>)> {
        version::pinned::history(&self.store, u64::MAX)
    }

    /// The directories that may hold its data files: its own, and those of a placement outside of it. None in memory.
    ///
    /// # Errors
    /// As [`Lake::site`].
    pub fn data_directories(&self) -> Result<Vec<PathBuf>> {
        let Some(root) = self.root() else {
            return Ok(vec![]);
        };
        let place = self.site()?.place;
        let outside = place.directories(&self.lake_id);
        Ok(std::iter::once(root.to_path_buf()).chain(outside).collect())
    }

    /// The settings of the newest version.
    ///
    /// # Errors
    /// As [`SiteFile::parse`], and [`Lake::snapshot`].
    pub fn site(&self) -> Result<SiteFile> {
        SiteFile::parse(&self.manifest(None)?.settings)
    }
}

/// Whether a path is refused for a new lake: those of an object store, through which queries read, have no control characters.
fn has_control(path: &Path) -> bool {
    path.to_string_lossy().contains(char::is_control)
}

/// Whether a directory holds Delta tables, as an export makes them.
fn is_delta(store: &Store) -> bool {
    let root = store.show("");
    let mut tables = TABLES.iter();
    tables.any(|(name, _)| root.join(name).join("_delta_log").is_dir())
}

/// Refuses a directory for a new lake that holds one, or anything else.
fn vacant(root: &Path) -> Result<()> {
    let refuse = |reason: &str| Error::Lake {
        lake: root.to_path_buf(),
        reason: reason.to_string(),
    };
    if !Manifest::versions(&Store::directory(root))?.is_empty() {
        return Err(refuse("there is a lake already"));
    }
    if Store::directory(root).exists(VERSION_HINT)? {
        return Err(refuse(
            "a lake was there, whose manifests are gone; put _iolode/manifest back, or give another directory",
        ));
    }
    for above in root.ancestors().skip(1) {
        let versions = Manifest::versions(&Store::directory(above));
        if versions.is_ok_and(|versions| !versions.is_empty()) {
            return Err(refuse(
                "it lies in a lake, whose directory is its own; give another directory",
            ));
        }
    }
    if root.exists() {
        let entries =
            std::fs::read_dir(root).map_err(|e| Error::io(root, "cannot use as a lake", e))?;
        if entries
            .flatten()
            .any(|entry| entry.file_name() != "_iolode")
        {
            return Err(refuse(
                "the directory is not empty; give a new or an empty one",
            ));
        }
    }
    Ok(())
}

/// The whole path, without `..`: object stores know no way back.
fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::Invalid(
            "an empty path is not a lake; give its directory".into(),
        ));
    }
    let whole = std::path::absolute(path).map_err(|e| Error::io(path, "cannot use", e))?;
    let goes_back = |c: Component<'_>| c == Component::ParentDir;
    if !whole.components().any(goes_back) {
        return Ok(whole);
    }
    match (whole.canonicalize(), whole.parent(), whole.file_name()) {
        (Ok(real), _, _) => Ok(real),
        // What is to be made is not there yet.
        (Err(e), Some(parent), Some(name)) if e.kind() == ErrorKind::NotFound => {
            Ok(absolute(parent)?.join(name))
        }
        (Err(e), _, _) => Err(Error::io(&whole, "cannot use", e)),
    }
}
