//! Records as `sacct --json` of Slurm 24.11 prints them: data_parser v0.0.42.

use super::record::{Limit, Record, State, Step, StepId};
use crate::synth::merge::merge;
use crate::synth::site::CLUSTER;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// What stands before the jobs.
pub(crate) const HEAD: &str = "{\n  \"jobs\": [\n";

/// What stands behind them.
pub(crate) fn tail(from: i64, to: i64) -> String {
    let meta = json!({
        "plugin": {
            "type": "",
            "name": "",
            "data_parser": "data_parser/v0.0.42",
            "accounting_storage": "accounting_storage/slurmdbd",
        },
        "client": {"source": "/dev/pts/0", "user": "root", "group": "root"},
        "command": ["sacct", "-a", "-D", "--json", format!("-S{from}"), format!("-E{to}")],
        "slurm": {
            "version": {"major": "24", "micro": "5", "minor": "11"},
            "release": "24.11.5",
            "cluster": CLUSTER,
        },
    });
    format!("\n  ],\n  \"meta\": {meta},\n  \"errors\": [],\n  \"warnings\": []\n}}\n")
}

/// A job in which everything that differs from job to job is left out, and a step.
static JOB: LazyLock<Value> = LazyLock::new(|| template(include_str!("job.json")));
static STEP: LazyLock<Value> = LazyLock::new(|| template(include_str!("step.json")));

fn template(text: &str) -> Value {
    serde_json::from_str(text).expect("a template is JSON")
}

/// A job with its steps.
pub(crate) fn job(record: &Record, now: i64) -> Value {
    let nodes = record.nodes.len() as i64;
    let (array, task) = record.array.unzip();
    let (leader, offset) = record.het.unzip();
    let planned = record.start.map(|start| (start - record.eligible()).max(0));
    let limit = match record.limit {
        Limit::Minutes(minutes) => number(Some(minutes)),
        Limit::Unlimited => json!({"set": false, "infinite": true, "number": 0}),
        Limit::Partition => number(None),
    };
    let killed_by = match record.state {
        State::Cancelled(Some(0)) => "root".to_string(),
        State::Cancelled(Some(uid)) if uid == record.uid => record.user.clone(),
        State::Cancelled(Some(uid)) => uid.to_string(),
        _ => String::new(),
    };
    let steps = record.steps.iter().map(|s| step(record, s, now));
    let cpus = record.node_count * record.cpus_per_node;
    let mut job = JOB.clone();
    let values = json!({
        "account": record.account,
        "allocation_nodes": nodes,
        "array": {
            "job_id": array.unwrap_or(0),
            "task_id": number(task.filter(|_| record.waiting.is_none())),
            "task": record.waiting.as_deref().unwrap_or_default(),
        },
        "association": {"account": record.account, "cluster": CLUSTER, "user": record.user},
        "cluster": CLUSTER,
        "derived_exit_code": exit((0, 0), record.state),
        "time": {
            "elapsed": record.elapsed(now), "eligible": record.eligible(), "end": record.end.unwrap_or(0),
            "planned": number(planned), "start": record.start.unwrap_or(0), "submission": record.submit,
            "suspended": record.suspended, "limit": limit,
        },
        "exit_code": exit(record.exit, record.state),
        "group": record.user,
        "het": {"job_id": leader.unwrap_or(0), "job_offset": number(offset)},
        "job_id": record.id,
        "name": record.name,
        "nodes": record.node_list(usize::MAX),
        "partition": record.partition,
        "qos": record.qos,
        "required": {"CPUs": cpus, "memory_per_node": number(Some(record.memory))},
        "kill_request_user": killed_by,
        "restart_cnt": record.restarts,
        "state": {"current": [record.state.name()]},
        "steps": steps.collect::<Vec<_>>(),
        "tres": {"allocated": tres(record, nodes, true), "requested": tres(record, record.node_count, true)},
        "user": record.user,
        "working_directory": record.dir,
    });
    merge(&mut job, values);
    job
}

fn step(record: &Record, step: &Step, now: i64) -> Value {
    let nodes = &record.nodes[..step.nodes.min(record.nodes.len())];
    let name = |node: &i64| format!("nid{node:05}");
    // Bytes; the text has KiB.
    let memory = |kib| json!({"type": "mem", "name": "", "id": 2, "count": kib * 1024});
    let memory = step.max_rss.map(memory);
    let mut most = memory.clone();
    if let Some(most) = &mut most {
        let task = json!({"node": name(nodes.first().unwrap_or(&0)), "task": 0});
        merge(most, task);
    }
    let distribution = match step.id {
        StepId::Number(_) => "Cyclic",
        _ => "Unknown",
    };
    let (names, billing) = (nodes.iter().map(name), step.id == StepId::Extern);
    let mut made = STEP.clone();
    let values = json!({
        "time": {
            "elapsed": step.elapsed(now), "end": number(Some(step.end.unwrap_or(0))), "start": number(Some(step.start)),
            "suspended": step.suspended,
        },
        "exit_code": exit(step.exit.unwrap_or((0, 0)), step.state),
        "nodes": {"count": step.nodes, "range": record.node_list(step.nodes), "list": names.collect::<Vec<_>>()},
        "tasks": {"count": step.tasks},
        "state": [step.state.name()],
        "step": {"id": format!("{}.{}", record.id, step.id.text()), "name": step.name},
        "task": {"distribution": distribution},
        "tres": {
            "requested": {"max": most.as_slice(), "average": memory.as_slice()},
            "allocated": tres(record, step.nodes as i64, billing),
        },
    });
    merge(&mut made, values);
    made
}

/// A number that may not be there.
fn number(value: Option<i64>) -> Value {
    json!({"set": value.is_some(), "infinite": false, "number": value.unwrap_or(0)})
}

/// How something ended.
fn exit((code, signal): (i64, i64), state: State) -> Value {
    let status = match state {
        State::Pending => "PENDING",
        _ if signal > 0 => "SIGNALED",
        _ if code > 0 => "ERROR",
        _ => "SUCCESS",
    };
    let names = [(9, "KILL"), (11, "SEGV"), (15, "TERM")];
    let name = names.iter().find(|(number, _)| *number == signal);
    json!({
        "status": [status],
        "return_code": number(Some(code)),
        "signal": {
            "id": number((signal > 0).then_some(signal)),
            "name": name.map_or("", |(_, name)| name),
        },
    })
}

fn tres(record: &Record, nodes: i64, billing: bool) -> Value {
    let mut tres = record.tres(nodes, billing);
    tres.sort_by_key(|(_, id, _)| *id);
    let one = |(name, id, count)| json!({"type": name, "name": "", "id": id, "count": count});
    tres.into_iter().map(one).collect()
}
