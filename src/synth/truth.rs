//! What was planted, for those who look for it: `truth.json`.

use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{posix, stdio};
use crate::source::darshan::write::Records;
use crate::synth::lmt::load::Load;
use crate::synth::scenario::fault::Fault;
use crate::synth::scenario::kind::Kind;
use crate::synth::scenario::plan::{Job, Plant};
use crate::synth::scenario::slow_ost;
use crate::synth::slurm::Windows;
use crate::synth::system::{SCRATCH_OSTS, SLOWDOWN, System};
use crate::synth::workload::Workload;
use crate::synth::{Month, MonthLog};
use serde_json::{Value, json};

/// What is worth knowing of a job's logs.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) logs: u64,
    pub(crate) bytes: u64,
    job_id: i64,
    /// Bytes read and written by its logs, by POSIX and STDIO.
    moved: (i64, i64),
    /// Files with one stripe: number and sum of the logarithms of their bandwidths, on the slow OST and elsewhere.
    slow: (u64, f64),
    other: (u64, f64),
    pub(crate) special: Option<Box<Special>>,
    /// What the accounting and the servers need to know of its logs.
    pub(crate) windows: Windows,
    pub(crate) loads: Vec<Load>,
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

/// What is special about a job.
pub(crate) struct Special {
    plant: Plant,
    pub(crate) path: String,
    /// The file's size, and what is left of it.
    pub(crate) cut: (u64, u64),
    pub(crate) copy: Option<String>,
    paths: Vec<String>,
    numbers: Value,
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
                let Records::Counters(records) = &module.records else {
                    continue;
                };
                let (read, written) = match module.id {
                    ModuleId::POSIX => (posix::BYTES_READ, posix::BYTES_WRITTEN),
                    ModuleId::STDIO => (stdio::BYTES_READ, stdio::BYTES_WRITTEN),
                    _ => continue,
                };
                for record in records {
                    facts.moved.0 += record.ints[read];
                    facts.moved.1 += record.ints[written];
                }
            }
            if !matches!(job.plant, Some(Plant::Fault(_) | Plant::Neighbour)) {
                facts.bandwidths(workload);
            }
        }
        if let (Some(plant), Some((MonthLog { path, log }, workload))) = (job.plant, logs.first()) {
            let (paths, numbers) = match plant {
                Plant::Fault(fault) => fault.numbers(workload),
                Plant::Case(case) => (vec![], case.truth()),
                Plant::Role(role) => (vec![], role.truth(&job.program)),
                _ => (vec![], json!({"nprocs": log.job.nprocs})),
            };
            let path = path.display().to_string();
            facts.special = Some(Box::new(Special {
                plant,
                path,
                cut: (0, 0),
                copy: None,
                paths,
                numbers,
            }));
        }
        facts
    }

    fn bandwidths(&mut self, workload: &Workload) {
        for file in workload
            .uses
            .iter()
            .filter(|file| file.path.starts_with("/scratch/"))
        {
            let Some([ost]) = file.layout.as_ref().map(|layout| &layout.osts[..]) else {
                continue;
            };
            let sum = if *ost == workload.system.slow_ost {
                &mut self.slow
            } else {
                &mut self.other
            };
            for flow in [&file.read, &file.written].into_iter().flatten() {
                sum.0 += 1;
                sum.1 += (flow.bytes as f64 / (flow.end - flow.start)).ln();
            }
        }
    }

    /// Whether the log is to be cut short, and to be copied.
    pub(crate) fn damaged(&self) -> bool {
        self.special
            .as_ref()
            .is_some_and(|special| special.plant == Plant::Damaged)
    }

    pub(crate) fn duplicated(&self) -> bool {
        self.special
            .as_ref()
            .is_some_and(|special| special.plant == Plant::Duplicate)
    }
}

