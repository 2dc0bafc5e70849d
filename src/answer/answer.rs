//! An answer that is more than one table: titled blocks, in the order of a page.
//!
//! An analysis makes an [`Answer`]; its page ([`Answer::page`]) and its JSON ([`serde::Serialize`]) are two views of it, so that what a person reads
//! and what a program reads cannot differ.

use crate::engine::LakeVersion;
use crate::text::amount::{count, rate, seconds, share, size};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use std::fmt::Write;

/// Rows of a list that a page shows; the rest is one row.
pub const SHOWN: usize = 5;

/// What an analysis found.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Name of the analysis.
    pub analysis: &'static str,
    /// The value of each parameter.
    pub parameters: Vec<Parameter>,
    /// The lakes that were asked, each at one version for all of the answer.
    pub lakes: Vec<LakeVersion>,
    /// What is looked at; None where the logs have no time.
    pub period: Option<Period>,
    /// Tables and views that the answer rests on.
    pub rests_on: &'static [&'static str],
    /// Who described the method.
    pub citation: &'static str,
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A parameter and its value; ids are texts, for JSON's numbers do not hold them.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// From the first instant to the last, UTC, as RFC 3339.
#[derive(Debug, Serialize)]
pub struct Period {
    /// The first.
    pub from: String,
    /// The last.
    pub to: String,
}

/// A part of an answer.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// Sentences.
    Text(Text),
    /// A table.
    Table(Table),
    /// What is the matter, the weightiest first.
    Findings(Findings),
}

/// Sentences, each on a line.
#[derive(Debug, Serialize)]
pub struct Text {
    /// The title; the first block of a page is its heading.
    pub title: String,
    /// The sentences.
    pub lines: Vec<String>,
}

/// A table with what is said below it.
#[derive(Debug, Serialize)]
pub struct Table {
    /// The title.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for each column.
    #[serde(serialize_with = "objects")]
    rows: Rows,
    /// Sentences below the table.
    pub notes: Vec<String>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name on the page.
    #[serde(skip)]
    pub heading: String,
    /// The unit of its values in JSON; empty where there is none.
    pub unit: &'static str,
    /// One line: what a value means.
    pub doc: &'static str,
}

/// A value, and how a person reads it.
#[derive(Clone, Debug)]
pub struct Cell {
    value: Value,
    text: String,
}

#[derive(Debug)]
struct Rows(Vec<(Vec<&'static str>, Vec<Cell>)>);

/// What is the matter, the weightiest first.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The title.
    pub title: String,
    /// The findings.
    pub findings: Vec<Finding>,
    /// What is said where there are none that hold.
    pub otherwise: Option<String>,
}

/// A cause or a note, with the numbers that it rests on.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Its rule, such as `one_ost`.
    pub rule: String,
    /// read or write; None where it is about neither.
    pub direction: Option<String>,
    /// The finding in words.
    pub sentence: String,
    /// What to do about it.
    pub advice: String,
    /// How certain it is.
    pub holds: Holds,
    /// Seconds that it explains: by these findings are ordered.
    pub weight: f64,
    /// The numbers behind it.
    pub evidence: Value,
}

/// By which kinds of interval a finding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// By all.
    Certain,
    /// By windows alone; the file may only have been open.
    ByWindows,
    /// By busy times alone; by windows other files hide it.
    ByBusyTimes,
}

impl Answer {
    /// The page, with a line end after each line.
    pub fn page(&self) -> String {
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = self
            .blocks
            .iter()
            .enumerate()
            .try_for_each(|(at, block)| match at {
                0 => block.write(&mut page),
                _ => page.write_char('\n').and_then(|()| block.write(&mut page)),
            });
        page
    }
}

impl Block {
    /// Sentences under a title.
    pub fn text(title: impl Into<String>, lines: Vec<String>) -> Self {
        Self::Text(Text {
            title: title.into(),
            lines,
        })
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        match self {
            Self::Text(text) => {
                writeln!(page, "{}", text.title)?;
                text.lines
                    .iter()
                    .try_for_each(|line| writeln!(page, "  {line}"))
            }
            Self::Table(table) => table.write(page),
            Self::Findings(findings) => findings.write(page),
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: Rows(vec![]),
            notes: vec![],
        }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.title);
        let names = self.columns.iter().map(|column| column.name).collect();
        self.rows.0.push((names, cells));
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.0.is_empty()
    }

    /// Columns of numbers to the right, of texts to the left.
    fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{}", self.title)?;
        let rows = self.rows.0.iter();
        let is_text = |at: usize| {
            let mut rows = self.rows.0.iter();
            at == 0 && rows.len() > 0 && rows.all(|(_, row)| row[at].value.is_string())
                || at + 1 == self.columns.len()
                    && rows.all(|(_, row)| row[at].value.is_string() || row[at].value.is_null())
        };
        let headings = self.columns.iter().map(|column| column.heading.as_str());
        let lines = std::iter::once(headings.collect::<Vec<_>>())
            .chain(rows.map(|(_, row)| row.iter().map(|cell| cell.text.as_str()).collect()));
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
        for line in &lines {
            let mut text = String::new();
            for (cell, (width, is_text)) in line.iter().zip(&columns) {
                match is_text {
                    true => write!(text, "  {cell:<width$}")?,
                    false => write!(text, "  {cell:>width$}")?,
                }
            }
            writeln!(page, "{}", text.trim_end())?;
        }
        self.notes
            .iter()
            .try_for_each(|note| writeln!(page, "  {note}"))
    }
}

