//! A synthetic month of Darshan logs, Slurm accounting and LMT samples that agree with one another, for tests, benchmarks
//! and demos: the same path as real ones, with known answers.
//!
//! A [`Month`] is a kind, a number of jobs and a seed, and nothing else goes in: no clock, no machine, no order of threads.
//! Job `i` is a pure function of them ([`Month::logs`]), so that a month of any size costs no memory and its logs can be made
//! on many threads.
//!
//! ```text
//! plan      which program job i is, how large, how many bytes, when, and what is planted in it
//! shape     what that kind of program does: phases of reads and writes            fault: the same for planted faults
//! workload     how long each takes on the processes and OSTs that it has             system: the OSTs, one of them slow
//! realistic  how real logs repeat themselves
//! record    what Darshan counts of it        trace: request by request, by time
//! log       records, names and job as a DarshanLog, which darshan::write writes
//! neighbour two jobs on the same OSTs at the same time                 unscheduled: runs that are no jobs
//! slurm     the accounting of these jobs and of others that left no log, as sacct prints it day by day
//! load      what a log's I/O is to the servers        lmt      their counters, sampled every 5 s
//! site      which mount is which file system
//! write     all of it as files        supply    as inputs that are made when a lake reads them
//! ```
//!
//! Three further kinds of months ([`Kind`]) measure how well causes are told apart. They have Darshan logs alone, each job one:
//!
//! ```text
//! case      which job has which causes, of which size, or a decoy, or nothing; what goes into its log
//! cause     causes and decoys: who moves files that lie where, in which order and requests        healthy: everything else
//! stage     files whose times are given, scaled to the share of the time that they should have
//! slow_ost  the month of one slow OST under striped files, and programs that look like it
//! ```
//!
//! The mixture follows what the IOMiner paper found on Cori (section III): shares of programs, sizes, read ratios,
//! consecutive requests and interfaces are dealt out exactly in every 1,000 jobs (`app::APPS`), bytes are heavy-tailed.
//! Numbers agree with one another as they do in real logs: sizes sum to bytes, times to what an OST can do, POSIX carries
//! what came through MPI-IO. What was planted is written to `truth.json`.
//! In months of the other kinds that is a list `jobs` with one entry for each job.

mod darshan;
mod inputs;
mod lmt;
pub(crate) mod random;
mod scenario;
mod site;
mod slurm;
mod system;
mod truth;
mod workload;
mod write;

pub use inputs::GeneratedInputs;
pub use scenario::kind::Kind;
pub use write::{Summary, write, write_with};

use crate::source::darshan::write::DarshanLog;
use chrono::{DateTime, Datelike, Timelike, Utc};
use random::{Random, mix};
use scenario::plan::{Job, Plan, Plant};
use scenario::{case, neighbour, slow_ost, unscheduled};
use std::path::{Path, PathBuf};
use system::System;
use workload::app::Interface;
use workload::{Workload, realistic, shape};

/// A synthetic month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Month {
    /// What it is for. But for the usual one a month has logs alone, whatever else it asks for.
    pub kind: Kind,
    /// Jobs. In the usual month some have several logs: about 1.15 for each job.
    pub jobs: u64,
    /// Another seed is another month.
    pub seed: u64,
    /// When it starts, seconds since 1970, UTC: a midnight.
    pub start: i64,
    /// Its days.
    pub days: i64,
    /// Whether the Slurm accounting is written beside the logs.
    pub slurm: bool,
    /// Seconds of LMT samples that are written beside the logs; 0 for none.
    pub lmt_seconds: i64,
    /// Whether its logs compress as real ones do, and as few jobs have a striping of their own as on Cori. What is known of months
    /// without it depends on every byte of theirs.
    pub realistic: bool,
}

/// Jobs with logs of a month that has a million logs.
const LOGGED_JOBS: f64 = 870_000.0;

/// Where the parts of a month lie below its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The Darshan logs, in `YYYY/M/D/`.
    pub logs: PathBuf,
    /// Dumps of sacct, one a day: text until the middle of the month, JSON from there on.
    pub slurm: PathBuf,
    /// LMT databases, SQLite and mysqldump in turns.
    pub lmt: PathBuf,
    /// What the site knows: mounts, file systems, zone, cluster.
    pub site: PathBuf,
    /// What was planted.
    pub truth: PathBuf,
}

