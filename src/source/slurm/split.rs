//! Lines in which a user's text holds the delimiter or a line end, taken apart where that can be done in one way only.
//!
//! sacct escapes nothing. A job called `a|b` has one field too many, one called `a\nb` is printed as two lines with too few.
//! What is not a user's text is of a known form, and most lines have few places for a user's text: of all ways to cut some lines
//! into records and these into fields there is then just one in which every value is what its column holds.

use super::column::{Column, Kind};
use super::value;
use std::cell::Cell;
use std::cmp::Ordering;

/// The lines of a record, at most: what a user writes into a comment is seldom longer.
const MOST_LINES: usize = 64;

/// Delimiters in the users' texts of a record, at most.
const MOST_DELIMITERS: usize = 4096;

/// Looks at values, and steps by sixteen, while some lines are taken apart, at most: real ones need a few thousand, damaged ones
/// could take for ever.
const MOST_LOOKS: usize = 200_000;

/// What the fields of a line are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) delimiter: String,
    /// Whether a delimiter stands after the last field as well (`sacct -p`).
    pub(super) trailing: bool,
    /// None for a column that is new to us.
    pub(super) columns: Vec<Option<Column>>,
    /// The names of those.
    pub(super) unknown: Vec<String>,
}

/// Some lines: which of them are a record, and its fields; or one that is none for certain.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Record(Vec<&'a str>),
    Failed,
}

/// Takes lines apart: for each piece how many lines it is, and what. As few lines fail as possible, and of that there are as many
/// records as possible, for nobody's comment holds a whole record; where there are several ways for both, or far too many to be
/// tried, all lines fail.
///
/// `text` are the lines, `ends` where each of them ends, without its line end.
pub(super) fn pieces<'a>(
    text: &'a str,
    ends: &[usize],
    layout: &Layout,
    check: &dyn Fn(Column, &str) -> bool,
) -> Vec<(usize, Piece<'a>)> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(ends.iter().map(|end| end + 1))
        .collect();
    let (n, values) = (ends.len(), Values::new(check));
    // For the lines from each on: what they cost (lines that fail, then records that are not made), in how many ways that is
    // reached (2 for more), and how many lines the first piece has (0: it fails).
    let mut best: Vec<((usize, usize), u8, usize)> = vec![((0, n), 1, 0); n + 1];
    for from in (0..n).rev() {
        let ((fail, unmade), ways, _) = best[from + 1];
        let mut here = ((fail + 1, unmade), ways, 0);
        for to in from + 1..=n.min(from + MOST_LINES) {
            if to > from + 1 && begins_record(&text[starts[to - 1]..ends[to - 1]], layout) {
                break;
            }
            let found = layout.splits(&text[starts[from]..ends[to - 1]], &values).0;
            if found == 0 {
                continue;
            }
            let ((fail, unmade), ways, _) = best[to];
            let cost = (fail, unmade - 1);
            let ways = found.saturating_mul(ways).min(2);
            match cost.cmp(&here.0) {
                Ordering::Less => here = (cost, ways, to - from),
                Ordering::Equal => here.1 = 2,
                Ordering::Greater => {}
            }
        }
        best[from] = here;
    }
    if best[0].1 > 1 || values.spent() {
        return (0..n).map(|_| (1, Piece::Failed)).collect();
    }
    let (mut from, mut pieces) = (0, vec![]);
    while from < n {
        let lines = best[from].2;
        let record = (lines > 0).then(|| {
            layout
                .splits(&text[starts[from]..ends[from + lines - 1]], &values)
                .1
        });
        pieces.push((
            lines.max(1),
            record.flatten().map_or(Piece::Failed, Piece::Record),
        ));
        from += lines.max(1);
    }
    pieces
}

/// Whether a line begins as a record does: that is no part of a user's text, for all that can be known.
fn begins_record(line: &str, layout: &Layout) -> bool {
    let first = layout.columns.first().copied().flatten();
    let id = line.split_once(&layout.delimiter).map(|(id, _)| id);
    first.is_some_and(|column| column.kind() == Kind::Id)
        && id.is_some_and(|id| value::id(id, None).is_some())
}

