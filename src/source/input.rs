//! One input: bytes at a path, read piece by piece.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that somebody else wrote, with the path they came from.
///
/// Read by position, never mapped: a log may shrink while it is read, and that must be an error, not a signal.
pub struct Input {
    path: PathBuf,
    len: u64,
    /// When it was last changed, microseconds since 1970.
    modified: Option<i64>,
    bytes: Bytes,
    /// The file under its own name, where that is not the path.
    temporary: Option<tempfile::TempPath>,
}

/// Opens a regular file to be read. Of anything else the bytes might be waited for.
pub(crate) fn open_regular(path: &Path) -> std::io::Result<File> {
    // A pipe without a writer would be waited for here.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok(file),
        false if metadata.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Err(std::io::Error::other("not a regular file")),
    }
}

enum Bytes {
    File(File),
    Memory(Vec<u8>),
    /// There are none: a server at this address is asked.
    Server(String),
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened or is no regular file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let open = || -> std::io::Result<(File, u64, Option<i64>)> {
            let file = open_regular(&path)?;
            let metadata = file.metadata()?;
            let modified = metadata.modified().ok();
            let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let modified = modified.and_then(|d| i64::try_from(d.as_micros()).ok());
            Ok((file, metadata.len(), modified))
        };
        let (file, len, modified) = open().map_err(|e| Error::io(&path, "cannot open", e))?;
        Ok(Self {
            path,
            len,
            modified,
            bytes: Bytes::File(file),
            temporary: None,
        })
    }

    /// Bytes already in memory; `path` is what messages call them.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Self {
        Self {
            path: path.as_ref().to_path_buf(),
            len: bytes.len() as u64,
            modified: None,
            bytes: Bytes::Memory(bytes),
            temporary: None,
        }
    }

    /// An open file; `path` is what messages call it.
    ///
    /// # Errors
    /// [`Error::Io`] if its size cannot be had.
    pub fn from_file(path: impl AsRef<Path>, file: File) -> Result<Self> {
        let metadata = file
            .metadata()
            .map_err(|e| Error::io(&path, "cannot read", e))?;
        Ok(Self {
            path: path.as_ref().to_path_buf(),
            len: metadata.len(),
            modified: None,
            bytes: Bytes::File(file),
            temporary: None,
        })
    }

    /// A file that goes with the input; `path` is what messages call it.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn from_temporary(path: impl AsRef<Path>, file: tempfile::TempPath) -> Result<Self> {
        let input = Self::open(&file)?;
        Ok(Self {
            path: path.as_ref().to_path_buf(),
            temporary: Some(file),
            ..input
        })
    }

    /// What a server at an address will say when it is asked. Its path is the address without the password, so that no message
    /// and no lake tells that.
    pub fn server(address: &str) -> Self {
        Self {
            path: without_password(address).into(),
            len: 0,
            modified: None,
            bytes: Bytes::Server(address.to_string()),
            temporary: None,
        }
    }

    /// The address of a server, with the password if it has one.
    pub fn address(&self) -> Option<&str> {
        match &self.bytes {
            Bytes::Server(address) => Some(address),
            _ => None,
        }
    }

    /// Whether it is a server rather than bytes.
    pub fn is_server(&self) -> bool {
        matches!(self.bytes, Bytes::Server(_))
    }

    /// The same bytes, said to have been changed last at that time.
    pub fn with_modified(self, micros: i64) -> Self {
        Self {
            modified: Some(micros),
            ..self
        }
    }

    /// When the file was last changed, microseconds since 1970; None if that is not known.
    pub fn modified(&self) -> Option<i64> {
        self.modified
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its bytes lie, for readers that want a file: a temporary one has another name than the input.
    pub fn file(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(&self.path)
    }

    /// Size in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the bytes `[at, at + len)` to `into`.
    ///
    /// # Errors
    /// [`Error::Io`] if it has become shorter than when it was opened, or cannot be read. [`Error::Malformed`] if the
    /// range lies outside; the caller checks that first where it can say more.
    pub fn read_at(&self, at: u64, len: usize, into: &mut Vec<u8>) -> Result<()> {
        let end = at.checked_add(len as u64).filter(|end| *end <= self.len);
        let Some(end) = end else {
            let reason = format!("{len} bytes wanted, the file has {}", self.len);
            return Err(Error::Malformed {
                path: self.path.clone(),
                region: "file".into(),
                at: Some(at),
                reason,
            });
        };
        match &self.bytes {
            Bytes::Memory(bytes) => into.extend_from_slice(&bytes[at as usize..end as usize]),
            Bytes::Server(_) => {}
            Bytes::File(file) => {
                let from = into.len();
                into.resize(from + len, 0);
                if let Err(e) = file.read_exact_at(&mut into[from..], at) {
                    into.truncate(from);
                    let shrunk = e.kind() == std::io::ErrorKind::UnexpectedEof;
                    let e = if shrunk {
                        std::io::Error::other("it became shorter while it was read")
                    } else {
                        e
                    };
                    return Err(Error::io(&self.path, "cannot read", e));
                }
            }
        }
        Ok(())
    }

    /// The bytes `[at, at + len)` without a copy, if they are in memory.
    pub fn slice(&self, at: u64, len: usize) -> Option<&[u8]> {
        match &self.bytes {
            Bytes::Memory(bytes) => bytes.get(at as usize..(at as usize).checked_add(len)?),
            Bytes::File(_) | Bytes::Server(_) => None,
        }
    }

    /// The input with its bytes in memory, if they are at most `limit`; `buffer` is used for them.
    ///
    /// # Errors
    /// As [`Input::read_at`].
    pub fn load(self, limit: u64, mut buffer: Vec<u8>) -> Result<Self> {
        if self.len > limit || !matches!(self.bytes, Bytes::File(_)) {
            return Ok(self);
        }
        buffer.clear();
        self.read_at(0, self.len as usize, &mut buffer)?;
        Ok(Self {
            bytes: Bytes::Memory(buffer),
            ..self
        })
    }

    /// Gives the memory back for the next [`Input::load`].
    pub fn into_buffer(self) -> Vec<u8> {
        match self.bytes {
            Bytes::Memory(buffer) => buffer,
            Bytes::File(_) | Bytes::Server(_) => vec![],
        }
    }

    /// All bytes, one after another.
    pub fn bytes(&self) -> impl Read + '_ {
        Reading { input: self, at: 0 }
    }

    /// The error for an input that is not what it was when it was looked at before.
    pub(crate) fn changed(&self) -> Error {
        let why = std::io::Error::other("it changed while it was read");
        Error::io(self.path(), "cannot read", why)
    }

    /// XXH3 (64 bit, seed 0) of all bytes.
    ///
    /// # Errors
    /// As [`Input::read_at`].
    pub fn hash(&self) -> Result<i64> {
        if let Bytes::Memory(bytes) = &self.bytes {
            return Ok(xxhash_rust::xxh3::xxh3_64(bytes) as i64);
        }
        let (mut hash, mut buffer, mut at) = (Xxh3::new(), vec![], 0);
        while at < self.len {
            let n = (self.len - at).min(1 << 20);
            buffer.clear();
            self.read_at(at, n as usize, &mut buffer)?;
            hash.update(&buffer);
            at += n;
        }
        Ok(hash.digest() as i64)
    }
}

