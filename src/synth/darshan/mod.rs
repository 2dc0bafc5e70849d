//! The Darshan logs of a job.
//!
//! ```text
//! in:   Job, Workload          out:  DarshanLog and its path
//! record   counters of each file use          trace   requests one by one (DXT) and by time (HEATMAP)          log   all of it
//! ```

mod log;
mod record;
mod trace;

use super::month::{Month, MonthLog};
use super::scenario;
use super::scenario::job::Job;
use super::scenario::plan::Plan;
use super::workload::Workload;
use crate::math::random::Random;
use crate::source::darshan::write::DarshanLog;
use chrono::{DateTime, Datelike, Timelike, Utc};
use std::path::PathBuf;

pub(crate) use log::log;

impl Month {
    /// The logs of job `index`, from the first on: one for most jobs; several side by side for programs that fork, or
    /// one after another for jobs with several steps. All have the same job id.
    pub fn logs(&self, index: u64) -> Vec<MonthLog> {
        let plan = Plan::new(*self);
        let made = logs(&plan, &scenario::job(&plan, index));
        made.into_iter().map(|(log, _)| log).collect()
    }

    /// The first log of job `index`.
    pub fn log(&self, index: u64) -> DarshanLog {
        let plan = Plan::new(*self);
        let mut job = scenario::job(&plan, index);
        job.logs = 1;
        logs(&plan, &job).swap_remove(0).0.log
    }
}

/// The logs of a job, and the I/O that they tell of.
pub(crate) fn logs(plan: &Plan, job: &Job) -> Vec<(MonthLog, Workload)> {
    let mut start = job.start;
    let mut first_pid = None;
    let mut made = vec![];
    for number in 0..job.logs {
        let (mut workload, mut random) = scenario::workload(plan, job, number);
        let pid = random.int(2_000, 400_000);
        let parent = first_pid.filter(|_| job.app.forks);
        first_pid.get_or_insert(pid);
        let log = log(job, &mut workload, start, parent);
        let path = path(job, start, pid, &mut random);
        start += match job.app.forks {
            true => random.float(0.0, 3.0),
            false => workload.clock + random.float(2.0, 90.0),
        };
        made.push((MonthLog { path, log }, workload));
    }
    made
}

/// Where Darshan would put a log that started then, in UTC.
fn path(job: &Job, start: f64, pid: i64, random: &mut Random) -> PathBuf {
    let time: DateTime<Utc> = DateTime::from_timestamp(start as i64, 0).unwrap_or_default();
    let (year, month, day) = (time.year(), time.month(), time.day());
    let seconds = time.num_seconds_from_midnight();
    let command = job.app.command.split(' ').next().unwrap_or_default();
    let program = match command.rsplit('/').next() {
        Some(program) if !program.contains('{') => program,
        _ => &job.program,
    };
    // Since 3.3.1 the process id is in the name.
    let process = match job.release.name >= "3.3" {
        true => format!("-{pid}"),
        false => String::new(),
    };
    let (user, id, hash, took) = (&job.user, job.job_id, random.bits(), random.int(1, 4));
    PathBuf::from(format!(
        "{year}/{month}/{day}/{user}_{program}_id{id}{process}_{month}-{day}-{seconds}-{hash}_{took}.darshan"
    ))
}
