//! How the files of a cause or a decoy are used: who moves them, where they lie, how they follow one another, in which
//! requests. A cause has a share of the time: without it the job's I/O would take the rest alone, and everything else of the
//! job is healthy.

use super::cause::{Cause, Decoy};
use super::healthy::MOST_OWN_FILES;
use crate::math::random::Random;
use crate::synth::system::{next_osts, other_ost};
use crate::synth::workload::stage::{Requests, Stage, TimedFile};

/// How a group of files is used.
#[derive(Clone, Debug)]
pub(crate) struct AccessPattern {
    order: Order,
    who: Who,
    /// The OSTs of every file; none if each file has OSTs of its own.
    osts: Vec<i64>,
    /// Stripes of a file that has OSTs of its own.
    stripes: i64,
    requests: Requests,
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

impl AccessPattern {
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
            // A process that moves nothing for others in the healthy part.
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
        Self {
            order,
            who,
            osts: Vec::from_iter(has(Cause::OneOst).then_some(ost)),
            stripes,
            requests,
        }
    }

    /// That of the cause that a decoy just misses, but for what makes it one.
    pub(crate) fn nearly(random: &mut Random, decoy: Decoy, nprocs: i64, ost: i64) -> Option<Self> {
        let mut pattern = Self::of(random, &[decoy.nearly()?.0], nprocs, ost);
        match decoy {
            Decoy::SmallConsec => pattern.requests = Requests::small_consecutive(random),
            Decoy::NearOneOst => pattern.osts.push(other_ost(random.int(0, 10_000), ost)),
            Decoy::NearSerial => pattern.order = Order::Touching,
            // For these the share of the time alone decides.
            _ => {}
        }
        Some(pattern)
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
            let next = next_osts(&mut next_ost, self.stripes, left_out);
            let osts = match self.osts.is_empty() {
                true => next,
                false => self.osts.clone(),
            };
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
                // They must overlap in the busy intervals, too.
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
                let files = files.into_iter();
                files.map(|file| Stage::alone(file, gap)).collect()
            }
        }
    }
}
