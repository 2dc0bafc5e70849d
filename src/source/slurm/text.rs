//! What `sacct -P` and `sacct -p` print.

use super::clock::Clock;
use super::column::{Column, Kind};
use super::fields::{holds, parse};
use super::lines::{cut, line_end, next_line};
use super::record::{Expansion, Record, clock};
use super::split::{Layout, Piece, pieces};
use super::value::{self, Tres};
use crate::error::{Error, Result};
use crate::source::{BatchSink, Input, Outcome, ReadContext, Status};
use std::borrow::Cow;

/// Bytes that are read at once.
const BLOCK: usize = 1 << 20;
/// Lines that do not fit their columns are looked at together up to so many.
const MOST_LINES: usize = 256;
/// Records after which the builders are looked at.
const RECORDS: usize = 1024;

/// Whether a line begins like a record of sacct without a header: an id, and a state somewhere.
pub(super) fn is_record(line: &str) -> bool {
    let id = |c: char| c.is_ascii_alphanumeric() || "_.+[]%,-".contains(c);
    let end = line.find(|c| !id(c)).unwrap_or(line.len());
    let states = [
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "RUNNING",
        "PENDING",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
    ];
    value::id(&line[..end], None).is_some()
        && end < line.len()
        && !line[end..].starts_with(' ')
        && states.iter().any(|state| line.contains(state))
}

/// Appends the records of a dump.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let mut reader = Text {
        input,
        context,
        clock: clock(context, input),
        expansion: Expansion::default(),
        layout: None,
        line: 0,
        records: 0,
        failed: vec![],
        failures: 0,
        odd: None,
        cut: false,
        without_id: 0,
        missing: vec![],
        unknown: vec![],
    };
    let (mut buffer, mut at, mut carried) = (vec![], 0, 0);
    loop {
        let more = (input.len() - at).min(BLOCK as u64) as usize;
        buffer.drain(..buffer.len() - carried);
        input.read_at(at, more, &mut buffer)?;
        at += more as u64;
        let last = at == input.len();
        let whole = match last {
            true => buffer.len(),
            false => memchr::memrchr(b'\n', &buffer).map_or(0, |end| end + 1),
        };
        let mut used = 0;
        if whole > 0 {
            let bytes = &buffer[..whole];
            // Nearly all text is good, and to see that is quicker than to mend it.
            let mut text = match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(bytes),
            };
            if memchr::memchr(b'\r', text.as_bytes()).is_some() {
                text = text.replace("\r\n", "\n").into();
            }
            used = reader.lines(&text, last, tables)?;
            if let Cow::Owned(text) = &text {
                // It took more room there, or less: whole lines are what both have.
                used = nth_line(
                    bytes,
                    memchr::memchr_iter(b'\n', &text.as_bytes()[..used]).count(),
                );
            }
        }
        carried = buffer.len() - used;
        if last {
            break;
        }
        if carried > 64 * BLOCK {
            let reason = format!("a line of more than {carried} bytes");
            return Err(Error::Malformed {
                path: input.path().into(),
                region: format!("line {}", reader.line + 1),
                at: Some(at),
                reason,
            });
        }
    }
    reader.outcome()
}

/// Where the line after `n` lines begins.
fn nth_line(bytes: &[u8], n: usize) -> usize {
    match n {
        0 => 0,
        n => memchr::memchr_iter(b'\n', bytes)
            .nth(n - 1)
            .map_or(bytes.len(), |at| at + 1),
    }
}

/// What to do after a record.
enum Next {
    /// The next one begins here.
    At(usize),
    /// More lines are needed.
    More,
    /// It is none, but a header.
    Header(Layout),
}

struct Text<'i> {
    input: &'i Input,
    context: &'i ReadContext,
    clock: Clock,
    expansion: Expansion,
    layout: Option<Layout>,
    /// Lines done.
    line: u64,
    records: u64,
    /// The first lines that failed, and how many did.
    failed: Vec<u64>,
    failures: u64,
    /// The first of them that has all columns and a value that is none of its column: its number, and that.
    odd: Option<(u64, String)>,
    /// The last line has no end.
    cut: bool,
    /// Array tasks and het components whose raw id is not known.
    without_id: u64,
    /// Columns that joins with logs need, of which a header has none; names in headers that are none of sacct's.
    missing: Vec<&'static str>,
    unknown: Vec<String>,
}

/// A line that is taken apart.
struct Line<'t> {
    /// Its fields.
    fields: Vec<&'t str>,
    /// The same by column; those that the dump does not have stay None.
    values: [Option<&'t str>; Column::COUNT],
    /// Where a line that was looked at before its turn begins and ends, and its fields.
    ahead: Option<(usize, usize)>,
    ahead_fields: Vec<&'t str>,
    /// Lists of resources that are not in use.
    spare: Vec<Tres<'t>>,
}

impl Line<'_> {
    fn new() -> Self {
        Self {
            fields: vec![],
            values: [None; Column::COUNT],
            ahead: None,
            ahead_fields: vec![],
            spare: vec![],
        }
    }
}

