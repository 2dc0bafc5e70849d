//! A version of a lake as a lake of its own.
//!
//! ```text
//!  version N of FROM --> data files, hashes checked --> lists --> manifest 1 of TO
//! ```

use crate::error::{Error, Result};
use crate::lake::file::placement::Placement;
use crate::lake::version::first_version::FirstVersion;
use crate::lake::version::list_file::{DataFile, InputRow};
use crate::lake::version::manifest::{JobRange, Manifest, go_back};
use crate::lake::version::site::SettingsEdit;
use crate::lake::version::snapshot::Snapshot;
use crate::lake::version::store::{Store, create_directory, sync_directory};
use crate::lake::{Lake, absolute, vacant};
use crate::source::open_regular;
use crate::table::table;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// How a lake is copied.
#[derive(Clone, Debug, Default)]
pub struct CopyOptions {
    /// Directories for the copy's data files, one for each target; without them they lie below its root.
    pub dirs: Option<Vec<PathBuf>>,
    /// The version to copy; the newest if None.
    pub version: Option<u64>,
    /// Set to stop: there is no copy then.
    pub cancel: Arc<AtomicBool>,
}

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// The version that was copied.
    pub version: u64,
    /// What names the copy.
    pub lake_id: String,
    /// Data files.
    pub files: u64,
    /// Rows in them.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Lake {
    /// Makes a lake of its own of a version, in a directory that is new or empty. Neither needs the other afterwards. There is no lake
    /// before everything is copied.
    ///
    /// # Errors
    /// [`Error::Lake`] if the version cannot be read, a file of it is damaged, or anything is at `to` already;
    /// [`Error::Interrupted`]; [`Error::Io`]. What was copied is deleted then.
    pub fn copy(&self, to: impl AsRef<Path>, options: &CopyOptions) -> Result<CopyReport> {
        let root = absolute(to.as_ref())?;
        vacant(&root)?;
        let snapshot = self.snapshot(options.version)?;
        let mut place = placement(snapshot.site()?.place, options.dirs.as_deref(), &root);
        place.check(&root)?;
        place.make_absolute()?;
        let mut made = missing_above(&root);
        if let Placement::Dirs { dirs } = &place {
            dirs.iter().for_each(|dir| made.extend(missing_above(dir)));
        }
        create_directory(&root).map_err(|e| Error::io(&root, "cannot create", e))?;
        let mut copy = Copy {
            snapshot: &snapshot,
            root: root.clone(),
            store: Store::directory(root),
            lake_id: uuid::Uuid::new_v4().to_string(),
            place,
            cancel: &options.cancel,
            written: vec![],
            made,
        };
        let copied = copy.run();
        if copied.is_err() {
            copy.discard();
        }
        copied
    }
}

/// Where a copy's files lie: in directories that were given, on the OSTs of the original, or wherever the file system likes.
fn placement(original: Placement, dirs: Option<&[PathBuf]>, root: &Path) -> Placement {
    match (dirs, original) {
        (Some(dirs), _) => Placement::Dirs {
            dirs: dirs.to_vec(),
        },
        // A copy may be made where there is no Lustre.
        (None, lustre @ Placement::Lustre { .. }) if lustre.check(root).is_ok() => lustre,
        _ => Placement::None,
    }
}

/// A copy that is being made.
struct Copy<'a> {
    snapshot: &'a Snapshot,
    root: PathBuf,
    store: Store,
    lake_id: String,
    place: Placement,
    cancel: &'a AtomicBool,
    /// Paths of what was written.
    written: Vec<String>,
    /// Directories that were not there before, those within others first.
    made: Vec<PathBuf>,
}

