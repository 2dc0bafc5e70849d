//! A data file that is written, and what makes it last.

use super::descriptors::{FdPermit, try_acquire};
use super::target::FileDestination;
use crate::error::{Error, Result};
use crate::lake::threads::on_threads;
use crate::lake::version::calls::Call;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::store::{Store, sync_directory};
use object_store::{ObjectStoreExt, PutPayload, path::Path as ObjectPath};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Files that are synced at once.
const BATCH: usize = 32;

/// Where the bytes go, and the hash of those so far.
pub(in crate::lake) struct Sink {
    to: To,
    hash: Xxh3,
}

enum To {
    File(Output),
    Memory(Vec<u8>),
}

/// A file on a disk.
struct Output {
    path: PathBuf,
    /// None while it is closed.
    file: Option<BufWriter<File>>,
    /// Permission to stay open.
    permit: Option<FdPermit>,
}

/// What is known of a file when it is whole.
pub(in crate::lake) struct Whole {
    pub(in crate::lake) bytes: u64,
    pub(in crate::lake) content_hash: i64,
    pub(in crate::lake) unsynced: Option<Unsynced>,
}

/// A whole file that a crash could still undo.
pub(in crate::lake) struct Finished {
    pub(in crate::lake) data: DataFile,
    pub(in crate::lake) unsynced: Option<Unsynced>,
}

/// What has to be synced of a file: its bytes if it is open still, and its name.
pub(in crate::lake) struct Unsynced {
    path: PathBuf,
    open: Option<(File, FdPermit)>,
}

impl Sink {
    /// Creates the file at a path of the target's store; with the path to keep and the target on which it lies.
    pub(in crate::lake) fn create(
        target: &FileDestination,
        path: String,
    ) -> Result<(Self, String, Option<i64>)> {
        let (to, path, ost) = match &target.store {
            Store::Memory(_) => (To::Memory(vec![]), path, None),
            Store::Local(directory) => {
                let place = || {
                    let (root, place) = (directory.root(), &target.place);
                    let created = place.create(root, &target.lake_id, &path, target.ost.get());
                    created.map_err(std::io::Error::other)
                };
                let created = target.store.call(Call::Create, Path::new(&path), place);
                let (file, path, ost) = created.map_err(|e| match e.downcast::<Error>() {
                    Ok(error) => error,
                    Err(e) => Error::io(target.store.show(&path), "cannot create", e),
                })?;
                target.ost.note(ost);
                let output = Output {
                    path: target.store.show(&path),
                    file: Some(buffered(file)),
                    permit: try_acquire(),
                };
                (To::File(output), path, ost)
            }
        };
        let hash = Xxh3::new();
        Ok((Self { to, hash }, path, ost))
    }

