//! The likely causes, in words with the numbers behind them.

use super::facts::{Cause, Interference, Job, SlowOst};
use crate::answer::amount::{count, counted, rate, seconds, share, significant, size};
use crate::answer::answer::{Block, Finding, Findings, Holds};
use crate::engine::rules::{Rule, Shown, rules};
use serde_json::json;

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

/// What made the job slow, the weightiest first.
pub(super) fn block(job: &Job) -> Block {
    let mut findings: Vec<Finding> = vec![];
    for (cause, logs) in grouped(&job.causes) {
        let share = cause.share.or(cause.share_busy).unwrap_or(0.0);
        findings.push(Finding {
            rule: cause.cause.clone(),
            direction: Some(cause.direction.clone()),
            sentence: root_cause(cause, logs),
            holds: match (cause.share, cause.share_busy) {
                (Some(_), Some(_)) => Holds::Certain,
                (Some(_), None) => Holds::ByWindows,
                (None, _) => Holds::ByBusyTimes,
            },
            weight: share * cause.critical_time,
            evidence: json!({
                "share": cause.share,
                "share_busy": cause.share_busy,
                "critical_time": cause.critical_time,
                "files": cause.files,
                "bw": cause.bw,
                "number": cause.number,
                "subject": cause.subject,
                "logs": logs,
            }),
        });
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
            findings.push(Finding {
                rule: "interference".into(),
                direction: Some(found.direction.clone()),
                sentence: interference(found),
                holds: Holds::Certain,
                weight: found.others_share.unwrap_or(0.0) * time,
                evidence: json!({
                    "fs": found.fs,
                    "osts": found.osts,
                    "own": found.own,
                    "others": found.other_known + found.unexplained,
                    "others_share": found.others_share,
                    "coverage": found.coverage,
                    "peak": found.peak,
                }),
            });
        }
    }
    for slow in &job.slow_osts {
        let time = time(&slow.direction);
        if slow.share >= SLOW_SHARE && time >= MIN_TIME {
            findings.push(Finding {
                rule: "slow_ost".into(),
                direction: Some(slow.direction.clone()),
                sentence: slow_ost(slow, time),
                holds: Holds::Certain,
                weight: slow.share * time,
                evidence: json!({
                    "fs": slow.fs,
                    "ost": slow.ost,
                    "slowdown": slow.slowdown,
                    "files_of_all_jobs": slow.files,
                    "bytes": slow.bytes,
                    "share": slow.share,
                    "critical_time": time,
                }),
            });
        }
    }
    // Those that do not hold by both kinds of interval stand behind, in the order of `root_causes`.
    findings.sort_by(|a, b| {
        let certain = |finding: &Finding| finding.holds == Holds::Certain;
        match (certain(a), certain(b)) {
            (true, true) => b.weight.total_cmp(&a.weight),
            (a, b) => b.cmp(&a),
        }
    });
    let longest = job.flows.values().map(|flow| flow.critical_time);
    let otherwise = match findings.first() {
        Some(finding) if finding.holds == Holds::Certain => None,
        _ if longest.fold(0.0, f64::max) < MIN_TIME => {
            Some("too little I/O to judge: no direction has 1 s of critical time")
        }
        Some(_) => Some("nothing stands out for certain"),
        None => Some("nothing stands out"),
    };
    Block::Findings(Findings {
        title: "Likely causes".into(),
        findings,
        otherwise: otherwise.map(String::from),
    })
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
    let rule = rules().iter().find(|rule| rule.name == cause.cause);
    let what = rule.map_or(cause.cause.clone(), |rule| in_words(rule, cause));
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

/// The sentence of a rule with what was found in its places.
fn in_words(rule: &Rule, cause: &Cause) -> String {
    let files = match cause.files {
        1 => "one file".to_string(),
        n => counted(n, "file", "files"),
    };
    let value = match rule.value.shown {
        Shown::Count => count(cause.number as u64),
        Shown::Share => share(cause.number),
        Shown::Times => significant(cause.number),
    };
    let done = match cause.direction.as_str() {
        "read" => "read",
        _ => "written",
    };
    let subject = cause.subject.as_deref().unwrap_or("a file without a name");
    let places = [
        ("{files}", files.as_str()),
        ("{value}", &value),
        ("{done}", done),
        // Last, for a path may hold what looks like a place.
        ("{subject}", subject),
    ];
    places
        .into_iter()
        .fold(rule.sentence.clone(), |sentence, (place, found)| {
            sentence.replace(place, found)
        })
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
