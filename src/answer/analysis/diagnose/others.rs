//! What else moved bytes on the OSTs of a job.

use super::files::NO_FS;
use super::job::{Job, Log, Neighbour, Others, span};
use crate::answer::answer::{Block, SHOWN};
use crate::answer::rows::{has_rows, rows};
use crate::engine::Engine;
use crate::engine::rules::sentence::{JsonRow, fill};
use crate::engine::rules::{Facts, intervals, least};
use crate::error::Result;
use crate::text::amount::{counted, share, size};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

/// What LMT saw during the windows of a log.
const LMT: &str = "LMT, {direction} on {fs}: the {osts:osts} that it used moved {seen:size} in its windows: {own:size} its own, {same_job:size} other logs of the job, {other_known:size} other jobs, {unexplained:size} unexplained; others {others_share:share} of all; LMT samples for {coverage:share} of its bytes";

/// What LMT saw of metadata servers while a log ran.
const SERVERS: &str = "LMT, metadata servers of {fs}: {ops_s:count} opens, stats and creates a second, at most {own_ops_s:count} of them its own; the most of an interval that day: {peak_ops_s:count}";

/// Jobs on the same nodes.
const NODES: &str = "Slurm: {jobs:jobs} ran on {shared_nodes:count} of its {nodes:count} nodes and moved {others:size} there meanwhile; its own there: {own:size}";

/// A log without a layout.
const NO_LAYOUT: &str = "the logs do not name OSTs: layout, and others on them, are not judged";

/// A damaged log without a layout.
const LOST_LAYOUT: &str =
    "what is left of the damaged log names no OST: layout, and others on them, are not judged";

/// A log with modules that could not be read.
const UNREAD_LAYOUT: &str = "what could be read of the log names no OST of a file: layout, and others on them, are not judged";

/// Times around a job, in hours.
const AROUND: [(&str, i64); 4] = [
    ("6 hours", 6),
    ("day", 24),
    ("3 days", 72),
    ("15 days", 360),
];

/// Bytes below which a log, or a neighbour, is not worth a line.
const LITTLE: f64 = 1_048_576.0;

/// Logs from which slow OSTs are known well enough.
const ENOUGH: i64 = 1000;

/// An OST that is slow for the files on it.
const SLOW: &str = "OST {ost} of {fs} is slow ({direction}): a byte takes {slowdown:times} times as long as on the other OSTs of the same logs, in {files_of_all_jobs:files} of {jobs:jobs} in the {around} before and after; the job's files on it account for {share:share} of its critical time by windows";

/// What decides which others are asked about.
pub(super) struct Relevance {
    /// Whether files have OSTs.
    pub(super) has_osts: bool,
    /// For so many seconds files are in use in a direction.
    pub(super) in_use: f64,
    /// I/O time and metadata time of the slowest process, s.
    pub(super) io_time: f64,
    pub(super) meta_time: f64,
}

/// What is known of others during a job. Without a clock there is nothing to lay beside others.
///
/// # Errors
/// Those of the lake.
pub(super) async fn gather(
    engine: &Engine,
    job: i64,
    logs: &[Log],
    relevance: &Relevance,
) -> Result<Others> {
    let of = |log_id: i64| logs.iter().any(|log| log.log_id == log_id);
    let Some((first, last)) = span(logs) else {
        return Ok(Others::default());
    };
    let mut found = match relevance.has_osts {
        true => on_osts(engine, job, (first, last), relevance.in_use).await?,
        false => Others::default(),
    };
    let asked = |facts: Facts, query: &str| {
        format!(
            "SELECT f.*, {} AS causes FROM {query}({}, job => {job}) f ORDER BY f.log_id",
            intervals::met_by(facts),
            period(first, last)
        )
    };
    // A job of less time is in no rule about them.
    if relevance.meta_time >= least(Facts::Mdt, "min_time")
        && has_samples(engine, "lmt_mdt_op", first, last).await?
    {
        let servers: Vec<JsonRow> = rows(engine, &asked(Facts::Mdt, "mdt_facts")).await?;
        let seen = |row: &JsonRow| row.contains_key("ops_s");
        found.facts.extend(servers.into_iter().filter(seen));
    }
    if relevance.io_time >= least(Facts::Nodes, "min_time")
        && logs.iter().any(|log| log.node_count.is_some())
    {
        let nodes: Vec<JsonRow> = rows(engine, &asked(Facts::Nodes, "node_facts")).await?;
        let shared = |row: &JsonRow| row["jobs"].as_i64() > Some(0);
        found.facts.extend(nodes.into_iter().filter(shared));
    }
    found
        .facts
        .retain(|row| row["log_id"].as_i64().is_some_and(of));
    found.neighbours.retain(|neighbour| of(neighbour.log_id));
    if found.neighbours.is_empty() {
        let other_jobs = format!("SELECT job_id FROM darshan_log WHERE job_id <> {job} LIMIT 1");
        found.is_alone = !has_rows(engine, &other_jobs).await?
            && !has_rows(engine, "SELECT fs FROM lmt_ost LIMIT 1").await?;
    }
    Ok(found)
}

