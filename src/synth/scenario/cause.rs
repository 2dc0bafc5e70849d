//! Causes of slow I/O that a program itself is to blame for, and decoys that only look like one.
//!
//! Both are a [`Manner`]: who moves the files, where they lie, how they follow one another, in which requests. A cause has a
//! share of the time: without it the job's I/O would take the rest alone, and everything else of the job is healthy.

use crate::synth::random::Random;
use crate::synth::scenario::healthy::MOST_OWN_FILES;
use crate::synth::system::other_ost;
use crate::synth::workload::stage::{Requests, Stage, TimedFile};

/// A cause of slow I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Many processes at files that lie on one OST.
    OneOst,
    /// One process moves far more than the others.
    OneRank,
    /// Many files one after another, no two at a time.
    SerialFiles,
    /// One file takes nearly all of the time.
    OneFile,
    /// Requests of at most 1 KiB that do not follow one another.
    SmallRequests,
}

/// What is planted: a cause, or two in the same files.
pub(crate) const PLANTS: [&[Cause]; 9] = [
    &[Cause::OneOst],
    &[Cause::OneRank],
    &[Cause::SerialFiles],
    &[Cause::OneFile],
    &[Cause::SmallRequests],
    &[Cause::OneFile, Cause::OneOst],
    &[Cause::OneRank, Cause::SerialFiles],
    &[Cause::OneRank, Cause::SmallRequests],
    &[Cause::OneOst, Cause::SmallRequests],
];

/// How many times as long a job's I/O takes because of a cause.
pub(crate) const EFFECTS: [f64; 3] = [1.2, 2.0, 5.0];

impl Cause {
    /// Its name in truth.json.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneOst => "one_ost",
            Self::OneRank => "one_rank",
            Self::SerialFiles => "serial_files",
            Self::OneFile => "one_file",
            Self::SmallRequests => "small_requests",
        }
    }
}

/// Seconds in the files of causes for each second in others. One file has most of the time in many a healthy job: it is a
/// cause where it has 20 times as much as all others (at an effect of 5), and 4 times as much is none.
pub(crate) fn odds(causes: &[Cause], effect: f64) -> f64 {
    match causes.contains(&Cause::OneFile) {
        true => 4.0 * effect,
        false => effect - 1.0,
    }
}

/// Something in which nothing is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoy {
    /// Standard output is open as long as the job runs, and few bytes go there.
    StdoutWindow,
    /// Small requests that follow one another.
    SmallConsec,
    /// A program that is slow, and always on one OST: but its few processes are no crowd.
    AlwaysOneOst,
    /// A file that is open all the time and hardly used.
    HalfIdle,
    /// One file has 80 % of the time.
    NearOneFile,
    /// Many processes at files that lie on two OSTs.
    NearOneOst,
    /// Many files one after another, each begun when nine tenths of the one before are over.
    NearSerial,
}

impl Decoy {
    pub(crate) const ALL: [Self; 7] = [
        Self::StdoutWindow,
        Self::SmallConsec,
        Self::AlwaysOneOst,
        Self::HalfIdle,
        Self::NearOneFile,
        Self::NearOneOst,
        Self::NearSerial,
    ];

    /// Its name in truth.json.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StdoutWindow => "stdout_window",
            Self::SmallConsec => "small_consec",
            Self::AlwaysOneOst => "always_one_ost",
            Self::HalfIdle => "half_idle",
            Self::NearOneFile => "near_one_file",
            Self::NearOneOst => "near_one_ost",
            Self::NearSerial => "near_serial",
        }
    }

    /// The cause that it looks like and the size of that, if it is one that just misses.
    pub(crate) fn nearly(self) -> Option<(Cause, f64)> {
        match self {
            Self::NearOneFile => Some((Cause::OneFile, 1.0)),
            Self::NearOneOst => Some((Cause::OneOst, 5.0)),
            Self::NearSerial => Some((Cause::SerialFiles, 5.0)),
            Self::SmallConsec => Some((Cause::SmallRequests, 5.0)),
            _ => None,
        }
    }
}

/// How files follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// There is but one.
    One,
    /// They begin at the same moment.
    Together,
    /// Each begins about the middle of the one before.
    Chain,
    /// Each begins a while after the end of the one before.
    Apart,
    /// Each begins when nine tenths of the one before are over.
    Touching,
}

/// Who uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// All processes.
    All,
    /// The same process all of them.
    Rank(i64),
    /// A process for each file.
    Each,
}

/// How a group of files is used.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    order: Order,
    who: Who,
    /// The OSTs of every file; none if each file has OSTs of its own.
    osts: Vec<i64>,
    /// Stripes of a file that has OSTs of its own.
    stripes: i64,
    requests: Requests,
}

