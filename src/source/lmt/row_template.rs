//! Rows that look like the row before, many at a time and column by column: most rows of samples do.
//!
//! To read numbers one after another is slow, since where a number begins is known only when the one before it is read. Where all
//! bytes are of the kind that stood at their places in the row before (a digit, or the very same separator), so are the fields,
//! and each number lies as far behind the same one of the row before as the row does.

use super::digits::{BYTES, Digits};
use super::samples::{NULL, Samples, float_bits};
use super::values::POWERS;

/// Rows that are put at a time: few enough that their text stays near the core until all of its columns are read.
const ROWS: usize = 64;

/// What rows look like, with what stands between them.
pub(super) struct RowTemplate {
    blocks: Vec<Block>,
    /// Bytes of a row, parentheses included.
    length: usize,
    /// From a row to the next.
    distance: usize,
    fields: Vec<Field>,
}

/// The least values of 16 bytes, and how much more they may be.
#[derive(Clone, Copy)]
struct Block {
    least: [u8; BYTES],
    more: [u8; BYTES],
}

/// A wanted value.
struct Field {
    column: usize,
    value: Value,
}

enum Value {
    Int(Place),
    /// What stands before and after the point, and the power of ten that this is of the former.
    Float(Place, Option<Place>, u64),
    /// Something that is always the same.
    Same(i64),
}

/// Where digits stand in a row.
struct Place {
    digits: Digits,
    /// Behind the last.
    end: usize,
}

impl RowTemplate {
    /// That of the row whose parenthesis stands at `at`, so long with the other one, if another row follows. None if it holds what
    /// takes a closer look.
    pub(super) fn of(text: &[u8], at: usize, length: usize, steps: &[Step]) -> Option<Self> {
        let (row, behind) = text.get(at..)?.split_at_checked(length)?;
        let between = behind.iter().take(4).position(|b| *b == b'(')?;
        if !behind[..between].iter().all(|b| b",\n\r\t ".contains(b)) {
            return None;
        }
        let distance = length + between;
        let blocks = text.get(at..at + distance)?.chunks(BYTES).map(Block::of);
        let inner = row.strip_prefix(b"(")?.strip_suffix(b")")?;
        let (mut fields, mut from) = (Vec::with_capacity(steps.len()), 1);
        let mut texts = inner.split(|b| *b == b',');
        for step in steps {
            let text = texts.next()?;
            match *step {
                Step::Int(column) => fields.push(Field {
                    column,
                    value: Value::int(text, from)?,
                }),
                Step::Float(column) => fields.push(Field {
                    column,
                    value: Value::float(text, from)?,
                }),
                Step::Skip if is_number(text) || text == b"NULL" => {}
                // Text may hold anything.
                Step::Skip => return None,
            }
            from += text.len() + 1;
        }
        // Shorter rows are none of LMT's.
        (texts.next().is_none() && distance >= BYTES).then(|| Self {
            blocks: blocks.collect(),
            length,
            distance,
            fields,
        })
    }

    /// Puts the rows that look like this, from the one whose parenthesis stands at `at` on, as far as there is room for them; how
    /// many they are, and where the last ends. None if it looks different.
    #[inline]
    pub(super) fn rows(
        &self,
        text: &[u8],
        at: usize,
        samples: &mut Samples,
    ) -> Option<(usize, usize)> {
        let most = ROWS.min(samples.room());
        let rows = (0..most).take_while(|row| self.fits(text, at + row * self.distance));
        let rows = rows.count();
        let last = at + rows.checked_sub(1)? * self.distance;
        for field in &self.fields {
            let into = samples.next(field.column, rows);
            match &field.value {
                Value::Int(place) => place.read(text, at, self.distance, into)?,
                Value::Float(whole, fraction, power) => {
                    whole.read(text, at, self.distance, into)?;
                    let mut fractions = [0; ROWS];
                    if let Some(fraction) = fraction {
                        fraction.read(text, at, self.distance, fractions.get_mut(..rows)?)?;
                    }
                    let power = power.cast_signed();
                    for (slot, fraction) in into.iter_mut().zip(fractions) {
                        let all = *slot * power + fraction;
                        *slot = float_bits(Some(all as f64 / power as f64));
                    }
                }
                Value::Same(value) => into.fill(*value),
            }
        }
        Some((rows, last + self.length))
    }

    /// Whether all bytes of a row are of their kind.
    #[inline(always)]
    fn fits(&self, text: &[u8], at: usize) -> bool {
        let text = text.get(at..).unwrap_or_default().as_chunks().0;
        let blocks = text.iter().zip(&self.blocks);
        let beyond = blocks.fold([0; BYTES], |beyond, (text, block)| {
            block.beyond(text, beyond)
        });
        text.len() >= self.blocks.len() && beyond == [0; BYTES]
    }
}

