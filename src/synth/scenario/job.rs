//! What a job is, before its I/O is made up. Data alone.

use super::cause::{Case, Cause, Role};
use super::repeats::Repeats;
use crate::synth::workload::app::{App, Interface};

/// What is special about a job. Each is planted by a file of its own in this folder; `None` is a job as any other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scenario {
    /// One cause of slow I/O that somebody should find in the usual month.
    Fault(Cause),
    /// Somebody set the striping of the output.
    CustomStriping,
    /// The log is cut short.
    Damaged,
    /// Darshan ran out of memory for POSIX records.
    Partial,
    /// The log lies there twice.
    Duplicate,
    /// A job beside another one on the same OSTs; not among the month's jobs, but one more.
    Neighbour,
    /// One of a month of causes.
    Case(Case),
    /// One of the month of a slow OST.
    SlowOst(Role),
    /// One of the month of checkpoints and decoys.
    Periods(Repeats),
}

/// A job.
pub(crate) struct Job {
    /// Number in the month.
    pub(crate) index: u64,
    pub(crate) scenario: Option<Scenario>,
    pub(crate) app: &'static App,
    /// Name of the program.
    pub(crate) program: String,
    pub(crate) interface: Interface,
    pub(crate) nprocs: i64,
    pub(crate) read: i64,
    pub(crate) written: i64,
    /// Share of requests that are consecutive.
    pub(crate) consecutive: f64,
    /// Size of a typical request.
    pub(crate) request: i64,
    pub(crate) job_id: i64,
    pub(crate) user: String,
    pub(crate) uid: i64,
    /// Start, seconds since 1970.
    pub(crate) start: f64,
    /// Logs side by side (programs that fork), or one after another.
    pub(crate) logs: u64,
    pub(crate) release: Release,
}

/// A release of Darshan, and the versions that it writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    pub(crate) name: &'static str,
    pub(crate) log: (u16, u16),
    pub(crate) lustre: u32,
    /// Share of the logs.
    share: f64,
}

/// The first id that Slurm gives in the month; below are process ids.
pub(crate) const FIRST_ID: i64 = 6_100_000;

/// People who run jobs.
pub(crate) const USERS: u64 = 70;

/// Releases, versions as in real logs of theirs.
const RELEASES: [Release; 6] = [
    release("3.4.7", (3, 41), 2, 0.48),
    release("3.5.0", (3, 41), 2, 0.12),
    release("3.4.4", (3, 41), 1, 0.17),
    release("3.3.1", (3, 21), 1, 0.10),
    release("3.2.1", (3, 21), 1, 0.04),
    release("3.1.4", (3, 10), 1, 0.09),
];

const fn release(name: &'static str, log: (u16, u16), lustre: u32, share: f64) -> Release {
    Release {
        name,
        log,
        lustre,
        share,
    }
}

impl Release {
    /// The release at a place of the unit interval, in which each has its share.
    pub(crate) fn at(mut unit: f64) -> Self {
        for release in RELEASES {
            if unit < release.share {
                return release;
            }
            unit -= release.share;
        }
        RELEASES[0]
    }
}

impl Job {
    /// A job of this program and user with one log and large consecutive POSIX requests. What else it is, is set by the caller.
    pub(crate) fn new(index: u64, app: &'static App, nprocs: i64, number: u64) -> Self {
        let (user, uid) = user(number);
        Self {
            index,
            scenario: None,
            app,
            program: app.name.clone(),
            interface: Interface::Posix,
            nprocs,
            read: 0,
            written: 0,
            consecutive: 0.9,
            request: 4 << 20,
            job_id: 0,
            user,
            uid,
            start: 0.0,
            logs: 1,
            release: RELEASES[0],
        }
    }

    /// Directory of the job's files.
    pub(crate) fn dir(&self) -> String {
        let (user, program) = (&self.user, &self.program);
        format!("/scratch/{user}/{program}/run{:05}", self.index)
    }
}

/// Name and id of a user.
pub(crate) fn user(number: u64) -> (String, i64) {
    const NAMES: &str = "abela bakker chen dietz eriksen fuchs garcia hansen ivanov jansen kim lopez meyer nowak okoye patel \
        quinn rossi sato tran ueda virtanen weber xu yilmaz zhou aydin bose costa dubois ekman farid greco horvat iyer";
    let name = NAMES.split(' ').nth(number as usize % 35).unwrap_or("root");
    let suffix = if number >= 35 { "2" } else { "" };
    (format!("{name}{suffix}"), 20_000 + number as i64 * 7)
}

/// The first of the three ids of a job's block: one for the job, one for a job without a log, and a free one.
pub(crate) fn block_id(index: u64) -> i64 {
    FIRST_ID + index as i64 * 3
}

/// Which of the three ids of its block the job of the month has; 0 if it has none.
pub(crate) fn offset(job_id: i64, block: u64) -> i64 {
    match job_id - block_id(block) {
        offset @ 0..3 => offset,
        _ => 0,
    }
}
