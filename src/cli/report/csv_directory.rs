//! A directory of CSV files: one for each section, with all rows and columns of its answer.
//!
//! Values are those of `iolode query NAME --format csv`, not the words of the page. The directory is made under another name beside its place and put there once
//! it is complete. One that is there is exchanged for it if it holds nothing but what a report has written.

use crate::answer::answer::{Answer, Block, Section, Table};
use crate::cli::output::format;
use crate::cli::output::times::in_zone;
use crate::cli::output::writer::{Style, as_schema};
use crate::cli::shell::OutFile;
use crate::error::Error;
use crate::text::shown_path;
use anyhow::{Context, bail};
use chrono_tz::Tz;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;
use std::fmt::Write;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What the sections found, in words.
const FINDINGS: &str = "findings.txt";

/// All of the answer, with its period, versions of lakes and SQL.
const REPORT: &str = "report.json";

/// A directory that is there under its name once it is complete.
pub(super) struct CsvDirectory {
    path: PathBuf,
    /// Its name until then.
    temporary: TempDir,
}

impl CsvDirectory {
    /// A directory to write to. One of that name stays as it is until the new one is complete.
    ///
    /// # Errors
    /// If it cannot be made, or if there is one of that name that holds something else than a report.
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let whole = std::path::absolute(path).map_err(|e| Error::io(path, "cannot create", e))?;
        let Some(name) = whole.file_name() else {
            bail!(
                "{}: cannot be replaced; name a directory in it",
                shown_path(path)
            );
        };
        check_replaceable(path)?;
        let (mut prefix, parent) = (name.to_os_string(), whole.parent());
        prefix.push(".");
        let temporary = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".partial")
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(parent.unwrap_or(&whole));
        let temporary = temporary.map_err(|e| Error::io(path, "cannot create", e))?;
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
        })
    }

    /// What writes all rows of a section.
    pub(super) fn rows_writer(
        &self,
        zone: Tz,
    ) -> impl FnMut(usize, &Section, &RecordBatch) -> Result<(), Error> + Send + use<> {
        let directory = self.temporary.path().to_path_buf();
        move |number, section, rows| {
            let local = in_zone(&rows.schema(), zone);
            as_schema(rows, &local)
                .and_then(|rows| write(&directory, number, &[&section.title], &rows))
                .map_err(|error| Error::Invalid(format!("{error:#}")))
        }
    }

    /// Writes what else there is of the answer, and puts the directory where it belongs.
    ///
    /// # Errors
    /// If it cannot be written; one that was there stays as it was.
    pub(super) fn finish(self, answer: &Answer) -> anyhow::Result<()> {
        for (number, block) in answer.blocks.iter().enumerate() {
            match block {
                Block::Table(table) => self.table(number, &[&table.title], table)?,
                Block::Section(section) => {
                    for block in &section.blocks {
                        if let Block::Table(table) = block {
                            self.table(number, &[&section.title, &table.title], table)?;
                        }
                    }
                }
                Block::Text(_) | Block::Findings(_) => {}
            }
        }
        let json = serde_json::to_string_pretty(answer)? + "\n";
        for (name, text) in [(FINDINGS, findings(answer)), (REPORT, json)] {
            OutFile::create(&self.temporary.path().join(name))?.write(text.as_bytes())?;
        }
        check_replaceable(&self.path)?;
        self.put()
    }

    fn table(&self, number: usize, titles: &[&str], table: &Table) -> anyhow::Result<()> {
        write(self.temporary.path(), number, titles, &batch(table)?)
    }

    fn put(self) -> anyhow::Result<()> {
        let cannot = |e: std::io::Error| Error::io(&self.path, "cannot write", e);
        let temporary = self.temporary.path();
        if !self.path.exists() {
            std::fs::rename(temporary, &self.path).map_err(cannot)?;
            let _ = self.temporary.keep();
            return Ok(());
        }
        // In one step: nobody sees a directory that is not complete. The old one is the temporary one then, which is removed.
        if renameat_with(CWD, temporary, CWD, &self.path, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
        // A file system that cannot exchange, such as NFS.
        let old = temporary.with_extension("old");
        std::fs::rename(&self.path, &old).map_err(cannot)?;
        let put = std::fs::rename(temporary, &self.path);
        if put.is_err() {
            let _ = std::fs::rename(&old, &self.path);
        }
        put.map_err(cannot)?;
        let _ = self.temporary.keep();
        Ok(std::fs::remove_dir_all(&old).map_err(|e| Error::io(&old, "cannot remove", e))?)
    }
}

/// Refuses what is not to be replaced: a file, and a directory with something else than a report in it.
pub(super) fn check_replaceable(path: &Path) -> anyhow::Result<()> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io(path, "cannot be replaced by a directory", e).into()),
    };
    let mut names = vec![];
    for entry in entries {
        let entry = entry.map_err(|e| Error::io(path, "cannot read", e))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    let is_of_report = |name: &String| {
        let number = name.split('-').next().unwrap_or_default();
        let is_section = number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit());
        is_section && name.ends_with(".csv") || [FINDINGS, REPORT].contains(&name.as_str())
    };
    let has_report = names.is_empty() || names.iter().any(|name| name == REPORT);
    match names.iter().find(|name| !is_of_report(name)) {
        Some(other) => bail!(
            "{}: holds {other}, which is of no report; name another directory",
            shown_path(path)
        ),
        None if !has_report => bail!(
            "{}: holds files and no {REPORT}, so it is of no report; name another directory",
            shown_path(path)
        ),
        None => Ok(()),
    }
}

