//! Darshan logs, read natively.
//!
//! A log is a header and compressed regions: job, names, and one for each module. [`log::Log`] reads it: [`header`] says where
//! the regions lie, `region` inflates those that are wanted, [`job`] and `names` take two of them apart, [`layout`] says where
//! each counter of each module version lies, [`module`] has a file for each other kind of record. Then the rows: a table for
//! each module, and [`mod@derive`] for `darshan_file` and `darshan_log`.
//!
//! The format is described in darshan-format.md, which was checked against darshan-util 3.5.0; where that is wrong (section 12)
//! this reader is not.
//!
//! # Example
//! ```no_run
//! use iolode::source::{Input, darshan::log::{Log, ModuleSet}, darshan::{ModuleId, counters::posix}};
//!
//! let mut log = Log::new();
//! log.read(&Input::open("job.darshan")?, ModuleSet::DEFAULT)?;
//! if let Some(records) = log.records(ModuleId::POSIX) {
//!     let bytes: i64 = (0..records.len()).map(|r| records.int(r, posix::BYTES_READ).max(0)).sum();
//!     println!("{bytes} bytes read");
//! }
//! # Ok::<(), iolode::Error>(())
//! ```

#[cfg(test)]
mod bounded;
pub mod counters;
pub mod derive;
pub mod header;
mod inflate;
pub mod job;
pub mod layout;
pub mod log;
pub mod module;
mod module_region;
mod module_state;
#[cfg(test)]
mod mutation;
mod names;
mod pieces;
pub mod records;
mod region;
mod repeated;
mod spill;
mod spilled;
#[cfg(test)]
mod tests;
pub mod write;

pub use module::ModuleId;

use super::{BatchSink, Input, Outcome, Peek, Reader, Site, Source};
use crate::error::Result;
use crate::table::TableBuilder;
use log::{Log, ModuleSet};
use module::{MODULES, Module, Shape};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Logs of Darshan 3.00 to 3.41.
pub struct Darshan;

/// Modules that `darshan_file` and `darshan_log` are made of.
const FILE_MODULES: [ModuleId; 6] = [
    ModuleId::POSIX,
    ModuleId::MPIIO,
    ModuleId::STDIO,
    ModuleId::LUSTRE,
    ModuleId::DFS,
    ModuleId::DAOS,
];

impl Source for Darshan {
    fn name(&self) -> &'static str {
        "darshan"
    }

    fn tables(&self) -> &'static [&'static str] {
        &[
            "darshan_log",
            "darshan_file",
            "darshan_posix",
            "darshan_mpiio",
            "darshan_stdio",
            "darshan_lustre",
            "darshan_h5f",
            "darshan_h5d",
            "darshan_pnetcdf_file",
            "darshan_pnetcdf_var",
            "darshan_dfs",
            "darshan_daos",
            "darshan_bgq",
            "darshan_mdhim",
            "darshan_apmpi",
            "darshan_apxc",
            "darshan_heatmap",
            "darshan_dxt",
            "darshan_mount",
            "darshan_module",
        ]
    }

    fn version(&self) -> u32 {
        4
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        // An unfinished or damaged log may lack its magic number: its name says what it should be. A text is none, whatever its
        // name: Darshan's own sources hold a Makefile.darshan.
        let named = path
            .extension()
            .is_some_and(|e| e == "darshan" || e == "darshan_partial");
        header::Header::probe(head) || (named && !is_text(head))
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        thread_local! { static LOG: RefCell<Log> = RefCell::new(Log::new()); }
        LOG.with_borrow_mut(|log| {
            log.read_head(input)?;
            let job = log.job();
            Ok(Peek::Log {
                job_id: job.map_or(0, |job| job.job_id),
                start_time: job.and_then(job::Job::start_micros),
            })
        })
    }

    fn reader(&self, site: Arc<Site>) -> Box<dyn Reader> {
        Box::new(DarshanReader {
            log: Log::with_memory(site.log_memory, site.temp.as_deref()),
            site,
        })
    }
}

/// Reads one log after another.
struct DarshanReader {
    log: Log,
    site: Arc<Site>,
}

impl Reader for DarshanReader {
    fn read(&mut self, input: &Input, id: i64, tables: &mut BatchSink) -> Result<Outcome> {
        let mut want = ModuleSet::default();
        for module in MODULES {
            let derived = FILE_MODULES.contains(&module.id)
                && (tables.wants("darshan_file") || tables.wants("darshan_log"));
            if tables.wants(module.table) || derived {
                want = want.with(module.id);
            }
        }
        self.log.read(input, want)?;
        let job_id = self.log.job().map_or(0, |job| job.job_id);
        if let Some(spilled) = self.log.spilled.take() {
            self.fill_spilled(spilled, input, id, job_id, tables)?;
        } else {
            derive::fill_file_and_log(&self.log, id, input, &self.site, tables)?;
            // Backwards: DXT_MPIIO and DXT_POSIX share a table, in which MPIIO comes first.
            for module in MODULES.iter().rev() {
                if let Some(builder) = tables.get(module.table) {
                    self.fill(module, id, job_id, builder)?;
                }
            }
        }
        if let Some(builder) = tables.get("darshan_mount") {
            self.fill_mounts(id, job_id, builder);
        }
        if let Some(builder) = tables.get("darshan_module") {
            self.fill_modules(id, job_id, builder);
        }
        Ok(Outcome {
            status: self.log.status(),
            why: self.log.why(),
        })
    }
}

