//! A log written region by region.

use super::contents::Job;
use super::encode::{Bytes, Encoder};
use super::header::{Format, Header, slot};
use crate::source::darshan::ModuleId;

/// A log that is being written: names first, then modules by ascending number.
pub(in crate::source::darshan) struct LogWriter<'e> {
    encoder: &'e mut Encoder,
    format: Format,
    header: Header,
    file: Vec<u8>,
}

impl<'e> LogWriter<'e> {
    /// Begins a log with its job region.
    pub(in crate::source::darshan) fn new(
        encoder: &'e mut Encoder,
        format: Format,
        partial: u64,
        job: &Job,
    ) -> Self {
        let header = Header::new(format, partial);
        let mut file = vec![0; header.len()];
        let mut region = Bytes::new(format.byte_order);
        job.write(format.version, &mut region);
        encoder.stream(format.compression, &region.bytes, &mut file);
        Self {
            encoder,
            format,
            header,
            file,
        }
    }

    /// Writes the name region, as so many names in each stream as are said, and the others in one more.
    pub(in crate::source::darshan) fn names<'n>(
        &mut self,
        names: impl Iterator<Item = (u64, &'n [u8])>,
        streams: &[usize],
    ) {
        let (mut region, mut ends) = (Bytes::new(self.format.byte_order), vec![]);
        for (id, name) in names {
            region.u64(id);
            match self.format.version < (3, 10) {
                true => {
                    region.u32(name.len() as u32);
                    region.raw(name);
                }
                false => {
                    region.raw(name);
                    region.raw(&[0]);
                }
            }
            ends.push(region.bytes.len());
        }
        self.header.names = self.append(&region.bytes, &ends, streams);
    }

    /// Writes the region of a module, unless the version has no number for it. Record i ends at `ends[i]`; `streams` as of names.
    pub(in crate::source::darshan) fn module(
        &mut self,
        id: ModuleId,
        version: u32,
        bytes: &[u8],
        ends: &[usize],
        streams: &[usize],
    ) {
        if let Some(slot) = slot(self.format.version, usize::from(id.0)) {
            let place = self.append(bytes, ends, streams);
            self.header.modules.push((slot, place, version));
        }
    }

    /// The file.
    pub(in crate::source::darshan) fn finish(mut self) -> Vec<u8> {
        let head = self.header.encode();
        self.file[..head.len()].copy_from_slice(&head);
        self.file
    }

    /// Appends a region, cut into streams after the counted items, and says where it lies.
    fn append(&mut self, bytes: &[u8], ends: &[usize], streams: &[usize]) -> (u64, u64) {
        if bytes.is_empty() && streams.is_empty() {
            return (0, 0);
        }
        let compression = self.format.compression;
        let (start, mut items, mut from) = (self.file.len(), 0, 0);
        for count in streams {
            items = (items + count).min(ends.len());
            let to = if items == 0 { 0 } else { ends[items - 1] };
            self.encoder
                .stream(compression, &bytes[from..to], &mut self.file);
            from = to;
        }
        if from < bytes.len() {
            self.encoder
                .stream(compression, &bytes[from..], &mut self.file);
        }
        (start as u64, (self.file.len() - start) as u64)
    }
}
