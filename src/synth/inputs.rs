//! A month as files, or as inputs of a lake that are generated when they are read.
//!
//! Both go through [`generate`]: every log is made once, which tells how large it is, whose it is and when it ran. The accounting,
//! the samples and the partitions of the lake depend on that; nothing else is kept. Files are written on the way; inputs of a lake
//! are made a second time when somebody reads them.

use super::lmt::Databases;
use super::lmt::load::{Load, loads};
use super::lmt::span::Span;
use super::month::{DAY, Kind, Month, MonthLog};
use super::scenario::job::Scenario;
use super::scenario::plan::Plan;
use super::slurm::{Accounting, RunTimes};
use super::truth::{Dumps, Facts, truth};
use super::{darshan, scenario, site};
use crate::error::{Error, Result};
use crate::math::random::Random;
use crate::source::darshan::Darshan;
use crate::source::darshan::write::Encoder;
use crate::source::{Input, InputMeta, InputProvider, Peek, Source};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use xxhash_rust::xxh3::xxh3_64;

/// The inputs of a month, made when they are read: the same bytes under the same paths as [`write()`] has them.
pub struct GeneratedInputs {
    plan: Plan,
    root: PathBuf,
    accounting: Option<Accounting>,
    databases: Option<Databases>,
    inputs: Vec<Known>,
    /// Place in `inputs` by the hash of the path.
    places: HashMap<u64, u32>,
    summary: Summary,
    truth: String,
    cache: Mutex<Cache>,
}

/// What a month holds.
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
    /// Their bytes, as far as they were written.
    pub dump_bytes: u64,
}

/// What is known of an input.
struct Known {
    /// Below the root.
    path: Box<Path>,
    bytes: u64,
    /// Seconds since 1970.
    modified: i64,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// File `number` of a job, and where its rows belong, if that is known.
    Log {
        job: u32,
        number: u32,
        peek: Option<Peek>,
    },
    NotDarshan,
    /// The dump of a day.
    Slurm(i64),
    /// A database.
    Lmt(usize),
}

/// Encoders, and logs that were generated with others of their jobs and are still to be read.
#[derive(Default)]
struct Cache {
    encoders: Vec<Encoder>,
    /// Logs that were made with others of their job, by job and number.
    logs: HashMap<(u32, u32), Vec<u8>>,
}

/// Logs with their paths below the directory of the month.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// A file that ends in `.darshan` and is none, as there is one in Darshan's own source.
const NOT_DARSHAN: (&str, &str) = (
    "Makefile.darshan",
    "# Build rules for programs that are linked with Darshan.\nDARSHAN_PREFIX = /sw/darshan/3.4.7\n\nall: app.darshan\n\n\
     app.darshan: app.o\n\t$(LD) -o $@ $^ -L$(DARSHAN_PREFIX)/lib -ldarshan\n",
);

/// Bytes of logs that are kept because others of their jobs were asked for.
const KEPT: usize = 16 << 20;

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

/// Checks that a directory is not there yet, or empty.
///
/// # Errors
/// [`Error::Invalid`] if it is not.
pub fn check_new(directory: &Path) -> Result<()> {
    let filled = |entries: std::fs::ReadDir| entries.into_iter().next().is_some();
    match std::fs::read_dir(directory).is_ok_and(filled) {
        true => Err(Error::Invalid(format!(
            "{}: the directory is not empty; give one that is new",
            directory.display()
        ))),
        false => Ok(()),
    }
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
    check_new(out)?;
    create_dir(out)?;
    let made = generate(month, out, threads, progress, true)?;
    let paths = Month::paths(out);
    if month.kind != Kind::Usual || made.summary.dumps > 0 {
        save(&paths.site, site::text().as_bytes())?;
    }
    save(&paths.truth, made.truth.as_bytes())?;
    Ok(made.summary)
}

impl GeneratedInputs {
    /// A month whose files would lie below `root`, an absolute path at which nothing needs to be. Every log is made once, on so many
    /// threads; `progress` is called on this one with the number of jobs done.
    ///
    /// # Errors
    /// [`Error::Invalid`] if what was planted is no JSON, which it always is.
    pub fn new(month: &Month, root: &Path, threads: usize, progress: &dyn Fn(u64)) -> Result<Self> {
        generate(month, root, threads, progress, false)
    }

