//! The records of a log that is larger than memory: sorted runs of each module in a temporary file.

use crate::error::Result;
use crate::source::darshan::header::ByteOrder;
use crate::source::darshan::module::{Module, ModuleId, Shape, int};
use crate::source::darshan::module_region::ModuleRegion;
use crate::source::darshan::module_state::ModuleState;
use crate::source::darshan::pieces::{End, Pieces};
use crate::source::darshan::plausible::Plausible;
use crate::source::darshan::region::Damage;
use crate::source::darshan::spill::{Key, Merge, SpillFile};
use std::ops::Range;
use std::path::Path;

/// Most runs of a log, each of which takes a buffer when they are merged.
pub(super) const MOST_RUNS: usize = 1024;

/// What of a log's memory may be taken for what, where its records are spilled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes that are inflated and sorted at once.
    pub(super) piece: usize,
    /// One record.
    pub(super) record: usize,
    /// Records that are taken from the temporary file at once, about.
    pub(super) part: usize,
    /// All records of one file.
    pub(super) file: usize,
    /// Buffers of runs that are merged.
    pub(super) buffers: usize,
    /// What is noted of all files for the log's row.
    pub(super) totals: usize,
}

/// The records of a log in a temporary file.
pub(super) struct Spilled {
    pub(super) file: SpillFile,
    pub(super) regions: Vec<Region>,
}

/// The records of one module.
pub(super) struct Region {
    pub(super) module: &'static Module,
    pub(super) version: u32,
    /// Bytes before the first record, which belong to all of them.
    pub(super) head: Vec<u8>,
    pub(super) runs: Vec<Range<u64>>,
    /// Records that are there twice within a run.
    pub(super) repeated: usize,
}

/// Takes the records of one module, each once.
pub(super) struct Cursor<'s> {
    pub(super) region: &'s Region,
    pub(super) merge: Merge,
    pub(super) record: Vec<u8>,
    pub(super) last: Option<Key>,
    pub(super) taken: usize,
    pub(super) repeated: usize,
}

impl Limits {
    /// For a log that takes about so many bytes of memory. A part makes several times its size in rows.
    pub(super) fn new(memory: usize) -> Self {
        Self {
            piece: memory / 8,
            record: memory / 8,
            part: memory / 16,
            file: memory / 4,
            buffers: memory / 8,
            totals: memory / 4,
        }
    }
}

impl Spilled {
    /// No records yet, and a temporary file in that directory; in that of the system if None.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if there can be no temporary file.
    pub(super) fn new(directory: Option<&Path>) -> Result<Self> {
        Ok(Self {
            file: SpillFile::new(directory)?,
            regions: vec![],
        })
    }

