//! Records as `sacct -P` prints them.

use super::record::{Limit, Record, State, Step, StepId};
use crate::synth::site::{CLUSTER, local};
use std::fmt::Write;

/// The columns, the one that may hold anything last.
pub(crate) const HEADER: &str = "Cluster|JobID|JobIDRaw|User|UID|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|\
    End|ElapsedRaw|Suspended|TimelimitRaw|NNodes|NCPUS|NTasks|NodeList|ReqMem|MaxRSS|AllocTRES|JobName";

/// The line of a job and those of its steps.
pub(crate) fn write(record: &Record, now: i64, into: &mut String) {
    let (shown, id) = (record.shown(), record.id);
    let state = match record.state {
        State::Cancelled(Some(uid)) => format!("CANCELLED by {uid}"),
        state => state.name().to_string(),
    };
    // One that was cancelled before it started has no start; one that waits may have one.
    let start = match (record.start, record.end) {
        (None, Some(_)) => "None".to_string(),
        (start, _) => time(start),
    };
    let limit = match record.limit {
        Limit::Minutes(minutes) => minutes.to_string(),
        Limit::Unlimited => "UNLIMITED".to_string(),
        Limit::Partition => "Partition_Limit".to_string(),
    };
    let _ = writeln!(
        into,
        "{CLUSTER}|{shown}|{id}|{user}|{uid}|{account}|{partition}|{qos}|{state}|{code}:{signal}|{submit}|{eligible}|{start}|\
         {end}|{elapsed}|{suspended}|{limit}|{count}|{cpus}||{list}|{memory}||{tres}|{name}",
        user = record.user,
        uid = record.uid,
        account = record.account,
        partition = record.partition,
        qos = record.qos,
        code = record.exit.0,
        signal = record.exit.1,
        submit = time(Some(record.submit)),
        eligible = time(Some(record.eligible())),
        end = time(record.end),
        elapsed = record.elapsed(now),
        suspended = clock(record.suspended),
        count = record.node_count,
        cpus = record.node_count * record.cpus_per_node,
        list = record.node_list(usize::MAX),
        memory = memory(record.node_count * record.memory),
        tres = tres(record, record.nodes.len() as i64, true),
        name = record.name,
    );
    for step in &record.steps {
        write_step(record, step, now, into);
    }
}

fn write_step(record: &Record, step: &Step, now: i64, into: &mut String) {
    let name = step.id.text();
    let count = step.nodes as i64;
    let start = time(Some(step.start));
    let exit = step
        .exit
        .map_or(String::new(), |(code, signal)| format!("{code}:{signal}"));
    let _ = writeln!(
        into,
        "{CLUSTER}|{shown}.{name}|{id}.{name}|||{account}|||{state}|{exit}|{start}|{start}|{start}|\
         {end}|{elapsed}|{suspended}||{count}|{cpus}|{tasks}|{list}||{rss}|{tres}|{title}",
        shown = record.shown(),
        id = record.id,
        account = record.account,
        state = step.state.name(),
        end = time(step.end),
        elapsed = step.elapsed(now),
        suspended = clock(step.suspended),
        cpus = count * record.cpus_per_node,
        tasks = step.tasks,
        list = record.node_list(step.nodes),
        rss = step.max_rss.map_or(String::new(), kibibytes),
        tres = tres(record, count, step.id == StepId::Extern),
        title = step.name,
    );
}

/// A time in the site's zone, as sacct prints it for whoever is there.
fn time(seconds: Option<i64>) -> String {
    let shown = |seconds| local(seconds).format("%Y-%m-%dT%H:%M:%S").to_string();
    seconds.map_or_else(|| "Unknown".to_string(), shown)
}

/// Seconds as `[D-]HH:MM:SS`.
fn clock(seconds: i64) -> String {
    let days = match seconds / 86_400 {
        0 => String::new(),
        days => format!("{days}-"),
    };
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{days}{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

/// MiB in the largest unit in which they are whole.
fn memory(mebibytes: i64) -> String {
    let (mut value, mut unit) = (mebibytes, 0);
    while value > 0 && value % 1024 == 0 && unit < 2 {
        (value, unit) = (value / 1024, unit + 1);
    }
    format!("{value}{}", ["M", "G", "T"][unit])
}

/// KiB as sacct rounds them: in MiB where these have few digits.
fn kibibytes(value: i64) -> String {
    match value % 512 {
        0 => format!("{:.2}M", value as f64 / 1024.0),
        _ => format!("{value}K"),
    }
}

fn tres(record: &Record, nodes: i64, billing: bool) -> String {
    let tres = record.tres(nodes, billing).into_iter();
    let each = tres.map(|(name, _, value)| match name {
        "mem" => format!("mem={}", memory(value)),
        _ => format!("{name}={value}"),
    });
    each.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_written_as_sacct_does() {
        // An hour ahead of UTC in winter.
        assert_eq!(time(Some(1_795_226_560)), "2026-11-21T03:02:40");
        assert_eq!(time(None), "Unknown");
        assert_eq!(clock(5), "00:00:05");
        assert_eq!(clock(2 * 86_400 + 3_723), "2-01:02:03");
        assert_eq!(
            [200, 12_288, 3 << 20, 12_345].map(memory),
            ["200M", "12G", "3T", "12345M"]
        );
        assert_eq!([71_052, 10_752].map(kibibytes), ["71052K", "10.50M"]);
    }
}