    /// What the month holds; the bytes of dumps are 0, for they are not generated yet.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// What was planted: the text of `truth.json`.
    pub fn truth(&self) -> &str {
        &self.truth
    }

    /// What the site knows: the text of `site.toml`.
    pub fn site() -> String {
        site::text()
    }

    fn find(&self, path: &Path) -> Option<&Known> {
        let at = *self.places.get(&hash(path))?;
        let found = &self.inputs[at as usize];
        (path.strip_prefix(&self.root).ok()? == &*found.path).then_some(found)
    }

    /// File `number` of a job. The others that are made with it go into the cache, for a job's logs are read one after another.
    fn log(&self, job: u32, number: u32) -> Vec<u8> {
        let mut encoder = None;
        if let Ok(mut cache) = self.cache.lock() {
            if let Some(bytes) = cache.logs.remove(&(job, number)) {
                return bytes;
            }
            encoder = cache.encoders.pop();
        }
        let mut encoder = encoder.unwrap_or_default();
        let (.., mut files) = make_job(&self.plan, u64::from(job), &mut encoder);
        let wanted = std::mem::take(&mut files[number as usize].1);
        if let Ok(mut cache) = self.cache.lock() {
            cache.encoders.push(encoder);
            let others = files.into_iter().zip(0..);
            for ((_, bytes), other) in others.filter(|(_, other)| *other != number) {
                let kept: usize = cache.logs.values().map(Vec::len).sum();
                if kept + bytes.len() > KEPT {
                    cache.logs.clear();
                }
                cache.logs.insert((job, other), bytes);
            }
        }
        wanted
    }
}

impl InputProvider for GeneratedInputs {
    fn list(&self) -> Vec<InputMeta> {
        let listed = self.inputs.iter().map(|input| InputMeta {
            path: self.root.join(&input.path),
            bytes: input.bytes,
            modified: input.modified * 1_000_000,
        });
        listed.collect()
    }

    fn peek(&self, path: &Path) -> Option<(&'static str, Peek)> {
        match self.find(path)?.what {
            What::Log { peek, .. } => Some(("darshan", peek?)),
            What::NotDarshan => None,
            What::Slurm(_) => Some(("slurm", Peek::Dump)),
            What::Lmt(_) => Some(("lmt", Peek::Dump)),
        }
    }

    fn open(&self, path: &Path) -> Result<Input> {
        let nothing = || {
            let why = std::io::Error::other("the month has no such input");
            Error::io(path, "cannot open", why)
        };
        let input = self.find(path).ok_or_else(nothing)?;
        let made = match (input.what, &self.accounting, &self.databases) {
            (What::Log { job, number, .. }, ..) => Input::from_bytes(path, self.log(job, number)),
            (What::NotDarshan, ..) => Input::from_bytes(path, NOT_DARSHAN.1.into()),
            (What::Slurm(day), Some(accounting), _) => {
                Input::from_bytes(path, accounting.dump(day).into_bytes())
            }
            (What::Lmt(at), _, Some(databases)) => {
                let no_file =
                    |e| Error::io(std::env::temp_dir(), "cannot make a temporary file", e);
                let file = tempfile::NamedTempFile::new().map_err(no_file)?;
                let file = file.into_temp_path();
                databases.write(at, &file)?;
                Input::from_temporary(path, file)?
            }
            _ => return Err(nothing()),
        };
        Ok(made.with_modified(input.modified * 1_000_000))
    }
}

