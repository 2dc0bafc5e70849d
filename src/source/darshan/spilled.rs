//! Logs whose records do not fit into memory: sorted in a temporary file, and taken from there part by part.

use super::derive::{self, Totals};
use super::header::ByteOrder;
use super::module::{MODULES, Module, ModuleId, Shape, int};
use super::module_region::ModuleRegion;
use super::module_state::{ModuleState, fail, note_repeated};
use super::pieces::{End, Pieces};
use super::region::Damage;
use super::spill::{Key, Merge, SpillFile};
use super::{DarshanReader, FILE_MODULES};
use crate::error::Result;
use crate::source::{BatchSink, Input};
use std::ops::Range;
use std::path::Path;

/// Most runs of a log, each of which takes a buffer when they are merged.
const MOST_RUNS: usize = 1024;

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
    file: SpillFile,
    regions: Vec<Region>,
}

/// The records of one module.
struct Region {
    module: &'static Module,
    version: u32,
    /// Bytes before the first record, which belong to all of them.
    head: Vec<u8>,
    runs: Vec<Range<u64>>,
    /// Records that are there twice within a run.
    repeated: usize,
}

/// Takes the records of one module, each once.
struct Cursor<'s> {
    region: &'s Region,
    merge: Merge,
    record: Vec<u8>,
    last: Option<Key>,
    taken: usize,
    repeated: usize,
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
    /// # Errors
    /// [`crate::Error::Io`] if the file cannot be read, or the temporary file not be written.
    pub(super) fn read(
        &mut self,
        module: &'static Module,
        mut pieces: Pieces<'_>,
        (order, nprocs): (ByteOrder, i64),
        limits: Limits,
        state: &mut ModuleState,
    ) -> Result<Option<Damage>> {
        let mut region = Region {
            module,
            version: state.version,
            head: vec![],
            runs: vec![],
            repeated: 0,
        };
        let mut piece = ModuleRegion::default();
        piece.begin(module, state.version, &[]);
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
            let whole = module.shape != Shape::Apxc || !more;
            if whole {
                self.write(&mut piece, &mut region)?;
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
            piece.begin(module, state.version, &head);
            piece.bytes.extend_from_slice(&rest);
            region.head = head;
        };
        region.head = piece.head().to_vec();
        state.inflated_bytes = Some(pieces.made() as u64);
        self.regions.push(region);
        Ok(damage)
    }

    /// Puts the records of a piece into the temporary file.
    fn write(&mut self, piece: &mut ModuleRegion, region: &mut Region) -> Result<()> {
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

    fn runs(&self) -> usize {
        self.regions.iter().map(|region| region.runs.len()).sum()
    }

    /// Begins to take the records of those modules, through buffers of `memory` bytes together.
    fn cursors(&self, keep: impl Fn(ModuleId) -> bool, memory: usize) -> Result<Vec<Cursor<'_>>> {
        let regions: Vec<&Region> = self.regions.iter().filter(|r| keep(r.module.id)).collect();
        let each = memory / regions.len().max(1);
        let cursors = regions.into_iter();
        cursors
            .map(|region| Cursor::new(region, &self.file, each))
            .collect()
    }
}

