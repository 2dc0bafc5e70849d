//! The header: version, byte order, compression, and where each region lies.
//!
//! | | 3.00 to 3.21 | 3.41 |
//! |---|---|---|
//! | length | 360 | 1328 |
//! | version, 8 bytes of text; magic i64; compression u8 | 0; 8; 16 | 0; 8; 16 |
//! | partial flags | u32 at 20 | u64 at 24 |
//! | name region: offset u64, length u64 | 24 | 32 |
//! | module regions, the same | 16 from 40 | 64 from 48 |
//! | module versions u32 | 296 | 1072 |
//!
//! Source: FORMAT.md 1, checked against darshan-util 3.5.0.

use crate::error::{Error, Result};
use crate::source::Input;
use std::path::Path;

const MAGIC: i64 = 6567223;
/// Bytes of a header since version 3.41, the longest there is.
const LENGTH: usize = 1328;
const LENGTH_BEFORE_3_41: usize = 360;
/// Log versions that exist.
const VERSIONS: [(u16, u16); 5] = [(3, 0), (3, 10), (3, 20), (3, 21), (3, 41)];
/// Modules that a header of version 3.41 has room for.
pub const SLOTS: usize = 64;

/// Byte order of a log: that of the machine that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// How the regions are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Concatenated zlib streams.
    Zlib,
    /// Concatenated bzip2 streams.
    Bzip2,
    /// The bytes themselves.
    None,
}

/// Where a region lies in the file: compressed bytes `[offset, offset + length)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 if there is no such region.
    pub length: u64,
}

/// The header of a log. Modules are numbered as in version 3.41, whatever the version.
#[derive(Clone, Debug)]
pub struct Header {
    /// Major and minor version of the log format.
    pub version: (u16, u16),
    /// Byte order of everything in the log.
    pub order: ByteOrder,
    /// How its regions are compressed.
    pub compression: Compression,
    /// Bit i: module i ran out of memory on some process.
    pub partial: u64,
    /// The job region; it ends where the first other region begins.
    pub job: ByteRange,
    /// The name region.
    pub names: ByteRange,
    /// The module regions.
    pub modules: [ByteRange; SLOTS],
    /// Versions of the modules' formats.
    pub module_versions: [u32; SLOTS],
}

impl ByteOrder {
    /// The word in `darshan_log.byte_order`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Little => "little",
            Self::Big => "big",
        }
    }

    /// The unsigned 64-bit number at a place; None beyond the end.
    pub fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes: [u8; 8] = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        })
    }

    /// The unsigned 32-bit number at a place; None beyond the end.
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        })
    }

    /// The signed 64-bit number at a place; None beyond the end.
    pub fn i64(self, bytes: &[u8], at: usize) -> Option<i64> {
        self.u64(bytes, at).map(|v| v as i64)
    }
}

impl Compression {
    /// The word in `darshan_log.compression`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Bzip2 => "bzip2",
            Self::None => "none",
        }
    }
}

impl Header {
    /// Whether these first bytes of a file may be a Darshan log of any version 3.
    pub(super) fn probe(head: &[u8]) -> bool {
        let magic = ByteOrder::Little.i64(head, 8);
        let swapped = ByteOrder::Big.i64(head, 8);
        magic == Some(MAGIC)
            || swapped == Some(MAGIC)
            || (head.starts_with(b"3.") && head.get(4) == Some(&0))
    }

    /// Reads a header from the first bytes of a log.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an older format or an unknown version, [`Error::Malformed`] for anything that is no header.
    pub(super) fn read(input: &Input, head: &[u8]) -> Result<Self> {
        let path = input.path();
        let order = order(path, head)?;
        let version = version(path, head)?;
        let new = version >= (3, 41);
        let (length, slots, partial_at, maps_at, versions_at) = if new {
            (LENGTH, 64, 24, 32, 1072)
        } else {
            (LENGTH_BEFORE_3_41, 16, 20, 24, 296)
        };
        let head = head.get(..length).ok_or_else(|| {
            malformed(
                path,
                head.len() as u64,
                format!("the file ends inside the header, which takes {length} bytes"),
            )
        })?;
        let compression = match head.get(16) {
            Some(0) => Compression::Zlib,
            Some(1) => Compression::Bzip2,
            Some(2) => Compression::None,
            other => {
                return Err(malformed(
                    path,
                    16,
                    format!(
                        "compression {} is unknown; expected 0, 1 or 2",
                        other.unwrap_or(&0)
                    ),
                ));
            }
        };
        let partial = if new {
            order.u64(head, partial_at)
        } else {
            order.u32(head, partial_at).map(u64::from)
        };
        let place = |at: usize| ByteRange {
            offset: order.u64(head, at).unwrap_or(0),
            length: order.u64(head, at + 8).unwrap_or(0),
        };
        let mut header = Self {
            version,
            order,
            compression,
            partial: partial.unwrap_or(0),
            job: ByteRange::default(),
            names: place(maps_at),
            modules: [ByteRange::default(); SLOTS],
            module_versions: [0; SLOTS],
        };
        for slot in 0..slots {
            header.modules[slot] = place(maps_at + 16 * (slot + 1));
            header.module_versions[slot] = order.u32(head, versions_at + 4 * slot).unwrap_or(0);
        }
        header.job = ByteRange {
            offset: length as u64,
            length: header.job_end(input.len()).saturating_sub(length as u64),
        };
        header.renumber();
        Ok(header)
    }

