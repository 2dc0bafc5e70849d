//! A job as its page sees it: its logs, its sums, its files, and what follows from them.

use crate::engine::rules::sentence::JsonRow;
use crate::math::intervals::union_length;
use crate::text::amount::share;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The directions, in the order of the page.
pub(super) const DIRECTIONS: [&str; 2] = ["read", "write"];

/// Part of the run time in MPI-IO calls, and how many times that of POSIX calls they take, from which on a page says that processes wait.
const WAITING: f64 = 0.1;
const BEYOND_IO: f64 = 2.0;

/// One log of the job, with its Slurm record.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Log {
    #[serde(serialize_with = "as_text")]
    pub(super) log_id: i64,
    pub(super) uid: Option<i64>,
    pub(super) log_group: i64,
    pub(super) user: Option<String>,
    pub(super) app: Option<String>,
    pub(super) nprocs: Option<i64>,
    pub(super) node_count: Option<i64>,
    #[serde(rename = "match")]
    pub(super) matched: String,
    pub(super) state: Option<String>,
    #[serde(default, deserialize_with = "time", serialize_with = "stamp")]
    pub(super) start_time: Option<DateTime<Utc>>,
    #[serde(default, deserialize_with = "time", serialize_with = "stamp")]
    pub(super) end_time: Option<DateTime<Utc>>,
    pub(super) run_time: Option<f64>,
    pub(super) partial: Option<bool>,
    pub(super) status: String,
    /// The file that it came from.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// Modules of which Darshan had no room for all records.
    #[serde(default)]
    pub(super) partial_modules: Vec<String>,
    /// Why it is not whole.
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) modules: Vec<String>,
}

impl Log {
    /// Whether damage may have taken records of files. Traces of DXT lie behind those of all modules but DAOS's in a log, and count in no sum.
    pub(super) fn is_damaged(&self) -> bool {
        self.status == "damaged" && !self.has_lost_traces()
    }

    /// Whether it has modules of a version that iolode does not read.
    pub(super) fn has_unread_modules(&self) -> bool {
        self.status == "partial" && self.partial != Some(true)
    }

    /// Whether it is another log's run by all that a job region says.
    fn is_same_run(&self, other: &Self) -> bool {
        let run = |log: &Self| (log.uid, log.nprocs, log.start_time, log.end_time);
        self.start_time.is_some() && run(self) == run(other) && self.app == other.app
    }

    /// Whether damage begins in the traces of DXT.
    pub(super) fn has_lost_traces(&self) -> bool {
        let why = self.error.as_deref().unwrap_or_default();
        let has_later_records = self
            .modules
            .iter()
            .any(|name| name == "DFS" || name == "DAOS");
        self.status == "damaged" && why.starts_with("DXT_") && !has_later_records
    }
}

/// Sums over the files of a log, streams left out. What no file has is None.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Totals {
    #[serde(serialize_with = "as_text")]
    pub(super) log_id: i64,
    pub(super) files: i64,
    pub(super) read_time: f64,
    pub(super) write_time: f64,
    pub(super) meta_time: f64,
    /// Bytes by the source of each file.
    pub(super) bytes_read: i64,
    pub(super) bytes_written: i64,
    pub(super) files_read: i64,
    pub(super) files_written: i64,
    pub(super) mpiio_bytes_read: Option<i64>,
    pub(super) mpiio_bytes_written: Option<i64>,
    pub(super) posix_bytes_read: Option<i64>,
    pub(super) posix_bytes_written: Option<i64>,
    pub(super) stdio_bytes_read: Option<i64>,
    pub(super) stdio_bytes_written: Option<i64>,
    /// POSIX bytes of files that MPI-IO has, too.
    pub(super) below_read: Option<i64>,
    pub(super) below_written: Option<i64>,
    /// POSIX requests: all, those of up to 1 KiB and 1 MiB, sequential and consecutive ones.
    pub(super) requests_read: i64,
    pub(super) small_read: i64,
    pub(super) mib_read: i64,
    pub(super) seq_read: i64,
    pub(super) consec_read: i64,
    pub(super) requests_write: i64,
    pub(super) small_write: i64,
    pub(super) mib_write: i64,
    pub(super) seq_write: i64,
    pub(super) consec_write: i64,
    pub(super) coll_read: i64,
    pub(super) indep_read: i64,
    pub(super) coll_write: i64,
    pub(super) indep_write: i64,
    /// Reads of files from which no byte came.
    pub(super) empty_reads: i64,
    pub(super) not_aligned: i64,
    pub(super) opens: i64,
    pub(super) stats: i64,
    pub(super) seeks: i64,
    pub(super) syncs: i64,
    /// Files whose OSTs are known.
    pub(super) layouts: i64,
    /// Files whose times are those of MPI-IO calls, because records of POSIX are missing.
    pub(super) incomplete: i64,
}

