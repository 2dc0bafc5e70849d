//! Which records of a region with wrong bytes can be true.
//!
//! One wrong bit of a compressed region changes what follows it, up to where decompression notices. What comes out in between has the size of
//! records and any numbers. The first record that cannot be true ends what is used of the region. Source: FORMAT.md 11.

use super::job::Job;
use super::layout::{Slot, layout};
use super::module::dxt::{DxtRecord, Form, Segment};
use super::module::{Module, ModuleId, float, int};
use super::names::Names;

/// The most calls that one process can make in a second.
const CALLS: f64 = 1e8;

/// The most bytes that one process can move in a second.
const BYTES: f64 = 1e12;

/// What can be true of the records of a log.
pub(super) struct Plausible<'n> {
    /// Seconds of all processes together, one at least; infinite if the log does not say when it began and ended.
    process_seconds: f64,
    /// The names of all records; None if some are lost.
    names: Option<&'n Names>,
}

impl<'n> Plausible<'n> {
    /// What the job and the names of a log allow.
    pub(super) fn new(job: Option<&Job>, names: Option<&'n Names>) -> Self {
        let seconds =
            |job: &Job| (job.end_sec > job.start_sec).then_some(job.end_sec - job.start_sec);
        let process_seconds =
            job.and_then(|job| Some(seconds(job)? as f64 * job.nprocs.max(1) as f64));
        Self {
            process_seconds: process_seconds.unwrap_or(f64::INFINITY),
            names,
        }
    }

    /// What a record is or has that cannot be true; None if it can.
    pub(super) fn objection(&self, module: &Module, version: u32, record: &[u8]) -> Option<String> {
        let id = int(record, 0) as u64;
        if let Some(names) = self.names.filter(|_| is_named(module.id))
            && names.get(id).is_none()
        {
            return Some(format!("is of a file without a name, {id}"));
        }
        if [ModuleId::DXT_POSIX, ModuleId::DXT_MPIIO].contains(&module.id) {
            return self.of_accesses(&DxtRecord::read(record, Form::new(module.id, version)));
        }
        let layout = layout(module.id, version)?;
        let (_, ints, floats) = module.counters?;
        let counts = layout.ints.iter().zip(ints);
        let times = layout.floats.iter().zip(floats);
        let count = |(slot, name): (&Slot, &&str)| match slot {
            Slot::At(at) if is_count(name) => {
                let per_second = if name.contains("BYTES") { BYTES } else { CALLS };
                let value = int(record, *at);
                let is_possible = value >= -1 && value as f64 <= per_second * self.process_seconds;
                (!is_possible).then(|| format!("{name} {value}"))
            }
            _ => None,
        };
        let time = |(slot, name): (&Slot, &&str)| match slot {
            Slot::At(at) => {
                let value = float(record, *at);
                // Other bytes, read as a float, are mostly far too large or next to nothing. Threads of one process wait at the same time.
                let possible = match name.contains("VARIANCE") {
                    true => 1e-30..=f64::MAX,
                    false => 1e-12..=100.0 * self.process_seconds.max(36.0),
                };
                let is_possible = value == 0.0 || possible.contains(&value.abs());
                (!is_possible).then(|| format!("{name} {value:.3e}"))
            }
            _ => None,
        };
        let found = counts.filter_map(count).next();
        let found = found.or_else(|| times.filter_map(time).next())?;
        Some(format!("has {found}, which cannot be true"))
    }

    /// What of the traced accesses of a record cannot be true; None if all can.
    fn of_accesses(&self, record: &DxtRecord) -> Option<String> {
        let most = BYTES * self.process_seconds;
        let latest = 100.0 * self.process_seconds.max(36.0);
        let is_possible = |access: &Segment| {
            let Segment {
                length, start, end, ..
            } = *access;
            length >= -1 && length as f64 <= most && -1.0 <= start && start <= end && end <= latest
        };
        let wrong = record.writes().chain(record.reads());
        let wrong = wrong.into_iter().find(|access| !is_possible(access))?;
        Some(format!(
            "has an access of {} bytes from {:.3e} to {:.3e} s, which cannot be true",
            wrong.length, wrong.start, wrong.end
        ))
    }
}

/// Whether the records of a module are those of files, whose names the log has.
fn is_named(module: ModuleId) -> bool {
    [
        ModuleId::POSIX,
        ModuleId::MPIIO,
        ModuleId::STDIO,
        ModuleId::LUSTRE,
        ModuleId::DXT_POSIX,
        ModuleId::DXT_MPIIO,
    ]
    .contains(&module)
}

/// Whether a counter adds up calls or bytes.
fn is_count(name: &str) -> bool {
    let ends = [
        "READS",
        "WRITES",
        "OPENS",
        "SEEKS",
        "STATS",
        "SYNCS",
        "FLUSHES",
        "BYTES_READ",
        "BYTES_WRITTEN",
    ];
    name.starts_with("SIZE_") || ends.iter().any(|end| name.ends_with(end))
}
