//! Where a lake's bytes lie: a directory, or memory.

use super::calls::{AllCalls, Call, Calls};
use crate::error::{Error, Result, os_reason};
use crate::source::open_regular;
use bytes::Bytes;
use futures::{StreamExt, executor::block_on};
use object_store::{
    ObjectStore, ObjectStoreExt, PutMode, PutPayload, memory::InMemory, path::Path as ObjectPath,
};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use xxhash_rust::xxh3::Xxh3;

/// Where a lake's bytes lie. Paths are relative to the lake, or absolute for data files that were placed elsewhere.
#[derive(Clone, Debug)]
pub enum Store {
    /// A directory of the local (or a parallel) file system.
    Local(Directory),
    /// Memory, for a lake that lives as long as the process.
    Memory(Arc<InMemory>),
}

/// The directory of a lake, and what stands between it and the lake.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
    calls: Arc<dyn Calls>,
}

impl Directory {
    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn call<T>(
        &self,
        call: Call,
        path: &Path,
        make: impl FnOnce() -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        self.calls.before(call, path)?;
        let made = make()?;
        self.calls.after(call, path)?;
        Ok(made)
    }
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
    /// A directory.
    pub fn directory(root: impl Into<PathBuf>) -> Self {
        Self::with_calls(root, Arc::new(AllCalls))
    }

    /// A directory of whose calls somebody is told.
    pub fn with_calls(root: impl Into<PathBuf>, calls: Arc<dyn Calls>) -> Self {
        Self::Local(Directory {
            root: root.into(),
            calls,
        })
    }

    /// Makes a call on a path, of which those who asked for it are told.
    pub(in crate::lake) fn call<T>(
        &self,
        call: Call,
        path: &Path,
        make: impl FnOnce() -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        match self {
            Self::Local(directory) => directory.call(call, path, make),
            Self::Memory(_) => make(),
        }
    }

    /// What a message calls a path of this store.
    pub fn show(&self, path: &str) -> PathBuf {
        self.local(path)
            .unwrap_or_else(|| PathBuf::from(format!("memory:{path}")))
    }

    /// The path in the file system; None in memory.
    pub fn local(&self, path: &str) -> Option<PathBuf> {
        match self {
            Self::Local(directory) if path.is_empty() => Some(directory.root.clone()),
            Self::Local(directory) => Some(directory.root.join(path)),
            Self::Memory(_) => None,
        }
    }