    /// The job region has no length of its own: it ends where the name region begins, else the first module, else the file.
    fn job_end(&self, file: u64) -> u64 {
        let first = self
            .modules
            .iter()
            .filter(|m| m.length > 0)
            .map(|m| m.offset)
            .find(|offset| *offset > 0);
        // Of a truncated copy the end lies behind that of the file.
        match self.names.offset {
            0 => first.unwrap_or(file),
            names => names,
        }
    }

    /// Old logs number some modules differently: H5D came with 3.20, PNETCDF_VAR with 3.41.
    fn renumber(&mut self) {
        for (slot, since) in [(4, (3, 20)), (6, (3, 41))] {
            if self.version < since {
                self.modules.copy_within(slot..SLOTS - 1, slot + 1);
                self.modules[slot] = ByteRange::default();
                self.module_versions.copy_within(slot..SLOTS - 1, slot + 1);
                self.module_versions[slot] = 0;
                let below = self.partial & ((1 << slot) - 1);
                self.partial = below | (self.partial >> slot << (slot + 1));
            }
        }
    }
}

fn order(path: &Path, head: &[u8]) -> Result<ByteOrder> {
    if head.is_empty() {
        return Err(malformed(path, 0, "the file is empty".into()));
    }
    if ByteOrder::Little.i64(head, 8) == Some(MAGIC) {
        return Ok(ByteOrder::Little);
    }
    if ByteOrder::Big.i64(head, 8) == Some(MAGIC) {
        return Ok(ByteOrder::Big);
    }
    let unsupported = |reason: &str| Error::Unsupported {
        path: path.to_path_buf(),
        reason: reason.to_string(),
    };
    if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(b"BZh") {
        let reason =
            "compressed as a whole, as logs of Darshan 2 are; supported: log versions 3.00 to 3.41";
        return Err(unsupported(reason));
    }
    // Darshan writes the header last: what follows an empty one may be whole.
    if head.iter().take(LENGTH_BEFORE_3_41).all(|b| *b == 0) {
        let reason = "the header is empty: the program ended before Darshan finished the log (.darshan_partial)";
        return Err(unsupported(reason));
    }
    Err(malformed(
        path,
        8,
        format!("not a Darshan log: the magic number {MAGIC} is missing"),
    ))
}

fn version(path: &Path, head: &[u8]) -> Result<(u16, u16)> {
    let text = head.get(..8).unwrap_or_default();
    let text =
        String::from_utf8_lossy(text.split(|b| *b == 0).next().unwrap_or_default()).into_owned();
    let parsed = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed
        .filter(|version| VERSIONS.contains(version))
        .ok_or_else(|| Error::Unsupported {
            path: path.to_path_buf(),
            reason: format!(
                "log version `{}` is not supported; supported: 3.00 to 3.41",
                text.escape_default()
            ),
        })
}

fn malformed(path: &Path, at: u64, reason: String) -> Error {
    Error::Malformed {
        path: path.to_path_buf(),
        region: "header".into(),
        at: Some(at),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        Header::read(&Input::from_bytes("x.darshan", bytes.to_vec()), bytes)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_no_log_of_version_3_is_refused_by_name() {
        assert_eq!(
            refused(b""),
            "x.darshan: header at byte 0: the file is empty"
        );
        assert!(refused(&[0; 400]).ends_with("(.darshan_partial)"));
        let unfinished = [vec![0; LENGTH_BEFORE_3_41], vec![0x78; 500]].concat();
        assert!(refused(&unfinished).ends_with("(.darshan_partial)"));
        assert!(refused(b"\x1f\x8b\x08abcdefghijklmnopq").contains("as logs of Darshan 2 are"));
        assert!(refused(b"SHELL := /bin/bash\n").contains("not a Darshan log"));
        let mut old = vec![0; 400];
        old[..4].copy_from_slice(b"2.06");
        old[8..16].copy_from_slice(&MAGIC.to_le_bytes());
        assert_eq!(
            refused(&old),
            "x.darshan: log version `2.06` is not supported; supported: 3.00 to 3.41"
        );
        old[..4].copy_from_slice(b"3.10");
        assert!(refused(&old[..100]).contains("ends inside the header"));
        old[16] = 9;
        assert!(refused(&old).contains("compression 9 is unknown"));
    }

    #[test]
    fn modules_of_old_logs_get_the_numbers_of_today() {
        // In 3.10 LUSTRE is number 6 and STDIO 7; today 8 and 9.
        let mut log = vec![0; 360];
        log[..4].copy_from_slice(b"3.10");
        log[8..16].copy_from_slice(&MAGIC.to_be_bytes());
        log[20..24].copy_from_slice(&(1u32 << 6 | 1 << 3).to_be_bytes());
        log[40 + 6 * 16..][..8].copy_from_slice(&777u64.to_be_bytes());
        log[40 + 6 * 16 + 8..][..8].copy_from_slice(&5u64.to_be_bytes());
        log[296 + 6 * 4..][..4].copy_from_slice(&1u32.to_be_bytes());
        let header = Header::read(&Input::from_bytes("x", log.clone()), &log).unwrap();
        assert_eq!(header.order, ByteOrder::Big);
        assert_eq!(
            header.modules[8],
            ByteRange {
                offset: 777,
                length: 5
            }
        );
        assert_eq!(header.module_versions[8], 1);
        assert_eq!(header.partial, 1 << 8 | 1 << 3);
    }
}
