//! The dumps of sacct say what was planted, and agree with the logs.

use super::*;
use crate::synth::site::ZONE;
use crate::synth::tests::{LogFacts, written};
use std::collections::BTreeSet;

/// A line of a dump: of a job, or of a step.
#[derive(Clone, Debug)]
struct Row {
    shown: String,
    /// Id of the job.
    id: i64,
    /// Name of the step.
    step: Option<String>,
    uid: Option<i64>,
    user: String,
    state: String,
    submit: i64,
    /// 0 where there is none.
    start: i64,
    end: i64,
    elapsed: i64,
    suspended: i64,
    nodes: i64,
    list: String,
    name: String,
}

fn seconds(text: &str) -> i64 {
    chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S").map_or(0, |time| {
        let local = chrono::TimeZone::from_local_datetime(&ZONE, &time);
        local.single().map_or(0, |time| time.timestamp())
    })
}

/// Rows of text. What does not begin with the cluster belongs to the name before it.
fn text_rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(text::HEADER));
    let mut whole: Vec<String> = vec![];
    for line in lines {
        match whole.last_mut() {
            Some(last) if !line.starts_with("synth|") => *last += &format!("\n{line}"),
            _ => whole.push(line.to_string()),
        }
    }
    let row = |line: &String| {
        let field: Vec<&str> = line.splitn(25, '|').collect();
        let (id, step) = match field[2].split_once('.') {
            Some((id, step)) => (id, Some(step.to_string())),
            None => (field[2], None),
        };
        let clock: Vec<i64> = field[15]
            .split(':')
            .map(|part| part.parse().unwrap())
            .collect();
        Row {
            shown: field[1].to_string(),
            id: id.parse().unwrap(),
            step,
            uid: field[4].parse().ok(),
            user: field[3].to_string(),
            state: field[8].split(' ').next().unwrap().to_string(),
            submit: seconds(field[10]),
            start: seconds(field[12]),
            end: seconds(field[13]),
            elapsed: field[14].parse().unwrap(),
            suspended: clock[0] * 3600 + clock[1] * 60 + clock[2],
            nodes: field[17].parse().unwrap(),
            list: field[20].to_string(),
            name: field[24].to_string(),
        }
    };
    whole.iter().map(row).collect()
}

/// Rows of JSON, from the places where data_parser v0.0.42 has them.
fn json_rows(text: &str) -> Vec<Row> {
    let whole: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        whole["meta"]["plugin"]["data_parser"],
        "data_parser/v0.0.42"
    );
    let mut rows = vec![];
    for job in whole["jobs"].as_array().unwrap() {
        let int = |value: &Value| value.as_i64().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let id = int(&job["job_id"]);
        let array = int(&job["array"]["job_id"]);
        let leader = int(&job["het"]["job_id"]);
        let shown = match (array, leader) {
            (0, 0) => id.to_string(),
            (0, leader) => format!("{leader}+{}", job["het"]["job_offset"]["number"]),
            _ if job["array"]["task_id"]["set"] == false => {
                format!("{array}_[{}]", text(&job["array"]["task"]))
            }
            _ => format!("{array}_{}", job["array"]["task_id"]["number"]),
        };
        let time = &job["time"];
        let row = Row {
            shown: shown.clone(),
            id,
            step: None,
            uid: None,
            user: text(&job["user"]),
            state: text(&job["state"]["current"][0]),
            submit: int(&time["submission"]),
            start: int(&time["start"]),
            end: int(&time["end"]),
            elapsed: int(&time["elapsed"]),
            suspended: int(&time["suspended"]),
            nodes: int(&job["allocation_nodes"]),
            list: text(&job["nodes"]),
            name: text(&job["name"]),
        };
        let steps = job["steps"].as_array().unwrap().iter().map(|step| {
            let (of, name) = step["step"]["id"]
                .as_str()
                .unwrap()
                .split_once('.')
                .unwrap();
            assert_eq!(of, id.to_string());
            Row {
                shown: format!("{shown}.{name}"),
                step: Some(name.to_string()),
                user: String::new(),
                state: text(&step["state"][0]),
                submit: int(&step["time"]["start"]["number"]),
                start: int(&step["time"]["start"]["number"]),
                end: int(&step["time"]["end"]["number"]),
                elapsed: int(&step["time"]["elapsed"]),
                suspended: int(&step["time"]["suspended"]),
                nodes: int(&step["nodes"]["count"]),
                list: text(&step["nodes"]["range"]),
                name: text(&step["step"]["name"]),
                ..row.clone()
            }
        });
        let steps: Vec<Row> = steps.collect();
        rows.push(row);
        rows.extend(steps);
    }
    rows
}

