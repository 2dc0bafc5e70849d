//! A data file that is read: open as long as descriptors are spare, else opened for each access.
//!
//! Parquet passes on the words of an error only. So the reader notes which of its errors came from the file system: the file is not damaged
//! then, and nobody knows what it holds.

use super::descriptors::{Spare, spare};
use crate::lake::version::calls::Call;
use crate::lake::version::store::Store;
use crate::source::open_regular;
use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A data file on a disk.
pub(in crate::lake) struct DataReader {
    store: Store,
    path: PathBuf,
    length: u64,
    open: Option<(Arc<File>, Spare)>,
    refused: Refused,
}

/// The first error of the file system that a reader met.
#[derive(Clone, Default)]
pub(in crate::lake) struct Refused(Arc<Mutex<Option<std::io::Error>>>);

impl Refused {
    /// Takes it.
    pub(in crate::lake) fn take(&self) -> Option<std::io::Error> {
        self.0.lock().ok()?.take()
    }

    fn note<T>(&self, read: std::io::Result<T>) -> std::io::Result<T> {
        // A file that ends too early is damaged, and what a signal interrupts is read again.
        if let Err(e) = &read
            && !matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::Interrupted)
            && let Ok(mut noted) = self.0.lock()
        {
            let same = match e.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(e.kind(), e.to_string()),
            };
            noted.get_or_insert(same);
        }
        read
    }
}

/// Its bytes from a place on.
pub(in crate::lake) struct Bytewise {
    file: Arc<File>,
    at: u64,
    refused: Refused,
}

impl DataReader {
    /// Opens a file of a store.
    pub(in crate::lake) fn open(store: &Store, path: PathBuf) -> std::io::Result<Self> {
        let file = store.call(Call::Read, &path, || open_regular(&path))?;
        Ok(Self {
            store: store.clone(),
            length: file.metadata()?.len(),
            open: spare().map(|spare| (Arc::new(file), spare)),
            path,
            refused: Refused::default(),
        })
    }

    /// Where its errors are noted.
    pub(in crate::lake) fn refused(&self) -> Refused {
        self.refused.clone()
    }

    fn file(&self) -> std::io::Result<Arc<File>> {
        self.store
            .call(Call::Read, &self.path, || match &self.open {
                Some((file, _)) => Ok(file.clone()),
                None => open_regular(&self.path).map(Arc::new),
            })
    }
}

impl Length for DataReader {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for DataReader {
    type T = BufReader<Bytewise>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let file = self.refused.note(self.file())?;
        Ok(BufReader::new(Bytewise {
            file,
            at: start,
            refused: self.refused(),
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let read = self.file().and_then(|file| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, start)?;
            Ok(bytes)
        });
        Ok(self.refused.note(read)?.into())
    }
}

impl Read for Bytewise {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.refused.note(self.file.read_at(bytes, self.at))?;
        self.at += read as u64;
        Ok(read)
    }
}
