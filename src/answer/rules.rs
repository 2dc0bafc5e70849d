//! From the rows that rules are met by to findings: their sentences, and their order.
//!
//! In: rows of `root_causes` and of `job_facts`, as maps from column to value. Out: [`Findings`], the weightiest first. Causes hold by all kinds of
//! interval; those that hold by one of them are only possible and stand behind. The rules themselves lie in `queries/rules`.

use super::answer::{Finding, Findings, Holds};
use crate::engine::rules::{
    Rule, rule,
    sentence::{Row, fill},
};
use serde_json::Value;

/// A direction with less critical time, seconds, is not worth a cause.
const MIN_TIME: f64 = 1.0;

/// What follows the sentence of a rule about files.
const OF_THE_TIME: &str =
    ". That is {share:share} of the {critical_time:seconds} of {doing}, at {bw:rate}";

/// What made a job slow, given its rows of `root_causes`, those of `job_facts` with the `causes` that each of them meets, and the critical time of
/// that direction which has most.
pub(super) fn findings(causes: &[Row], others: &[Row], longest: f64) -> Findings {
    let mut findings: Vec<Finding> = grouped(causes)
        .into_iter()
        .filter_map(|(row, logs)| of_files(row, logs))
        .collect();
    findings.extend(others.iter().flat_map(of_others));
    // Those that do not hold by both kinds of interval stand behind, in the order of `root_causes`.
    findings.sort_by(|a, b| {
        let certain = |finding: &Finding| finding.holds == Holds::Certain;
        match (certain(a), certain(b)) {
            (true, true) => b.weight.total_cmp(&a.weight),
            (a, b) => b.cmp(&a),
        }
    });
    let otherwise = match findings.first() {
        Some(finding) if finding.holds == Holds::Certain => None,
        _ if longest < MIN_TIME => {
            Some("too little I/O to judge: no direction has 1 s of critical time")
        }
        Some(_) => Some("nothing stands out for certain"),
        None => Some("nothing stands out"),
    };
    Findings {
        title: "Likely causes".into(),
        findings,
        otherwise: otherwise.map(String::from),
    }
}

/// A row of `root_causes`, which so many logs of the job have.
fn of_files(row: &Row, logs: usize) -> Option<Finding> {
    let (by_windows, by_busy_times) = (row.get("share"), row.get("share_busy"));
    let mut facts = row.clone();
    facts.insert("logs".into(), logs.into());
    for (column, otherwise) in [
        ("share", Value::Null),
        ("share_busy", Value::Null),
        ("subject", "a file without a name".into()),
    ] {
        facts.entry(column).or_insert(otherwise);
    }
    let mut said = facts.clone();
    let share = by_windows.or(by_busy_times)?.clone();
    said.insert("share".into(), share.clone());
    let rule = rule(text(row, "cause"))?;
    let of_logs = match logs {
        1 => String::new(),
        n => format!("; so in {n} logs of the job, this is the one with most time"),
    };
    Some(Finding {
        sentence: format!(
            "{}{}{of_logs}.",
            fill(&rule.sentence, &said),
            fill(OF_THE_TIME, &said)
        ),
        holds: match (by_windows, by_busy_times) {
            (Some(_), Some(_)) => Holds::Certain,
            (Some(_), None) => Holds::ByWindows,
            (None, _) => Holds::ByBusyTimes,
        },
        weight: share.as_f64().unwrap_or(0.0) * number(row, "critical_time"),
        ..finding(rule, facts)
    })
}

/// The causes that a row of `job_facts` meets.
fn of_others(row: &Row) -> Vec<Finding> {
    let causes = row.get("causes").and_then(Value::as_array);
    let met = causes.into_iter().flatten().filter_map(Value::as_object);
    let found = met.filter_map(|met| {
        let rule = rule(text(met, "cause"))?;
        let mut facts = row.clone();
        for column in ["number", "subject"] {
            let value = met.get(column).cloned();
            facts.insert(column.into(), value.unwrap_or_default());
        }
        Some(Finding {
            sentence: fill(&rule.sentence, &facts) + ".",
            weight: number(met, "cost"),
            ..finding(rule, facts)
        })
    });
    found.collect()
}

