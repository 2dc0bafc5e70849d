//! One log held in memory: regions inflated, nothing decoded, buffers kept from log to log.

use super::header::{ByteRange, Header};
use super::job::Job;
use super::layout::layout;
use super::module::dxt::{DxtRecord, Form};
use super::module::{MODULES, Module, ModuleId, Status, lustre, module};
use super::module_region::ModuleRegion;
pub use super::module_state::ModuleState;
use super::module_state::{fail, note_repeated};
use super::names::Names;
use super::pieces::Pieces;
use super::plausible::Plausible;
use super::records::Records;
use super::region::{Damage, MOST_KEPT, RegionInflater, missing};
use super::spilled_records::{Limits as SpillLimits, Spilled};
use crate::error::{Error, Result};
use crate::source::{Input, Peek};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Bytes read at first: the header, and nearly always the job region and the names as well.
const HEAD: usize = 8 << 10;

/// Bytes of a job region that are inflated: 4 KiB of them mean something.
const MOST_JOB: usize = 1 << 20;

/// Limits of memory, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Inflated module regions, all together.
    pub(super) whole: usize,
    /// Names, and as much again for the table that finds them.
    pub(super) names: usize,
    /// For records that are put into a temporary file; None if they are not.
    pub(super) spill: Option<SpillLimits>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            whole: 1 << 30,
            names: 1 << 30,
            spill: None,
        }
    }
}

/// A set of modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModuleSet(u64);

/// A log.
#[derive(Default)]
pub struct Log {
    header: Option<Header>,
    job: Option<Job>,
    job_error: Option<(u64, String)>,
    names: Names,
    names_error: Option<(u64, String)>,
    /// What is unknown of the log as a whole, for want of memory.
    lost: Option<String>,
    states: Vec<ModuleState>,
    /// Inflated regions and where their records begin, by module number; empty where not read.
    module_regions: Vec<ModuleRegion>,
    regions: Option<RegionInflater>,
    /// First bytes of an input that is not in memory.
    head: Vec<u8>,
    scratch: Vec<u8>,
    limits: Limits,
    /// Directory of temporary files; that of the system if None.
    temp: Option<PathBuf>,
    /// The records of all modules, where they do not fit into memory.
    pub(super) spilled: Option<Spilled>,
}

impl ModuleSet {
    /// All modules but DXT.
    pub const DEFAULT: Self = Self(!(1 << ModuleId::DXT_POSIX.0 | 1 << ModuleId::DXT_MPIIO.0));
    /// All modules.
    pub const ALL: Self = Self(u64::MAX);

    /// The set with one more module.
    pub fn with(self, id: ModuleId) -> Self {
        Self(self.0 | 1u64.checked_shl(u32::from(id.0)).unwrap_or(0))
    }

    /// Whether a module is in it.
    pub fn contains(self, id: ModuleId) -> bool {
        self.0
            .checked_shr(u32::from(id.0))
            .is_some_and(|bits| bits & 1 == 1)
    }
}

impl Log {
    /// A log with nothing in it yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A log that takes about so many bytes of memory. If its records are more, they are put into a temporary file, in that directory or in
    /// that of the system.
    pub(super) fn with_memory(memory: usize, temp: Option<&Path>) -> Self {
        Self {
            temp: temp.map(Path::to_path_buf),
            ..Self::with_limits(Limits {
                whole: memory / 4,
                names: memory / 4,
                spill: Some(SpillLimits::new(memory)),
            })
        }
    }

    pub(super) fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Reads a log: header, job and names, and of the module regions those in `want`. Damage in a module is no error: its good
    /// records are kept, and [`Log::modules`] says what is missing.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a format that is not read, [`Error::Malformed`] if header or job region cannot be used,
    /// [`Error::Io`] if the file cannot be read or has shrunk.
    pub fn read(&mut self, input: &Input, want: ModuleSet) -> Result<()> {
        self.read_head(input)?;
        let Some(header) = self.header.clone() else {
            return Ok(());
        };
        self.read_names(input, &header)?;
        let fits = self.read_modules(input, &header, want)?;
        if !fits {
            self.clear_modules();
            self.spilled = Some(Spilled::new(self.temp.as_deref())?);
            self.read_modules(input, &header, want)?;
        }
        Ok(())
    }

