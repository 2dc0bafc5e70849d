//! The reader of Darshan logs: a log's bytes to rows of the tables that are asked for.

use super::ModuleId;
use super::derive::RowWriter;
use super::log::{Log, ModuleSet};
use super::module::{MODULES, Module, Shape};
use crate::error::Result;
use crate::source::{BatchSink, Input, Outcome, Peek, ReadContext, Reader};
use crate::table::TableBuilder;
use std::sync::Arc;

/// Modules that `darshan_file` and `darshan_log` are made of.
pub(super) const FILE_MODULES: [ModuleId; 6] = [
    ModuleId::POSIX,
    ModuleId::MPIIO,
    ModuleId::STDIO,
    ModuleId::LUSTRE,
    ModuleId::DFS,
    ModuleId::DAOS,
];

/// Reads one log after another.
pub(super) struct DarshanReader {
    pub(super) log: Log,
    pub(super) context: Arc<ReadContext>,
    /// Modules that are read also where nobody asks for their table: `darshan_module` then says how much of them could be read.
    pub(super) also: ModuleSet,
    /// The log's records do not fit into memory and are taken part by part.
    pub(super) by_parts: bool,
}

impl Reader for DarshanReader {
    fn read(
        &mut self,
        input: &Input,
        id: i64,
        expected: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome> {
        let mut want = self.also;
        for module in MODULES {
            let derived = FILE_MODULES.contains(&module.id)
                && (tables.wants("darshan_file") || tables.wants("darshan_log"));
            if tables.wants(module.table) || derived {
                want = want.with(module.id);
            }
        }
        self.log.read(input, want)?;
        self.log.peek().check(expected, input)?;
        let job_id = self.log.job().map_or(0, |job| job.job_id);
        self.by_parts = self.log.spilled.is_some();
        if let Some(spilled) = self.log.spilled.take() {
            self.fill_spilled(spilled, input, id, job_id, tables)?;
        } else {
            super::derive::fill_file_and_log(&self.log, id, input, &self.context, tables);
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
    pub(super) fn fill(
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
                super::module::counter::fill(
                    &records,
                    order,
                    module,
                    ids,
                    name,
                    !self.by_parts,
                    builder,
                );
            }
            return Ok(());
        }
        let Some(region) = log.region(module.id) else {
            return Ok(());
        };
        let (bytes, starts) = (&region.bytes, &region.starts);
        let piece = |r: &u32| region.record(*r as usize);
        let version = log
            .modules()
            .iter()
            .find(|s| s.id == module.id)
            .map_or(0, |s| s.version);
        let order = order.iter();
        match module.shape {
            Shape::Lustre => {
                super::module::lustre::fill(
                    order.map(|r| super::module::lustre::Layout::read(piece(r), version)),
                    log_id,
                    job_id,
                    builder,
                );
            }
            Shape::Dxt => {
                let form = super::module::dxt::Form::new(module.id, version);
                let name = if module.id == ModuleId::DXT_POSIX {
                    "POSIX"
                } else {
                    "MPIIO"
                };
                super::module::dxt::fill(
                    order.map(|r| super::module::dxt::DxtRecord::read(piece(r), form)),
                    name,
                    log_id,
                    job_id,
                    builder,
                );
            }
            Shape::Heatmap => order.for_each(|r| {
                let record = piece(r);
                let name = log.name(super::module::int(record, 0) as u64);
                super::module::heatmap::fill(record, name, log_id, job_id, builder);
            }),
            Shape::Apmpi => order
                .filter_map(|r| starts.get(*r as usize))
                .for_each(|at| super::module::apmpi::fill(bytes, *at, log_id, job_id, builder)),
            Shape::Apxc => {
                let order = log
                    .header()
                    .map_or(super::header::ByteOrder::Little, |header| header.order);
                if !starts.is_empty() {
                    super::module::apxc::fill(bytes, order, log_id, job_id, builder);
                }
            }
            Shape::Fixed | Shape::Mdhim => {}
        }
        Ok(())
    }

    fn fill_mounts(&self, log_id: i64, job_id: i64, builder: &mut TableBuilder) {
        let mounts = self.log.job().map_or(&[][..], |job| &job.mounts);
        for (position, mount) in mounts.iter().enumerate() {
            let mut row = RowWriter::new(builder);
            row.int("log_id", log_id);
            row.int("job_id", job_id);
            row.int("position", position as i64);
            row.text("mount_point", Some(&String::from_utf8_lossy(&mount.path)));
            row.text("fs_type", Some(&String::from_utf8_lossy(&mount.fs_type)));
            row.end();
        }
    }

    fn fill_modules(&mut self, log_id: i64, job_id: i64, builder: &mut TableBuilder) {
        let mut states: Vec<_> = self.log.modules().iter().collect();
        states.sort_by(|a, b| a.name.cmp(&b.name));
        let known = |v: Option<u64>| v.and_then(|v| i64::try_from(v).ok());
        for state in states {
            let mut row = RowWriter::new(builder);
            row.int("log_id", log_id);
            row.int("job_id", job_id);
            row.text("module", Some(&state.name));
            row.int("module_version", i64::from(state.version));
            row.text("status", Some(state.status.name()));
            row.flag("partial", state.partial);
            row.int("bytes", known(Some(state.bytes)).unwrap_or(i64::MAX));
            row.int("inflated_bytes", known(state.inflated_bytes));
            row.int("records", known(state.records));
            row.int("error_at", known(state.error_at));
            row.text("error", state.error.as_deref());
            row.text("warning", self.log.warning(state.id));
            row.end();
        }
    }
}
