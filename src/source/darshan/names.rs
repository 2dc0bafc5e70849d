//! The name region: record id to name.
//!
//! Version 3.00 writes `id u64, length u32, bytes`, later ones `id u64, bytes, NUL`, one after another. Ranks repeat ids; the
//! first name that is not empty counts. Source: darshan-format.md, section 4.

use super::header::Header;
use super::region::MOST_KEPT;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The names of one log.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    /// Where each name lies in `bytes`.
    places: HashMap<u64, (u32, u32), IdState>,
}

impl Names {
    pub(super) fn clear(&mut self) {
        // One huge log must not hold its memory, nor the time to clear it, for the rest of the run.
        if self.bytes.capacity() > MOST_KEPT || self.places.capacity() > MOST_KEPT / 32 {
            *self = Self::default();
        }
        self.bytes.clear();
        self.places.clear();
    }

    /// The buffer that the region is inflated into, before [`Names::index`].
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Finds the names in the inflated region.
    ///
    /// # Errors
    /// Position of the first byte that makes no whole record, and why; the names before it are kept.
    pub(super) fn index(&mut self, header: &Header) -> Result<(), (usize, &'static str)> {
        let mut at = 0;
        while at < self.bytes.len() {
            let (id, from, to, next) = match header.version {
                (3, 0) => Self::counted(header, &self.bytes, at),
                _ => Self::terminated(header, &self.bytes, at),
            }
            .ok_or((at, "the last name is cut short"))?;
            if to > from {
                let place = (u32::try_from(from), u32::try_from(to));
                let (Ok(from), Ok(to)) = place else {
                    return Err((at, "more than 4 GiB of names"));
                };
                self.places.entry(id).or_insert((from, to));
            }
            at = next;
        }
        Ok(())
    }

    fn counted(header: &Header, bytes: &[u8], at: usize) -> Option<(u64, usize, usize, usize)> {
        let id = header.order.u64(bytes, at)?;
        let length = header.order.u32(bytes, at + 8)? as usize;
        let (from, to) = (at + 12, (at + 12).checked_add(length)?);
        let name = bytes.get(from..to)?;
        let end = from + name.iter().position(|b| *b == 0).unwrap_or(length);
        Some((id, from, end, to))
    }

    fn terminated(header: &Header, bytes: &[u8], at: usize) -> Option<(u64, usize, usize, usize)> {
        let id = header.order.u64(bytes, at)?;
        let end = at + 8 + bytes.get(at + 8..)?.iter().position(|b| *b == 0)?;
        Some((id, at + 8, end, end + 1))
    }

    /// The name of a record; None if the log holds none.
    pub(super) fn get(&self, id: u64) -> Option<&[u8]> {
        let (from, to) = self.places.get(&id)?;
        self.bytes.get(*from as usize..*to as usize)
    }
}

/// Record ids are hashes already, so mixing in a number that nobody knows is enough to keep hostile ones apart.
#[derive(Clone)]
struct IdState(u64);

impl Default for IdState {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0u64))
    }
}

impl BuildHasher for IdState {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher(self.0)
    }
}

/// Folds one id.
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0 ^ id)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(26);
    }
}