/// What is known of others on the OSTs of a job, whose files are in use for so many seconds in a direction.
async fn on_osts(
    engine: &Engine,
    job: i64,
    (first, last): (DateTime<Utc>, DateTime<Utc>),
    in_use: f64,
) -> Result<Others> {
    let met = intervals::met_by(Facts::Job);
    let asked = |about: &str, more: &str| {
        format!(
            "SELECT f.*, {met} AS causes FROM job_facts({}, job => {job}, about => '{about}'{more}) f ORDER BY f.slowdown DESC, f.others DESC, f.fs, f.ost, f.log_id, f.direction",
            period(first, last)
        )
    };
    let mut facts: Vec<JsonRow> = vec![];
    if has_samples(engine, "lmt_ost", first, last).await? {
        facts = rows(engine, &asked("lmt", "")).await?;
    }
    // A job of less time is in no rule about slow OSTs.
    if in_use >= least(Facts::Job, "min_time") {
        let (around, from, to) = around(engine, first, last).await?;
        let slow = format!(
            "SELECT ost FROM slow_osts({}) WHERE slow LIMIT 1",
            period(from, to)
        );
        // Few months have a slow OST, and to plan the question about the job's files on it takes as long as this one.
        if has_rows(engine, &slow).await? {
            let more = format!(
                ", slow_from => '{}', slow_to => '{}'",
                stamp(from),
                stamp(to)
            );
            let mut slow: Vec<JsonRow> = rows(engine, &asked("osts", &more)).await?;
            for row in &mut slow {
                row.insert("around".into(), around.into());
            }
            facts.extend(slow);
        }
    }
    let mut neighbours = vec![];
    if has_neighbours(engine, job, first, last).await? {
        let sql =
            format!("SELECT * FROM ost_neighbours(job => {job}) ORDER BY neighbour_bytes DESC");
        neighbours = rows(engine, &sql).await?;
    }
    Ok(Others {
        facts,
        neighbours,
        is_alone: false,
    })
}

