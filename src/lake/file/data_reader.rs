//! A data file that is read: open as long as descriptors are spare, else opened for each access.

use super::descriptors::{Spare, spare};
use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A data file on a disk.
pub(in crate::lake) struct DataReader {
    path: PathBuf,
    length: u64,
    open: Option<(Arc<File>, Spare)>,
}

/// Its bytes from a place on.
pub(in crate::lake) struct Bytewise {
    file: Arc<File>,
    at: u64,
}

impl DataReader {
    /// Opens a file.
    pub(in crate::lake) fn open(path: PathBuf) -> std::io::Result<Self> {
        let file = File::open(&path)?;
        Ok(Self {
            path,
            length: file.metadata()?.len(),
            open: spare().map(|spare| (Arc::new(file), spare)),
        })
    }

    fn file(&self) -> std::io::Result<Arc<File>> {
        match &self.open {
            Some((file, _)) => Ok(file.clone()),
            None => File::open(&self.path).map(Arc::new),
        }
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
        let file = self.file()?;
        Ok(BufReader::new(Bytewise { file, at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        self.file()?.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

impl Read for Bytewise {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
