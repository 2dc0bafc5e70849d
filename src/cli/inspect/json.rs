//! One object for a log: its rows in the tables that a lake would have, under the names of their columns.

use super::rows::Rows;
use crate::cli::output::format;
use crate::cli::output::writer::Style;
use std::io::Write;

/// Writes `{"log": {..}, "modules": [..], "mounts": [..], "files": [..]}` and `"why"`, which says why the log is not whole.
pub(super) fn print(rows: &Rows, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = |batch| -> anyhow::Result<String> {
        let mut text = vec![];
        format("json")
            .map_err(crate::Error::Invalid)?
            .write(&mut text, batch, Style::default())?;
        Ok(String::from_utf8(text)?.trim_end().to_string())
    };
    let log = text(&rows.log)?;
    // There is one row, or none if the job region could not be read.
    let log = log
        .strip_prefix('[')
        .and_then(|log| log.strip_suffix(']'))
        .filter(|log| !log.is_empty())
        .unwrap_or("null");
    writeln!(
        out,
        "{{\"log\":{log},\"why\":{},\"modules\":{},\"mounts\":{},\"files\":{}}}",
        serde_json::to_string(&rows.why)?,
        text(&rows.module)?,
        text(&rows.mount)?,
        text(&rows.file)?
    )?;
    Ok(())
}
