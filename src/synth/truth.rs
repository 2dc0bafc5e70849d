//! What was planted: `truth.json`. It is derived from the scenarios, never from the code that analyses logs.

use super::merge::merge;
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

/// What truth.json needs of a job's logs.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) logs: u64,
    job_id: i64,
    /// Bytes read and written by its logs, by POSIX and STDIO.
    moved: [i64; 2],
    /// Files with one stripe: number and sum of the logarithms of their bandwidths, elsewhere and on the slow OST.
    bandwidths: [(u64, f64); 2],
    /// The scenario, and what is told of a job that has one.
    special: Option<Box<(Scenario, Value)>>,
}

/// What was planted beside the logs, by the name of the part.
pub(crate) type Dumps = Vec<(&'static str, Value)>;

impl Facts {
    /// Of the logs of a job as they were made.
    pub(crate) fn of(job: &Job, logs: &[(MonthLog, Workload)]) -> Self {
        let mut facts = Self {
            logs: logs.len() as u64,
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
                facts.add_bandwidths(workload);
            }
        }
        if let (Some(scenario), Some((first, workload))) = (job.scenario, logs.first()) {
            let told = json!({"job_id": job.job_id, "log": first.path});
            facts.special = Some(Box::new((scenario, told)));
            facts.tell(match scenario {
                Scenario::Fault(cause) => fault::truth(cause, workload),
                Scenario::Case(case) => case.truth(),
                Scenario::SlowOst(role) => role.truth(&job.program),
                Scenario::Periods(repeats) => repeats.truth(),
                Scenario::Partial => json!({"modules": ["POSIX"]}),
                _ => json!({}),
            });
        }
        facts
    }

    /// Tells more of a job with a scenario.
    pub(crate) fn tell(&mut self, more: Value) {
        if let Some((_, told)) = self.special.as_deref_mut() {
            merge(told, more);
        }
    }

    /// What is told of the job if it has this scenario.
    fn told(&self, scenario: Scenario) -> Option<&Value> {
        let (own, told) = self.special.as_deref()?;
        (*own == scenario).then_some(told)
    }

    fn add_bandwidths(&mut self, workload: &Workload) {
        let uses = workload.uses.iter();
        for file in uses.filter(|file| file.path.starts_with("/scratch/")) {
            let Some([ost]) = file.layout.as_ref().map(|layout| &layout.osts[..]) else {
                continue;
            };
            let sum = &mut self.bandwidths[usize::from(*ost == workload.system.slow_ost)];
            for moved in file.both() {
                sum.0 += 1;
                sum.1 += (moved.bytes as f64 / moved.window()).ln();
            }
        }
    }
}

/// What `truth.json` says. `facts` are those of all jobs in order; `not_darshan` is the file that only looks like a log.
pub(crate) fn truth(month: &Month, facts: &[Facts], dumps: Dumps, not_darshan: &str) -> Value {
    match month.kind {
        Kind::Usual => usual(month, facts, dumps, not_darshan),
        _ => logs_alone(month, facts),
    }
}

fn usual(month: &Month, facts: &[Facts], dumps: Dumps, not_darshan: &str) -> Value {
    let told = |scenario: Scenario| -> Vec<&Value> {
        let told = facts.iter().filter_map(|facts| facts.told(scenario));
        told.collect()
    };
    let ids = |jobs: &[&Value]| -> Value { jobs.iter().map(|job| job["job_id"].clone()).collect() };
    let (damaged, partial) = (told(Scenario::Damaged), told(Scenario::Partial));
    let (duplicates, custom) = (told(Scenario::Duplicate), told(Scenario::CustomStriping));
    let faults = Cause::ALL.map(|cause| {
        let jobs = told(Scenario::Fault(cause));
        let paths = jobs.iter().filter_map(|job| job["paths"].as_array());
        let (kind, doc, app) = fault::doc(cause);
        json!({
            "kind": kind,
            "doc": doc,
            "app": app,
            "job_ids": ids(&jobs),
            "paths": paths.flatten().collect::<Vec<_>>(),
            "jobs": jobs,
        })
    });
    let mut faults = faults.to_vec();
    faults.push(slow_target(month, facts));
    let logs = facts.iter().map(|facts| facts.logs).sum::<u64>();
    let moved = |side: usize| {
        let whole = (facts.iter()).filter(|facts| facts.told(Scenario::Damaged).is_none());
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
        "custom_striping": ids(&custom),
        "faults": faults,
    });
    for (name, dump) in dumps {
        truth[name] = dump;
    }
    truth
}

/// The OST of the usual month that is slow for everybody.
fn slow_target(month: &Month, facts: &[Facts]) -> Value {
    let [other, slow] = [0, 1].map(|at| {
        let all = facts.iter().map(|facts: &Facts| facts.bandwidths[at]);
        let (count, sum) = all.fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        (count, (count > 0).then(|| (sum / count as f64).exp()))
    });
    let on_it = facts.iter().filter(|facts| facts.bandwidths[1].0 > 0);
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
    let jobs = facts
        .iter()
        .filter_map(|facts| Some(&facts.special.as_deref()?.1));
    let logs = facts.iter().map(|facts| facts.logs).sum::<u64>();
    let mut truth = json!({
        "kind": month.kind.name(),
        "seed": month.seed,
        "start": month.start,
        "days": month.days,
        "counts": {"files": logs, "logs": logs},
        "jobs": jobs.collect::<Vec<_>>(),
    });
    if month.kind == Kind::SlowOst {
        merge(&mut truth, slow_ost::truth(month));
    }
    truth
}
