//! Stages of I/O whose times are given.
//!
//! A workload's phases take as long as their bytes do. What is planted with a known share of the time goes the other way
//! round: files and their times come first, in any unit, are scaled to the seconds and bytes that they should have, and are
//! then added as they are.

use super::{Access, Api, Workload};
use crate::math::intervals::union_length;
use crate::math::random::Random;
use crate::synth::scenario::cause::{Direction, Habit};
use crate::synth::system::DEFAULT_STRIPE;

/// The requests of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requests {
    size: i64,
    consecutive: f64,
    /// Whether they have this size however little falls to a process.
    exact: bool,
}

impl Requests {
    /// Large ones, one after another.
    pub(crate) fn good(random: &mut Random) -> Self {
        Self {
            size: *random.pick(&[2, 4, 8, 16]) << 20,
            consecutive: random.float(0.86, 0.97),
            exact: true,
        }
    }

    /// Larger than a MiB, one after another, and never a number of blocks.
    pub(crate) fn misaligned(random: &mut Random) -> Self {
        Self {
            size: random.int(1_100_000, 1_900_000) | 1,
            ..Self::good(random)
        }
    }

    /// Of at most 1 KiB, here and there.
    pub(crate) fn small(random: &mut Random) -> Self {
        Self {
            size: random.int(64, 1000),
            consecutive: random.float(0.03, 0.3),
            exact: false,
        }
    }

    /// Of at most 1 KiB, one after another.
    pub(crate) fn small_consecutive(random: &mut Random) -> Self {
        Self {
            consecutive: random.float(0.88, 0.97),
            ..Self::small(random)
        }
    }
}

/// A file and its time.
#[derive(Clone, Debug)]
pub(crate) struct TimedFile {
    /// Name below the directory of the job and the direction.
    pub(crate) name: String,
    /// Process; -1: all of them.
    pub(crate) rank: i64,
    pub(crate) api: Api,
    pub(crate) requests: Requests,
    /// Its stripes.
    pub(crate) osts: Vec<i64>,
    pub(crate) bytes: f64,
    /// From the start of the stage on.
    pub(crate) start: f64,
    pub(crate) length: f64,
    /// Share of its time in which its processes are busy.
    pub(crate) busy: f64,
    /// What is odd about it.
    pub(crate) habit: Option<Habit>,
}

impl TimedFile {
    /// A file through POSIX with a time and bytes near 1, for no two files are equally fast.
    pub(crate) fn new(
        random: &mut Random,
        name: String,
        rank: i64,
        requests: Requests,
        osts: Vec<i64>,
    ) -> Self {
        Self {
            name,
            rank,
            api: Api::Posix,
            requests,
            osts,
            bytes: random.noise(0.1),
            start: 0.0,
            length: random.noise(0.15),
            busy: random.float(0.94, 0.995),
            habit: None,
        }
    }
}

/// Files of one time, and then a pause.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) files: Vec<TimedFile>,
    /// Seconds without I/O that follow.
    pub(crate) pause: f64,
}

impl Stage {
    pub(crate) fn alone(file: TimedFile, pause: f64) -> Self {
        let files = vec![file];
        Self { files, pause }
    }

    /// Files that are begun at nearly the same moment.
    pub(crate) fn together(random: &mut Random, mut files: Vec<TimedFile>, pause: f64) -> Self {
        for file in &mut files {
            file.start = random.float(0.0, 0.02);
        }
        Self { files, pause }
    }

    /// Files of which each is begun when this share of the one before is over.
    pub(crate) fn chain(
        random: &mut Random,
        mut files: Vec<TimedFile>,
        over: (f64, f64),
        pause: f64,
    ) -> Self {
        let mut next = 0.0;
        for file in &mut files {
            file.start = next;
            next += file.length * random.float(over.0, over.1);
        }
        Self { files, pause }
    }

    /// Time in which at least one of its files is in use.
    fn length(&self) -> f64 {
        let ends = |file: &TimedFile| (file.start, file.start + file.length);
        union_length(&mut self.files.iter().map(ends).collect::<Vec<_>>())
    }
}

/// Scales stages so that together they take `seconds`, pauses left out, and move so many bytes.
pub(crate) fn fit(stages: &mut [Stage], seconds: f64, bytes: f64) {
    let length: f64 = stages.iter().map(Stage::length).sum();
    let files = stages.iter().flat_map(|stage| &stage.files);
    let moved: f64 = files.map(|file| file.bytes).sum();
    let (time, bytes) = (seconds / length, bytes / moved);
    for file in stages.iter_mut().flat_map(|stage| &mut stage.files) {
        file.start *= time;
        file.length *= time;
        file.bytes *= bytes;
    }
}

/// Adds stages one after another; their times are seconds now. Files lie below `dir`.
pub(crate) fn phases(workload: &mut Workload, dir: &str, direction: Direction, stages: Vec<Stage>) {
    // The times are given: the slow OST does not apply, and no request is small by chance.
    (workload.slow, workload.small) = (false, 0.0);
    for stage in stages {
        let from = workload.clock + 0.01;
        for file in stage.files {
            let stripe_size = match file.osts.len() {
                0 | 1 => DEFAULT_STRIPE.0,
                _ => 1 << workload.random.int(20, 25),
            };
            let bytes = (file.bytes as i64).max(1);
            let (below, moved) = match direction {
                Direction::Read => ("in", [bytes, 0]),
                Direction::Write => ("out", [0, bytes]),
            };
            let path = format!("{dir}/{below}/{}", file.name);
            workload.place(&path, stripe_size, file.osts);
            workload.request = file.requests.size;
            workload.consecutive = file.requests.consecutive;
            let start = from + file.start;
            workload.clock = workload.clock.max(start + file.length);
            let access = Access::new(path, file.rank, file.api, moved);
            workload.timed(access, start, file.length, file.busy);
            if let Some(used) = workload.uses.last_mut() {
                if file.requests.exact {
                    used.recut(file.requests.size);
                }
                if let Some(habit) = file.habit {
                    habit.apply(used);
                }
            }
        }
        workload.compute(stage.pause);
    }
}
