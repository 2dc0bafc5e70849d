//! The values of Parquet's hybrid encoding, as the runs that they are stored in.
//!
//! Levels and places of a dictionary are written as runs of one value, and between them as groups of eight values of so many bits
//! (Parquet's format, "Run Length Encoding / Bit-Packing Hybrid").

use datafusion::parquet::errors::{ParquetError, Result};

/// A value and how many rows have it, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) value: u32,
    pub(super) rows: u32,
}

/// Appends rows, to the last run if they have its value.
pub(super) fn push(runs: &mut Vec<Run>, value: u32, rows: u32) {
    match runs.last_mut() {
        Some(last) if last.value == value => last.rows += rows,
        _ => runs.push(Run { value, rows }),
    }
}

/// Appends the first `count` values of `bytes`, each of `width` bits.
///
/// # Errors
/// If there are fewer, or a value has more than 32 bits.
pub(super) fn hybrid(bytes: &[u8], width: u32, count: u32, runs: &mut Vec<Run>) -> Result<()> {
    if width > 32 {
        return Err(ParquetError::General(format!("values of {width} bits")));
    }
    if width == 0 {
        push(runs, 0, count);
        return Ok(());
    }
    let (mut left, mut rest) = (count, bytes);
    while left > 0 {
        let header = header(&mut rest)?;
        let length = header >> 1;
        if header & 1 == 0 {
            let mut value = [0; 4];
            let own = split(&mut rest, width.div_ceil(8) as usize)?;
            value[..own.len()].copy_from_slice(own);
            let (value, rows) = (u32::from_le_bytes(value), length.min(left));
            if u64::from(value) >> width > 0 {
                let what = format!("{value} in {width} bits");
                return Err(ParquetError::General(what));
            }
            push(runs, value, rows);
            left -= rows;
        } else {
            let rows = length.saturating_mul(8).min(left);
            // What stands behind the last value may be missing.
            let needed = (rows as usize * width as usize).div_ceil(8);
            let whole = length as usize * width as usize;
            let there = whole.min(rest.len()).max(needed);
            let own = split(&mut rest, there)?;
            packed(own, width, rows, runs);
            left -= rows;
        }
    }
    Ok(())
}

/// Appends the first `count` values of `width` bits in `bytes`, of which there are enough.
pub(super) fn packed(bytes: &[u8], width: u32, count: u32, runs: &mut Vec<Run>) {
    let mut last = runs.pop().unwrap_or(Run { value: 0, rows: 0 });
    let mut add = |value: u64, rows: u32| {
        if value == u64::from(last.value) {
            last.rows += rows;
        } else {
            runs.extend((last.rows > 0).then_some(last));
            last = Run {
                value: value as u32,
                rows,
            };
        }
    };
    let mask = u64::MAX >> (64 - width);
    match width {
        // Which rows have values, mostly: 64 of them are a word, in which equal ones are counted.
        1 => {
            for (bits, from) in bytes.chunks(8).zip((0..count).step_by(64)) {
                let (mut bits, mut left) = (word(bits), (count - from).min(64));
                while left > 0 {
                    let value = bits & 1;
                    let alike = if value == 1 { !bits } else { bits }.trailing_zeros();
                    let rows = alike.min(left);
                    add(value, rows);
                    bits = bits.checked_shr(rows).unwrap_or(0);
                    left -= rows;
                }
            }
        }
        // Eight values are a word.
        2..=8 => {
            let ones = (0..8).fold(0, |ones, i| ones | 1 << (i * width));
            let groups = bytes.chunks(width as usize);
            for (group, from) in groups.zip((0..count).step_by(8)) {
                let (mut group, rows) = (word(group), (count - from).min(8));
                if rows == 8 && (group & mask) * ones == group {
                    add(group & mask, 8);
                    continue;
                }
                for _ in 0..rows {
                    add(group & mask, 1);
                    group >>= width;
                }
            }
        }
        _ => {
            for i in 0..count as usize {
                let bit = i * width as usize;
                add(word(&bytes[bit / 8..]) >> (bit % 8) & mask, 1);
            }
        }
    }
    runs.extend((last.rows > 0).then_some(last));
}

/// The first eight bytes, and 0 for those that are not there.
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }
    }
}

/// A number in groups of seven bits, the lowest first.
fn header(bytes: &mut &[u8]) -> Result<u32> {
    let mut header = 0;
    for shift in (0..32).step_by(7) {
        let byte = split(bytes, 1)?[0];
        header |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(header).map_err(|_| too_long());
        }
    }
    Err(too_long())
}

fn too_long() -> ParquetError {
    ParquetError::General("a run of more than 2 billion values".into())
}

/// Takes off the first bytes.
///
/// # Errors
/// If there are fewer.
pub(super) fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let Some((first, rest)) = bytes.split_at_checked(length) else {
        let what = format!("a page ends {} bytes early", length - bytes.len());
        return Err(ParquetError::EOF(what));
    };
    *bytes = rest;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(bytes: &[u8], width: u32, count: u32) -> Result<Vec<(u32, u32)>> {
        let mut runs = vec![];
        hybrid(bytes, width, count, &mut runs)?;
        Ok(runs.iter().map(|run| (run.value, run.rows)).collect())
    }

    /// The format's own example: the numbers 0 to 7 of three bits.
    #[test]
    fn the_example_of_the_format_is_read() {
        let bytes = [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let each: Vec<(u32, u32)> = (0..8).map(|value| (value, 1)).collect();
        assert_eq!(runs(&bytes, 3, 8).unwrap(), each);
        assert_eq!(runs(&bytes, 3, 5).unwrap(), each[..5]);
    }

    #[test]
    fn runs_and_groups_follow_one_another() {
        // 100 times 5, then 5, 5, 0, 0, 0, 0, 0, 0 and 3 times 0, of three bits.
        let bytes = [0xc8, 0x01, 5, 0b11, 0b0010_1101, 0, 0, 6, 0];
        assert_eq!(runs(&bytes, 3, 111).unwrap(), [(5, 102), (0, 9)]);
        assert_eq!(runs(&[], 0, 7).unwrap(), [(0, 7)]);
        assert_eq!(runs(&[4, 0x34, 0x12], 13, 2).unwrap(), [(0x1234, 2)]);
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_refused() {
        for (bytes, width) in [
            (&[][..], 3),
            (&[0x80], 3),
            (&[4], 3),
            (&[0b11, 1, 2], 3),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], 3),
            (&[2, 0, 0, 0, 0, 0], 33),
            (&[16, 2], 1),
        ] {
            assert!(runs(bytes, width, 8).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_give_as_many_values_as_are_asked_for_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..60), width in 0u32..40, count in 0u32..5000
        ) {
            if let Ok(runs) = runs(&bytes, width, count) {
                prop_assert_eq!(runs.iter().map(|(_, rows)| rows).sum::<u32>(), count);
            }
        }
    }
}