/// I/O time of the slowest process, seconds: most in files of its own, plus the part of the slowest in each shared file. Of several logs the sum.
#[derive(Debug, Default, Serialize)]
pub(super) struct Slowest {
    pub(super) read: f64,
    pub(super) write: f64,
    pub(super) meta: f64,
    pub(super) all: f64,
    /// Whether it has parts of shared files, an estimate: the slowest process of each may be another, and Darshan says its time, not the parts of it.
    pub(super) is_estimate: bool,
}

/// Time in MPI-IO calls, s. The POSIX calls below them are a part of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct InMpiio {
    /// Of all processes, added up; and by direction.
    pub(super) time: f64,
    pub(super) read: f64,
    pub(super) write: f64,
    pub(super) meta: f64,
    /// Of the slowest process.
    pub(super) slowest: Slowest,
}

/// The files of the job in one direction, laid beside each other in time.
#[derive(Debug, Serialize)]
pub(super) struct Flow {
    pub(super) files: i64,
    pub(super) bytes: i64,
    /// Length of the union of the intervals, s.
    pub(super) critical_time: f64,
    /// Last end - first start, s.
    pub(super) span: f64,
    /// The fewest files that cover it, the one with most time first.
    pub(super) critical_files: Vec<CriticalFile>,
    #[serde(skip)]
    pub(super) parts: Vec<(f64, f64)>,
}

/// A file with the time that is its own.
#[derive(Debug, Serialize)]
pub(super) struct CriticalFile {
    #[serde(serialize_with = "as_text")]
    pub(super) record_id: u64,
    pub(super) time: f64,
}

/// A file of the job, over all its logs.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct File {
    #[serde(serialize_with = "as_text")]
    pub(super) record_id: u64,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) bytes_read: i64,
    #[serde(default)]
    pub(super) bytes_written: i64,
    #[serde(default)]
    pub(super) read_time: f64,
    #[serde(default)]
    pub(super) write_time: f64,
    #[serde(default)]
    pub(super) meta_time: f64,
}

impl File {
    pub(super) fn time(&self) -> f64 {
        self.read_time + self.write_time + self.meta_time
    }
}

/// A job: the logs of one id and user that belong together.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) job_id: i64,
    /// The log, if the page is about one of several.
    pub(super) only: Option<i64>,
    pub(super) logs: Vec<Log>,
    /// How many damaged copies of its logs are left out.
    pub(super) copies: usize,
    /// Seconds between a Slurm record of the job and its logs where that is a difference of time zones; below 0 if the record is later.
    pub(super) record_earlier_by: Option<i64>,
    pub(super) totals: Vec<Totals>,
    pub(super) slowest: Slowest,
    pub(super) in_mpiio: Option<InMpiio>,
    pub(super) layers: Vec<Layer>,
    /// Those with most I/O time, then others that are named.
    pub(super) files: Vec<File>,
    /// By direction, for each kind of interval.
    pub(super) flows: BTreeMap<(&'static str, &'static str), Flow>,
    /// By direction; none unless all is asked for.
    pub(super) compared: BTreeMap<&'static str, Vec<Compared>>,
    /// Rows of `root_causes` and of `advice`.
    pub(super) causes: Vec<JsonRow>,
    pub(super) habits: Vec<JsonRow>,
    /// Of `directory_facts` and `burst_facts`, each with the `causes` that it meets.
    pub(super) own: Vec<JsonRow>,
    pub(super) others: Others,
    pub(super) striping: Vec<Striping>,
}