/// Rows of all dumps of the month that the tests share, day by day.
fn days() -> Vec<Vec<Row>> {
    let files = written().files.iter();
    let mut files: Vec<_> = files
        .filter(|(path, _)| path.starts_with("slurm"))
        .collect();
    files.sort_by_key(|(path, _)| path.file_stem());
    let rows = |(path, bytes): (&std::path::PathBuf, &Vec<u8>)| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        match path.extension().unwrap().to_str() {
            Some("json") => json_rows(&text),
            _ => text_rows(&text),
        }
    };
    files.into_iter().map(rows).collect()
}

/// The last that was said of each job and step.
fn last() -> (Vec<Row>, Vec<Row>) {
    let (mut jobs, mut steps) = (BTreeMap::new(), BTreeMap::new());
    for row in days().into_iter().flatten() {
        match row.step.clone() {
            None => jobs.insert((row.id, row.submit), row),
            Some(step) => steps.insert((row.id, step, row.start), row),
        };
    }
    (jobs.into_values().collect(), steps.into_values().collect())
}

#[test]
fn the_dumps_show_the_records_and_states_that_truth_counts() {
    let truth = &written().truth["slurm"];
    let (jobs, steps) = last();
    assert_eq!(truth["records"], jobs.len());
    assert_eq!(truth["steps"], steps.len());
    let mut states: BTreeMap<&str, (u64, Vec<i64>)> = BTreeMap::new();
    for job in &jobs {
        let (count, ids) = states.entry(&job.state).or_default();
        *count += 1;
        ids.push(job.id);
    }
    assert_eq!(states.len(), truth["states"].as_object().unwrap().len());
    for (state, (count, ids)) in states {
        assert_eq!(truth["states"][state]["records"], count, "{state}");
        if state != "COMPLETED" {
            let planted = truth["states"][state]["job_ids"].as_array().unwrap();
            let planted: BTreeSet<i64> = planted.iter().map(|id| id.as_i64().unwrap()).collect();
            assert_eq!(planted, ids.into_iter().collect(), "{state}");
        }
    }
    let planted = |state: &str| truth["states"][state]["records"].as_u64().unwrap_or(0);
    for state in [
        "FAILED",
        "TIMEOUT",
        "CANCELLED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "REQUEUED",
        "PENDING",
        "RUNNING",
    ] {
        assert!(planted(state) > 0, "no job is {state}");
    }
    for list in ["arrays", "het", "requeued", "suspended", "odd_names"] {
        assert!(!truth[list].as_array().unwrap().is_empty(), "{list}");
    }
}

#[test]
fn a_quarter_of_the_jobs_has_no_log_and_every_log_of_slurm_a_job() {
    let truth = &written().truth["slurm"];
    let (jobs, _) = last();
    let logged: BTreeSet<i64> = written().logs.iter().map(|log| log.job_id).collect();
    let leader = |row: &Row| match row.shown.split_once('+') {
        Some((leader, _)) => leader.parse().unwrap(),
        None => row.id,
    };
    let ids: BTreeSet<i64> = jobs.iter().map(leader).collect();
    assert_eq!(truth["jobs"], ids.len());
    let trap = truth["logs_outside"]["also_a_job"].as_i64();
    let without = ids
        .iter()
        .filter(|id| !logged.contains(id) || Some(**id) == trap)
        .count();
    assert_eq!(truth["jobs_without_log"], without);
    let share = without as f64 / ids.len() as f64;
    assert!((0.2..0.3).contains(&share), "{share}");
    let outside: BTreeSet<i64> = logged
        .into_iter()
        .filter(|id| !ids.contains(id) || Some(*id) == trap)
        .collect();
    let planted = truth["logs_outside"]["ids"].as_array().unwrap();
    assert!(!planted.is_empty());
    assert_eq!(
        outside,
        planted.iter().map(|id| id.as_i64().unwrap()).collect()
    );
}

