//! Slurm's compressed lists of nodes: `nid[00001-00004,00010],login1`.

use arrow::array::{Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};

/// Names that a list may stand for, at most: a damaged bracket must not fill the memory.
pub(super) const MOST: usize = 1 << 20;

/// Bytes that all of them may take: no host has a name of more than 64.
const MOST_TEXT: usize = 64 * MOST;

/// The names that a list stands for, in its order and as often as it says, as `scontrol show hostnames` prints them.
///
/// Numbers are padded with zeros to the width of the low end of their range. A name may hold several brackets, of which the last
/// turns fastest. None for what is no list: `None assigned`, an open bracket, a range that runs backwards, text after the last
/// bracket, more than a million names or more than 64 MiB of them.
///
/// # Example
/// ```
/// use iolode::source::slurm::hostlist::expand;
///
/// assert_eq!(expand("n[9-11],login1").unwrap(), ["n9", "n10", "n11", "login1"]);
/// assert_eq!(expand("None assigned"), None);
/// ```
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Names::default();
    names.expand(list)?;
    let names = names.array();
    Some((0..names.len()).map(|at| names.value(at).into()).collect())
}

/// Names of nodes, one after another in one text.
#[derive(Default)]
pub(super) struct Names {
    text: Vec<u8>,
    ends: Vec<i32>,
    /// The part of a name that is put together.
    name: Vec<u8>,
}

impl Names {
    /// Becomes the names that a list stands for, as [`expand`]; None, and then it holds anything, if it is no list.
    pub(super) fn expand(&mut self, list: &str) -> Option<()> {
        self.text.clear();
        self.ends.clear();
        let mut name = std::mem::take(&mut self.name);
        let done = elements(list).try_for_each(|element| {
            name.clear();
            self.element(element?, &mut name)
        });
        self.name = name;
        done
    }

    /// The names as they go into a column.
    pub(super) fn array(&self) -> StringArray {
        let mut ends = Vec::with_capacity(self.ends.len() + 1);
        ends.push(0);
        ends.extend_from_slice(&self.ends);
        // Ends only grow, and a list was cut at ASCII characters.
        let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
        StringArray::new(ends, Buffer::from_slice_ref(&self.text), None)
    }

    /// Ends the name whose last part has been appended.
    fn end(&mut self) -> Option<()> {
        if self.ends.len() >= MOST || self.text.len() > MOST_TEXT {
            return None;
        }
        self.ends.push(self.text.len() as i32);
        Some(())
    }

    fn element(&mut self, rest: &str, prefix: &mut Vec<u8>) -> Option<()> {
        let Some((before, after)) = rest.split_once('[') else {
            // Slurm knows no name that goes on after its last bracket.
            if !rest.is_empty() && !prefix.is_empty() {
                return None;
            }
            self.text.extend_from_slice(prefix);
            self.text.extend_from_slice(rest.as_bytes());
            return self.end();
        };
        let (ranges, rest) = after.split_once(']')?;
        let length = prefix.len();
        prefix.extend_from_slice(before.as_bytes());
        for range in ranges.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(low)?, number(high)?);
            if last < first || last - first >= MOST as u64 {
                return None;
            }
            match rest.is_empty() {
                true => self.range(prefix, low, last - first)?,
                false => self.ranges(prefix, first..=last, low.len(), rest)?,
            }
        }
        prefix.truncate(length);
        Some(())
    }

    /// Names that end with a number: the one at the low end of a range, and `more` that follow it. Each is the one before, counted
    /// on by one where it stands.
    fn range(&mut self, prefix: &mut Vec<u8>, low: &str, more: u64) -> Option<()> {
        let length = prefix.len();
        prefix.extend_from_slice(low.as_bytes());
        self.text.extend_from_slice(prefix);
        self.end()?;
        for _ in 0..more {
            count_on(prefix, length);
            self.text.extend_from_slice(prefix);
            self.end()?;
        }
        prefix.truncate(length);
        Some(())
    }

    /// Names that have another bracket, `rest`, after the number.
    fn ranges(
        &mut self,
        prefix: &mut Vec<u8>,
        numbers: std::ops::RangeInclusive<u64>,
        width: usize,
        rest: &str,
    ) -> Option<()> {
        let length = prefix.len();
        for number in numbers {
            prefix.extend_from_slice(format!("{number:0width$}").as_bytes());
            self.element(rest, prefix)?;
            prefix.truncate(length);
        }
        Some(())
    }
}

/// The number that digits make.
fn number(digits: &str) -> Option<u64> {
    let all = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| all)
}

/// Adds one to the number that stands from `from` on, which becomes longer if it must.
fn count_on(name: &mut Vec<u8>, from: usize) {
    for digit in name[from..].iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    name.insert(from, b'1');
}

/// The parts between commas that stand in no bracket; None, once, for what is no name.
fn elements(list: &str) -> impl Iterator<Item = Option<&str>> {
    let (mut rest, mut done) = (list, false);
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let element = element_end(rest).map(|end| (&rest[..end], rest.get(end + 1..)));
        let Some((element, after)) = element else {
            done = true;
            return Some(None);
        };
        (rest, done) = (after.unwrap_or_default(), after.is_none());
        Some((!element.is_empty() && !element.contains(char::is_whitespace)).then_some(element))
    })
}

/// Where the first part of a list ends; None if a bracket is not closed, or not opened.
fn element_end(list: &str) -> Option<usize> {
    let mut inside = false;
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' if !inside => inside = true,
            b']' if inside => inside = false,
            b'[' | b']' => return None,
            b',' if !inside => return Some(at),
            _ => {}
        }
    }
    (!inside).then_some(list.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_list_of_names_gives_none() {
        for list in [
            "None assigned",
            "",
            "nid[1-2",
            "nid1-2]",
            "nid[2-1]",
            "nid[a-b]",
            "nid[]",
            "nid[1,]",
            "a,,b",
            "nid[1-2]x",
            "nid[0-99999999999999999999]",
            "nid[0-4000000000]",
            "n[1-1000][1-1000][1-1000]",
            "[[1]]",
        ] {
            assert_eq!(expand(list), None, "{list}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn names_that_are_counted_on_are_those_that_are_written_anew(
            before in "[a-z]{0,3}",
            low in "[0-9]{1,4}",
            more in 0..2000u64,
            after in "(,login\\[1-3\\])?",
        ) {
            let first: u64 = low.parse().unwrap();
            let found = expand(&format!("{before}[{low}-{}]{after}", first + more)).unwrap();
            let width = low.len();
            let mut expected: Vec<String> = (first..=first + more)
                .map(|number| format!("{before}{number:0width$}"))
                .collect();
            if !after.is_empty() {
                expected.extend((1..=3).map(|number| format!("login{number}")));
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn names_do_not_fill_the_memory() {
        let list = format!("{}[1-1000]", "n".repeat(1 << 20));
        assert_eq!(expand(&list), None);
    }

    #[test]
    fn brackets_multiply_and_the_last_turns_fastest() {
        // By hand.
        assert_eq!(
            expand("r[1-2]n[08-10]").unwrap(),
            ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"]
        );
    }
}