/// Makes every input of a month whose files lie below `root`, and writes them there if they are wanted.
fn generate(
    month: &Month,
    root: &Path,
    threads: usize,
    progress: &dyn Fn(u64),
    is_written: bool,
) -> Result<GeneratedInputs> {
    let (plan, below) = (Plan::new(*month), Month::paths(Path::new("")));
    let one_job = |index: u64, encoder: &mut Encoder| {
        let (facts, windows, loads, files) = make_job(&plan, index, encoder);
        let ended = windows.iter().map(|(_, end)| *end as i64).max();
        let mut known = vec![];
        for ((path, bytes), number) in files.into_iter().zip(0..) {
            let length = bytes.len() as u64;
            let peek = match is_written {
                true => save(&root.join(&path), &bytes).map(|_| None)?,
                false => peek(&path, bytes),
            };
            let job = index as u32;
            let what = What::Log { job, number, peek };
            known.push(Known::new(path, length, ended.unwrap_or(month.end()), what));
        }
        Ok(((facts, windows), (loads, known)))
    };
    let done = |jobs: u64| progress(jobs.min(month.jobs));
    let made = on_threads(threads, scenario::count(month), &one_job, &done)?;
    let ((facts, windows), (loads, known)): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) =
        made.into_iter().unzip();
    let mut inputs: Vec<Known> = known.into_iter().flatten().collect();
    if month.kind == Kind::Usual {
        let (name, text) = NOT_DARSHAN;
        if is_written {
            save(&root.join(name), text.as_bytes())?;
        }
        let (length, what) = (text.len() as u64, What::NotDarshan);
        inputs.push(Known::new(name.into(), length, month.start, what));
    }

    let mut dumps = Dumps::new();
    let (mut accounting, mut databases) = (None, None);
    if month.kind == Kind::Usual && (month.slurm || month.lmt_seconds > 0) {
        let made = Accounting::new(month, windows);
        if month.slurm {
            dumps.push(("slurm", made.truth()));
            let one_day = |day: u64, _: &mut Encoder| {
                let day = day as i64;
                let path = below.slurm.join(made.name(day));
                let length = match is_written {
                    true => save(&root.join(&path), made.dump(day).as_bytes())?,
                    false => 0,
                };
                let printed = month.start + (day + 1) * DAY;
                Ok(Known::new(path, length, printed, What::Slurm(day)))
            };
            inputs.extend(on_threads(threads, month.days as u64, &one_day, &|_| ())?);
        }
        if month.lmt_seconds > 0 {
            let dir = root.join(&below.lmt);
            if is_written {
                create_dir(&dir)?;
            }
            let mut all = Vec::with_capacity(loads.iter().map(Vec::len).sum());
            all.extend(loads.into_iter().flatten());
            all.extend(made.loads(&Span::of(month)));
            let (list, planted) = Databases::new(month, all, is_written.then_some(&*dir))?;
            dumps.push(("lmt", planted));
            for (at, (name, printed, length)) in list.files().enumerate() {
                let path = below.lmt.join(name);
                inputs.push(Known::new(path, length, printed, What::Lmt(at)));
            }
            databases = Some(list);
        }
        accounting = Some(made).filter(|_| month.slurm);
    }
    let mut summary = Summary {
        jobs: month.jobs,
        logs: facts.iter().map(|facts| facts.logs).sum(),
        ..Summary::default()
    };
    for input in &inputs {
        let (count, bytes) = match input.what {
            What::Log { .. } | What::NotDarshan => (&mut summary.files, &mut summary.bytes),
            What::Slurm(_) | What::Lmt(_) => (&mut summary.dumps, &mut summary.dump_bytes),
        };
        (*count, *bytes) = (*count + 1, *bytes + input.bytes);
    }
    let places = inputs.iter().zip(0..);
    let places = places.map(|(input, at)| (hash(&root.join(&input.path)), at));
    let truth = serde_json::to_string_pretty(&truth(month, &facts, dumps, NOT_DARSHAN.0));
    let truth = truth.map_err(|e| Error::Invalid(format!("truth.json: {e}")))?;
    Ok(GeneratedInputs {
        root: root.to_path_buf(),
        databases,
        places: places.collect(),
        summary,
        truth: truth + "\n",
        cache: Mutex::default(),
        accounting,
        inputs,
        plan,
    })
}

impl Known {
    fn new(path: PathBuf, bytes: u64, modified: i64, what: What) -> Self {
        Self {
            path: path.into(),
            bytes,
            modified,
            what,
        }
    }
}

/// The partition of a log's rows. None for an input that the reader refuses: the lake finds the reason when it reads it.
fn peek(path: &Path, bytes: Vec<u8>) -> Option<Peek> {
    let known = Darshan.probe(path, &bytes[..bytes.len().min(4096)]);
    let peek = known.then(|| Darshan.peek(&Input::from_bytes(path, bytes)).ok());
    peek.flatten()
}