impl<'s> Cursor<'s> {
    fn new(region: &'s Region, file: &SpillFile, memory: usize) -> Result<Self> {
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
    fn id(&self) -> Option<u64> {
        self.merge.peek().map(|(id, _)| id)
    }

    /// Goes on by a record, which is empty if it is one that was there before.
    fn next(&mut self) -> Result<&[u8]> {
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

impl DarshanReader {
    /// Appends the rows of all modules, and has those taken that the builders can spare.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if the temporary file cannot be read, and those of [`BatchSink::flush`].
    pub(super) fn fill_spilled(
        &mut self,
        spilled: Spilled,
        input: &Input,
        id: i64,
        job_id: i64,
        tables: &mut BatchSink,
    ) -> Result<()> {
        let derived = tables.wants("darshan_file") || tables.wants("darshan_log");
        let of_files = |module: ModuleId| derived && FILE_MODULES.contains(&module);
        let mut totals = Totals::default();
        if derived {
            self.fill_files_by_parts(&spilled, &mut totals, id, job_id, tables)?;
        }
        // Backwards: DXT_MPIIO and DXT_POSIX share a table, in which MPIIO comes first.
        for module in MODULES.iter().rev().filter(|module| !of_files(module.id)) {
            self.fill_by_parts(&spilled, module.id, id, job_id, tables)?;
        }
        derive::fill_log(&self.log, totals, id, input, &self.site, tables);
        Ok(())
    }

    /// Appends the records of one module to its table.
    fn fill_by_parts(
        &mut self,
        spilled: &Spilled,
        module: ModuleId,
        id: i64,
        job_id: i64,
        tables: &mut BatchSink,
    ) -> Result<()> {
        let limits = self.log.limits();
        for mut cursor in spilled.cursors(|id| id == module, limits.buffers)? {
            while cursor.id().is_some() {
                let mut part = self.begin(&cursor);
                while part.bytes.len() < limits.part && cursor.id().is_some() {
                    take(&mut cursor, &mut part)?;
                }
                self.log.put_body(module, part);
                self.fill_part(&cursor, id, job_id, tables)?;
            }
            self.end(&cursor);
        }
        Ok(())
    }

    /// Appends the rows of files, and of the modules that they are made of: all records of a file together.
    fn fill_files_by_parts(
        &mut self,
        spilled: &Spilled,
        totals: &mut Totals,
        id: i64,
        job_id: i64,
        tables: &mut BatchSink,
    ) -> Result<()> {
        let limits = self.log.limits();
        let traces = |id: ModuleId| matches!(id, ModuleId::DXT_POSIX | ModuleId::DXT_MPIIO);
        let keep = |id: ModuleId| FILE_MODULES.contains(&id) || traces(id);
        let mut cursors = spilled.cursors(keep, limits.buffers)?;
        let mut more = true;
        while more {
            let mut parts: Vec<ModuleRegion> = cursors.iter().map(|c| self.begin(c)).collect();
            loop {
                let Some(file) = cursors.iter().filter_map(Cursor::id).min() else {
                    more = false;
                    break;
                };
                if parts.iter().map(|part| part.bytes.len()).sum::<usize>() >= limits.part {
                    break;
                }
                self.take_file(file, &mut cursors, &mut parts, limits.file)?;
            }
            for (cursor, part) in cursors.iter().zip(parts) {
                self.log.put_body(cursor.region.module.id, part);
            }
            derive::fill_files(&self.log, id, &self.site, totals, tables);
            for cursor in cursors.iter().filter(|c| !traces(c.region.module.id)) {
                self.fill_part(cursor, id, job_id, tables)?;
            }
            if !totals.fit(limits.totals) {
                let reason = "critical times, and those of the slowest process, are unknown: they take more than";
                self.log.lose(format!("{reason} {} bytes", limits.totals));
            }
        }
        for cursor in cursors.iter().filter(|c| !traces(c.region.module.id)) {
            self.end(cursor);
        }
        Ok(())
    }

    /// Takes the records of one file, at most so many bytes of them.
    fn take_file(
        &mut self,
        file: u64,
        cursors: &mut [Cursor<'_>],
        parts: &mut [ModuleRegion],
        most: usize,
    ) -> Result<()> {
        let mut bytes = 0;
        for (cursor, part) in cursors.iter_mut().zip(parts) {
            while cursor.id() == Some(file) {
                if bytes <= most {
                    bytes += take(cursor, part)?;
                    continue;
                }
                cursor.next()?;
                let id = cursor.region.module.id;
                if let Some(state) = self.log.state_mut(id).filter(|s| s.error.is_none()) {
                    let reason = format!("the records of one file take more than {most} bytes");
                    fail(state, Damage::corrupt(0, reason));
                    state.error_at = None;
                }
            }
        }
        Ok(())
    }

    /// The records of a module that the log holds, without any.
    fn begin(&mut self, cursor: &Cursor<'_>) -> ModuleRegion {
        let region = cursor.region;
        let mut part = self.log.take_body(region.module.id);
        part.begin(region.module, region.version, &region.head);
        part
    }

    /// Appends the records that the log holds of a module, and has rows taken.
    fn fill_part(
        &mut self,
        cursor: &Cursor<'_>,
        id: i64,
        job_id: i64,
        tables: &mut BatchSink,
    ) -> Result<()> {
        let module = cursor.region.module;
        if let Some(builder) = tables.get(module.table) {
            self.fill(module, id, job_id, builder)?;
        }
        tables.flush()
    }

    /// Notes how many records of a module were taken.
    fn end(&mut self, cursor: &Cursor<'_>) {
        let Some(state) = self.log.state_mut(cursor.region.module.id) else {
            return;
        };
        state.records = Some(cursor.taken as u64);
        // Where the first of them lay is not known of those that stand in different runs.
        let repeated = cursor.region.repeated + cursor.repeated;
        if repeated > 0 {
            note_repeated(state, None, repeated);
        }
    }
}

/// Id and process of a record.
fn key(record: &[u8]) -> Key {
    (int(record, 0) as u64, int(record, 8))
}

/// Takes the next record, and returns how many bytes it has.
fn take(cursor: &mut Cursor<'_>, part: &mut ModuleRegion) -> Result<usize> {
    let record = cursor.next()?;
    let length = record.len();
    if length > 0 && !part.push(record) {
        let e = std::io::ErrorKind::OutOfMemory.into();
        return Err(crate::Error::io("", "no memory for a record", e));
    }
    cursor.taken += usize::from(length > 0);
    Ok(length)
}
