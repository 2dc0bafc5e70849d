//! A log written anew: every counter as it was, under other names.
//!
//! [`Replacements`] says what stands in the place of names and of what the job region says. Version, byte order, compression, modules and
//! the order of their records stay. A region is kept in memory whole; `record` changes its records where they lie.
//!
//! Replaced are names, record ids (also that of the file of a dataset, and that before a rename), hosts, pools and containers; bytes that
//! mean nothing (FORMAT.md 7.3) are set to 0. A module of which not every byte is understood cannot be rewritten and is left out.

mod record;
mod replacements;

pub use replacements::{Name, Replacements};

use super::derive::mount::Mounts;
use super::header::{ByteOrder, ByteRange, Header};
use super::log::{Limits, Log, ModuleSet, ModuleState};
use super::module::{Module, ModuleId, Shape, module};
use super::module_region::ModuleRegion;
use super::pieces::{End, PIECE, Pieces};
use super::record_id::{is_stream, record_id};
use super::region::missing;
use super::write::{Encoder, Format, LogWriter};
use crate::error::{Error, Result};
use crate::source::Input;
use record::{Ids, Renaming};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

/// Most bytes of an inflated region.
const MOST: usize = 256 << 20;

/// Names that Darshan gives to what is no file; they name nobody.
const CONSTANT: [&str; 13] = [
    "<STDIN>",
    "<STDOUT>",
    "<STDERR>",
    "heatmap:POSIX",
    "heatmap:MPIIO",
    "heatmap:STDIO",
    "heatmap:DFS",
    "heatmap:DAOS",
    "APMPI",
    "APXC",
    "darshan-apmpi-header",
    "darshan-apxc-header",
    "UNKNOWN",
];

/// Whether a record id is that of a name which Darshan gives to what is no file: it is the same in all logs.
pub fn is_constant(id: u64) -> bool {
    static IDS: LazyLock<HashSet<u64>> = LazyLock::new(|| {
        CONSTANT
            .iter()
            .map(|name| record_id(name.as_bytes()))
            .collect()
    });
    IDS.contains(&id)
}

/// A log written anew.
pub struct Rewritten {
    /// The file.
    pub bytes: Vec<u8>,
    /// What it lacks: modules of unknown number or version, APXC, and mounts whose new names are too long for the job region.
    pub left_out: Vec<String>,
}

/// Rewrites logs, keeping its buffers from one to the next.
pub struct Rewriter {
    log: Log,
    encoder: Encoder,
}

impl Default for Rewriter {
    fn default() -> Self {
        Self {
            log: Log::with_limits(Limits {
                whole: MOST,
                names: MOST,
                spill: None,
            }),
            encoder: Encoder::default(),
        }
    }
}

impl Rewriter {
    /// A log under other names.
    ///
    /// # Errors
    /// Those of [`Log::read`]; [`Error::Malformed`] if any region is damaged, since what is missing of it would look as if it had never
    /// been there; [`Error::Unsupported`] if one takes more than 256 MiB; those of the replacements.
    pub fn rewrite(
        &mut self,
        input: &Input,
        replacements: &mut dyn Replacements,
    ) -> Result<Rewritten> {
        let objects = [ModuleId::H5D, ModuleId::PNETCDF_VAR];
        let want = objects
            .iter()
            .fold(ModuleSet::default(), |set, id| set.with(*id));
        self.log.read(input, want)?;
        let log = &self.log;
        let (Some(header), Some(job)) = (log.header(), log.job()) else {
            return Err(malformed(input, "header", None, "it is missing".into()));
        };
        for (region, damage) in [
            ("job region", log.job_error()),
            ("name region", log.names_error()),
        ] {
            if let Some((at, reason)) = damage {
                return Err(malformed(input, region, Some(*at as usize), reason.clone()));
            }
        }
        let damaged = |state: &&ModuleState| state.status.is_damaged();
        if let Some(state) = log.modules().iter().find(damaged) {
            let reason = state.error.clone().unwrap_or_default();
            let at = state.error_at.map(|at| at as usize);
            return Err(malformed(
                input,
                &format!("{} region", state.name),
                at,
                reason,
            ));
        }
        let objects: HashSet<u64> = objects
            .into_iter()
            .filter_map(|id| log.records(id))
            .flat_map(|records| (0..records.len()).map(move |record| records.id(record)))
            .collect();
        let (mut ids, mut names) = (Ids::default(), vec![]);
        for (id, name) in log.names() {
            let text = String::from_utf8_lossy(name);
            let is_constant = CONSTANT.contains(&text.as_ref());
            let name = Name {
                text: &text,
                is_object: objects.contains(&id),
            };
            let new = match is_constant {
                true => text.to_string(),
                false => replacements.name(name)?,
            };
            let new_id = match is_constant || is_stream(id) {
                true => id,
                false => replacements.record_id(id, Some(name)),
            };
            ids.insert(id, new_id);
            names.push((new_id, new));
        }

        let format = Format {
            version: header.version,
            byte_order: header.order,
            compression: header.compression,
        };
        let (modules, left_out) = modules(header);
        let partial = left_out
            .iter()
            .fold(header.partial, |bits, slot| bits & !(1u64 << *slot));
        let mut new_job = replacements.job(job)?;
        if new_job.mounts_left_out(format.version) > 0 {
            // Those that hold files of the log come first.
            let mounts = Mounts::new(&job.mounts);
            let names = log.names().into_iter();
            let used: HashSet<&[u8]> = names
                .filter_map(|(_, name)| mounts.find(name))
                .map(|mount| mount.path.as_slice())
                .collect();
            let pairs = job.mounts.iter().zip(std::mem::take(&mut new_job.mounts));
            let (first, last): (Vec<_>, Vec<_>) =
                pairs.partition(|(mount, _)| used.contains(mount.path.as_slice()));
            let all = first.into_iter().chain(last);
            new_job.mounts = all.map(|(_, mount)| mount).collect();
        }
        let mut writer = LogWriter::new(&mut self.encoder, format, partial, &new_job);
        let names = names.iter();
        writer.names(names.map(|(id, name)| (*id, name.as_bytes())), &[]);
        for region in modules {
            let mut bytes = region.inflated(input, header)?;
            region.rename(
                input,
                header,
                job.nprocs,
                &mut bytes,
                &mut ids,
                replacements,
            )?;
            writer.module(region.module.id, region.version, &bytes, &[], &[]);
        }
        let name = |slot: u8| {
            module(ModuleId(slot)).map_or_else(|| slot.to_string(), |module| module.name.into())
        };
        let mut left_out: Vec<String> = left_out.into_iter().map(name).collect();
        match new_job.mounts_left_out(format.version) {
            0 => {}
            1 => left_out.push("1 mount".into()),
            n => left_out.push(format!("{n} mounts")),
        }
        Ok(Rewritten {
            bytes: writer.finish(),
            left_out,
        })
    }
}

