//! What `sacct --json` prints: data_parser v0.0.38 to v0.0.42 and later ones like them.
//!
//! The parsers of different versions write the same thing as a number, as `{set, infinite, number}` or as a list: each of them is
//! read wherever one may stand.

use super::clock::Moment;
use super::record::{Expansion, Record, Task};
use super::value::{Id, State, Tres, state};
use crate::error::{Error, Result};
use crate::source::{BatchSink, Input, Outcome, ReadContext, Status};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Formatter;
use std::io::BufReader;

const SECOND: i64 = 1_000_000;
/// Slurm's numbers for a limit that is not set, and for none at all.
const NO_VALUE: i64 = 0xffff_fffe;
const INFINITE: i64 = 0xffff_ffff;

/// Appends the records of a dump, job by job.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let mut dump = Dump {
        context,
        tables,
        expansion: Expansion::default(),
        jobs: 0,
        without_id: 0,
        no_exit_codes: false,
        failed: None,
        said: None,
    };
    let bytes = BufReader::with_capacity(1 << 18, input.bytes());
    let mut json = serde_json::Deserializer::from_reader(bytes);
    let read = Top(&mut dump)
        .deserialize(&mut json)
        .and_then(|()| json.end());
    if let Some(error) = dump.failed {
        return Err(error);
    }
    let malformed = |reason: String| Error::Malformed {
        path: input.path().into(),
        region: "JSON".into(),
        at: None,
        reason,
    };
    let mut why = vec![];
    if let Err(e) = read {
        let e = if e.is_eof() {
            format!("it ends in the middle of a value (line {})", e.line())
        } else {
            e.to_string()
        };
        if dump.jobs == 0 {
            return Err(malformed(e));
        }
        why.push(format!("{e}; the {} jobs before were taken", dump.jobs));
    }
    let damaged = !why.is_empty();
    if dump.without_id > 0 {
        why.push(format!("{} jobs have no job_id", dump.without_id));
    }
    match (dump.said, dump.jobs) {
        (Some(said), 0) => return Err(malformed(format!("sacct failed: {said}"))),
        (Some(said), _) => why.push(format!("sacct says: {said}")),
        (None, _) => {}
    }
    let status = if damaged || dump.without_id > 0 {
        Status::Damaged
    } else {
        Status::Ok
    };
    Ok(Outcome {
        status,
        why: (!why.is_empty()).then(|| why.join("; ")),
    })
}

struct Dump<'a> {
    context: &'a ReadContext,
    tables: &'a mut BatchSink,
    expansion: Expansion,
    jobs: u64,
    without_id: u64,
    /// It is of data_parser v0.0.38, which writes 0 for every exit code.
    no_exit_codes: bool,
    /// What kept rows from being taken.
    failed: Option<Error>,
    /// An error that sacct itself reports.
    said: Option<String>,
}

/// The whole answer.
struct Top<'d, 'a>(&'d mut Dump<'a>);

impl<'de> DeserializeSeed<'de> for Top<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("an answer of `sacct --json`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "jobs" => map.next_value_seed(Jobs(self.0))?,
                "meta" => {
                    let meta: Value = map.next_value()?;
                    self.0.no_exit_codes = meta.to_string().contains("v0.0.38");
                }
                "errors" => {
                    let errors: Value = map.next_value()?;
                    let said = errors
                        .as_array()
                        .and_then(|errors| errors.first())
                        .map(|error| {
                            let text = ["description", "error"]
                                .iter()
                                .find_map(|key| error.get(key)?.as_str());
                            text.map_or_else(|| error.to_string(), str::to_string)
                        });
                    self.0.said = said;
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// Its list of jobs, of which only one is in memory at a time.
struct Jobs<'d, 'a>(&'d mut Dump<'a>);

impl<'de> DeserializeSeed<'de> for Jobs<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Jobs<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of jobs")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut jobs: S) -> Result<(), S::Error> {
        while let Some(job) = jobs.next_element::<Value>()? {
            self.0.jobs += 1;
            self.0.job(&job);
            if (self.0.jobs.is_multiple_of(64) || self.0.expansion.has_given_many())
                && let Err(e) = self.0.tables.flush()
            {
                self.0.failed = Some(e);
                return Err(serde::de::Error::custom("rows cannot be taken"));
            }
        }
        Ok(())
    }
}