    /// Reads the module regions; false if they do not fit into memory and may be spilled.
    fn read_modules(&mut self, input: &Input, header: &Header, want: ModuleSet) -> Result<bool> {
        for slot in 0..header.modules.len() {
            let (place, partial) = (header.modules[slot], header.partial >> slot & 1 == 1);
            if place.length == 0 && !(partial && slot > 0) {
                continue;
            }
            let id = ModuleId(slot as u8);
            let mut state = ModuleState {
                id,
                name: module(id)
                    .map_or_else(|| Cow::Owned(slot.to_string()), |m| Cow::Borrowed(m.name)),
                version: header.module_versions[slot],
                status: if partial {
                    Status::PartialFlag
                } else {
                    Status::Ok
                },
                partial,
                bytes: place.length,
                inflated_bytes: None,
                records: None,
                error_at: None,
                error: None,
            };
            match module(id) {
                None => {
                    state.status = Status::Unknown;
                    if let Some(damage) = missing(input, place).filter(|_| place.length > 0) {
                        fail(&mut state, damage);
                    }
                }
                Some(module) => {
                    if !self.read_module(input, header, module, place, want, &mut state)? {
                        return Ok(false);
                    }
                }
            }
            self.states.push(state);
        }
        Ok(true)
    }

    /// Reads header and job region only.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_head(&mut self, input: &Input) -> Result<()> {
        self.clear();
        let length = input.len().min(HEAD as u64) as usize;
        let header = match input.slice(0, length) {
            Some(head) => Header::read(input, head)?,
            None => {
                input.read_at(0, length, &mut self.head)?;
                Header::read(input, &self.head)?
            }
        };
        let mut job = self.job.take().unwrap_or_default();
        let mut bytes = std::mem::take(self.names.buffer());
        let damage = self.inflate(input, &header, header.job, &mut bytes, MOST_JOB)?;
        let read = job.read(&header, &bytes, damage.is_none());
        bytes.clear();
        *self.names.buffer() = bytes;
        if read.is_none() {
            let damage = damage.map_or_else(
                || "it ends before the job id".to_string(),
                |damage| damage.reason,
            );
            return Err(Error::Malformed {
                path: input.path().to_path_buf(),
                region: "job region".into(),
                at: Some(header.job.offset),
                reason: damage,
            });
        }
        self.job_error = damage.map(|damage| (damage.at as u64, damage.reason));
        self.header = Some(header);
        self.job = Some(job);
        Ok(())
    }

    /// The header; None before a log was read.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// The job; None before a log was read.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Where the rows of the log belong.
    pub(super) fn peek(&self) -> Peek {
        let job = self.job();
        Peek::Log {
            job_id: job.map_or(0, |job| job.job_id),
            start_time: job.and_then(Job::start_micros),
        }
    }

    /// The name of a record; None if the log holds none.
    pub fn name(&self, id: u64) -> Option<&[u8]> {
        self.names.get(id)
    }

    /// All names with the ids of their records, in the order of the log.
    pub(super) fn names(&self) -> Vec<(u64, &[u8])> {
        self.names.all()
    }

    /// Damage of the job region, though the job id could be read: position in the inflated bytes, and reason.
    pub fn job_error(&self) -> Option<&(u64, String)> {
        self.job_error.as_ref()
    }

    /// Damage of the name region: position in the inflated bytes, and reason.
    pub fn names_error(&self) -> Option<&(u64, String)> {
        self.names_error.as_ref()
    }

    /// Every module that the header names, by number.
    pub fn modules(&self) -> &[ModuleState] {
        &self.states
    }

    /// What of a log's memory may be taken for what, where its records are spilled.
    pub(super) fn limits(&self) -> SpillLimits {
        let limits = self.limits.spill;
        limits.unwrap_or_else(|| SpillLimits::new(self.limits.whole))
    }

    /// Notes something that is unknown of the log as a whole, for want of memory.
    pub(super) fn lose(&mut self, what: String) {
        self.lost = Some(what);
    }

    /// What is known of a module.
    pub(super) fn state_mut(&mut self, id: ModuleId) -> Option<&mut ModuleState> {
        self.states.iter_mut().find(|state| state.id == id)
    }

    /// How whole the log is, as far as it was read.
    pub fn status(&self) -> crate::source::Status {
        use crate::source::Status as Whole;
        let heads = [&self.job_error, &self.names_error];
        let heads = heads.iter().any(|error| error.is_some()) || self.lost.is_some();
        if heads || self.states.iter().any(|s| s.status.is_damaged()) {
            return Whole::Damaged;
        }
        let lacks = |s: &ModuleState| s.partial || s.status == Status::UnsupportedVersion;
        if self.states.iter().any(lacks) {
            Whole::Partial
        } else {
            Whole::Ok
        }
    }

    /// What is missing and why, one line; None if nothing is.
    pub fn why(&self) -> Option<String> {
        let mut parts = vec![];
        for (name, error) in [("job", &self.job_error), ("name", &self.names_error)] {
            if let Some((at, reason)) = error {
                parts.push(format!(
                    "{name} region at offset {at} (uncompressed): {reason}"
                ));
            }
        }
        for state in &self.states {
            match (&state.error, state.partial) {
                (Some(error), _) => {
                    let at = state
                        .error_at
                        .map(|at| format!(" at offset {at} (uncompressed)"))
                        .unwrap_or_default();
                    parts.push(format!("{} region{at}: {error}", state.name));
                }
                (None, true) => parts.push(format!(
                    "{}: Darshan ran out of memory, records are missing",
                    state.name
                )),
                (None, false) => {}
            }
        }
        parts.extend(self.lost.clone());
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What is known to be wrong with counters of a module, because of the release that wrote the log; None if nothing is. Source:
    /// FORMAT.md 13.4.
    pub fn warning(&self, id: ModuleId) -> Option<&'static str> {
        let common = matches!(id, ModuleId::POSIX | ModuleId::MPIIO | ModuleId::H5D);
        let version = self.header.as_ref().map(|header| header.version);
        (common && version == Some((3, 20)))
            .then_some("common access sizes and counts may be wrong: Darshan 3.2.0 wrote them")
    }

    /// Whether records of a module may be missing: it is flagged partial, or damaged.
    pub fn lacks_records(&self, id: ModuleId) -> bool {
        self.states
            .iter()
            .any(|s| s.id == id && (s.partial || s.status.is_damaged()))
    }

    /// The records of a module with counters in fixed places; None if the log has none, they were not asked for, or damage left
    /// none, so that nobody takes what is not known for zero.
    pub fn records(&self, id: ModuleId) -> Option<Records<'_>> {
        let region = self.region(id)?;
        let layout = layout(id, region.version)?;
        let n = region.count();
        if n == 0
            && self
                .states
                .iter()
                .any(|s| s.id == id && s.status.is_damaged())
        {
            return None;
        }
        Some(Records {
            bytes: &region.bytes,
            layout,
            starts: &region.starts,
            n,
        })
    }

    /// The LUSTRE records, in the order of the log.
    pub fn lustre(&self) -> impl Iterator<Item = lustre::Layout<'_>> + Clone {
        let region = self.region(ModuleId::LUSTRE);
        let version = region.map_or(0, |region| region.version);
        self.pieces(ModuleId::LUSTRE)
            .map(move |piece| lustre::Layout::read(piece, version))
    }

    /// The traced accesses of DXT_POSIX or DXT_MPIIO, a record for each file and process, in the order of the log.
    pub fn dxt(&self, id: ModuleId) -> impl Iterator<Item = DxtRecord<'_>> + Clone {
        let form = Form::new(id, self.region(id).map_or(0, |region| region.version));
        self.pieces(id)
            .map(move |piece| DxtRecord::read(piece, form))
    }

    /// The records of a module of variable records, little-endian.
    pub(super) fn pieces(&self, id: ModuleId) -> impl Iterator<Item = &[u8]> + Clone {
        let region = self.region(id);
        let n = region.map_or(0, |region| region.starts.len());
        (0..n).filter_map(move |record| Some(region?.record(record)))
    }

    /// The numbers of a module's records by ascending record id, then rank; no two have both in common.
    pub(super) fn order(&self, id: ModuleId) -> &[u32] {
        self.region(id).map_or(&[], |region| &region.order)
    }

    /// The inflated region of a module; None if it was not read.
    pub(super) fn region(&self, id: ModuleId) -> Option<&ModuleRegion> {
        self.module_regions
            .get(usize::from(id.0))
            .filter(|region| region.read)
    }

    fn clear(&mut self) {
        self.header = None;
        self.head.clear();
        self.names.clear();
        self.job_error = None;
        self.names_error = None;
        self.lost = None;
        if self.scratch.capacity() > MOST_KEPT {
            self.scratch = vec![];
        }
        self.clear_modules();
    }

    fn clear_modules(&mut self) {
        self.spilled = None;
        self.states.clear();
        self.module_regions
            .resize_with(MODULES.len() + 1, ModuleRegion::default);
        for region in &mut self.module_regions {
            // One huge log must not hold its memory for the rest of the run.
            if region.bytes.capacity() > MOST_KEPT {
                *region = ModuleRegion::default();
            }
            region.clear();
        }
    }

    fn read_names(&mut self, input: &Input, header: &Header) -> Result<()> {
        if header.names.length == 0 {
            return Ok(());
        }
        let mut bytes = std::mem::take(self.names.buffer());
        let most = self.limits.names;
        let damage = self.inflate(input, header, header.names, &mut bytes, most)?;
        *self.names.buffer() = bytes;
        if self
            .regions
            .as_ref()
            .is_some_and(|regions| regions.exceeded)
        {
            // Where all processes repeat them, the names are far less than their region.
            let place = header.names;
            let mut pieces = Pieces::new(input, place, header.compression, most / 2);
            let damage = self.names.read_pieces(&mut pieces, header, most)?;
            let at = pieces.made();
            let outside = missing(input, place).map(|damage| Damage { at, ..damage });
            let damage = damage.filter(|damage| !damage.truncated).or(outside);
            self.names_error = damage.map(|damage| (damage.at as u64, damage.reason));
            return Ok(());
        }
        let cut = self.names.index(header, most).err();
        self.names_error = damage
            .or(cut)
            .map(|damage| (damage.at as u64, damage.reason));
        Ok(())
    }

    fn read_module(
        &mut self,
        input: &Input,
        header: &Header,
        module: &'static Module,
        place: ByteRange,
        want: ModuleSet,
        state: &mut ModuleState,
    ) -> Result<bool> {
        // Whether the region is all there is known without reading it.
        let outside = missing(input, place);
        if !want.contains(module.id) || place.length == 0 {
            match outside.filter(|_| place.length > 0) {
                Some(damage) => fail(state, damage),
                None if !state.partial => state.status = Status::NotTaken,
                None => {}
            }
            return Ok(true);
        }
        if state.version == 0 || state.version > module.newest {
            if let Some(damage) = outside {
                fail(state, damage);
                return Ok(true);
            }
            let reason = format!(
                "module version {} is not supported; supported: 1 to {}",
                state.version, module.newest
            );
            state.error = Some(reason);
            state.status = if state.version == 0 {
                Status::Corrupt
            } else {
                Status::UnsupportedVersion
            };
            return Ok(true);
        }
        let nprocs = self.job.as_ref().map_or(0, |job| job.nprocs);
        let has_names = header.names.length > 0 && self.names_error.is_none();
        if let (Some(spilled), Some(limits)) = (&mut self.spilled, self.limits.spill) {
            let pieces = || Pieces::new(input, place, header.compression, limits.piece);
            let format = (header.order, nprocs);
            // A region that is not all there only ends too early.
            let plausible = Plausible::new(self.job.as_ref(), has_names.then_some(&self.names));
            let plausible = outside.is_none().then_some(&plausible);
            let damage = spilled.read(module, pieces, format, plausible, limits, state)?;
            let at = state.inflated_bytes.unwrap_or(0) as usize;
            if let Some(damage) = outside.map(|d| Damage { at, ..d }).or(damage) {
                fail(state, damage);
            }
            return Ok(true);
        }
        let mut region = self.take_region(module.id);
        let held: usize = self
            .module_regions
            .iter()
            .map(|region| region.bytes.len())
            .sum();
        let most = self.limits.whole.saturating_sub(held);
        let mut damage = self.inflate(input, header, place, &mut region.bytes, most)?;
        if self.limits.spill.is_some() && self.regions.as_ref().is_some_and(|r| r.exceeded) {
            return Ok(false);
        }
        state.inflated_bytes = Some(region.bytes.len() as u64);
        region.version = state.version;
        region.read = true;
        let cut = region.find_records(module, header.order, nprocs);
        if let Some(damage) = damage.as_mut().filter(|damage| !damage.truncated) {
            let plausible = Plausible::new(self.job.as_ref(), has_names.then_some(&self.names));
            region.drop_implausible(module, &plausible, 0, damage);
        }
        match (damage, cut) {
            // Where the bytes end too early, the last record is cut as well: that is no second fault.
            (Some(damage), _) => fail(state, damage),
            (None, Some((at, reason))) => fail(state, Damage::corrupt(at, reason)),
            (None, None) => {}
        }
        if let Some((at, n)) = region.drop_repeated(module) {
            note_repeated(state, Some(at), n);
        }
        state.records = Some(region.count() as u64);
        self.put_region(module.id, region);
        Ok(true)
    }

    /// Takes the records of a module out.
    pub(super) fn take_region(&mut self, id: ModuleId) -> ModuleRegion {
        let region = self.module_regions.get_mut(usize::from(id.0));
        region.map(std::mem::take).unwrap_or_default()
    }

    /// Puts the records of a module in.
    pub(super) fn put_region(&mut self, id: ModuleId, region: ModuleRegion) {
        if let Some(slot) = self.module_regions.get_mut(usize::from(id.0)) {
            *slot = region;
        }
    }

    /// Appends what can be read of a region to `into`, at most so many bytes; what cannot is the damage.
    fn inflate(
        &mut self,
        input: &Input,
        header: &Header,
        place: ByteRange,
        into: &mut Vec<u8>,
        most: usize,
    ) -> Result<Option<Damage>> {
        if place.length == 0 {
            return Ok(None);
        }
        let outside = missing(input, place);
        let there = place
            .offset
            .saturating_add(place.length)
            .min(input.len())
            .saturating_sub(place.offset) as usize;
        let regions = self.regions.get_or_insert_with(RegionInflater::new);
        (regions.limit, regions.exceeded) = (most, false);
        // Names and modules are read otherwise then; of the job region, which comes before there is a header, the front is all.
        regions.all_or_nothing = self.limits.spill.is_some() && self.header.is_some();
        if there == 0 {
            return Ok(outside);
        }
        let from = usize::try_from(place.offset).unwrap_or(usize::MAX);
        let head = self.head.get(from..from.saturating_add(there));
        let result = match input.slice(place.offset, there).or(head) {
            Some(bytes) => regions.inflate(header.compression, bytes, into),
            None if there > most => Err(regions.too_large(0)),
            None => {
                self.scratch.clear();
                input.read_at(place.offset, there, &mut self.scratch)?;
                regions.inflate(header.compression, &self.scratch, into)
            }
        };
        Ok(match (outside, result.err()) {
            (Some(mut outside), _) => {
                outside.at = into.len();
                Some(outside)
            }
            (None, damage) => damage,
        })
    }
}