    /// Reads a region, of numbers in that order and a log of so many processes, piece by piece; what cannot be read is the damage.
    ///
    /// A region whose compressed bytes are wrong is read twice, as only then its records have to be plausible.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if the file cannot be read, or the temporary file not be written.
    pub(super) fn read<'i>(
        &mut self,
        module: &'static Module,
        pieces: impl Fn() -> Pieces<'i>,
        format: (ByteOrder, i64),
        plausible: Option<&Plausible<'_>>,
        limits: Limits,
        state: &mut ModuleState,
    ) -> Result<Option<Damage>> {
        let (mut all, version) = (pieces(), state.version);
        let found = self.read_records(module, version, &mut all, format, None, limits)?;
        let (mut region, mut damage) = found;
        // Wrong bytes may give a bad record long before decompression notices them.
        if let Some(End::Damaged(mut wrong)) = all.skip_to_end(MOST_RUNS)? {
            if let Some(plausible) = plausible.filter(|_| !wrong.truncated) {
                let check = Some((plausible, &mut wrong));
                let again = &mut pieces();
                let found = self.read_records(module, version, again, format, check, limits)?;
                region = found.0;
            }
            damage = Some(wrong);
        }
        state.inflated_bytes = Some(all.made() as u64);
        self.regions.push(region);
        Ok(damage)
    }

    /// Reads a region up to its end, the first bad record, or the first that is not plausible, which is added to what is wrong.
    fn read_records(
        &mut self,
        module: &'static Module,
        version: u32,
        pieces: &mut Pieces<'_>,
        (order, nprocs): (ByteOrder, i64),
        mut check: Option<(&Plausible<'_>, &mut Damage)>,
        limits: Limits,
    ) -> Result<(Region, Option<Damage>)> {
        let mut region = Region {
            module,
            version,
            head: vec![],
            runs: vec![],
            repeated: 0,
        };
        let mut piece = ModuleRegion::default();
        piece.begin(module, version, &[]);
        // Where the first byte of the piece lies in the region.
        let mut base = 0;
        let damage = loop {
            let end = pieces.fill(&mut piece.bytes)?;
            let more = end.is_none();
            // APXC is one record.
            if more && module.shape == Shape::Apxc && piece.bytes.len() <= limits.record {
                continue;
            }
            let cut = piece.walk(module, order).err();
            let good = cut.as_ref().map_or(piece.bytes.len(), |(at, _)| *at);
            let rest = piece.bytes.get(good..).unwrap_or_default().to_vec();
            piece.bytes.truncate(good);
            let bad = piece.drop_bad(module, nprocs);
            let implausible = match &mut check {
                Some((plausible, wrong)) => piece.drop_implausible(module, plausible, base, wrong),
                None => false,
            };
            let whole = module.shape != Shape::Apxc || !more;
            if whole {
                self.write(&mut piece, &mut region)?;
            }
            if implausible {
                break None;
            }
            if let Some((at, reason)) = bad {
                break Some(Damage::corrupt(base + at, reason));
            }
            match end {
                Some(End::Damaged(damage)) => break Some(damage),
                Some(End::Whole) => {
                    break cut.map(|(at, reason)| Damage::corrupt(base + at, reason));
                }
                None if !whole || rest.len() > limits.record => {
                    let reason = cut.map(|(_, reason)| format!(": {reason}"));
                    let reason = format!(
                        "a record takes more than {} bytes{}",
                        limits.record,
                        reason.unwrap_or_default()
                    );
                    break Some(Damage::corrupt(base + if whole { good } else { 0 }, reason));
                }
                None if self.runs() + region.runs.len() >= MOST_RUNS => {
                    let reason = format!("its records take more than {} bytes", pieces.made());
                    break Some(Damage::corrupt(base + good, reason));
                }
                None => {}
            }
            let head = piece.head().to_vec();
            base = base + good - head.len();
            piece.begin(module, version, &head);
            piece.bytes.extend_from_slice(&rest);
            region.head = head;
        };
        region.head = piece.head().to_vec();
        Ok((region, damage))
    }

    /// Puts the records of a piece into the temporary file.
    pub(super) fn write(&mut self, piece: &mut ModuleRegion, region: &mut Region) -> Result<()> {
        let repeated = piece.drop_repeated(region.module);
        region.repeated += repeated.map_or(0, |(_, n)| n);
        let records = piece.order.iter().map(|r| piece.record(*r as usize));
        let run = self
            .file
            .write(records.map(|record| (key(record), record)))?;
        if !run.is_empty() {
            region.runs.push(run);
        }
        Ok(())
    }

    pub(super) fn runs(&self) -> usize {
        self.regions.iter().map(|region| region.runs.len()).sum()
    }

    /// Begins to take the records of those modules, through buffers of `memory` bytes together.
    pub(super) fn cursors(
        &self,
        keep: impl Fn(ModuleId) -> bool,
        memory: usize,
    ) -> Result<Vec<Cursor<'_>>> {
        let regions: Vec<&Region> = self.regions.iter().filter(|r| keep(r.module.id)).collect();
        let each = memory / regions.len().max(1);
        let cursors = regions.into_iter();
        cursors
            .map(|region| Cursor::new(region, &self.file, each))
            .collect()
    }
}

impl<'s> Cursor<'s> {
    pub(super) fn new(region: &'s Region, file: &SpillFile, memory: usize) -> Result<Self> {
        Ok(Self {
            region,
            merge: file.merge(&region.runs, memory)?,
            record: vec![],
            last: None,
            taken: 0,
            repeated: 0,
        })
    }

    /// Id of the next record; None after the last one.
    pub(super) fn id(&self) -> Option<u64> {
        self.merge.peek().map(|(id, _)| id)
    }

    /// Goes on by a record, which is empty if it is one that was there before.
    pub(super) fn next(&mut self) -> Result<&[u8]> {
        let key = self.merge.peek();
        self.merge.next(&mut self.record)?;
        if self.last == key && self.region.module.shape != Shape::Apxc {
            self.repeated += 1;
            self.record.clear();
        }
        self.last = key;
        Ok(&self.record)
    }
}

/// Id and process of a record.
pub(super) fn key(record: &[u8]) -> Key {
    (int(record, 0) as u64, int(record, 8))
}