impl Dump<'_> {
    fn job(&mut self, job: &Value) {
        let Some(job_id) = int(&job["job_id"]) else {
            self.without_id += 1;
            return;
        };
        let array = &job["array"];
        let (array_job, task) = (
            int(&array["job_id"]).filter(|id| *id > 0),
            int(&array["task_id"]),
        );
        let tasks = array_job
            .and_then(|_| text(&array["task"]))
            .filter(|_| task.is_none());
        let het = &job["het"];
        let het_job = int(&het["job_id"]).filter(|id| *id > 0);
        let offset = het_job.and_then(|_| int(&het["job_offset"]));
        let shown = match (array_job, task, tasks, het_job, offset) {
            (Some(array), Some(task), ..) => format!("{array}_{task}"),
            (Some(array), None, Some(tasks), ..) => format!("{array}_[{tasks}]"),
            (_, _, _, Some(leader), Some(offset)) => format!("{leader}+{offset}"),
            _ => job_id.to_string(),
        };
        let id = Id {
            job_id,
            text: &shown,
            step: None,
            array_job_id: array_job,
            array_task_id: array_job.and(task),
            array_tasks: tasks,
            het_job_id: het_job,
            het_offset: offset,
        };
        let time = &job["time"];
        let limit = &time["limit"];
        let minutes = int(limit).filter(|minutes| *minutes < NO_VALUE);
        let unlimited = limit["infinite"].as_bool() == Some(true) || int(limit) == Some(INFINITE);
        let limit_text = match minutes {
            Some(minutes) => Some(limit_text(minutes)),
            None if unlimited => Some("UNLIMITED".into()),
            None => (int(limit) == Some(NO_VALUE) || limit["set"].as_bool() == Some(false))
                .then(|| "Partition_Limit".into()),
        };
        let required = &job["required"];
        let memory = [
            ("memory", "node"),
            ("memory_per_node", "node"),
            ("memory_per_cpu", "cpu"),
        ];
        let memory = memory
            .into_iter()
            .find_map(|(key, per)| Some((int(&required[key]).filter(|v| *v > 0)?, per)));
        let comment = &job["comment"];
        let flags = joined(&job["flags"]);
        let name_of = |value: &Value| text(value).map(str::to_string);
        let reservation = name_of(&job["reservation"]["name"]);
        let state = state_of(&job["state"]["current"], &job["kill_request_user"]);
        // Slurm gives 0 for jobs; what sacct prints is the sum of their steps.
        let cpu_of = |part: &str| match cpu(&time[part]) {
            None | Some(0.0) => {
                let steps = job["steps"].as_array().into_iter().flatten();
                let all: Vec<f64> = steps.filter_map(|step| cpu(&step["time"][part])).collect();
                (!all.is_empty()).then(|| all.iter().sum())
            }
            own => own,
        };
        let record = Record {
            id,
            cluster: text(&job["cluster"]).or(text(&job["association"]["cluster"])),
            user: text(&job["user"]).or(text(&job["association"]["user"])),
            account: text(&job["account"]),
            partition: text(&job["partition"]),
            qos: text(&job["qos"]),
            name: text(&job["name"]),
            state,
            exit: self.exit(&job["exit_code"], state),
            derived_exit: exit(&job["derived_exit_code"]).filter(|_| !self.no_exit_codes),
            reason: text(&job["state"]["reason"]),
            submit: moment(&time["submission"]),
            eligible: moment(&time["eligible"]),
            start: moment(&time["start"]),
            end: moment(&time["end"]),
            elapsed: int(&time["elapsed"]).map(|v| v as f64),
            suspended: int(&time["suspended"]).map(|v| v as f64),
            timelimit: minutes.map(|minutes| minutes as f64 * 60.0),
            timelimit_text: limit_text.as_deref(),
            alloc_nodes: int(&job["allocation_nodes"]),
            node_list: text(&job["nodes"]),
            ncpus: amount_of(&job["tres"]["allocated"], "cpu").or(int(&required["CPUs"])),
            req_cpus: int(&required["CPUs"]),
            req_nodes: amount_of(&job["tres"]["requested"], "node"),
            req_mem: memory
                .and_then(|(megabytes, per)| Some((megabytes.checked_mul(1 << 20)?, per))),
            alloc_tres: Some(tres(&job["tres"]["allocated"], allocated)),
            req_tres: Some(tres(&job["tres"]["requested"], allocated)),
            total_cpu: cpu_of("total"),
            user_cpu: cpu_of("user"),
            system_cpu: cpu_of("system"),
            priority: int(&job["priority"]),
            restarts: int(&job["restart_cnt"]),
            reservation: reservation.as_deref(),
            constraints: text(&job["constraints"]),
            flags: flags.as_deref(),
            wckey: text(&job["wckey"]["wckey"]),
            work_dir: text(&job["working_directory"]),
            comment: text(&comment["job"]),
            admin_comment: text(&comment["administrator"]),
            system_comment: text(&comment["system"]),
            submit_line: text(&job["submit_line"]),
            ..Record::default()
        };
        record.push(self.context.period, &mut self.expansion, self.tables);
        for step in job["steps"].as_array().into_iter().flatten() {
            self.step(step, id);
        }
    }

    /// Exit code and signal, unless they are known to be wrong: what failed did not end with 0.
    fn exit(&self, value: &Value, state: Option<State<'_>>) -> Option<(i64, i64)> {
        let failed = state.is_some_and(|state| state.name == "FAILED");
        exit(value).filter(|exit| !(self.no_exit_codes && failed && *exit == (0, 0)))
    }

    fn step(&mut self, step: &Value, job: Id<'_>) {
        let number = &step["step"]["id"];
        let Some(name) = int(number)
            .map(|id| id.to_string())
            .or_else(|| text(number).map(str::to_string))
        else {
            return;
        };
        // Newer parsers write the job before it: `1.batch`.
        let name = name.rsplit('.').next().unwrap_or(&name);
        let shown = format!("{}.{name}", job.text);
        let time = &step["time"];
        let (requested, consumed) = (&step["tres"]["requested"], &step["tres"]["consumed"]);
        let most = |list: &Value, name: &str| amount_of(&list["max"], name);
        let average = |list: &Value, name: &str| amount_of(&list["average"], name);
        let milliseconds = |v: i64| v as f64 / 1000.0;
        let node_list = text(&step["nodes"]["range"]);
        let state = state_of(&step["state"], &step["kill_request_user"]);
        let record = Record {
            id: Id {
                text: &shown,
                step: Some(name),
                ..job
            },
            name: text(&step["step"]["name"]),
            state,
            exit: self.exit(&step["exit_code"], state),
            start: moment(&time["start"]),
            end: moment(&time["end"]),
            elapsed: int(&time["elapsed"]).map(|v| v as f64),
            suspended: int(&time["suspended"]).map(|v| v as f64),
            alloc_nodes: int(&step["nodes"]["count"]),
            node_list,
            ntasks: int(&step["tasks"]["count"]),
            ncpus: amount_of(&step["tres"]["allocated"], "cpu"),
            alloc_tres: Some(tres(&step["tres"]["allocated"], allocated)),
            usage_in: Some(tres(&requested["total"], used)),
            usage_out: Some(tres(&consumed["total"], used)),
            total_cpu: cpu(&time["total"]),
            user_cpu: cpu(&time["user"]),
            system_cpu: cpu(&time["system"]),
            ave_cpu: average(requested, "cpu").map(milliseconds),
            min_cpu: amount_of(&requested["min"], "cpu").map(milliseconds),
            min_cpu_where: task(&requested["min"], "cpu"),
            max_rss: most(requested, "mem"),
            max_rss_where: task(&requested["max"], "mem"),
            ave_rss: average(requested, "mem"),
            max_vmsize: most(requested, "vmem"),
            ave_vmsize: average(requested, "vmem"),
            max_pages: most(requested, "pages"),
            ave_pages: average(requested, "pages"),
            max_disk_read: most(requested, "fs/disk"),
            max_disk_read_where: task(&requested["max"], "fs/disk"),
            ave_disk_read: average(requested, "fs/disk"),
            max_disk_write: most(consumed, "fs/disk"),
            max_disk_write_where: task(&consumed["max"], "fs/disk"),
            ave_disk_write: average(consumed, "fs/disk"),
            energy: int(&step["statistics"]["energy"]["consumed"]),
            layout: text(&step["task"]["distribution"]),
            submit_line: text(&step["submit_line"]),
            ..Record::default()
        };
        record.push(self.context.period, &mut self.expansion, self.tables);
    }
}

