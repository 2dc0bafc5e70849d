//! Writes a month to a directory.

use crate::error::{Error, Result};
use crate::source::darshan::write::Encoder;
use crate::synth::lmt::load::{Load, loads};
use crate::synth::lmt::{self, Span};
use crate::synth::random::Random;
use crate::synth::scenario::kind::Kind;
use crate::synth::scenario::plan::Plan;
use crate::synth::slurm::{Ledger, Windows};
use crate::synth::truth::{Dumps, Facts, truth, truth_of_logs};
use crate::synth::{Month, site, workloads};
use std::path::{Path, PathBuf};
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
    /// Dumps of sacct and LMT databases.
    pub dumps: u64,
    /// Their bytes.
    pub dump_bytes: u64,
}

/// A file that ends in `.darshan` and is none, as there is one in Darshan's own source.
pub(crate) const NOT_DARSHAN: (&str, &str) = (
    "Makefile.darshan",
    "# Build rules for programs that are linked with Darshan.\nDARSHAN_PREFIX = /sw/darshan/3.4.7\n\nall: app.darshan\n\n\
     app.darshan: app.o\n\t$(LD) -o $@ $^ -L$(DARSHAN_PREFIX)/lib -ldarshan\n",
);

/// Writes a month of logs below `out`, with all cores, `truth.json` beside them, and what else the month asks for: where
/// it lies say [`Month::paths`].
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
    let save_all = |_, files: Files| {
        for (path, bytes) in files {
            let path = out.join(path);
            create_dir(path.parent().unwrap_or(out))?;
            save(&path, &bytes)?;
        }
        Ok(())
    };
    let made = each_job(month, threads, progress, &save_all)?;
    let mut facts: Vec<Facts> = made.into_iter().map(|(facts, ())| facts).collect();
    let dumps = write_dumps(month, &mut facts, out, threads)?;

    let (name, text) = NOT_DARSHAN;
    let usual = month.kind == Kind::Usual;
    if usual {
        save(&out.join(name), text.as_bytes())?;
    }
    save(
        &out.join("truth.json"),
        truth_text(month, &facts, &dumps)?.as_bytes(),
    )?;
    Ok(summary(month, &facts, &dumps))
}

/// Logs with their paths below the directory of the month.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// The text of `truth.json`.
pub(crate) fn truth_text(month: &Month, facts: &[Facts], dumps: &Dumps) -> Result<String> {
    let truth = match month.kind {
        Kind::Usual => truth(month, facts, dumps, &[NOT_DARSHAN.0.to_string()]),
        _ => truth_of_logs(month, facts),
    };
    let lines = serde_json::to_string_pretty(&truth)
        .map_err(|e| Error::Invalid(format!("truth.json: {e}")))?;
    Ok(lines + "\n")
}

/// What there is of a month.
pub(crate) fn summary(month: &Month, facts: &[Facts], dumps: &Dumps) -> Summary {
    let usual = month.kind == Kind::Usual;
    let (logs, bytes) = facts.iter().fold((0, 0), |sum, facts| {
        (sum.0 + facts.logs, sum.1 + facts.bytes)
    });
    let copies = facts.iter().filter(|facts| facts.duplicated()).count() as u64;
    Summary {
        jobs: month.jobs,
        logs,
        files: logs + copies + u64::from(usual),
        bytes: bytes + if usual { NOT_DARSHAN.1.len() as u64 } else { 0 },
        dumps: dumps.files,
        dump_bytes: dumps.bytes,
    }
}

