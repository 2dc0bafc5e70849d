//! The parameters of a synthetic month.

use crate::source::darshan::write::DarshanLog;
use std::path::{Path, PathBuf};

/// A synthetic month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Month {
    /// What it is for. Months of other kinds than the usual one have logs alone, whatever else they ask for.
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
    /// Whether its logs compress as real ones do, and as few jobs have a striping of their own as on Cori. What is known of
    /// months without it depends on every byte of theirs.
    pub realistic: bool,
}

/// What a month is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A month as a centre has it, with a few faults: logs, accounting and samples of the servers.
    #[default]
    Usual,
    /// As many healthy jobs as others: with causes of slow I/O of several sizes, pairs of causes, and decoys that only look
    /// like one. Logs alone.
    Causes,
    /// Healthy jobs alone, of the shapes and sizes of those of [`Kind::Causes`]. Logs alone.
    Clean,
    /// An OST that slows down every file that has it among its stripes, and programs that are slow or fast for other
    /// reasons. Logs alone.
    SlowOst,
    /// Checkpoints at equal distances, with jitter, beside other I/O, and decoys at any time, each as windows, bins and
    /// traces tell of it. Logs alone.
    Periods,
}

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

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// Jobs with logs of a month that has a million logs.
const LOGGED_JOBS: f64 = 870_000.0;

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Usual,
        Self::Causes,
        Self::Clean,
        Self::SlowOst,
        Self::Periods,
    ];

    /// Its name, on the command line and in truth.json.
    pub fn name(self) -> &'static str {
        ["usual", "causes", "clean", "slow-ost", "periods"][self as usize]
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What a month of this kind has, in one line.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Usual => "jobs as a centre has them, a few faults planted",
            Self::Causes => {
                "causes of slow I/O, one and two in a job, of three sizes, with decoys and healthy jobs"
            }
            Self::Clean => "healthy jobs alone",
            Self::SlowOst => "one slow OST under striped files, and programs that look like it",
            Self::Periods => "periodic checkpoints with jitter, and bytes without a period",
        }
    }
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
            lmt_seconds: days.clamp(0, whole.days) * DAY,
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

    /// When it is over, seconds since 1970.
    pub(crate) fn end(&self) -> i64 {
        self.start + self.days * DAY
    }
}
