//! One region of a log, inflated.

use super::header::{ByteRange, Compression};
use super::inflate::{Inflater, Stream};
use crate::source::Input;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{ErrorKind, Read};

/// No stream of zlib or bzip2 holds more than this many times its length (zlib's limit is 1032; bzip2's best case is far
/// beyond it, but a Darshan region is not a run of equal bytes).
const MOST_RATIO: usize = 1032;

/// Most bytes of a buffer that are kept from one log for the next.
pub(super) const MOST_KEPT: usize = 64 << 20;

/// Inflates regions, keeping its decompressor.
pub(super) struct RegionInflater {
    inflater: Option<Inflater>,
    /// Most bytes that one region may hold after inflating.
    pub(super) limit: usize,
    /// Nothing is kept of a region that holds more.
    pub(super) all_or_nothing: bool,
    /// The last region holds more.
    pub(super) exceeded: bool,
}

/// What was wrong with a region, after the good bytes that were kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// Position in the inflated bytes up to which they are good.
    pub(super) at: usize,
    /// Whether the compressed bytes ended too early, as in a truncated copy.
    pub(super) truncated: bool,
    pub(super) reason: String,
}

impl Damage {
    /// Wrong bytes at a place.
    pub(super) fn corrupt(at: usize, reason: String) -> Self {
        Self {
            at,
            truncated: false,
            reason,
        }
    }
}

impl RegionInflater {
    pub(super) fn new() -> Self {
        Self {
            inflater: Inflater::new(),
            limit: 1 << 30,
            all_or_nothing: false,
            exceeded: false,
        }
    }

