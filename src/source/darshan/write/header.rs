//! The header, and where a version keeps each module in it.

use super::encode::Bytes;
use crate::source::darshan::header::{ByteOrder, Compression};

const MAGIC: i64 = 6_567_223;

/// How the bytes of a log lie.
#[derive(Clone, Copy)]
pub(in crate::source::darshan) struct Format {
    pub(in crate::source::darshan) version: (u16, u16),
    pub(in crate::source::darshan) byte_order: ByteOrder,
    pub(in crate::source::darshan) compression: Compression,
}

/// The header of a log; lengths and places are filled in while the regions are written.
pub(super) struct Header {
    version: (u16, u16),
    order: ByteOrder,
    compression: Compression,
    partial: u64,
    /// Offset and length of the name region.
    pub(super) names: (u64, u64),
    /// Slot, offset and length, module version.
    pub(super) modules: Vec<(usize, (u64, u64), u32)>,
}

impl Header {
    pub(super) fn new(format: Format, partial: u64) -> Self {
        Self {
            version: format.version,
            order: format.byte_order,
            compression: format.compression,
            partial,
            names: (0, 0),
            modules: vec![],
        }
    }

    /// Modules that the map has room for.
    fn slots(version: (u16, u16)) -> usize {
        if version < (3, 41) { 16 } else { 64 }
    }

    /// Bytes of the header: 360 before 3.41, then 1,328.
    pub(super) fn len(&self) -> usize {
        let slots = Self::slots(self.version);
        if self.version < (3, 41) {
            40 + 20 * slots
        } else {
            48 + 20 * slots
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Bytes::new(self.order);
        to.text(
            format!("{}.{:02}", self.version.0, self.version.1).as_bytes(),
            8,
        );
        to.i64(MAGIC);
        let compression = match self.compression {
            Compression::Zlib => 0,
            Compression::Bzip2 => 1,
            Compression::None => 2,
        };
        let mut partial = 0;
        for module in (0..64).filter(|module| self.partial & (1 << module) != 0) {
            if let Some(slot) = slot(self.version, module) {
                partial |= 1u64 << slot;
            }
        }
        match self.version < (3, 41) {
            true => {
                to.raw(&[compression, 0, 0, 0]);
                to.u32(partial as u32);
            }
            false => {
                to.raw(&[compression, 0, 0, 0, 0, 0, 0, 0]);
                to.u64(partial);
            }
        }
        let mut maps = vec![(0, 0); Self::slots(self.version)];
        let mut versions = vec![0; maps.len()];
        for (slot, map, version) in &self.modules {
            (maps[*slot], versions[*slot]) = (*map, *version);
        }
        for (offset, length) in std::iter::once(self.names).chain(maps) {
            to.u64(offset);
            to.u64(length);
        }
        versions.into_iter().for_each(|version| to.u32(version));
        debug_assert_eq!(to.bytes.len(), self.len());
        to.bytes
    }
}

/// The slot that a version gives to a module (3.41 numbering): before 3.41 there was no PNETCDF_VAR (6), before 3.20 no
/// H5D (4), and 16 slots in all.
pub(super) fn slot(version: (u16, u16), module: usize) -> Option<usize> {
    let mut slot = module;
    if version < (3, 41) {
        match slot {
            6 => return None,
            7.. => slot -= 1,
            _ => {}
        }
    }
    if version < (3, 20) {
        match slot {
            4 => return None,
            5.. => slot -= 1,
            _ => {}
        }
    }
    (slot < Header::slots(version)).then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::slot;

    #[test]
    fn lustre_moves_from_slot_6_over_7_to_8() {
        let slots = [(3, 0), (3, 10), (3, 20), (3, 21), (3, 41)].map(|version| slot(version, 8));
        assert_eq!(slots, [Some(6), Some(6), Some(7), Some(7), Some(8)]);
    }

    #[test]
    fn modules_that_a_version_did_not_have_get_no_slot() {
        assert_eq!((slot((3, 10), 4), slot((3, 20), 4)), (None, Some(4)));
        assert_eq!((slot((3, 21), 6), slot((3, 41), 6)), (None, Some(6)));
        assert_eq!(
            (slot((3, 10), 17), slot((3, 21), 17), slot((3, 41), 63)),
            (Some(15), None, Some(63))
        );
    }
}
