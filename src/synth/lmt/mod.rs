//! What LMT sampled while the month's jobs ran: counters of every OST, OSS and MDT every 5 s, as databases.
//!
//! The samples cover a [`Span`] of the busiest days. It is cut into databases ([`Span::databases`]), a database each: SQLite and
//! mysqldump in turns, so that a reader has to join one with the next. A sample stamped `t` holds what was moved before `t`;
//! what was moved since the sample before is the sum of the [`Load`]s there, byte by byte:
//!
//! ```text
//! bytes of files as the logs tell them, later for some by seconds of write-back        load::loads
//! + bursts of the Slurm jobs that left no log                                           load::without_log
//! + a little of everybody else                                                          noise
//! ```
//!
//! Planted on /scratch: a server that is started anew (its samples stop, what is asked of it meanwhile waits, its counters
//! begin at 0), two minutes without any sample, one sample of one OST that comes late and takes the place of the next,
//! and an OST that is nearly full.

mod database;
pub(crate) mod load;
mod samples;
mod schema;
mod truth;

pub(crate) use truth::Account;

use crate::error::{Error, Result};
use crate::synth::lmt::load::{Load, Origin, What};
use crate::synth::random::{Random, mix};
use crate::synth::system::{HOME_OSTS, SCRATCH_OSTS};
use crate::synth::{Month, site};
use chrono::{DateTime, Offset, TimeZone};
use database::{Database, Dump, Nowhere, Sqlite};
use samples::DatabaseSamples;
use std::path::Path;

/// A Lustre of the machine, as LMT knows it.
pub(crate) struct FileSystem {
    pub(crate) mount: &'static str,
    /// The site's name.
    pub(crate) name: &'static str,
    /// LMT's name: what stands before the `-` in the names of its targets.
    pub(crate) lmt: &'static str,
    pub(crate) osts: i64,
    pub(crate) mdts: i64,
}

/// OSTs of a server.
pub(crate) const OSTS_PER_OSS: i64 = 4;

/// Every Lustre of the machine.
pub(crate) const FILE_SYSTEMS: [FileSystem; 2] = [
    FileSystem {
        mount: "/scratch",
        name: "scratch",
        lmt: "synscr",
        osts: SCRATCH_OSTS,
        mdts: 5,
    },
    FileSystem {
        mount: "/home",
        name: "home",
        lmt: "synhom",
        osts: HOME_OSTS,
        mdts: 2,
    },
];

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

/// The time that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Stamp of the first sample, seconds since 1970.
    pub(crate) start: i64,
    /// Samples, those included that are missing.
    pub(crate) samples: i64,
}

/// Seconds of a day.
const DAY: i64 = 86_400;

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
    fn stamp(&self, sample: i64) -> i64 {
        self.start + sample * Self::STEP
    }

    /// First sample and end of each database: local days if it is longer than one, else hours, or halves of an hour and
    /// less.
    fn databases(&self) -> Vec<(i64, i64)> {
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
    let utc = DateTime::from_timestamp(stamp, 0)
        .unwrap_or_default()
        .naive_utc();
    i64::from(
        site::ZONE
            .offset_from_utc_datetime(&utc)
            .fix()
            .local_minus_utc(),
    )
}

/// A stamp as the database has it: local, without zone.
fn local(stamp: i64) -> chrono::NaiveDateTime {
    DateTime::from_timestamp(stamp + offset(stamp), 0)
        .unwrap_or_default()
        .naive_utc()
}

/// What is planted in the samples of /scratch. Ranges are of samples, ends excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plants {
    /// Server that is started anew, and the samples that it misses.
    pub(crate) reboot_oss: i64,
    pub(crate) reboot: (i64, i64),
    /// Samples that all miss.
    pub(crate) gap: (i64, i64),
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
        if let Some((first, _)) = span.databases().iter().find(|piece| across(piece)) {
            down = *first;
        }
        Self {
            reboot_oss,
            reboot: (down, down + lasts),
            gap: (at(0.93), at(0.93) + (samples / 30).clamp(2, 24)),
            late_ost: other(random),
            late: at(0.2),
            full_ost: other(random),
        }
    }

    /// OSTs of the server that is started anew.
    pub(crate) fn reboot_osts(&self) -> std::ops::Range<i64> {
        self.reboot_oss * OSTS_PER_OSS..(self.reboot_oss + 1) * OSTS_PER_OSS
    }

    fn in_gap(&self, sample: i64) -> bool {
        (self.gap.0..self.gap.1).contains(&sample)
    }

    fn in_reboot(&self, sample: i64) -> bool {
        (self.reboot.0..self.reboot.1).contains(&sample)
    }
}

/// What an OST reads and writes for nobody in particular: system logs, idle sessions, a search.
fn noise(seed: u64, fs: usize, ost: i64, sample: i64) -> (i64, i64) {
    let number = mix(seed ^ mix((fs as u64) << 40 ^ (ost as u64) << 24 ^ sample as u64));
    let small = |number: u64| (number % 4096 * 509) as i64;
    match number >> 60 {
        0 => (small(number >> 20), 0),
        1..=4 => (0, small(number)),
        5 => (small(number >> 20) * 8, small(number)),
        _ => (0, 0),
    }
}