    /// Appends the inflated bytes of a region to `into`, stream after stream until it is used up.
    pub(super) fn inflate(
        &mut self,
        compression: Compression,
        mut input: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(), Damage> {
        let start = into.len();
        self.exceeded = false;
        match compression {
            Compression::None => match input.len() <= self.limit {
                true if into.try_reserve(input.len()).is_err() => {
                    return Err(no_memory(input.len()));
                }
                true => into.extend_from_slice(input),
                false => return Err(self.too_large(0)),
            },
            Compression::Bzip2 => {
                // The crate reads concatenated streams as one.
                let mut reader =
                    bzip2::read::MultiBzDecoder::new(input).take(self.limit as u64 + 1);
                let result = reader.read_to_end(into);
                if into.len() - start > self.limit {
                    into.truncate(start + self.limit);
                    return Err(self.too_large(self.limit));
                }
                result.map_err(|e| {
                    damage(into.len() - start, e.kind() == ErrorKind::UnexpectedEof)
                })?;
            }
            Compression::Zlib => {
                while !input.is_empty() {
                    let made = into.len() - start;
                    input = self.stream(input, into, made).map_err(|mut damage| {
                        damage.at = into.len() - start;
                        damage
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Inflates one zlib stream and returns what follows it.
    fn stream<'i>(
        &mut self,
        input: &'i [u8],
        into: &mut Vec<u8>,
        made: usize,
    ) -> Result<&'i [u8], Damage> {
        let most = input
            .len()
            .saturating_mul(MOST_RATIO)
            .min(self.limit.saturating_sub(made));
        if most == 0 {
            return Err(self.too_large(made));
        }
        let mut full = false;
        if let Some(inflater) = &mut self.inflater {
            let mut room = (into.capacity() - into.len())
                .max(input.len().saturating_mul(4))
                .max(4096)
                .min(most);
            loop {
                if into.try_reserve(room).is_err() {
                    return Err(no_memory(room));
                }
                match inflater.zlib(input, into, most) {
                    Stream::Done { taken, .. } => {
                        return Ok(input.get(taken..).unwrap_or_default());
                    }
                    Stream::Full if room < most => {
                        room = (into.capacity() - into.len()).saturating_mul(4).min(most)
                    }
                    Stream::Full => {
                        full = true;
                        break;
                    }
                    Stream::Bad => break,
                }
            }
        }
        if full && self.all_or_nothing {
            return Err(self.too_large(made));
        }
        // Damaged or too large: again with a decoder that keeps what is good before the damage.
        let from = into.len();
        let result = front(input, into, most);
        if into.len() - from > most {
            into.truncate(from + most);
            return Err(self.too_large(made));
        }
        result.map(|taken| input.get(taken..).unwrap_or_default())
    }

    pub(super) fn too_large(&mut self, at: usize) -> Damage {
        self.exceeded = true;
        let reason = format!("it inflates to more than {} bytes", self.limit);
        Damage::corrupt(at, reason)
    }
}

/// Appends what the zlib stream at the front of `input` holds up to its end, its damage, or a little more than `most` bytes,
/// and returns how many bytes of the input it took.
fn front(input: &[u8], into: &mut Vec<u8>, most: usize) -> Result<usize, Damage> {
    let (from, mut decoder) = (into.len(), Decompress::new(true));
    loop {
        let made = into.len() - from;
        let wanted = made.clamp(4096, 1 << 20);
        if into.try_reserve(wanted).is_err() {
            return Err(no_memory(wanted));
        }
        let room = into.capacity() - into.len();
        let before = decoder.total_in();
        let rest = input.get(before as usize..).unwrap_or_default();
        match decoder.decompress_vec(rest, into, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return Ok(decoder.total_in() as usize),
            Err(_) => return Err(damage(0, false)),
            Ok(_) if into.len() - from > most => return Ok(decoder.total_in() as usize),
            Ok(_) => {
                let moved = decoder.total_in() > before || into.len() - from > made;
                if !moved && room > 0 {
                    return Err(damage(0, true));
                }
            }
        }
    }
}

fn no_memory(bytes: usize) -> Damage {
    Damage::corrupt(0, format!("there is no memory for {bytes} more bytes"))
}

/// What a region lacks by its place alone.
pub(super) fn missing(input: &Input, place: ByteRange) -> Option<Damage> {
    let end = place.offset.checked_add(place.length);
    if end.is_some_and(|end| end <= input.len()) {
        return None;
    }
    let reason = match end {
        Some(end) => format!("the file ends at byte {}, the region at {end}", input.len()),
        None => format!(
            "the region begins at byte {} and is {} bytes long, more than a file can be",
            place.offset, place.length
        ),
    };
    Some(Damage {
        at: 0,
        truncated: true,
        reason,
    })
}

pub(super) fn damage(at: usize, truncated: bool) -> Damage {
    let reason = if truncated {
        "its compressed bytes end too early".to_string()
    } else {
        "its compressed bytes are damaged".to_string()
    };
    Damage {
        at,
        truncated,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn concatenated_streams_are_one_string_whatever_their_sizes() {
        let parts: Vec<Vec<u8>> = vec![vec![], b"a".to_vec(), vec![7; 1_000_000], b"end".to_vec()];
        let input: Vec<u8> = parts.iter().flat_map(|part| zlib(part)).collect();
        let mut into = vec![];
        RegionInflater::new()
            .inflate(Compression::Zlib, &input, &mut into)
            .unwrap();
        assert_eq!(into, parts.concat());
    }

    #[test]
    fn good_bytes_before_the_damage_are_kept() {
        let text: Vec<u8> = (0..50_000u32)
            .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        let input = [zlib(b"first"), zlib(&text)].concat();
        let mut into = vec![];
        let damage = RegionInflater::new()
            .inflate(Compression::Zlib, &input[..input.len() / 2], &mut into)
            .unwrap_err();
        assert!(
            damage.truncated && damage.at == into.len() && damage.at > 5 + 60_000,
            "{damage:?}"
        );
        assert_eq!(into[5..], text[..into.len() - 5]);
        into.clear();
        let mut broken = input.clone();
        broken[100] ^= 0x55;
        let damage = RegionInflater::new()
            .inflate(Compression::Zlib, &broken, &mut into)
            .unwrap_err();
        assert!(into.starts_with(b"first") && damage.at == into.len());
    }

    #[test]
    fn a_stream_cut_anywhere_is_damage_and_its_front_is_kept() {
        let text: Vec<u8> = (0..300u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let input = zlib(&text);
        let (mut regions, mut into) = (RegionInflater::new(), vec![]);
        let mut kept = 0;
        for cut in 1..input.len() {
            into.clear();
            let damage = regions
                .inflate(Compression::Zlib, &input[..cut], &mut into)
                .expect_err("a cut stream");
            assert!(
                damage.truncated && damage.at == into.len() && text.starts_with(&into),
                "cut at {cut}: {damage:?}"
            );
            assert!(into.len() >= kept, "more bytes give less at {cut}");
            kept = into.len();
        }
        assert_eq!(kept, text.len(), "only the checksum is missing");
    }

    #[test]
    fn a_region_beyond_the_limit_is_refused_without_the_memory_for_it() {
        let input = zlib(&vec![0; 10_000_000]);
        let mut regions = RegionInflater::new();
        regions.limit = 100_000;
        let mut into = vec![];
        let damage = regions
            .inflate(Compression::Zlib, &input, &mut into)
            .unwrap_err();
        assert!(
            damage.reason.contains("more than 100000 bytes"),
            "{damage:?}"
        );
        assert!(into.capacity() <= 400_000);
        regions.limit = 10_000_000;
        into.clear();
        regions
            .inflate(Compression::Zlib, &input, &mut into)
            .unwrap();
        assert_eq!(into.len(), 10_000_000);
    }

    #[test]
    fn concatenated_bzip2_is_read_and_a_cut_one_is_damage() {
        let bz = |bytes: &[u8]| {
            let mut encoder = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let input = [bz(b"one "), bz(b"two")].concat();
        let mut into = vec![];
        RegionInflater::new()
            .inflate(Compression::Bzip2, &input, &mut into)
            .unwrap();
        assert_eq!(into, b"one two");
        into.clear();
        assert!(
            RegionInflater::new()
                .inflate(Compression::Bzip2, &input[..input.len() - 4], &mut into)
                .is_err()
        );
    }
}
