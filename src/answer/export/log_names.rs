//! What stands in a rewritten log: the pseudonyms that the tables of the export have, by the same policy.

use super::anonymize::Anonymizer;
use super::coarse;
use super::policy::Policy;
use super::pseudonym::Key;
use crate::error::{Error, Result};
use crate::source::darshan::job::{Job, Mount};
use crate::source::darshan::{Name, Replacements, write};
use crate::table::{Coarse, Table, Treatment, table, tables};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use chrono::{DateTime, Datelike, Timelike};
use std::sync::Arc;

/// Replaces what logs say of somebody.
pub(super) struct LogNames {
    anonymizer: Anonymizer,
    policy: Arc<Policy>,
    /// Of the log that is being written.
    log: LogRow,
}

/// What the table `darshan_log` of the export says of a log.
#[derive(Clone, Default)]
pub(super) struct LogRow {
    pub(super) log_id: i64,
    pub(super) job_id: i64,
    uid: Option<i64>,
    app: Option<String>,
    exe: Option<String>,
    lib_ver: Option<String>,
    mpi_hints: Option<String>,
    user: Option<String>,
    /// Microseconds since 1970.
    start: Option<i64>,
}

impl LogRow {
    /// Those of rows of `darshan_log`.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a table without its columns.
    pub(super) fn all(table: &Table, rows: &RecordBatch) -> Result<Vec<Self>> {
        let column = |name: &str| Ok::<_, Error>(rows.column(table.index(name)?));
        let int = |name: &str| Ok::<_, Error>(column(name)?.as_primitive::<Int64Type>());
        let text = |name: &str| Ok::<_, Error>(column(name)?.as_string::<i32>());
        let time = |name: &str| {
            let times = column(name)?.as_primitive::<TimestampMicrosecondType>();
            Ok::<_, Error>(times)
        };
        let (logs, jobs, uids) = (int("log_id")?, int("job_id")?, int("uid")?);
        let (apps, exes) = (text("app")?, text("exe")?);
        let (versions, hints) = (text("lib_ver")?, text("mpi_hints")?);
        let (users, starts) = (text("user")?, time("start_time")?);
        let rows = (0..rows.num_rows()).map(|row| {
            let text = |texts: &arrow::array::StringArray| {
                texts.is_valid(row).then(|| texts.value(row).to_string())
            };
            Self {
                log_id: logs.value(row),
                job_id: jobs.value(row),
                uid: uids.is_valid(row).then(|| uids.value(row)),
                app: text(apps),
                exe: text(exes),
                lib_ver: text(versions),
                mpi_hints: text(hints),
                user: text(users),
                start: starts.is_valid(row).then(|| starts.value(row)),
            }
        });
        Ok(rows.collect())
    }
}

impl LogRow {
    /// The name of its file, as Darshan names logs (FORMAT.md 9): only there it says its user. The time is UTC.
    pub(super) fn file_name(&self) -> String {
        let start = self.start.and_then(DateTime::from_timestamp_micros);
        let (Some(user), Some(start)) = (&self.user, start) else {
            return format!("{}.darshan", self.log_id);
        };
        let app = self.app.as_deref().unwrap_or("none");
        let (month, day) = (start.month(), start.day());
        let second = start.num_seconds_from_midnight();
        let (job, log) = (self.job_id, self.log_id);
        let name = format!("{user}_{app}_id{job}_{month}-{day}-{second}-{log}_1.darshan");
        // A policy may keep a name with any characters.
        name.replace('/', "_")
    }
}

impl LogNames {
    /// By a key and a policy.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a column that does not say what is done with it.
    pub(super) fn new(key: Key, policy: Arc<Policy>) -> Result<Self> {
        Ok(Self {
            anonymizer: Anonymizer::new(key, policy.clone(), table("darshan_log")?)?,
            policy,
            log: LogRow::default(),
        })
    }

    /// Goes on to a log.
    pub(super) fn begin(&mut self, log: LogRow) {
        self.log = log;
    }