#[test]
fn every_log_lies_in_a_step_of_its_job_of_the_same_user() {
    let (jobs, steps) = last();
    let end = |row: &Row| if row.end == 0 { i64::MAX } else { row.end };
    let holds =
        |row: &Row, log: &LogFacts| row.start as f64 <= log.start && log.end <= end(row) as f64;
    let (mut in_sruns, mut in_batch, mut in_het) = (0, 0, 0);
    for log in &written().logs {
        if log.job_id < FIRST_ID {
            let meets = |row: &&Row| row.id == log.job_id && holds(row, log);
            assert!(jobs.iter().find(meets).is_none(), "{log:?}");
            continue;
        }
        let job = jobs
            .iter()
            .find(|row| row.id == log.job_id && holds(row, log));
        let job = job.unwrap_or_else(|| panic!("no job holds {log:?}"));
        assert!(job.uid.is_none_or(|uid| uid == log.uid), "{log:?}");
        let prefix = format!("{}+", log.job_id);
        let mine = |row: &&Row| {
            (row.id == log.job_id || row.shown.starts_with(&prefix)) && holds(row, log)
        };
        let inside: Vec<&Row> = steps.iter().filter(mine).collect();
        let srun = |row: &&&Row| {
            row.step
                .as_deref()
                .is_some_and(|step| step.parse::<i64>().is_ok())
        };
        match inside.iter().find(srun) {
            Some(step) => {
                let next = step.start as f64 + 2.1 >= log.start;
                assert!(next || log.side_by_side, "{log:?} {step:?}");
                in_sruns += 1;
                in_het += u64::from(step.shown.contains('+'));
            }
            None => {
                assert!(
                    log.nprocs == 1
                        && inside
                            .iter()
                            .any(|row| row.step.as_deref() == Some("batch"))
                );
                in_batch += 1;
            }
        }
    }
    assert!(
        in_sruns > 200 && in_batch > 20 && in_het > 3,
        "{in_sruns} {in_batch} {in_het}"
    );
}

#[test]
fn the_last_task_of_an_array_has_the_id_of_the_array() {
    let (jobs, steps) = last();
    let arrays = written().truth["slurm"]["arrays"].as_array().unwrap();
    let mut whole = 0;
    for array in arrays {
        let id = array["array_job_id"].as_i64().unwrap();
        for task in array["tasks"].as_array().unwrap() {
            let raw = task["job_id"].as_i64().unwrap();
            let row = jobs.iter().find(|row| row.id == raw).unwrap();
            assert_eq!(task["shown"], row.shown.as_str());
            assert!(row.shown.starts_with(&format!("{id}_")), "{row:?}");
            let of = |step: &&Row| step.id == raw;
            assert!(
                steps
                    .iter()
                    .filter(of)
                    .all(|s| s.shown.starts_with(&format!("{}.", row.shown)))
            );
        }
        let last = array["tasks"].as_array().unwrap().last().unwrap();
        assert_eq!(last["job_id"], id);
        whole += usize::from(!last["shown"].as_str().unwrap().contains('['));
    }
    assert!(whole > 0 && whole < arrays.len(), "one is still waiting");
}

#[test]
fn elapsed_is_the_time_between_start_and_end_without_suspension() {
    let month = written().month;
    let mut suspended = 0;
    for (day, rows) in (1..).zip(days()) {
        let now = month.start + day * DAY;
        for row in rows {
            let end = if row.end == 0 { now } else { row.end };
            let expected = if row.start == 0 {
                0
            } else {
                end - row.start - row.suspended
            };
            assert_eq!(row.elapsed, expected, "{row:?}");
            suspended += usize::from(row.suspended > 0);
        }
    }
    assert!(suspended > 0);
}

