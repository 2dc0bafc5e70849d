//! From the rows for which rules hold to findings: which of them are causes, and their order.
//!
//! In: rows of `root_causes`, of `advice` and of the relations of `queries/facts`, as maps from column to value. Out: [`Findings`], those that cost most first. A finding that
//! touches little of the I/O time, or that holds by windows alone, is a note and stands behind. The rules themselves lie in
//! `queries/rules`.

use super::answer::{Finding, Findings, KnownBy};
use crate::engine::rules::sentence::{JsonRow, fill};
use crate::engine::rules::{Facts, Rule, Severity, rule};
use crate::text::amount::share;
use serde_json::Value;

/// Seconds. A job whose slowest process spends less is not worth a cause, and files that cost less are not worth a line.
pub(super) const MIN_TIME: f64 = 1.0;

/// A finding is a note if it touches a smaller part of the I/O time, and costs a smaller part of that of the slowest process, or of the run time if that
/// is less. The second counts what one process does alone, which is little of the time of all.
const MIN_SHARE: f64 = 0.05;

/// What follows the sentence of a rule about files.
const OF_THE_TIME: &str =
    ". That is {share:share} of the {critical_time:seconds} of {doing}, at {bw:rate}";

/// What is known of a job.
pub(super) struct JobEvidence<'a> {
    /// Rows of `root_causes`.
    pub(super) causes: &'a [JsonRow],
    /// Rows of `advice`.
    pub(super) habits: &'a [JsonRow],
    /// Rows of other relations, with the `causes` that each of them meets.
    pub(super) met: Vec<&'a JsonRow>,
    /// I/O time of all processes, s.
    pub(super) io_time: f64,
    /// I/O time of the slowest process, s.
    pub(super) slowest: f64,
    /// Whether damage may have taken records.
    pub(super) is_damaged: bool,
    /// Whether Darshan had no room for some records.
    pub(super) is_partial: bool,
    /// Run time of all logs, s.
    pub(super) run_time: f64,
    /// What a process can save at most in a direction, or in all, s.
    pub(super) at_most: &'a dyn Fn(Option<&str>) -> f64,
    /// Whether the times of some files are those of MPI-IO calls and of others those of POSIX calls, so that no part of their sum means anything.
    pub(super) is_mixed: bool,
    /// How much of the run time processes wait in MPI-IO calls, in words, and what to do, if they do.
    pub(super) waits: Option<(String, &'static str)>,
    /// The logs of the job: those of a group ran side by side.
    pub(super) side_by_side: &'a [Vec<i64>],
}

/// What made a job slow.
pub(super) fn findings(known: &JobEvidence<'_>) -> Findings {
    let mut findings: Vec<Finding> = vec![];
    let of_intervals = grouped(known.causes, &["cause", "direction"]);
    findings.extend(of_intervals.iter().filter_map(|rows| of_files(known, rows)));
    let of_counters = grouped(known.habits, &["rule", "direction"]);
    findings.extend(
        of_counters
            .iter()
            .filter_map(|rows| of_counter(known, rows)),
    );
    let of_met = |row: &&JsonRow| of_met(known, row);
    findings.extend(known.met.iter().flat_map(of_met));
    let covered = covered(&findings);
    findings.retain(|finding| !covered.contains(&key(finding)));
    findings.sort_by(|a, b| {
        let by_cost = |finding: &Finding| finding.cost.unwrap_or(0.0);
        let counted = |finding: &Finding| finding.known_by == KnownBy::Counters;
        let by_cost = by_cost(b).total_cmp(&by_cost(a));
        (!a.is_cause)
            .cmp(&!b.is_cause)
            .then(by_cost)
            // When files were busy says more of where the time went than counters, which cannot tell what of it they cost.
            .then(counted(a).cmp(&counted(b)))
            .then(a.severity.cmp(&b.severity))
    });
    let has_cause = findings.first().is_some_and(|finding| finding.is_cause);
    let is_little = (known.at_most)(None) < MIN_TIME;
    let of_run_time = (known.at_most)(None) / known.run_time;
    let remark = match (has_cause, findings.is_empty()) {
        (true, _) if of_run_time < MIN_SHARE => Some(format!(
            "{} in I/O: no more than that can be saved",
            of_slowest(known, of_run_time)
        )),
        // What to do is said with the causes.
        (true, _) => known.waits.as_ref().map(|(waits, _)| format!("besides, {waits}")),
        _ if is_little && known.is_damaged => {
            Some("what is left of damaged logs is too little to judge".into())
        }
        _ if is_little && known.is_partial => {
            Some("what is known of the log is too little to judge: records are missing".into())
        }
        _ if is_little => Some("too little I/O to judge: no process spends 1 s in it".into()),
        (false, true) if known.is_damaged || known.is_partial => Some(
            "no rule holds for what is left of damaged or partial logs; the cause may be in what is lost"
                .into(),
        ),
        (false, is_empty) => {
            let (nothing, more) = match is_empty {
                true => ("nothing stands out: no rule holds", "no rule holds, but "),
                false => (
                    "no cause is known for 5 % of the I/O time or more",
                    "no cause is known for 5 % of the time in files or more, but ",
                ),
            };
            Some(match &known.waits {
                Some((waits, advice)) => format!("{more}{waits}. {advice}"),
                None if !is_empty && of_run_time < MIN_SHARE => {
                    format!("{nothing}; {} in I/O", of_slowest(known, of_run_time))
                }
                None => nothing.into(),
            })
        }
    };
    Findings {
        title: "Likely causes".into(),
        findings,
        remark,
        more: 0,
    }
}