impl Block {
    /// That of some bytes, 16 at most: what stands behind them may be anything.
    fn of(text: &[u8]) -> Self {
        let mut block = Self {
            least: [0; BYTES],
            more: [u8::MAX; BYTES],
        };
        for (at, byte) in text.iter().enumerate().take(BYTES) {
            (block.least[at], block.more[at]) = match byte {
                b'0'..=b'9' => (b'0', 9),
                _ => (*byte, 0),
            };
        }
        block
    }

    /// What is not 0 in any place where a byte is of another kind, or was before. Without a branch: all are compared at once.
    #[inline(always)]
    fn beyond(&self, text: &[u8; BYTES], before: [u8; BYTES]) -> [u8; BYTES] {
        let mut beyond = before;
        for at in 0..BYTES {
            let above = text[at].wrapping_sub(self.least[at]);
            beyond[at] |= above.saturating_sub(self.more[at]);
        }
        beyond
    }
}

impl Value {
    fn int(text: &[u8], from: usize) -> Option<Self> {
        match text {
            b"NULL" => Some(Self::Same(NULL)),
            text => Some(Self::Int(Place::of(text, from)?)),
        }
    }

    /// None if it has more digits than a Float64 tells apart.
    fn float(text: &[u8], from: usize) -> Option<Self> {
        if text == b"NULL" {
            return Some(Self::Same(float_bits(None)));
        }
        let Some(point) = text.iter().position(|b| *b == b'.') else {
            let whole = Place::of(text, from).filter(|_| text.len() <= 15)?;
            return Some(Self::Float(whole, None, 1));
        };
        let (whole, fraction) = (text.get(..point)?, text.get(point + 1..)?);
        let power = *POWERS.get(fraction.len()).filter(|_| text.len() <= 16)?;
        let fraction = Place::of(fraction, from + point + 1)?;
        Some(Self::Float(Place::of(whole, from)?, Some(fraction), power))
    }
}

impl Place {
    /// That of a text of digits that stands at `from` in a row.
    fn of(text: &[u8], from: usize) -> Option<Self> {
        let all = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let digits = Digits::new(text.len()).filter(|_| all)?;
        let end = from + text.len();
        Some(Self { digits, end })
    }

    /// Reads the numbers of the row at `at` and of those that follow; None if there is too little before it.
    #[inline(always)]
    fn read(&self, text: &[u8], at: usize, distance: usize, into: &mut [i64]) -> Option<()> {
        let from = (at + self.end).checked_sub(BYTES)?;
        self.digits.read(text.get(from..)?, distance, into)
    }
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// What happens with a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Int(usize),
    Float(usize),
    Skip,
}

#[cfg(test)]
mod tests {
    use super::super::row_decoder::RowDecoder;
    use super::super::samples::{TABLES, Table};
    use super::super::values::PADDING;
    use super::*;
    use crate::math::random::Random;
    use crate::source::Period;

    /// What was read of a text: values column by column, and where something stood that is no row.
    #[derive(Debug, Default, PartialEq)]
    struct Read {
        columns: Vec<Vec<i64>>,
        bad: Vec<usize>,
    }

    /// Reads rows; each with a plan of its own, which has seen no row before it, if they are to be read `apart`. Also the most that
    /// were read at a time.
    fn read(text: &str, columns: &[&str], table: &'static Table, apart: bool) -> (Read, usize) {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_string()).collect();
        let new = || RowDecoder::new(&columns, table);
        let (mut plan, mut samples) = (new(), Samples::new(table, Period::default()));
        let (mut read, mut most, mut at) = (Read::default(), 0, 0);
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend([0; PADDING]);
        while at < text.len() {
            if apart {
                plan = new();
            }
            match bytes[at] {
                b',' | b' ' | b'\n' | b'\r' | b'\t' => at += 1,
                b'(' => match plan.rows(&bytes, at, &mut samples) {
                    Some((rows, end)) => {
                        assert!(!samples.end_rows(rows), "more rows than a test may have");
                        assert!(end <= text.len());
                        (at, most) = (end, most.max(rows));
                    }
                    None => {
                        read.bad.push(at);
                        at += 1;
                    }
                },
                _ => {
                    read.bad.push(at);
                    at += 1;
                }
            }
        }
        let columns = 0..table.columns.len();
        read.columns = columns.map(|at| samples.column(at).to_vec()).collect();
        (read, most)
    }

    /// Reads rows together and apart, which must be the same; how many were read at a time.
    fn check(text: &str, columns: &[&str], table: &'static Table) -> usize {
        let (together, most) = read(text, columns, table, false);
        let (apart, one) = read(text, columns, table, true);
        assert_eq!(together, apart, "{text}");
        assert!(one <= 1);
        most
    }

    fn ost(text: &str) -> usize {
        check(text, TABLES[0].all, &TABLES[0])
    }

    impl Random {
        fn digits(&mut self, n: usize) -> String {
            (0..n)
                .map(|_| char::from(b'0' + self.index(10) as u8))
                .collect()
        }

