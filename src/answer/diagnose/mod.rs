//! `diagnose`: one job on one page.
//!
//! Where its I/O time went, the critical files, its factors beside those of its own program and of the month, what else moved
//! bytes on its OSTs, whether the answer hangs on the kind of interval, and the likely causes in words with the numbers behind
//! them - or that nothing stands out.

mod causes;
mod facts;

use super::amount::{count, rate, seconds, share, size};
use crate::engine::Engine;
use crate::error::Result;
use causes::significant;
use facts::{Compared, DIRECTIONS, Flow, Job, Rank};
use std::fmt::Write;

/// What the columns of "Where the time went" mean.
const LEGEND: &str = "  critical time: union of the windows of all files (a window: first to last access); bw critical: bytes / critical time;
  bw span: bytes / (last end - first start); bw slowest rank: bytes / I/O time of the slowest process;
  busy: share of the windows that processes spent in I/O calls";

/// Critical files, neighbours and advices that are shown.
const SHOWN: usize = 5;

/// The page of a job, with a line end after each line. An id that came again, as process ids do, has a page for each job.
///
/// # Errors
/// Those of the lake; [`crate::Error::Invalid`] if it has no log of that job.
pub async fn page(engine: &Engine, job: i64) -> Result<String> {
    let jobs = facts::jobs(engine, job).await?;
    let pages: Vec<String> = jobs.iter().map(text).collect();
    Ok(pages.join("\n"))
}

fn text(job: &Job) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(&mut page, job);
    page
}

fn write_page(page: &mut String, job: &Job) -> std::fmt::Result {
    head(page, job)?;
    where_time_went(page, job)?;
    for direction in DIRECTIONS {
        critical_files(page, job, direction)?;
        factors(page, job, direction)?;
    }
    others(page, job)?;
    advice(page, job)?;
    likely(page, job)
}

fn head(page: &mut String, job: &Job) -> std::fmt::Result {
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
    let user = job
        .logs
        .iter()
        .find_map(|log| log.user.as_deref())
        .unwrap_or("unknown");
    writeln!(page, "job {}: {app}, user {user}", job.job_id)?;
    let nprocs = job
        .logs
        .iter()
        .filter_map(|log| log.nprocs)
        .max()
        .unwrap_or(0);
    let processes = counted(nprocs, "process", "processes");
    let slurm = match job.logs.iter().find(|log| log.node_count.is_some()) {
        Some(log) => format!(
            " on {}, {} (Slurm record: {})",
            counted(log.node_count.unwrap_or(0), "node", "nodes"),
            log.state.as_deref().unwrap_or("state unknown"),
            log.matched
        ),
        None => "; no Slurm record".to_string(),
    };
    writeln!(page, "  {processes}{slurm}")?;
    let first = job.logs.iter().filter_map(|log| log.start_time).min();
    let last = job
        .logs
        .iter()
        .filter_map(|log| log.end_time.or(log.start_time))
        .max();
    let logs = counted(job.logs.len() as i64, "log", "logs");
    match (first, last) {
        (Some(first), Some(last)) => writeln!(
            page,
            "  {} to {} UTC; {logs} with {} of run time",
            first.format("%Y-%m-%d %H:%M:%S"),
            last.format("%Y-%m-%d %H:%M:%S"),
            seconds(run_time(job)),
        )?,
        _ => writeln!(
            page,
            "  {logs} without a start time: the job regions are damaged"
        )?,
    }
    for (bad, what) in [
        (
            job.logs
                .iter()
                .filter(|log| log.partial == Some(true))
                .count(),
            "partial (Darshan ran out of memory)",
        ),
        (
            job.logs
                .iter()
                .filter(|log| log.status == "damaged")
                .count(),
            "damaged",
        ),
    ] {
        match (bad, job.logs.len()) {
            (0, _) => {}
            (_, 1) => writeln!(page, "  it is {what}: sums are lower bounds")?,
            _ => writeln!(page, "  {bad} of them {what}: sums are lower bounds")?,
        }
    }
    Ok(())
}

fn run_time(job: &Job) -> f64 {
    job.logs.iter().filter_map(|log| log.run_time).sum()
}

