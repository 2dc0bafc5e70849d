//! Slurm's compressed lists of nodes: `nid[00001-00004,00010],login1`.

/// Names that a list may stand for, at most: a damaged bracket must not fill the memory.
const MOST: usize = 1 << 20;

/// The names that a list stands for, in its order and as often as it says, as `scontrol show hostnames` prints them.
///
/// Numbers are padded with zeros to the width of the low end of their range. A name may hold several brackets, of which the last
/// turns fastest. None for what is no list: `None assigned`, an open bracket, a range that runs backwards, text after the last
/// bracket, more than a million names.
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
    Some(names.iter().map(str::to_string).collect())
}

/// Names of nodes, one after another in one text.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Becomes the names that a list stands for, as [`expand`]; None, and then it holds anything, if it is no list.
    pub(super) fn expand(&mut self, list: &str) -> Option<()> {
        self.text.clear();
        self.ends.clear();
        for element in elements(list)? {
            self.element(element, &mut String::new())?;
        }
        Some(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Each of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(from, to)| &self.text[from..*to])
    }

    fn element(&mut self, rest: &str, prefix: &mut String) -> Option<()> {
        let Some((before, after)) = rest.split_once('[') else {
            // Slurm knows no name that goes on after its last bracket.
            if !rest.is_empty() && !prefix.is_empty() || self.ends.len() >= MOST {
                return None;
            }
            self.text.push_str(prefix);
            self.text.push_str(rest);
            self.ends.push(self.text.len());
            return Some(());
        };
        let (ranges, rest) = after.split_once(']')?;
        let length = prefix.len();
        for range in ranges.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            if !digits(low) || !digits(high) {
                return None;
            }
            let (first, last) = (low.parse::<u64>().ok()?, high.parse::<u64>().ok()?);
            if last < first || last - first >= MOST as u64 {
                return None;
            }
            for number in first..=last {
                prefix.push_str(before);
                push_padded(prefix, number, low.len());
                self.element(rest, prefix)?;
                prefix.truncate(length);
            }
        }
        Some(())
    }
}

/// Appends a number with zeros in front up to a width.
fn push_padded(text: &mut String, mut number: u64, width: usize) {
    let (mut digits, mut at) = ([b'0'; 20], 20);
    while number > 0 || at == 20 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text.extend(std::iter::repeat_n('0', width.saturating_sub(20 - at)));
    text.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// The parts between commas that stand in no bracket.
fn elements(list: &str) -> Option<Vec<&str>> {
    let (mut inside, mut from, mut found) = (false, 0, vec![]);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' if !inside => inside = true,
            b']' if inside => inside = false,
            b'[' | b']' => return None,
            b',' if !inside => {
                found.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[from..]);
    let name = |element: &&str| !element.is_empty() && !element.contains(char::is_whitespace);
    (!inside && found.iter().all(name)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_that_scontrol_shows() {
        let Some(path) = crate::source::tests::shared("slurm/hostlist_expected_by_scontrol.txt")
        else {
            return;
        };
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        let mut cases = 0;
        while let (Some(list), Some(expected)) = (lines.next(), lines.next()) {
            let list = list.strip_prefix("== ").unwrap();
            assert_eq!(expand(list).unwrap().join(","), expected, "{list}");
            cases += 1;
        }
        assert_eq!(cases, 12);
    }

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

    #[test]
    fn brackets_multiply_and_the_last_turns_fastest() {
        // By hand.
        assert_eq!(
            expand("r[1-2]n[08-10]").unwrap(),
            ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"]
        );
    }
}
