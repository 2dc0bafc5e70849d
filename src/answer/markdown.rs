//! An answer as Markdown, for tickets and mails.

use super::answer::{Answer, Block, Findings, Section, Table, Text};
use super::page::more_notes;
use std::fmt::Write;

impl Answer {
    /// The page as Markdown: a heading for each block, tables as GitHub and GitLab read them.
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        let head = self.head();
        // Writing to a String cannot fail.
        let _ = self
            .blocks
            .iter()
            .enumerate()
            .try_for_each(|(at, block)| match at {
                0 => head.as_ref().unwrap_or(block).markdown("#", &mut page),
                _ => block.markdown("\n##", &mut page),
            });
        page
    }
}

impl Block {
    fn markdown(&self, level: &str, page: &mut String) -> std::fmt::Result {
        match self {
            Self::Text(text) => text.markdown(level, page),
            Self::Table(table) => table.markdown(level, page),
            Self::Findings(findings) => findings.markdown(level, page),
            Self::Section(section) => section.markdown(level, page),
        }
    }
}

impl Text {
    fn markdown(&self, level: &str, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{level} {}\n", escaped(&self.title))?;
        list(&self.lines, page)
    }
}

impl Table {
    fn markdown(&self, level: &str, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{level} {}\n", escaped(&self.title))?;
        self.rows_as_markdown(page)
    }

    fn rows_as_markdown(&self, page: &mut String) -> std::fmt::Result {
        if !self.is_empty() {
            let headings = self.columns.iter().map(|column| column.heading.as_str());
            row(headings, page)?;
            let numbers = |at: usize| self.rows.iter().any(|row| row[at].value.is_number());
            let rules = (0..self.columns.len()).map(|at| match numbers(at) {
                true => "---:",
                false => "---",
            });
            writeln!(page, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
            for cells in &self.rows {
                row(cells.iter().map(|cell| cell.text.as_str()), page)?;
            }
            if !self.notes.is_empty() {
                writeln!(page)?;
            }
        }
        list(&self.notes, page)
    }
}

impl Section {
    fn markdown(&self, level: &str, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{level} {}\n", escaped(&self.title))?;
        writeln!(page, "{}\n", escaped(&self.why))?;
        if let Some(why) = &self.error {
            writeln!(page, "This section has no answer: {}\n", escaped(why))?;
        }
        list(&self.findings, page)?;
        if let Some(table) = self.table.as_ref().filter(|table| !table.is_empty()) {
            writeln!(page)?;
            table.rows_as_markdown(page)?;
        }
        for block in &self.blocks {
            block.markdown("\n###", page)?;
        }
        if !self.notes.is_empty() {
            writeln!(page)?;
        }
        list(&self.notes, page)
    }
}

impl Findings {
    fn markdown(&self, level: &str, page: &mut String) -> std::fmt::Result {
        writeln!(page, "{level} {}\n", escaped(&self.title))?;
        let causes = self.findings.iter().filter(|finding| finding.is_cause);
        for (at, finding) in causes.enumerate() {
            writeln!(
                page,
                "{}. **{}.** {}",
                at + 1,
                escaped(&finding.sentence),
                finding.weight()
            )?;
            writeln!(page, "   {}", escaped(&finding.advice))?;
            writeln!(page, "   No fault if: {}", escaped(&finding.unless))?;
        }
        if let Some(remark) = &self.remark {
            writeln!(page, "{}", escaped(remark))?;
        }
        let mut notes = self
            .findings
            .iter()
            .filter(|finding| !finding.is_cause)
            .peekable();
        if notes.peek().is_some() {
            writeln!(page)?;
        }
        notes.try_for_each(|note| {
            writeln!(
                page,
                "- note: {}. {}",
                escaped(&note.sentence),
                note.weight()
            )
        })?;
        match self.more {
            0 => Ok(()),
            more => writeln!(page, "- and {}", more_notes(more)),
        }
    }
}

fn row<'a>(cells: impl Iterator<Item = &'a str>, page: &mut String) -> std::fmt::Result {
    let cells: Vec<String> = cells.map(escaped).collect();
    writeln!(page, "| {} |", cells.join(" | "))
}

fn list(lines: &[String], page: &mut String) -> std::fmt::Result {
    lines
        .iter()
        .try_for_each(|line| writeln!(page, "- {}", escaped(line)))
}

/// Text with a backslash before what Markdown would read as its own, outside of `code`.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut is_code = false;
    for c in text.chars() {
        is_code ^= c == '`';
        if matches!(c, '|') || !is_code && matches!(c, '*' | '_' | '<' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::answer;
    use super::*;

    #[test]
    fn blocks_have_headings_tables_have_rules_and_paths_are_escaped() {
        let expected = "# job 7\n\n- one process\n\n\
            ## Where the time went\n\n\
            |  | bytes | bandwidth | file |\n| --- | ---: | ---: | --- |\n\
            | read | 2.00 KiB | 1.00 KiB/s | /a |\n| write | 5 B | - | a file without a name |\n\n- a note\n\n\
            ## Likely causes\n\n\
            1. **one\\_ost it is.** Touches 50 % of the I/O time; saves at most 1.50 s of a process; known by counters.\n\
            \x20  Do another.\n   No fault if: It rains.\n\n\
            - note: one\\_file it is. Known by windows only, the file may only have been open.\n- and 2 more notes (--long)\n";
        assert_eq!(answer().markdown(), expected);
        assert_eq!(escaped("a|b_c `d_e|f`"), "a\\|b\\_c `d_e\\|f`");
    }
}