/// What a layer moved whose sums do not stand in `darshan_file`: bytes, and calls of all processes.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Layer {
    pub(super) layer: String,
    #[serde(default)]
    pub(super) bytes_read: i64,
    #[serde(default)]
    pub(super) bytes_written: i64,
    #[serde(default)]
    pub(super) reads: i64,
    #[serde(default)]
    pub(super) writes: i64,
    /// Records, and those of them that asked for collective MPI-IO; of HDF5 alone.
    pub(super) records: Option<i64>,
    pub(super) collective: Option<i64>,
}

/// A number of the job beside those of others.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    /// Column of `perf_factors`.
    pub(super) name: &'static str,
    pub(super) value: Option<f64>,
    pub(super) own_app: Rank,
    pub(super) month: Rank,
}

/// Where a value lies among others.
#[derive(Debug, Serialize)]
pub(super) struct Rank {
    /// How many others there are.
    pub(super) others: i64,
    /// Part of them that has a smaller value; of equal ones half.
    pub(super) below: Option<f64>,
}

/// Rows about others.
#[derive(Debug, Default, Serialize)]
pub(super) struct Others {
    /// Of `job_facts`, `mdt_facts` and `node_facts`, each with the `causes` that it meets.
    pub(super) facts: Vec<JsonRow>,
    pub(super) neighbours: Vec<Neighbour>,
    /// The lake has nothing but logs of this job: nobody can be seen beside it.
    pub(super) is_alone: bool,
}

/// A row of `ost_neighbours`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Neighbour {
    pub(super) log_id: i64,
    /// None where the names of files are lost.
    pub(super) fs: Option<String>,
    pub(super) neighbour_job_id: i64,
    pub(super) neighbour_app: Option<String>,
    pub(super) neighbour_user: Option<String>,
    pub(super) osts: i64,
    pub(super) neighbour_bytes: f64,
    pub(super) share: f64,
}

/// A row of `stripe_advice`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Striping {
    /// None where the names of files are lost.
    pub(super) fs: Option<String>,
    pub(super) advice: String,
    pub(super) stripe_count: i64,
    pub(super) advised_count: i64,
    pub(super) fs_osts: Option<i64>,
    pub(super) files: i64,
    pub(super) time: f64,
    pub(super) largest_path: Option<String>,
    pub(super) largest_size: i64,
}

impl Job {
    /// A sum over its logs.
    pub(super) fn sum<N: std::iter::Sum>(&self, of: impl Fn(&Totals) -> N) -> N {
        self.totals.iter().map(of).sum()
    }

    /// The same of what no file may have.
    pub(super) fn known(&self, of: impl Fn(&Totals) -> Option<i64>) -> Option<i64> {
        let known = self.totals.iter().filter_map(of);
        known.reduce(i64::saturating_add)
    }

    /// Seconds that processes spent in I/O, added up.
    pub(super) fn io_time(&self) -> f64 {
        self.sum(|t| t.read_time + t.write_time + t.meta_time)
    }

    /// What a process can save at most in a direction, or in all: the time of the slowest one, waiting in MPI-IO for others included.
    pub(super) fn at_most(&self, direction: Option<&str>) -> f64 {
        let of = |slowest: &Slowest| match direction {
            Some("read") => slowest.read,
            Some(_) => slowest.write,
            None => slowest.all,
        };
        let in_mpiio = self.in_mpiio.as_ref().map(|mpiio| of(&mpiio.slowest));
        of(&self.slowest).max(in_mpiio.unwrap_or(0.0))
    }

