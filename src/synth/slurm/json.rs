//! Records as `sacct --json` of Slurm 24.11 prints them: data_parser v0.0.42.

use super::record::{Limit, Record, State, Step, StepId};
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
    let mut job = JOB.clone();
    let mut set = |path: &str, value: Value| put(&mut job, path, value);
    set("/account", json!(record.account));
    set("/allocation_nodes", json!(nodes));
    set("/array/job_id", json!(array.unwrap_or(0)));
    set(
        "/array/task_id",
        number(task.filter(|_| record.waiting.is_none())),
    );
    set(
        "/array/task",
        json!(record.waiting.clone().unwrap_or_default()),
    );
    set("/association/account", json!(record.account));
    set("/association/cluster", json!(CLUSTER));
    set("/association/user", json!(record.user));
    set("/cluster", json!(CLUSTER));
    set("/derived_exit_code", exit((0, 0), record.state));
    set("/time/elapsed", json!(record.elapsed(now)));
    set("/time/eligible", json!(record.eligible));
    set("/time/end", json!(record.end.unwrap_or(0)));
    let planned = record.start.map(|start| (start - record.eligible).max(0));
    set("/time/planned", number(planned));
    set("/time/start", json!(record.start.unwrap_or(0)));
    set("/time/submission", json!(record.submit));
    set("/time/suspended", json!(record.suspended));
    set(
        "/time/limit",
        match record.limit {
            Limit::Minutes(minutes) => number(Some(minutes)),
            Limit::Unlimited => json!({"set": false, "infinite": true, "number": 0}),
            Limit::Partition => number(None),
        },
    );
    set("/exit_code", exit(record.exit, record.state));
    set("/group", json!(record.user));
    set("/het/job_id", json!(leader.unwrap_or(0)));
    set("/het/job_offset", number(offset));
    set("/job_id", json!(record.id));
    set("/name", json!(record.name));
    set("/nodes", json!(record.node_list(usize::MAX)));
    set("/partition", json!(record.partition));
    set("/qos", json!(record.qos));
    set(
        "/required/CPUs",
        json!(record.node_count * record.cpus_per_node),
    );
    set("/required/memory_per_node", number(Some(record.memory)));
    set(
        "/kill_request_user",
        match record.state {
            State::Cancelled(Some(0)) => json!("root"),
            State::Cancelled(Some(uid)) if uid == record.uid => json!(record.user),
            State::Cancelled(Some(uid)) => json!(uid.to_string()),
            _ => json!(""),
        },
    );
    set("/restart_cnt", json!(record.restarts));
    set("/state/current", json!([record.state.name()]));
    set(
        "/steps",
        record.steps.iter().map(|s| step(record, s, now)).collect(),
    );
    if nodes > 0 {
        set("/tres/allocated", tres(record, nodes, true));
    }
    set("/tres/requested", tres(record, record.node_count, true));
    set("/user", json!(record.user));
    set("/working_directory", json!(record.dir));
    job
}

fn step(record: &Record, step: &Step, now: i64) -> Value {
    let nodes = &record.nodes[..step.nodes.min(record.nodes.len())];
    let node = |node: &i64| format!("nid{node:05}");
    let mut made = STEP.clone();
    let mut set = |path: &str, value: Value| put(&mut made, path, value);
    set("/time/elapsed", json!(step.elapsed(now)));
    set("/time/end", number(Some(step.end.unwrap_or(0))));
    set("/time/start", number(Some(step.start)));
    set("/time/suspended", json!(step.suspended));
    set("/exit_code", exit(step.exit.unwrap_or((0, 0)), step.state));
    set("/nodes/count", json!(step.nodes));
    set("/nodes/range", json!(record.node_list(step.nodes)));
    set("/nodes/list", nodes.iter().map(node).collect());
    set("/tasks/count", json!(step.tasks));
    set("/state", json!([step.state.name()]));
    set(
        "/step/id",
        json!(format!("{}.{}", record.id, step.id.text())),
    );
    set("/step/name", json!(step.name));
    if matches!(step.id, StepId::Number(_)) {
        set("/task/distribution", json!("Cyclic"));
    }
    if let Some(kib) = step.max_rss {
        // Bytes; the text has KiB.
        let memory = json!({"type": "mem", "name": "", "id": 2, "count": kib * 1024});
        let mut most = memory.clone();
        most["node"] = json!(node(nodes.first().unwrap_or(&0)));
        most["task"] = json!(0);
        set("/tres/requested/max", json!([most]));
        set("/tres/requested/average", json!([memory]));
    }
    let billing = step.id == StepId::Extern;
    set("/tres/allocated", tres(record, step.nodes as i64, billing));
    made
}

/// Puts a value at the place of a template that has this path.
fn put(template: &mut Value, path: &str, value: Value) {
    if let Some(place) = template.pointer_mut(path) {
        *place = value;
    }
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
    // By the numbers that Slurm gives them.
    let numbers = [("cpu", 1), ("mem", 2), ("node", 4), ("billing", 5)];
    let tres = record.tres(nodes, billing);
    let counts = numbers.iter().filter_map(|(name, id)| {
        let (_, count) = tres.iter().find(|(known, _)| known == name)?;
        Some(json!({"type": name, "name": "", "id": id, "count": count}))
    });
    counts.collect()
}
