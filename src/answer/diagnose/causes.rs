//! The likely causes, in words with the numbers behind them.

use super::facts::{Cause, Interference, Job, SlowOst};
use crate::answer::amount::{count, rate, seconds, share, size};

/// Others moved at least this part of what the OSTs of the job did in its windows.
const OTHERS: f64 = 0.5;
/// And kept these OSTs busy with at least this part of the most that one was seen to do.
const LOAD: f64 = 0.1;
/// LMT must have samples for this part of the job's bytes.
const COVERAGE: f64 = 0.5;
/// The part of the critical time that files on one slow OST have for themselves from which it is a cause.
const SLOW_SHARE: f64 = 0.5;
/// A direction with less critical time, seconds, is not worth a cause.
const MIN_TIME: f64 = 1.0;

/// The likely causes of a job, in words.
#[derive(Default)]
pub(super) struct Likely {
    /// What made it slow, the weightiest first.
    pub(super) causes: Vec<String>,
    /// What would have by windows, but not by busy times.
    pub(super) by_window: Vec<String>,
    /// What would have by busy times, but not by windows.
    pub(super) by_busy: Vec<String>,
}

pub(super) fn likely(job: &Job) -> Likely {
    let mut likely = Likely::default();
    let mut weighed: Vec<(f64, String)> = vec![];
    for (cause, logs) in grouped(&job.causes) {
        let text = root_cause(cause, logs);
        match (cause.share, cause.share_busy) {
            (Some(share), Some(_)) => weighed.push((share * cause.critical_time, text)),
            (Some(_), None) => likely.by_window.push(text),
            (None, _) => likely.by_busy.push(text),
        }
    }
    let time = |direction: &str| {
        let mut flows = job.flows.iter();
        let flow =
            flows.find(|((known, interval), _)| *known == direction && *interval == "window");
        flow.map_or(0.0, |(_, flow)| flow.critical_time)
    };
    for found in &job.interference {
        let time = time(&found.direction);
        if interferes(found) && time >= MIN_TIME {
            weighed.push((
                found.others_share.unwrap_or(0.0) * time,
                interference(found),
            ));
        }
    }
    for slow in &job.slow_osts {
        let time = time(&slow.direction);
        if slow.share >= SLOW_SHARE && time >= MIN_TIME {
            weighed.push((slow.share * time, slow_ost(slow, time)));
        }
    }
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
    likely.causes = weighed.into_iter().map(|(_, text)| text).collect();
    likely
}

/// Whether others may have slowed the job down.
fn interferes(found: &Interference) -> bool {
    let others = found.other_known + found.unexplained;
    let load = others / found.seconds / found.peak.unwrap_or(f64::INFINITY);
    found.others_share.is_some_and(|share| share >= OTHERS)
        && found.coverage.is_some_and(|coverage| coverage >= COVERAGE)
        && load >= LOAD
}

/// Each cause of a direction once: the log with most critical time, and how many logs have it.
fn grouped(causes: &[Cause]) -> Vec<(&Cause, usize)> {
    let mut groups: Vec<(&Cause, usize)> = vec![];
    for cause in causes {
        let same = groups.iter_mut().find(|(known, _)| {
            known.cause == cause.cause
                && known.direction == cause.direction
                && known.share.is_some() == cause.share.is_some()
                && known.share_busy.is_some() == cause.share_busy.is_some()
        });
        match same {
            Some((known, logs)) => {
                *logs += 1;
                if cause.critical_time > known.critical_time {
                    *known = cause;
                }
            }
            None => groups.push((cause, 1)),
        }
    }
    groups
}

fn root_cause(cause: &Cause, logs: usize) -> String {
    let subject = cause.subject.as_deref().unwrap_or("a file without a name");
    let done = match cause.direction.as_str() {
        "read" => "read",
        _ => "written",
    };
    let number = cause.number;
    let files = match cause.files {
        1 => "one file".to_string(),
        n => format!("{} files", count(n as u64)),
    };
    let what = match cause.cause.as_str() {
        "one_ost" => format!(
            "{files}, each on a single OST that many processes share: {} on {subject}",
            count(number as u64)
        ),
        "one_rank" => format!(
            "{subject} moves {} times the bytes of an average process, in {files} of its own, while the others wait",
            significant(number)
        ),
        "serial_files" => format!(
            "{files} are {done} one after another without overlap (the longest is {subject})"
        ),
        "one_file" => format!(
            "{subject} is the last one in use, with {} of the bytes",
            share(number)
        ),
        "small_requests" => format!(
            "{} of the requests to {files} are at most 1 KiB, and most are not consecutive (the slowest file is {subject})",
            share(number)
        ),
        other => format!("{other}: {subject}"),
    };
    let of_logs = match logs {
        1 => String::new(),
        n => format!("; so in {n} logs of the job, this is the one with most time"),
    };
    format!(
        "{what}. That is {} of the {} of {}, at {}{of_logs}.",
        share(cause.share.or(cause.share_busy).unwrap_or(0.0)),
        seconds(cause.critical_time),
        doing(&cause.direction),
        rate(cause.bw),
    )
}

fn interference(found: &Interference) -> String {
    let others = found.other_known + found.unexplained;
    format!(
        "Others used its OSTs: while it moved {} ({}), the {} OSTs of {} moved {} for others, {} of all, at {} per OST; the highest rate of any OST there is {}.",
        size(found.own.max(0.0) as u64),
        found.direction,
        found.osts,
        found.fs,
        size(others.max(0.0) as u64),
        share(found.others_share.unwrap_or(0.0)),
        rate(others / found.seconds),
        rate(found.peak.unwrap_or(0.0)),
    )
}

fn slow_ost(slow: &SlowOst, time: f64) -> String {
    format!(
        "OST {} of {} is {} times slower than the other OSTs this month. The job's files on it, {} of its bytes, account for {} of the {} of {}, with no other file active.",
        slow.ost,
        slow.fs,
        significant(slow.slowdown),
        size(slow.bytes.max(0) as u64),
        share(slow.share),
        seconds(time),
        doing(&slow.direction),
    )
}

/// What processes do in a direction.
fn doing(direction: &str) -> &'static str {
    match direction {
        "read" => "reading",
        _ => "writing",
    }
}

/// A number with two digits that count.
pub(super) fn significant(number: f64) -> String {
    match number {
        n if n.abs() >= 99.5 => count(n.round().max(0.0) as u64),
        n if n.abs() >= 9.95 => format!("{n:.0}"),
        n => format!("{n:.1}"),
    }
}