    /// Part of it in a direction.
    pub(super) fn part(&self, direction: &str) -> f64 {
        let time = self.sum(|t| match direction {
            "read" => t.read_time,
            _ => t.write_time,
        });
        let all = self.io_time();
        if all > 0.0 { time / all } else { 0.0 }
    }

    /// Seconds that its programs ran, added up over logs.
    pub(super) fn run_time(&self) -> f64 {
        self.logs.iter().filter_map(|log| log.run_time).sum()
    }

    /// How much of the run time processes wait in MPI-IO calls, if it is much of it and little of that is I/O; and what to do.
    pub(super) fn waits(&self) -> Option<(String, &'static str)> {
        let (in_mpiio, all) = (self.in_mpiio.as_ref()?, self.process_seconds());
        let time = in_mpiio.time;
        let is_whole = !self.is_damaged() && !self.is_partial();
        let is_much = all > 0.0 && time >= WAITING * all && time >= BEYOND_IO * self.io_time();
        let most = match in_mpiio.read > in_mpiio.write {
            true => ("reading", in_mpiio.read),
            false => ("writing", in_mpiio.write),
        };
        let collective = self.sum(|t| t.coll_read + t.coll_write);
        let independent = self.sum(|t| t.indep_read + t.indep_write);
        let (why, advice) = match (collective, independent) {
            (0, _) => (
                "independent calls wait for the locks of a file that others write, or for a busy server",
                "Make calls of small pieces collective",
            ),
            (_, 0) => (
                "they wait for each other, for data that they exchange, or for locks",
                "Its calls are collective: let more processes move the bytes, in fewer rounds (`cb_nodes`, `cb_buffer_size`)",
            ),
            _ => (
                "they wait for each other, for data that they exchange, or for locks",
                "Collective calls: let more processes move the bytes, in fewer rounds (`cb_nodes`, `cb_buffer_size`); independent ones of small pieces: make them collective",
            ),
        };
        let said = || {
            format!(
                "processes spend {} of their run time in MPI-IO calls ({} of that {}) and {} in the POSIX calls below: {why}",
                share(time / all),
                share(most.1 / time),
                most.0,
                share(self.io_time() / all)
            )
        };
        (is_whole && is_much).then(|| (said(), advice))
    }

    /// Whether damage may have taken any of its records.
    pub(super) fn is_damaged(&self) -> bool {
        self.logs.iter().any(Log::is_damaged)
    }

    /// Whether Darshan had no room for some of its records, or some are of a version that iolode does not read.
    pub(super) fn is_partial(&self) -> bool {
        self.logs
            .iter()
            .any(|log| log.status == "partial" || log.partial == Some(true))
    }

    /// Processes x run time, added up over logs, s.
    pub(super) fn process_seconds(&self) -> f64 {
        let logs = self.logs.iter();
        let of_log = |log: &Log| Some(log.nprocs? as f64 * log.run_time?);
        logs.filter_map(of_log).sum()
    }

    /// Seconds on the clock in which at least one of its programs ran.
    pub(super) fn clock_time(&self) -> f64 {
        let runs = self.logs.iter().filter_map(|log| {
            let start = log.start_time?.timestamp_micros() as f64 / 1e6;
            Some((start, start + log.run_time?))
        });
        match self.logs.len() {
            1 => self.run_time(),
            _ => union_length(&mut runs.collect::<Vec<_>>()),
        }
    }

    /// Seconds on the clock in which at least one file was in use, in whichever direction, by windows.
    pub(super) fn in_use(&self) -> f64 {
        let windows = self.flows.iter().filter(|((_, kind), _)| *kind == "window");
        let parts = windows.flat_map(|(_, flow)| flow.parts.clone());
        union_length(&mut parts.collect::<Vec<_>>())
    }

