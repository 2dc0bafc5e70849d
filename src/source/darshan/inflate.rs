//! Inflating with libdeflate: but for a few instructions in `lmt::digits`, the only unsafe code of the project.
//!
//! A region is a row of zlib streams, one for each process that wrote something, often below 200 bytes each, so what a
//! stream costs to begin matters as much as the throughput. libdeflate inflates a whole buffer at a time and took 0.83 s of
//! CPU for 2,000 logs like imbalanced-io where zlib-rs took 2.10 s and miniz_oxide 1.56 s, and 0.13 s against 0.19 s and
//! 1.35 s for 2,000 small logs. The safe wrapper of its bindings does not say how many input bytes a stream took, which
//! finding the next stream needs; hence the bindings themselves, here and nowhere else.
#![allow(unsafe_code)]

use libdeflate_sys as ffi;
use std::ptr::NonNull;

/// What became of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Whole: so many bytes of the input were taken, and so many appended.
    Done { taken: usize, made: usize },
    /// The output did not fit; nothing was appended.
    Full,
    /// Damaged; nothing was appended.
    Bad,
}

/// A decompressor, kept from stream to stream.
pub(super) struct Inflater(NonNull<ffi::libdeflate_decompressor>);

// SAFETY: a libdeflate decompressor is plain memory that belongs to whoever holds it; nothing ties it to a thread.
unsafe impl Send for Inflater {}

impl Inflater {
    /// None if there is no memory for one.
    pub(super) fn new() -> Option<Self> {
        // SAFETY: takes no arguments; returns null or a decompressor that is ours to free.
        NonNull::new(unsafe { ffi::libdeflate_alloc_decompressor() }).map(Self)
    }

    /// Inflates the zlib stream at the front of `input` into the spare room of `into`, of which at most `room` bytes are used.
    pub(super) fn zlib(&mut self, input: &[u8], into: &mut Vec<u8>, room: usize) -> Stream {
        let spare = into.spare_capacity_mut();
        let room = room.min(spare.len());
        let (mut taken, mut made) = (0usize, 0usize);
        // SAFETY: the decompressor is valid; input and spare room are valid for the lengths given, which libdeflate does not
        // go beyond; it writes both counts when it returns success.
        let result = unsafe {
            ffi::libdeflate_zlib_decompress_ex(
                self.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                spare.as_mut_ptr().cast(),
                room,
                &mut taken,
                &mut made,
            )
        };
        match result {
            ffi::libdeflate_result_LIBDEFLATE_SUCCESS if made <= room && taken <= input.len() => {
                // SAFETY: libdeflate has written `made` bytes from the end of the vector on, within its capacity.
                unsafe { into.set_len(into.len() + made) };
                Stream::Done { taken, made }
            }
            ffi::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Stream::Full,
            _ => Stream::Bad,
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: it was allocated by libdeflate_alloc_decompressor and is freed once.
        unsafe { ffi::libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_stream_says_how_much_it_took_and_made_and_never_goes_beyond_its_room() {
        let text = b"storage target ".repeat(100);
        let mut input = deflate(&text);
        let length = input.len();
        input.extend_from_slice(b"the next stream");
        let (mut inflater, mut into) = (Inflater::new().unwrap(), Vec::with_capacity(4000));
        into.extend_from_slice(b"before");
        assert_eq!(
            inflater.zlib(&input, &mut into, text.len() - 1),
            Stream::Full
        );
        assert_eq!(into, b"before");
        assert_eq!(
            inflater.zlib(&input, &mut into, 4000),
            Stream::Done {
                taken: length,
                made: text.len()
            }
        );
        assert_eq!(&into[6..], text);
        assert_eq!(
            inflater.zlib(&input[..length - 5], &mut into, 2000),
            Stream::Bad
        );
        assert_eq!(inflater.zlib(b"", &mut into, 100), Stream::Bad);
        assert_eq!(into.len(), 6 + text.len());
    }
}
