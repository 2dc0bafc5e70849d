//! Writes a month to a directory.

use super::plan::Plan;
use super::random::Random;
use super::truth::{Facts, truth};
use super::{Month, logs};
use crate::error::{Error, Result};
use crate::source::darshan::write::Encoder;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Jobs.
    pub jobs: u64,
    /// Logs, damaged and partial ones included, the duplicate not.
    pub logs: u64,
    /// Files whose names end in `.darshan`: logs, the duplicate, and one that is no log.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A file that ends in `.darshan` and is none, as there is one in Darshan's own source.
const NOT_DARSHAN: (&str, &str) = (
    "Makefile.darshan",
    "# Build rules for programs that are linked with Darshan.\nDARSHAN_PREFIX = /sw/darshan/3.4.7\n\nall: app.darshan\n\n\
     app.darshan: app.o\n\t$(LD) -o $@ $^ -L$(DARSHAN_PREFIX)/lib -ldarshan\n",
);

/// Writes a month of logs below `out`, with all cores, and `truth.json` beside them.
///
/// `progress` is called on this thread with the number of jobs done.
///
/// # Errors
/// [`Error::Invalid`] if `out` is there and not empty. [`Error::Io`] if something cannot be written; what was written
/// until then stays.
pub fn write(month: &Month, out: &Path, progress: &dyn Fn(u64)) -> Result<Summary> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    write_with(month, out, threads, progress)
}

/// As [`write()`], with so many threads: the files are the same.
///
/// # Errors
/// As [`write()`].
pub fn write_with(
    month: &Month,
    out: &Path,
    threads: usize,
    progress: &dyn Fn(u64),
) -> Result<Summary> {
    let filled = |dir: std::fs::ReadDir| dir.into_iter().next().is_some();
    if std::fs::read_dir(out).is_ok_and(filled) {
        return Err(Error::Invalid(format!(
            "{}: the directory is not empty; give one that is new",
            out.display()
        )));
    }
    create_dir(out)?;
    let plan = Plan::new(*month);
    let next = AtomicU64::new(0);
    let mut facts: Vec<Option<Facts>> = vec![];
    facts.resize_with(month.jobs as usize, || None);
    std::thread::scope(|scope| -> Result<()> {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let (sender, plan, next) = (sender.clone(), &plan, &next);
            scope.spawn(move || {
                let mut encoder = Encoder::default();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= month.jobs {
                        break;
                    }
                    let done = write_job(plan, index, out, &mut encoder);
                    // Nobody listens any more once a job has failed.
                    let failed = done.is_err();
                    if sender.send((index, done)).is_err() || failed {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let stop = |error: Error| {
            next.store(month.jobs, Ordering::Relaxed);
            error
        };
        for (done, (index, result)) in receiver.into_iter().enumerate() {
            facts[index as usize] = Some(result.map_err(stop)?);
            progress(done as u64 + 1);
        }
        Ok(())
    })?;
    let facts: Vec<Facts> = facts.into_iter().flatten().collect();

    let (name, text) = NOT_DARSHAN;
    save(&out.join(name), text.as_bytes())?;
    let truth = truth(month, &facts, &[name.to_string()]);
    let lines = serde_json::to_string_pretty(&truth)
        .map_err(|e| Error::Invalid(format!("truth.json: {e}")))?;
    save(&out.join("truth.json"), (lines + "\n").as_bytes())?;
    let (logs, bytes) = facts.iter().fold((0, 0), |sum, facts| {
        (sum.0 + facts.logs, sum.1 + facts.bytes)
    });
    let copies = facts.iter().filter(|facts| facts.duplicated()).count() as u64;
    Ok(Summary {
        jobs: month.jobs,
        logs,
        files: logs + copies + 1,
        bytes: bytes + text.len() as u64,
    })
}

/// Writes the logs of one job.
fn write_job(plan: &Plan, index: u64, out: &Path, encoder: &mut Encoder) -> Result<Facts> {
    let job = plan.job(index);
    let logs = logs(plan, &job);
    let mut facts = Facts::of(&job, &logs);
    for (log, _) in &logs {
        let mut bytes = log.log.to_bytes_with(encoder);
        if facts.damaged() {
            // Somewhere behind the header and before the end, as a copy that was interrupted.
            let whole = bytes.len();
            let share = Random::new(plan.month.seed, !index).float(0.4, 0.95);
            bytes.truncate(
                (1400 + ((whole.saturating_sub(1400)) as f64 * share) as usize).min(whole - 1),
            );
            if let Some(special) = &mut facts.special {
                special.cut = (whole as u64, bytes.len() as u64);
            }
        }
        let path = out.join(&log.path);
        let dir = path.parent().unwrap_or(out);
        create_dir(dir)?;
        save(&path, &bytes)?;
        (facts.logs, facts.bytes) = (facts.logs + 1, facts.bytes + bytes.len() as u64);
        if facts.duplicated() {
            let copy = Path::new("restored").join(format!("log{index:06}.darshan"));
            create_dir(&out.join("restored"))?;
            save(&out.join(&copy), &bytes)?;
            facts.bytes += bytes.len() as u64;
            if let Some(special) = &mut facts.special {
                special.copy = Some(copy.display().to_string());
            }
        }
    }
    Ok(facts)
}

fn create_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "cannot create", e))
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| Error::io(path, "cannot write", e))
}
