//! Where a lake's bytes lie: a directory, or memory.

use super::failpoint::failpoint;
use crate::error::{Error, Result};
use bytes::Bytes;
use futures::{StreamExt, executor::block_on};
use object_store::{
    ObjectStore, ObjectStoreExt, PutMode, PutPayload, memory::InMemory, path::Path as ObjectPath,
};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use xxhash_rust::xxh3::Xxh3;

/// Where a lake's bytes lie. Paths are relative to the lake, or absolute for data files that were placed elsewhere.
#[derive(Clone, Debug)]
pub enum Store {
    /// A directory of the local (or a parallel) file system.
    Local(PathBuf),
    /// Memory, for a lake that lives as long as the process.
    Memory(Arc<InMemory>),
}

/// Something in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path, as the store's other methods take it.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// When it was last changed.
    pub modified: SystemTime,
}

impl Store {
    /// What a message calls a path of this store.
    pub fn show(&self, path: &str) -> PathBuf {
        self.local(path)
            .unwrap_or_else(|| PathBuf::from(format!("memory:{path}")))
    }

    /// The path in the file system; None in memory.
    pub fn local(&self, path: &str) -> Option<PathBuf> {
        match self {
            Self::Local(root) => Some(root.join(path)),
            Self::Memory(_) => None,
        }
    }

    /// All bytes at a path; None if there is nothing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(&self, path: &str) -> Result<Option<Bytes>> {
        match self {
            Self::Local(root) => match fs::read(root.join(path)) {
                Ok(bytes) => Ok(Some(bytes.into())),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(e) => Err(Error::io(root.join(path), "cannot read", e)),
            },
            Self::Memory(store) => {
                match block_on(async { store.get(&ObjectPath::from(path)).await?.bytes().await }) {
                    Ok(bytes) => Ok(Some(bytes)),
                    Err(object_store::Error::NotFound { .. }) => Ok(None),
                    Err(e) => Err(self.error(path, "cannot read", e)),
                }
            }
        }
    }

    /// XXH3 of the bytes at a path; None if there is nothing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn hash(&self, path: &str) -> Result<Option<i64>> {
        let mut hash = Xxh3::new();
        match self {
            Self::Local(root) => {
                let path = root.join(path);
                let failed = |e| Error::io(&path, "cannot read", e);
                let mut file = match fs::File::open(&path) {
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                    file => file.map_err(failed)?,
                };
                let mut bytes = vec![0; 1 << 20];
                loop {
                    match file.read(&mut bytes).map_err(failed)? {
                        0 => break,
                        n => hash.update(&bytes[..n]),
                    }
                }
            }
            Self::Memory(_) => match self.read(path)? {
                Some(bytes) => hash.update(&bytes),
                None => return Ok(None),
            },
        }
        Ok(Some(hash.digest() as i64))
    }

    /// Puts bytes at a path where nothing is yet, whole and durably or not at all. False if something is there.
    ///
    /// In a directory: a temporary file beside it, synced, then linked to its name, which fails if the name is taken; then the
    /// directory is synced.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn put_new(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        match self {
            Self::Local(root) => {
                let target = root.join(path);
                publish(&target, bytes).map_err(|e| Error::io(&target, "cannot write", e))
            }
            Self::Memory(store) => {
                let target = ObjectPath::from(path);
                match block_on(store.put_opts(
                    &target,
                    PutPayload::from(bytes.to_vec()),
                    PutMode::Create.into(),
                )) {
                    Ok(_) => Ok(true),
                    Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
                    Err(e) => Err(self.error(path, "cannot write", e)),
                }
            }
        }
    }

    /// Puts bytes at a path, over what is there: afterwards it holds the old bytes or the new ones, never a part of them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn replace(&self, path: &str, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Local(root) => {
                let target = root.join(path);
                overwrite(&target, bytes).map_err(|e| Error::io(&target, "cannot write", e))
            }
            Self::Memory(store) => {
                let payload = PutPayload::from(bytes.to_vec());
                block_on(store.put(&ObjectPath::from(path), payload))
                    .map(|_| ())
                    .map_err(|e| self.error(path, "cannot write", e))
            }
        }
    }

    /// Notes something that nothing relies on: it may be lost, or fail without a word.
    pub(super) fn hint(&self, path: &str, bytes: &[u8]) {
        match self {
            Self::Local(root) => {
                let temporary = root.join(format!("{path}.{}{TEMPORARY}", uuid::Uuid::new_v4()));
                let written = fs::write(&temporary, bytes);
                if written
                    .and_then(|()| fs::rename(&temporary, root.join(path)))
                    .is_err()
                {
                    let _ = fs::remove_file(&temporary);
                }
            }
            Self::Memory(_) => _ = self.replace(path, bytes),
        }
    }

    /// Whether something is at a path.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self {
            Self::Local(root) => {
                let path = root.join(path);
                path.try_exists()
                    .map_err(|e| Error::io(path, "cannot look for", e))
            }
            Self::Memory(store) => match block_on(store.head(&ObjectPath::from(path))) {
                Ok(_) => Ok(true),
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                Err(e) => Err(self.error(path, "cannot look for", e)),
            },
        }
    }

    /// Everything below a directory, by path; nothing if it is not there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn list(&self, directory: &str) -> Result<Vec<Entry>> {
        let mut entries = vec![];
        match self {
            Self::Local(root) => {
                let top = root.join(directory);
                if !top.exists() {
                    return Ok(entries);
                }
                for entry in walkdir::WalkDir::new(&top) {
                    let entry = entry.map_err(|e| Error::io(&top, "cannot list", e.into()))?;
                    if !entry.file_type().is_file() {
                        continue;
                    }
                    // A file may be deleted while the directory is listed.
                    let Ok(metadata) = entry.metadata() else {
                        continue;
                    };
                    let path = entry
                        .path()
                        .strip_prefix(root)
                        .unwrap_or(entry.path())
                        .to_string_lossy()
                        .into_owned();
                    entries.push(Entry {
                        path,
                        bytes: metadata.len(),
                        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    });
                }
            }
            Self::Memory(store) => {
                let prefix = ObjectPath::from(directory);
                let listed = block_on(store.list(Some(&prefix)).collect::<Vec<_>>());
                for meta in listed {
                    let meta = meta.map_err(|e| self.error(directory, "cannot list", e))?;
                    entries.push(Entry {
                        path: meta.location.to_string(),
                        bytes: meta.size,
                        modified: meta.last_modified.into(),
                    });
                }
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Deletes what is at a path; that nothing is there is no error.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn delete(&self, path: &str) -> Result<()> {
        match self {
            Self::Local(root) => match fs::remove_file(root.join(path)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::io(root.join(path), "cannot delete", e))
                }
                _ => Ok(()),
            },
            Self::Memory(store) => match block_on(store.delete(&ObjectPath::from(path))) {
                Err(object_store::Error::NotFound { .. }) | Ok(()) => Ok(()),
                Err(e) => Err(self.error(path, "cannot delete", e)),
            },
        }
    }

    fn error(&self, path: &str, what: &'static str, e: object_store::Error) -> Error {
        Error::io(self.show(path), what, std::io::Error::other(e))
    }
}