/// The text of `truth.json`. `facts` are those of all jobs in order; `not_darshan` the files that only look like logs.
pub(crate) fn truth(
    month: &Month,
    facts: &[Facts],
    dumps: &Dumps,
    not_darshan: &[String],
) -> Value {
    let sum = |of: fn(&Facts) -> u64| facts.iter().map(of).sum::<u64>();
    let special = |plant: fn(Plant) -> bool| -> Vec<(&Facts, &Special)> {
        let of = |facts| -> Option<(&Facts, &Special)> { Some((facts, Facts::special(facts)?)) };
        facts
            .iter()
            .filter_map(of)
            .filter(|(_, special)| plant(special.plant))
            .collect()
    };
    let damaged: Vec<_> = special(|plant| plant == Plant::Damaged)
        .iter()
        .map(|(facts, s)| json!({"job_id": facts.job_id, "log": s.path, "bytes": s.cut.1, "whole_bytes": s.cut.0}))
        .collect();
    let partial: Vec<_> = special(|plant| plant == Plant::Partial)
        .iter()
        .map(|(facts, s)| json!({"job_id": facts.job_id, "log": s.path, "modules": ["POSIX"]}))
        .collect();
    let duplicates: Vec<_> = special(|plant| plant == Plant::Duplicate)
        .iter()
        .map(|(facts, s)| json!({"job_id": facts.job_id, "log": s.path, "copy": s.copy}))
        .collect();
    let custom: Vec<_> = special(|plant| plant == Plant::CustomStriping)
        .iter()
        .map(|(facts, _)| facts.job_id)
        .collect();

    let mut faults: Vec<Value> = Fault::ALL
        .into_iter()
        .map(|fault| {
            let is = |special: &Special| special.plant == Plant::Fault(fault);
            let jobs: Vec<_> = facts.iter().filter_map(|f| f.special().filter(|s| is(s)).map(|s| (f, s))).collect();
            let each = jobs.iter().map(
                |(f, s)| json!({"job_id": f.job_id, "log": s.path, "paths": s.paths, "numbers": s.numbers}),
            );
            json!({
                "kind": fault.name(),
                "doc": fault.doc(),
                "app": fault.app().name,
                "job_ids": jobs.iter().map(|(f, _)| f.job_id).collect::<Vec<_>>(),
                "paths": jobs.iter().flat_map(|(_, s)| &s.paths).collect::<Vec<_>>(),
                "jobs": each.collect::<Vec<_>>(),
            })
        })
        .collect();
    let mean = |sums: &dyn Fn(&Facts) -> (u64, f64)| -> (u64, Option<f64>) {
        let all = facts
            .iter()
            .map(sums)
            .fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        (all.0, (all.0 > 0).then(|| (all.1 / all.0 as f64).exp()))
    };
    let (slow, other) = (mean(&|facts| facts.slow), mean(&|facts| facts.other));
    let on_it = facts
        .iter()
        .filter(|facts| facts.slow.0 > 0)
        .map(|facts| facts.job_id);
    faults.push(json!({
        "kind": "slow_ost",
        "doc": "reads and writes of files that lie on this one OST take so much longer, in all other jobs",
        "job_ids": on_it.collect::<Vec<_>>(),
        "paths": [],
        "numbers": {
            "mount": "/scratch", "ost": System::new(month.seed).slow_ost, "osts": SCRATCH_OSTS, "factor": SLOWDOWN,
            "windows": slow.0, "bandwidth": slow.1, "windows_elsewhere": other.0, "bandwidth_elsewhere": other.1,
        },
    }));
    let mut truth = json!({
        "jobs": month.jobs,
        "seed": month.seed,
        "start": month.start,
        "days": month.days,
        "counts": {
            "files": sum(|facts| facts.logs) + duplicates.len() as u64 + not_darshan.len() as u64,
            "logs": sum(|facts| facts.logs),
            "damaged": damaged.len(),
            "partial": partial.len(),
            "duplicates": duplicates.len(),
            "not_darshan": not_darshan.len(),
            "custom_striping": custom.len(),
        },
        "totals": {
            "doc": "bytes by POSIX and STDIO in all logs that are not damaged, each log once",
            "bytes_read": facts.iter().filter(|facts| !facts.damaged()).map(|facts| facts.moved.0).sum::<i64>(),
            "bytes_written": facts.iter().filter(|facts| !facts.damaged()).map(|facts| facts.moved.1).sum::<i64>(),
        },
        "damaged": damaged,
        "partial": partial,
        "duplicates": duplicates,
        "not_darshan": not_darshan,
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

/// The text of `truth.json` of a month of logs alone: what is planted in each job.
pub(crate) fn truth_of_logs(month: &Month, facts: &[Facts]) -> Value {
    let jobs = facts.iter().filter_map(|facts| {
        let special = facts.special()?;
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
pub(crate) fn merged(mut object: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (object.as_object_mut(), more) {
        members.extend(more);
    }
    object
}

impl Facts {
    fn special(&self) -> Option<&Special> {
        self.special.as_deref()
    }
}
