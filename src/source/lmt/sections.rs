//! Where the rows of each table lie in a mysqldump.
//!
//! A dump has its tables in the order of the alphabet: OST_DATA, by far the largest, stands before OST_INFO and TIMESTAMP_INFO,
//! without which its rows mean nothing. So a dump is looked through once for where its statements begin. That is quick: names
//! stand in backticks, and in the rows of the large tables there are none.
//!
//! A database begins with a `USE`, or with the header that mysqldump writes over each dump: several may be strung together.

use crate::error::{Error, Result};
use crate::source::Input;

/// The statements of one table that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Place among [`Sections::databases`].
    pub database: usize,
    /// The table.
    pub table: String,
    /// Whether it is the definition; else it is rows.
    pub definition: bool,
    /// Where its first statement begins.
    pub from: u64,
    /// Where the next section begins, or the file ends.
    pub to: u64,
}

/// All of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sections {
    /// Names of the databases, as far as they are said, in order; the first is that of what stands before any name.
    pub databases: Vec<Option<String>>,
    /// In order.
    pub sections: Vec<Section>,
}

/// Bytes that are looked through at a time.
const BLOCK: usize = 256 << 10;

/// A line that begins a statement or names a database is told by less.
const LINE: usize = 256;

/// What the line of a dump's header begins with that names its database.
const HEADER: &[u8] = b"-- Host: ";

/// Sections, at most: a dump of LMT has about 80, and mysqldump writes each table once.
const MOST: usize = 100_000;

/// Finds the sections of a dump.
///
/// # Errors
/// Those of [`Input::read_at`], and [`Error::Malformed`] if there are too many.
pub(super) fn find(input: &Input) -> Result<Sections> {
    let mut found = Sections {
        databases: vec![None],
        sections: vec![],
    };
    let (mut buffer, mut at) = (Vec::with_capacity(BLOCK + 2 * LINE), 0u64);
    // The part of the buffer that was looked through before, and is kept for the line that goes on behind it.
    let mut seen = 0;
    while at < input.len() {
        let n = (input.len() - at).min(BLOCK as u64);
        let base = at - buffer.len() as u64;
        input.read_at(at, n as usize, &mut buffer)?;
        at += n;
        // A name must lie in the buffer as a whole, unless the file ends.
        let limit = match at < input.len() {
            true => buffer.len() - LINE,
            false => buffer.len(),
        };
        for mark in memchr::memchr2_iter(b'`', b'-', &buffer[seen..limit]).map(|mark| seen + mark) {
            let (before, rest) = buffer.split_at(mark);
            if rest.starts_with(b"-") {
                if rest.starts_with(HEADER) && before.last().is_none_or(|b| *b == b'\n') {
                    found.begin(header_database(rest), base + mark as u64);
                }
            } else if let (Some(line), Some(name)) = (line_start(before), name(rest)) {
                found.take(&before[line..], name, base + line as u64);
            }
        }
        if found.sections.len() > MOST {
            return Err(Error::Malformed {
                path: input.path().to_path_buf(),
                region: "mysqldump".into(),
                at: Some(base),
                reason: format!("more than {MOST} changes from table to table"),
            });
        }
        let kept = limit.saturating_sub(LINE);
        seen = limit - kept;
        buffer.drain(..kept);
    }
    found.end(input.len());
    Ok(found)
}

impl Sections {
    /// Takes the beginning of a statement: what stands on its line before the first name, and that name.
    fn take(&mut self, words: &[u8], name: &[u8], at: u64) {
        let rows = [
            &b"INSERT INTO "[..],
            b"INSERT  IGNORE INTO ",
            b"INSERT IGNORE INTO ",
            b"REPLACE INTO ",
            b"REPLACE  INTO ",
        ]
        .contains(&words);
        let definition = words == b"CREATE TABLE " || words == b"CREATE TABLE IF NOT EXISTS ";
        let name = || String::from_utf8_lossy(name).into_owned();
        if words == b"USE " {
            self.begin(Some(name()), at);
        } else if rows || definition {
            let (table, database) = (name(), self.databases.len().saturating_sub(1));
            let goes_on = self.sections.last().is_some_and(|last| {
                last.table == table
                    && !last.definition
                    && !definition
                    && last.database == database
                    && last.to == u64::MAX
            });
            if !goes_on {
                self.end(at);
                self.sections.push(Section {
                    database,
                    table,
                    definition,
                    from: at,
                    to: u64::MAX,
                });
            }
        }
    }