/// A log of a month.
#[derive(Clone, Debug, PartialEq)]
pub struct MonthLog {
    /// Where it belongs: `YYYY/M/D/` and the name that Darshan would give it.
    pub path: PathBuf,
    /// What it holds.
    pub log: DarshanLog,
}

impl Month {
    /// The Darshan logs of September 2026 with so many jobs, and nothing else.
    pub fn new(jobs: u64, seed: u64) -> Self {
        Self {
            kind: Kind::Usual,
            jobs,
            seed,
            start: 1_788_220_800,
            days: 30,
            slurm: false,
            lmt_seconds: 0,
            realistic: false,
        }
    }

    /// The logs of a month of another kind.
    pub fn of(kind: Kind, jobs: u64, seed: u64) -> Self {
        Self {
            kind,
            ..Self::new(jobs, seed)
        }
    }

    /// The same logs with the Slurm accounting and some LMT: two hours, which are 40 MB, for 1,000 jobs and more; one hour
    /// for 100 and more; ten minutes for fewer. A whole month of samples every 5 s would be 15 GB.
    pub fn complete(jobs: u64, seed: u64) -> Self {
        let lmt_seconds = match jobs {
            0..100 => 600,
            100..1000 => 3600,
            _ => 2 * 3600,
        };
        Self {
            slurm: true,
            lmt_seconds,
            ..Self::new(jobs, seed)
        }
    }

    /// The month of a machine like Cori at a scale: 1 has a million logs with some 30 million files, a million jobs in the
    /// accounting, and 30 days of LMT with 4.3 million rows of OSTs each. Days of LMT are in proportion, at least 1, if they are
    /// not given.
    pub fn scaled(scale: f64, days: Option<i64>, seed: u64) -> Self {
        let whole = Self::new(((LOGGED_JOBS * scale).round() as u64).max(1), seed);
        let days =
            days.unwrap_or_else(|| ((whole.days as f64 * scale - 1e-9).ceil() as i64).max(1));
        Self {
            slurm: true,
            lmt_seconds: days.clamp(0, whole.days) * 86_400,
            realistic: true,
            ..whole
        }
    }

    /// Where the parts lie of a month that was written to `out`.
    pub fn paths(out: &Path) -> Paths {
        Paths {
            logs: out.to_path_buf(),
            slurm: out.join("slurm"),
            lmt: out.join("lmt"),
            site: out.join("site.toml"),
            truth: out.join("truth.json"),
        }
    }

    /// Its jobs and those that come on top: what is planted for Slurm and LMT changes nothing else.
    fn all_jobs(&self) -> u64 {
        match self.kind {
            Kind::Usual => self.jobs + neighbour::count(self) + unscheduled::count(self),
            _ => self.jobs,
        }
    }

    /// When it is over, seconds since 1970.
    fn end(&self) -> i64 {
        self.start + self.days * 86_400
    }

    /// The logs of job `index`, from the first on: one for most jobs; several side by side for programs that fork, or
    /// one after another for jobs with several steps. All have the same job id.
    pub fn logs(&self, index: u64) -> Vec<MonthLog> {
        let plan = Plan::new(*self);
        logs(&plan, &plan.job(index))
            .into_iter()
            .map(|(log, _)| log)
            .collect()
    }

    /// The first log of job `index`.
    pub fn log(&self, index: u64) -> DarshanLog {
        let plan = Plan::new(*self);
        let job = Job {
            logs: 1,
            ..plan.job(index)
        };
        let mut logs = logs(&plan, &job);
        logs.swap_remove(0).0.log
    }
}

/// Job `index`: one of the month's, or one of those that come on top.
fn job(plan: &Plan, index: u64) -> Job {
    let neighbours = neighbour::count(&plan.month);
    match index.checked_sub(plan.month.jobs) {
        None => plan.job(index),
        Some(number) if number < neighbours => neighbour::job(plan, number),
        Some(number) => unscheduled::job(plan, number - neighbours, index),
    }
}