    fn treatment(&self, of: &str, column: &str) -> Result<Treatment> {
        self.policy.of(table(of)?, column)
    }
}

/// Whether a policy leaves every counter as it is: a log cannot be rewritten without one.
///
/// # Errors
/// [`Error::Invalid`] with the first column of which it does not.
pub(super) fn check(policy: &Policy) -> Result<()> {
    for table in tables().filter(|table| table.name.starts_with("darshan_")) {
        for (column, field) in table.columns.iter().zip(table.schema.fields()) {
            let is_time = matches!(field.data_type(), DataType::Timestamp(..));
            let is_changed = column.export == Some(Treatment::Kept)
                && policy.of(table, &column.name)? != Treatment::Kept;
            if is_changed && !is_time {
                return Err(Error::Invalid(format!(
                    "rewritten logs have every counter, and the policy changes {}.{}; leave out the logs or that line",
                    table.name, column.name
                )));
            }
        }
    }
    Ok(())
}

impl Replacements for LogNames {
    fn job(&mut self, job: &Job) -> Result<write::Job> {
        let log = self.log.clone();
        let mut start = (job.start_sec, job.start_nsec);
        if self.treatment("darshan_log", "start_time")? != Treatment::Kept {
            let time = log.start.unwrap_or(0);
            start = (
                time.div_euclid(1_000_000),
                time.rem_euclid(1_000_000) * 1000,
            );
        }
        // The run time is that of the original: times of accesses count from the start.
        let seconds = job.end_sec.saturating_sub(job.start_sec);
        let nanos = start
            .1
            .saturating_add(job.end_nsec)
            .saturating_sub(job.start_nsec);
        let end = (
            start
                .0
                .saturating_add(seconds)
                .saturating_add(nanos.div_euclid(1_000_000_000)),
            nanos.rem_euclid(1_000_000_000),
        );
        let lines = [("lib_ver", log.lib_ver), ("h", log.mpi_hints)];
        let lines = lines.map(|(key, value)| value.map(|value| format!("{key}={value}\n")));
        let mounts = job.mounts.iter().map(|mount| {
            let path = String::from_utf8_lossy(&mount.path);
            let fs_type = String::from_utf8_lossy(&mount.fs_type);
            Ok(Mount {
                path: self.text("darshan_mount", "mount_point", &path)?.into(),
                fs_type: self.text("darshan_mount", "fs_type", &fs_type)?.into(),
            })
        });
        Ok(write::Job {
            mounts: mounts.collect::<Result<_>>()?,
            uid: log.uid.unwrap_or(-1),
            start,
            end,
            nprocs: job.nprocs,
            job_id: log.job_id,
            metadata: lines.into_iter().flatten().collect::<String>().into(),
            // The table has the program by the rules of the site.
            exe: log.exe.or(log.app).unwrap_or_default().into(),
        })
    }

    fn name(&mut self, name: Name<'_>) -> Result<String> {
        let treatment = match name.is_object {
            true => self.treatment("darshan_h5d", "name")?,
            false => self.treatment("darshan_file", "path")?,
        };
        Ok(match treatment {
            Treatment::Kept => name.text.into(),
            // An empty name is none.
            Treatment::Dropped => String::new(),
            _ => self.anonymizer.name(name),
        })
    }

    fn record_id(&mut self, id: u64, name: Option<Name<'_>>) -> u64 {
        match self.treatment("darshan_file", "record_id") {
            Ok(Treatment::Kept) => id,
            _ => self.anonymizer.record_id(id, name),
        }
    }

    fn text(&mut self, table: &str, column: &str, text: &str) -> Result<String> {
        Ok(match self.treatment(table, column)? {
            Treatment::Kept => text.into(),
            Treatment::Pseudonym(domain) => self.anonymizer.text(domain, text)?,
            Treatment::Coarsened(Coarse::FsType) => coarse::fs_type(text).into(),
            _ => String::new(),
        })
    }

    fn keeps(&self, table: &str, column: &str) -> Result<bool> {
        Ok(self.treatment(table, column)? == Treatment::Kept)
    }
}
