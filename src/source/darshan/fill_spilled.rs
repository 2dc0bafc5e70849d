//! Logs whose records do not fit into memory: sorted in a temporary file, and taken from there part by part.

use super::derive::{self, Totals};
use super::module::{MODULES, ModuleId};
use super::module_region::ModuleRegion;
use super::module_state::{fail, note_repeated};
use super::reader::{DarshanReader, FILE_MODULES};
use super::region::Damage;
use super::spilled_records::{Cursor, Spilled};
use crate::error::Result;
use crate::source::{BatchSink, Input};

impl DarshanReader {
    /// Appends the rows of all modules, and flushes builders that are full.
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
        derive::fill_log(&self.log, totals, id, input, &self.context, tables);
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
                self.log.put_region(module, part);
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
                self.log.put_region(cursor.region.module.id, part);
            }
            derive::fill_files(&self.log, id, &self.context, totals, tables);
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
        let mut part = self.log.take_region(region.module.id);
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
