//! Paths, and what reads the directories that they name.

use crate::error::Error;
use crate::lake::version::time::micros;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Whether this is the address of something that is asked rather than read: `mysql://host/name`, `sacct:`.
pub(in crate::lake) fn is_address(path: &str) -> bool {
    path == "sacct:" || path.contains("://")
}

/// A path as the lake writes it. Bytes that are no UTF-8 become `\xHH`, so that two files never share a name.
pub(in crate::lake) fn name(path: &Path) -> Arc<str> {
    let mut name = String::new();
    for part in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name += part.valid();
        for byte in part.invalid() {
            name += &format!("\\x{byte:02x}");
        }
    }
    name.into()
}

/// What reads directories.
pub(in crate::lake) trait Lister: Sync {
    /// Tells `each` the entries of a directory, in any order; links are not followed.
    fn read(
        &self,
        directory: &Path,
        each: &mut dyn FnMut(OsString, io::Result<Kind>),
    ) -> io::Result<()>;

    /// What is at a path, links followed.
    fn look(&self, path: &Path) -> io::Result<Kind>;
}

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) enum Kind {
    File { bytes: u64, modified: i64 },
    Directory,
    Link,
    Other,
}

/// The file system.
pub(in crate::lake) struct Disk;

impl Lister for Disk {
    fn read(
        &self,
        directory: &Path,
        each: &mut dyn FnMut(OsString, io::Result<Kind>),
    ) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type().and_then(|kind| match () {
                () if kind.is_dir() => Ok(Kind::Directory),
                () if kind.is_symlink() => Ok(Kind::Link),
                // Relative to the open directory, which costs less than a look at the whole path.
                () if kind.is_file() => entry.metadata().map(|metadata| file(&metadata)),
                () => Ok(Kind::Other),
            });
            each(entry.file_name(), kind);
        }
        Ok(())
    }

    fn look(&self, path: &Path) -> io::Result<Kind> {
        let metadata = std::fs::metadata(path)?;
        Ok(match () {
            () if metadata.is_dir() => Kind::Directory,
            () if metadata.is_file() => file(&metadata),
            () => Kind::Other,
        })
    }
}

fn file(metadata: &Metadata) -> Kind {
    Kind::File {
        bytes: metadata.len(),
        modified: metadata.modified().map(micros).unwrap_or(0),
    }
}

/// An error's words without the path, which stands beside them.
pub(in crate::lake) fn why(error: &io::Error) -> String {
    let error = match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    };
    let text = Error::io("", "cannot read", error).to_string();
    text.trim_start_matches(": ").to_string()
}
