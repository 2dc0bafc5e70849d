//! Records as `sacct --json` of Slurm 24.11 prints them: data_parser v0.0.42.

use super::record::{Limit, Record, State, Step, StepId};
use crate::synth::site::CLUSTER;
use serde_json::{Value, json};

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

/// A number that may not be there.
fn number(value: Option<i64>) -> Value {
    json!({"set": value.is_some(), "infinite": false, "number": value.unwrap_or(0)})
}

/// Seconds since 1970; 0 where there is no time.
fn time(seconds: Option<i64>) -> i64 {
    seconds.unwrap_or(0)
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

fn tres(record: &Record, nodes: i64, billing: bool) -> Vec<Value> {
    let number = |name: &str| match name {
        "cpu" => 1,
        "mem" => 2,
        "node" => 4,
        _ => 5,
    };
    let mut tres = record.tres(nodes, billing);
    tres.sort_by_key(|(name, _)| number(name));
    tres.into_iter()
        .map(|(name, count)| json!({"type": name, "name": "", "id": number(name), "count": count}))
        .collect()
}

/// A job with its steps.
pub(crate) fn job(record: &Record, now: i64) -> Value {
    let nodes = record.nodes.len() as i64;
    let (array, task) = record.array.unzip();
    let (leader, offset) = record.het.unzip();
    let by = match record.state {
        State::Cancelled(Some(0)) => "root".to_string(),
        State::Cancelled(Some(uid)) if uid == record.uid => record.user.clone(),
        State::Cancelled(Some(uid)) => uid.to_string(),
        _ => String::new(),
    };
    let limit = match record.limit {
        Limit::Minutes(minutes) => number(Some(minutes)),
        Limit::Unlimited => json!({"set": false, "infinite": true, "number": 0}),
        Limit::Partition => number(None),
    };
    let zero = json!({"seconds": 0, "microseconds": 0});
    let none = exit((0, 0), record.state);
    json!({
        "account": record.account,
        "comment": {"administrator": "", "job": "", "system": ""},
        "allocation_nodes": nodes,
        "array": {
            "job_id": array.unwrap_or(0),
            "limits": {"max": {"running": {"tasks": 0}}},
            "task_id": number(task.filter(|_| record.waiting.is_none())),
            "task": record.waiting.clone().unwrap_or_default(),
        },
        "association": {"account": record.account, "cluster": CLUSTER, "partition": "", "user": record.user, "id": 0},
        "block": "",
        "cluster": CLUSTER,
        "constraints": "",
        "container": "",
        "derived_exit_code": none,
        "time": {
            "elapsed": record.elapsed(now),
            "eligible": record.eligible,
            "end": time(record.end),
            "planned": number(record.start.map(|start| (start - record.eligible).max(0))),
            "start": time(record.start),
            "submission": record.submit,
            "suspended": record.suspended,
            "system": zero,
            "limit": limit,
            "total": zero,
            "user": zero,
        },
        "exit_code": exit(record.exit, record.state),
        "extra": "",
        "failed_node": "",
        "flags": ["CLEAR_SCHEDULING", "STARTED_ON_SCHEDULE"],
        "group": record.user,
        "het": {"job_id": leader.unwrap_or(0), "job_offset": number(offset)},
        "job_id": record.id,
        "name": record.name,
        "licenses": "",
        "mcs": {"label": ""},
        "nodes": record.node_list(usize::MAX),
        "partition": record.partition,
        "hold": false,
        "priority": number(Some(10_000)),
        "qos": record.qos,
        "required": {
            "CPUs": record.node_count * record.cpus_per_node,
            "memory_per_cpu": number(None),
            "memory_per_node": number(Some(record.memory)),
        },
        "kill_request_user": by,
        "restart_cnt": record.restarts,
        "reservation": {"id": 0, "name": ""},
        "script": "",
        "state": {"current": [record.state.name()], "reason": "None"},
        "steps": record.steps.iter().map(|s| step(record, s, now)).collect::<Vec<_>>(),
        "submit_line": "",
        "tres": {
            "allocated": if nodes > 0 { tres(record, nodes, true) } else { vec![] },
            "requested": tres(record, record.node_count, true),
        },
        "used_gres": "",
        "user": record.user,
        "wckey": {"wckey": "", "flags": []},
        "working_directory": record.dir,
    })
}

fn step(record: &Record, step: &Step, now: i64) -> Value {
    let nodes = &record.nodes[..step.nodes.min(record.nodes.len())];
    let until = step.end.unwrap_or(now);
    let zero = json!({"seconds": 0, "microseconds": 0});
    // Bytes; the text has KiB.
    let memory: Vec<Value> = (step.max_rss.iter())
        .map(|kib| json!({"type": "mem", "name": "", "id": 2, "count": kib * 1024}))
        .collect();
    let placed: Vec<Value> = (memory.iter())
        .map(|most| {
            let mut most = most.clone();
            most["node"] = json!(format!("nid{:05}", nodes.first().unwrap_or(&0)));
            most["task"] = json!(0);
            most
        })
        .collect();
    let code = step.exit.unwrap_or((0, 0));
    let names: Vec<String> = nodes.iter().map(|node| format!("nid{node:05}")).collect();
    json!({
        "time": {
            "elapsed": (until - step.start - step.suspended).max(0),
            "end": number(Some(time(step.end))),
            "start": number(Some(step.start)),
            "suspended": step.suspended,
            "system": zero,
            "limit": number(None),
            "total": zero,
            "user": zero,
        },
        "exit_code": exit(code, step.state),
        "nodes": {"count": step.nodes, "range": record.node_list(step.nodes), "list": names},
        "tasks": {"count": step.tasks},
        "pid": "",
        "CPU": {"requested_frequency": {"min": number(Some(0)), "max": number(Some(0))}, "governor": "0"},
        "kill_request_user": "",
        "state": [step.state.name()],
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": number(Some(0))}},
        "step": {"id": format!("{}.{}", record.id, step.id.text()), "name": step.name},
        "task": {"distribution": if matches!(step.id, StepId::Number(_)) { "Cyclic" } else { "Unknown" }},
        "tres": {
            "requested": {"max": placed, "min": [], "average": memory, "total": []},
            "consumed": {"max": [], "min": [], "average": [], "total": []},
            "allocated": tres(record, step.nodes as i64, step.id == StepId::Extern),
        },
    })
}
