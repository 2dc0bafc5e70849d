//! Slurm's accounting: what sacct prints, as text or as JSON.
//!
//! [`hostlist`] expands lists of nodes, `clock` and `value` read single values, `record` makes a row of what a record says.
//! `text` reads `sacct -P`, with `header` for the columns, `fields` for what each column holds, and `split` for the lines that hold a user's text with
//! delimiters; `json` reads `sacct --json`; `sacct_command` runs sacct. Dumps overlap: `latest_record` keeps of one record the latest that is known of it.
//! The forms and their values are described in [`mod@format`].

mod clock;
#[doc = include_str!("FORMAT.md")]
pub mod format {}
mod column;
mod fields;
mod header;
pub mod hostlist;
mod json;
mod latest_record;
mod lines;
mod record;
mod sacct_command;
mod split;
#[cfg(test)]
mod tests;
mod text;
mod value;

use super::{BatchSink, Hints, Input, Outcome, Peek, ReadContext, Reader, RowMerger, Source};
use crate::error::{Error, Result};
use split::Layout;
use std::path::Path;
use std::sync::Arc;

/// What sacct of Slurm 20 to 24 prints, with `-P`, `-p` or `--json`.
pub struct Slurm;

impl Source for Slurm {
    fn inputs(&self) -> &'static str {
        "Dumps of Slurm's accounting, or directories of them; `sacct:` runs sacct"
    }

    fn rows(&self) -> &'static str {
        "Slurm accounting"
    }

    fn name(&self) -> &'static str {
        "slurm"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["slurm_job", "slurm_step"]
    }

    fn version(&self) -> u32 {
        2
    }

    fn probe(&self, _: &Path, head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        let first = text
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        is_json(head)
            || Layout::of_header(first).is_some()
            || is_fixed_width(first)
            || text::is_record(first)
    }

    fn unrecognized(&self) -> &'static str {
        "not recognized as sacct -P or --json output"
    }

    fn uses(&self, hints: &Hints) -> bool {
        !hints.slurm_columns.is_empty() || hints.slurm_delimiter.is_some()
    }

    fn stand_in(&self, shown: &str) -> Option<i64> {
        // Most are plain jobs.
        let is_part = shown.bytes().any(|b| b == b'_' || b == b'+');
        let id = value::id(shown, None).filter(|_| is_part)?;
        (id.job_id < 0).then_some(id.job_id)
    }

    fn serves(&self, address: &str) -> bool {
        address == sacct_command::ADDRESS
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        let mut head = vec![];
        input.read_at(0, input.len().min(4096) as usize, &mut head)?;
        let text = String::from_utf8_lossy(&head);
        if is_fixed_width(text.lines().next().unwrap_or_default()) {
            let reason =
                "sacct cuts values off in columns of fixed width; dump with `sacct -P`".to_string();
            return Err(Error::Unsupported {
                path: input.path().into(),
                reason,
            });
        }
        Ok(Peek::Dump)
    }

    fn reader(&self, context: Arc<ReadContext>) -> Box<dyn Reader> {
        Box::new(SlurmReader { context })
    }

    fn row_merger(&self, table: &str) -> Option<Box<dyn RowMerger>> {
        latest_record::row_merger(table)
    }
}

/// Whether this begins an answer of `sacct --json`: the list of jobs first (Slurm 23 and later) or what made them.
fn is_json(head: &[u8]) -> bool {
    let keys = outer_keys(head);
    let has = |key: &[u8], opening: u8| keys.contains(&(key, opening));
    let made = || {
        String::from_utf8_lossy(head)
            .to_ascii_lowercase()
            .contains("slurm")
    };
    has(b"jobs", b'[') || has(b"meta", b'{') && made()
}

/// The keys of a JSON object that begins with these bytes, with the first byte of their values; not those of objects in it.
fn outer_keys(head: &[u8]) -> Vec<(&[u8], u8)> {
    let (mut keys, mut depth, mut at) = (vec![], 0, 0);
    let behind = |at: usize| {
        let blanks = head
            .get(at..)?
            .iter()
            .take_while(|b| b.is_ascii_whitespace());
        let next = at + blanks.count();
        Some((next, *head.get(next)?))
    };
    if behind(0).is_none_or(|(_, first)| first != b'{') {
        return keys;
    }
    while let Some(byte) = head.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let from = at;
                while head.get(at).is_some_and(|b| *b != b'"') {
                    at += 1 + usize::from(head[at] == b'\\');
                }
                let text = head.get(from..at).unwrap_or_default();
                at += 1;
                let value = behind(at).filter(|(_, colon)| depth == 1 && *colon == b':');
                keys.extend(value.and_then(|(at, _)| Some((text, behind(at + 1)?.1))));
            }
            _ => {}
        }
    }
    keys
}

/// Whether this is the header of columns of fixed width.
fn is_fixed_width(line: &str) -> bool {
    let names: Vec<&str> = line.split_whitespace().collect();
    let known = names
        .iter()
        .filter(|name| column::Column::named(name).is_some())
        .count();
    !line.contains('\t') && names.len() > 1 && names.contains(&"JobID") && known == names.len()
}

struct SlurmReader {
    context: Arc<ReadContext>,
}

impl Reader for SlurmReader {
    fn read(
        &mut self,
        input: &Input,
        _: i64,
        _: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome> {
        if input.is_server() {
            return sacct_command::read(&self.context, tables);
        }
        let mut head = vec![];
        input.read_at(0, input.len().min(4096) as usize, &mut head)?;
        match is_json(&head) {
            true => json::read(input, &self.context, tables),
            false => text::read(input, &self.context, tables),
        }
    }
}
