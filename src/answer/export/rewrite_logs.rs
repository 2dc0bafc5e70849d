//! The logs of an anonymised export beside its tables, written anew under the same pseudonyms, with a list of them.

use super::anonymize::Anonymizer;
use super::choose::Chosen;
use super::copy_logs::{LIST, LOGS, Missing, open};
use super::inputs::of_logs;
use super::log_names::{LogNames, LogRow};
use super::target::Target;
use super::write_tables::Work;
use crate::error::{Error, Result};
use crate::lake::InputRow;
use crate::source::darshan::Rewriter;
use crate::table::table;
use crate::text::shown_path;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use tokio::task::spawn_blocking;

/// What came of rewriting.
#[derive(Default)]
pub(super) struct Rewritten {
    pub(super) logs: u64,
    pub(super) missing: Missing,
    pub(super) parts_left_out: Vec<(String, String)>,
    /// Lines of the list, by the new id of the log.
    list: Vec<(i64, String)>,
}

/// Rewrites the chosen logs of an anonymised export, so many at once. What cannot be rewritten as it was is left out and listed.
///
/// # Errors
/// [`Error::Io`] of the target; [`Error::Invalid`] if two names have one pseudonym; [`Error::Interrupted`].
pub(super) async fn rewrite(work: &Work, chosen: &Chosen, threads: usize) -> Result<Rewritten> {
    let rows = of_logs(&work.snapshot, chosen)?;
    let work = work.clone();
    let rewritten = spawn_blocking(move || rewrite_all(&work, rows, threads)).await;
    rewritten.unwrap_or_else(|e| {
        Err(Error::Invalid(format!(
            "a thread of the export failed: {e}"
        )))
    })
}

fn rewrite_all(work: &Work, rows: Vec<InputRow>, threads: usize) -> Result<Rewritten> {
    let Some((key, policy)) = work.anonymize.clone() else {
        return Ok(Rewritten::default());
    };
    let mut inputs: HashMap<i64, Vec<InputRow>> = HashMap::new();
    for row in rows {
        if let Some(log) = row.content_hash {
            inputs.entry(log).or_default().push(row);
        }
    }
    let logs = table("darshan_log")?;
    let id = logs.index("log_id")?;
    let mut anonymizer = Anonymizer::new(key.clone(), policy.clone(), logs)?;
    // The order in which they are written is that of the original job ids.
    let modified = SystemTime::now();
    let worker = |_| {
        Ok::<_, Error>(Worker {
            names: LogNames::new(key.clone(), policy.clone())?,
            rewriter: Rewriter::default(),
            target: &work.target,
            modified,
            done: Rewritten::default(),
        })
    };
    let mut workers = (0..threads.max(1))
        .map(worker)
        .collect::<Result<Vec<_>>>()?;
    for batch in work.snapshot.chosen_rows(&logs.name, &[], &work.rows)? {
        let batch = batch?;
        let old = batch
            .column(id)
            .as_primitive::<Int64Type>()
            .values()
            .clone();
        let new = LogRow::all(logs, &anonymizer.rows(logs, &batch, None)?)?;
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let run = |worker| {
                let (old, new, next, inputs) = (&old, &new, &next, &inputs);
                scope.spawn(move || each(work, worker, old, new, next, inputs))
            };
            let running: Vec<_> = workers.iter_mut().map(run).collect();
            running.into_iter().try_for_each(|thread| {
                let failed = |_| Err(Error::Invalid("a thread of the export failed".into()));
                thread.join().unwrap_or_else(failed)
            })
        })?;
    }
    let mut all = Rewritten::default();
    for worker in workers {
        all.logs += worker.done.logs;
        all.missing.extend(worker.done.missing);
        all.parts_left_out.extend(worker.done.parts_left_out);
        all.list.extend(worker.done.list);
    }
    all.missing.sort_unstable();
    all.parts_left_out.sort_unstable();
    all.list.sort_unstable();
    let lines = all.list.iter().map(|(_, line)| line.as_str());
    let list: String = std::iter::once("log_id,job_id,file,left_out\n")
        .chain(lines)
        .collect();
    work.target.write(LIST, &list)?;
    Ok(all)
}

/// Takes the next log until there is none.
fn each(
    work: &Work,
    worker: &mut Worker<'_>,
    old: &[i64],
    new: &[LogRow],
    next: &AtomicUsize,
    inputs: &HashMap<i64, Vec<InputRow>>,
) -> Result<()> {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let (Some(log), Some(row)) = (old.get(at), new.get(at)) else {
            return Ok(());
        };
        work.go_on()?;
        let inputs = inputs.get(log).map_or(&[][..], Vec::as_slice);
        worker.log(*log, row, inputs)?;
    }
}

/// Rewrites one log after another.
struct Worker<'a> {
    names: LogNames,
    rewriter: Rewriter,
    target: &'a Target,
    /// The time that all logs have.
    modified: SystemTime,
    done: Rewritten,
}

impl Worker<'_> {
    fn log(&mut self, log: i64, row: &LogRow, inputs: &[InputRow]) -> Result<()> {
        let mut why = (String::new(), "it is in no list of inputs".to_string());
        for input in inputs {
            match open(input, log) {
                Ok(opened) => {
                    self.names.begin(row.clone());
                    let path = input.path.to_string();
                    return match self.rewriter.rewrite(&opened, &mut self.names) {
                        Ok(made) => self.written(row, path, &made.bytes, &made.left_out.join("; ")),
                        Err(e @ (Error::Malformed { .. } | Error::Unsupported { .. })) => {
                            let why = e.to_string();
                            let named = format!("{}: ", shown_path(opened.path()));
                            let why = why.strip_prefix(&named).unwrap_or(&why).to_string();
                            self.left_out(row, path, why, "damaged or too large")
                        }
                        Err(Error::Io { source, .. }) => {
                            self.left_out(row, path, source.to_string(), "it cannot be read")
                        }
                        Err(e) => Err(e),
                    };
                }
                Err(e) => why = (input.path.to_string(), e),
            }
        }
        let (path, why) = why;
        self.left_out(row, path, why.clone(), &why)
    }

    fn written(&mut self, row: &LogRow, path: String, bytes: &[u8], lacks: &str) -> Result<()> {
        let file = row.file_name();
        let name = format!("{LOGS}/{file}");
        self.target.copy(&name, bytes)?;
        self.target.set_modified(&name, self.modified)?;
        self.done.logs += 1;
        if !lacks.is_empty() {
            self.done.parts_left_out.push((path, lacks.to_string()));
        }
        self.list(row, &file, lacks);
        Ok(())
    }

    /// Notes a log that is not there: to whoever exports with its path, to others without.
    fn left_out(&mut self, row: &LogRow, path: String, why: String, told: &str) -> Result<()> {
        self.done.missing.push((path, why));
        self.list(row, "", told);
        Ok(())
    }

    fn list(&mut self, row: &LogRow, file: &str, left_out: &str) {
        let line = format!("{},{},{file},{left_out}\n", row.log_id, row.job_id);
        self.done.list.push((row.log_id, line));
    }
}