impl Findings {
    fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{}", self.title)?;
        let of = |holds: Holds| {
            let all = self.findings.iter();
            all.filter(move |finding| finding.holds == holds)
        };
        for (at, finding) in of(Holds::Certain).enumerate() {
            writeln!(page, "  {}. {}", at + 1, finding.sentence)?;
            writeln!(page, "     {}", finding.advice)?;
        }
        if let Some(otherwise) = &self.otherwise {
            writeln!(page, "  {otherwise}")?;
        }
        for (holds, why) in [
            (Holds::ByWindows, "the file may only have been open"),
            (Holds::ByBusyTimes, "by busy time only"),
        ] {
            for finding in of(holds) {
                writeln!(page, "  possible ({why}): {}", finding.sentence)?;
            }
        }
        Ok(())
    }
}

impl Column {
    /// A column of that name in JSON, and another on the page.
    pub fn new(
        name: &'static str,
        heading: impl Into<String>,
        unit: &'static str,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            heading: heading.into(),
            unit,
            doc,
        }
    }
}

impl Cell {
    /// A text; `otherwise` on the page if there is none.
    pub fn text(text: Option<&str>, otherwise: &str) -> Self {
        Self {
            value: text.into(),
            text: text.unwrap_or(otherwise).into(),
        }
    }

    /// Bytes.
    pub fn size(bytes: i64) -> Self {
        Self {
            value: bytes.into(),
            text: size(bytes.max(0) as u64),
        }
    }

    /// A number of things.
    pub fn count(n: i64) -> Self {
        Self {
            value: n.into(),
            text: count(n.max(0) as u64),
        }
    }

    /// Seconds.
    pub fn seconds(s: f64) -> Self {
        Self::of(Some(s), seconds)
    }

    /// A part of a whole.
    pub fn share(part: Option<f64>) -> Self {
        Self::of(part, share)
    }

    /// Bytes per second.
    pub fn rate(per_second: Option<f64>) -> Self {
        Self::of(per_second, rate)
    }

    /// A number, shown in a way of its own; `-` on the page if there is none.
    pub fn of(value: Option<f64>, shown: impl Fn(f64) -> String) -> Self {
        Self {
            value: value.into(),
            text: value.map_or("-".into(), shown),
        }
    }
}

/// Each row as an object by the names of the columns.
fn objects<S: Serializer>(rows: &Rows, to: S) -> Result<S::Ok, S::Error> {
    struct Object<'a>(&'a [&'static str], &'a [Cell]);

    impl Serialize for Object<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut object = to.serialize_map(Some(self.0.len()))?;
            for (name, cell) in self.0.iter().zip(self.1) {
                object.serialize_entry(name, &cell.value)?;
            }
            object.end()
        }
    }

    let mut list = to.serialize_seq(Some(rows.0.len()))?;
    for (names, cells) in &rows.0 {
        list.serialize_element(&Object(names, cells))?;
    }
    list.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer() -> Answer {
        let mut table = Table::new(
            "Where the time went",
            vec![
                Column::new("direction", "", "", "read or write"),
                Column::new("bytes", "bytes", "B", "Bytes moved"),
                Column::new("bw", "bandwidth", "B/s", "Bytes per second"),
                Column::new("path", "file", "", "The first file"),
            ],
        );
        let row = |direction, bytes, bw, path| {
            vec![
                Cell::text(Some(direction), ""),
                Cell::size(bytes),
                Cell::rate(bw),
                Cell::text(path, "a file without a name"),
            ]
        };
        table.push(row("read", 2048, Some(1024.0), Some("/a")));
        table.push(row("write", 5, None, None));
        table.notes.push("a note".into());
        let finding = |rule: &str, holds| Finding {
            rule: rule.into(),
            direction: Some("read".into()),
            sentence: format!("{rule} it is."),
            advice: "Do another.".into(),
            holds,
            weight: 1.5,
            evidence: json!({"files": 1}),
        };
        Answer {
            analysis: "example",
            parameters: vec![Parameter {
                name: "job",
                value: "7".into(),
            }],
            lakes: vec![],
            period: None,
            rests_on: &["darshan_log"],
            citation: "",
            blocks: vec![
                Block::text("job 7", vec!["one process".into()]),
                Block::Table(table),
                Block::Findings(Findings {
                    title: "Likely causes".into(),
                    findings: vec![
                        finding("one_ost", Holds::Certain),
                        finding("one_file", Holds::ByWindows),
                    ],
                    otherwise: None,
                }),
            ],
        }
    }

    #[test]
    fn the_page_has_a_line_between_blocks_and_aligned_columns() {
        let expected = "job 7\n  one process\n\n\
            Where the time went\n\
            \x20           bytes   bandwidth  file\n\
            \x20 read   2.00 KiB  1.00 KiB/s  /a\n\
            \x20 write       5 B           -  a file without a name\n\
            \x20 a note\n\n\
            Likely causes\n  1. one_ost it is.\n     Do another.\n  possible (the file may only have been open): one_file it is.\n";
        assert_eq!(answer().page(), expected);
    }

    #[test]
    fn json_has_the_values_and_not_what_a_person_reads() {
        let json = serde_json::to_value(answer()).unwrap();
        assert_eq!(json["blocks"][1]["kind"], "table");
        assert_eq!(
            json["blocks"][1]["rows"],
            json!([{"direction": "read", "bytes": 2048, "bw": 1024.0, "path": "/a"}, {"direction": "write", "bytes": 5, "bw": null, "path": null}])
        );
        assert_eq!(json["blocks"][1]["columns"][1]["unit"], "B");
        assert_eq!(json["blocks"][2]["findings"][0]["holds"], "certain");
        assert_eq!(json["blocks"][2]["findings"][1]["holds"], "by_windows");
        assert_eq!(json["parameters"][0], json!({"name": "job", "value": "7"}));
    }
}