/// See [`Input::bytes`].
struct Reading<'i> {
    input: &'i Input,
    at: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = (self.input.len() - self.at).min(into.len() as u64) as usize;
        let mut bytes = Vec::with_capacity(n);
        self.input
            .read_at(self.at, n, &mut bytes)
            .map_err(std::io::Error::other)?;
        into[..n].copy_from_slice(&bytes);
        self.at += n as u64;
        Ok(n)
    }
}

/// `mysql://user@host:3306/name` of `mysql://user:secret@host:3306/name`.
pub(crate) fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_string();
    };
    // What follows the name of the database may hold options, and any of them a secret.
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    // A password may hold what ends a host: the last `@` ends it, wherever it stands.
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or(user);
            format!("{scheme}://{user}@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_server_does_not_tell_its_password() {
        let path = |address: &str| Input::server(address).path().to_str().unwrap().to_string();
        assert_eq!(
            path("mysql://lmt:se:c@r/et@db:3306/filesystem_lc1?x=y"),
            "mysql://lmt@db:3306/filesystem_lc1"
        );
        assert_eq!(
            path("mysql://lmt@db/filesystem_lc1"),
            "mysql://lmt@db/filesystem_lc1"
        );
        assert_eq!(
            path("mysql://db/filesystem_lc1"),
            "mysql://db/filesystem_lc1"
        );
        assert_eq!(
            Input::server("mysql://a:b@c/d").address(),
            Some("mysql://a:b@c/d")
        );
    }

    #[test]
    fn a_file_that_shrinks_after_it_was_opened_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 100]).unwrap();
        let input = Input::open(file.path()).unwrap();
        file.as_file().set_len(50).unwrap();
        let error = input.read_at(40, 20, &mut vec![]).unwrap_err().to_string();
        assert!(
            error.ends_with("cannot read: it became shorter while it was read"),
            "{error}"
        );
    }

    #[test]
    fn memory_and_file_give_the_same_bytes_and_hash() {
        let bytes: Vec<u8> = (0..3_000_000u32)
            .map(|i| (i.wrapping_mul(i) >> 3) as u8)
            .collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let (file, memory) = (
            Input::open(file.path()).unwrap(),
            Input::from_bytes("memory", bytes),
        );
        assert_eq!(file.hash().unwrap(), memory.hash().unwrap());
        let (mut a, mut b) = (vec![], vec![]);
        file.read_at(2_999_000, 1000, &mut a).unwrap();
        memory.read_at(2_999_000, 1000, &mut b).unwrap();
        assert_eq!(a, b);
        assert!(memory.read_at(u64::MAX, 1, &mut a).is_err());
    }
}
