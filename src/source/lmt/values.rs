//! The values of an INSERT as mysqldump writes them: numbers, NULL, and quoted text.

use super::dimensions::Field;

/// Zero bytes that must follow the text of a row, so that a number is read eight bytes at a time.
pub(super) const PADDING: usize = 16;

/// A whole number that begins at `at`, and where it ends. None if there is none there, or one that takes a closer look.
///
/// Eight digits at a time: this is where the time of reading a dump goes.
#[inline(always)]
pub(super) fn digits(text: &[u8], at: usize) -> Option<(i64, usize)> {
    let (first, n) = eight(text, at)?;
    if n < 8 {
        return (n > 0).then_some((first.cast_signed(), at + n));
    }
    let (second, n) = eight(text, at + 8)?;
    let number = first * POWERS[n & 15] + second;
    if n < 8 {
        return Some((number.cast_signed(), at + 8 + n));
    }
    // 16 digits and more: only the counters of very busy targets. At most two follow, so that it cannot overflow.
    let (third, n) = eight(text, at + 16)?;
    (n < 3).then(|| ((number * POWERS[n & 15] + third).cast_signed(), at + 16 + n))
}

/// A number that begins at `at`, such as `2.05103`, and where it ends. None if it takes a closer look: an exponent, a sign, more
/// digits than a Float64 tells apart.
#[inline]
pub(super) fn decimal(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let (whole, end) = digits(text, at)?;
    if text.get(end) != Some(&b'.') {
        return (end - at <= 15).then_some((whole as f64, end));
    }
    let (fraction, last) = digits(text, end + 1)?;
    let (n, all) = (last - end - 1, last - at - 1);
    let power = POWERS.get(n).filter(|_| all <= 15)?;
    // Both are exact, and so is the rounding of their quotient.
    Some((
        ((whole.cast_unsigned() * power) + fraction.cast_unsigned()) as f64 / *power as f64,
        last,
    ))
}

