//! A region that is too large for memory, inflated piece by piece.

use super::header::{ByteRange, Compression};
use super::region::{Damage, damage};
use crate::error::{Error, Result};
use crate::source::Input;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{BufRead, BufReader, Read};

/// Most bytes that are inflated at once.
pub(super) const PIECE: usize = 4 << 20;

/// Bytes of a file that are read at once.
const READ: usize = 256 << 10;

/// A region on its way out of compression.
pub(super) struct Pieces<'i> {
    input: &'i Input,
    packed: Box<dyn BufRead + 'i>,
    decoder: Decoder,
    /// A stream has begun and not ended.
    within: bool,
    made: usize,
    /// Most bytes of a piece.
    size: usize,
    end: Option<End>,
}

/// Keeps its place in a stream.
enum Decoder {
    Zlib(Box<Decompress>),
    Bzip2(Box<bzip2::Decompress>),
    None,
}

/// Why a region ends.
#[derive(Clone)]
pub(super) enum End {
    /// All of it was inflated.
    Whole,
    /// What follows is damaged.
    Damaged(Damage),
}

impl<'i> Pieces<'i> {
    /// Begins with the region at `place`, of which as much is read as the file holds, in pieces of at most `size` bytes.
    pub(super) fn new(
        input: &'i Input,
        place: ByteRange,
        compression: Compression,
        size: usize,
    ) -> Self {
        let end = place.offset.saturating_add(place.length).min(input.len());
        let length = end.saturating_sub(place.offset) as usize;
        let packed: Box<dyn BufRead> = match input.slice(place.offset, length) {
            Some(bytes) => Box::new(bytes),
            None => {
                let at = place.offset;
                Box::new(BufReader::with_capacity(READ, Part { input, at, end }))
            }
        };
        let decoder = match compression {
            Compression::Zlib => Decoder::Zlib(Box::new(Decompress::new(true))),
            Compression::Bzip2 => Decoder::Bzip2(Box::new(bzip2::Decompress::new(false))),
            Compression::None => Decoder::None,
        };
        Self {
            input,
            packed,
            decoder,
            within: false,
            made: 0,
            size: size.clamp(1, PIECE),
            end: None,
        }
    }

    /// Appends the next piece; why it is the last piece, if it is.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    pub(super) fn fill(&mut self, into: &mut Vec<u8>) -> Result<Option<End>> {
        if self.end.is_some() {
            return Ok(self.end.clone());
        }
        let from = into.len();
        if into.try_reserve_exact(self.size).is_err() {
            let reason = format!("there is no memory for {} bytes", from + self.size);
            return Ok(Some(End::Damaged(Damage::corrupt(self.made, reason))));
        }
        into.resize(from + self.size, 0);
        let mut end = None;
        let mut to = from;
        while end.is_none() && to < from + self.size {
            let (made, ended) = self
                .step(&mut into[to..])
                .map_err(|e| Error::io(self.input.path(), "cannot read", e))?;
            to += made;
            self.made += made;
            end = ended;
        }
        into.truncate(to);
        if let Some(End::Damaged(damage)) = &mut end {
            damage.at = self.made;
        }
        self.end.clone_from(&end);
        Ok(end)
    }

    /// Inflates what is left, at most so many pieces of it, and forgets it; why the region ends, where that is seen.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    pub(super) fn skip_to_end(&mut self, most: usize) -> Result<Option<End>> {
        let mut piece = vec![];
        for _ in 0..most {
            piece.clear();
            if let Some(end) = self.fill(&mut piece)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Bytes that were inflated.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    fn step(&mut self, output: &mut [u8]) -> std::io::Result<(usize, Option<End>)> {
        let input = self.packed.fill_buf()?;
        let ended = input.is_empty();
        if ended && !self.within {
            return Ok((0, Some(End::Whole)));
        }
        // What is good before a damage was written already.
        let (taken, made, status) = match &mut self.decoder {
            Decoder::Zlib(decoder) => {
                let before = (decoder.total_in(), decoder.total_out());
                let status = decoder.decompress(input, output, FlushDecompress::None);
                let after = (
                    decoder.total_in() - before.0,
                    decoder.total_out() - before.1,
                );
                let done = status.map(|status| status == Status::StreamEnd).ok();
                (after.0 as usize, after.1 as usize, done)
            }
            Decoder::Bzip2(decoder) => {
                let before = (decoder.total_in(), decoder.total_out());
                let status = decoder.decompress(input, output);
                let after = (
                    decoder.total_in() - before.0,
                    decoder.total_out() - before.1,
                );
                let done = status.map(|status| status == bzip2::Status::StreamEnd).ok();
                (after.0 as usize, after.1 as usize, done)
            }
            Decoder::None => {
                let n = input.len().min(output.len());
                output[..n].copy_from_slice(&input[..n]);
                (n, n, Some(true))
            }
        };
        self.packed.consume(taken);
        self.within = status != Some(true);
        match status {
            None => Ok((made, Some(End::Damaged(damage(0, false))))),
            Some(false) if taken == 0 && made == 0 => Ok((0, Some(End::Damaged(damage(0, ended))))),
            Some(false) => Ok((made, None)),
            Some(true) => {
                match &mut self.decoder {
                    Decoder::Zlib(decoder) => decoder.reset(true),
                    Decoder::Bzip2(decoder) => **decoder = bzip2::Decompress::new(false),
                    Decoder::None => {}
                }
                Ok((made, None))
            }
        }
    }
}

/// Bytes of a file from a place on.
struct Part<'i> {
    input: &'i Input,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = (self.end.saturating_sub(self.at) as usize).min(into.len());
        if n == 0 {
            return Ok(0);
        }
        let mut bytes = Vec::with_capacity(n);
        let read = self.input.read_at(self.at, n, &mut bytes);
        read.map_err(std::io::Error::other)?;
        into[..n].copy_from_slice(bytes.get(..n).unwrap_or_default());
        self.at += n as u64;
        Ok(n)
    }
}
