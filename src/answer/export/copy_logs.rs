//! The logs of an export beside its tables, byte by byte, with a list of them.

use super::choose::Chosen;
use super::inputs::of_logs;
use super::target::Target;
use crate::error::{Error, Result};
use crate::lake::{InputRow, Snapshot};
use crate::source::Input;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::spawn_blocking;

/// The directory of the logs in an export, and the list of them.
pub(super) const LOGS: &str = "logs";
pub(super) const LIST: &str = "logs.csv";

/// Logs that are not there: their paths, and why.
pub(super) type Missing = Vec<(String, String)>;

/// Copies the chosen logs: how many, and which are not there any more.
///
/// # Errors
/// [`Error::Io`] of the target; those of the lists of inputs; [`Error::Interrupted`].
pub(super) async fn copy(
    snapshot: &Snapshot,
    chosen: &Chosen,
    target: &Arc<Target>,
    cancel: &Arc<AtomicBool>,
) -> Result<(u64, Missing)> {
    let mut rows = of_logs(snapshot, chosen)?;
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    let (target, cancel) = (target.clone(), cancel.clone());
    let copied = spawn_blocking(move || copy_all(&rows, &target, &cancel)).await;
    copied.unwrap_or_else(|e| {
        Err(Error::Invalid(format!(
            "a thread of the export failed: {e}"
        )))
    })
}

fn copy_all(rows: &[InputRow], target: &Target, cancel: &AtomicBool) -> Result<(u64, Missing)> {
    let (mut copied, mut missing) = (0, vec![]);
    let mut names: HashSet<String> = HashSet::new();
    let mut list = String::from("log_id,job_id,file,path,status\n");
    for row in rows {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let (Some(log), Some(job)) = (row.content_hash, row.job_id) else {
            continue;
        };
        let base = Path::new(&*row.path).file_name().unwrap_or_default();
        let mut name = base.to_string_lossy().into_owned();
        if !names.insert(name.clone()) {
            name = format!("{log}-{name}");
            names.insert(name.clone());
        }
        let status = match open(row, log) {
            Ok(input) => {
                target.copy(&format!("{LOGS}/{name}"), input.bytes())?;
                copied += 1;
                "copied".to_string()
            }
            Err(why) => {
                missing.push((row.path.to_string(), why.clone()));
                name.clear();
                why
            }
        };
        list += &format!(
            "{log},{job},{},{},{}\n",
            csv(&name),
            csv(&row.path),
            csv(&status)
        );
    }
    target.write(LIST, &list)?;
    Ok((copied, missing))
}

/// A log, if its bytes are those that the lake was made of.
pub(super) fn open(row: &InputRow, log: i64) -> std::result::Result<Input, String> {
    let input = Input::open(&*row.path).map_err(|e| match e {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            "it is not there any more".to_string()
        }
        e => e.to_string(),
    })?;
    match input.hash().map_err(|e| e.to_string())? == log {
        true => Ok(input),
        false => Err("its bytes are not those that were imported".into()),
    }
}

/// A field of CSV.
fn csv(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