impl Manner {
    /// That of causes in the same files. `ost` is an OST that nothing else of the job uses.
    pub(crate) fn of(random: &mut Random, causes: &[Cause], nprocs: i64, ost: i64) -> Self {
        let has = |cause| causes.contains(&cause);
        let order = match () {
            () if has(Cause::OneFile) => Order::One,
            () if has(Cause::SerialFiles) => Order::Apart,
            () if has(Cause::OneRank) => Order::Chain,
            () => Order::Together,
        };
        let own = order == Order::Together && nprocs <= MOST_OWN_FILES && random.chance(0.5);
        let who = match order {
            // One that moves nothing of the healthy part for the others.
            _ if has(Cause::OneRank) => Who::Rank(*random.pick(&[0, 0, nprocs - 1])),
            Order::Apart | Order::Touching => Who::Each,
            _ if own => Who::Each,
            _ => Who::All,
        };
        let stripes = match who {
            Who::All => *random.pick(&[8, 16, 32, 64]),
            Who::Rank(_) => random.int(1, 5),
            Who::Each => 1,
        };
        let requests = match has(Cause::SmallRequests) {
            true => Requests::small(random),
            false => Requests::good(random),
        };
        let osts = match has(Cause::OneOst) {
            true => vec![ost],
            false => vec![],
        };
        Self {
            order,
            who,
            osts,
            stripes,
            requests,
        }
    }

    /// That of a cause, but for what makes it one.
    pub(crate) fn nearly(
        random: &mut Random,
        decoy: Decoy,
        cause: Cause,
        nprocs: i64,
        ost: i64,
    ) -> Self {
        let mut manner = Self::of(random, &[cause], nprocs, ost);
        match decoy {
            Decoy::SmallConsec => manner.requests = Requests::small_consecutive(random),
            Decoy::NearOneOst => manner.osts.push(other_ost(random.int(0, 10_000), ost)),
            Decoy::NearSerial => manner.order = Order::Touching,
            // A fifth of the time is in other files.
            _ => {}
        }
        manner
    }

    /// That of the few processes of a program that is always on one OST.
    pub(crate) fn always_on(random: &mut Random, ost: i64) -> Self {
        Self {
            order: Order::Together,
            who: Who::Each,
            osts: vec![ost],
            stripes: 1,
            requests: Requests::good(random),
        }
    }

    /// Its stages; `set` tells the files of one call from those of another.
    pub(crate) fn stages(
        &self,
        random: &mut Random,
        nprocs: i64,
        set: i64,
        left_out: i64,
    ) -> Vec<Stage> {
        let files = match (self.order, self.who) {
            (Order::One, _) => 1,
            (Order::Together, Who::Each) => nprocs,
            (Order::Together, _) => random.int(1, 6),
            (Order::Chain, _) => random.int(5, 12),
            (Order::Apart | Order::Touching, _) => random.int(24, 121),
        };
        let mut next_ost = random.int(0, 10_000);
        let files = (0..files).map(|file| {
            let osts = match self.osts.is_empty() {
                true => (0..self.stripes)
                    .map(|stripe| other_ost(next_ost + stripe, left_out))
                    .collect(),
                false => self.osts.clone(),
            };
            next_ost += self.stripes;
            let rank = match self.who {
                Who::All => -1,
                Who::Rank(rank) => rank,
                Who::Each => file * nprocs / files,
            };
            let name = match self.order {
                Order::One => format!("matrix{set}.dat"),
                Order::Together => format!("block{set}/part_{file:05}.dat"),
                Order::Chain => format!("wave{set}/band_{file:03}.dat"),
                Order::Apart | Order::Touching => format!("plot{set}/plt_{file:05}.dat"),
            };
            let mut file = TimedFile::new(random, name, rank, self.requests, osts);
            if self.order == Order::Touching {
                // Nor may they lie apart because none was busy at its end.
                file.busy = random.float(0.985, 0.999);
            }
            file
        });
        let files: Vec<TimedFile> = files.collect();
        let pause = random.magnitude(2.0, 60.0);
        match self.order {
            Order::One | Order::Together => vec![Stage::together(random, files, pause)],
            Order::Chain => vec![Stage::chain(random, files, (0.4, 0.7), pause)],
            Order::Touching => vec![Stage::chain(random, files, (0.9, 0.9), pause)],
            Order::Apart => {
                let gap = random.magnitude(0.05, 2.0);
                let alone = |file| Stage {
                    files: vec![file],
                    pause: gap,
                };
                files.into_iter().map(alone).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_are_those_of_the_share_that_an_effect_means() {
        let share = |causes: &[Cause], effect: f64| {
            let odds = odds(causes, effect);
            (1000.0 * odds / (1.0 + odds)).round() / 10.0
        };
        let small = EFFECTS.map(|effect| share(&[Cause::SmallRequests], effect));
        assert_eq!(small, [16.7, 50.0, 80.0]);
        let one_file = EFFECTS.map(|effect| share(&[Cause::OneFile, Cause::OneOst], effect));
        assert_eq!(one_file, [82.8, 88.9, 95.2]);
    }
}