impl DarshanReader {
    /// Appends the records of one module to its table, by record id and rank.
    fn fill(
        &mut self,
        module: &Module,
        log_id: i64,
        job_id: i64,
        builder: &mut TableBuilder,
    ) -> Result<()> {
        let log = &self.log;
        let order = log.order(module.id);
        if matches!(module.shape, Shape::Fixed | Shape::Mdhim) {
            if let Some(records) = log.records(module.id) {
                let (ids, name) = ((log_id, job_id), |id| log.name(id));
                module::counter::fill(&records, order, module, ids, name, builder);
            }
            return Ok(());
        }
        let Some((bytes, starts)) = log.whole(module.id) else {
            return Ok(());
        };
        let piece = |r: &u32| {
            let end = starts.get(*r as usize + 1).copied().unwrap_or(bytes.len());
            starts
                .get(*r as usize)
                .and_then(|from| bytes.get(*from..end))
                .unwrap_or_default()
        };
        let version = log
            .modules()
            .iter()
            .find(|s| s.id == module.id)
            .map_or(0, |s| s.version);
        let order = order.iter();
        match module.shape {
            Shape::Lustre => {
                module::lustre::fill(
                    order.map(|r| module::lustre::Layout::read(piece(r), version)),
                    log_id,
                    job_id,
                    builder,
                );
            }
            Shape::Dxt => {
                let form = module::dxt::Form::new(module.id, version);
                let name = if module.id == ModuleId::DXT_POSIX {
                    "POSIX"
                } else {
                    "MPIIO"
                };
                module::dxt::fill(
                    order.map(|r| module::dxt::DxtRecord::read(piece(r), form)),
                    name,
                    log_id,
                    job_id,
                    builder,
                );
            }
            Shape::Heatmap => order.for_each(|r| {
                let record = piece(r);
                let name = log.name(module::int(record, 0) as u64);
                module::heatmap::fill(record, name, log_id, job_id, builder);
            }),
            Shape::Apmpi => order
                .filter_map(|r| starts.get(*r as usize))
                .for_each(|at| module::apmpi::fill(bytes, *at, log_id, job_id, builder)),
            Shape::Apxc => {
                let order = log
                    .header()
                    .map_or(header::ByteOrder::Little, |header| header.order);
                if !starts.is_empty() {
                    module::apxc::fill(bytes, order, log_id, job_id, builder);
                }
            }
            Shape::Fixed | Shape::Mdhim => {}
        }
        Ok(())
    }

    fn fill_mounts(&self, log_id: i64, job_id: i64, builder: &mut TableBuilder) {
        for (position, mount) in self
            .log
            .job()
            .map_or(&[][..], |job| &job.mounts)
            .iter()
            .enumerate()
        {
            builder.column(0).int64().push(log_id);
            builder.column(1).int64().push(job_id);
            builder.column(2).int64().push(position as i64);
            builder
                .column(3)
                .utf8()
                .append_value(String::from_utf8_lossy(&mount.path));
            builder
                .column(4)
                .utf8()
                .append_value(String::from_utf8_lossy(&mount.fs_type));
        }
    }

    fn fill_modules(&mut self, log_id: i64, job_id: i64, builder: &mut TableBuilder) {
        let mut states: Vec<_> = self.log.modules().iter().collect();
        states.sort_by(|a, b| a.name.cmp(&b.name));
        for state in states {
            let known = |v: Option<u64>| v.and_then(|v| i64::try_from(v).ok());
            builder.column(0).int64().push(log_id);
            builder.column(1).int64().push(job_id);
            builder.column(2).utf8().append_value(&state.name);
            builder.column(3).int64().push(i64::from(state.version));
            builder.column(4).utf8().append_value(state.status.name());
            builder.column(5).boolean().append_value(state.partial);
            builder
                .column(6)
                .int64()
                .push(known(Some(state.bytes)).unwrap_or(i64::MAX));
            builder.column(7).int64().push(known(state.inflated_bytes));
            builder.column(8).int64().push(known(state.records));
            builder.column(9).int64().push(known(state.error_at));
            builder
                .column(10)
                .utf8()
                .append_option(state.error.as_deref());
            builder
                .column(11)
                .utf8()
                .append_option(self.log.warning(state.id));
        }
    }
}

/// Whether the first bytes of a file are text: printable from the first to the last, of which the end may be cut.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => {
            let whole = head.get(..e.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.contains(|c: char| c.is_control() && !c.is_ascii_whitespace())
}
