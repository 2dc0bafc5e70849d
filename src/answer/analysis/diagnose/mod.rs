//! `diagnose`: one job on one page.
//!
//! Facts come before verdicts: who and when, how much of the time was I/O, what each layer moved, the files that hold the time and those of the
//! critical path, requests, layout, what others did; then likely causes, each with the numbers behind it, what it costs at most and what to do.
//! Sections without matter are left out.
//!
//! | file | what it is |
//! |---|---|
//! | `load`, `not_there` | asks the lake; why it knows nothing |
//! | `job` | what is known, and what follows from it |
//! | `zone_of_record` | whether a Slurm record is of another time zone |
//! | `time`, `layers`, `files`, `requests`, `compared`, `others` | the parts of the page |
//!
//! # Adding a part
//! One function `block(job: &Job) -> Block` in a file of its own, and one line in `blocks`, at its place on the page. What it needs of the lake is asked for in
//! `load::gather`, or in a `gather` beside the block, kept in `job::Job`, with `Job::facts` for JSON, and named in `rests_on`. A new rule needs nothing here
//! (`engine::rules`).

mod compared;
mod files;
mod job;
mod layers;
mod load;
mod not_there;
mod others;
mod requests;
mod time;
mod zone_of_record;

use crate::answer::answer::{Answer, Block, Parameter, Period, SHOWN};
use crate::answer::findings::{self, JobEvidence};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::text::amount::{count, counted, seconds};
use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use job::{Job, Log, span};
use load::Asked;

/// Notes of a page that is not long.
const FEW_NOTES: usize = 3;

/// A page for each job of a lake is written if it has so many at most.
const FEW_JOBS: usize = 20;

/// The answer about a job, a log, or each job of a lake that has few. An id that came again, as process ids do, has one for each job.
///
/// # Errors
/// Those of the lake; [`Error::Invalid`] if it has no log of that job, no such log, or many jobs and none was named.
pub async fn answers(
    engine: &Engine,
    job: Option<i64>,
    log: Option<i64>,
    long: bool,
) -> Result<Vec<Answer>> {
    let (engine, lakes) = engine.pinned()?;
    let asked = match (job, log) {
        (_, Some(log)) => vec![Asked::Log(log)],
        (Some(job), None) => vec![Asked::Job(job)],
        (None, None) => {
            let ids = load::ids(&engine, FEW_JOBS).await?;
            let ids = ids.ok_or_else(|| {
                Error::Invalid(format!(
                    "diagnose needs --job or --log where there are more than {FEW_JOBS} jobs; `iolode sql -c \"select job_id, app, nprocs, start_time from darshan_log\"`, with the same --lake or --logs, lists them"
                ))
            })?;
            ids.into_iter().map(Asked::Job).collect()
        }
    };
    let mut jobs = vec![];
    for asked in asked {
        jobs.extend(load::jobs(&engine, asked, long).await?);
    }
    if let (Some(job), Some(log)) = (job, log)
        && jobs.iter().any(|found| found.job_id != job)
    {
        return Err(Error::Invalid(format!("log {log} is not of job {job}")));
    }
    let zone = engine.zone()?;
    let answers = jobs.iter().map(|job| Answer {
        analysis: "diagnose".into(),
        parameters: parameters(job, long),
        lakes: lakes.clone(),
        period: period(job),
        zone: None,
        rests_on: rests_on(long),
        citation: "T. Wang et al., IOMiner: Large-scale Analytics Framework for Gaining Knowledge from I/O Logs, CLUSTER 2018; J. L. Bez et al., Drishti: Guiding End-Users in the I/O Optimization Journey, PDSW 2022",
        facts: job.facts(),
        blocks: blocks(job, long, zone),
    });
    Ok(answers.collect())
}

/// Tables, views and named queries that are asked. Those of modules behind `darshan_file`, and `lake_input`, are left out.
fn rests_on(long: bool) -> Vec<&'static str> {
    let mut names = vec![
        "job",
        "darshan_log",
        "darshan_log_group",
        "darshan_file",
        "root_causes",
        "advice",
        "directory_facts",
        "burst_facts",
        "darshan_h5d",
        "darshan_pnetcdf_var",
        "darshan_stdio",
        "job_facts",
        "mdt_facts",
        "node_facts",
        "ost_neighbours",
        "slow_osts",
        "stripe_advice",
    ];
    names.extend(long.then_some("perf_factors"));
    names
}

fn parameters(job: &Job, long: bool) -> Vec<Parameter> {
    let id = |name: &'static str, id: i64| Parameter {
        name: name.into(),
        value: id.to_string().into(),
    };
    let mut parameters = vec![id("job", job.job_id)];
    parameters.extend(job.only.map(|log| id("log", log)));
    parameters.push(Parameter {
        name: "long".into(),
        value: long.into(),
    });
    parameters
}

fn blocks(job: &Job, long: bool, zone: Tz) -> Vec<Block> {
    let mut blocks = vec![head(job, zone), time::io_time(job)];
    blocks.extend(layers::block(job));
    blocks.extend(files::busiest(job));
    for direction in time::directions(job) {
        blocks.extend(files::critical(job, direction, long));
    }
    blocks.extend(requests::block(job));
    blocks.extend(requests::layout(job));
    for direction in time::directions(job) {
        blocks.extend(compared::block(job, direction));
    }
    blocks.extend(others::block(job));
    let mut findings = findings::findings(&JobEvidence {
        causes: &job.causes,
        habits: &job.habits,
        met: job.own.iter().chain(&job.others.facts).collect(),
        io_time: job.io_time(),
        slowest: job.slowest.all,
        run_time: job.run_time(),
        is_damaged: job.is_damaged(),
        is_partial: job.is_partial(),
        is_mixed: job.sum(|t| t.incomplete) > 0,
        waits: job.waits(),
        at_most: &|direction| job.at_most(direction),
        side_by_side: &job.side_by_side(),
    });
    if !long {
        findings.shorten(FEW_NOTES);
    }
    blocks.push(Block::Findings(findings));
    blocks
}

