//! What was planted: `truth.json`. It is derived from the scenarios, never from the code that analyses logs.

use super::lmt::load::Load;
use super::month::{Kind, Month, MonthLog};
use super::scenario::cause::Cause;
use super::scenario::job::{Job, Scenario};
use super::scenario::{fault, slow_ost};
use super::system::{SCRATCH_OSTS, SLOWDOWN, System};
use super::workload::Workload;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{posix, stdio};
use crate::source::darshan::write::Records;
use serde_json::{Value, json};

/// What truth.json, the accounting and the samples need of a job's logs.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) logs: u64,
    pub(crate) bytes: u64,
    job_id: i64,
    /// Bytes read and written by its logs, by POSIX and STDIO.
    moved: [i64; 2],
    /// Files with one stripe: number and sum of the logarithms of their bandwidths, on the slow OST and elsewhere.
    slow: (u64, f64),
    other: (u64, f64),
    pub(crate) special: Option<Box<Special>>,
    /// What the accounting and the servers need to know of its logs: start and end of each, seconds since 1970.
    pub(crate) windows: Vec<(f64, f64)>,
    pub(crate) loads: Vec<Load>,
}

/// A job with a scenario.
pub(crate) struct Special {
    scenario: Scenario,
    path: String,
    /// The file's size, and what is left of it.
    pub(crate) cut: (u64, u64),
    pub(crate) copy: Option<String>,
    paths: Vec<String>,
    numbers: Value,
}

/// What was written beside the logs.
#[derive(Default)]
pub(crate) struct Dumps {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// What was planted there.
    pub(crate) slurm: Option<Value>,
    pub(crate) lmt: Option<Value>,
}

impl Facts {
    /// Of the logs of a job as they were made.
    pub(crate) fn of(job: &Job, logs: &[(MonthLog, Workload)]) -> Self {
        let mut facts = Self {
            job_id: job.job_id,
            ..Self::default()
        };
        for (MonthLog { log, .. }, workload) in logs {
            for module in &log.modules {
                let counters = match module.id {
                    ModuleId::POSIX => [posix::BYTES_READ, posix::BYTES_WRITTEN],
                    ModuleId::STDIO => [stdio::BYTES_READ, stdio::BYTES_WRITTEN],
                    _ => continue,
                };
                if let Records::Counters(records) = &module.records {
                    for (moved, counter) in facts.moved.iter_mut().zip(counters) {
                        *moved += records.iter().map(|r| r.ints[counter]).sum::<i64>();
                    }
                }
            }
            if !matches!(job.scenario, Some(Scenario::Fault(_) | Scenario::Neighbour)) {
                facts.bandwidths(workload);
            }
        }
        if let (Some(scenario), Some((MonthLog { path, log }, workload))) =
            (job.scenario, logs.first())
        {
            let (paths, numbers) = match scenario {
                Scenario::Fault(cause) => fault::truth(cause, workload),
                Scenario::Case(case) => (vec![], case.truth()),
                Scenario::SlowOst(role) => (vec![], role.truth(&job.program)),
                _ => (vec![], json!({"nprocs": log.job.nprocs})),
            };
            facts.special = Some(Box::new(Special {
                scenario,
                path: path.display().to_string(),
                cut: (0, 0),
                copy: None,
                paths,
                numbers,
            }));
        }
        facts
    }

    /// Whether the log is to be cut short.
    pub(crate) fn damaged(&self) -> bool {
        self.is(|scenario| scenario == Scenario::Damaged).is_some()
    }

    /// Whether the log is to be copied.
    pub(crate) fn duplicated(&self) -> bool {
        self.is(|scenario| scenario == Scenario::Duplicate)
            .is_some()
    }

    fn bandwidths(&mut self, workload: &Workload) {
        let uses = workload.uses.iter();
        for file in uses.filter(|file| file.path.starts_with("/scratch/")) {
            let Some([ost]) = file.layout.as_ref().map(|layout| &layout.osts[..]) else {
                continue;
            };
            let sum = match *ost == workload.system.slow_ost {
                true => &mut self.slow,
                false => &mut self.other,
            };
            for moved in file.both() {
                sum.0 += 1;
                sum.1 += (moved.bytes as f64 / moved.window()).ln();
            }
        }
    }

    /// What is special about the job, if it is something that `of` picks.
    fn is(&self, of: impl Fn(Scenario) -> bool) -> Option<&Special> {
        let special = self.special.as_deref()?;
        of(special.scenario).then_some(special)
    }
}

/// What `truth.json` says. `facts` are those of all jobs in order; `not_darshan` is the file that only looks like a log.
pub(crate) fn truth(month: &Month, facts: &[Facts], dumps: &Dumps, not_darshan: &str) -> Value {
    match month.kind {
        Kind::Usual => usual(month, facts, dumps, not_darshan),
        _ => logs_alone(month, facts),
    }
}

