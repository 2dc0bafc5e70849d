//! What is known of a job: the answers to the questions that its page is made of.

use crate::answer::rows::rows;
use crate::engine::Engine;
use crate::engine::rules::intervals;
use crate::engine::rules::sentence::Row;
use crate::error::{Error, Result};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The directions, in the order of the page.
pub(super) const DIRECTIONS: [&str; 2] = ["read", "write"];

/// Days before and after a job whose jobs it is compared with: a month.
const AROUND: i64 = 15;

/// One log of the job, with its Slurm record.
#[derive(Debug, Deserialize)]
pub(super) struct Log {
    pub(super) log_id: i64,
    pub(super) uid: Option<i64>,
    log_group: i64,
    pub(super) user: Option<String>,
    pub(super) app: Option<String>,
    pub(super) nprocs: Option<i64>,
    pub(super) node_count: Option<i64>,
    #[serde(rename = "match")]
    pub(super) matched: String,
    pub(super) state: Option<String>,
    #[serde(default, deserialize_with = "time")]
    pub(super) start_time: Option<DateTime<Utc>>,
    #[serde(default, deserialize_with = "time")]
    pub(super) end_time: Option<DateTime<Utc>>,
    pub(super) run_time: Option<f64>,
    pub(super) partial: Option<bool>,
    pub(super) status: String,
    pub(super) read_time: Option<f64>,
    pub(super) write_time: Option<f64>,
    pub(super) meta_time: Option<f64>,
}

/// What `perf_factors` knows of the job in one direction.
#[derive(Debug, Deserialize)]
pub(super) struct Flow {
    log_id: i64,
    pub(super) files: i64,
    pub(super) bytes: i64,
    pub(super) bw_span: Option<f64>,
    pub(super) bw_critical: Option<f64>,
    pub(super) bw_slowest_rank: Option<f64>,
    pub(super) critical_time: f64,
    pub(super) busy: Option<f64>,
    pub(super) proc_upper: Option<bool>,
    pub(super) critical_files: Vec<CriticalFile>,
}

/// A file with the time that is its own.
#[derive(Debug, Deserialize)]
pub(super) struct CriticalFile {
    pub(super) record_id: u64,
    pub(super) path: Option<String>,
    pub(super) time: f64,
    pub(super) share: f64,
    pub(super) bytes: i64,
}

/// A number of the job beside those of others.
#[derive(Debug)]
pub(super) struct Compared {
    /// Column of `perf_factors`.
    pub(super) name: &'static str,
    pub(super) value: Option<f64>,
    pub(super) own_app: Rank,
    pub(super) month: Rank,
}

/// Where a value lies among others.
#[derive(Debug, Default)]
pub(super) struct Rank {
    /// How many others there are.
    pub(super) others: i64,
    /// Part of them that has a smaller value; of equal ones half.
    pub(super) below: Option<f64>,
}

/// A row of `ost_neighbours`.
#[derive(Debug, Deserialize)]
pub(super) struct Neighbour {
    log_id: i64,
    pub(super) fs: String,
    pub(super) neighbour_job_id: i64,
    pub(super) neighbour_app: Option<String>,
    pub(super) neighbour_user: Option<String>,
    pub(super) osts: i64,
    pub(super) neighbour_bytes: f64,
    pub(super) share: f64,
}

/// A row of `stripe_advice`.
#[derive(Debug, Deserialize)]
pub(super) struct Advice {
    pub(super) fs: String,
    pub(super) advice: String,
    pub(super) stripe_count: i64,
    pub(super) advised_count: i64,
    pub(super) files: i64,
    pub(super) time: f64,
    pub(super) largest_path: Option<String>,
    pub(super) largest_size: i64,
}

/// A job: the logs of one id and user that belong together.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) job_id: i64,
    pub(super) logs: Vec<Log>,
    /// By direction, for each kind of interval.
    pub(super) flows: BTreeMap<(&'static str, &'static str), Flow>,
    /// Whether its logs say on which OSTs a file lies.
    pub(super) names_osts: bool,
    /// By direction: part of the MPI-IO calls that is collective. None where there is no such call.
    pub(super) collective: BTreeMap<&'static str, f64>,
    /// By direction.
    pub(super) compared: BTreeMap<&'static str, Vec<Compared>>,
    /// Rows of `root_causes`.
    pub(super) causes: Vec<Row>,
    /// Rows of `job_facts`, each with the `causes` that it meets.
    pub(super) others: Vec<Row>,
    pub(super) neighbours: Vec<Neighbour>,
    pub(super) advice: Vec<Advice>,
}

/// Columns of `perf_factors` in which a job is compared with others.
const COMPARED: [&str; 6] = [
    "small",
    "non_consec",
    "coll",
    "ost_count",
    "proc_per_ost",
    "bw_critical",
];