/// 10 to the n; no number of digits reaches the last ones.
pub(super) const POWERS: [u64; 16] = {
    let (mut powers, mut n) = ([1u64; 16], 1);
    while n < 16 {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers
};

/// The number that the digits at `at` make, eight at most, and how many they are.
#[inline(always)]
fn eight(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(text.get(at..at + 8)?.try_into().ok()?) ^ 0x3030_3030_3030_3030;
    // The lowest byte whose high bit is set is the first that is no digit; carries only spoil higher ones.
    let other = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let n = other.trailing_zeros() as usize / 8;
    // Zeros in front of the digits: two shifts, since one by 64 is none.
    let word = match n {
        0 => 0,
        n => word << (64 - 8 * n),
    };
    Some((eight_digits(word), n))
}

/// The number of eight digits, as values from 0 to 9, the first in the lowest byte.
#[inline(always)]
pub(super) fn eight_digits(word: u64) -> u64 {
    let pairs = (word.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(42_949_672_960_001) >> 32
}

/// The value that begins at `at`, and where it ends: at a comma or a closing parenthesis. None if it is none.
///
/// Quoted text with escapes is put together in `buffer`.
pub(super) fn field<'a>(
    text: &'a [u8],
    at: usize,
    buffer: &'a mut Vec<u8>,
) -> Option<(Field<'a>, usize)> {
    let rest = text.get(at..)?;
    if rest.first() == Some(&b'\'') {
        return quoted(rest, at, buffer);
    }
    // What introduces a text's character set: `_latin1'..'`, `_binary '..'`.
    if rest.first() == Some(&b'_') {
        let quote = rest.iter().take(32).position(|b| *b == b'\'')?;
        return quoted(rest.get(quote..)?, at + quote, buffer);
    }
    // No number is longer.
    let end = rest
        .iter()
        .take(64)
        .position(|b| matches!(b, b',' | b')'))?;
    let token = std::str::from_utf8(rest.get(..end)?).ok()?.trim();
    let value = match token {
        "NULL" => Field::Null,
        token => match token.parse() {
            Ok(n) => Field::Int(n),
            Err(_) => Field::Float(token.parse().ok().filter(|x: &f64| x.is_finite())?),
        },
    };
    Some((value, at + end))
}

fn quoted<'a>(rest: &'a [u8], at: usize, buffer: &'a mut Vec<u8>) -> Option<(Field<'a>, usize)> {
    buffer.clear();
    let mut from = 1;
    loop {
        let special = from + memchr::memchr2(b'\'', b'\\', rest.get(from..)?)?;
        buffer.extend_from_slice(rest.get(from..special)?);
        match (rest.get(special)?, rest.get(special + 1)?) {
            (b'\'', b'\'') => buffer.push(b'\''),
            (b'\'', _) => return Some((Field::Text(buffer), at + special + 1)),
            (_, escaped) => buffer.push(match escaped {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'0' => 0,
                b'Z' => 26,
                b'b' => 8,
                other => *other,
            }),
        }
        from = special + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &str) -> Vec<u8> {
        let mut text = text.as_bytes().to_vec();
        text.extend([0; PADDING]);
        text
    }

    #[test]
    fn numbers_of_every_length_are_read_as_the_standard_library_reads_them() {
        for length in 1..=18usize {
            for text in [
                "1234567890123456789",
                "9999999999999999999",
                "1000000000000000000",
                "0000000000000000007",
            ] {
                let number = &text[..length];
                for after in [",", ")", ".", "\n", ";x", "\u{ff}", "/", ":"] {
                    let found = digits(&padded(&format!("({number}{after}")), 1);
                    assert_eq!(
                        found,
                        Some((number.parse().unwrap(), 1 + length)),
                        "{number}{after}"
                    );
                }
            }
        }
    }

    #[test]
    fn decimals_are_read_as_the_standard_library_reads_them() {
        for text in [
            "2.05103",
            "0.412861",
            "98.4329",
            "0",
            "100",
            "3.1038",
            "123456789.123456",
            "0.000001",
            "99.9999",
        ] {
            let padded = padded(&format!("{text},"));
            assert_eq!(
                decimal(&padded, 0),
                Some((text.parse().unwrap(), text.len()))
            );
        }
        for text in ["1e-7", ".5", "5.", "-1.5", "NULL", "1234567890.123456"] {
            let found = decimal(&padded(&format!("{text},")), 0);
            assert!(found.is_none_or(|(_, end)| end < text.len()), "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_number_is_left_to_a_closer_look() {
        for text in ["NULL", "-5", "'7'", "", ",", "1234567890123456789"] {
            assert_eq!(digits(&padded(text), 0), None, "{text}");
        }
        let mut buffer = vec![];
        let mut value = |text: &str| {
            let text = padded(text);
            field(&text, 0, &mut buffer).map(|(value, end)| (format!("{value:?}"), end))
        };
        let some = |value: Field, end| Some((format!("{value:?}"), end));
        assert_eq!(value("NULL)"), some(Field::Null, 4));
        assert_eq!(value("-5,"), some(Field::Int(-5), 2));
        assert_eq!(
            value("9223372036854775807,"),
            some(Field::Int(i64::MAX), 19)
        );
        assert_eq!(
            value("18446744073709551615,"),
            some(Field::Float(18446744073709551615.0), 20)
        );
        assert_eq!(value("2.05103)"), some(Field::Float(2.05103), 7));
        assert_eq!(value("1e-7)"), some(Field::Float(1e-7), 4));
        assert_eq!(
            value(r"'it''s \'a\' \\ \n\0',"),
            some(Field::Text(b"it's 'a' \\ \n\0"), 21)
        );
        assert_eq!(value("_latin1'a'),"), some(Field::Text(b"a"), 10));
        for none in ["'cut", "'cut\\", "nan,", "x)", "17", ""] {
            assert_eq!(value(none), None, "{none}");
        }
    }
}
