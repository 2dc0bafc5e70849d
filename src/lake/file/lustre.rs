//! Layouts of files on Lustre: on which OST a new file lies.
//!
//! A layout is the extended attribute `lustre.lov`, a struct of Lustre's user interface (lustre_user.h) with numbers in the byte order of the client, which is
//! little-endian on all that Lustre supports. Written to a file without objects it says where they are to be made; read back it says where they are.
//!
//! | bytes | written and read |
//! |---|---|
//! | 0 to 3 | magic number: V1, or V3 where there is a pool |
//! | 4 to 7 | pattern: 1, RAID0 |
//! | 8 to 23 | id of the object; 0 is written |
//! | 24 to 27 | stripe size; 0 is written, the default of the file system |
//! | 28 to 29 | stripe count |
//! | 30 to 31 | index of the first OST as written; a generation as read |
//! | 32 to 47 | V3: name of the pool, padded with NUL |
//! | then | read: 24 bytes for each object, the last 4 of which are the index of its OST |

use rustix::fs::{OFlags, XattrFlags, fgetxattr, fgetxattr_query, fsetxattr, statfs};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The attribute that is a file's layout.
const LOV: &str = "lustre.lov";

/// `LL_SUPER_MAGIC`, the type of a Lustre file system.
const FILE_SYSTEM: u64 = 0x0bd0_0bd0;

/// `LOV_USER_MAGIC_V1`.
const V1: u32 = 0x0bd1_0bd0;

/// `LOV_USER_MAGIC_V3`, which has a pool.
const V3: u32 = 0x0bd3_0bd0;

/// `LOV_USER_MAGIC_COMP_V1`.
const COMPOSITE: u32 = 0x0bd6_0bd0;

/// `LOV_PATTERN_RAID0`.
const RAID0: u32 = 1;

/// Bytes before the objects: of V1, and of V3.
const HEAD: [usize; 2] = [32, 48];

/// Bytes of an object, and of these before the index of its OST.
const OBJECT: [usize; 2] = [24, 20];

/// `LOV_MAXPOOLNAME`: most bytes of a pool's name.
const POOL_NAME: usize = 15;

/// `O_ASYNC`.
const ASYNC: i32 = 0o20000;

/// Most bytes of a layout: some of 2,000 stripes and a few components.
const MOST: usize = 1 << 20;

/// Where the objects of a file lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A stripe on each of these OSTs.
    Stripes(Vec<i64>),
    /// Several layouts, one behind the other (PFL) or beside each other (FLR).
    Composite,
}

/// Whether a directory, or the nearest one above it that is there, lies on Lustre.
///
/// # Errors
/// Those of `statfs(2)`.
pub(super) fn is_lustre(directory: &Path) -> io::Result<bool> {
    let there = directory.ancestors().find(|above| above.is_dir());
    // The width and the sign of the number are the machine's.
    let kind = statfs(there.unwrap_or(Path::new("/")))?.f_type as u64 & 0xffff_ffff;
    Ok(kind == FILE_SYSTEM)
}

/// Whether a pool can have this name.
pub(super) fn is_pool_name(pool: &str) -> bool {
    !pool.is_empty() && pool.len() <= POOL_NAME && !pool.contains('\0')
}

/// Creates a file with one stripe on an OST, of a pool if one is given.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where layouts cannot be set in this way; what the OST or the pool is refused for, or the file cannot be created for. No
/// file is left then.
pub(super) fn create(path: &Path, ost: i64, pool: Option<&str>) -> io::Result<File> {
    create_with(LOV, path, ost, pool)
}

fn create_with(attribute: &str, path: &Path, ost: i64, pool: Option<&str>) -> io::Result<File> {
    let ost = u16::try_from(ost).map_err(|_| io::Error::from(Errno::INVAL))?;
    // `O_LOV_DELAY_CREATE`: no object is made before the layout is known. Elsewhere the two flags mean nothing for a file.
    let delay = OFlags::NOCTTY.bits() as i32 | ASYNC;
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(delay)
        .open(path)?;
    let set = fsetxattr(&file, attribute, &one_stripe(ost, pool), XattrFlags::CREATE);
    match set {
        Ok(()) => Ok(file),
        Err(e) => {
            _ = fs::remove_file(path);
            Err(e.into())
        }
    }
}