/// How much of the run time the slowest process spends; of several logs the mean of them, by run time.
fn of_slowest(known: &JobEvidence<'_>, part: f64) -> String {
    let logs: usize = known.side_by_side.iter().map(Vec::len).sum();
    match logs {
        0 | 1 => format!("the slowest process spends {} of the run time", share(part)),
        _ => format!(
            "the slowest process of a log spends {} of its run time, as the mean of all logs,",
            share(part)
        ),
    }
}

fn key(finding: &Finding) -> (String, Option<String>) {
    (finding.rule.clone(), finding.direction.clone())
}

/// Findings that say less of what another one says of the same direction. What is about both directions may say less of what is about one.
fn covered(findings: &[Finding]) -> Vec<(String, Option<String>)> {
    let mut covered = vec![];
    for finding in findings {
        let covers = rule(&finding.rule).map_or(&[][..], |rule| &rule.covers);
        for less in findings.iter().filter(|less| covers.contains(&less.rule)) {
            let same = finding.direction.is_none()
                || less.direction.is_none()
                || less.direction == finding.direction;
            // A note says nothing better than a cause.
            if same && (finding.is_cause || !less.is_cause) {
                covered.push(key(less));
            }
        }
    }
    covered
}

/// Rows of one rule and direction: those of several logs. What holds by one kind of interval stands apart from what holds by both.
fn grouped<'a>(rows: &'a [JsonRow], columns: &[&str]) -> Vec<Vec<&'a JsonRow>> {
    let mut groups: Vec<Vec<&JsonRow>> = vec![];
    let key = |row: &JsonRow| {
        let values: Vec<Option<Value>> =
            columns.iter().map(|name| row.get(*name).cloned()).collect();
        (values, known_by(row))
    };
    for row in rows {
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn known_by(row: &JsonRow) -> KnownBy {
    match (row.contains_key("share"), row.contains_key("share_busy")) {
        _ if row.contains_key("code") => KnownBy::Counters,
        (true, true) => KnownBy::Intervals,
        (true, false) => KnownBy::Windows,
        (false, _) => KnownBy::BusyTimes,
    }
}

/// Of the rows of a rule by log: the one with most cost; what all cost, and the part of the I/O time that they touch.
///
/// Of logs that ran side by side the greatest cost counts, for they wait at the same time.
fn together<'a>(
    known: &JobEvidence<'_>,
    rows: &[&'a JsonRow],
) -> Option<(&'a JsonRow, Option<f64>, Option<f64>)> {
    let cost = |row: &JsonRow| number(row, "cost");
    let first = rows
        .iter()
        .max_by(|a, b| cost(a).unwrap_or(0.0).total_cmp(&cost(b).unwrap_or(0.0)))?;
    let groups = known.side_by_side.iter().filter_map(|group| {
        let of_group = rows.iter().filter(|row| {
            let log = row.get("log_id").and_then(Value::as_i64);
            log.is_some_and(|log| group.contains(&log))
        });
        of_group.filter_map(|row| cost(row)).reduce(f64::max)
    });
    let cost = groups.reduce(|a, b| a + b);
    let hours = rows.iter().filter_map(|row| number(row, "io_hours"));
    let touched = hours.reduce(|a, b| a + b).map(|hours| hours * 3600.0);
    let io_share = touched.filter(|_| known.io_time > 0.0 && !known.is_mixed);
    Some((first, cost, io_share.map(|touched| touched / known.io_time)))
}

/// Rows of `root_causes`.
fn of_files(known: &JobEvidence<'_>, rows: &[&JsonRow]) -> Option<Finding> {
    let (row, cost, io_share) = together(known, rows)?;
    let direction = row.get("direction").and_then(Value::as_str);
    // Nobody saves more than all processes spent there: files may only have been open.
    let spent = rows.iter().filter_map(|row| number(row, "io_hours"));
    let spent = spent.map(|hours| 3600.0 * hours).reduce(|a, b| a + b);
    let cost = cost.map(|cost| cost.min(spent.unwrap_or(f64::INFINITY)));
    if cost.is_some_and(|cost| cost < MIN_TIME) {
        return None;
    }
    let cost = cost.map(|cost| cost.min((known.at_most)(direction)));
    let (by_windows, by_busy_times) = (row.get("share"), row.get("share_busy"));
    let mut facts = row.clone();
    facts.insert("logs".into(), rows.len().into());
    for (column, otherwise) in [
        ("share", Value::Null),
        ("share_busy", Value::Null),
        ("subject", "a file without a name".into()),
    ] {
        facts.entry(column).or_insert(otherwise);
    }
    let mut said = facts.clone();
    said.insert("share".into(), by_windows.or(by_busy_times)?.clone());
    let rule = rule(text(row, "cause"))?;
    let known_by = known_by(row);
    // A file that is only open costs nothing.
    let is_cause = known_by != KnownBy::Windows && matters(known, cost, io_share);
    Some(Finding {
        sentence: format!(
            "{}{}{}",
            fill(&rule.sentence, &said),
            fill(OF_THE_TIME, &said),
            of_logs(rows.len())
        ),
        is_cause,
        known_by,
        cost,
        io_share,
        ..finding(rule, facts)
    })
}

/// Rows of `advice`.
fn of_counter(known: &JobEvidence<'_>, rows: &[&JsonRow]) -> Option<Finding> {
    let (row, cost, io_share) = together(known, rows)?;
    let rule = rule(text(row, "rule"))?;
    let mut facts = row.clone();
    facts.insert("logs".into(), rows.len().into());
    Some(Finding {
        sentence: format!("{}{}", text(row, "sentence"), of_logs(rows.len())),
        // A rule that does not say what it costs is only a hint.
        is_cause: cost.is_some() && matters(known, cost, io_share),
        cost,
        io_share,
        ..finding(rule, facts)
    })
}

fn matters(known: &JobEvidence<'_>, cost: Option<f64>, io_share: Option<f64>) -> bool {
    let of_slowest = cost.map(|cost| cost / slowest_within_run(known));
    let is_large = |part: Option<f64>| part.is_some_and(|part| part >= MIN_SHARE);
    is_large(io_share) || is_large(of_slowest) || io_share.is_none() && !known.is_mixed
}

/// I/O time of the slowest process, which is an estimate where files are shared and may be more than the run time: that, if it is less.
fn slowest_within_run(known: &JobEvidence<'_>) -> f64 {
    match known.run_time > 0.0 {
        true => known.slowest.min(known.run_time),
        false => known.slowest,
    }
}

fn of_logs(logs: usize) -> String {
    match logs {
        1 => String::new(),
        n => format!("; so in {n} logs of the job, this is the one with most time"),
    }
}

/// The causes that a row of another relation meets.
fn of_met(known: &JobEvidence<'_>, row: &JsonRow) -> Vec<Finding> {
    let causes = row.get("causes").and_then(Value::as_array);
    let met = causes.into_iter().flatten().filter_map(Value::as_object);
    let found = met.filter_map(|met| {
        let rule = rule(text(met, "cause"))?;
        let mut facts = row.clone();
        for column in ["number", "subject"] {
            let value = met.get(column).cloned();
            facts.insert(column.into(), value.unwrap_or_default());
        }
        let direction = match rule.facts {
            Facts::Burst => Some("write"),
            _ => row.get("direction").and_then(Value::as_str),
        };
        let cost = number(met, "cost").map(|cost| {
            let at_most = (known.at_most)(direction);
            // Windows end with the last access, before the data is synchronised.
            let windows = number(row, "critical_time").filter(|_| row.contains_key("ost"));
            let beyond = windows.map_or(1.0, |windows| (at_most / windows).max(1.0));
            (cost * beyond).min(at_most)
        });
        Some(Finding {
            sentence: fill(&rule.sentence, &facts),
            known_by: match rule.facts {
                Facts::Job if row.contains_key("ost") => KnownBy::Comparison,
                Facts::Job | Facts::Mdt => KnownBy::Lmt,
                Facts::Nodes => KnownBy::Slurm,
                Facts::Burst | Facts::File => KnownBy::Intervals,
                Facts::Directory | Facts::Counters => KnownBy::Counters,
            },
            is_cause: cost.is_some_and(|cost| cost >= MIN_SHARE * slowest_within_run(known)),
            cost,
            ..finding(rule, facts)
        })
    });
    found.collect()
}

/// A finding of a rule whose evidence is a row, less what says whose it is and what the rule says.
fn finding(rule: &Rule, mut row: JsonRow) -> Finding {
    let direction = row
        .get("direction")
        .and_then(Value::as_str)
        .map(String::from);
    const NO_EVIDENCE: [&str; 17] = [
        "job_id",
        "log_id",
        "app",
        "user",
        "start_time",
        "nprocs",
        "direction",
        "cause",
        "causes",
        "code",
        "rule",
        "severity",
        "cost",
        "io_hours",
        "io_share",
        "sentence",
        "advice",
    ];
    row.retain(|column, _| !NO_EVIDENCE.contains(&column.as_str()));
    Finding {
        rule: rule.name.into(),
        direction,
        severity: rule.severity,
        is_cause: matches!(rule.severity, Severity::Critical | Severity::Warning),
        sentence: String::new(),
        advice: rule.advice.clone().unwrap_or_default(),
        unless: rule.unless.clone().unwrap_or_default(),
        known_by: KnownBy::Counters,
        cost: None,
        io_share: None,
        evidence: row.into(),
    }
}

fn text<'r>(row: &'r JsonRow, column: &str) -> &'r str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &JsonRow, column: &str) -> Option<f64> {
    row.get(column).and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: Value) -> JsonRow {
        value.as_object().unwrap().clone()
    }

    fn found(causes: &[JsonRow], habits: &[JsonRow], others: &[JsonRow], slowest: f64) -> Findings {
        findings(&JobEvidence {
            causes,
            habits,
            met: others.iter().collect(),
            io_time: 3600.0,
            slowest,
            run_time: 600.0,
            is_damaged: false,
            is_partial: false,
            is_mixed: false,
            waits: None,
            at_most: &move |direction| match direction {
                Some(_) if slowest >= MIN_TIME => f64::INFINITY,
                _ => slowest,
            },
            side_by_side: &[vec![1, 2], vec![3]],
        })
    }

    /// Of a run of 600 s 5 % are 30 s, of the 2,000 s that the slowest process is taken to spend 100 s. Its 0.01 process hours are less than 5 % of all.
    #[test]
    fn no_process_spends_more_than_the_run_time() {
        let ost = row(
            json!({"log_id": 3, "direction": "write", "cause": "one_ost", "share": 0.6, "share_busy": 0.75, "critical_time": 40.0, "files": 3,
            "bw": 2048.0, "number": 32.0, "subject": "OST 6 of scratch", "cost": 31.0, "io_hours": 0.01}),
        );
        let is_cause = |cost: f64| {
            let row = JsonRow::from_iter([
                ("cost".into(), cost.into()),
                ("io_hours".into(), 0.01.into()),
            ]);
            let row = ost.clone().into_iter().chain(row).collect();
            found(&[row], &[], &[], 2000.0).findings[0].is_cause
        };
        assert_eq!([31.0, 29.0].map(is_cause), [true, false]);
    }

    /// What holds by windows alone is a note, though it has most time; of logs 1 and 2, which ran side by side, the greater cost counts, and log 3
    /// comes on top.
    #[test]
    fn what_costs_most_comes_first_and_notes_last() {
        let file = json!({"log_id": 1, "direction": "write", "cause": "one_file", "share": 0.9, "critical_time": 200.0, "files": 1, "bw": 1e7,
            "number": 0.5, "subject": "/{subject}", "cost": 180.0, "io_hours": 0.5});
        let ost = |log: i64, cost: f64| {
            json!({"log_id": log, "direction": "write", "cause": "one_ost", "share": 0.6, "share_busy": 0.75, "critical_time": 40.0, "files": 3, "bw": 2048.0,
                "number": 32.0, "subject": "OST 6 of scratch", "cost": cost, "io_hours": 0.25})
        };
        let other = json!({"log_id": 1, "direction": "read", "fs": "scratch", "osts": 2, "own": 1024.0, "others": 4096.0, "others_share": 0.75, "peak": 2048.0,
            "causes": [{"cause": "interference", "cost": 30.0, "number": 1024.0, "subject": "scratch"}, null]});
        let causes = [
            row(file),
            row(ost(1, 9.0)),
            row(ost(2, 24.0)),
            row(ost(3, 2.5)),
        ];
        let all = found(&causes, &[], &[row(other)], 40.0);
        let said = all.findings.iter().map(|finding| {
            (
                finding.rule.as_str(),
                finding.is_cause,
                finding.cost,
                finding.io_share,
                finding.sentence.as_str(),
            )
        });
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                (
                    "interference",
                    true,
                    Some(30.0),
                    None,
                    "Others used its OSTs: while it moved 1.00 KiB (read), the 2 OSTs of scratch moved 4.00 KiB for others, 75 % of all, at 1.00 KiB/s per OST; the highest rate of any OST there is 2.00 KiB/s"
                ),
                (
                    "one_ost",
                    true,
                    Some(26.5),
                    Some(0.75),
                    "3 files, each on a single OST that many processes share: 32 at most on OST 6 of scratch. That is 60 % of the 40.0 s of writing, at 2.00 KiB/s; so in 3 logs of the job, this is the one with most time"
                ),
                (
                    "one_file",
                    false,
                    Some(180.0),
                    Some(0.5),
                    "/{subject} is the last one in use, with 50 % of the bytes. That is 90 % of the 3 min 20 s of writing, at 9.54 MiB/s"
                ),
            ]
        );
        assert_eq!(all.findings[1].evidence["logs"], 3);
        assert_eq!(all.remark, None);
        // 29 s of 600 s, which three logs ran.
        let small = found(&causes[1..2], &[], &[], 29.0);
        assert!(
            small
                .remark
                .unwrap()
                .starts_with("the slowest process of a log spends 4.8 % of its run time, as the mean of all logs, in I/O")
        );
        let only_a_note = found(&causes[..1], &[], &[], 40.0);
        assert_eq!(
            only_a_note.remark.as_deref(),
            Some("no cause is known for 5 % of the I/O time or more")
        );
        let little = found(&[], &[], &[], 0.5);
        assert!(little.remark.unwrap().contains("too little I/O"));
    }

    /// Of 3,600 s of I/O 0.06 h are 6 %, 0.04 h are 4 %; of 40 s of the slowest process 3 s are 7.5 %, 1.9 s are 4.75 %. Metadata operations as most of the I/O time say more than their time by itself.
    #[test]
    fn a_finding_that_touches_less_than_a_twentieth_is_a_note_and_what_another_says_is_left_out() {
        let habit = |rule: &str, direction: Value, hours: f64| {
            row(
                json!({"log_id": 1, "code": "x", "rule": rule, "direction": direction, "severity": "critical", "value": 1.0, "cost": 1.9,
                "io_hours": hours, "sentence": rule}),
            )
        };
        let habits = [
            habit("small_reads", json!("read"), 0.06),
            habit("small_writes", json!("write"), 0.04),
            row(
                json!({"log_id": 1, "code": "x", "rule": "few_aggregators", "cost": 3.0, "io_hours": 0.01, "sentence": "costs 7 % of the slowest process"}),
            ),
            habit("metadata_time", Value::Null, 0.5),
            habit("metadata_bound", Value::Null, 0.5),
        ];
        let all = found(&[], &habits, &[], 40.0);
        let said = all.findings.iter();
        let said: Vec<(&str, bool)> = said
            .map(|finding| (finding.rule.as_str(), finding.is_cause))
            .collect();
        assert_eq!(
            said,
            [
                ("few_aggregators", true),
                ("small_reads", true),
                ("metadata_bound", true),
                ("small_writes", false)
            ]
        );
    }
}