fn where_time_went(page: &mut String, job: &Job) -> std::fmt::Result {
    writeln!(page, "\nWhere the time went")?;
    let mut lines = vec![
        [
            "",
            "bytes",
            "files",
            "critical time",
            "of run time",
            "bw critical",
            "bw span",
            "bw slowest rank",
            "busy",
        ]
        .map(String::from)
        .to_vec(),
    ];
    for direction in DIRECTIONS {
        let Some(flow) = job.flows.get(&(direction, "window")) else {
            continue;
        };
        let bandwidth = |bw: Option<f64>| bw.map_or("-".into(), rate);
        lines.push(vec![
            direction.into(),
            size(flow.bytes.max(0) as u64),
            count(flow.files.max(0) as u64),
            seconds(flow.critical_time),
            match run_time(job) {
                time if time > 0.0 => share(flow.critical_time / time),
                _ => "-".into(),
            },
            bandwidth(flow.bw_critical),
            bandwidth(flow.bw_span),
            bandwidth(flow.bw_slowest_rank),
            flow.busy.map_or("-".into(), share),
        ]);
    }
    match lines.len() {
        1 => writeln!(page, "  no file moved a byte, streams left out")?,
        _ => {
            table(page, &lines)?;
            writeln!(page, "{LEGEND}")?;
        }
    }
    let sum = |of: fn(&facts::Log) -> Option<f64>| job.logs.iter().filter_map(of).sum::<f64>();
    let (read, written, meta) = (
        sum(|log| log.read_time),
        sum(|log| log.write_time),
        sum(|log| log.meta_time),
    );
    let all = read + written + meta;
    if all > 0.0 {
        writeln!(
            page,
            "  processes spent {} in I/O: {} reading, {} writing, {} in metadata operations",
            seconds(all),
            share(read / all),
            share(written / all),
            share(meta / all)
        )?;
    }
    for direction in DIRECTIONS {
        interval(page, job, direction)?;
    }
    Ok(())
}

/// Whether the answer is another one by busy times, or by traced segments.
fn interval(page: &mut String, job: &Job, direction: &str) -> std::fmt::Result {
    let of = |kind: &str| {
        let mut flows = job.flows.iter();
        flows
            .find(|((known, interval), _)| *known == direction && *interval == kind)
            .map(|(_, flow)| flow)
    };
    let Some(window) = of("window") else {
        return Ok(());
    };
    for (kind, name) in [("busy", "busy times"), ("dxt", "traced segments")] {
        let Some(other) = of(kind) else { continue };
        if differs(window, other) {
            let file = other.critical_files.first();
            writeln!(
                page,
                "  {direction} time depends on how it is measured: {} by windows, {} by {name}, {} of it for {}",
                seconds(window.critical_time),
                seconds(other.critical_time),
                share(file.map_or(0.0, |file| file.share)),
                file.and_then(|file| file.path.as_deref())
                    .unwrap_or("a file without a name")
            )?;
        } else {
            writeln!(
                page,
                "  {direction} critical time by {name} instead of windows: {}, the same file comes first",
                seconds(other.critical_time)
            )?;
        }
    }
    Ok(())
}

/// Whether another kind of interval than the window gives another answer: another first file with most of the time, the same one
/// with another share, or less than half of the time.
fn differs(window: &Flow, other: &Flow) -> bool {
    let first = |flow: &Flow| {
        let file = flow.critical_files.first();
        file.map(|file| (file.record_id, file.share))
    };
    match (first(window), first(other)) {
        (Some((a, x)), Some((b, y))) => {
            (a != b && (x > 0.5 || y > 0.5))
                || (x - y).abs() > 0.2
                || other.critical_time < 0.5 * window.critical_time
        }
        _ => false,
    }
}

/// Those by windows, as in the paper; also those by busy times where these are others, for a window is not work: a file of a few
/// kilobytes that is open all the time hides by windows what the bytes went to.
fn critical_files(page: &mut String, job: &Job, direction: &'static str) -> std::fmt::Result {
    let Some(window) = job.flows.get(&(direction, "window")) else {
        return Ok(());
    };
    list(page, window, &format!("{direction}:"))?;
    match job.flows.get(&(direction, "busy")) {
        Some(busy) if differs(window, busy) => {
            list(page, busy, &format!("{direction}, by busy times:"))
        }
        _ => Ok(()),
    }
}