    /// All bytes at a path; None if there is nothing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(&self, path: &str) -> Result<Option<Bytes>> {
        match self {
            Self::Local(directory) => {
                let path = directory.root.join(path);
                let read = || {
                    let mut bytes = vec![];
                    open_regular(&path)?.read_to_end(&mut bytes)?;
                    Ok(bytes)
                };
                match directory.call(Call::Read, &path, read) {
                    Ok(bytes) => Ok(Some(bytes.into())),
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(e) => Err(Error::io(path, "cannot read", e)),
                }
            }
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
            Self::Local(directory) => {
                let path = directory.root.join(path);
                let failed = |e| Error::io(&path, "cannot read", e);
                let open = directory.call(Call::Read, &path, || open_regular(&path));
                let mut file = match open {
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
    /// directory is synced. If it cannot be, the name is taken away again.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let put = self.put_unsynced(path, bytes)?;
        if put && let Err(e) = self.sync_name(path) {
            let _ = self.delete(path);
            return Err(e);
        }
        Ok(put)
    }

    /// As [`Store::put_if_absent`], but a crash may undo it until [`Store::sync_name`] was called.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn put_unsynced(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        match self {
            Self::Local(directory) => {
                let target = directory.root.join(path);
                let put = directory.put_if_absent(&target, bytes);
                put.map_err(|e| self.cannot_write(path, e))
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

    /// Makes the name of what is at a path last.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn sync_name(&self, path: &str) -> Result<()> {
        let Self::Local(directory) = self else {
            return Ok(());
        };
        let target = directory.root.join(path);
        let Some(parent) = target.parent() else {
            return Ok(());
        };
        let synced = directory.call(Call::Sync, parent, || sync_directory(parent));
        synced.map_err(|e| Error::io(parent, "cannot sync", e))
    }

    /// Puts bytes at a path, over what is there: afterwards it holds the old bytes or the new ones, never a part of them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn replace(&self, path: &str, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Local(directory) => {
                let target = directory.root.join(path);
                let replaced = directory.replace(&target, bytes);
                replaced.map_err(|e| Error::io(&target, "cannot write", e))
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
    pub(in crate::lake) fn hint(&self, path: &str, bytes: &[u8]) {
        match self {
            Self::Local(directory) => {
                let path = directory.root.join(path);
                let temporary = path.with_extension(format!("{}{TEMPORARY}", uuid::Uuid::new_v4()));
                let rename = || {
                    fs::write(&temporary, bytes)?;
                    fs::rename(&temporary, &path)
                };
                if directory.call(Call::Rename, &path, rename).is_err() {
                    let _ = fs::remove_file(&temporary);
                }
            }
            Self::Memory(store) => {
                let payload = PutPayload::from(bytes.to_vec());
                let _ = block_on(store.put(&ObjectPath::from(path), payload));
            }
        }
    }

    /// Whether something is at a path.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self {
            Self::Local(directory) => {
                let path = directory.root.join(path);
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
            Self::Local(Directory { root, .. }) => {
                let top = root.join(directory);
                let there = top.try_exists();
                if !there.map_err(|e| Error::io(&top, "cannot list", e))? {
                    return Ok(entries);
                }
                for entry in walkdir::WalkDir::new(&top) {
                    let entry = entry.map_err(|e| Error::io(&top, "cannot list", e.into()))?;
                    if !entry.file_type().is_file() {
                        continue;
                    }
                    // A file may be deleted while the directory is listed.
                    let metadata = match entry.metadata().map_err(std::io::Error::from) {
                        Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                        metadata => {
                            metadata.map_err(|e| Error::io(entry.path(), "cannot look for", e))?
                        }
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

    /// When what is at a path was last changed, by the clock of the file system; None if nothing is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn modified(&self, path: &str) -> Result<Option<SystemTime>> {
        match self {
            Self::Local(directory) => {
                let path = directory.root.join(path);
                match fs::metadata(&path).and_then(|metadata| metadata.modified()) {
                    Ok(time) => Ok(Some(time)),
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(e) => Err(Error::io(path, "cannot look for", e)),
                }
            }
            Self::Memory(store) => match block_on(store.head(&ObjectPath::from(path))) {
                Ok(meta) => Ok(Some(meta.last_modified.into())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(e) => Err(self.error(path, "cannot look for", e)),
            },
        }
    }

    /// Has a client of a network file system look at a directory of the server's once more; of no effect elsewhere.
    pub(in crate::lake) fn revalidate(&self, directory: &str) {
        if let Self::Local(Directory { root, .. }) = self {
            let _ = rustix::fs::statx(
                rustix::fs::CWD,
                root.join(directory),
                rustix::fs::AtFlags::STATX_FORCE_SYNC,
                rustix::fs::StatxFlags::BASIC_STATS,
            );
        }
    }

    /// Makes what is at a path as young as what is written now. Memory, of which nothing is removed by age, stays as it is.
    ///
    /// # Errors
    /// [`Error::Io`], also if nothing is there.
    pub(in crate::lake) fn touch(&self, path: &str) -> Result<()> {
        let Self::Local(directory) = self else {
            return Ok(());
        };
        let path = directory.root.join(path);
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        // The time is the server's, not this machine's.
        let times = rustix::fs::Timestamps {
            last_access: now,
            last_modification: now,
        };
        let flags = rustix::fs::AtFlags::empty();
        let touch = || {
            Ok(rustix::fs::utimensat(
                rustix::fs::CWD,
                &path,
                &times,
                flags,
            )?)
        };
        directory
            .call(Call::Touch, &path, touch)
            .map_err(|e| Error::io(&path, "cannot touch", e))
    }

    /// What time it is where the bytes lie: that of a file which is written for this.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn time(&self) -> Result<SystemTime> {
        for _ in 0..TRIES {
            let path = format!("{LEASES}/{}{TEMPORARY}", uuid::Uuid::new_v4());
            self.put_unsynced(&path, b"")?;
            let time = self.modified(&path);
            self.delete(&path)?;
            // A vacuum that spares nothing may have removed it already. The clock of this machine says nothing of the file system's.
            if let Some(time) = time? {
                return Ok(time);
            }
        }
        let gone = std::io::ErrorKind::NotFound.into();
        Err(Error::io(self.show(LEASES), "cannot tell the time", gone))
    }

    /// Deletes what is at a path; that nothing is there is no error.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn delete(&self, path: &str) -> Result<()> {
        match self {
            Self::Local(directory) => {
                let path = directory.root.join(path);
                match directory.call(Call::Delete, &path, || fs::remove_file(&path)) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                        Err(Error::io(path, "cannot delete", e))
                    }
                    _ => Ok(()),
                }
            }
            Self::Memory(store) => match block_on(store.delete(&ObjectPath::from(path))) {
                Err(object_store::Error::NotFound { .. }) | Ok(()) => Ok(()),
                Err(e) => Err(self.error(path, "cannot delete", e)),
            },
        }
    }

    /// Why a file of the lake could not be written. Whoever may not write in a lake hears of the lake, not of a temporary file in it.
    fn cannot_write(&self, path: &str, e: std::io::Error) -> Error {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match e.kind() {
            PermissionDenied | ReadOnlyFilesystem => Error::Lake {
                lake: self.show(""),
                reason: format!(
                    "it cannot be changed by this user or on this machine, only read: {}: {}",
                    path.rsplit_once('/')
                        .map_or(".", |(directory, _)| directory),
                    os_reason(&e)
                ),
            },
            _ => Error::io(self.show(path), "cannot write", e),
        }
    }

    fn error(&self, path: &str, what: &'static str, e: object_store::Error) -> Error {
        Error::io(self.show(path), what, std::io::Error::other(e))
    }
}

/// How often a file is written to tell the time if others remove it.
const TRIES: usize = 5;

/// Where whoever changes a lake says that it does.
pub(in crate::lake) const LEASES: &str = "_iolode/lease";

/// How the names of files end that are being written and have no name of their own yet.
pub(in crate::lake) const TEMPORARY: &str = ".tmp";

/// Syncs a directory, so that the names in it last.
pub(in crate::lake) fn sync_directory(directory: &Path) -> std::io::Result<()> {
    unless_unknown(File::open(directory)?.sync_all())
}

/// What a sync of a directory said. A file system that does not know such a thing keeps its names in its own way, which is no error.
fn unless_unknown(synced: std::io::Result<()>) -> std::io::Result<()> {
    use rustix::io::Errno;
    let unknown = [Errno::INVAL, Errno::NOTSUP, Errno::BADF].map(Errno::raw_os_error);
    match synced {
        Err(e) if e.raw_os_error().is_some_and(|code| unknown.contains(&code)) => Ok(()),
        synced => synced,
    }
}

/// Makes a directory and those above it that are missing, so that they last.
pub(in crate::lake) fn create_directory(directory: &Path) -> std::io::Result<()> {
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

/// Makes a directory of a lake, whose own must be there: a lake that was renamed meanwhile is not begun anew where it was.
pub(in crate::lake) fn create_below(root: &Path, directory: &Path) -> std::io::Result<()> {
    if !root.is_dir() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "the directory of the lake is gone; was it moved or removed?",
        ));
    }
    create_directory(directory)
}