/// The jobs of that id: one, unless an id came again, as process ids do outside Slurm.
///
/// # Errors
/// Those of the lake; [`Error::Invalid`] if it has no log of that job.
pub(super) async fn jobs(engine: &Engine, job: i64) -> Result<Vec<Job>> {
    let logs: Vec<Log> = rows(engine, &format!(
        "SELECT j.log_id, j.uid, g.log_group, j.\"user\", j.app, j.nprocs, j.node_count, j.match, j.state, j.start_time, j.end_time, j.run_time, j.partial, j.status, \
           l.read_time, l.write_time, l.meta_time \
         FROM job j JOIN darshan_log l ON l.job_id = j.job_id AND l.log_id = j.log_id JOIN darshan_log_group g ON g.job_id = j.job_id AND g.log_id = j.log_id \
         WHERE j.job_id = {job} ORDER BY j.start_time, j.log_id"
    )).await?;
    if logs.is_empty() {
        return Err(nothing(engine, job).await?);
    }
    let mut groups: BTreeMap<(Option<i64>, i64), Vec<Log>> = BTreeMap::new();
    for log in logs {
        groups
            .entry((log.uid, log.log_group))
            .or_default()
            .push(log);
    }
    let mut jobs = vec![];
    for logs in groups.into_values() {
        jobs.push(gather(engine, job, logs).await?);
    }
    jobs.sort_by_key(|job| job.logs.first().and_then(|log| log.start_time));
    Ok(jobs)
}

/// Why there is nothing to say of a job.
async fn nothing(engine: &Engine, job: i64) -> Result<Error> {
    #[derive(Deserialize)]
    struct Known {
        job_id_text: Option<String>,
        job_id: i64,
        state: Option<String>,
    }
    let sql = format!(
        "SELECT job_id_text, job_id, state FROM slurm_job WHERE job_id = {job} OR job_id_text = '{job}' ORDER BY submit_time DESC LIMIT 1"
    );
    let known: Vec<Known> = rows(engine, &sql).await?;
    Ok(Error::Invalid(match known.first() {
        None => format!("job {job}: the lake has no Darshan log of it, and no Slurm record either"),
        Some(known) => format!(
            "job {job}: the lake has no Darshan log of it; Slurm knows it as {} (raw id {}), {}",
            known.job_id_text.as_deref().unwrap_or("a job"),
            known.job_id,
            known.state.as_deref().unwrap_or("in an unknown state")
        ),
    }))
}

async fn gather(engine: &Engine, job: i64, logs: Vec<Log>) -> Result<Job> {
    let of = |log_id: i64| logs.iter().any(|log| log.log_id == log_id);
    let mut found = Job {
        job_id: job,
        flows: BTreeMap::new(),
        names_osts: false,
        collective: BTreeMap::new(),
        compared: BTreeMap::new(),
        causes: vec![],
        others: vec![],
        neighbours: vec![],
        advice: vec![],
        logs: vec![],
    };
    let first = logs.iter().filter_map(|log| log.start_time).min();
    let last = logs
        .iter()
        .filter_map(|log| log.end_time.or(log.start_time))
        .max();
    layout_and_calls(engine, job, &logs, &mut found).await?;
    let (Some(first), Some(last)) = (first, last) else {
        // Without a clock there is nothing to lay beside others.
        found.logs = logs;
        return Ok(found);
    };
    let month = period(
        first - TimeDelta::days(AROUND),
        first + TimeDelta::days(AROUND),
    );
    for direction in DIRECTIONS {
        for interval in ["window", "busy", "dxt"] {
            let sql = format!(
                "SELECT * FROM perf_factors(direction => '{direction}', grain => 'job', interval => '{interval}', job => {job})"
            );
            let flows: Vec<Flow> = rows(engine, &sql).await?;
            if let Some(flow) = flows.into_iter().find(|flow| of(flow.log_id)) {
                found.flows.insert((direction, interval), flow);
            }
        }
        if let Some(flow) = found.flows.get(&(direction, "window")) {
            let compared = compare(engine, direction, job, flow.log_id, &month).await?;
            found.compared.insert(direction, compared);
        }
    }
    let traced = format!("SELECT count(*) AS segments FROM darshan_dxt WHERE job_id = {job}");
    #[derive(Deserialize)]
    struct Traced {
        segments: i64,
    }
    if rows::<Traced>(engine, &traced)
        .await?
        .iter()
        .all(|traced| traced.segments == 0)
    {
        found.flows.retain(|(_, interval), _| *interval != "dxt");
    }
    let of_row = |row: &Row| row["log_id"].as_i64().is_some_and(of);
    let causes = format!("SELECT * FROM root_causes(job => {job}, both => false)");
    found.causes = rows(engine, &causes).await?;
    found.causes.retain(of_row);
    let others = format!(
        "SELECT f.*, {} AS causes FROM job_facts({}, job => {job}) f ORDER BY f.slowdown DESC, f.others DESC, f.fs, f.ost, f.log_id, f.direction",
        intervals::met_by_a_job(),
        period(first, last)
    );
    found.others = rows(engine, &others).await?;
    found.others.retain(of_row);
    found.neighbours = rows(
        engine,
        &format!("SELECT * FROM ost_neighbours(job => {job}) ORDER BY neighbour_bytes DESC"),
    )
    .await?;
    found.neighbours.retain(|neighbour| of(neighbour.log_id));
    found.advice = rows(
        engine,
        &format!("SELECT * FROM stripe_advice(job => {job})"),
    )
    .await?;
    found.logs = logs;
    Ok(found)
}