#[test]
fn node_lists_name_as_many_nodes_as_there_are() {
    for row in days().into_iter().flatten() {
        if row.list == "None assigned" {
            assert!(
                row.state == "PENDING" || row.state == "CANCELLED",
                "{row:?}"
            );
            continue;
        }
        let inside = row.list.strip_prefix("nid").unwrap();
        let inside = inside.trim_start_matches('[').trim_end_matches(']');
        let count = inside.split(',').map(|part| match part.split_once('-') {
            Some((from, to)) => to.parse::<i64>().unwrap() - from.parse::<i64>().unwrap() + 1,
            None => 1,
        });
        assert_eq!(count.sum::<i64>(), row.nodes, "{row:?}");
    }
}

#[test]
fn a_job_that_runs_past_midnight_is_running_first_and_done_the_next_day() {
    let days = days();
    let mut found = 0;
    for pair in days.windows(2) {
        for row in pair[0]
            .iter()
            .filter(|row| row.step.is_none() && row.state == "RUNNING")
        {
            let next = pair[1]
                .iter()
                .find(|next| next.step.is_none() && (next.id, next.submit) == (row.id, row.submit));
            let next = next.unwrap_or_else(|| panic!("gone: {row:?}"));
            assert!(row.end == 0 && next.start == row.start);
            found += usize::from(next.state == "COMPLETED");
        }
    }
    assert!(found > 5, "{found}");
}

#[test]
fn text_and_json_say_the_same_of_a_day() {
    let month = written().month;
    let accounting = Accounting::new(&month, written().windows.clone());
    let to = month.start + 11 * DAY;
    let (mut text, mut json) = (format!("{}\n", text::HEADER), String::from(json::HEAD));
    let records = accounting
        .entries
        .iter()
        .flat_map(|entry| accounting.records(*entry));
    for (at, record) in records.filter_map(|record| record.at(to)).enumerate() {
        text::write(&record, to, &mut text);
        json.push_str(if at > 0 { ",\n" } else { "" });
        json.push_str(&json::job(&record, to).to_string());
    }
    json.push_str(&json::tail(0, 0));
    let (text, json) = (text_rows(&text), json_rows(&json));
    assert_eq!(text.len(), json.len());
    for (text, json) in text.iter().zip(&json) {
        let both = |row: &Row| {
            // A job that waits shows the nodes that it wants in one and those that it has in the other.
            let nodes = if row.start == 0 { 0 } else { row.nodes };
            let times = (row.submit, row.start, row.end, row.elapsed, row.suspended);
            (
                row.shown.clone(),
                row.step.clone(),
                row.state.clone(),
                times,
                nodes,
                row.list.clone(),
                row.name.clone(),
            )
        };
        assert_eq!(both(text), both(json));
        assert_eq!(text.user, json.user);
    }
    assert!(text.iter().any(|row| row.name.contains('|')));
}

#[test]
fn a_name_may_have_a_line_break() {
    let (jobs, _) = last();
    assert!(jobs.iter().any(|job| job.name.contains('\n')));
}

#[test]
fn the_hosts_of_traces_are_nodes_of_the_job() {
    use crate::source::darshan::write::Records;
    let month = written().month;
    let plan = Plan::new(month);
    let accounting = Accounting::new(&month, written().windows.clone());
    let small = (0..month.jobs).filter(|index| plan.job(*index).nprocs <= 16);
    let mut traced = 0;
    for index in small.filter(|index| plan.job(*index).job_id >= FIRST_ID) {
        let records = accounting.records(Entry::Logged(index));
        let nodes: Vec<String> = (records.iter().flat_map(|record| &record.nodes))
            .map(|node| format!("nid{node:05}"))
            .collect();
        for log in month.logs(index) {
            for module in &log.log.modules {
                let Records::Dxt(traces) = &module.records else {
                    continue;
                };
                traced += 1;
                for trace in traces {
                    let host = std::str::from_utf8(&trace.hostname).unwrap();
                    assert!(nodes.iter().any(|node| node == host), "{host} {nodes:?}");
                }
            }
        }
        if traced > 5 {
            return;
        }
    }
    panic!("{traced} logs are traced");
}