/// How the names of files end that are being written and have no name of their own yet.
pub(super) const TEMPORARY: &str = ".tmp";

/// Syncs a directory, so that the names in it last.
pub(super) fn sync_directory(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Makes a directory and those above it that are missing, so that they last.
pub(super) fn create_directory(directory: &Path) -> std::io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(above) = directory.parent() {
        create_directory(above)?;
    }
    match fs::create_dir(directory) {
        // Somebody else may make it at the same time.
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        other => other?,
    }
    directory.parent().map_or(Ok(()), sync_directory)
}

/// Writes a synced file beside `target`; on failure none is left.
fn write_beside(target: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    let directory = target.parent().unwrap_or(Path::new("."));
    create_directory(directory)?;
    let temporary = directory.join(format!(".{}{TEMPORARY}", uuid::Uuid::new_v4()));
    let write = || {
        let mut file = File::create_new(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    match write() {
        Ok(()) => Ok(temporary),
        Err(e) => {
            let _ = fs::remove_file(&temporary);
            Err(e)
        }
    }
}

fn overwrite(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = write_beside(target, bytes)?;
    if let Err(e) = fs::rename(&temporary, target) {
        let _ = fs::remove_file(&temporary);
        return Err(e);
    }
    target.parent().map_or(Ok(()), sync_directory)
}

fn publish(target: &Path, bytes: &[u8]) -> std::io::Result<bool> {
    let temporary = write_beside(target, bytes)?;
    let is_manifest = target.extension().is_some_and(|e| e == "json");
    let mark = |name: &'static str| {
        if is_manifest {
            failpoint(name)
        }
    };
    mark("manifest-temporary-written");
    let linked = link_new(&temporary, target);
    if let Ok(true) = linked {
        mark("manifest-published");
    }
    // After a rename it is gone already.
    let _ = fs::remove_file(&temporary);
    if linked? {
        // Others may have seen the name by now. Whoever were told of an error would delete what the file refers to, so a
        // directory that cannot be synced is none.
        let _ = target.parent().map(sync_directory);
        mark("manifest-directory-synced");
        return Ok(true);
    }
    Ok(false)
}

/// Gives a file a second name if that is free. Where hard links are refused it is renamed, which must not replace either.
fn link_new(from: &Path, to: &Path) -> std::io::Result<bool> {
    let linked = fs::hard_link(from, to);
    // A network file system may have lost its answer to the first try and refuse the second: the second name says it.
    let has_two_names = || fs::metadata(from).is_ok_and(|metadata| metadata.nlink() > 1);
    match linked {
        Ok(()) => Ok(true),
        Err(_) if has_two_names() => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(_) => {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags) {
                Ok(()) => Ok(true),
                Err(rustix::io::Errno::EXIST) => Ok(false),
                Err(e) => Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores() -> (tempfile::TempDir, [Store; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let local = Store::Local(directory.path().to_path_buf());
        (directory, [local, Store::Memory(Arc::new(InMemory::new()))])
    }

    #[test]
    fn of_many_writers_of_one_name_exactly_one_wins_and_its_bytes_stay() {
        let (_directory, stores) = stores();
        for store in stores {
            let won: Vec<usize> = std::thread::scope(|scope| {
                let tries: Vec<_> = (0..8)
                    .map(|i| {
                        let store = &store;
                        scope.spawn(move || {
                            store
                                .put_new("a/b.json", format!("writer {i}").as_bytes())
                                .unwrap()
                                .then_some(i)
                        })
                    })
                    .collect();
                tries
                    .into_iter()
                    .filter_map(|t| t.join().unwrap())
                    .collect()
            });
            assert_eq!(won.len(), 1);
            assert_eq!(
                store.read("a/b.json").unwrap().unwrap(),
                format!("writer {}", won[0])
            );
            // No temporary file is left.
            assert_eq!(store.list("a").unwrap().len(), 1);
        }
    }

    #[test]
    fn replacing_keeps_one_file_and_says_so_when_it_cannot() {
        let (directory, stores) = stores();
        for store in stores {
            store.replace("a/site.toml", b"1").unwrap();
            store.replace("a/site.toml", b"2").unwrap();
            assert_eq!(store.read("a/site.toml").unwrap().unwrap(), "2");
            assert_eq!(store.list("a").unwrap().len(), 1);
            assert!(store.exists("a/site.toml").unwrap() && !store.exists("a/b").unwrap());
        }
        fs::write(directory.path().join("file"), "x").unwrap();
        let store = Store::Local(directory.path().join("file"));
        let error = store.replace("site.toml", b"1").unwrap_err().to_string();
        assert!(error.contains("file/site.toml: cannot write"), "{error}");
    }

    #[test]
    fn a_second_name_from_a_try_whose_answer_was_lost_counts_as_won() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("from"), "1").unwrap();
        fs::hard_link(path("from"), path("to")).unwrap();
        assert!(link_new(&path("from"), &path("to")).unwrap());
    }

    #[test]
    fn deleting_twice_and_reading_nothing_are_no_errors() {
        let (_directory, stores) = stores();
        for store in stores {
            assert_eq!(store.read("x").unwrap(), None);
            store.put_new("x", b"1").unwrap();
            store.delete("x").unwrap();
            store.delete("x").unwrap();
            assert_eq!(store.read("x").unwrap(), None);
        }
    }

    #[test]
    fn a_name_can_be_taken_by_renaming_too_but_only_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("from"), "1").unwrap();
        fs::write(path("taken"), "2").unwrap();
        assert!(!link_new(&path("from"), &path("taken")).unwrap());
        assert!(link_new(&path("from"), &path("free")).unwrap());
    }
}