/// Job `index` with its logs, and the workloads that they tell of.
fn workloads(plan: &Plan, index: u64) -> (Job, Vec<(MonthLog, Workload)>) {
    let job = job(plan, index);
    let made = match index.checked_sub(plan.month.jobs) {
        Some(number) if number < neighbour::count(&plan.month) => {
            neighbour::workload(plan, &job, number)
        }
        _ => logs(plan, &job),
    };
    (job, made)
}

/// The logs of a job, and the workloads that they tell of.
fn logs(plan: &Plan, job: &Job) -> Vec<(MonthLog, Workload)> {
    match &job.plant {
        Some(Plant::Case(case)) => return case::logs(plan, job, case),
        Some(Plant::Role(role)) => return slow_ost::logs(plan, job, *role),
        _ => {}
    }
    let seed = plan.month.seed;
    let system = System::new(seed);
    let mut start = job.start;
    let mut first_pid = None;
    let mut made: Vec<(MonthLog, Workload)> = vec![];
    for number in 0..job.logs {
        let mut random = Random::new(mix(seed).wrapping_add(number), job.index);
        let share = |bytes: i64| bytes / job.logs as i64;
        let mut workload = Workload::new(job, system, Random::new(random.bits(), 0));
        workload.realistic = plan.month.realistic;
        workload.alike =
            workload.realistic && job.plant.is_none() && random.chance(realistic::ALIKE);
        if job.plant == Some(Plant::CustomStriping) {
            workload.stripe = *random.pick(&[
                (4 << 20, 64),
                (16 << 20, 24),
                (1 << 20, 248),
                (32 << 20, 96),
                (8 << 20, 8),
            ]);
            workload.progressive = random.chance(0.4);
        }
        // Collective buffering has requests of one size, too many to trace.
        let traceable = job.interface == Interface::Posix && job.nprocs <= 16;
        if job.plant.is_none() && traceable && random.chance(0.1) {
            workload.traced = Some((120 / job.nprocs).clamp(8, 60));
        }
        shape::phases(&mut workload, job, share(job.read), share(job.written));

        let pid = random.int(2_000, 400_000);
        let parent = first_pid.filter(|_| job.app.forks);
        first_pid.get_or_insert(pid);
        let log = darshan::log(job, &mut workload, start, parent);
        let path = path(job, start, pid, &mut random);
        start += match job.app.forks {
            true => random.float(0.0, 3.0),
            false => workload.clock + random.float(2.0, 90.0),
        };
        made.push((MonthLog { path, log }, workload));
    }
    made
}

/// The log of a job that has but one.
fn only_log(job: &Job, mut workload: Workload, random: &mut Random) -> (MonthLog, Workload) {
    let log = darshan::log(job, &mut workload, job.start, None);
    let pid = random.int(2_000, 400_000);
    let path = path(job, job.start, pid, random);
    (MonthLog { path, log }, workload)
}

/// Where Darshan would put a log that started then, in UTC.
fn path(job: &Job, start: f64, pid: i64, random: &mut Random) -> PathBuf {
    let time: DateTime<Utc> = DateTime::from_timestamp(start as i64, 0).unwrap_or_default();
    let (month, day, seconds) = (time.month(), time.day(), time.num_seconds_from_midnight());
    let program = job
        .app
        .command
        .split(' ')
        .next()
        .and_then(|command| command.rsplit('/').next());
    let program = program
        .filter(|program| !program.contains('{'))
        .unwrap_or(&job.program);
    // Since 3.3.1 the process id is in the name.
    let process = if job.library.release >= "3.3" {
        format!("-{pid}")
    } else {
        String::new()
    };
    let (user, id, hash, took) = (&job.user, job.job_id, random.bits(), random.int(1, 4));
    PathBuf::from(format!("{}/{month}/{day}", time.year())).join(format!(
        "{user}_{program}_id{id}{process}_{month}-{day}-{seconds}-{hash}_{took}.darshan"
    ))
}

#[cfg(test)]
mod tests;
