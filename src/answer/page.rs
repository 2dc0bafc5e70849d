//! The page of an answer: text of [`WIDTH`] columns.

use super::answer::{Answer, Block, Finding, Findings, Section, Table};
use crate::text::amount::{counted, seconds, share};
use std::fmt::Write;

/// Columns of a page.
const WIDTH: usize = 100;

/// Columns of a path in a sentence; of a longer one the end is shown.
const LONG_PATH: usize = 60;

impl Answer {
    /// The page, with a line end after each line.
    pub fn page(&self) -> String {
        let mut page = String::new();
        let head = self.head();
        // Writing to a String cannot fail.
        let _ = self
            .blocks
            .iter()
            .enumerate()
            .try_for_each(|(at, block)| match at {
                0 => head.as_ref().unwrap_or(block).write(&mut page),
                _ => page.write_char('\n').and_then(|()| block.write(&mut page)),
            });
        page
    }
}

impl Block {
    fn write(&self, page: &mut String) -> std::fmt::Result {
        match self {
            Self::Text(text) => {
                writeln!(page, "{}", text.title)?;
                text.lines
                    .iter()
                    .try_for_each(|line| write_wrapped(page, "  ", line))
            }
            Self::Table(table) => table.write(page),
            Self::Findings(findings) => findings.write(page),
            Self::Section(section) => section.write(page),
        }
    }
}

impl Section {
    fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{}", self.title)?;
        let error = self.error.iter();
        let error = error.map(|why| format!("This section has no answer: {why}"));
        let lines = std::iter::once(self.why.clone()).chain(error);
        for line in lines.chain(self.findings.iter().map(|said| format!("* {said}"))) {
            write_wrapped(page, "  ", &line)?;
        }
        if let Some(table) = self.table.as_ref().filter(|table| !table.is_empty()) {
            table.write_rows(page)?;
        }
        for block in &self.blocks {
            writeln!(page)?;
            block.write(page)?;
        }
        let mut notes = self.notes.iter();
        notes.try_for_each(|note| write_wrapped(page, "  ", note))
    }
}

impl Table {
    /// Columns of numbers to the right, of texts to the left.
    fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{}", self.title)?;
        self.write_rows(page)
    }

    fn write_rows(&self, page: &mut String) -> std::fmt::Result {
        let rows = self.rows.iter();
        let is_text = |at: usize| {
            let mut rows = self.rows.iter();
            at == 0 && rows.len() > 0 && rows.all(|row| row[at].value.is_string())
                || at + 1 == self.columns.len()
                    && rows.all(|row| row[at].value.is_string() || row[at].value.is_null())
        };
        let headings = self.columns.iter().map(|column| column.heading.as_str());
        let lines = std::iter::once(headings.collect::<Vec<_>>())
            .chain(rows.map(|row| row.iter().map(|cell| cell.text.as_str()).collect()));
        let lines: Vec<Vec<&str>> = match self.is_empty() {
            true => vec![],
            false => lines.collect(),
        };
        let width = |at: usize| {
            let widths = lines.iter().map(|line| line[at].chars().count());
            widths.max().unwrap_or(0)
        };
        let columns: Vec<(usize, bool)> = (0..self.columns.len())
            .map(|at| (width(at), is_text(at)))
            .collect();
        let all: usize = columns.iter().map(|(width, _)| 2 + width).sum();
        let last = columns.last().map_or(0, |(width, _)| *width);
        // Paths are what is long.
        let room = last.saturating_sub(all.saturating_sub(WIDTH)).max(20);
        for line in &lines {
            let mut text = String::new();
            for (at, (cell, (width, is_text))) in line.iter().zip(&columns).enumerate() {
                match is_text {
                    true if at + 1 == columns.len() => write!(text, "  {}", shortened(cell, room))?,
                    true => write!(text, "  {cell:<width$}")?,
                    false => write!(text, "  {cell:>width$}")?,
                }
            }
            writeln!(page, "{}", text.trim_end())?;
        }
        self.notes
            .iter()
            .try_for_each(|note| write_wrapped(page, "  ", note))
    }
}

