//! The accounting of the month, as somebody dumps it with sacct day after day.
//!
//! Every job whose logs have an id of Slurm's has a record; a quarter of all jobs left no log. A dump is made at midnight
//! of the day that it is about, UTC (its times are those of the site's zone), and shows each job that waited or ran that day as it is then: a job that runs past
//! midnight is RUNNING in one dump and COMPLETED in the next. The first half of the month is `sacct -P`, the second half
//! `sacct --json`.
//!
//! Ids rise with the start of jobs. Slurm gives an array's id before those of its tasks; here the last task has the highest
//! one, for ids of jobs with logs are what they are without accounting.

mod job;
mod json;
mod nodes;
mod record;
mod text;

use super::lmt::load::{Load, without_log};
use super::lmt::span::Span;
use super::month::{DAY, Month};
use super::scenario::job as any_job;
use super::scenario::job::FIRST_ID;
use super::scenario::plan::Plan;
use super::site::CLUSTER;
use crate::math::random::mix;
use chrono::DateTime;
use job::Task;
use record::{Record, State};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Start and end of each log of a job, seconds since 1970.
pub(crate) type RunTimes = Vec<(f64, f64)>;

/// A job with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Job with logs.
    Logged(u64),
    /// Job without, by its block of ids.
    Alone(u64),
    /// Job with the id of a process, by the job of the month that is this process.
    Trap(u64),
}

/// The jobs that have records in the accounting. Records are generated on demand.
pub(crate) struct Accounting {
    plan: Plan,
    run_times: Vec<RunTimes>,
    tasks: HashMap<u64, Task>,
    entries: Vec<Entry>,
    /// Entries by the days whose dumps have them.
    days: Vec<Vec<Entry>>,
}

/// Seconds from the first task of an array to the last.
const ARRAY: i64 = 5 * DAY;

impl Accounting {
    /// The accounting of jobs whose logs ran at these times: those of the month, then neighbours.
    pub(crate) fn new(month: &Month, run_times: Vec<RunTimes>) -> Self {
        let plan = Plan::new(*month);
        let tasks = arrays(&plan, &run_times);
        let mut entries = vec![];
        let mut trapped = false;
        for index in 0..run_times.len() as u64 {
            if any_job(&plan, index).job_id >= FIRST_ID {
                entries.push(Entry::Logged(index));
            } else if !trapped {
                trapped = true;
                entries.push(Entry::Trap(index));
            }
            if index < plan.month.jobs && job::alone(&plan, index).is_some() {
                entries.push(Entry::Alone(index));
            }
        }
        let mut accounting = Self {
            plan,
            run_times,
            tasks,
            days: vec![vec![]; month.days as usize],
            entries,
        };
        for entry in accounting.entries.clone() {
            let records = accounting.records(entry);
            for (day, entries) in (0..).zip(&mut accounting.days) {
                let from = month.start + day * DAY;
                if records.iter().any(|record| record.seen(from, from + DAY)) {
                    entries.push(entry);
                }
            }
        }
        accounting
    }

    fn records(&self, entry: Entry) -> Vec<Record> {
        match entry {
            Entry::Logged(index) => {
                let job = any_job(&self.plan, index);
                let run_times = &self.run_times[index as usize];
                job::logged(&self.plan, &job, run_times, self.tasks.get(&index))
            }
            Entry::Alone(block) => job::alone(&self.plan, block).unwrap_or_default(),
            Entry::Trap(index) => vec![job::trap(&self.plan, &any_job(&self.plan, index))],
        }
    }

    /// The loads of the jobs without logs on the servers.
    pub(crate) fn loads(&self, span: &Span) -> Vec<Load> {
        let is_alone = |entry: &&Entry| matches!(entry, Entry::Alone(_));
        let alone = self.entries.iter().filter(is_alone);
        let mut loads = vec![];
        for record in alone.flat_map(|entry| self.records(*entry)) {
            if let Some(start) = record.start {
                let end = record.end.unwrap_or(self.plan.month.end());
                loads.extend(without_log(span, record.id, start, end));
            }
        }
        loads
    }

    /// Name of the dump of a day.
    pub(crate) fn name(&self, day: i64) -> String {
        let month = self.plan.month;
        let date = DateTime::from_timestamp(month.start + day * DAY, 0).unwrap_or_default();
        let end = if self.is_text(day) { "psv" } else { "json" };
        format!("sacct_{}.{end}", date.format("%Y-%m-%d"))
    }

    /// Whether the dump of a day is text rather than JSON.
    fn is_text(&self, day: i64) -> bool {
        day < self.plan.month.days / 2
    }

    /// Text of the dump of a day.
    pub(crate) fn dump(&self, day: i64) -> String {
        let from = self.plan.month.start + day * DAY;
        let to = from + DAY;
        let entries = self.days[day as usize].iter();
        let records = entries.flat_map(|entry| self.records(*entry));
        let shown = (records.filter(|record| record.seen(from, to))).filter_map(|r| r.at(to));
        if self.is_text(day) {
            let mut text = format!("{}\n", text::HEADER);
            shown.for_each(|record| text::write(&record, to, &mut text));
            return text;
        }
        let mut text = json::HEAD.to_string();
        for (at, record) in shown.enumerate() {
            text += if at > 0 { ",\n" } else { "" };
            text += &json::job(&record, to).to_string();
        }
        text + &json::tail(from, to)
    }