    /// Closes the file, which is in this store, until more is written, unless it may stay open.
    pub(in crate::lake) fn pause(&mut self, store: &Store) -> std::io::Result<()> {
        match &mut self.to {
            To::File(output) if output.permit.is_none() => match output.file.take() {
                // What is synced now cannot fail without a word while nobody has it open.
                Some(file) => sync_file(store, &file.into_inner()?, &output.path),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Ends the file, which is at this path of a store.
    pub(in crate::lake) fn finish(self, store: &Store, path: &str) -> std::io::Result<Whole> {
        let content_hash = self.hash.digest() as i64;
        let (bytes, unsynced) = match (self.to, store) {
            (To::File(output), _) => {
                let (bytes, unsynced) = output.finish(store)?;
                (bytes, Some(unsynced))
            }
            (To::Memory(bytes), Store::Memory(store)) => {
                let length = bytes.len() as u64;
                let path = ObjectPath::from(path);
                futures::executor::block_on(store.put(&path, PutPayload::from(bytes)))
                    .map_err(std::io::Error::other)?;
                (length, None)
            }
            (To::Memory(_), Store::Local(_)) => (0, None),
        };
        Ok(Whole {
            bytes,
            content_hash,
            unsynced,
        })
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = match &mut self.to {
            To::File(output) => output.open()?.write(bytes),
            To::Memory(memory) => memory.write(bytes),
        }?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.to {
            To::File(output) => output.file.as_mut().map_or(Ok(()), BufWriter::flush),
            To::Memory(_) => Ok(()),
        }
    }
}

impl Output {
    /// The file, opened again if it was closed.
    fn open(&mut self) -> std::io::Result<&mut BufWriter<File>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => buffered(self.reopened()?),
        };
        Ok(self.file.insert(file))
    }

    fn reopened(&self) -> std::io::Result<File> {
        File::options().append(true).open(&self.path)
    }

    fn finish(mut self, store: &Store) -> std::io::Result<(u64, Unsynced)> {
        let file = match self.file.take() {
            Some(buffered) => buffered.into_inner()?,
            None => self.reopened()?,
        };
        let bytes = file.metadata()?.len();
        let open = match self.permit {
            Some(permit) => Some((file, permit)),
            None => {
                sync_file(store, &file, &self.path)?;
                None
            }
        };
        let path = self.path;
        Ok((bytes, Unsynced { path, open }))
    }
}

fn sync_file(store: &Store, file: &File, path: &Path) -> std::io::Result<()> {
    store.call(Call::Sync, path, || file.sync_all())
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(1 << 16, file)
}

/// Makes files last, and their names. They are synced side by side, because a sync is waiting, and file systems do several at
/// the price of one; and closed then.
pub(in crate::lake) struct Syncing {
    store: Store,
    files: Vec<(File, PathBuf, FdPermit)>,
    directories: BTreeSet<PathBuf>,
}

impl Syncing {
    /// No files yet, of this store.
    pub(in crate::lake) fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            files: vec![],
            directories: BTreeSet::new(),
        }
    }

    /// Takes a file, and waits for those so far if they are many.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn push(&mut self, file: Option<Unsynced>) -> Result<()> {
        let Some(Unsynced { path, open }) = file else {
            return Ok(());
        };
        self.directories.extend(path.parent().map(PathBuf::from));
        if let Some((file, permit)) = open {
            self.files.push((file, path, permit));
        }
        match self.files.len() < BATCH {
            true => Ok(()),
            false => self.sync_files(),
        }
    }

    /// Waits for what is left.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn finish(mut self) -> Result<()> {
        self.sync_files()?;
        let directories: Vec<PathBuf> = std::mem::take(&mut self.directories).into_iter().collect();
        for batch in directories.chunks(BATCH) {
            // A directory is opened to be synced.
            let open: Vec<Option<FdPermit>> = batch.iter().map(|_| try_acquire()).collect();
            let width = open.iter().flatten().count().max(1);
            for directories in batch.chunks(width) {
                let (_, failure) = on_threads(
                    width,
                    directories.iter().collect(),
                    || Ok(()),
                    |_, directory: &PathBuf| {
                        let sync = || sync_directory(directory);
                        let synced = self.store.call(Call::Sync, directory, sync);
                        synced.map_err(|e| Error::io(directory, "cannot sync", e))
                    },
                );
                failure.map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    fn sync_files(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        let (_, failure) = on_threads(
            files.len(),
            files,
            || Ok(()),
            |_, (file, path, _)| {
                sync_file(&self.store, &file, &path)
                    .map_err(|e| Error::io(&path, "cannot write", e))
            },
        );
        failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_closed_in_between_has_all_its_bytes_and_is_synced_by_whoever_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let output = Output {
            path: path.clone(),
            file: Some(buffered(File::create(&path).unwrap())),
            permit: None,
        };
        let mut sink = Sink {
            to: To::File(output),
            hash: Xxh3::new(),
        };
        let store = Store::directory(directory.path());
        for word in ["one ", "two ", "three"] {
            sink.pause(&store).unwrap();
            sink.write_all(word.as_bytes()).unwrap();
        }
        sink.pause(&store).unwrap();
        assert!(matches!(&sink.to, To::File(output) if output.file.is_none()));
        assert_eq!(std::fs::read(&path).unwrap(), b"one two three");
        let whole = sink.finish(&store, "x").unwrap();
        let hash = xxhash_rust::xxh3::xxh3_64(b"one two three") as i64;
        assert_eq!((whole.bytes, whole.content_hash), (13, hash));
        assert!(whole.unsynced.unwrap().open.is_none());
    }
}
