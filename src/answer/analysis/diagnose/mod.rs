//! `diagnose`: one job on one page.
//!
//! Where its I/O time went, the critical files, its factors beside those of its own program and of the month, what else moved
//! bytes on its OSTs, whether the answer hangs on the kind of interval, and the likely causes in words with the numbers behind
//! them - or that nothing stands out.

mod facts;
mod neighbours;

use crate::answer::answer::{Answer, Block, Cell, Column, Parameter, Period, SHOWN, Table};
use crate::answer::rules;
use crate::engine::Engine;
use crate::error::Result;
use crate::text::amount::{count, counted, rate, seconds, share, significant, size};
use chrono::SecondsFormat;
use facts::{Compared, DIRECTIONS, Flow, Job, Rank};

/// The answer about a job. An id that came again, as process ids do, has one for each job.
///
/// # Errors
/// Those of the lake; [`crate::Error::Invalid`] if it has no log of that job.
pub async fn answers(engine: &Engine, job: i64) -> Result<Vec<Answer>> {
    let (engine, lakes) = engine.pinned()?;
    let jobs = facts::jobs(&engine, job).await?;
    let answers = jobs.iter().map(|job| Answer {
        analysis: "diagnose",
        parameters: vec![Parameter {
            name: "job",
            value: job.job_id.to_string().into(),
        }],
        lakes: lakes.clone(),
        period: period(job),
        rests_on: &[
            "job",
            "darshan_log",
            "darshan_file",
            "perf_factors",
            "root_causes",
            "job_facts",
            "ost_neighbours",
            "stripe_advice",
        ],
        citation: "T. Wang et al., IOMiner: Large-scale Analytics Framework for Gaining Knowledge from I/O Logs, CLUSTER 2018",
        blocks: blocks(job),
    });
    Ok(answers.collect())
}

fn blocks(job: &Job) -> Vec<Block> {
    let mut blocks = vec![head(job), where_time_went(job)];
    for direction in DIRECTIONS {
        blocks.extend(critical_files(job, direction));
        blocks.extend(factors(job, direction));
    }
    blocks.push(neighbours::block(job));
    blocks.extend(advice(job));
    let longest = job.flows.values().map(|flow| flow.critical_time);
    blocks.push(Block::Findings(rules::findings(
        &job.causes,
        &job.others,
        longest.fold(0.0, f64::max),
    )));
    blocks
}

fn period(job: &Job) -> Option<Period> {
    let first = job.logs.iter().filter_map(|log| log.start_time).min()?;
    let ends = job.logs.iter();
    let last = ends
        .filter_map(|log| log.end_time.or(log.start_time))
        .max()?;
    let text =
        |time: chrono::DateTime<chrono::Utc>| time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    Some(Period {
        from: text(first),
        to: text(last),
    })
}

fn head(job: &Job) -> Block {
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
        None => "; no Slurm record".to_string(),
    };
    let mut lines = vec![format!("{processes}{slurm}")];
    let first = job.logs.iter().filter_map(|log| log.start_time).min();
    let last = job
        .logs
        .iter()
        .filter_map(|log| log.end_time.or(log.start_time))
        .max();
    let logs = counted(job.logs.len() as i64, "log", "logs");
    lines.push(match (first, last) {
        (Some(first), Some(last)) => format!(
            "{} to {} UTC; {}",
            first.format("%Y-%m-%d %H:%M:%S"),
            last.format("%Y-%m-%d %H:%M:%S"),
            match job.logs.len() {
                1 => format!("{logs} with {} of run time", seconds(run_time(job))),
                _ => format!("run times added up over logs: {}", seconds(run_time(job))),
            }
        ),
        _ => format!("{logs} without a start time: the job regions are damaged"),
    });
    let count_logs = |is_bad: fn(&facts::Log) -> bool| {
        let logs = job.logs.iter();
        logs.filter(|log| is_bad(log)).count()
    };
    for (bad, what) in [
        (
            count_logs(|log| log.partial == Some(true)),
            "partial (Darshan ran out of memory)",
        ),
        (count_logs(|log| log.status == "damaged"), "damaged"),
    ] {
        match (bad, job.logs.len()) {
            (0, _) => {}
            (1, 1) => lines.push(format!("it is {what}: sums are lower bounds")),
            (1, _) => lines.push(format!("1 of them is {what}: sums are lower bounds")),
            (bad, _) => lines.push(format!("{bad} of them are {what}: sums are lower bounds")),
        }
    }
    Block::text(format!("job {}: {app}, {user}", job.job_id), lines)
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

