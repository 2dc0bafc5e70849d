//! Numbers to bytes, bytes to compressed streams.

use crate::source::darshan::header::{ByteOrder, Compression};
use std::io::Write;

/// A compressor that is kept from log to log.
pub struct Encoder {
    deflate: flate2::Compress,
}

impl Default for Encoder {
    /// At zlib's default level, as darshan-runtime.
    fn default() -> Self {
        Self {
            deflate: flate2::Compress::new(flate2::Compression::default(), true),
        }
    }
}

impl Encoder {
    /// Appends `bytes` to `file` as one stream.
    pub(super) fn stream(&mut self, compression: Compression, bytes: &[u8], file: &mut Vec<u8>) {
        match compression {
            Compression::None => file.extend_from_slice(bytes),
            Compression::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(file, bzip2::Compression::best());
                let done = encoder
                    .write_all(bytes)
                    .and_then(|()| encoder.finish().map(|_| ()));
                done.expect("writing to memory does not fail");
            }
            Compression::Zlib => self.zlib(bytes, file),
        }
    }

    fn zlib(&mut self, bytes: &[u8], file: &mut Vec<u8>) {
        self.deflate.reset();
        loop {
            let left = &bytes[self.deflate.total_in() as usize..];
            // Enough for bytes that do not compress; a second round is only needed if that is wrong.
            file.reserve(left.len() + left.len() / 1000 + 64);
            let status = self
                .deflate
                .compress_vec(left, file, flate2::FlushCompress::Finish);
            if status.expect("compressing in memory does not fail") == flate2::Status::StreamEnd {
                return;
            }
        }
    }
}

/// Bytes of a region that is being put together.
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    order: ByteOrder,
}

impl Bytes {
    pub(super) fn new(order: ByteOrder) -> Self {
        Self {
            bytes: vec![],
            order,
        }
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.u64(value as u64);
    }

    pub(super) fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// NUL-terminated text in a field of `room` bytes; what does not fit is cut.
    pub(super) fn text(&mut self, text: &[u8], room: usize) {
        let text = &text[..text.len().min(room - 1)];
        self.raw(text);
        self.bytes.resize(self.bytes.len() + room - text.len(), 0);
    }
}