impl Directory {
    /// Writes a synced file beside `target`; on failure none is left.
    fn write_beside(&self, target: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
        let directory = target.parent().unwrap_or(&self.root);
        create_below(&self.root, directory)?;
        let temporary = directory.join(format!(".{}{TEMPORARY}", uuid::Uuid::new_v4()));
        let write = || {
            let mut file = File::create_new(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        match self.call(Call::Write, &temporary, write) {
            Ok(()) => Ok(temporary),
            Err(e) => {
                let _ = self.call(Call::Delete, &temporary, || fs::remove_file(&temporary));
                Err(e)
            }
        }
    }

    fn replace(&self, target: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let temporary = self.write_beside(target, bytes)?;
        if let Err(e) = self.call(Call::Rename, target, || fs::rename(&temporary, target)) {
            let _ = self.call(Call::Delete, &temporary, || fs::remove_file(&temporary));
            return Err(e);
        }
        target.parent().map_or(Ok(()), sync_directory)
    }

    /// Writes a synced file to a name that is free; the name may not outlive a crash yet.
    fn put_if_absent(&self, target: &Path, bytes: &[u8]) -> std::io::Result<bool> {
        let temporary = self.write_beside(target, bytes)?;
        let linked = self.link_new(&temporary, target);
        // After a rename it is gone already.
        let _ = self.call(Call::Delete, &temporary, || fs::remove_file(&temporary));
        linked
    }

    /// Gives a file a second name if that is free. Where hard links are refused it is renamed, which must not replace either.
    fn link_new(&self, from: &Path, to: &Path) -> std::io::Result<bool> {
        let rename = || {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            Ok(rustix::fs::renameat_with(
                rustix::fs::CWD,
                from,
                rustix::fs::CWD,
                to,
                flags,
            )?)
        };
        let is_taken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::AlreadyExists;
        match self.call(Call::Link, to, || fs::hard_link(from, to)) {
            Ok(()) => Ok(true),
            Err(e) if is_taken(&e) => Ok(false),
            Err(_) => match self.call(Call::Link, to, rename) {
                Ok(()) => Ok(true),
                Err(e) if is_taken(&e) => Ok(false),
                Err(e) => Err(e),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn stores() -> (tempfile::TempDir, [Store; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let local = Store::directory(directory.path());
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
                                .put_if_absent("a/b.json", format!("writer {i}").as_bytes())
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
    fn deleting_twice_and_reading_nothing_are_no_errors() {
        let (_directory, stores) = stores();
        for store in stores {
            assert_eq!(store.read("x").unwrap(), None);
            store.put_if_absent("x", b"1").unwrap();
            store.delete("x").unwrap();
            store.delete("x").unwrap();
            assert_eq!(store.read("x").unwrap(), None);
        }
    }

    #[test]
    fn of_syncs_of_directories_only_those_that_a_file_system_does_not_know_may_fail() {
        let code = |code| unless_unknown(Err(std::io::Error::from_raw_os_error(code)));
        // EBADF, EINVAL and ENOTSUP on Linux; EIO and ENOSPC.
        for unknown in [9, 22, 95] {
            assert!(code(unknown).is_ok(), "{unknown}");
        }
        for error in [5, 28] {
            assert_eq!(code(error).unwrap_err().raw_os_error(), Some(error));
        }
        assert!(unless_unknown(Err(std::io::Error::other("?"))).is_err());
    }

    /// Syncs no directory.
    #[derive(Debug)]
    struct NoSync;

    impl Calls for NoSync {
        fn before(&self, call: Call, path: &Path) -> std::io::Result<()> {
            match call == Call::Sync && path.is_dir() {
                true => Err(std::io::Error::from_raw_os_error(5)),
                false => Ok(()),
            }
        }
    }

    #[test]
    fn a_file_whose_name_cannot_be_made_to_last_is_an_error_and_gone() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::with_calls(directory.path(), Arc::new(NoSync));
        let error = store.put_if_absent("list", b"1").unwrap_err().to_string();
        assert!(error.contains("cannot sync: input/output error"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    /// Removes each file as soon as it has its name, so many times.
    #[derive(Debug)]
    struct Removes(std::sync::atomic::AtomicUsize);

    impl Calls for Removes {
        fn after(&self, call: Call, path: &Path) -> std::io::Result<()> {
            let one_less = |left: usize| left.checked_sub(1);
            let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
            match call == Call::Link && self.0.fetch_update(set, get, one_less).is_ok() {
                true => fs::remove_file(path),
                false => Ok(()),
            }
        }
    }

    #[test]
    fn the_time_is_that_of_the_file_system_even_if_others_remove_the_file_that_tells_it() {
        let directory = tempfile::tempdir().unwrap();
        let open =
            |times: usize| Store::with_calls(directory.path(), Arc::new(Removes(times.into())));
        let before = fs::metadata(directory.path()).unwrap().modified().unwrap();
        assert!(open(TRIES - 1).time().unwrap() >= before);
        let error = open(TRIES).time().unwrap_err().to_string();
        assert!(error.contains("cannot tell the time"), "{error}");
    }

    /// A directory in which nobody may write.
    #[derive(Debug)]
    struct ReadOnly(i32);

    impl Calls for ReadOnly {
        fn before(&self, call: Call, _: &Path) -> std::io::Result<()> {
            match call {
                Call::Read => Ok(()),
                _ => Err(std::io::Error::from_raw_os_error(self.0)),
            }
        }
    }

    #[test]
    fn who_may_not_write_in_a_lake_is_told_of_the_lake() {
        // EACCES and EROFS.
        for (code, why) in [(13, "permission denied"), (30, "read-only file system")] {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::with_calls(directory.path(), Arc::new(ReadOnly(code)));
            for (where_to, error) in [
                (
                    "_iolode/part",
                    store.put_if_absent("_iolode/part/list", b"1").map(drop),
                ),
                ("_iolode/lease", store.time().map(drop)),
            ] {
                let expected = format!(
                    "lake {}: it cannot be changed by this user or on this machine, only read: {where_to}: {why}",
                    directory.path().display()
                );
                assert_eq!(error.unwrap_err().to_string(), expected);
            }
        }
    }

    /// Refuses every other link.
    #[derive(Debug)]
    struct NoLinks(AtomicBool);

    impl Calls for NoLinks {
        fn before(&self, call: Call, _: &Path) -> std::io::Result<()> {
            match call == Call::Link && self.0.fetch_xor(true, Ordering::Relaxed) {
                true => Err(std::io::ErrorKind::Unsupported.into()),
                false => Ok(()),
            }
        }
    }

    #[test]
    fn a_name_can_be_taken_by_renaming_too_but_only_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("from"), "1").unwrap();
        fs::write(path("taken"), "2").unwrap();
        // The first try, to link, is refused as file systems without links do.
        let store = Store::with_calls(directory.path(), Arc::new(NoLinks(AtomicBool::new(true))));
        let Store::Local(directory) = &store else {
            return;
        };
        assert!(!directory.link_new(&path("from"), &path("taken")).unwrap());
        assert!(directory.link_new(&path("from"), &path("free")).unwrap());
        assert!(!path("from").exists());
    }
}