impl Copy<'_> {
    fn run(&mut self) -> Result<CopyReport> {
        for directory in self.place.directories(&self.lake_id) {
            crate::lake::version::owner_file::claim(&directory, &self.lake_id, &self.root)?;
        }
        let (osts, on) = self.targets();
        let mut files = vec![];
        for (file, target) in self.snapshot.files().iter().zip(on) {
            files.push(self.data_file(file, target)?);
        }
        self.sync(&files)?;
        files.sort_by(|a, b| (&a.table, a.range, &a.path).cmp(&(&b.table, b.range, &b.path)));
        let inputs = self.snapshot.inputs()?.into_iter();
        // Rows of the original's versions would count as newer than those that the copy takes in.
        let inputs: Vec<_> = inputs.map(|row| InputRow { version: 1, ..row }).collect();
        let manifest = self.manifest(osts, &files, &inputs)?;
        if !manifest.publish(&self.store)? {
            return Err(Error::Lake {
                lake: self.root.clone(),
                reason: "there is a lake already".into(),
            });
        }
        Ok(CopyReport {
            version: self.snapshot.version(),
            lake_id: self.lake_id.clone(),
            files: files.len() as u64,
            rows: manifest.summary.rows,
            bytes: manifest.summary.bytes,
        })
    }

    /// The target of each range, and of each file. All files of a range lie on one.
    fn targets(&self) -> (Vec<Option<i64>>, Vec<Option<i64>>) {
        let (place, files) = (&self.place, self.snapshot.files());
        let mut on: HashMap<i64, u64> = HashMap::new();
        let mut choose = |old: Option<i64>, bytes: u64| {
            let is_lustre = matches!(place, Placement::Lustre { .. });
            let kept = old.filter(|ost| is_lustre && place.has(*ost));
            let ost = kept.or_else(|| place.choose(|ost| on.get(&ost).copied().unwrap_or(0)))?;
            *on.entry(ost).or_default() += bytes;
            Some(ost)
        };
        let mut bytes: BTreeMap<usize, u64> = BTreeMap::new();
        for file in files {
            if let Some(range) = file.range {
                *bytes.entry(range).or_default() += file.bytes;
            }
        }
        let ranges = self.snapshot.manifest.osts().into_iter().enumerate();
        let ranges =
            ranges.map(|(range, old)| choose(old, bytes.get(&range).copied().unwrap_or(0)));
        let ranges: Vec<_> = ranges.collect();
        let of_file = |file: &DataFile| match file.range {
            Some(range) => ranges.get(range).copied().flatten(),
            None => choose(file.ost, file.bytes),
        };
        let of_files = files.iter().map(of_file).collect();
        (ranges, of_files)
    }

    /// Copies a data file and checks its bytes on the way.
    fn data_file(&mut self, file: &DataFile, target: Option<i64>) -> Result<DataFile> {
        let name = Path::new(&file.path).file_name().unwrap_or_default();
        let path = format!("{}/{}", table(&file.table)?.name, name.to_string_lossy());
        let mut from = self.open(file)?;
        let (mut to, path, ost) = self
            .place
            .create(&self.root, &self.lake_id, &path, target)?;
        self.written.push(path.clone());
        let shown = self.store.show(&path);
        let (mut hash, mut bytes) = (Xxh3::new(), 0u64);
        let mut piece = vec![0; 1 << 20];
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let failed = |e| Error::io(self.snapshot.store().show(&file.path), "cannot read", e);
            let read = from.read(&mut piece).map_err(failed)?;
            if read == 0 {
                break;
            }
            hash.update(&piece[..read]);
            bytes += read as u64;
            let written = to.write_all(&piece[..read]);
            written.map_err(|e| Error::io(&shown, "cannot write", e))?;
        }
        to.sync_all()
            .map_err(|e| Error::io(&shown, "cannot write", e))?;
        let hash = hash.digest() as i64;
        if bytes != file.bytes || file.content_hash.is_some_and(|known| known != hash) {
            return Err(self.damaged(&format!(
                "the bytes of {} are not those that were written: `iolode lake check` names all such files, {} without it",
                file.path,
                go_back(self.snapshot.store(), |manifest| manifest.version < file.version)
            )));
        }
        Ok(DataFile {
            path,
            ost,
            version: 1,
            content_hash: Some(hash),
            ..file.clone()
        })
    }

    fn open(&self, file: &DataFile) -> Result<Box<dyn Read>> {
        let (store, path) = (self.snapshot.store(), &*file.path);
        let remedy = || go_back(store, |manifest| manifest.version < file.version);
        let missing = || self.damaged(&format!("{path} is missing; {}", remedy()));
        match store.local(path) {
            Some(path) => match open_regular(&path) {
                Ok(file) => Ok(Box::new(file)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(missing()),
                Err(e) => Err(Error::io(path, "cannot read", e)),
            },
            None => Ok(Box::new(Cursor::new(
                store.read(path)?.ok_or_else(missing)?,
            ))),
        }
    }

    fn damaged(&self, reason: &str) -> Error {
        let store = self.snapshot.store();
        let memory = || PathBuf::from("in memory");
        let lake = store
            .local("")
            .map_or_else(memory, |root| root.components().collect());
        Error::Lake {
            lake,
            reason: reason.into(),
        }
    }

    /// Makes the names of the files last; their bytes do already.
    fn sync(&self, files: &[DataFile]) -> Result<()> {
        let paths = files.iter().map(|file| self.store.show(&file.path));
        let directories = paths.filter_map(|path| path.parent().map(Path::to_path_buf));
        let directories: BTreeSet<PathBuf> = directories.collect();
        directories.iter().try_for_each(|directory| {
            sync_directory(directory).map_err(|e| Error::io(directory, "cannot write", e))
        })
    }

    /// Writes the lists, and makes the manifest that names them.
    fn manifest(
        &mut self,
        osts: Vec<Option<i64>>,
        files: &[DataFile],
        inputs: &[InputRow],
    ) -> Result<Manifest> {
        let old = &self.snapshot.manifest;
        let edit = SettingsEdit {
            place: Some(self.place.clone()),
            ..SettingsEdit::default()
        };
        let bounds = old.ranges.iter().map(|range| range.from);
        let ranges = bounds.zip(osts).map(|(from, ost)| JobRange { from, ost });
        let first = FirstVersion {
            lake_id: &self.lake_id,
            operation: "copy",
            settings: edit.apply(&old.settings)?,
            range_bytes: old.range_bytes,
            ranges: ranges.collect(),
            files,
            inputs,
            functions: old.functions.clone(),
            derived: old.derived.clone(),
            anonymised: old.anonymised,
        };
        first.manifest(&self.store, &mut self.written)
    }

    /// Deletes what was written, unless a lake is there: then the copy may be it after all, or `vacuum` removes the files.
    fn discard(&self) {
        if !matches!(self.store.exists(&Manifest::path(1)), Ok(false)) {
            return;
        }
        for directory in self.place.directories(&self.lake_id) {
            let _ = fs::remove_dir_all(directory);
        }
        for path in &self.written {
            let _ = self.store.delete(path);
        }
        // Of directories only those go that are empty.
        let below = walkdir::WalkDir::new(&self.root)
            .min_depth(1)
            .contents_first(true);
        for entry in below.into_iter().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// A directory and those above it, as far as they are not there.
fn missing_above(directory: &Path) -> Vec<PathBuf> {
    let missing = directory.ancestors().take_while(|above| !above.exists());
    missing.map(Path::to_path_buf).collect()
}