impl Text<'_> {
    /// Takes whole lines; how many bytes of them were used. The rest has to come again with what follows it.
    fn lines(&mut self, text: &str, last: bool, tables: &mut BatchSink) -> Result<usize> {
        let whole = text.len();
        // sacct ends every line: what is left of the last one may still look like a record, or like a part of the text of the one before.
        let text = match text.rfind('\n') {
            Some(end) if last => &text[..=end],
            _ => text,
        };
        let is_cut = text.len() < whole;
        let mut at = 0;
        let mut taken = Line::new();
        while at < text.len() {
            let end = match taken.ahead {
                Some((from, end)) if from == at => end,
                _ => line_end(text, at),
            };
            let line = &text[at..end];
            if line.is_empty() {
                (at, self.line) = (end + 1, self.line + 1);
                continue;
            }
            if self.records == 0
                && let Some(layout) = Layout::of_header(line)
            {
                if last && end == text.len() {
                    // It may lack columns, and what is left of the last name may name another column.
                    return Err(Error::Malformed {
                        path: self.input.path().into(),
                        region: format!("line {}", self.line + 1),
                        at: None,
                        reason: "the header has no end: the dump was cut".into(),
                    });
                }
                self.begin(layout);
                taken = Line::new();
                at = end + 1;
                continue;
            }
            if last && end == text.len() {
                self.cut = true;
                self.fail(1);
                at = end;
                break;
            }
            let layout = match self.layout.take() {
                Some(layout) => layout,
                None => {
                    let layout = Layout::of_site(self.context, line, self.input)?;
                    self.note(&layout);
                    layout
                }
            };
            let found = self.take(&layout, text, at, end, last, &mut taken, tables);
            self.layout = Some(layout);
            match found? {
                Next::At(next) => at = next,
                // Dumps may be strung together, each with its header.
                Next::Header(layout) => {
                    self.begin(layout);
                    taken = Line::new();
                    at = end + 1;
                }
                Next::More => break,
            }
        }
        if is_cut {
            self.cut = true;
            self.fail(1);
            return Ok(whole);
        }
        Ok(at.min(text.len()))
    }

    /// From here on lines are of this layout, whose header is done.
    fn begin(&mut self, layout: Layout) {
        self.note(&layout);
        self.layout = Some(layout);
        self.line += 1;
    }

    /// Notes which columns the outcome has to name.
    fn note(&mut self, layout: &Layout) {
        for column in [Column::Start, Column::End] {
            if !layout.columns.contains(&Some(column)) && !self.missing.contains(&column.name()) {
                self.missing.push(column.name());
            }
        }
        for name in &layout.unknown {
            if !self.unknown.contains(name) {
                self.unknown.push(name.clone());
            }
        }
    }

    /// Takes the record at `at`, whose first line ends at `end`.
    #[allow(clippy::too_many_arguments)]
    fn take<'t>(
        &mut self,
        layout: &Layout,
        text: &'t str,
        at: usize,
        end: usize,
        last: bool,
        taken: &mut Line<'t>,
        tables: &mut BatchSink,
    ) -> Result<Next> {
        let ends_free = !layout.trailing
            && layout
                .columns
                .last()
                .copied()
                .flatten()
                .is_some_and(|c| c.kind() == Kind::Free);
        let mut odd = None;
        let whole = match taken.ahead.take() {
            Some((from, _)) if from == at => {
                std::mem::swap(&mut taken.fields, &mut taken.ahead_fields);
                true
            }
            _ => cut(layout, &text[at..end], &mut taken.fields),
        };
        if whole {
            let alone = match (ends_free, next_line(text, end)) {
                (false, _) => true,
                (true, None) if !last => return Ok(Next::More),
                (true, None) => true,
                // What follows may belong to the last field.
                (true, Some((from, end))) => {
                    let whole = cut(layout, &text[from..end], &mut taken.ahead_fields);
                    taken.ahead = whole.then_some((from, end));
                    whole
                }
            };
            if alone {
                let Err(column) = self.record(layout, taken, tables) else {
                    self.line += 1;
                    self.flush(tables)?;
                    return Ok(Next::At(end + 1));
                };
                let value = taken.values[column as usize].unwrap_or_default();
                odd = Some((self.line + 1, format!("{column:?} `{value}`")));
            }
        }
        if let Some(layout) = Layout::of_header(&text[at..end]) {
            return Ok(Next::Header(layout));
        }
        // Up to the next line that is whole by itself.
        taken.ahead = None;
        let (mut ends, mut from) = (vec![end - at], end + 1);
        loop {
            if from >= text.len() {
                match last || ends.len() >= MOST_LINES {
                    true => break,
                    false => return Ok(Next::More),
                }
            }
            let end = line_end(text, from);
            let whole = cut(layout, &text[from..end], &mut taken.fields)
                && self.parse(layout, taken).is_ok();
            let header = || Layout::of_header(&text[from..end]).is_some();
            if whole || ends.len() >= MOST_LINES || header() {
                break;
            }
            ends.push(end - at);
            from = end + 1;
        }
        let run = &text[at..at + ends[ends.len() - 1]];
        let clock = std::cell::RefCell::new(&mut self.clock);
        let check = |column: Column, text: &str| holds(column, text, &mut clock.borrow_mut());
        for (lines, piece) in pieces(run, &ends, layout, &check) {
            let done = match piece {
                Piece::Record(found) => {
                    taken.fields = found;
                    self.record(layout, taken, tables).is_ok()
                }
                Piece::Failed => false,
            };
            match done {
                true => self.line += lines as u64,
                false => {
                    let first = self.line + 1;
                    self.fail(lines as u64);
                    let seen = odd.take().filter(|(line, _)| *line == first);
                    self.odd = self.odd.take().or(seen);
                }
            }
        }
        self.flush(tables)?;
        Ok(Next::At(from.min(text.len())))
    }

    /// Leaves out so many lines.
    fn fail(&mut self, lines: u64) {
        self.failures += lines;
        let numbers = self.line + 1..=self.line + lines;
        self.failed
            .extend(numbers.take(5 - self.failed.len().min(5)));
        self.line += lines;
    }

    fn flush(&mut self, tables: &mut BatchSink) -> Result<()> {
        // A damaged list can stand for more names than a thousand good ones.
        match self.records.is_multiple_of(RECORDS as u64) || self.expansion.has_given_many() {
            true => tables.flush(),
            false => Ok(()),
        }
    }

    /// Appends the row of a record; the column whose value is none if it is none.
    fn record(
        &mut self,
        layout: &Layout,
        taken: &mut Line<'_>,
        tables: &mut BatchSink,
    ) -> Result<(), Column> {
        let mut record = self.parse(layout, taken)?;
        self.records += 1;
        self.without_id += u64::from(record.id.job_id < 0);
        record.push(self.context.period, &mut self.expansion, tables);
        taken.spare.extend(record.resources());
        Ok(())
    }

    #[inline(always)]
    fn parse<'t>(&mut self, layout: &Layout, taken: &mut Line<'t>) -> Result<Record<'t>, Column> {
        for (column, field) in layout.columns.iter().zip(&taken.fields) {
            if let Some(column) = column {
                taken.values[*column as usize] = Some(field);
            }
        }
        parse(&taken.values, &mut self.clock, &mut taken.spare)
    }

    /// What is known of the lines that failed beside their numbers.
    fn details(&self) -> String {
        let odd = self.odd.as_ref();
        let odd = odd.map(|(line, what)| format!("; line {line} has {what}, which is none"));
        let cut = self
            .cut
            .then_some("; the last line has no end: the dump was cut");
        odd.unwrap_or_default() + cut.unwrap_or_default()
    }

    fn outcome(self) -> Result<Outcome> {
        if self.clock.met_local {
            self.context.note_local_times();
        }
        let mut why = vec![];
        if self.layout.is_none() || self.records == 0 && self.failures > 0 {
            let reason = match self.layout {
                None => "nothing in it".to_string(),
                Some(_) => format!(
                    "none of its {} lines is a record of these columns{}",
                    self.failures,
                    self.details()
                ),
            };
            return Err(Error::Malformed {
                path: self.input.path().into(),
                region: "text".into(),
                at: None,
                reason,
            });
        }
        if self.failures > 0 {
            let lines: Vec<String> = self.failed.iter().map(u64::to_string).collect();
            let more = if self.failures > lines.len() as u64 {
                ", .."
            } else {
                ""
            };
            let (s, them) = if self.failures == 1 {
                ("", "it was")
            } else {
                ("s", "they were")
            };
            why.push(format!(
                "{} line{s} cannot be split for certain and {them} left out: {}{more}{}",
                self.failures,
                lines.join(", "),
                self.details()
            ));
        }
        if self.clock.met_skipped {
            why.push(format!(
                "times in an hour that {} does not have are left out; is that the zone of the dump?",
                self.context.zone
            ));
        }
        if self.clock.met_relative {
            why.push(format!(
                "times without a date are taken for those of {}, when the file was last changed; sacct prints dates with SLURM_TIME_FORMAT=standard",
                self.clock.today
            ));
        }
        if self.records > 0 && !self.missing.is_empty() {
            why.push(format!(
                "the dump lacks {}: such jobs are joined with no log",
                self.missing.join(" and ")
            ));
        }
        if !self.unknown.is_empty() {
            why.push(format!("sacct has no column {}", self.unknown.join(", ")));
        }
        if self.without_id > 0 {
            let (s, have) = match self.without_id {
                1 => ("", "has"),
                _ => ("s", "have"),
            };
            why.push(format!(
                "{} record{s} of array tasks and het components {have} no raw id, for the dump lacks JobIDRaw: without another dump that says it, job_id is negative and there is no join with logs",
                self.without_id
            ));
        }
        let status = if self.failures > 0 {
            Status::Damaged
        } else {
            Status::Ok
        };
        Ok(Outcome {
            status,
            why: (!why.is_empty()).then(|| why.join("; ")),
        })
    }
}