/// Makes the logs of every job on so many threads, and gives them to `take` with the number of the job: what is known of each,
/// and what `take` made of it, in order. `progress` is called on this thread with the number of jobs done.
pub(crate) fn each_job<T: Send>(
    month: &Month,
    threads: usize,
    progress: &dyn Fn(u64),
    take: &(dyn Fn(u64, Files) -> Result<T> + Sync),
) -> Result<Vec<(Facts, T)>> {
    let plan = Plan::new(*month);
    let next = AtomicU64::new(0);
    let mut facts: Vec<Option<(Facts, T)>> = vec![];
    let jobs = month.all_jobs();
    facts.resize_with(jobs as usize, || None);
    std::thread::scope(|scope| -> Result<()> {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let (sender, plan, next) = (sender.clone(), &plan, &next);
            scope.spawn(move || {
                let mut encoder = Encoder::default();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= jobs {
                        break;
                    }
                    let (facts, files) = make_job(plan, index, &mut encoder);
                    let done = take(index, files).map(|taken| (facts, taken));
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
            next.store(jobs, Ordering::Relaxed);
            error
        };
        for (done, (index, result)) in receiver.into_iter().enumerate() {
            facts[index as usize] = Some(result.map_err(stop)?);
            progress((done as u64 + 1).min(month.jobs));
        }
        Ok(())
    })?;
    Ok(facts.into_iter().flatten().collect())
}

/// Writes what the month asks for beside its logs.
fn write_dumps(month: &Month, facts: &mut [Facts], out: &Path, threads: usize) -> Result<Dumps> {
    let paths = Month::paths(out);
    let mut dumps = Dumps::default();
    if month.kind != Kind::Usual {
        save(&paths.site, site::text().as_bytes())?;
        return Ok(dumps);
    }
    if !month.slurm && month.lmt_seconds == 0 {
        return Ok(dumps);
    }
    let ledger = Ledger::new(month, windows(facts));
    if month.slurm {
        create_dir(&paths.slurm)?;
        let (files, bytes) = ledger.write(&paths.slurm, threads)?;
        (dumps.files, dumps.bytes) = (dumps.files + files, dumps.bytes + bytes);
        dumps.slurm = Some(ledger.truth());
    }
    if month.lmt_seconds > 0 {
        create_dir(&paths.lmt)?;
        let (written, account) = lmt::write(month, &all_loads(month, facts, &ledger), &paths.lmt)?;
        (dumps.files, dumps.bytes) = (dumps.files + written.files, dumps.bytes + written.bytes);
        dumps.lmt = Some(account.truth(month));
    }
    save(&paths.site, site::text().as_bytes())?;
    Ok(dumps)
}

/// When the logs of each job began and ended, which its facts have no more then.
pub(crate) fn windows(facts: &mut [Facts]) -> Vec<Windows> {
    (facts.iter_mut())
        .map(|facts| std::mem::take(&mut facts.windows))
        .collect()
}

/// What everything that ran was to the servers; that of the logs goes out of their facts.
pub(crate) fn all_loads(month: &Month, facts: &mut [Facts], ledger: &Ledger) -> Vec<Load> {
    let mut loads = Vec::with_capacity(facts.iter().map(|facts| facts.loads.len()).sum());
    for facts in facts {
        loads.append(&mut std::mem::take(&mut facts.loads));
    }
    loads.extend(ledger.loads(&Span::of(month)));
    loads
}

/// The logs of one job, by the paths below the directory of the month; the copy of one, too.
pub(crate) fn make_job(plan: &Plan, index: u64, encoder: &mut Encoder) -> (Facts, Files) {
    let mut files = vec![];
    let (job, logs) = workloads(plan, index);
    let mut facts = Facts::of(&job, &logs);
    let span = Span::of(&plan.month);
    for (log, workload) in &logs {
        let moment = |(seconds, nanos): (i64, i64)| seconds as f64 + nanos as f64 * 1e-9;
        let (start, end) = (moment(log.log.job.start), moment(log.log.job.end));
        if plan.month.slurm || plan.month.lmt_seconds > 0 {
            facts.windows.push((start, end));
        }
        if plan.month.lmt_seconds > 0 {
            facts
                .loads
                .extend(loads(&span, &job, start, workload, &log.log));
        }
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
        (facts.logs, facts.bytes) = (facts.logs + 1, facts.bytes + bytes.len() as u64);
        if facts.duplicated() {
            let copy = Path::new("restored").join(format!("log{index:06}.darshan"));
            facts.bytes += bytes.len() as u64;
            if let Some(special) = &mut facts.special {
                special.copy = Some(copy.display().to_string());
            }
            files.push((copy, bytes.clone()));
        }
        files.push((log.path.clone(), bytes));
    }
    facts.loads.shrink_to_fit();
    (facts, files)
}

fn create_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "cannot create", e))
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| Error::io(path, "cannot write", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::darshan::Darshan;
    use crate::source::{BatchSink, Input, Site, Source, Status};
    use crate::synth::MonthLog;
    use arrow::array::{AsArray, RecordBatch};
    use arrow::datatypes::{Float64Type, Int64Type};
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;
    use std::sync::Arc;

    /// Every file below a directory, by path.
    fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let walk = walkdir::WalkDir::new(dir)
            .into_iter()
            .map(|entry| entry.unwrap());
        let files = walk.filter(|entry| entry.file_type().is_file());
        files
            .map(|e| {
                (
                    e.path().strip_prefix(dir).unwrap().to_path_buf(),
                    std::fs::read(e.path()).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn a_month_on_one_thread_equals_that_on_three_and_truth_counts_its_files() {
        let month = Month::new(60, 4);
        let dir = tempfile::tempdir().unwrap();
        let (one, three) = (dir.path().join("one"), dir.path().join("three"));
        let done = std::cell::Cell::new(0);
        let summary = write_with(&month, &one, 1, &|jobs| done.set(jobs)).unwrap();
        assert_eq!(
            (summary, done.get()),
            (write_with(&month, &three, 3, &|_| ()).unwrap(), 60)
        );
        let written = files(&one);
        assert!(written == files(&three), "the files differ");

        let truth: serde_json::Value =
            serde_json::from_slice(&written[Path::new("truth.json")]).unwrap();
        let logs: Vec<_> = written
            .iter()
            .filter(|(path, _)| path.to_string_lossy().ends_with(".darshan"))
            .collect();
        assert_eq!(
            (
                logs.len() as u64,
                logs.iter().map(|(_, b)| b.len() as u64).sum()
            ),
            (summary.files, summary.bytes)
        );
        assert_eq!(truth["counts"]["files"], summary.files);
        assert_eq!(truth["counts"]["logs"], summary.logs);
        for cut in truth["damaged"].as_array().unwrap() {
            let bytes = &written[Path::new(cut["log"].as_str().unwrap())];
            assert_eq!(cut["bytes"], bytes.len());
            assert!(cut["whole_bytes"].as_u64().unwrap() > bytes.len() as u64);
        }
        let copy = &truth["duplicates"][0];
        let path = |key: &str| PathBuf::from(copy[key].as_str().unwrap());
        assert_eq!(written[&path("log")], written[&path("copy")]);
        assert!(!written[Path::new("Makefile.darshan")].starts_with(b"3."));
        assert_eq!(truth["damaged"].as_array().unwrap().len(), 3);
        assert_eq!(truth["faults"].as_array().unwrap().len(), 6);

        let error = write(&month, &one, &|_| ()).unwrap_err().to_string();
        assert!(
            error.ends_with("the directory is not empty; give one that is new"),
            "{error}"
        );
    }

    #[test]
    fn a_month_of_logs_alone_has_an_entry_for_each_job() {
        for kind in [Kind::Causes, Kind::Clean, Kind::SlowOst] {
            let month = Month::of(kind, 30, 3);
            let dir = tempfile::tempdir().unwrap();
            let (one, three) = (dir.path().join("one"), dir.path().join("three"));
            let summary = write_with(&month, &one, 1, &|_| ()).unwrap();
            assert_eq!(summary, write_with(&month, &three, 3, &|_| ()).unwrap());
            assert_eq!((summary.logs, summary.files, summary.dumps), (30, 30, 0));
            let mut written = files(&one);
            assert!(written == files(&three), "the files differ");
            assert!(written.remove(Path::new("site.toml")).is_some());
            let truth = written.remove(Path::new("truth.json")).unwrap();
            let truth: serde_json::Value = serde_json::from_slice(&truth).unwrap();
            assert_eq!(truth["kind"], kind.name());
            let mut tables = BatchSink::new(["darshan_log", "darshan_file"]).unwrap();
            let mut reader = Darshan.reader(Arc::new(Site::default()));
            for (at, job) in truth["jobs"].as_array().unwrap().iter().enumerate() {
                let path = Path::new(job["log"].as_str().unwrap());
                let input = Input::from_bytes(path, written.remove(path).unwrap());
                let id = input.hash().unwrap();
                let outcome = reader.read(&input, id, &mut tables).unwrap();
                assert_eq!(outcome.status, Status::Ok);
                assert_eq!(job["job_id"], month.log(at as u64).job.job_id);
                match kind {
                    Kind::SlowOst => assert!(job["app"].is_string()),
                    _ => assert!(job["causes"].is_array() && job["direction"].is_string()),
                }
            }
            assert!(written.is_empty(), "{:?}", written.keys());
        }
    }

    /// Readers of a month quote its numbers: another kind of month, or a helper that both share, must not change one byte of it.
    #[test]
    fn the_bytes_of_the_usual_month_stay_what_they_were() {
        let dir = tempfile::tempdir().unwrap();
        write_with(&Month::new(80, 4), dir.path(), 2, &|_| ()).unwrap();
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for (path, bytes) in files(dir.path()) {
            hash.update(path.to_string_lossy().as_bytes());
            hash.update(&bytes);
        }
        // The neighbours and what runs outside Slurm, too.
        let plan = Plan::new(Month::complete(100, 9));
        for index in plan.month.jobs..plan.month.all_jobs() {
            for (MonthLog { path, log }, _) in workloads(&plan, index).1 {
                hash.update(path.to_string_lossy().as_bytes());
                hash.update(&log.to_bytes());
            }
        }
        // As first written; the hash is of compressed bytes, so that another release of the compressor has another one.
        assert_eq!(hash.digest(), 17_962_899_731_982_467_881);
    }

    #[test]
    fn accounting_and_samples_are_the_same_on_any_number_of_threads() {
        let month = Month::complete(40, 11);
        let dir = tempfile::tempdir().unwrap();
        let (one, three) = (dir.path().join("one"), dir.path().join("three"));
        let summary = write_with(&month, &one, 1, &|_| ()).unwrap();
        assert_eq!(summary, write_with(&month, &three, 3, &|_| ()).unwrap());
        let written = files(&one);
        assert!(written == files(&three), "the files differ");
        let paths = Month::paths(&one);
        let bytes = |below: &Path| -> (u64, u64) {
            let below = below.strip_prefix(&one).unwrap();
            let mine = written.iter().filter(|(path, _)| path.starts_with(below));
            mine.fold((0, 0), |sum, (_, bytes)| {
                (sum.0 + 1, sum.1 + bytes.len() as u64)
            })
        };
        let (slurm, lmt) = (bytes(&paths.slurm), bytes(&paths.lmt));
        assert_eq!((slurm.0, lmt.0), (30, 4));
        assert_eq!((summary.dumps, summary.dump_bytes), (34, slurm.1 + lmt.1));
        assert!(paths.site.exists() && paths.truth.exists());
        // The logs are those of the month without them.
        let bare = dir.path().join("bare");
        write(&Month::new(40, 11), &bare, &|_| ()).unwrap();
        for (path, bytes) in files(&bare) {
            assert!(
                path == Path::new("truth.json") || written[&path] == bytes,
                "{path:?}"
            );
        }
    }

    fn column(batch: &RecordBatch, name: &str) -> Vec<i64> {
        let column = batch.column_by_name(name).unwrap();
        column.as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn the_reader_finds_in_a_month_what_truth_says_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let summary = write(&Month::new(150, 5), dir.path(), &|_| ()).unwrap();
        let written = files(dir.path());
        let truth: serde_json::Value =
            serde_json::from_slice(&written[Path::new("truth.json")]).unwrap();
        let mut tables = BatchSink::new(["darshan_log", "darshan_file"]).unwrap();
        let mut reader = Darshan.reader(Arc::new(Site::default()));
        let (mut found, mut seen) = (BTreeMap::new(), BTreeSet::new());
        for (path, bytes) in written {
            if path
                .extension()
                .is_none_or(|extension| extension != "darshan")
            {
                continue;
            }
            let input = Input::from_bytes(&path, bytes);
            let id = input.hash().unwrap();
            let status = match reader.read(&input, id, &mut tables) {
                _ if !seen.insert(id) => "duplicate",
                Err(_) => "no log",
                Ok(outcome) if outcome.status == Status::Damaged => "damaged",
                Ok(outcome) if outcome.status == Status::Partial => "partial",
                Ok(_) => "ok",
            };
            found
                .entry(status)
                .or_insert_with(Vec::new)
                .push((path, id));
        }
        let paths = |status: &str| -> Vec<String> {
            found[status]
                .iter()
                .map(|(path, _)| path.display().to_string())
                .collect()
        };
        let of = |list: &str, key: &str| -> Vec<String> {
            let mut of: Vec<String> = (truth[list].as_array().unwrap().iter())
                .map(|entry| entry[key].as_str().unwrap().to_string())
                .collect();
            of.sort();
            of
        };
        assert_eq!(paths("no log"), ["Makefile.darshan"]);
        assert_eq!(paths("duplicate"), of("duplicates", "copy"));
        assert_eq!(paths("damaged"), of("damaged", "log"));
        assert_eq!(paths("partial"), of("partial", "log"));
        assert_eq!(
            found.values().map(Vec::len).sum::<usize>() as u64,
            summary.files
        );

        let damaged: BTreeSet<i64> = found["damaged"].iter().map(|(_, id)| *id).collect();
        let mut once = BTreeSet::new();
        let logs = tables.get("darshan_log").unwrap().finish().unwrap();
        let (mut read, mut wrote) = (0, 0);
        let ids = column(&logs, "log_id").into_iter();
        let moved = column(&logs, "bytes_read")
            .into_iter()
            .zip(column(&logs, "bytes_written"));
        for (id, (bytes_read, bytes_written)) in ids.zip(moved) {
            if once.insert(id) && !damaged.contains(&id) {
                (read, wrote) = (read + bytes_read, wrote + bytes_written);
            }
        }
        assert_eq!(once.len() as u64, summary.logs);
        let totals = &truth["totals"];
        assert_eq!(
            (&totals["bytes_read"], &totals["bytes_written"]),
            (&read.into(), &wrote.into())
        );

        // The time on the critical path, which the tables derive from windows, is that which was planned.
        let jobs = column(&logs, "job_id");
        for fault in truth["faults"].as_array().unwrap() {
            for planted in fault["jobs"].as_array().into_iter().flatten() {
                let row = jobs.iter().position(|id| planted["job_id"] == *id).unwrap();
                let numbers = &planted["numbers"];
                let name = format!("critical_{}_time", numbers["direction"].as_str().unwrap());
                let time = logs
                    .column_by_name(&name)
                    .unwrap()
                    .as_primitive::<Float64Type>()
                    .value(row);
                let planned = numbers["critical_seconds"].as_f64().unwrap();
                // Reading the configuration from /home takes a moment, too.
                assert!(
                    (time / planned - 1.0).abs() < 0.01,
                    "{}: {time} s, not {planned}",
                    fault["kind"]
                );
            }
        }
    }
}
