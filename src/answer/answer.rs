//! An answer that is more than one table: titled blocks, in the order of a page.
//!
//! An analysis makes an [`Answer`]; its page ([`Answer::page`]), its Markdown ([`Answer::markdown`]) and its JSON ([`serde::Serialize`]) are three views
//! of it, so that what a person reads and what a program reads cannot differ.

use super::chart::Figure;
use crate::engine::LakeVersion;
use crate::engine::rules::Severity;
use crate::text::amount::{count, rate, seconds, share, size};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// Rows of a list that a page shows; the rest is one row.
pub const SHOWN: usize = 5;

/// What an analysis found.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Name of the analysis.
    pub analysis: Cow<'static, str>,
    /// The value of each parameter.
    pub parameters: Vec<Parameter>,
    /// The lakes that were asked, each at one version for all of the answer.
    pub lakes: Vec<LakeVersion>,
    /// What is looked at; None where the logs have no time.
    pub period: Option<Period>,
    /// The zone of its times where they have no offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Tables and views that the answer rests on.
    pub rests_on: Vec<&'static str>,
    /// Who described the method.
    pub citation: &'static str,
    /// The numbers that the blocks are made of.
    pub facts: Value,
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A parameter and its value; ids are texts, for JSON's numbers do not hold them.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: Cow<'static, str>,
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
    /// A question of a report.
    Section(Box<Section>),
}

/// A question of a report: what was found, a chart, and the rows.
#[derive(Debug, Default, Serialize)]
pub struct Section {
    /// The title.
    pub title: String,
    /// Why it is asked.
    pub why: String,
    /// What the rows say, in words.
    pub findings: Vec<String>,
    /// The chart; None if the question has none, or no rows.
    pub chart: Option<Figure>,
    /// The rows.
    pub table: Option<Table>,
    /// What an analysis found.
    pub blocks: Vec<Block>,
    /// The statement that gave the rows.
    pub sql: String,
    /// What was binned or left out, and why there are no rows.
    pub notes: Vec<String>,
    /// Why it has no answer.
    pub error: Option<String>,
}

/// Sentences, each on a line.
#[derive(Debug, Serialize)]
pub struct Text {
    /// The title; the first block of a page is its heading.
    pub title: String,
    /// The sentences.
    pub lines: Vec<String>,
}

/// A table with what is said below it. In JSON its rows are objects by the names of the columns.
#[derive(Debug)]
pub struct Table {
    /// The title.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for each column.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Sentences below the table.
    pub notes: Vec<String>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its name in JSON.
    pub name: Cow<'static, str>,
    /// Its name on the page.
    #[serde(skip)]
    pub heading: String,
    /// The unit of its values in JSON; empty where there is none.
    pub unit: Cow<'static, str>,
    /// One line: what a value means.
    pub doc: Cow<'static, str>,
}

/// A value, and how a person reads it.
#[derive(Clone, Debug)]
pub struct Cell {
    pub(super) value: Value,
    pub(super) text: String,
}

/// What is the matter, the weightiest first.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The title.
    pub title: String,
    /// The findings: causes, then notes.
    pub findings: Vec<Finding>,
    /// What is said before them: why there is no cause, or that little can be saved.
    pub remark: Option<String>,
    /// How many notes were left out.
    pub more: usize,
}

impl Findings {
    /// Leaves out all notes but the first of them.
    pub(super) fn shorten(&mut self, notes: usize) {
        let causes = self.findings.iter().filter(|finding| finding.is_cause);
        let keep = causes.count() + notes;
        self.more = self.findings.len().saturating_sub(keep);
        self.findings.truncate(keep);
    }
}

/// A cause or a note, with the numbers that it rests on.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Its rule, such as `one_ost`.
    pub rule: String,
    /// read or write; None where it is about neither.
    pub direction: Option<String>,
    /// critical or warning.
    pub severity: Severity,
    /// Whether it is a cause; else it is a note: it touches little of the I/O time, or holds by windows alone.
    pub is_cause: bool,
    /// The finding in words.
    pub sentence: String,
    /// What to do about it.
    pub advice: String,
    /// What would show that it is no fault.
    pub unless: String,
    /// What it is known from.
    pub known_by: KnownBy,
    /// Seconds that can be saved at most: of the process with most of it. By these findings are ordered.
    pub cost: Option<f64>,
    /// Part of the job's I/O time that it touches.
    pub io_share: Option<f64>,
    /// The numbers behind it.
    pub evidence: Value,
}