fn run_time(job: &Job) -> f64 {
    job.logs.iter().filter_map(|log| log.run_time).sum()
}

fn where_time_went(job: &Job) -> Block {
    let mut table = Table::new(
        "Where the time went",
        vec![
            Column::new("direction", "", "", "read or write"),
            Column::new("bytes", "bytes", "B", "Bytes moved, streams left out"),
            Column::new("files", "files", "", "Files that moved bytes"),
            Column::new(
                "critical_time",
                "critical time",
                "s",
                "Time in which at least one file was in use",
            ),
            Column::new("of_run_time", "of run time", "", "Critical time / run time"),
            Column::new("bw_critical", "bw critical", "B/s", "Bytes / critical time"),
            Column::new(
                "bw_span",
                "bw span",
                "B/s",
                "Bytes / (last end - first start)",
            ),
            Column::new(
                "bw_slowest_rank",
                "bw slowest rank",
                "B/s",
                "Bytes / I/O time of the slowest process",
            ),
            Column::new(
                "busy",
                "busy",
                "",
                "How much of its window a critical file was busy",
            ),
        ],
    );
    for direction in DIRECTIONS {
        let Some(flow) = job.flows.get(&(direction, "window")) else {
            continue;
        };
        let run_time = run_time(job);
        table.push(vec![
            Cell::text(Some(direction), ""),
            Cell::size(flow.bytes),
            Cell::count(flow.files),
            Cell::seconds(flow.critical_time),
            Cell::share((run_time > 0.0).then(|| flow.critical_time / run_time)),
            Cell::rate(flow.bw_critical),
            Cell::rate(flow.bw_span),
            Cell::rate(flow.bw_slowest_rank),
            Cell::share(flow.busy),
        ]);
    }
    if table.is_empty() {
        table
            .notes
            .push("no file moved a byte, streams left out".into());
    } else {
        table.notes.push(
            "critical time: union of the windows of all files (a window: first to last access); bw critical: bytes / critical time;"
                .into(),
        );
        table.notes.push(
            "bw span: bytes / (last end - first start); bw slowest rank: bytes / I/O time of the slowest process;".into(),
        );
        table
            .notes
            .push("busy: share of the windows that processes spent in I/O calls".into());
    }
    let sum = |of: fn(&facts::Log) -> Option<f64>| job.logs.iter().filter_map(of).sum::<f64>();
    let (read, written, meta) = (
        sum(|log| log.read_time),
        sum(|log| log.write_time),
        sum(|log| log.meta_time),
    );
    let all = read + written + meta;
    if all > 0.0 {
        table.notes.push(format!(
            "processes spent {} in I/O: {} reading, {} writing, {} in metadata operations",
            seconds(all),
            share(read / all),
            share(written / all),
            share(meta / all)
        ));
    }
    for direction in DIRECTIONS {
        interval(&mut table.notes, job, direction);
    }
    Block::Table(table)
}

/// Whether the answer is another one by busy times, or by traced segments.
fn interval(notes: &mut Vec<String>, job: &Job, direction: &str) {
    let of = |kind: &str| {
        let mut flows = job.flows.iter();
        flows
            .find(|((known, interval), _)| *known == direction && *interval == kind)
            .map(|(_, flow)| flow)
    };
    let Some(window) = of("window") else {
        return;
    };
    for (kind, name) in [("busy", "busy times"), ("dxt", "traced segments")] {
        let Some(other) = of(kind) else { continue };
        notes.push(match differs(window, other) {
            true => {
                let file = other.critical_files.first();
                format!(
                    "{direction} time depends on how it is measured: {} by windows, {} by {name}, {} of it for {}",
                    seconds(window.critical_time),
                    seconds(other.critical_time),
                    share(file.map_or(0.0, |file| file.share)),
                    file.and_then(|file| file.path.as_deref())
                        .unwrap_or(NO_PATH)
                )
            }
            false => format!(
                "{direction} critical time by {name} instead of windows: {}, the same file comes first",
                seconds(other.critical_time)
            ),
        });
    }
}

/// A file whose path is not in its log.
const NO_PATH: &str = "a file without a name";

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
fn critical_files(job: &Job, direction: &'static str) -> Vec<Block> {
    let Some(window) = job.flows.get(&(direction, "window")) else {
        return vec![];
    };
    let mut blocks = vec![list(window, &format!("{direction}:"))];
    if let Some(busy) = job.flows.get(&(direction, "busy"))
        && differs(window, busy)
    {
        blocks.push(list(busy, &format!("{direction}, by busy times:")));
    }
    blocks
}