fn write(
    directory: &Path,
    number: usize,
    titles: &[&str],
    rows: &RecordBatch,
) -> anyhow::Result<()> {
    // The tables of each log of a job have the same titles.
    let mut names = (1..).map(|copy| directory.join(file_name(number, titles, copy)));
    let path = names.find(|path| !path.exists());
    let path = path.with_context(|| format!("{}: no name left", shown_path(directory)))?;
    let csv = format("csv").map_err(Error::Invalid)?;
    OutFile::create(&path)?.fill(|file| csv.write(file, rows, Style::default()).map(drop))
}

/// `02-load-of-the-osts.csv`, and of another of the same title `02-load-of-the-osts-2.csv`.
fn file_name(number: usize, titles: &[&str], copy: usize) -> String {
    let mut name = format!("{number:02}");
    for title in titles {
        let words = title.split(|c: char| !c.is_alphanumeric());
        for word in words.filter(|word| !word.is_empty()) {
            // File systems take 255 bytes.
            if name.len() + word.len() > 120 {
                break;
            }
            name.push('-');
            name.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    match copy {
        1 => name + ".csv",
        copy => format!("{name}-{copy}.csv"),
    }
}

/// A table of an analysis as rows: its values as text.
fn batch(table: &Table) -> anyhow::Result<RecordBatch> {
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let mut columns: Vec<Vec<Option<String>>> = vec![vec![]; table.columns.len()];
    for row in table.values() {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(text(value));
        }
    }
    let fields = table.columns.iter();
    let fields = fields.map(|column| Field::new(column.name.clone(), DataType::Utf8, true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let columns = columns.into_iter();
    let columns = columns.map(|column| Arc::new(StringArray::from(column)) as ArrayRef);
    Ok(RecordBatch::try_new(Arc::new(schema), columns.collect())?)
}

/// What each section found, without its rows.
fn findings(answer: &Answer) -> String {
    let mut text = String::new();
    let head = answer.head();
    for (at, block) in answer.blocks.iter().enumerate() {
        let block = head.as_ref().filter(|_| at == 0).unwrap_or(block);
        // Writing to a String cannot fail.
        let _ = write_findings(block, &mut text);
    }
    text
}

fn write_findings(block: &Block, text: &mut String) -> std::fmt::Result {
    let (title, lines, blocks): (_, Vec<&str>, &[Block]) = match block {
        Block::Text(said) => (&said.title, texts(&said.lines), &[]),
        Block::Section(section) => {
            if let Some(why) = &section.error {
                return writeln!(
                    text,
                    "\n{}\n  This section has no answer: {why}",
                    section.title
                );
            }
            let lines = texts(&section.findings).into_iter();
            let lines = lines.chain(texts(&section.notes));
            (&section.title, lines.collect(), &section.blocks)
        }
        Block::Findings(found) => {
            let lines = found.findings.iter().map(|found| found.sentence.as_str());
            (
                &found.title,
                lines.chain(found.remark.as_deref()).collect(),
                &[],
            )
        }
        Block::Table(_) => return Ok(()),
    };
    if !text.is_empty() {
        writeln!(text)?;
    }
    writeln!(text, "{title}")?;
    lines
        .iter()
        .try_for_each(|line| writeln!(text, "  {line}"))?;
    let mut blocks = blocks.iter();
    blocks.try_for_each(|block| write_findings(block, text))
}

fn texts(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_section_in_letters_that_every_shell_takes() {
        assert_eq!(
            file_name(2, &["Load of the OSTs"], 1),
            "02-load-of-the-osts.csv"
        );
        assert_eq!(file_name(11, &["a/../b", "Größe"], 2), "11-a-b-größe-2.csv");
        assert_eq!(file_name(1, &["!"], 1), "01.csv");
        assert!(file_name(1, &["word ".repeat(90).as_str()], 1).len() < 130);
    }

    #[test]
    fn what_is_of_no_report_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let why = |path: &Path| check_replaceable(path).unwrap_err().to_string();
        assert!(check_replaceable(&path).is_ok());
        std::fs::create_dir(&path).unwrap();
        assert!(check_replaceable(&path).is_ok());
        std::fs::write(path.join("01-a.csv"), "").unwrap();
        assert!(why(&path).contains("no report.json"));
        std::fs::write(path.join("report.json"), "").unwrap();
        assert!(check_replaceable(&path).is_ok());
        std::fs::write(path.join("mine.csv"), "").unwrap();
        assert!(why(&path).contains("holds mine.csv"));
        assert!(why(&path.join("mine.csv")).contains("cannot be replaced by a directory"));
    }
}
