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
use crate::error::{Error, Result};
use database::{Database, Form};
use load::Load;
use samples::{Counters, DatabaseSamples};
use serde_json::Value;
use span::{Plants, Span};
use std::path::Path;

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
    samples: (i64, i64),
    /// When it would have been written, seconds since 1970.
    end: i64,
    counters: Counters,
    /// Of the file, if it was written.
    bytes: u64,
}

impl Databases {
    /// The databases and what they hold, for truth.json. They are written to `dir`, if one is given.
    pub(crate) fn new(
        month: &Month,
        loads: Vec<Load>,
        dir: Option<&Path>,
    ) -> Result<(Self, Value)> {
        let (span, mut sums) = (Span::of(month), vec![]);
        let mut made = Self {
            month: *month,
            plants: Plants::of(month),
            loads,
            list: vec![],
        };
        for fs in 0..FILE_SYSTEMS.len() {
            let mut counters = Counters::new(month, fs);
            for (number, samples) in span.databases().into_iter().enumerate() {
                let mut sampled = Sampled {
                    name: name(&span, fs, samples, number),
                    fs,
                    samples,
                    end: span.stamp(samples.1),
                    counters: counters.clone(),
                    bytes: 0,
                };
                let samples = made.samples(&sampled);
                sums.push(truth::sums(&sampled.name, &samples, &span));
                let path = dir.map(|dir| dir.join(&sampled.name));
                sampled.bytes = sampled.write(&samples, &mut counters, path.as_deref())?;
                made.list.push(sampled);
            }
        }
        let truth = truth::truth(month, sums, &made.loads);
        Ok((made, truth))
    }

    fn samples(&self, sampled: &Sampled) -> DatabaseSamples<'_> {
        let (fs, samples) = (sampled.fs, sampled.samples);
        DatabaseSamples::new(&self.month, &self.plants, fs, samples, &self.loads)
    }

    /// The name of each database, when it would have been written, seconds since 1970, and its bytes if it was.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, i64, u64)> {
        (self.list.iter()).map(|made| (&*made.name, made.end, made.bytes))
    }

    /// Writes database `at` to a path where nothing is.
    pub(crate) fn write(&self, at: usize, path: &Path) -> Result<()> {
        let made = &self.list[at];
        made.write(&self.samples(made), &mut made.counters.clone(), Some(path))?;
        Ok(())
    }
}

impl Sampled {
    /// Advances the counters to the end of the database, and writes it if there is a path; its bytes.
    fn write(
        &self,
        samples: &DatabaseSamples<'_>,
        counters: &mut Counters,
        path: Option<&Path>,
    ) -> Result<u64> {
        let mut write = || {
            let mut into = Database::new(match path {
                None => Form::Nowhere,
                Some(path) if self.name.ends_with(".sqlite3") => Form::sqlite(path)?,
                Some(path) => Form::dump(path, FILE_SYSTEMS[self.fs].lmt, self.end)?,
            });
            samples.write(counters, &mut into)?;
            into.finish()?;
            path.map_or(Ok(0), |path| Ok(std::fs::metadata(path)?.len()))
        };
        write().map_err(|e| Error::io(path.unwrap_or(Path::new("")), "cannot write", e))
    }
}

/// Name of a database: that of LMT's database with the day, and the hour where it is less than a day. The forms take
/// turns; the second file system begins with the other one.
fn name(span: &Span, fs: usize, (first, _): (i64, i64), number: usize) -> String {
    let format = match span.seconds() {
        DAY.. => "%Y-%m-%d",
        _ => "%Y-%m-%d_%H%M",
    };
    let end = match (fs + number).is_multiple_of(2) {
        true => "sqlite3",
        false => "sql",
    };
    let begin = local(span.stamp(first)).format(format);
    format!("filesystem_{}_{begin}.{end}", FILE_SYSTEMS[fs].lmt)
}

#[cfg(test)]
mod tests;
