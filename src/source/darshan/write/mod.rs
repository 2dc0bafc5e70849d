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
mod module;
mod record;

pub use contents::{DarshanLog, Job};
pub use encode::Encoder;
pub use module::{
    Apmpi, ApmpiRecord, Component, Heatmap, Layout, Mdhim, Module, Records, Segment, Trace,
};
pub use record::{Extra, Record};

use super::header::{ByteOrder, Compression};
use super::job::Mount;
use encode::Bytes;

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
        let mut header = header::Header::new(self);
        let mut file = vec![0; header.len()];
        let mut region = Bytes::new(self.byte_order);
        self.job.write(self.version, &mut region);
        encoder.stream(self.compression, &region.bytes, &mut file);

        let (mut names, mut ends) = (Bytes::new(self.byte_order), vec![]);
        for (id, name) in &self.names {
            names.u64(*id);
            match self.version < (3, 10) {
                true => {
                    names.u32(name.len() as u32);
                    names.raw(name);
                }
                false => {
                    names.raw(name);
                    names.raw(&[0]);
                }
            }
            ends.push(names.bytes.len());
        }
        header.names = append(
            encoder,
            self.compression,
            &names.bytes,
            &ends,
            &self.name_streams,
            &mut file,
        );

        let mut modules: Vec<&Module> = self.modules.iter().collect();
        modules.sort_by_key(|module| module.id.0);
        for module in modules {
            let Some(slot) = header::slot(self.version, usize::from(module.id.0)) else {
                continue;
            };
            let (bytes, ends) = module.encode(self.byte_order);
            let map = append(
                encoder,
                self.compression,
                &bytes,
                &ends,
                &module.streams,
                &mut file,
            );
            header.modules.push((slot, map, module.version));
        }
        let head = header.encode();
        file[..head.len()].copy_from_slice(&head);
        file
    }
}

/// Appends a region, cut into streams after the counted items, and says where it lies. `ends[i]` is where item i ends.
fn append(
    encoder: &mut Encoder,
    compression: Compression,
    bytes: &[u8],
    ends: &[usize],
    streams: &[usize],
    file: &mut Vec<u8>,
) -> (u64, u64) {
    if bytes.is_empty() && streams.is_empty() {
        return (0, 0);
    }
    let (start, mut items, mut from) = (file.len(), 0, 0);
    for count in streams {
        items = (items + count).min(ends.len());
        let to = if items == 0 { 0 } else { ends[items - 1] };
        encoder.stream(compression, &bytes[from..to], file);
        from = to;
    }
    if from < bytes.len() {
        encoder.stream(compression, &bytes[from..], file);
    }
    (start as u64, (file.len() - start) as u64)
}

#[cfg(test)]
mod tests;