/// Operations of an MDT for nobody in particular.
fn noise_ops(seed: u64, fs: usize, mdt: i64, sample: i64) -> [(Op, i64); 10] {
    let random = &mut Random::new(
        seed ^ 0x0b5,
        (fs as u64) << 40 ^ (mdt as u64) << 32 ^ sample as u64,
    );
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

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Writes the databases of a month to `dir`; what they hold, for truth.json.
pub(crate) fn write(month: &Month, loads: &[Load], dir: &Path) -> Result<(Written, Account)> {
    let span = Span::of(month);
    let plants = Plants::of(month);
    let mut written = Written::default();
    let mut account = Account::default();
    for fs in 0..FILE_SYSTEMS.len() {
        let mut counters = samples::Counters::new(month, fs);
        for (number, (first, end)) in span.databases().into_iter().enumerate() {
            let piece = DatabaseSamples::new(month, &plants, fs, (first, end), loads);
            let name = name(&span, fs, (first, end), number);
            account.add(&name, &piece, span);
            let path = dir.join(&name);
            let mut database = create(&path, fs, number, span.stamp(end))?;
            piece.write(&mut counters, database.as_mut())?;
            database.finish()?;
            written.files += 1;
            written.bytes += std::fs::metadata(&path)
                .map_err(|e| Error::io(&path, "cannot read", e))?
                .len();
        }
    }
    account.shares(month, loads);
    Ok((written, account))
}

/// The databases of a month, each made when somebody asks for it.
pub(crate) struct Samples {
    month: Month,
    plants: Plants,
    loads: Vec<Load>,
    databases: Vec<Sampled>,
}

/// A database, and where the counters are when it begins.
struct Sampled {
    name: String,
    fs: usize,
    number: usize,
    samples: (i64, i64),
    counters: samples::Counters,
}

impl Samples {
    /// The databases that [`write()`] would write, and what they hold, for truth.json.
    pub(crate) fn new(month: &Month, loads: Vec<Load>) -> Result<(Self, Account)> {
        let span = Span::of(month);
        let plants = Plants::of(month);
        let (mut databases, mut account) = (vec![], Account::default());
        for fs in 0..FILE_SYSTEMS.len() {
            let mut counters = samples::Counters::new(month, fs);
            for (number, samples) in span.databases().into_iter().enumerate() {
                let piece = DatabaseSamples::new(month, &plants, fs, samples, &loads);
                let name = name(&span, fs, samples, number);
                account.add(&name, &piece, span);
                databases.push(Sampled {
                    name,
                    fs,
                    number,
                    samples,
                    counters: counters.clone(),
                });
                piece.write(&mut counters, &mut Nowhere)?;
            }
        }
        account.shares(month, &loads);
        let samples = Self {
            month: *month,
            plants,
            loads,
            databases,
        };
        Ok((samples, account))
    }

    /// The name of each database, and when it would have been written, seconds since 1970.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, i64)> {
        let span = Span::of(&self.month);
        (self.databases.iter()).map(move |made| (&*made.name, span.stamp(made.samples.1)))
    }

    /// Writes database `at` to a path where nothing is.
    pub(crate) fn write(&self, at: usize, path: &Path) -> Result<()> {
        let made = &self.databases[at];
        let (month, plants, fs) = (&self.month, &self.plants, made.fs);
        let piece = DatabaseSamples::new(month, plants, fs, made.samples, &self.loads);
        let end = Span::of(month).stamp(made.samples.1);
        let mut database = create(path, fs, made.number, end)?;
        piece.write(&mut made.counters.clone(), database.as_mut())?;
        database.finish()
    }
}

/// A database that says that it was made at `end`.
fn create(path: &Path, fs: usize, number: usize, end: i64) -> Result<Box<dyn Database>> {
    Ok(match form(fs, number) {
        Form::Sqlite => Box::new(Sqlite::create(path)?),
        Form::Dump => Box::new(Dump::create(path, FILE_SYSTEMS[fs].lmt, end)?),
    })
}

/// Form of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Sqlite,
    Dump,
}

/// The forms take turns; the second file system begins with the other one.
fn form(fs: usize, number: usize) -> Form {
    match (fs + number).is_multiple_of(2) {
        true => Form::Sqlite,
        false => Form::Dump,
    }
}

/// Name of a database: that of LMT's database with the day, and the hour where it is less than a day.
fn name(span: &Span, fs: usize, (first, _): (i64, i64), number: usize) -> String {
    let format = match span.seconds() {
        DAY.. => "%Y-%m-%d",
        _ => "%Y-%m-%d_%H%M",
    };
    let end = match form(fs, number) {
        Form::Sqlite => "sqlite3",
        Form::Dump => "sql",
    };
    let begin = local(span.stamp(first)).format(format);
    format!("filesystem_{}_{begin}.{end}", FILE_SYSTEMS[fs].lmt)
}

#[cfg(test)]
mod tests;