/// Where a file lies by Lustre's own word; None if it has no objects, or there is no Lustre.
pub(super) fn layout(file: &File) -> Option<Layout> {
    layout_with(LOV, file)
}

fn layout_with(attribute: &str, file: &File) -> Option<Layout> {
    let mut bytes = vec![0; fgetxattr_query(file, attribute).ok()?.min(MOST)];
    let read = fgetxattr(file, attribute, bytes.as_mut_slice()).ok()?;
    layout_of(bytes.get(..read)?)
}

/// A layout of one stripe.
fn one_stripe(ost: u16, pool: Option<&str>) -> Vec<u8> {
    let magic = if pool.is_some() { V3 } else { V1 };
    let mut bytes = vec![];
    bytes.extend(magic.to_le_bytes());
    bytes.extend(RAID0.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(ost.to_le_bytes());
    if let Some(pool) = pool {
        let mut name = [0; POOL_NAME + 1];
        let length = pool.len().min(POOL_NAME);
        name[..length].copy_from_slice(&pool.as_bytes()[..length]);
        bytes.extend(name);
    }
    bytes
}

fn layout_of(layout: &[u8]) -> Option<Layout> {
    let number = |at: usize| {
        let bytes = layout.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let head = match number(0)? {
        V1 => HEAD[0],
        V3 => HEAD[1],
        COMPOSITE => return Some(Layout::Composite),
        _ => return None,
    };
    let stripes = number(28)? & 0xffff;
    let [object, index] = OBJECT;
    let osts =
        (0..stripes as usize).map(|stripe| number(head + stripe * object + index).map(i64::from));
    let osts = osts.collect::<Option<Vec<i64>>>()?;
    (!osts.is_empty()).then_some(Layout::Stripes(osts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte as struct lov_user_md_v1 and lov_user_md_v3 have them.
    #[test]
    fn a_layout_is_the_struct_of_lustre() {
        let mut v1 = vec![0xd0, 0x0b, 0xd1, 0x0b, 1, 0, 0, 0];
        v1.extend([0; 16]);
        v1.extend([0, 0, 0, 0, 1, 0, 0x2c, 0x01]);
        assert_eq!(one_stripe(300, None), v1);
        let mut v3 = v1.clone();
        v3[2] = 0xd3;
        v3.extend(b"flash\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(one_stripe(300, Some("flash")), v3);
    }

    #[test]
    fn the_osts_of_a_layout_are_those_of_its_objects() {
        let object = |ost: u32| [[7; 20].as_slice(), &ost.to_le_bytes()].concat();
        let read = |magic: u8, stripes: u8, rest: &[u8]| {
            let mut bytes = one_stripe(9, None);
            (bytes[2], bytes[28]) = (magic, stripes);
            bytes.extend(rest);
            layout_of(&bytes)
        };
        assert_eq!(
            read(0xd1, 1, &object(300)),
            Some(Layout::Stripes(vec![300]))
        );
        let pool = [0; 16].as_slice();
        let two = [pool, &object(70_000), &object(4)].concat();
        assert_eq!(read(0xd3, 2, &two), Some(Layout::Stripes(vec![70_000, 4])));
        assert_eq!(read(0xd6, 1, &object(1)), Some(Layout::Composite));
        // A layout as it is written has no objects.
        assert_eq!(read(0xd1, 1, &[]), None);
        assert_eq!(layout_of(&[0xd0, 0x0b]), None);
    }

    /// Another attribute stands in for Lustre's, which no other file system has.
    #[test]
    fn a_file_has_its_layout_before_its_first_byte_and_is_not_left_where_that_fails() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.parquet");
        let file = create_with("user.lov", &path, 5, Some("flash")).unwrap();
        let mut bytes = [0; 100];
        let length = fgetxattr(&file, "user.lov", bytes.as_mut_slice()).unwrap();
        assert_eq!(bytes[..length], one_stripe(5, Some("flash")));
        assert_eq!(layout_with("user.lov", &file), None);
        let again = create_with("user.lov", &path, 5, None).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);

        let other = directory.path().join("y.parquet");
        let refused = create(&other, 5, None).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert!(!other.exists() && create(&other, 70_000, None).is_err());
        assert!(!is_lustre(directory.path()).unwrap());
    }
}