    /// A database begins. One without a section was none: a header may stand before a `USE`.
    fn begin(&mut self, name: Option<String>, at: u64) {
        self.end(at);
        let last = self.databases.len().saturating_sub(1);
        if self.sections.last().is_none_or(|s| s.database != last) {
            self.databases.truncate(last);
        }
        self.databases.push(name);
    }

    fn end(&mut self, at: u64) {
        if let Some(last) = self.sections.last_mut().filter(|last| last.to == u64::MAX) {
            last.to = at;
        }
    }
}

/// Where the line begins that a text ends in, if it is near.
fn line_start(text: &[u8]) -> Option<usize> {
    let from = text.len().saturating_sub(32);
    match memchr::memrchr(b'\n', &text[from..]) {
        Some(newline) => Some(from + newline + 1),
        None => (from == 0).then_some(0),
    }
}

/// The database that a line of a header names, if it is one alone.
fn header_database(line: &[u8]) -> Option<String> {
    let line = line.get(..LINE).unwrap_or(line);
    let line = String::from_utf8_lossy(line.split(|b| *b == b'\n').next()?);
    let (_, name) = line.split_once("Database: ")?;
    Some(name.trim().to_string()).filter(|name| !name.is_empty())
}

/// The name in backticks that a text begins with.
fn name(text: &[u8]) -> Option<&[u8]> {
    let rest = text.get(1..text.len().min(LINE))?;
    rest.get(..memchr::memchr(b'`', rest)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &str) -> Vec<(usize, String, bool, u64, u64)> {
        let found = find(&Input::from_bytes("dump.sql", text.as_bytes().to_vec())).unwrap();
        found
            .sections
            .into_iter()
            .map(|s| (s.database, s.table, s.definition, s.from, s.to))
            .collect()
    }

    #[test]
    fn statements_of_one_table_are_one_section_wherever_the_blocks_are_cut() {
        let definition = "CREATE TABLE `OST_DATA` (\n  `OST_ID` int(11) NOT NULL,\n  KEY `INSERT INTO ` (`x`)\n);\n";
        let rows =
            "INSERT INTO `OST_DATA` VALUES\n(1,2),\n(3,4);\nINSERT INTO `OST_DATA` VALUES (5,6);\n";
        let other = "INSERT INTO `EVENT_DATA` VALUES (1,'INSERT INTO `OST_DATA` VALUES (1,2)');\n";
        for filler in (0..300).chain(BLOCK - 300..BLOCK + 10) {
            let filler = format!("-- {}\n", "x".repeat(filler));
            let text = format!("{filler}{definition}{rows}{other}");
            let (a, b) = (
                filler.len() as u64,
                (filler.len() + definition.len()) as u64,
            );
            let c = b + rows.len() as u64;
            assert_eq!(
                sections(&text),
                [
                    (0, "OST_DATA".to_string(), true, a, b),
                    (0, "OST_DATA".to_string(), false, b, c),
                    (0, "EVENT_DATA".to_string(), false, c, text.len() as u64),
                ],
                "{}",
                filler.len()
            );
        }
    }

    #[test]
    fn a_database_begins_where_it_is_used() {
        let text = "USE `filesystem_a`;\nINSERT INTO `T` VALUES (1);\nUSE `filesystem_b`;\nREPLACE INTO `T` (`a`) VALUES (1);\n";
        let found: Vec<_> = sections(text)
            .into_iter()
            .map(|(d, _, _, from, to)| (d, from, to))
            .collect();
        assert_eq!(found, [(0, 20, 48), (1, 68, 103)]);
    }

    #[test]
    fn a_database_begins_where_a_header_names_it_or_none() {
        let rows = "INSERT INTO `T` VALUES (1),(-1);\n-- Hosts\n";
        let head = |name: &str| format!("-- Host: db    Database: {name}\n");
        let text = format!(
            "{rows}{}{rows}{}USE `b`;\n{rows}{} -- Host: x    Database: d\n{rows}{}",
            head("a"),
            head(""),
            head(""),
            head("c\r"),
        );
        let input = Input::from_bytes("dump.sql", text.as_bytes().to_vec());
        let found = find(&input).unwrap();
        let names = [None, Some("a"), Some("b"), None, Some("c")];
        let names = names.map(|name: Option<&str>| name.map(str::to_string));
        assert_eq!(found.databases, names);
        let of: Vec<usize> = found.sections.iter().map(|s| s.database).collect();
        assert_eq!(of, [0, 1, 2, 3]);
    }
}