fn list(page: &mut String, flow: &Flow, heading: &str) -> std::fmt::Result {
    writeln!(
        page,
        "\nCritical files, {heading} {} of {} cover the critical time",
        count(flow.critical_files.len() as u64),
        counted(flow.files, "file", "files")
    )?;
    for file in flow.critical_files.iter().take(SHOWN) {
        writeln!(
            page,
            "  {:>6}  {:>11}  {:>9}  {}",
            share(file.share),
            seconds(file.time),
            size(file.bytes.max(0) as u64),
            file.path.as_deref().unwrap_or("a file without a name")
        )?;
    }
    if flow.critical_files.len() > SHOWN {
        let rest = &flow.critical_files[SHOWN..];
        writeln!(
            page,
            "  {:>6}  {:>11}  {:>9}  in {}",
            share(rest.iter().map(|file| file.share).sum()),
            seconds(rest.iter().map(|file| file.time).sum()),
            size(rest.iter().map(|file| file.bytes.max(0) as u64).sum()),
            counted(rest.len() as i64, "more file", "more files")
        )?;
    }
    Ok(())
}

fn factors(page: &mut String, job: &Job, direction: &'static str) -> std::fmt::Result {
    let (Some(compared), Some(flow)) = (
        job.compared.get(direction),
        job.flows.get(&(direction, "window")),
    ) else {
        return Ok(());
    };
    let others = |of: fn(&Compared) -> i64| compared.iter().map(of).max().unwrap_or(0);
    let mut lines = vec![vec![
        format!("Factors, {direction}"),
        "this job".into(),
        format!(
            "percentile of own program ({})",
            others(|c| c.own_app.others)
        ),
        format!("percentile of month ({})", others(|c| c.month.others)),
    ]];
    for number in compared {
        let name = match number.name {
            "small" => "requests <= 1 KiB",
            "non_consec" => "non-consecutive requests",
            "coll" => "collective MPI-IO",
            "ost_count" => "OSTs",
            "proc_per_ost" if flow.proc_upper == Some(true) => "processes per OST, at most",
            "proc_per_ost" => "processes per OST",
            "bw_critical" => "bandwidth",
            other => other,
        };
        let value = number.value.map_or("-".into(), |value| match number.name {
            "small" | "non_consec" => share(value),
            "coll" if value > 0.0 => "yes".into(),
            "coll" => "no".into(),
            "bw_critical" => rate(value),
            "ost_count" => count(value.max(0.0) as u64),
            _ => significant(value),
        });
        lines.push(vec![
            format!("  {name}"),
            value,
            percentile(&number.own_app),
            percentile(&number.month),
        ]);
    }
    writeln!(page)?;
    let width: Vec<usize> = (0..4)
        .map(|at| {
            lines
                .iter()
                .map(|line| line[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for line in &lines {
        writeln!(
            page,
            "{:<w0$}  {:>w1$}  {:>w2$}  {:>w3$}",
            line[0],
            line[1],
            line[2],
            line[3],
            w0 = width[0],
            w1 = width[1],
            w2 = width[2],
            w3 = width[3]
        )?;
    }
    Ok(())
}

/// `P98`: larger than 98 % of the others.
fn percentile(rank: &Rank) -> String {
    rank.below
        .map_or("-".into(), |below| format!("P{:.0}", 100.0 * below))
}

fn others(page: &mut String, job: &Job) -> std::fmt::Result {
    writeln!(page, "\nOthers on its OSTs")?;
    if job.interference.is_empty() {
        writeln!(page, "  LMT has no samples of its OSTs in its windows")?;
    }
    for found in &job.interference {
        writeln!(
            page,
            "  LMT, {} on {}: its {} moved {} in its windows: {} its own, {} other logs of the job, {} other jobs, {} unexplained; others {} of all; LMT samples for {} of its bytes",
            found.direction,
            found.fs,
            counted(found.osts, "OST", "OSTs"),
            size(found.seen.max(0) as u64),
            signed(found.own),
            signed(found.same_job),
            signed(found.other_known),
            signed(found.unexplained),
            found.others_share.map_or("-".into(), share),
            found.coverage.map_or("-".into(), share),
        )?;
    }
    if job.neighbours.is_empty() {
        writeln!(
            page,
            "  no other job in the lake moved bytes there at the same time"
        )?;
    }
    for neighbour in job.neighbours.iter().take(SHOWN) {
        writeln!(
            page,
            "  job {} ({}, {}) moved {} on {} of {} at the same time, {} of the bytes of all other jobs there",
            neighbour.neighbour_job_id,
            neighbour
                .neighbour_app
                .as_deref()
                .unwrap_or("unknown program"),
            neighbour
                .neighbour_user
                .as_deref()
                .unwrap_or("unknown user"),
            signed(neighbour.neighbour_bytes),
            counted(neighbour.osts, "OST", "OSTs"),
            neighbour.fs,
            share(neighbour.share)
        )?;
    }
    if job.neighbours.len() > SHOWN {
        writeln!(
            page,
            "  and {}",
            counted(
                (job.neighbours.len() - SHOWN) as i64,
                "more job",
                "more jobs"
            )
        )?;
    }
    for slow in job.slow_osts.iter().take(SHOWN) {
        writeln!(
            page,
            "  OST {} of {} is slow this month ({}): {} times slower than the other OSTs, by {}; the job's files on it account for {} of the critical time",
            slow.ost,
            slow.fs,
            slow.direction,
            significant(slow.slowdown),
            counted(slow.files, "file", "files"),
            share(slow.share)
        )?;
    }
    Ok(())
}

fn advice(page: &mut String, job: &Job) -> std::fmt::Result {
    if !job.advice.is_empty() {
        writeln!(page, "\nStriping")?;
    }
    for advice in job.advice.iter().take(SHOWN) {
        writeln!(
            page,
            "  {}: {} on {} with stripe count {}, in use for {}; {} would fit the largest, {} of {}",
            advice.advice,
            counted(advice.files, "file", "files"),
            advice.fs,
            advice.stripe_count,
            seconds(advice.time),
            advice.advised_count,
            advice
                .largest_path
                .as_deref()
                .unwrap_or("a file without a name"),
            size(advice.largest_size.max(0) as u64)
        )?;
    }
    Ok(())
}

fn likely(page: &mut String, job: &Job) -> std::fmt::Result {
    let likely = causes::likely(job);
    writeln!(page, "\nLikely causes")?;
    for (at, cause) in likely.causes.iter().enumerate() {
        writeln!(page, "  {}. {cause}", at + 1)?;
    }
    if likely.causes.is_empty() {
        let longest = job
            .flows
            .values()
            .map(|flow| flow.critical_time)
            .fold(0.0, f64::max);
        match longest {
            longest if longest < 1.0 => writeln!(
                page,
                "  too little I/O to judge: no direction has 1 s of critical time"
            )?,
            _ => writeln!(page, "  nothing stands out")?,
        }
    }
    for cause in &likely.by_window {
        writeln!(
            page,
            "  possible (by windows only; the file may only have been open): {cause}"
        )?;
    }
    for cause in &likely.by_busy {
        writeln!(
            page,
            "  possible (by busy times only; by windows other files hide it): {cause}"
        )?;
    }
    Ok(())
}

/// Lines with columns: the first to the left, the others to the right.
fn table(page: &mut String, lines: &[Vec<String>]) -> std::fmt::Result {
    for line in lines {
        for (at, cell) in line.iter().enumerate() {
            let width = lines
                .iter()
                .map(|line| line[at].chars().count())
                .max()
                .unwrap_or(0);
            match at {
                0 => write!(page, "  {cell:<width$}")?,
                _ => write!(page, "  {cell:>width$}")?,
            }
        }
        writeln!(page)?;
    }
    Ok(())
}

fn counted(n: i64, one: &str, several: &str) -> String {
    format!(
        "{} {}",
        count(n.max(0) as u64),
        if n == 1 { one } else { several }
    )
}

/// Bytes that may be below 0.
fn signed(bytes: f64) -> String {
    match bytes < -0.5 {
        true => format!("-{}", size(-bytes.round() as u64)),
        false => size(bytes.max(0.0).round() as u64),
    }
}