/// A finding of a rule whose evidence is a row, less what says whose it is.
fn finding(rule: &Rule, mut row: Row) -> Finding {
    let direction = text(&row, "direction").to_string();
    const WHOSE: [&str; 8] = [
        "job_id",
        "log_id",
        "app",
        "start_time",
        "nprocs",
        "direction",
        "cause",
        "causes",
    ];
    row.retain(|column, _| !WHOSE.contains(&column.as_str()));
    Finding {
        rule: rule.name.into(),
        direction: Some(direction),
        sentence: String::new(),
        advice: rule.advice.clone().unwrap_or_default(),
        holds: Holds::Certain,
        weight: 0.0,
        evidence: row.into(),
    }
}

/// Each cause of a direction once: the log with most critical time, and how many logs have it.
fn grouped(causes: &[Row]) -> Vec<(&Row, usize)> {
    let mut groups: Vec<(&Row, usize)> = vec![];
    let key = |row: &Row| {
        let has = |column| row.contains_key(column);
        let (cause, direction) = (row.get("cause").cloned(), row.get("direction").cloned());
        (cause, direction, has("share"), has("share_busy"))
    };
    for cause in causes {
        match groups
            .iter_mut()
            .find(|(known, _)| key(known) == key(cause))
        {
            Some((known, logs)) => {
                *logs += 1;
                if number(cause, "critical_time") > number(known, "critical_time") {
                    *known = cause;
                }
            }
            None => groups.push((cause, 1)),
        }
    }
    groups
}

fn text<'r>(row: &'r Row, column: &str) -> &'r str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &Row, column: &str) -> f64 {
    row.get(column).and_then(Value::as_f64).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: Value) -> Row {
        value.as_object().unwrap().clone()
    }

    /// Windows alone: 0.9 of 20 s; both: 0.6 of 10 s and, with more time, of 40 s. LMT: 0.75 of 40 s.
    #[test]
    fn the_weightiest_cause_comes_first_and_what_is_only_possible_last() {
        let file = json!({"log_id": 1, "direction": "write", "cause": "one_file", "share": 0.9, "critical_time": 20.0, "files": 1, "bw": 1e7,
            "number": 0.5, "subject": "/{subject}"});
        let ost = |critical_time: f64| {
            json!({"direction": "write", "cause": "one_ost", "share": 0.6, "share_busy": 0.75, "critical_time": critical_time, "files": 3, "bw": 2048.0,
                "number": 32.0, "subject": "OST 6 of scratch"})
        };
        let other = json!({"direction": "read", "fs": "scratch", "osts": 2, "own": 1024.0, "others": 4096.0, "others_share": 0.75, "peak": 2048.0,
            "causes": [{"cause": "interference", "cost": 30.0, "number": 1024.0, "subject": "scratch"}, null]});
        let causes = [row(file), row(ost(10.0)), row(ost(40.0))];
        let found = findings(&causes, &[row(other)], 40.0);
        let said: Vec<(&str, f64, &str)> = found
            .findings
            .iter()
            .map(|finding| {
                (
                    finding.rule.as_str(),
                    finding.weight,
                    finding.sentence.as_str(),
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                (
                    "interference",
                    30.0,
                    "Others used its OSTs: while it moved 1.00 KiB (read), the 2 OSTs of scratch moved 4.00 KiB for others, 75 % of all, at 1.00 KiB/s per OST; the highest rate of any OST there is 2.00 KiB/s."
                ),
                (
                    "one_ost",
                    24.0,
                    "3 files, each on a single OST that many processes share: 32 on OST 6 of scratch. That is 60 % of the 40.0 s of writing, at 2.00 KiB/s; so in 2 logs of the job, this is the one with most time."
                ),
                (
                    "one_file",
                    18.0,
                    "/{subject} is the last one in use, with 50 % of the bytes. That is 90 % of the 20.0 s of writing, at 9.54 MiB/s."
                ),
            ]
        );
        let one = json!({"direction": "write", "cause": "one_ost", "share": 0.6, "share_busy": 0.75, "critical_time": 9.0, "files": 1, "bw": 2048.0,
            "number": 32.0, "subject": "OST 6 of scratch"});
        let one = findings(&[row(one)], &[], 9.0);
        assert!(
            one.findings[0]
                .sentence
                .starts_with("one file on a single OST that many processes share: 32 on"),
            "{}",
            one.findings[0].sentence
        );
        assert_eq!(found.findings[2].holds, Holds::ByWindows);
        assert_eq!(found.findings[1].evidence["logs"], 2);
        assert_eq!(found.otherwise, None);
        assert_eq!(
            findings(&causes[..1], &[], 40.0).otherwise.as_deref(),
            Some("nothing stands out for certain")
        );
        assert!(
            findings(&[], &[], 0.5)
                .otherwise
                .unwrap()
                .contains("too little I/O")
        );
    }
}