impl Layout {
    /// In how many ways (2 for more) a text is one record, and the fields if it is one.
    fn splits<'a>(&self, text: &'a str, values: &Values<'_>) -> (u8, Option<Vec<&'a str>>) {
        let text = match self.trailing {
            true => match text.strip_suffix(&self.delimiter) {
                Some(text) => text,
                None => return (0, None),
            },
            false => text,
        };
        // Where each piece between delimiters begins and ends.
        let mut bounds = vec![];
        let mut from = 0;
        for (at, found) in text.match_indices(&self.delimiter) {
            bounds.push((from, at));
            from = at + found.len();
        }
        bounds.push((from, text.len()));
        let columns = self.columns.len();
        let extra = match bounds.len().checked_sub(columns) {
            Some(extra) if extra <= MOST_DELIMITERS => extra,
            _ => return (0, None),
        };
        let free = |c: &usize| self.columns[*c].is_some_and(|column| column.kind() == Kind::Free);
        // Outside the users' texts there is one way only: what does not fit there need not be looked at any further.
        let first = (0..columns).find(free).unwrap_or(columns);
        let last = (0..columns).rfind(free).map_or(0, |c| c + 1).max(first);
        let piece =
            |c: usize, e: usize, more: usize| &text[bounds[c + e].0..bounds[c + e + more].1];
        let holds = |c: usize, e: usize| values.hold(self.columns[c], piece(c, e, 0));
        let outside = (0..first).all(|c| holds(c, 0)) && (last..columns).all(|c| holds(c, extra));
        if !outside || (first == columns && extra > 0) {
            return (0, None);
        }
        values.spend((extra + 1) * (last - first) / 16);
        if values.spent() {
            return (0, None);
        }
        // ways[c][e]: ways in which the columns from c on take what is left when those before took e pieces too many.
        let mut ways = vec![vec![0u8; extra + 1]; columns + 1];
        for row in &mut ways[last..] {
            row[extra] = 1;
        }
        for c in (first..last).rev() {
            let (here, after) = ways.split_at_mut(c + 1);
            let (here, after) = (&mut here[c], &after[0]);
            if free(&c) {
                let mut found = 0;
                for e in (0..=extra).rev() {
                    found = (found + after[e]).min(2);
                    here[e] = found;
                }
            } else {
                for e in (0..=extra).filter(|e| after[*e] > 0) {
                    here[e] = if holds(c, e) { after[e] } else { 0 };
                }
            }
        }
        let found = ways[first][0];
        if found != 1 {
            return (found, None);
        }
        let (mut e, mut fields) = (0, Vec::with_capacity(columns));
        for c in 0..columns {
            // There is exactly one.
            let takes = if free(&c) { extra - e } else { 0 };
            let more = (0..=takes).find(|more| c < first || ways[c + 1][e + more] > 0);
            let more = more.unwrap_or(0);
            fields.push(piece(c, e, more));
            e += more;
        }
        (1, Some(fields))
    }
}

/// What columns can hold, and how often that was asked.
struct Values<'c> {
    check: &'c dyn Fn(Column, &str) -> bool,
    looks: Cell<usize>,
}

impl<'c> Values<'c> {
    fn new(check: &'c dyn Fn(Column, &str) -> bool) -> Self {
        Self {
            check,
            looks: Cell::new(0),
        }
    }

    fn spend(&self, looks: usize) {
        self.looks.set(self.looks.get().saturating_add(looks));
    }

    fn spent(&self) -> bool {
        self.looks.get() >= MOST_LOOKS
    }

    /// Whether a column can hold this; nothing can any more once that was asked too often.
    fn hold(&self, column: Option<Column>, text: &str) -> bool {
        self.spend(1);
        if self.spent() {
            return false;
        }
        match column {
            None => !text.contains('\n'),
            Some(column) => match column.kind() {
                Kind::Free => true,
                Kind::Line => !text.contains('\n'),
                Kind::Word => !text.contains(char::is_whitespace),
                _ => (self.check)(column, text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(names: &str) -> Layout {
        let columns = names.split('|').map(Column::named).collect();
        Layout {
            delimiter: "|".into(),
            trailing: false,
            columns,
            unknown: vec![],
        }
    }

    fn check(column: Column, text: &str) -> bool {
        match column.kind() {
            Kind::Id => value::id(text, None).is_some(),
            Kind::State => value::state(text).is_some(),
            Kind::Int | Kind::Amount => value::int(text).is_some(),
            _ => panic!("{column:?} is not part of these tests"),
        }
    }

    fn cut<'a>(text: &'a str, layout: &Layout) -> Vec<(usize, Piece<'a>)> {
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        ends.push(text.len());
        pieces(text, &ends, layout, &check)
    }

    fn record<'a>(fields: &[&'a str]) -> Piece<'a> {
        Piece::Record(fields.to_vec())
    }