        fn value(&mut self) -> String {
            match self.index(60) {
                0 => (*self.pick(&["-5", "1e5", "2.5e-3", "''", "'1'", "x"])).into(),
                1 => (*self.pick(&["'a,1'", "'1),(2'", "'it\\'s 1'", "'1''2'", "_binary '1'"]))
                    .into(),
                2 => format!("'{}'", self.digits(3)),
                3..6 => "NULL".into(),
                6..20 => {
                    let (whole, fraction) = (self.index(9), self.index(9));
                    format!("{}.{}", self.digits(whole), self.digits(fraction))
                }
                20 => {
                    let length = self.index(25);
                    self.digits(length)
                }
                _ => {
                    let length = 1 + self.index(16);
                    self.digits(length)
                }
            }
        }

        /// A row of so many values.
        fn row(&mut self, values: usize) -> String {
            let values: Vec<String> = (0..values).map(|_| self.value()).collect();
            format!("({})", values.join(","))
        }

        /// The same row with other digits.
        fn like(&mut self, row: &str) -> String {
            row.chars()
                .map(|c| match c {
                    '0'..='9' => char::from(b'0' + self.index(10) as u8),
                    c => c,
                })
                .collect()
        }
    }

    #[test]
    fn rows_are_the_same_together_and_apart_whatever_they_hold() {
        let (mut random, mut together) = (Random::new(7, 0), 0);
        for _ in 0..600 {
            let table = &TABLES[random.index(TABLES.len())];
            let mut columns = table.all.to_vec();
            if random.index(4) == 0 {
                // A column that nobody wants in the place of one that is wanted.
                let at = random.index(columns.len());
                columns[at] = "OTHER";
            }
            let separator = *random.pick(&[",", ",\n", ",\r\n", ", ", "\n", ";", ",x", ""]);
            let (mut text, mut row) = (String::new(), random.row(columns.len()));
            for _ in 0..2 + random.index(150) {
                row = match random.index(40) {
                    0 => random.row(columns.len()),
                    _ => random.like(&row),
                };
                let mut bytes = row.clone();
                if random.index(60) == 0 {
                    let at = random.index(bytes.len());
                    let odd =
                        *random.pick(&["'", "-", ".", "e", ",", ")", "(", "N", "\\", "/", ":"]);
                    bytes.replace_range(at..at + 1, odd);
                }
                text += &bytes;
                text += separator;
            }
            text.truncate(text.len() - random.index(text.len()) / 3);
            together += usize::from(check(&text, &columns, table) > 1);
        }
        assert!(together > 100, "{together}");
    }

    #[test]
    fn rows_that_look_the_same_are_read_together_and_others_are_not() {
        let rows = |n: usize, row: &str| vec![row; n].join(",\n");
        let row =
            "(1,8921898,19579902451885,38398165047620,0,38111955558,52655695794,74201822,14466722)";
        // The first rows say what the others look like, and what follows the last is no other row.
        assert_eq!(ost(&rows(40, row)), 40 - 3);
        assert_eq!(ost(&rows(900, row)), ROWS);
        assert_eq!(ost(&rows(40, "(1,2,3,4,NULL,6,NULL,8,9)")), 40 - 3);
        assert_eq!(
            ost(&rows(40, "(1,2,3,4,2.5,6,7,8,1234567890123456)")),
            40 - 3
        );
        // What takes a closer look.
        for value in ["-3", "12345678901234567", "3.0", "1e3", "'3'"] {
            assert_eq!(ost(&rows(40, &format!("(1,2,{value},4,0,6,7,8,9)"))), 1);
        }
        assert_eq!(ost(&rows(40, "(1,2,3,4,'a',6,7,8,9)")), 1);
        assert_eq!(ost(&vec![row; 40].join(",x")), 1);
        let float = |value: &str| {
            let text = rows(40, &format!("(1,2,{value},2.05103)"));
            check(&text, TABLES[1].all, &TABLES[1])
        };
        for value in ["0.5", "123456789.123456", "123456789012345", "NULL"] {
            assert_eq!(float(value), 40 - 3);
        }
        for value in ["1.", ".5", "123456789.1234567", "1234567890123456", "-0.5"] {
            assert_eq!(float(value), 1);
        }
    }

    #[test]
    fn rows_are_put_as_far_as_there_is_room() {
        let columns: Vec<String> = TABLES[0].all.iter().map(|name| name.to_string()).collect();
        let mut plan = RowDecoder::new(&columns, &TABLES[0]);
        let mut samples = Samples::new(&TABLES[0], Period::default());
        let text = format!(
            "{}{}",
            "(1,2,3,4,0,6,7,8,9),".repeat(99),
            "\0".repeat(PADDING)
        );
        let (mut full, mut at, mut rows) = (false, 0, 0);
        while samples.room() > 0 {
            let (n, end) = plan.rows(text.as_bytes(), at, &mut samples).unwrap();
            (full, rows) = (samples.end_rows(n), rows + n);
            assert_eq!(full, samples.room() == 0);
            at = match end + 1 + PADDING < text.len() {
                true => end + 1,
                false => 0,
            };
        }
        assert!(full);
        assert_eq!(samples.column(1), vec![2; rows]);
        assert_eq!(samples.column(7), vec![9; rows]);
    }
}