fn list(flow: &Flow, heading: &str) -> Block {
    let mut table = Table::new(
        format!(
            "Critical files, {heading} {} of {} cover the critical time",
            count(flow.critical_files.len() as u64),
            counted(flow.files, "file", "files")
        ),
        vec![
            Column::new("share", "share", "", "Part of the critical time"),
            Column::new(
                "time",
                "time",
                "s",
                "Time in which this file and none before it in the sweep was in use",
            ),
            Column::new("bytes", "bytes", "B", "Bytes moved"),
            Column::new("path", "file", "", "Path; of several files their number"),
        ],
    );
    for file in flow.critical_files.iter().take(SHOWN) {
        table.push(vec![
            Cell::share(Some(file.share)),
            Cell::seconds(file.time),
            Cell::size(file.bytes),
            Cell::text(file.path.as_deref(), NO_PATH),
        ]);
    }
    if flow.critical_files.len() > SHOWN {
        let rest = &flow.critical_files[SHOWN..];
        table.push(vec![
            Cell::share(Some(rest.iter().map(|file| file.share).sum())),
            Cell::seconds(rest.iter().map(|file| file.time).sum()),
            Cell::size(rest.iter().map(|file| file.bytes).sum()),
            Cell::text(
                Some(&format!(
                    "in {}",
                    counted(rest.len() as i64, "more file", "more files")
                )),
                "",
            ),
        ]);
    }
    Block::Table(table)
}

fn factors(job: &Job, direction: &'static str) -> Option<Block> {
    let (compared, flow) = (
        job.compared.get(direction)?,
        job.flows.get(&(direction, "window"))?,
    );
    let others = |of: fn(&Compared) -> i64| compared.iter().map(of).max().unwrap_or(0);
    const BELOW: &str = "Part of them that has a smaller value; of equal ones half";
    let mut columns = vec![
        Column::new("factor", "", "", "The factor"),
        Column::new("value", "this job", "", "Its value"),
    ];
    let (own, month) = (others(|c| c.own_app.others), others(|c| c.month.others));
    if own >= FEW {
        let heading = format!("percentile of own program ({own})");
        columns.push(Column::new("own_program", heading, "", BELOW));
    }
    if month >= FEW {
        let heading = format!("percentile of month ({month})");
        columns.push(Column::new("month", heading, "", BELOW));
    }
    let mut table = Table::new(format!("Factors, {direction}"), columns);
    for number in compared {
        let name = match number.name {
            "small" => "requests <= 1 KiB",
            "non_consec" => "non-consecutive requests",
            "coll" => "collective MPI-IO",
            "ost_count" => "OSTs of critical files",
            "proc_per_ost" if flow.proc_upper == Some(true) => "processes per OST, at most",
            "proc_per_ost" => "processes per OST",
            "bw_critical" => "bandwidth",
            other => other,
        };
        let shown = |value: f64| match number.name {
            "small" | "non_consec" => share(value),
            "coll" => match job.collective.get(direction) {
                Some(part) if *part > 0.0 => format!("{} of calls", share(*part)),
                _ if value > 0.0 => "yes".into(),
                _ => "no".into(),
            },
            "bw_critical" => rate(value),
            "ost_count" => count(value.max(0.0) as u64),
            _ => significant(value),
        };
        let mut cells = vec![Cell::text(Some(name), ""), Cell::of(number.value, shown)];
        cells.extend((own >= FEW).then(|| percentile(&number.own_app)));
        cells.extend((month >= FEW).then(|| percentile(&number.month)));
        table.push(cells);
    }
    Some(Block::Table(table))
}

/// Among fewer others a percentile says nothing.
const FEW: i64 = 10;

/// `P98`: larger than 98 % of the others.
fn percentile(rank: &Rank) -> Cell {
    Cell::of(rank.below, |below| format!("P{:.0}", 100.0 * below))
}

fn advice(job: &Job) -> Option<Block> {
    let lines = job.advice.iter().take(SHOWN).map(|advice| {
        format!(
            "{}: {} on {} with stripe count {}, in use for {}{}; {} would fit the largest, {} of {}",
            advice.advice,
            counted(advice.files, "file", "files"),
            advice.fs,
            advice.stripe_count,
            seconds(advice.time),
            match advice.files {
                1 => "",
                _ => " added up over files",
            },
            advice.advised_count,
            advice.largest_path.as_deref().unwrap_or(NO_PATH),
            size(advice.largest_size.max(0) as u64)
        )
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| Block::text("Striping", lines))
}