/// A number, plain, in text, as the first of a list, or as `{set, infinite, number}`.
fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|v| v as i64)),
        Value::String(text) => text.parse().ok(),
        Value::Array(list) => list.first().and_then(int),
        Value::Object(fields) => {
            let no = |key: &str, when: bool| fields.get(key).and_then(Value::as_bool) == Some(when);
            match no("set", false) || no("infinite", true) {
                true => None,
                false => fields.get("number").and_then(int),
            }
        }
        Value::Null | Value::Bool(_) => None,
    }
}

/// A text, or the first of a list.
fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Array(list) => list.first().and_then(text),
        value => value.as_str().filter(|text| !text.is_empty()),
    }
}

fn joined(value: &Value) -> Option<String> {
    let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    (!words.is_empty()).then(|| words.join(","))
}

/// Seconds since 1970, where 0 is not known.
fn moment(value: &Value) -> Option<Moment> {
    let seconds = int(value).filter(|seconds| *seconds > 0 && *seconds < NO_VALUE)?;
    seconds.checked_mul(SECOND).map(Moment::at)
}

fn state_of<'v>(value: &'v Value, killed_by: &Value) -> Option<State<'v>> {
    let state = state(text(value)?)?;
    // A name stands there, of which only that of root is a number everywhere.
    let by = text(killed_by)
        .and_then(|name| {
            if name == "root" {
                Some(0)
            } else {
                name.parse().ok()
            }
        })
        .or_else(|| int(killed_by));
    Some(State {
        by: by.filter(|_| state.name == "CANCELLED"),
        ..state
    })
}