/// A module region that can be rewritten.
struct Region {
    module: &'static Module,
    version: u32,
    place: ByteRange,
}

/// The module regions that can be rewritten, and the numbers of those that cannot.
fn modules(header: &Header) -> (Vec<Region>, Vec<u8>) {
    let (mut known, mut left_out) = (vec![], vec![]);
    for (slot, place) in (0u8..).zip(header.modules) {
        if place.length == 0 {
            continue;
        }
        let version = header.module_versions[usize::from(slot)];
        let is_known = |module: &&Module| {
            (1..=module.newest).contains(&version) && module.shape != Shape::Apxc
        };
        match module(ModuleId(slot)).filter(is_known) {
            Some(module) => known.push(Region {
                module,
                version,
                place,
            }),
            None => left_out.push(slot),
        }
    }
    (known, left_out)
}

impl Region {
    /// Its bytes.
    fn inflated(&self, input: &Input, header: &Header) -> Result<Vec<u8>> {
        if let Some(damage) = missing(input, self.place) {
            return Err(self.malformed(input, None, damage.reason));
        }
        let mut pieces = Pieces::new(input, self.place, header.compression, PIECE);
        let mut bytes = vec![];
        loop {
            match pieces.fill(&mut bytes)? {
                Some(End::Whole) => return Ok(bytes),
                Some(End::Damaged(damage)) => {
                    return Err(self.malformed(input, Some(damage.at), damage.reason));
                }
                None if bytes.len() > MOST => {
                    return Err(Error::Unsupported {
                        path: input.path().to_path_buf(),
                        reason: format!("its {} takes more than {} MiB", self.name(), MOST >> 20),
                    });
                }
                None => {}
            }
        }
    }

    /// Replaces what its records say of somebody.
    fn rename(
        &self,
        input: &Input,
        header: &Header,
        nprocs: i64,
        bytes: &mut Vec<u8>,
        ids: &mut Ids,
        replacements: &mut dyn Replacements,
    ) -> Result<()> {
        let mut found = ModuleRegion::default();
        found.begin(self.module, self.version, &[]);
        // Finding the records turns the numbers of a big-endian log.
        let original = (header.order == ByteOrder::Big).then(|| bytes.clone());
        found.bytes = std::mem::take(bytes);
        found
            .walk(self.module, header.order)
            .map_err(|(at, reason)| self.malformed(input, Some(at), reason))?;
        let records: Vec<Range<usize>> = (0..found.count()).map(|n| found.range(n)).collect();
        let head = found.head().len();
        *bytes = original.unwrap_or(found.bytes);
        let renaming = Renaming {
            module: self.module,
            version: self.version,
            order: header.order,
        };
        // That of APMPI has an id as well.
        if let Some(head) = bytes.get_mut(..head).filter(|head| !head.is_empty()) {
            renaming.id(head, ids, replacements);
        }
        for range in records {
            let at = range.start;
            let record = bytes.get_mut(range).unwrap_or_default();
            let rank = header.order.i64(record, 8).unwrap_or(0);
            if rank < -1 || (nprocs > 0 && rank >= nprocs) {
                let reason = format!("a record of process {rank} of {nprocs}");
                return Err(self.malformed(input, Some(at), reason));
            }
            renaming.record(record, ids, replacements)?;
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("{} region", self.module.name)
    }

    fn malformed(&self, input: &Input, at: Option<usize>, reason: String) -> Error {
        malformed(input, &self.name(), at, reason)
    }
}

fn malformed(input: &Input, region: &str, at: Option<usize>, reason: String) -> Error {
    Error::Malformed {
        path: input.path().to_path_buf(),
        region: region.into(),
        at: at.map(|at| at as u64),
        reason,
    }
}

#[cfg(test)]
mod tests;
