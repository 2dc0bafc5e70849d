//! The INSERT statements of one table in a mysqldump, read block by block.

use super::sections::Section;
use super::values::PADDING;
use crate::error::Error;
use crate::source::Input;

/// Bytes that are read at a time.
const BLOCK: usize = 256 << 10;

/// A row is not longer: those of LMT have up to 200 bytes, comments in them 4 KiB.
pub(super) const ROW: usize = 16 << 10;

/// Columns of a table, at most.
pub(super) const COLUMNS: usize = 64;

/// What could not be read.
#[derive(Debug, Default)]
pub(super) struct Bad {
    /// Rows that are none.
    rows: u64,
    /// Where the first is, and why it is none.
    first: Option<(u64, &'static str)>,
    /// Why the file could not be read on.
    failed: Option<Error>,
}

impl Bad {
    /// Takes what another found later.
    pub(super) fn add(&mut self, later: Self) {
        self.rows += later.rows;
        self.first = self.first.or(later.first);
        self.failed = self.failed.take().or(later.failed);
    }

    /// What there is to say about it.
    pub(super) fn faults(self) -> impl Iterator<Item = String> {
        let rows = self.first.map(|(at, reason)| {
            let rows = self.rows;
            format!("{rows} rows are not rows of their table, the first at byte {at}: {reason}")
        });
        rows.into_iter().chain(self.failed.map(|e| e.to_string()))
    }

    fn note(&mut self, at: u64, reason: &'static str) {
        self.rows += 1;
        self.first = self.first.or(Some((at, reason)));
    }
}

/// The statements of a section.
///
/// [`Statements::next`] goes to the rows of a statement, [`Statements::row`] to each of them: it begins at `at` in `bytes`, and
/// all of it lies there if it is a row. Whoever reads it sets `at` behind it, or calls [`Statements::skip_row`].
pub(super) struct Statements<'a> {
    input: &'a Input,
    /// What is read and not used up, then zeros.
    pub bytes: Vec<u8>,
    /// Bytes before the zeros.
    pub length: usize,
    /// Where in `bytes` the next row or statement begins.
    pub at: usize,
    /// What could not be read so far.
    pub bad: Bad,
    /// Where in the file `bytes` ends.
    read: u64,
    end: u64,
}

impl<'a> Statements<'a> {
    /// Those of a section.
    pub(super) fn new(input: &'a Input, section: &Section) -> Self {
        Self {
            input,
            bytes: vec![],
            length: 0,
            at: 0,
            bad: Bad::default(),
            read: section.from,
            end: section.to,
        }
    }

    /// Goes to the first row of the next statement and gives the columns of its rows, which are `order` if it does not say;
    /// None if no statement follows.
    pub(super) fn next(&mut self, order: &[String]) -> Option<Vec<String>> {
        loop {
            self.fill();
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            if rest.starts_with(b"INSERT ") || rest.starts_with(b"REPLACE ") {
                let head = rest.get(..8192).unwrap_or(rest);
                match memchr::memmem::find(head, b"VALUES") {
                    None => self.bad.note(self.position(), "an INSERT without VALUES"),
                    Some(values) => {
                        let list = head.get(..values).unwrap_or_default();
                        let columns = match memchr::memchr(b'(', list) {
                            Some(from) => names(&list[from..]),
                            None => order.to_vec(),
                        };
                        self.at += values + "VALUES".len();
                        if (1..=COLUMNS).contains(&columns.len()) {
                            return Some(columns);
                        }
                        self.bad.note(self.position(), "an INSERT without columns");
                    }
                }
            }
            self.line();
        }
    }

    /// Goes to the parenthesis of the next row; false at the end of the statement.
    pub(super) fn row(&mut self) -> bool {
        self.fill();
        loop {
            match self.rest().first() {
                Some(b'(') => return true,
                Some(b',' | b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(b';') => {
                    self.at += 1;
                    self.line();
                    return false;
                }
                Some(_) => {
                    let reason = "neither a row nor the end of a statement";
                    self.bad.note(self.position(), reason);
                    self.at += 1;
                    self.seek_row();
                }
                None => {
                    self.fill();
                    if self.rest().is_empty() {
                        if self.bad.first.is_none() {
                            self.bad.note(self.position(), "the statement has no end");
                        }
                        return false;
                    }
                }
            }
        }
    }

    /// Counts the row that begins at `at` as none and goes to where another seems to begin.
    pub(super) fn skip_row(&mut self, reason: &'static str) {
        self.bad.note(self.position(), reason);
        self.at += 1;
        self.seek_row();
    }

    /// Position in the file.
    fn position(&self) -> u64 {
        self.read - (self.length - self.at.min(self.length)) as u64
    }

    /// Sees to it that [`ROW`] bytes lie behind `at`, or all that are left.
    fn fill(&mut self) {
        if self.length - self.at.min(self.length) >= ROW || self.read >= self.end {
            return;
        }
        self.bytes.truncate(self.length);
        self.bytes.drain(..self.at.min(self.length));
        self.at = 0;
        let n = (self.end - self.read).min(BLOCK as u64);
        match self.input.read_at(self.read, n as usize, &mut self.bytes) {
            Ok(()) => self.read += n,
            // What was read before stays.
            Err(e) => {
                self.bad.failed = Some(e);
                self.end = self.read;
            }
        }
        self.length = self.bytes.len();
        self.bytes.resize(self.length + PADDING, 0);
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..self.length).unwrap_or_default()
    }

    /// Goes behind the end of the line, as far as it is read.
    fn line(&mut self) {
        let rest = self.rest();
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |n| n + 1);
    }

    /// Goes on to where a row seems to begin or the statement to end, at most to the end of the section.
    fn seek_row(&mut self) {
        loop {
            self.fill();
            let rest = self.rest();
            if rest.is_empty() {
                return;
            }
            match memchr::memchr2(b'(', b';', rest) {
                Some(n) => {
                    self.at += n;
                    return;
                }
                None => self.at += rest.len(),
            }
        }
    }
}

/// The names of a list of columns.
fn names(list: &[u8]) -> Vec<String> {
    let list = String::from_utf8_lossy(list);
    let list = list.trim().trim_start_matches('(').trim_end_matches(')');
    let names = list.split(',').take(COLUMNS + 1);
    names
        .map(|name| name.trim().trim_matches('`').to_ascii_uppercase())
        .collect()
}