/// What a finding is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// The counters of files.
    Counters,
    /// How files lie in time, by windows and by busy times.
    Intervals,
    /// How files lie in time by windows alone; a file may only have been open.
    Windows,
    /// How files lie in time by busy times alone; by windows other files hide it.
    BusyTimes,
    /// What LMT saw on the OSTs or metadata servers.
    Lmt,
    /// Nodes by Slurm, and the counters of the jobs on them.
    Slurm,
    /// Files of other jobs and logs.
    Comparison,
}

impl KnownBy {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Counters => "counters",
            Self::Intervals => "windows and busy times",
            Self::Windows => "windows only, the file may only have been open",
            Self::BusyTimes => "busy times only, by windows other files hide it",
            Self::Lmt => "LMT",
            Self::Slurm => "Slurm and the counters of the other jobs",
            Self::Comparison => "comparison with other files",
        }
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
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: vec![],
            notes: vec![],
        }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.title);
        self.rows.push(cells);
    }

    /// Leaves out all rows but the first, and says so.
    pub fn shorten(&mut self, rows: usize) {
        let all = self.rows.len();
        if all > rows {
            self.rows.truncate(rows);
            let note = format!("The first {rows} rows; the page has {all}.");
            self.notes.insert(0, note);
        }
    }

    /// The values of its rows, each in the order of the columns.
    pub fn values(&self) -> impl Iterator<Item = impl Iterator<Item = &Value>> {
        self.rows
            .iter()
            .map(|row| row.iter().map(|cell| &cell.value))
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Of each column whether it has a number.
    pub(super) fn holds_numbers(&self) -> Vec<bool> {
        let holds = |at: usize| self.rows.iter().any(|row| row[at].value.is_number());
        (0..self.columns.len()).map(holds).collect()
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Column {
    /// A column of that name in JSON, and another on the page.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        heading: impl Into<String>,
        unit: impl Into<Cow<'static, str>>,
        doc: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            heading: heading.into(),
            unit: unit.into(),
            doc: doc.into(),
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

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut table = to.serialize_struct("Table", 4)?;
        table.serialize_field("title", &self.title)?;
        table.serialize_field("columns", &self.columns)?;
        table.serialize_field("rows", &Objects(self))?;
        table.serialize_field("notes", &self.notes)?;
        table.end()
    }
}

/// Each row of a table as an object by the names of the columns.
struct Objects<'a>(&'a Table);

impl Serialize for Objects<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.len()))?;
        for row in &self.0.rows {
            list.serialize_element(&Object(&self.0.columns, row))?;
        }
        list.end()
    }
}

struct Object<'a>(&'a [Column], &'a [Cell]);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            object.serialize_entry(&column.name, &cell.value)?;
        }
        object.end()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub(in crate::answer) fn answer() -> Answer {
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
        let finding = |rule: &str, is_cause| Finding {
            rule: rule.into(),
            direction: Some("read".into()),
            sentence: format!("{rule} it is"),
            severity: Severity::Critical,
            is_cause,
            advice: "Do another.".into(),
            unless: "It rains.".into(),
            known_by: KnownBy::Counters,
            cost: Some(1.5),
            io_share: Some(0.5),
            evidence: json!({"files": 1}),
        };
        Answer {
            analysis: "example".into(),
            parameters: vec![Parameter {
                name: "job".into(),
                value: "7".into(),
            }],
            lakes: vec![],
            period: None,
            zone: None,
            rests_on: vec!["darshan_log"],
            citation: "",
            facts: Value::Null,
            blocks: vec![
                Block::text("job 7", vec!["one process".into()]),
                Block::Table(table),
                Block::Findings(Findings {
                    title: "Likely causes".into(),
                    findings: vec![
                        finding("one_ost", true),
                        Finding {
                            cost: None,
                            io_share: None,
                            known_by: KnownBy::Windows,
                            ..finding("one_file", false)
                        },
                    ],
                    remark: None,
                    more: 2,
                }),
            ],
        }
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
        assert_eq!(json["blocks"][2]["findings"][0]["is_cause"], true);
        assert_eq!(json["blocks"][2]["findings"][1]["known_by"], "windows");
        assert_eq!(json["parameters"][0], json!({"name": "job", "value": "7"}));
    }
}