fn usual(month: &Month, facts: &[Facts], dumps: &Dumps, not_darshan: &str) -> Value {
    let special = |scenario: Scenario| {
        let special = move |facts: &'_ Facts| facts.is(|other| other == scenario).is_some();
        let found = facts.iter().filter(move |facts| special(facts));
        found.filter_map(|facts| Some((facts.job_id, facts.special.as_deref()?)))
    };
    let damaged = special(Scenario::Damaged).map(
        |(id, s)| json!({"job_id": id, "log": s.path, "bytes": s.cut.1, "whole_bytes": s.cut.0}),
    );
    let damaged: Vec<_> = damaged.collect();
    let partial = special(Scenario::Partial)
        .map(|(id, s)| json!({"job_id": id, "log": s.path, "modules": ["POSIX"]}));
    let partial: Vec<_> = partial.collect();
    let duplicates = special(Scenario::Duplicate)
        .map(|(id, s)| json!({"job_id": id, "log": s.path, "copy": s.copy}));
    let duplicates: Vec<_> = duplicates.collect();
    let custom: Vec<_> = special(Scenario::CustomStriping)
        .map(|(id, _)| id)
        .collect();

    let faults = Cause::ALL.map(|cause| {
        let jobs = || special(Scenario::Fault(cause));
        let each = jobs().map(
            |(id, s)| json!({"job_id": id, "log": s.path, "paths": s.paths, "numbers": s.numbers}),
        );
        let (kind, doc, app) = fault::doc(cause);
        json!({
            "kind": kind,
            "doc": doc,
            "app": app,
            "job_ids": jobs().map(|(id, _)| id).collect::<Vec<_>>(),
            "paths": jobs().flat_map(|(_, s)| &s.paths).collect::<Vec<_>>(),
            "jobs": each.collect::<Vec<_>>(),
        })
    });
    let mut faults = faults.to_vec();
    faults.push(slow_target(month, facts));
    let logs = facts.iter().map(|facts| facts.logs).sum::<u64>();
    let moved = |side: usize| {
        let whole = facts.iter().filter(|facts| !facts.damaged());
        whole.map(|facts| facts.moved[side]).sum::<i64>()
    };
    let mut truth = json!({
        "jobs": month.jobs,
        "seed": month.seed,
        "start": month.start,
        "days": month.days,
        "counts": {
            "files": logs + duplicates.len() as u64 + 1,
            "logs": logs,
            "damaged": damaged.len(),
            "partial": partial.len(),
            "duplicates": duplicates.len(),
            "not_darshan": 1,
            "custom_striping": custom.len(),
        },
        "totals": {
            "doc": "bytes by POSIX and STDIO in all logs that are not damaged, each log once",
            "bytes_read": moved(0),
            "bytes_written": moved(1),
        },
        "damaged": damaged,
        "partial": partial,
        "duplicates": duplicates,
        "not_darshan": [not_darshan],
        "custom_striping": custom,
        "faults": faults,
    });
    for (name, dump) in [("slurm", &dumps.slurm), ("lmt", &dumps.lmt)] {
        if let Some(dump) = dump {
            truth[name] = dump.clone();
        }
    }
    truth
}

/// The OST of the usual month that is slow for everybody.
fn slow_target(month: &Month, facts: &[Facts]) -> Value {
    let mean = |sums: fn(&Facts) -> (u64, f64)| -> (u64, Option<f64>) {
        let all = facts.iter().map(sums);
        let (count, sum) = all.fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        (count, (count > 0).then(|| (sum / count as f64).exp()))
    };
    let (slow, other) = (mean(|facts| facts.slow), mean(|facts| facts.other));
    let on_it = facts.iter().filter(|facts| facts.slow.0 > 0);
    json!({
        "kind": "slow_ost",
        "doc": "reads and writes of files that lie on this one OST take so much longer, in all other jobs",
        "job_ids": on_it.map(|facts| facts.job_id).collect::<Vec<_>>(),
        "paths": [],
        "numbers": {
            "mount": "/scratch", "ost": System::new(month.seed).slow_ost, "osts": SCRATCH_OSTS, "factor": SLOWDOWN,
            "windows": slow.0, "bandwidth": slow.1, "windows_elsewhere": other.0, "bandwidth_elsewhere": other.1,
        },
    })
}

/// A month of logs alone: what is planted in each job.
fn logs_alone(month: &Month, facts: &[Facts]) -> Value {
    let jobs = facts.iter().filter_map(|facts| {
        let special = facts.special.as_deref()?;
        let job = json!({"job_id": facts.job_id, "log": special.path});
        Some(merged(job, special.numbers.clone()))
    });
    let logs = facts.iter().map(|facts| facts.logs).sum::<u64>();
    let truth = json!({
        "kind": month.kind.name(),
        "seed": month.seed,
        "start": month.start,
        "days": month.days,
        "counts": {"files": logs, "logs": logs},
        "jobs": jobs.collect::<Vec<_>>(),
    });
    match month.kind {
        Kind::SlowOst => merged(truth, slow_ost::truth(month)),
        _ => truth,
    }
}

/// An object with the members of another one, too.
fn merged(mut object: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (object.as_object_mut(), more) {
        members.extend(more);
    }
    object
}