/// Calls `work` with every number below `count` on so many threads, each with an encoder of its own; what it returns, in order.
/// `progress` is called on this thread with how many are done. The first error ends it.
fn on_threads<T: Send>(
    threads: usize,
    count: u64,
    work: &(dyn Fn(u64, &mut Encoder) -> Result<T> + Sync),
    progress: &dyn Fn(u64),
) -> Result<Vec<T>> {
    let next = AtomicU64::new(0);
    let mut results: Vec<Option<T>> = vec![];
    results.resize_with(count as usize, || None);
    std::thread::scope(|scope| -> Result<()> {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                let mut encoder = Encoder::default();
                let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
                for index in numbers.take_while(|index| *index < count) {
                    // The receiver is gone once one has failed.
                    if sender.send((index, work(index, &mut encoder))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (done, (index, result)) in (1..).zip(receiver) {
            results[index as usize] = Some(result?);
            progress(done);
        }
        Ok(())
    })?;
    Ok(results.into_iter().flatten().collect())
}

/// What truth.json says of a job, when its logs ran, their loads, and the files: the logs and the copy of one.
fn make_job(plan: &Plan, index: u64, encoder: &mut Encoder) -> (Facts, RunTimes, Vec<Load>, Files) {
    let (month, job) = (&plan.month, scenario::job(plan, index));
    let logs = darshan::logs(plan, &job);
    let mut facts = Facts::of(&job, &logs);
    let span = Span::of(month);
    let (mut windows, mut all_loads, mut files) = (vec![], vec![], vec![]);
    for (MonthLog { path, log }, workload) in logs {
        let moment = |(seconds, nanos): (i64, i64)| seconds as f64 + nanos as f64 * 1e-9;
        let (start, end) = (moment(log.job.start), moment(log.job.end));
        if month.slurm || month.lmt_seconds > 0 {
            windows.push((start, end));
        }
        if month.lmt_seconds > 0 {
            all_loads.extend(loads(&span, &job, start, &workload, &log));
        }
        let mut bytes = log.to_bytes_with(encoder);
        match job.scenario {
            Some(Scenario::Damaged) => {
                // It ends behind the header and before the end, as an interrupted copy.
                let whole = bytes.len();
                let share = Random::new(month.seed, !index).float(0.4, 0.95);
                let body = (whole.saturating_sub(1400) as f64 * share) as usize;
                bytes.truncate((1400 + body).min(whole - 1));
                facts.tell(json!({"bytes": bytes.len(), "whole_bytes": whole}));
            }
            Some(Scenario::Duplicate) => {
                let copy = Path::new("restored").join(format!("log{index:06}.darshan"));
                facts.tell(json!({"copy": copy}));
                files.push((copy, bytes.clone()));
            }
            _ => {}
        }
        files.push((path, bytes));
    }
    all_loads.shrink_to_fit();
    (facts, windows, all_loads, files)
}

fn hash(path: &Path) -> u64 {
    xxh3_64(path.as_os_str().as_encoded_bytes())
}

fn create_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "cannot create", e))
}

/// Writes a file, and its directory where there is none; its length.
fn save(path: &Path, bytes: &[u8]) -> Result<u64> {
    create_dir(path.parent().unwrap_or(path))?;
    std::fs::write(path, bytes).map_err(|e| Error::io(path, "cannot write", e))?;
    Ok(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{BatchSink, ReadContext, Status};
    use crate::synth::MonthLog;
    use arrow::array::{AsArray, RecordBatch};
    use arrow::datatypes::{Float64Type, Int64Type};
    use std::collections::{BTreeMap, BTreeSet};
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
        for kind in [Kind::Causes, Kind::Clean, Kind::SlowOst, Kind::Periods] {
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
            let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
            for (at, job) in truth["jobs"].as_array().unwrap().iter().enumerate() {
                let path = Path::new(job["log"].as_str().unwrap());
                let input = Input::from_bytes(path, written.remove(path).unwrap());
                let id = input.hash().unwrap();
                let outcome = reader.read(&input, id, None, &mut tables).unwrap();
                assert_eq!(outcome.status, Status::Ok);
                assert_eq!(job["job_id"], month.log(at as u64).job.job_id);
                match kind {
                    Kind::SlowOst => assert!(job["app"].is_string()),
                    Kind::Periods => assert!(job["periods"].is_array()),
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
        for index in plan.month.jobs..scenario::count(&plan.month) {
            for (MonthLog { path, log }, _) in darshan::logs(&plan, &scenario::job(&plan, index)) {
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
        let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
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
            let status = match reader.read(&input, id, None, &mut tables) {
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
