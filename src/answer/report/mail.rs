//! What a mail says of a report: text, and simple HTML, for mail readers run no script and show no chart.

use crate::answer::answer::{Answer, Block, Table};
use crate::error::{Error, Result};
use askama::Template;

/// Rows of a table in a mail.
const ROWS: usize = 10;

#[derive(Template)]
#[template(path = "mail.html", config = "src/answer/report/askama.toml")]
struct Mail<'a> {
    title: &'a str,
    about: Vec<String>,
    parts: Vec<Part<'a>>,
}

/// A block of the answer, or of a section.
#[derive(Default)]
struct Part<'a> {
    title: &'a str,
    error: Option<&'a str>,
    findings: Vec<String>,
    table: Option<&'a Table>,
    notes: Vec<&'a str>,
}

impl Answer {
    /// Leaves the first rows of each table, as a mail has them.
    pub fn shorten_for_mail(&mut self) {
        fn shorten(block: &mut Block) {
            match block {
                Block::Table(table) => table.shorten(ROWS),
                Block::Section(section) => {
                    section
                        .table
                        .iter_mut()
                        .for_each(|table| table.shorten(ROWS));
                    section.blocks.iter_mut().for_each(shorten);
                }
                Block::Text(_) | Block::Findings(_) => {}
            }
        }
        self.blocks.iter_mut().for_each(shorten);
    }

    /// The title of the page.
    pub fn title(&self) -> &str {
        match self.blocks.first() {
            Some(Block::Text(text)) => &text.title,
            _ => &self.analysis,
        }
    }

    /// The text of a mail: what it is about, findings and tables.
    pub fn mail_text(&self) -> String {
        self.page()
    }

    /// The same as simple HTML.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be written as HTML.
    pub fn mail_html(&self) -> Result<String> {
        let mut parts: Vec<Part<'_>> = self.blocks.iter().flat_map(parts).collect();
        // It is the heading of the mail.
        if let (Some(Block::Text(_)), Some(first)) = (self.blocks.first(), parts.first_mut()) {
            first.title = "";
        }
        let mail = Mail {
            title: self.title(),
            about: self.about(),
            parts,
        };
        let bad = |e: askama::Error| Error::Invalid(format!("the mail cannot be written: {e}"));
        mail.render().map_err(bad)
    }
}

fn parts(block: &Block) -> Vec<Part<'_>> {
    let part = match block {
        Block::Text(text) => Part {
            title: &text.title,
            notes: text.lines.iter().map(String::as_str).collect(),
            ..Part::default()
        },
        Block::Table(table) => Part {
            title: &table.title,
            table: Some(table),
            ..Part::default()
        },
        Block::Findings(findings) => {
            let found = findings.findings.iter();
            let found = found
                .map(|found| format!("{}. {} {}", found.sentence, found.weight(), found.advice));
            Part {
                title: &findings.title,
                findings: found.collect(),
                notes: findings.remark.as_deref().into_iter().collect(),
                ..Part::default()
            }
        }
        Block::Section(section) => {
            let own = Part {
                title: &section.title,
                error: section.error.as_deref(),
                findings: section.findings.clone(),
                table: section.table.as_ref(),
                notes: section.notes.iter().map(String::as_str).collect(),
            };
            let below = section.blocks.iter().flat_map(parts);
            return std::iter::once(own).chain(below).collect();
        }
    };
    vec![part]
}