impl Findings {
    fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{}", self.title)?;
        let causes = self.findings.iter().filter(|finding| finding.is_cause);
        for (at, finding) in causes.enumerate() {
            let place = format!("  {}. ", at + 1);
            let indent = " ".repeat(place.len());
            write_wrapped(
                page,
                &place,
                &format!("{}. {}", finding.sentence, finding.weight()),
            )?;
            write_wrapped(page, &indent, &finding.advice)?;
            write_wrapped(page, &indent, &format!("No fault if: {}", finding.unless))?;
        }
        if let Some(remark) = &self.remark {
            write_wrapped(page, "  ", remark)?;
        }
        for finding in self.findings.iter().filter(|finding| !finding.is_cause) {
            let note = format!("note: {}. {}", finding.sentence, finding.weight());
            write_wrapped(page, "  ", &note)?;
        }
        match self.more {
            0 => Ok(()),
            more => writeln!(page, "  and {}", more_notes(more)),
        }
    }
}

/// `2 more notes (--long)`.
pub(super) fn more_notes(more: usize) -> String {
    let notes = counted(more as i64, "more note", "more notes");
    format!("{notes} (--long)")
}

impl Finding {
    /// What it touches and costs, and what it is known from.
    pub(super) fn weight(&self) -> String {
        let touches = self
            .io_share
            .map(|part| format!("Touches {} of the I/O time", share(part)));
        let saves = self
            .cost
            .map(|cost| format!("saves at most {} of a process", seconds(cost)));
        let by = format!("known by {}", self.known_by.words());
        let mut words: Vec<String> = touches.into_iter().chain(saves).chain([by]).collect();
        if let Some(first) = words[0].get(..1) {
            let upper = first.to_uppercase();
            words[0].replace_range(..1, &upper);
        }
        format!("{}.", words.join("; "))
    }
}

/// Writes words on lines of at most [`WIDTH`] columns, the first behind `before`, the others below where its words begin.
fn write_wrapped(page: &mut String, before: &str, words: &str) -> std::fmt::Result {
    let indent = before.chars().count();
    let mut line = before.to_string();
    let mut length = indent;
    for word in words.split(' ') {
        let word = match word.starts_with('/') {
            true => shortened(word, LONG_PATH),
            false => word.into(),
        };
        let word_length = word.chars().count();
        if length > indent && length + 1 + word_length > WIDTH {
            writeln!(page, "{}", line.trim_end())?;
            line = " ".repeat(indent);
            length = indent;
        }
        if length > indent {
            line.push(' ');
            length += 1;
        }
        line.push_str(&word);
        length += word_length;
    }
    writeln!(page, "{}", line.trim_end())
}

/// A path or name of at most so many columns: its end, behind `..`.
fn shortened(text: &str, columns: usize) -> String {
    let length = text.chars().count();
    if length <= columns || columns <= 2 {
        return text.into();
    }
    let end: String = text.chars().skip(length - (columns - 2)).collect();
    format!("..{end}")
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::answer;
    use super::*;

    #[test]
    fn the_page_has_a_line_between_blocks_and_aligned_columns() {
        let expected = "job 7\n  one process\n\n\
            Where the time went\n\
            \x20           bytes   bandwidth  file\n\
            \x20 read   2.00 KiB  1.00 KiB/s  /a\n\
            \x20 write       5 B           -  a file without a name\n\
            \x20 a note\n\n\
            Likely causes\n  1. one_ost it is. Touches 50 % of the I/O time; saves at most 1.50 s of a process; known by\n\
            \x20    counters.\n     Do another.\n     No fault if: It rains.\n\
            \x20 note: one_file it is. Known by windows only, the file may only have been open.\n\
            \x20 and 2 more notes (--long)\n";
        assert_eq!(answer().page(), expected);
    }

    #[test]
    fn words_are_wrapped_below_where_they_begin_and_paths_lose_their_beginning() {
        let mut page = String::new();
        write_wrapped(&mut page, "  1. ", &"word ".repeat(21)).unwrap();
        assert_eq!(
            page,
            format!("  1. {}\n     word word\n", "word ".repeat(19).trim())
        );
        assert_eq!(shortened("/a/long/path", 8), "..g/path");
        assert_eq!(shortened("/a/b", 8), "/a/b");
    }
}