/// Whether logs of other jobs ran at the time of a job, give or take an hour: clocks differ.
async fn has_neighbours(
    engine: &Engine,
    job: i64,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<bool> {
    let (from, to) = (
        stamp(from - TimeDelta::hours(1)),
        stamp(to + TimeDelta::hours(1)),
    );
    let sql = format!(
        "SELECT job_id FROM darshan_log WHERE job_id <> {job} AND start_time <= TIMESTAMP '{to}' AND coalesce(end_time, start_time) >= TIMESTAMP '{from}' LIMIT 1"
    );
    has_rows(engine, &sql).await
}

/// Whether LMT has samples of a period in this table.
async fn has_samples(
    engine: &Engine,
    table: &str,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<bool> {
    let (from, to) = (
        stamp(from - TimeDelta::minutes(1)),
        stamp(to + TimeDelta::minutes(1)),
    );
    let sql = format!(
        "SELECT fs FROM {table} WHERE time >= TIMESTAMP '{from}' AND time <= TIMESTAMP '{to}' LIMIT 1"
    );
    has_rows(engine, &sql).await
}

/// The shortest time around a job in which enough logs start to tell slow OSTs, else the longest; with its begin and end.
async fn around(
    engine: &Engine,
    first: DateTime<Utc>,
    last: DateTime<Utc>,
) -> Result<(&'static str, DateTime<Utc>, DateTime<Utc>)> {
    #[derive(Deserialize)]
    struct Logs {
        counts: Vec<i64>,
    }
    let lengths = AROUND.map(|(name, hours)| {
        let length = TimeDelta::hours(hours);
        (name, first - length, last + length)
    });
    let [.., longest] = lengths;
    let within = |(_, from, to): (&str, DateTime<Utc>, DateTime<Utc>)| {
        let (from, to) = (stamp(from), stamp(to));
        format!("start_time >= TIMESTAMP '{from}' AND start_time < TIMESTAMP '{to}'")
    };
    let counts = lengths.map(|length| format!("count(*) FILTER (WHERE {})", within(length)));
    let sql = format!(
        "SELECT make_array({}) AS counts FROM darshan_log WHERE {}",
        counts.join(", "),
        within(longest)
    );
    let logs: Vec<Logs> = rows(engine, &sql).await?;
    let counts = logs.into_iter().flat_map(|logs| logs.counts);
    let enough = lengths
        .into_iter()
        .zip(counts)
        .find(|(_, logs)| *logs >= ENOUGH);
    Ok(enough.map_or(longest, |(length, _)| length))
}

/// The parameters `from` and `to`.
pub(super) fn period(from: DateTime<Utc>, to: DateTime<Utc>) -> String {
    format!("\"from\" => '{}', \"to\" => '{}'", stamp(from), stamp(to))
}

fn stamp(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// What others did at the same time on its OSTs, metadata servers and nodes; and OSTs that are slow for the files on them. None of a job of which
/// nothing can be said there.
pub(super) fn block(job: &Job) -> Option<Block> {
    let rows = |column: &str| {
        let rows = job.others.facts.iter();
        rows.filter(|row| row.contains_key(column))
            .collect::<Vec<&JsonRow>>()
    };
    let mut lines = match job.sum(|totals| totals.layouts) {
        0 if job.is_damaged() => vec![LOST_LAYOUT.to_string()],
        0 if job.logs.iter().any(Log::has_unread_modules) => vec![UNREAD_LAYOUT.to_string()],
        0 if job.logs.len() == 1 => vec![NO_LAYOUT.replace("the logs do", "the log does")],
        0 => vec![NO_LAYOUT.to_string()],
        _ if job.others.is_alone => vec![],
        _ => others_on_osts(&rows("seen"), &job.others.neighbours),
    };
    let said = |column: &str, text: &str| {
        let rows = rows(column).into_iter().take(SHOWN);
        rows.map(|row| fill(text, row)).collect::<Vec<_>>()
    };
    lines.extend(said("ost", SLOW));
    lines.extend(said("ops_s", SERVERS));
    lines.extend(said("shared_nodes", NODES));
    if job.is_damaged() && !rows("ost").is_empty() {
        lines.push("the log is damaged: files whose OSTs are lost are missing here".into());
    }
    (!lines.is_empty()).then(|| Block::text("Others at the same time", lines))
}

fn others_on_osts(lmt: &[&JsonRow], neighbours: &[Neighbour]) -> Vec<String> {
    let bytes = |row: &JsonRow| row.get("own").and_then(|own| own.as_f64()).unwrap_or(0.0);
    let (much, little): (Vec<&JsonRow>, Vec<&JsonRow>) =
        lmt.iter().partition(|row| bytes(row) >= LITTLE);
    let mut lines: Vec<String> = much.iter().map(|row| fill(LMT, row)).collect();
    match (lmt.len(), little.len()) {
        (0, _) => lines.push("LMT has no samples of its OSTs in its windows".into()),
        (_, 0) => {}
        (_, few) => lines.push(format!(
            "LMT, {} in which it moved less than 1 MiB: left out",
            counted(
                few as i64,
                "direction and file system",
                "directions and file systems"
            )
        )),
    }
    let neighbours: Vec<&Neighbour> = neighbours
        .iter()
        .filter(|neighbour| neighbour.neighbour_bytes >= LITTLE)
        .collect();
    if neighbours.is_empty() {
        lines.push("no other job in the lake moved 1 MiB or more on its OSTs".into());
    }
    for neighbour in neighbours.iter().take(SHOWN) {
        lines.push(format!(
            "job {} ({}, {}) moved {} on {} of {}, {} of what other jobs moved there, by their logs",
            neighbour.neighbour_job_id,
            neighbour
                .neighbour_app
                .as_deref()
                .unwrap_or("unknown program"),
            neighbour
                .neighbour_user
                .as_deref()
                .unwrap_or("unknown user"),
            size(neighbour.neighbour_bytes.max(0.0).round() as u64),
            counted(neighbour.osts, "OST", "OSTs"),
            neighbour.fs.as_deref().unwrap_or(NO_FS),
            share(neighbour.share)
        ));
    }
    if neighbours.len() > SHOWN {
        let more = (neighbours.len() - SHOWN) as i64;
        lines.push(format!("and {}", counted(more, "more job", "more jobs")));
    }
    lines
}