    /// The logs in groups: those of one ran side by side, the groups one after another.
    pub(super) fn side_by_side(&self) -> Vec<Vec<i64>> {
        let mut groups: Vec<Vec<i64>> = vec![];
        let mut until = None;
        for log in &self.logs {
            let overlaps =
                matches!((log.start_time, until), (Some(start), Some(until)) if start < until);
            match groups.last_mut() {
                Some(group) if overlaps => group.push(log.log_id),
                _ => groups.push(vec![log.log_id]),
            }
            until = until.max(log.end_time.or(log.start_time));
        }
        groups
    }

    /// The numbers that its page is made of, for JSON.
    pub(super) fn facts(&self) -> Value {
        let flows = self.flows.iter().map(|((direction, kind), flow)| {
            json!({"direction": direction, "interval": kind, "flow": flow})
        });
        let mut facts = json!({
            "logs": self.logs,
            "damaged_copies": self.copies,
            "record_earlier_by": self.record_earlier_by,
            "totals": self.totals,
            "slowest": self.slowest,
            "in_mpiio": self.in_mpiio,
            "layers": self.layers,
            "run_time": self.run_time(),
            "process_seconds": self.process_seconds(),
            "clock_time": self.clock_time(),
            "io_time": self.io_time(),
            "in_use": self.in_use(),
            "files": self.files,
            "intervals": flows.collect::<Vec<_>>(),
            "compared": self.compared,
            "own": self.own,
            "others": self.others,
            "striping": self.striping,
        });
        exact(&mut facts);
        facts
    }

    pub(super) fn flow(&self, direction: &'static str, kind: &'static str) -> Option<&Flow> {
        self.flows.get(&(direction, kind))
    }

    pub(super) fn path(&self, record_id: u64) -> Option<&str> {
        self.file(record_id)?.path.as_deref()
    }

    pub(super) fn file(&self, record_id: u64) -> Option<&File> {
        self.files.iter().find(|file| file.record_id == record_id)
    }
}

/// The logs without those that are damaged and have a whole one of the same run beside them, whose sums would count twice.
pub(super) fn without_damaged_copies(logs: Vec<Log>) -> Vec<Log> {
    let is_copy: Vec<bool> = logs
        .iter()
        .map(|log| {
            let mut whole = logs.iter().filter(|other| other.status != "damaged");
            log.status == "damaged" && whole.any(|other| log.is_same_run(other))
        })
        .collect();
    let logs = logs.into_iter().zip(is_copy);
    logs.filter(|(_, is_copy)| !is_copy)
        .map(|(log, _)| log)
        .collect()
}

/// The first start and the last end of logs; None if none has a time. A log without an end counts with its start.
pub(super) fn span(logs: &[Log]) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let first = logs.iter().filter_map(|log| log.start_time).min()?;
    let ends = logs.iter();
    let last = ends
        .filter_map(|log| log.end_time.or(log.start_time))
        .max()?;
    Some((first, last))
}

/// JSON's numbers do not hold ids.
fn as_text<S: serde::Serializer>(
    id: &impl std::fmt::Display,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(id)
}

/// A time as answers write it.
fn time<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<DateTime<Utc>>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let time = text.map(|text| DateTime::parse_from_rfc3339(&text).map(|time| time.to_utc()));
    time.transpose().map_err(serde::de::Error::custom)
}

fn stamp<S: serde::Serializer>(
    time: &Option<DateTime<Utc>>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    let text = time.map(|time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    text.serialize(to)
}

/// Writes ids as text, for they exceed 2^53, up to which readers of JSON keep whole numbers; and leaves NULL, of rules that do not hold, out of lists of
/// causes.
fn exact(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(exact),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    ("log_id" | "record_id", Value::Number(id)) => *value = id.to_string().into(),
                    ("causes", Value::Array(causes)) => causes.retain(|cause| !cause.is_null()),
                    _ => {}
                }
                exact(value);
            }
        }
        _ => {}
    }
}
