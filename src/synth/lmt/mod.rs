//! What LMT sampled while the month's jobs ran: counters of every OST, OSS and MDT every 5 s, as databases.
//!
//! The samples cover a [`Span`] of the busiest days. It is cut into databases ([`Span::databases`]): SQLite and mysqldump in
//! turns, so that a reader has to join one with the next. A sample stamped `t` holds what was moved before `t`; what was moved
//! since the sample before is the sum of the [`Load`]s there, byte by byte:
//!
//! ```text
//! bytes of files as the logs tell them, later for some by seconds of write-back        load::loads
//! + bursts of the Slurm jobs that left no log                                           load::without_log
//! + a little of everybody else                                                          span::noise
//! ```
//!
//! Planted on /scratch: a server that is started anew (its samples stop, what is asked of it meanwhile waits, its counters
//! begin at 0), two minutes without any sample, one sample of one OST that comes late and takes the place of the next,
//! and an OST that is nearly full.

mod database;
pub(crate) mod load;
mod samples;
mod schema;
pub(crate) mod span;
mod truth;

use super::month::{DAY, Month};
use super::site::local;
use super::system::FILE_SYSTEMS;
use crate::error::Result;
use database::{Database, Dump, Nowhere, Sqlite};
use load::Load;
use samples::{Counters, DatabaseSamples};
use span::{Plants, Span};
use std::path::Path;
use truth::SampleTruth;

/// The databases of a month, each made when somebody asks for it.
pub(crate) struct Databases {
    month: Month,
    plants: Plants,
    loads: Vec<Load>,
    list: Vec<Sampled>,
}

/// A database, and where the counters are when it begins.
struct Sampled {
    name: String,
    fs: usize,
    number: usize,
    samples: (i64, i64),
    counters: Counters,
}

impl Databases {
    /// The databases and what they hold, for truth.json. They are written to `dir`, if one is given.
    pub(crate) fn new(
        month: &Month,
        loads: Vec<Load>,
        dir: Option<&Path>,
    ) -> Result<(Self, SampleTruth)> {
        let span = Span::of(month);
        let (plants, mut truth) = (Plants::of(month), SampleTruth::default());
        let mut list = vec![];
        for fs in 0..FILE_SYSTEMS.len() {
            let mut counters = Counters::new(month, fs);
            for (number, samples) in span.databases().into_iter().enumerate() {
                let sampled = Sampled {
                    name: name(&span, fs, samples, number),
                    fs,
                    number,
                    samples,
                    counters: counters.clone(),
                };
                let made = DatabaseSamples::new(month, &plants, fs, samples, &loads);
                truth.add(&sampled.name, &made, span);
                let mut into: Box<dyn Database> = match dir {
                    Some(dir) => sampled.create(&dir.join(&sampled.name), &span)?,
                    None => Box::new(Nowhere),
                };
                made.write(&mut counters, into.as_mut())?;
                into.finish()?;
                list.push(sampled);
            }
        }
        truth.shares(month, &loads);
        let databases = Self {
            month: *month,
            plants,
            loads,
            list,
        };
        Ok((databases, truth))
    }

    /// The name of each database, and when it would have been written, seconds since 1970.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = (&str, i64)> {
        let span = Span::of(&self.month);
        (self.list.iter()).map(move |made| (&*made.name, span.stamp(made.samples.1)))
    }

    /// Writes database `at` to a path where nothing is.
    pub(crate) fn write(&self, at: usize, path: &Path) -> Result<()> {
        let made = &self.list[at];
        let samples = made.samples;
        let samples =
            DatabaseSamples::new(&self.month, &self.plants, made.fs, samples, &self.loads);
        let mut database = made.create(path, &Span::of(&self.month))?;
        samples.write(&mut made.counters.clone(), database.as_mut())?;
        database.finish()
    }
}

impl Sampled {
    /// A database that says that it was made at its end.
    fn create(&self, path: &Path, span: &Span) -> Result<Box<dyn Database>> {
        Ok(match is_sqlite(self.fs, self.number) {
            true => Box::new(Sqlite::create(path)?),
            false => {
                let end = span.stamp(self.samples.1);
                Box::new(Dump::create(path, FILE_SYSTEMS[self.fs].lmt, end)?)
            }
        })
    }
}

/// The forms take turns; the second file system begins with the other one.
fn is_sqlite(fs: usize, number: usize) -> bool {
    (fs + number).is_multiple_of(2)
}

/// Name of a database: that of LMT's database with the day, and the hour where it is less than a day.
fn name(span: &Span, fs: usize, (first, _): (i64, i64), number: usize) -> String {
    let format = match span.seconds() {
        DAY.. => "%Y-%m-%d",
        _ => "%Y-%m-%d_%H%M",
    };
    let end = match is_sqlite(fs, number) {
        true => "sqlite3",
        false => "sql",
    };
    let begin = local(span.stamp(first)).format(format);
    format!("filesystem_{}_{begin}.{end}", FILE_SYSTEMS[fs].lmt)
}

#[cfg(test)]
mod tests;
