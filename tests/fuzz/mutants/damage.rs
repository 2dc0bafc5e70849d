//! Darshan logs with bytes changed or cut. The crate's own tests of what is spilled (src/source/darshan/tests/spilled_real_logs.rs) take this file in as well.

use super::{ByteOrder, Compression, Input, Log, Random};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The small logs of some, and the same without compression.
pub(super) fn small_logs(mut logs: Vec<(PathBuf, Vec<u8>)>) -> [Vec<(PathBuf, Vec<u8>)>; 2] {
    logs.retain(|(_, bytes)| bytes.len() < 40_000);
    let plain = logs.iter();
    let plain = plain.map(|(path, log)| (path.clone(), uncompressed(path, log)));
    let plain = plain.collect();
    [logs, plain]
}

fn header_length(log: &[u8]) -> usize {
    if log.starts_with(b"3.41") { 1328 } else { 360 }
}

/// A region without its compression, by other libraries' readers.
fn inflate(compression: Compression, region: &[u8], into: &mut Vec<u8>) {
    match compression {
        Compression::None => into.extend_from_slice(region),
        Compression::Bzip2 => {
            let mut streams = bzip2::bufread::MultiBzDecoder::new(region);
            streams.read_to_end(into).unwrap();
        }
        Compression::Zlib => {
            let mut rest = region;
            while !rest.is_empty() {
                let mut stream = flate2::bufread::ZlibDecoder::new(rest);
                stream.read_to_end(into).unwrap();
                rest = stream.into_inner();
            }
        }
    }
}

/// The same log without compression, as an mmap log of Darshan is: what is changed in it is a record, not a checksum.
fn uncompressed(path: &Path, log: &[u8]) -> Vec<u8> {
    let mut read = Log::new();
    read.read_head(&Input::from_bytes(path, log.to_vec()))
        .unwrap();
    let header = read.header().unwrap();
    let inflated = |(offset, length): (u64, u64), into: &mut Vec<u8>| {
        let from = offset as usize;
        let region = &log[from..from + length as usize];
        inflate(header.compression, region, into);
    };
    let mut plain = log[..header_length(log)].to_vec();
    plain[16] = 2;
    inflated((header.job.offset, header.job.length), &mut plain);
    let (maps, slots) = if header.version == (3, 41) {
        (32, 65)
    } else {
        (24, 17)
    };
    for at in (0..slots).map(|slot| maps + 16 * slot) {
        let number = |at| header.order.u64(log, at).unwrap();
        let (offset, length) = (number(at), number(at + 8));
        let from = plain.len();
        if length > 0 {
            inflated((offset, length), &mut plain);
        }
        // Without names the job region ends where an offset says.
        if offset > 0 {
            set(&mut plain, at, from as u64, header.order);
            let made = (plain.len() - from) as u64;
            set(&mut plain, at + 8, made, header.order);
        }
    }
    plain
}

fn set(bytes: &mut [u8], at: usize, number: u64, order: ByteOrder) {
    bytes[at..at + 8].copy_from_slice(&match order {
        ByteOrder::Little => number.to_le_bytes(),
        ByteOrder::Big => number.to_be_bytes(),
    });
}

/// Changes bytes of a log, or cuts it.
pub(super) fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let header = header_length(bytes);
    match random.index(6) {
        // A bit anywhere, a few bits, a number of the header, bytes taken out of the middle, junk put in.
        0 => (0..1 + random.index(4)).for_each(|_| {
            let at = random.index(bytes.len());
            bytes[at] ^= 1 << random.index(8);
        }),
        1 => {
            let at = random.index(header / 8 - 2) * 8 + 16;
            let number = [
                0,
                1,
                u64::MAX,
                u64::MAX / 2,
                1 << 40,
                bytes.len() as u64,
                random.bits(),
            ][random.index(7)];
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        2 => {
            let at = header + random.index(bytes.len() - header);
            let n = random.index(64).min(bytes.len() - at);
            bytes.drain(at..at + n);
        }
        3 => {
            let at = header + random.index(bytes.len() - header);
            let junk: Vec<u8> = (0..random.index(64)).map(|_| random.bits() as u8).collect();
            bytes.splice(at..at, junk);
        }
        // A number of a record, if the log is plain.
        4 => (0..1 + random.index(3)).for_each(|_| {
            let words = (bytes.len() - header).saturating_sub(8) / 8;
            let at = header + 8 * random.index(words) % bytes.len();
            let number = [0, 1, 3, 1 << 33, u64::MAX, u64::MAX / 16, 1 << 60][random.index(7)];
            let order = [ByteOrder::Little, ByteOrder::Big][random.index(2)];
            if at + 8 <= bytes.len() {
                set(bytes, at, number, order);
            }
        }),
        _ => bytes.truncate(random.index(bytes.len())),
    }
}