fn period(job: &Job) -> Option<Period> {
    let (first, last) = span(&job.logs)?;
    let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    Some(Period {
        from: text(first),
        to: text(last),
    })
}

/// What a record of the job says that would be its own if its times were of another zone.
fn in_other_zone(job: &Job) -> String {
    let Some(difference) = job.record_earlier_by else {
        return String::new();
    };
    let side = if difference > 0 { "earlier" } else { "later" };
    format!(
        " at that time, but one of this job {} {side}: if sacct's times were read in the wrong zone, `iolode lake forget LAKE --slurm`, then ingest them with --timezone NAME",
        seconds(difference.abs() as f64)
    )
}

/// Times are those of the zone, with their offset.
fn head(job: &Job, zone: Tz) -> Block {
    let mut apps: Vec<&str> = job
        .logs
        .iter()
        .filter_map(|log| log.app.as_deref())
        .collect();
    apps.sort_unstable();
    apps.dedup();
    let app = match apps.as_slice() {
        [] => "an unknown program".to_string(),
        [one] => (*one).to_string(),
        [one, rest @ ..] => format!(
            "{one} and {}",
            counted(rest.len() as i64, "other program", "other programs")
        ),
    };
    let user = job.logs.iter().find_map(|log| log.user.as_deref());
    let uid = job.logs.iter().find_map(|log| log.uid);
    let user = match (user, uid) {
        (Some(user), _) => format!("user {user}"),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => "user unknown".into(),
    };
    let processes = processes(job);
    let slurm = match job.logs.iter().find(|log| log.node_count.is_some()) {
        Some(log) => format!(
            " on {}, {} (Slurm record: {})",
            counted(log.node_count.unwrap_or(0), "node", "nodes"),
            log.state.as_deref().unwrap_or("state unknown"),
            log.matched
        ),
        None => format!("; no Slurm record{}", in_other_zone(job)),
    };
    let mut lines = vec![format!("{processes}{slurm}")];
    let logs = counted(job.logs.len() as i64, "log", "logs");
    let local = |time: DateTime<Utc>| {
        let time = time.with_timezone(&zone);
        time.format("%Y-%m-%d %H:%M:%S%:z")
    };
    lines.push(match span(&job.logs) {
        Some((first, last)) => format!(
            "{} to {}; {}",
            local(first),
            local(last),
            match job.logs.len() {
                1 => format!("{logs} with {} of run time", seconds(job.run_time())),
                _ => format!(
                    "{logs}, in which programs ran for {} on the clock and {} added up",
                    seconds(job.clock_time()),
                    seconds(job.run_time())
                ),
            }
        ),
        _ => format!("{logs} without a start time: the job regions are damaged"),
    });
    let count_logs = |is_bad: fn(&Log) -> bool| {
        let logs = job.logs.iter();
        logs.filter(|log| is_bad(log)).count()
    };
    for (bad, what) in [
        (
            count_logs(|log| log.partial == Some(true)),
            "partial (Darshan ran out of memory)",
        ),
        (count_logs(Log::is_damaged), "damaged"),
        (
            count_logs(Log::has_unread_modules),
            "read in part (modules of newer versions)",
        ),
    ] {
        match (bad, job.logs.len()) {
            (0, _) => {}
            (1, 1) => lines.push(format!("it is {what}: sums are lower bounds")),
            (1, _) => lines.push(format!("1 of them is {what}: sums are lower bounds")),
            (bad, _) => lines.push(format!("{bad} of them are {what}: sums are lower bounds")),
        }
    }
    match job.copies {
        0 => {}
        1 => lines.push("a damaged copy of one of them is left out".into()),
        copies => lines.push(format!("{copies} damaged copies of them are left out")),
    }
    match (count_logs(Log::has_lost_traces), job.logs.len()) {
        (0, _) => {}
        (_, 1) => lines.push("traces of DXT are lost by damage: no sum counts them".into()),
        (cut, _) => lines.push(format!(
            "{cut} of them have lost traces of DXT by damage: no sum counts them"
        )),
    }
    match job.logs.as_slice() {
        [log] => lines.extend(log.path.as_ref().map(|path| format!("log {path}"))),
        logs => lines.extend(logs.iter().find_map(|log| {
            let others = counted(logs.len() as i64 - 1, "other log", "other logs");
            Some(format!("log {} and {others}", log.path.as_ref()?))
        })),
    }
    let errors = job.logs.iter().filter_map(|log| {
        let what = match log.status.as_str() {
            "damaged" => "damage",
            _ if log.has_unread_modules() => "not read",
            _ => "partial",
        };
        Some(format!("{what}: {}", log.error.as_ref()?))
    });
    lines.extend(errors.take(SHOWN));
    let what = match job.only {
        Some(log) => format!("log {log} of job {}", job.job_id),
        None => format!("job {}", job.job_id),
    };
    Block::text(format!("{what}: {app}, {user}"), lines)
}

/// `64 processes`; of several logs `17 logs of 1 process each`, `3 logs of 1 to 64 processes`.
fn processes(job: &Job) -> String {
    let all = || job.logs.iter().filter_map(|log| log.nprocs);
    let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let most_of_them = counted(most, "process", "processes");
    match job.logs.len() {
        1 => most_of_them,
        logs if least == most => format!("{} logs of {most_of_them} each", count(logs as u64)),
        logs => format!(
            "{} logs of {} to {most_of_them}",
            count(logs as u64),
            count(least.max(0) as u64)
        ),
    }
}