/// Whether OSTs are known, and how much of the MPI-IO calls is collective.
async fn layout_and_calls(engine: &Engine, job: i64, logs: &[Log], found: &mut Job) -> Result<()> {
    #[derive(Deserialize)]
    struct Known {
        layouts: i64,
        read: Option<f64>,
        write: Option<f64>,
    }
    let ids: Vec<String> = logs.iter().map(|log| log.log_id.to_string()).collect();
    let part = |direction: &str| {
        format!(
            "ratio(sum(mpiio_coll_{direction}s), sum(mpiio_coll_{direction}s) + sum(mpiio_indep_{direction}s)) AS \"{direction}\""
        )
    };
    let sql = format!(
        "SELECT count(ost_count) AS layouts, {}, {} FROM darshan_file WHERE job_id = {job} AND log_id IN ({}) AND NOT is_stream",
        part("read"),
        part("write"),
        ids.join(", ")
    );
    for known in rows::<Known>(engine, &sql).await? {
        found.names_osts = known.layouts > 0;
        for (direction, part) in DIRECTIONS.into_iter().zip([known.read, known.write]) {
            found.collective.extend(part.map(|part| (direction, part)));
        }
    }
    Ok(())
}

/// The job's numbers beside those of the other jobs of the month.
async fn compare(
    engine: &Engine,
    direction: &str,
    job: i64,
    log_id: i64,
    month: &str,
) -> Result<Vec<Compared>> {
    #[derive(Deserialize)]
    struct Row {
        name: String,
        value: Option<f64>,
        app_others: i64,
        app_below: Option<f64>,
        others: i64,
        below: Option<f64>,
    }
    let numbers = |name: &str| {
        let below = format!(
            "CASE WHEN a.{name} < m.{name} THEN 1.0 WHEN a.{name} = m.{name} THEN 0.5 WHEN a.{name} > m.{name} THEN 0.0 END"
        );
        format!(
            "named_struct('name', '{name}', 'value', CAST(max(m.{name}) AS DOUBLE), 'app_others', count({below}) FILTER (WHERE a.app = m.app), \
             'app_below', avg({below}) FILTER (WHERE a.app = m.app), 'others', count({below}), 'below', avg({below}))"
        )
    };
    let numbers: Vec<String> = COMPARED.iter().map(|name| numbers(name)).collect();
    let sql = format!(
        "WITH a AS (SELECT * FROM perf_factors(direction => '{direction}', grain => 'job', {month})), \
         m AS (SELECT * FROM perf_factors(direction => '{direction}', grain => 'job', job => {job}) WHERE log_id = {log_id}), \
         c AS (SELECT unnest(make_array({})) AS row FROM m LEFT JOIN a ON a.job_id <> m.job_id OR a.log_id <> m.log_id) \
         SELECT row['name'] AS name, row['value'] AS value, row['app_others'] AS app_others, row['app_below'] AS app_below, row['others'] AS others, row['below'] AS below FROM c",
        numbers.join(", ")
    );
    let found: Vec<Row> = rows(engine, &sql).await?;
    let compared = COMPARED.into_iter().filter_map(|name| {
        let row = found.iter().find(|row| row.name == name)?;
        Some(Compared {
            name,
            value: row.value,
            own_app: Rank {
                others: row.app_others,
                below: row.app_below,
            },
            month: Rank {
                others: row.others,
                below: row.below,
            },
        })
    });
    Ok(compared.collect())
}

fn period(from: DateTime<Utc>, to: DateTime<Utc>) -> String {
    format!("\"from\" => '{}', \"to\" => '{}'", stamp(from), stamp(to))
}

fn stamp(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A time as answers write it.
fn time<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<DateTime<Utc>>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let time = text.map(|text| DateTime::parse_from_rfc3339(&text).map(|time| time.to_utc()));
    time.transpose().map_err(serde::de::Error::custom)
}
