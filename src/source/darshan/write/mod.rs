//! Writes Darshan logs: any version of the format, any byte order and compression, any module in any version.
//!
//! A [`DarshanLog`] is a log as plain data; [`DarshanLog::to_bytes`] is the file. Records are given in the current
//! numbering of the counters; counters that the asked module version lacks are left out. Nothing is checked for sense,
//! so that logs can be wrong on purpose: [`Records::Raw`] holds any bytes.
//!
//! The layout was taken from darshan-runtime and darshan-util 3.5.0; pydarshan 3.5.0 reads what is written here, value by
//! value (`tests::pydarshan`). The down-conversions are kept apart from the reader's up-conversions, so
//! that a round trip through both proves something.
//!
//! # Example
//! ```
//! use iolode::source::darshan::ModuleId;
//! use iolode::source::darshan::write::{DarshanLog, Job, Module, Record, Records};
//!
//! let mut log = DarshanLog { job: Job { nprocs: 4, ..Job::default() }, ..DarshanLog::default() };
//! log.names.push((17, b"/scratch/a".to_vec()));
//! let record = Record { id: 17, rank: -1, ints: vec![4], floats: vec![0.5], ..Record::default() };
//! log.modules.push(Module::new(ModuleId::POSIX, 4, Records::Counters(vec![record])));
//! assert!(log.to_bytes().starts_with(b"3.41\0"));
//! ```

mod contents;
mod encode;
mod header;
mod log_writer;
mod module;
mod record;

pub use contents::{DarshanLog, Job};
pub use encode::Encoder;
pub(in crate::source::darshan) use header::Format;
pub(in crate::source::darshan) use log_writer::LogWriter;
pub use module::{
    Apmpi, ApmpiRecord, Component, Heatmap, Layout, Mdhim, Module, Records, Segment, Trace,
};
pub use record::{Extra, Record};

use super::header::{ByteOrder, Compression};
use super::job::Mount;

impl Default for DarshanLog {
    /// An empty log of the newest version, little endian, zlib.
    fn default() -> Self {
        Self {
            version: (3, 41),
            byte_order: ByteOrder::Little,
            compression: Compression::Zlib,
            partial: 0,
            job: Job::default(),
            names: vec![],
            name_streams: vec![],
            modules: vec![],
        }
    }
}

/// A mount of text.
pub fn mount(fs_type: &str, path: &str) -> Mount {
    Mount {
        fs_type: fs_type.as_bytes().to_vec(),
        path: path.as_bytes().to_vec(),
    }
}

impl DarshanLog {
    /// The file.
    ///
    /// # Panics
    /// If a record has more counters than its module, or counters that belong to no module.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_with(&mut Encoder::default())
    }

    /// The same, with the compressor of the log before: the bytes do not depend on what it compressed.
    ///
    /// # Panics
    /// As [`DarshanLog::to_bytes`].
    pub fn to_bytes_with(&self, encoder: &mut Encoder) -> Vec<u8> {
        let format = Format {
            version: self.version,
            byte_order: self.byte_order,
            compression: self.compression,
        };
        let mut log = LogWriter::new(encoder, format, self.partial, &self.job);
        let names = self.names.iter();
        log.names(
            names.map(|(id, name)| (*id, name.as_slice())),
            &self.name_streams,
        );
        let mut modules: Vec<&Module> = self.modules.iter().collect();
        modules.sort_by_key(|module| module.id.0);
        for module in modules {
            let (bytes, ends) = module.encode(self.byte_order);
            log.module(module.id, module.version, &bytes, &ends, &module.streams);
        }
        log.finish()
    }
}

#[cfg(test)]
mod tests;