    /// The part of `truth.json`.
    pub(crate) fn truth(&self) -> Value {
        let end = self.plan.month.end();
        let mut states: BTreeMap<&str, (u64, Vec<i64>)> = BTreeMap::new();
        let mut arrays: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
        let (mut het, mut requeued, mut suspended, mut odd) = (vec![], vec![], vec![], vec![]);
        let (mut jobs, mut without, mut records, mut steps) = (0u64, 0, 0, 0);
        for entry in &self.entries {
            let all = self.records(*entry);
            let shown: Vec<Record> = all.iter().filter_map(|record| record.at(end)).collect();
            // A task of an array that waits is told of with the others.
            if shown.is_empty() {
                continue;
            }
            jobs += 1;
            without += u64::from(!matches!(entry, Entry::Logged(_)));
            records += shown.len() as u64;
            for record in &shown {
                steps += record.steps.len() as u64;
                let (count, ids) = states.entry(record.state.name()).or_default();
                *count += 1;
                if record.state != State::Completed {
                    ids.push(record.id);
                }
                if let Some((array, task)) = record.array {
                    let task = json!({"job_id": record.id, "shown": record.shown(), "task": task});
                    arrays.entry(array).or_default().push(task);
                }
                requeued.extend((record.state == State::Requeued).then_some(record.id));
                suspended.extend((record.suspended > 0).then_some(record.id));
                let is_odd = record.name.contains(['|', '\n']);
                odd.extend(is_odd.then_some(record.id));
            }
            if let [leader, component] = &shown[..]
                && leader.het.is_some()
            {
                het.push(json!({"leader": leader.id, "component": component.id}));
            }
        }
        let outside =
            (0..self.run_times.len() as u64).map(|index| any_job(&self.plan, index).job_id);
        let outside: Vec<i64> = outside.filter(|id| *id < FIRST_ID).collect();
        let state = |(count, ids)| json!({"records": count, "job_ids": ids});
        let states = states.into_iter().map(|(name, all)| (name, state(all)));
        let arrays = arrays.into_iter();
        let arrays = arrays.map(|(id, tasks)| json!({"array_job_id": id, "tasks": tasks}));
        json!({
            "doc": "the accounting when the month is over: a job is counted once, a record for each submission and each \
                component; ids of completed jobs are left out of the states",
            "cluster": CLUSTER,
            "jobs": jobs,
            "jobs_without_log": without,
            "records": records,
            "steps": steps,
            "states": states.collect::<BTreeMap<_, _>>(),
            "arrays": arrays.collect::<Vec<_>>(),
            "het": het,
            "requeued": requeued,
            "suspended": suspended,
            "odd_names": odd,
            "logs_outside": {
                "doc": "ids in logs that are process ids; `also_a_job` is also that of a job of another user at another time",
                "ids": outside,
                "also_a_job": outside.first(),
            },
        })
    }
}

/// The tasks of the arrays of a month, by job: jobs of one user and program that start within some days of one another.
fn arrays(plan: &Plan, run_times: &[RunTimes]) -> HashMap<u64, Task> {
    // Number, start and id of each job.
    type Jobs = Vec<(u64, i64, i64)>;
    let mut open: HashMap<(i64, String), Jobs> = HashMap::new();
    let mut tasks = HashMap::new();
    let mut close = |jobs: Jobs| {
        let [(first, begin, _), .., (last, _, array)] = jobs[..] else {
            return;
        };
        for (number, (index, ..)) in (0..).zip(&jobs) {
            let all = jobs.iter().filter(|_| *index == last);
            let task = Task {
                array,
                number,
                submit: begin - 60 - (first % 4_000) as i64,
                starts: all.map(|(_, start, _)| *start).collect(),
                first,
            };
            tasks.insert(*index, task);
        }
    };
    for index in 0..plan.month.jobs {
        let job = plan.job(index);
        if job.job_id < FIRST_ID || job.scenario.is_some() || job.nprocs > 1024 {
            continue;
        }
        let start = run_times[index as usize][0].0 as i64;
        let key = (job.uid, job.program);
        let begins = mix(plan.month.seed ^ mix(index ^ 0xa44a)).is_multiple_of(12);
        match open.get_mut(&key) {
            Some(jobs) if start - jobs[0].1 <= ARRAY && jobs.len() < 6 => {
                jobs.push((index, start, job.job_id));
            }
            Some(_) => close(open.remove(&key).unwrap_or_default()),
            None if begins => {
                open.insert(key, vec![(index, start, job.job_id)]);
            }
            None => {}
        }
    }
    open.into_values().for_each(close);
    tasks
}

#[cfg(test)]
mod tests;
