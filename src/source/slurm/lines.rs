//! Lines of a text, and fields of a line.

use super::split::Layout;
use memchr::{memchr, memmem};

/// Where the line that begins at `at` ends.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |n| at + n)
}

/// Where the line after the one that ends at `end` begins and ends, empty ones left out; None if there is none.
pub(super) fn next_line(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = text.as_bytes().get(end + 1..)?;
    let from = end + 1 + rest.iter().position(|b| *b != b'\n')?;
    Some((from, line_end(text, from)))
}

/// The fields of a line, if it has as many as there are columns.
pub(super) fn cut<'t>(layout: &Layout, line: &'t str, fields: &mut Vec<&'t str>) -> bool {
    fields.clear();
    let (mut from, length, most) = (0, layout.delimiter.len(), layout.columns.len());
    let add = |found: usize| {
        fields.push(&line[from..found]);
        from = found + length;
        fields.len() <= most
    };
    let fits = match layout.delimiter.as_bytes() {
        [byte] => all_places(*byte, line.as_bytes(), add),
        delimiter => memmem::find_iter(line.as_bytes(), delimiter).all(add),
    };
    if !fits {
        return false;
    }
    match layout.trailing {
        true => fields.len() == most && from == line.len(),
        false => {
            fields.push(&line[from..]);
            fields.len() == most
        }
    }
}

/// Whether `each` holds for every place at which a byte stands; it is asked no further once it does not.
///
/// Fields have few bytes, so that to look for each delimiter anew costs more than to look at eight bytes at a time.
#[inline(always)]
fn all_places(byte: u8, text: &[u8], mut each: impl FnMut(usize) -> bool) -> bool {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (words, rest) = text.as_chunks::<8>();
    for (word_at, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ u64::from_le_bytes([byte; 8]);
        // The high bit of each byte that is 0.
        let mut found = !(((other & LOW) + LOW) | other | LOW);
        while found != 0 {
            if !each(8 * word_at + found.trailing_zeros() as usize / 8) {
                return false;
            }
            found &= found - 1;
        }
    }
    let from = text.len() - rest.len();
    let rest = rest.iter().enumerate().filter(|(_, b)| **b == byte);
    rest.into_iter().all(|(at, _)| each(from + at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn places_are_those_that_a_search_finds(text in "[a|\u{0}\u{fc}\u{7c}~}]{0,40}") {
            let mut found = vec![];
            all_places(b'|', text.as_bytes(), |at| { found.push(at); true });
            prop_assert_eq!(found, memchr::memchr_iter(b'|', text.as_bytes()).collect::<Vec<_>>());
        }
    }
}
