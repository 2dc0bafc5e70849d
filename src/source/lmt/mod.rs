//! Samples of the Lustre Monitoring Tool (LMT), in the forms in which sites keep them.
//!
//! | form | module | what it has |
//! |---|---|---|
//! | mysqldump of LMT's database | `mysqldump` | counters |
//! | a copy of the database in SQLite | `sqlite` | counters |
//! | the live database | `mysql` | counters |
//! | `ltop -r` recordings | `ltop` | counters, and what the database does not keep |
//! | h5lmt and TOKIO HDF5 files | `hdf5_forms` | intervals |
//!
//! Readers append samples as they came. What was moved between two of them is formed by `counter_intervals` when a lake merges its rows:
//! then it does not matter in how many pieces and in what order they came.
//!
//! The databases share `dimensions`, which says what their ids stand for, `samples`, which turns their rows into the lake's, and
//! `clock`, which knows what time a stamp without zone is. The forms are described in [`mod@format`].

#[doc = include_str!("FORMAT.md")]
pub mod format {}

mod clock;
mod counter_intervals;
mod database;
mod digits;
mod dimensions;
mod h5lmt;
mod hdf5;
mod hdf5_forms;
mod ltop;
mod mysql;
mod mysqldump;
mod names;
mod outcome;
mod row_decoder;
mod row_template;
mod samples;
mod sections;
mod sqlite;
mod statements;
#[cfg(test)]
mod tests;
mod tokio_hdf5;
mod values;

use super::{BatchSink, Input, Outcome, Peek, ReadContext, Reader, RowMerger, Source};
use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// Databases, recordings and HDF5 files of LMT.
pub struct Lmt;

/// Bytes that are enough to tell the form of an input.
const HEAD: usize = 4096;

/// The forms of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Mysqldump,
    Sqlite,
    Ltop,
    Hdf5,
    Server,
}

impl Form {
    /// The form that an input has by its first bytes.
    fn of(head: &[u8]) -> Option<Self> {
        type Probe = fn(&[u8]) -> bool;
        let probes: [(Self, Probe); 4] = [
            (Self::Mysqldump, mysqldump::probe),
            (Self::Sqlite, sqlite::probe),
            (Self::Ltop, ltop::probe),
            (Self::Hdf5, hdf5::probe),
        ];
        let found = probes.iter().find(|(_, probe)| probe(head));
        found.map(|(form, _)| *form)
    }

    fn of_input(input: &Input) -> Result<Self> {
        if input.is_server() {
            return Ok(Self::Server);
        }
        let mut head = vec![];
        input.read_at(0, input.len().min(HEAD as u64) as usize, &mut head)?;
        Self::of(&head).ok_or_else(|| Error::Unsupported {
            path: input.path().to_path_buf(),
            reason: "neither a mysqldump nor an SQLite copy of an LMT database, an ltop recording or an HDF5 file".into(),
        })
    }
}

impl Source for Lmt {
    fn inputs(&self) -> &'static str {
        "LMT data: files, directories of them, or mysql://user@host:port/filesystem_NAME"
    }

    fn rows(&self) -> &'static str {
        "LMT samples"
    }

    fn name(&self) -> &'static str {
        "lmt"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["lmt_ost", "lmt_oss", "lmt_mdt", "lmt_mdt_op"]
    }

    fn version(&self) -> u32 {
        2
    }

    /// The first 4 KiB tell an SQLite database, but not whose: that is [`Source::peek`]'s to say.
    fn probe(&self, _: &Path, head: &[u8]) -> bool {
        Form::of(head).is_some()
    }

    fn unrecognized(&self) -> &'static str {
        "not recognized as LMT data (mysqldump, SQLite, ltop, h5lmt, TOKIO HDF5)"
    }

    /// Of an interval that overlaps a period both samples are needed.
    fn margin(&self) -> i64 {
        samples::MARGIN
    }

    /// Lustre mounts whose file systems LMT may know by another name.
    fn warnings(&self, context: &ReadContext) -> Vec<(String, String)> {
        let mounts = context.unmapped_mounts();
        if mounts.is_empty() {
            return vec![];
        }
        let why = format!(
            "{} {} no entry in the settings, so that samples of LMT are not found for its files; add [[mount]] with path, fs and lmt: `iolode lake set`",
            mounts.join(", "),
            if mounts.len() == 1 { "has" } else { "have" }
        );
        vec![("mounts".to_string(), why)]
    }

    fn serves(&self, address: &str) -> bool {
        mysql::probe(Path::new(address))
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        match Form::of_input(input)? {
            Form::Sqlite => sqlite::peek(input)?,
            Form::Hdf5 => hdf5_forms::peek(input)?,
            Form::Server => mysql::peek(input)?,
            Form::Mysqldump | Form::Ltop => {}
        }
        Ok(Peek::Dump)
    }

    fn reader(&self, context: Arc<ReadContext>) -> Box<dyn Reader> {
        Box::new(LmtReader { context })
    }

    fn row_merger(&self, table: &str) -> Option<Box<dyn RowMerger>> {
        counter_intervals::row_merger(table)
    }
}

/// Reads one input after another.
struct LmtReader {
    context: Arc<ReadContext>,
}

impl Reader for LmtReader {
    fn read(
        &mut self,
        input: &Input,
        _: i64,
        _: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome> {
        match Form::of_input(input)? {
            Form::Mysqldump => mysqldump::read(input, &self.context, tables),
            Form::Sqlite => sqlite::read(input, &self.context, tables),
            Form::Ltop => ltop::read(input, &self.context, tables),
            Form::Hdf5 => hdf5_forms::read(input, &self.context, tables),
            Form::Server => mysql::read(input, &self.context, tables),
        }
    }
}
