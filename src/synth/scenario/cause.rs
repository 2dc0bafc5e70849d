//! What may be planted in a job: causes of slow I/O that a program itself is to blame for, decoys that only look like one,
//! and parts in the month of a slow OST. Data alone; the names of variants are those of truth.json.

use serde::Serialize;
use serde_json::{Value, json};

/// A cause of slow I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// A habit that costs I/O time and that counters tell (`habit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Habit {
    /// Parts of a file are written through MPI-IO, which reads blocks, changes and writes them.
    Sieving,
    /// No request begins on a block of the file system.
    Misaligned,
    /// Each process opens a file of its own, and waits for the metadata server.
    MetadataStorm,
    /// Reads at the end of a file, from which no byte comes.
    EmptyReads,
    /// Much data through STDIO, in its buffers of 4 KiB.
    StdioBulk,
}

/// A healthy job that resembles one with a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// What is planted in a job of a month of causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Planted {
    /// Nothing.
    Nothing,
    /// Causes in the same files, and the size of their effect.
    Causes(&'static [Cause], f64),
    /// A habit that counters tell, and the size of its effect.
    Habit(Habit, f64),
    /// What only looks like a cause.
    Decoy(Decoy),
}

/// A job of a month of causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) planted: Planted,
    /// Where it is planted; where most of the bytes go if nothing is.
    pub(crate) direction: Direction,
    /// Share of the time, while some file is in use, that is in the planted files.
    pub(crate) share: Option<f64>,
}

/// What part a program has in the month of a slow OST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// One of the many, on OSTs all over the file system.
    Ordinary,
    /// Ten times as slow as others wherever it runs, and always on the same OST, which is not slow.
    SlowEverywhere,
    /// Three times as fast as others, always on the OSTs next to the slow one.
    FastNeighbours,
    /// As others, but its files always have the slow OST among their stripes.
    AmongOthers,
}

/// Where bytes go. As a number it is the place of its counters and transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    Read,
    Write,
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
    pub(crate) const ALL: [Self; 5] = [
        Self::OneOst,
        Self::OneRank,
        Self::SerialFiles,
        Self::OneFile,
        Self::SmallRequests,
    ];
}

/// Seconds in the files of causes for each second in others. One file has most of the time in many a healthy job: it is a
/// cause where it has 20 times as much as all others (at an effect of 5), and 4 times as much is none.
pub(crate) fn odds(causes: &[Cause], effect: f64) -> f64 {
    match causes.contains(&Cause::OneFile) {
        true => 4.0 * effect,
        false => effect - 1.0,
    }
}

impl Habit {
    pub(crate) const ALL: [Self; 5] = [
        Self::Sieving,
        Self::Misaligned,
        Self::MetadataStorm,
        Self::EmptyReads,
        Self::StdioBulk,
    ];

    /// The direction that it has, if only one makes sense.
    pub(crate) fn direction(self) -> Option<Direction> {
        match self {
            Self::Sieving | Self::Misaligned => Some(Direction::Write),
            Self::EmptyReads => Some(Direction::Read),
            _ => None,
        }
    }
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

impl Planted {
    /// Whether a cause is among what is planted.
    pub(crate) fn has(self, cause: Cause) -> bool {
        matches!(self, Self::Causes(causes, _) if causes.contains(&cause))
    }
}

impl Case {
    /// What truth.json says of it.
    pub(crate) fn truth(&self) -> Value {
        let (causes, habit, effect, decoy) = match self.planted {
            Planted::Nothing => (&[][..], None, None, None),
            Planted::Causes(causes, effect) => (causes, None, Some(effect), None),
            Planted::Habit(habit, effect) => (&[][..], Some(habit), Some(effect), None),
            Planted::Decoy(decoy) => (&[][..], None, None, Some(decoy)),
        };
        json!({
            "direction": self.direction,
            "causes": causes,
            "habit": habit,
            "effect": effect,
            "decoy": decoy,
            "share": self.share,
        })
    }
}

impl Direction {
    /// The other one.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
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
