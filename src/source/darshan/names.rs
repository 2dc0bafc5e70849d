//! The name region: record id to name.
//!
//! Version 3.00 writes `id u64, length u32, bytes`, later ones `id u64, bytes, NUL`, one after another. Ranks repeat ids; the
//! first name that is not empty counts. Source: FORMAT.md 4.

use super::header::Header;
use super::pieces::{End, Pieces};
use super::region::{Damage, MOST_KEPT};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

const CUT: &str = "the last name is cut short";

/// Bytes of a table for each name that has room in it, about.
const ENTRY: usize = 20;

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

    /// Finds the names in the inflated region, with a table of at most so many bytes.
    ///
    /// # Errors
    /// The first byte that makes no whole record, and why; the names before it are kept.
    pub(super) fn index(&mut self, header: &Header, most: usize) -> Result<(), Damage> {
        let mut at = 0;
        while at < self.bytes.len() {
            let (id, from, to, next) = Self::next(header, &self.bytes, at)
                .ok_or_else(|| Damage::corrupt(at, CUT.to_string()))?;
            if to > from && !self.insert(id, from, to, most) {
                return Err(too_many(at, most));
            }
            at = next;
        }
        Ok(())
    }

    /// Takes the names piece by piece and each once: at most so many bytes of them, and a table of as many.
    ///
    /// # Errors
    /// Those of [`Pieces::fill`].
    pub(super) fn read_pieces(
        &mut self,
        pieces: &mut Pieces<'_>,
        header: &Header,
        most: usize,
    ) -> crate::error::Result<Option<Damage>> {
        *self = Self::default();
        let mut piece = vec![];
        loop {
            let end = pieces.fill(&mut piece)?;
            let (base, mut at) = (pieces.made() - piece.len(), 0);
            while let Some((id, from, to, next)) = Self::next(header, &piece, at) {
                let name = piece.get(from..to).unwrap_or_default();
                if !name.is_empty() && !self.places.contains_key(&id) {
                    let place = (self.bytes.len(), self.bytes.len() + name.len());
                    let fits = place.1 <= most && self.bytes.try_reserve(name.len()).is_ok();
                    if !fits || !self.insert(id, place.0, place.1, most) {
                        return Ok(Some(too_many(base + at, most)));
                    }
                    self.bytes.extend_from_slice(name);
                }
                at = next;
            }
            piece.drain(..at);
            match end {
                Some(End::Damaged(damage)) => return Ok(Some(damage)),
                Some(End::Whole) if piece.is_empty() => return Ok(None),
                Some(End::Whole) => {
                    return Ok(Some(Damage::corrupt(base + at, CUT.to_string())));
                }
                None if piece.len() > most => return Ok(Some(too_many(base + at, most))),
                None => {}
            }
        }
    }

    /// Notes where a name lies, unless an earlier one of the id is known; false if there is no room for it.
    fn insert(&mut self, id: u64, from: usize, to: usize, most: usize) -> bool {
        let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(to)) else {
            return false;
        };
        if self.places.len() == self.places.capacity() {
            // The table doubles.
            let bytes = self.places.capacity().saturating_mul(2 * ENTRY);
            if bytes > most.max(1 << 16) || self.places.try_reserve(1).is_err() {
                return self.places.contains_key(&id);
            }
        }
        self.places.entry(id).or_insert((from, to));
        true
    }

    /// Id of the record at `at`, where its name begins and ends, and where the next record begins; None if it is not whole.
    fn next(header: &Header, bytes: &[u8], at: usize) -> Option<(u64, usize, usize, usize)> {
        match header.version {
            (3, 0) => Self::counted(header, bytes, at),
            _ => Self::terminated(header, bytes, at),
        }
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

    /// All names with the ids of their records, in the order of the log.
    pub(super) fn all(&self) -> Vec<(u64, &[u8])> {
        let mut places: Vec<_> = self.places.iter().collect();
        places.sort_unstable_by_key(|(_, (from, _))| *from);
        let name = |(id, _): (&u64, _)| Some((*id, self.get(*id)?));
        places.into_iter().filter_map(name).collect()
    }

    /// The name of a record; None if the log holds none.
    pub(super) fn get(&self, id: u64) -> Option<&[u8]> {
        let (from, to) = self.places.get(&id)?;
        self.bytes.get(*from as usize..*to as usize)
    }
}

fn too_many(at: usize, most: usize) -> Damage {
    Damage::corrupt(at, format!("its names take more than {most} bytes"))
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
