//! The time that LMT samples, and what is planted in it and beside it: events of servers, and a little of everybody else.

use crate::math::random::{Random, mix};
use crate::synth::month::{DAY, Month};
use crate::synth::site::local;
use crate::synth::system::{OSTS_PER_OSS, SCRATCH_OSTS};
use std::ops::Range;

/// Operations of an MDT that jobs cause here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    Open,
    Close,
    Mknod,
    Unlink,
    Mkdir,
    Rename,
    Getxattr,
    Statfs,
    Setattr,
    Getattr,
}

impl Op {
    /// LMT's name for each operation, in the order of the enum.
    pub(crate) const NAMES: [&str; 10] = [
        "open", "close", "mknod", "unlink", "mkdir", "rename", "getxattr", "statfs", "setattr",
        "getattr",
    ];

    /// The place in the enum of the operation that a name of LMT's list counts; None for one that never happens here.
    pub(crate) fn place(name: &str) -> Option<usize> {
        Self::NAMES.iter().position(|known| *known == name)
    }
}

/// The time that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Stamp of the first sample, seconds since 1970.
    pub(crate) start: i64,
    /// Samples, those included that are missing.
    pub(crate) samples: i64,
}

impl Span {
    /// Seconds from sample to sample, as LMT has them.
    pub(crate) const STEP: i64 = 5;

    /// The span of a month: around noon of the eleventh day, the busiest, or whole days from that day's midnight on.
    pub(crate) fn of(month: &Month) -> Self {
        let seconds = month.lmt_seconds.clamp(0, month.days * DAY) / Self::STEP * Self::STEP;
        let day = month.start + 10.min(month.days - 1) * DAY;
        let start = if seconds < DAY {
            let even = if seconds < 3600 { 300 } else { 3600 };
            (day + DAY / 2 - seconds / 2) / even * even
        } else {
            // As much later than the local midnight as the end of the month allows.
            let midnight = day - offset(day);
            let over = (midnight + seconds - month.end()).max(0);
            (midnight - (over + DAY - 1) / DAY * DAY).max(month.start)
        };
        Self {
            start,
            samples: seconds / Self::STEP,
        }
    }

    /// Its length.
    pub(crate) fn seconds(&self) -> i64 {
        self.samples * Self::STEP
    }

    /// Stamp of a sample.
    pub(crate) fn stamp(&self, sample: i64) -> i64 {
        self.start + sample * Self::STEP
    }

    /// First sample and end of each database: local days if it is longer than one, else hours, or halves of an hour and
    /// less.
    pub(crate) fn databases(&self) -> Vec<(i64, i64)> {
        let seconds = self.seconds();
        let length = match seconds {
            DAY.. => DAY,
            3601..DAY => 3600,
            _ => (seconds / 2).max(Self::STEP),
        };
        let mut cuts = vec![0];
        for sample in 1..self.samples {
            let stamp = self.stamp(sample);
            let cut = match length {
                DAY => (stamp + offset(stamp)).rem_euclid(DAY) == 0,
                _ => sample * Self::STEP % length < Self::STEP,
            };
            if cut {
                cuts.push(sample);
            }
        }
        cuts.push(self.samples);
        cuts.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }
}

/// Seconds that the site's clocks are ahead of UTC.
fn offset(stamp: i64) -> i64 {
    local(stamp).and_utc().timestamp() - stamp
}

/// What is planted in the samples of /scratch. Ranges are of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plants {
    /// Server that is started anew, and the samples that it misses.
    pub(crate) reboot_oss: i64,
    pub(crate) reboot: Range<i64>,
    /// Samples that all miss.
    pub(crate) gap: Range<i64>,
    /// OST whose sample comes late, and which sample.
    pub(crate) late_ost: i64,
    pub(crate) late: i64,
    /// OST that is nearly full.
    pub(crate) full_ost: i64,
}

impl Plants {
    pub(crate) fn of(month: &Month) -> Self {
        let span = Span::of(month);
        let samples = span.samples;
        let random = &mut Random::new(month.seed ^ 0x137, 1);
        let servers = SCRATCH_OSTS / OSTS_PER_OSS;
        let at = |share: f64| (samples as f64 * share) as i64;
        let reboot_oss = random.int(0, servers);
        let other = |random: &mut Random| {
            (reboot_oss * OSTS_PER_OSS + OSTS_PER_OSS + random.int(0, SCRATCH_OSTS - OSTS_PER_OSS))
                % SCRATCH_OSTS
        };
        // Begins and ends in one database.
        let (mut down, lasts) = (at(0.58), (samples / 20).clamp(2, 48));
        let across = |(first, _): &(i64, i64)| down < *first && *first <= down + lasts;
        if let Some((first, _)) = span.databases().iter().find(|samples| across(samples)) {
            down = *first;
        }
        Self {
            reboot_oss,
            reboot: down..down + lasts,
            gap: at(0.93)..at(0.93) + (samples / 30).clamp(2, 24),
            late_ost: other(random),
            late: at(0.2),
            full_ost: other(random),
        }
    }

    /// OSTs of the server that is started anew.
    pub(crate) fn reboot_osts(&self) -> Range<i64> {
        self.reboot_oss * OSTS_PER_OSS..(self.reboot_oss + 1) * OSTS_PER_OSS
    }
}

/// Background load of an OST: system logs, idle sessions, a search. Bytes read and written.
pub(crate) fn noise(seed: u64, fs: usize, ost: i64, sample: i64) -> [i64; 2] {
    let number = mix(seed ^ mix((fs as u64) << 40 ^ (ost as u64) << 24 ^ sample as u64));
    let small = |number: u64| (number % 4096 * 509) as i64;
    match number >> 60 {
        0 => [small(number >> 20), 0],
        1..=4 => [0, small(number)],
        5 => [small(number >> 20) * 8, small(number)],
        _ => [0, 0],
    }
}

/// Background operations of an MDT.
pub(crate) fn noise_ops(seed: u64, fs: usize, mdt: i64, sample: i64) -> [(Op, i64); 10] {
    let stream = (fs as u64) << 40 ^ (mdt as u64) << 32 ^ sample as u64;
    let random = &mut Random::new(seed ^ 0x0b5, stream);
    let opens = random.int(5, 160);
    [
        (Op::Open, opens),
        (Op::Close, opens - random.int(0, 5)),
        (Op::Getattr, random.int(20, 700)),
        (Op::Setattr, random.int(0, 9)),
        (Op::Unlink, random.int(0, 4)),
        (Op::Mkdir, i64::from(random.chance(0.1))),
        (Op::Rename, i64::from(random.chance(0.2))),
        (Op::Statfs, i64::from(random.chance(0.3))),
        (Op::Getxattr, random.int(0, 12)),
        (Op::Mknod, i64::from(random.chance(0.05))),
    ]
}