    #[test]
    fn a_name_with_delimiters_is_what_the_columns_beside_it_leave() {
        let found = cut("1|a|b||c|FAILED|3", &layout("JobID|JobName|State|NNodes"));
        assert_eq!(found, [(1, record(&["1", "a|b||c", "FAILED", "3"]))]);
    }

    #[test]
    fn lines_are_joined_where_only_that_makes_records() {
        let found = cut(
            "1|two\nlines|of\ntext|FAILED|3\n2|x|COMPLETED|1",
            &layout("JobID|JobName|State|NNodes"),
        );
        let expected = [
            (3, record(&["1", "two\nlines|of\ntext", "FAILED", "3"])),
            (1, record(&["2", "x", "COMPLETED", "1"])),
        ];
        assert_eq!(found, expected);
        // What follows a name in the last column can only belong to it.
        let found = cut(
            "1|FAILED|two\nlines\n2|FAILED|x",
            &layout("JobID|State|JobName"),
        );
        assert_eq!(
            found,
            [
                (2, record(&["1", "FAILED", "two\nlines"])),
                (1, record(&["2", "FAILED", "x"]))
            ]
        );
    }

    #[test]
    fn what_can_be_cut_in_two_ways_fails() {
        // The name may be `a` or `a|b`.
        let found = cut("1|a|b|c|FAILED", &layout("JobID|JobName|Comment|State"));
        assert_eq!(found, [(1, Piece::Failed)]);
        // A state in a name.
        let found = cut(
            "1|a|FAILED|b|FAILED|c",
            &layout("JobID|JobName|State|Comment"),
        );
        assert_eq!(found, [(1, Piece::Failed)]);
    }

    #[test]
    fn two_lines_that_are_records_are_not_one_with_a_record_in_its_name() {
        let found = cut("a|b|FAILED|1\nc|d|FAILED|2", &layout("JobName|State|JobID"));
        assert_eq!(
            found,
            [
                (1, record(&["a|b", "FAILED", "1"])),
                (1, record(&["c|d", "FAILED", "2"]))
            ]
        );
    }

    /// Found by fuzzing: to try all ways would take hours.
    #[test]
    fn what_there_are_far_too_many_ways_for_fails() {
        let layout = layout("JobName|State|Comment|NNodes|WorkDir|JobID");
        for line in [
            "|".repeat(10_000),
            "|1|FAILED".repeat(60),
            "|FAILED|1".repeat(1000),
        ] {
            let text = vec![format!("a{line}|1"); MOST_LINES].join("\n");
            let found = cut(&text, &layout);
            assert!(found.iter().all(|(_, piece)| *piece == Piece::Failed));
            assert_eq!(found.len(), MOST_LINES);
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_part_of_the_name_before_it() {
        let found = cut("1|FAILED|x\n2|FAI", &layout("JobID|State|JobName"));
        assert_eq!(
            found,
            [(1, record(&["1", "FAILED", "x"])), (1, Piece::Failed)]
        );
        let found = cut("garbage\n1|FAILED|x", &layout("JobID|State|JobName"));
        assert_eq!(
            found,
            [(1, Piece::Failed), (1, record(&["1", "FAILED", "x"]))]
        );
    }

    #[test]
    fn with_a_delimiter_at_the_end_a_record_ends_there() {
        let layout = Layout {
            trailing: true,
            ..layout("JobID|State|JobName")
        };
        let found = cut("1|FAILED|a|b|\n2|FAILED|two\nlines|", &layout);
        assert_eq!(
            found,
            [
                (1, record(&["1", "FAILED", "a|b"])),
                (2, record(&["2", "FAILED", "two\nlines"]))
            ]
        );
    }
}
