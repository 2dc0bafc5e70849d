//! Numbers at the same place of rows that are all as long, two at a time.
//!
//! With the registers of 16 bytes that every x86_64 has, the eight numbers of a row of OST_DATA take 8 ns; with 64-bit arithmetic,
//! which other processors are left to, 23 ns. That is a quarter of the time of reading a dump, hence the only unsafe code but that
//! which inflates Darshan's logs: the call says that the instructions are there, and no memory is touched but through slices.
#![allow(unsafe_code)]

/// The bytes that a number is the end of.
pub(super) const BYTES: usize = 16;

/// The digits of a number.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    /// Takes the digits out of [`BYTES`] bytes, the first of which is the lowest one, as values from 0 to 9.
    mask: u128,
}

impl Digits {
    /// So many, [`BYTES`] at most.
    pub(super) fn new(digits: usize) -> Option<Self> {
        let others = BYTES.checked_sub(digits)?;
        let mask = u128::MAX.checked_shl(8 * others as u32).unwrap_or(0);
        Some(Self {
            mask: mask & u128::from_le_bytes([0x0f; BYTES]),
        })
    }

    /// Reads a number for each slot. They are the ends of the first [`BYTES`] of `text` and of those at each `distance` behind.
    /// None if the text does not hold them all.
    #[inline]
    pub(super) fn read(self, text: &[u8], distance: usize, into: &mut [i64]) -> Option<()> {
        let mut rows = text.chunks(2 * distance.max(1));
        let (pairs, last) = into.as_chunks_mut();
        for pair in pairs {
            let text = rows.next()?;
            *pair = self.two(text.first_chunk()?, text.get(distance..)?.first_chunk()?);
        }
        if let Some(last) = last.first_mut() {
            let text = rows.next()?.first_chunk()?;
            [*last, _] = self.two(text, text);
        }
        Some(())
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn two(self, a: &[u8; BYTES], b: &[u8; BYTES]) -> [i64; 2] {
        // SAFETY: there is no x86_64 without SSE2.
        unsafe { sse2::two(self.mask, a, b) }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn two(self, a: &[u8; BYTES], b: &[u8; BYTES]) -> [i64; 2] {
        [self.one(a), self.one(b)]
    }

    /// The number that is the end of the bytes, without registers of 16 bytes.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn one(self, text: &[u8; BYTES]) -> i64 {
        let digits = u128::from_le_bytes(*text) & self.mask;
        use super::values::eight_digits;
        let (first, last) = (digits as u64, (digits >> 64) as u64);
        (eight_digits(first) * 100_000_000 + eight_digits(last)).cast_signed()
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::BYTES;
    use std::arch::x86_64::*;

    /// The numbers that the bytes under the mask make.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn two(mask: u128, a: &[u8; BYTES], b: &[u8; BYTES]) -> [i64; 2] {
        let fours = _mm_packs_epi32(fours(mask, a), fours(mask, b));
        let eights = _mm_madd_epi16(fours, _mm_set1_epi32(1 << 16 | 10_000));
        let first = _mm_mul_epu32(eights, _mm_set1_epi64x(100_000_000));
        let both = _mm_add_epi64(first, _mm_srli_epi64::<32>(eights));
        let high = _mm_unpackhi_epi64(both, both);
        [_mm_cvtsi128_si64(both), _mm_cvtsi128_si64(high)]
    }

    /// The numbers that each four digits make.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn fours(mask: u128, text: &[u8; BYTES]) -> __m128i {
        let digits = _mm_and_si128(vector(u128::from_le_bytes(*text)), vector(mask));
        // Ten times the lower byte and the higher one, which end up in the higher one: 2561 is 10 * 256 + 1.
        let twos = _mm_srli_epi16::<8>(_mm_mullo_epi16(digits, _mm_set1_epi16(2561)));
        _mm_madd_epi16(twos, _mm_set1_epi32(1 << 16 | 100))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn vector(bytes: u128) -> __m128i {
        _mm_set_epi64x((bytes >> 64) as i64, bytes as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_wherever_they_stand() {
        for length in 1..=BYTES {
            let digits = Digits::new(length).unwrap();
            for distance in [BYTES, 17, 40] {
                for rows in 0..6 {
                    let number = |row: usize| match row {
                        0 => "9".repeat(length),
                        1 => "0".repeat(length),
                        row => "7301582649073158"[row..].repeat(2)[..length].to_string(),
                    };
                    let texts: Vec<String> = (0..rows)
                        .map(|row| format!("{:>>16}{}", number(row), "9".repeat(distance - BYTES)))
                        .collect();
                    let (text, mut found) = (texts.concat(), vec![-1; rows]);
                    assert_eq!(digits.read(text.as_bytes(), distance, &mut found), Some(()));
                    let expected: Vec<i64> =
                        (0..rows).map(|row| number(row).parse().unwrap()).collect();
                    assert_eq!(found, expected);
                    for (text, number) in texts.iter().zip(&expected) {
                        let text = text.as_bytes().first_chunk().unwrap();
                        assert_eq!(digits.one(text), *number);
                    }
                }
            }
        }
        assert!(Digits::new(17).is_none());
    }

    #[test]
    fn text_that_is_too_short_gives_no_numbers() {
        let (digits, text) = (Digits::new(3).unwrap(), [b'1'; 16 + 2 * 20]);
        for (length, rows) in [(0, 1), (15, 1), (16, 2), (35, 2), (36, 3), (55, 3)] {
            assert_eq!(digits.read(&text[..length], 20, &mut vec![0; rows]), None);
        }
        let mut found = [0; 3];
        assert_eq!(digits.read(&text, 20, &mut found), Some(()));
        assert_eq!(found, [111; 3]);
        // No distance makes it fail.
        assert_eq!(digits.read(&text, 0, &mut found), None);
    }
}
