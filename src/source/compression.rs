//! Dumps that somebody has compressed: `sacct.psv.gz`, `filesystem_snx11168.sql.zst`.
//!
//! Readers want to read anywhere in an input, so it is unpacked into a temporary file, which has no name and is gone when nobody
//! reads it any more.

use super::Input;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufReader, Read, Write};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// gzip, of one piece or several.
    Gzip,
    /// Zstandard.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz, which iolode does not unpack.
    Xz,
}

impl Packing {
    /// How an input with this head is compressed; None if it is not.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let magic: [(&[u8], Self); 4] = [
            (&[0x1f, 0x8b, 8], Self::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], Self::Zstd),
            (b"BZh", Self::Bzip2),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Self::Xz),
        ];
        let found = magic.iter().find(|(magic, _)| head.starts_with(magic));
        found.map(|(_, packing)| *packing)
    }
}

/// The input without its compression, if it has one; it is unpacked into the file that `temporary` makes.
///
/// # Errors
/// [`Error::Unsupported`] for xz, [`Error::Malformed`] if it is damaged, [`Error::Io`] if it cannot be read or there is no room.
pub(crate) fn unpacked(input: Input, temporary: impl FnOnce() -> Result<File>) -> Result<Input> {
    let mut head = vec![];
    if !input.is_server() {
        input.read_at(0, input.len().min(6) as usize, &mut head)?;
    }
    let Some(packing) = Packing::of(&head) else {
        return Ok(input);
    };
    let mut file = temporary()?;
    let bytes = BufReader::with_capacity(1 << 18, input.bytes());
    let mut plain: Box<dyn Read> = match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
        Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(bytes)),
        Packing::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
            Box::new(decoder.map_err(|e| damaged(&input, 0, &e))?)
        }
        Packing::Xz => {
            return Err(Error::Unsupported {
                path: input.path().into(),
                reason: "compressed by xz; unpack it first".into(),
            });
        }
    };
    let (mut buffer, mut done) = (vec![0; 1 << 18], 0u64);
    loop {
        let n = plain
            .read(&mut buffer)
            .map_err(|e| damaged(&input, done, &e))?;
        if n == 0 {
            break;
        }
        file.write_all(&buffer[..n])
            .map_err(|e| Error::io("a temporary file", "cannot write", e))?;
        done += n as u64;
    }
    drop(plain);
    let unpacked = Input::from_file(input.path(), file)?;
    Ok(match input.modified() {
        Some(time) => unpacked.with_modified(time),
        None => unpacked,
    })
}

fn damaged(input: &Input, done: u64, error: &std::io::Error) -> Error {
    Error::Malformed {
        path: input.path().into(),
        region: "compressed file".into(),
        at: None,
        reason: format!("damaged after {done} unpacked bytes: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        (0..100_000u32)
            .flat_map(|n| format!("{n}|COMPLETED\n").into_bytes())
            .collect()
    }

    fn packed() -> [Vec<u8>; 3] {
        let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        gzip.write_all(&text()).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::fast());
        bzip2.write_all(&text()).unwrap();
        [
            gzip.finish().unwrap(),
            bzip2.finish().unwrap(),
            zstd::encode_all(&text()[..], 1).unwrap(),
        ]
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>> {
        let input = unpacked(Input::from_bytes("dump", bytes.to_vec()), || {
            Ok(tempfile::tempfile().unwrap())
        })?;
        let mut all = vec![];
        input.read_at(0, input.len() as usize, &mut all)?;
        Ok(all)
    }

    #[test]
    fn each_packing_gives_the_bytes_that_were_packed_also_of_several_pieces() {
        for bytes in packed() {
            assert_eq!(read(&bytes).unwrap(), text());
            let twice = [&bytes[..], &bytes[..]].concat();
            assert_eq!(read(&twice).unwrap().len(), 2 * text().len());
        }
        assert_eq!(read(b"plain").unwrap(), b"plain");
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn what_is_cut_or_cannot_be_unpacked_is_an_error_with_the_reason() {
        for bytes in packed() {
            let error = read(&bytes[..bytes.len() / 2]).unwrap_err().to_string();
            assert!(error.contains("damaged after "), "{error}");
        }
        let error = read(&[0xfd, b'7', b'z', b'X', b'Z', 0, 1])
            .unwrap_err()
            .to_string();
        assert!(error.contains("unpack it first"), "{error}");
    }
}
