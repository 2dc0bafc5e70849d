//! One object for a log: its classes by MOSAIC.

use crate::answer::analysis::mosaic::{LogRows, Mode, Options, of_log};
use crate::source::Outcome;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Writes `{"classes": {..}, "metadata": {..}, "read": [groups], "write": [groups], "infos": {..}}`; `infos.log` is the path of the log, `infos.log_status` says how whole it is: of a damaged
/// one these are the classes of the records that are left.
pub(super) fn print(
    path: &Path,
    rows: &LogRows,
    outcome: &Outcome,
    is_reference: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mode = match is_reference {
        true => Mode::Reference,
        false => Mode::Full,
    };
    let mut object = of_log(rows, mode, &Options::default()).to_json();
    object["infos"]["log"] = json!(path.display().to_string());
    object["infos"]["log_status"] = json!(outcome.status.name());
    object["infos"]["log_why"] = json!(outcome.why);
    writeln!(out, "{object}")?;
    Ok(())
}