fn exit(value: &Value) -> Option<(i64, i64)> {
    let signal = &value["signal"];
    let signal = int(&signal["signal_id"])
        .or_else(|| int(&signal["id"]))
        .unwrap_or(0);
    match int(&value["return_code"]) {
        Some(code) => Some((code, signal)),
        None => (signal > 0).then_some((0, signal)),
    }
}

/// Seconds and microseconds.
fn cpu(value: &Value) -> Option<f64> {
    let (seconds, micros) = (
        int(&value["seconds"])?,
        int(&value["microseconds"]).unwrap_or(0),
    );
    Some(seconds as f64 + micros as f64 / 1e6)
}

/// The name of a trackable resource: `cpu`, `fs/disk`, `gres/gpu`.
fn is_named(entry: &Value, name: &str) -> bool {
    let (kind, of) = (
        entry["type"].as_str().unwrap_or_default(),
        text(&entry["name"]),
    );
    match of {
        Some(of) => name.split_once('/') == Some((kind, of)),
        None => name == kind,
    }
}

fn find<'v>(list: &'v Value, name: &str) -> Option<&'v Value> {
    list.as_array()?.iter().find(|entry| is_named(entry, name))
}

fn amount_of(list: &Value, name: &str) -> Option<i64> {
    int(&find(list, name)?["count"]).filter(|count| *count >= 0)
}

fn task<'v>(list: &'v Value, name: &str) -> Task<'v> {
    let Some(entry) = find(list, name) else {
        return Task::default();
    };
    Task {
        node: text(&entry["node"]),
        task: int(&entry["task"]),
    }
}

/// What an allocation counts: memory is in MiB.
fn allocated(kind: &str, count: i64) -> Option<i64> {
    if kind == "mem" {
        count.checked_mul(1 << 20)
    } else {
        Some(count)
    }
}

/// What usage counts: CPU time is in milliseconds.
fn used(kind: &str, count: i64) -> Option<i64> {
    Some(if kind == "cpu" { count / 1000 } else { count })
}

fn tres(list: &Value, unit: fn(&str, i64) -> Option<i64>) -> Tres<'_> {
    let entries = list.as_array().into_iter().flatten();
    let pair = |entry| -> Option<(Cow<'_, str>, i64)> {
        let entry: &Value = entry;
        let kind = entry["type"].as_str()?;
        let count = int(&entry["count"]).filter(|count| *count >= 0)?;
        let name = match text(&entry["name"]) {
            Some(name) => format!("{kind}/{name}").into(),
            None => kind.into(),
        };
        Some((name, unit(kind, count)?))
    };
    entries.filter_map(pair).collect()
}

/// Minutes as Slurm prints a limit.
fn limit_text(minutes: i64) -> String {
    let (days, hours) = (minutes / 1440, minutes / 60 % 24);
    let clock = format!("{hours:02}:{:02}:00", minutes % 60);
    if days > 0 {
        format!("{days}-{clock}")
    } else {
        clock
    }
}
