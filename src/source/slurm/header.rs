//! The header of what sacct prints: which column stands where.

use super::column::Column;
use super::split::Layout;
use crate::error::{Error, Result};
use crate::source::{Input, ReadContext};

impl Layout {
    /// The layout that a header describes. None if this is no header of sacct: less than two thirds of its names are known, or
    /// it has no job id.
    pub(super) fn of_header(line: &str) -> Option<Self> {
        // Editors of some systems put one before a text.
        let line = line.trim_start_matches('\u{feff}').trim_end_matches('\r');
        let name = |text: &str| {
            text.find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(text.len())
        };
        let end = name(line);
        let rest = &line[end..];
        let length = rest
            .find(|c: char| c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let delimiter = &rest[..length];
        if end == 0 || Column::named(&line[..end]).is_none() {
            return None;
        }
        let (line, trailing) = match line.strip_suffix(delimiter) {
            Some(without) if !delimiter.is_empty() => (without, true),
            _ => (line, false),
        };
        // A delimiter of blanks is that of columns of fixed width.
        if delimiter.chars().any(|c| c == ' ') {
            return None;
        }
        let names: Vec<&str> = if delimiter.is_empty() {
            vec![line]
        } else {
            line.split(delimiter).collect()
        };
        Self::of_names(&names, delimiter, trailing)
    }

    fn of_names(names: &[&str], delimiter: &str, trailing: bool) -> Option<Self> {
        let columns: Vec<Option<Column>> = names
            .iter()
            .map(|name| Column::named(name.trim()))
            .collect();
        let known = columns.iter().flatten().count();
        let has_id =
            columns.contains(&Some(Column::JobID)) || columns.contains(&Some(Column::JobIDRaw));
        (has_id && 3 * known >= 2 * columns.len()).then(|| Self {
            delimiter: if delimiter.is_empty() {
                "|".into()
            } else {
                delimiter.into()
            },
            trailing,
            unknown: names
                .iter()
                .zip(&columns)
                .filter(|(_, column)| column.is_none())
                .map(|(name, _)| name.trim().to_string())
                .collect(),
            columns,
        })
    }

    /// The layout of lines without a header, which has to be said beforehand.
    pub(super) fn of_site(context: &ReadContext, first: &str, input: &Input) -> Result<Self> {
        let refuse = |reason: String| Error::Malformed {
            path: input.path().into(),
            region: "line 1".into(),
            at: None,
            reason,
        };
        if context.hints.slurm_columns.is_empty() {
            let reason = "no header with sacct's column names; name the columns with --slurm-columns JobID,JobIDRaw,..";
            return Err(refuse(reason.into()));
        }
        let names: Vec<&str> = context
            .hints
            .slurm_columns
            .iter()
            .map(String::as_str)
            .collect();
        if let Some(unknown) = names.iter().find(|name| Column::named(name).is_none()) {
            return Err(Error::Invalid(format!(
                "--slurm-columns: sacct has no column `{unknown}`"
            )));
        }
        let given = context.hints.slurm_delimiter.as_deref();
        let usual = ["|", "\x1f", "\t", ";", ",", "^", "~", "!"];
        let fits = |delimiter: &&str| first.matches(*delimiter).count() + 1 >= names.len();
        let delimiter = given
            .or_else(|| usual.into_iter().find(fits))
            .ok_or_else(|| {
                refuse(format!(
                    "no delimiter found that makes {} columns; name it with --slurm-delimiter",
                    names.len()
                ))
            })?;
        let trailing =
            first.ends_with(delimiter) && first.matches(delimiter).count() >= names.len();
        let layout = Self::of_names(&names, delimiter, trailing);
        layout.ok_or_else(|| {
            Error::Invalid("--slurm-columns: JobID or JobIDRaw must be among them".into())
        })
    }
}
