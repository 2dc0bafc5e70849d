//! The records of one job: those of a job whose logs are there, and those of a job that left none.

use super::nodes;
use super::record::{Limit, Record, State, Step, StepId};
use crate::math::random::{Random, mix};
use crate::synth::scenario::job::{FIRST_ID, Job, USERS, block_id, offset, user};
use crate::synth::scenario::plan::{GOLDEN, Plan};

/// A task of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) array: i64,
    pub(crate) number: i64,
    /// When the array was submitted.
    pub(crate) submit: i64,
    /// Of all tasks, for the last one.
    pub(crate) starts: Vec<i64>,
    /// The job of the first task.
    pub(crate) first: u64,
}

/// The records of a job whose logs have these windows, seconds since 1970. It may be a task of an array.
pub(crate) fn logged(
    plan: &Plan,
    job: &Job,
    windows: &[(f64, f64)],
    task: Option<&Task>,
) -> Vec<Record> {
    let seed = plan.month.seed;
    let random = &mut Random::new(seed ^ 0x51a, job.index);
    let user = (job.user.clone(), job.uid);
    let mut record = blank(job.job_id, user, job.nprocs, random);
    record.nodes = nodes::pick(seed, job.index, record.node_count);
    record.name = name(job, job.index);

    let sruns = sruns(job, windows);
    let (first, last) = (sruns[0].0, sruns[sruns.len() - 1].1);
    let start = first - random.int(1, 9);
    let het = task.is_none() && is_het(plan, job);
    let mut fate = fate(seed, job.index, true);
    if (het || task.is_some()) && fate != State::Failed {
        fate = State::Completed;
    }
    // A serial program may run in the batch step itself.
    let direct = job.nprocs == 1 && mix(job.index ^ seed).is_multiple_of(2);
    record.steps = (sruns.iter().zip(0..).filter(|_| !direct))
        .map(|(window, number)| srun(&record, &job.program, number, *window, random))
        .collect();
    let end = last + random.int(1, 5);
    (record.start, record.end) = (Some(start), Some(end));
    finish(&mut record, fate, &job.program, random);

    if let Some(task) = task {
        record.submit = task.submit;
        record.array = Some((task.array, task.number));
        record.tasks.clone_from(&task.starts);
        record.name = name(job, task.first);
        return vec![record];
    }
    record.submit = start - wait(random);
    match het {
        true => components(record, windows.len()),
        false => once_or_twice(record, fate, random),
    }
}

/// The job without a log whose id is one of those of a block of three, if there is one: a quarter of Slurm's jobs.
pub(crate) fn alone(plan: &Plan, block: u64) -> Option<Vec<Record>> {
    let seed = plan.month.seed;
    let neighbour = plan.job(block);
    let left = unfinished(plan, block);
    let chosen = mix(seed ^ mix(block ^ 0xa10e)).is_multiple_of(3);
    if !(chosen || left.is_some()) || neighbour.job_id >= FIRST_ID && is_het(plan, &neighbour) {
        return None;
    }
    let random = &mut Random::new(seed ^ 0xa10e, block);
    let number = random.below(USERS);
    let nprocs = *random.pick(&[1, 1, 1, 4, 16, 32, 64, 64, 128, 256, 1024, 4096]);
    let id = block_id(block) + (offset(neighbour.job_id, block) + 1) % 3;
    let mut record = blank(id, user(number), nprocs, random);
    // Elsewhere than the job with logs that starts at the same time.
    record.nodes = nodes::pick(seed ^ 1, block + 600, record.node_count);
    const TITLES: &str = "interactive bash wrap build jupyter compress transfer";
    let titles: Vec<&str> = TITLES.split(' ').collect();
    record.name = random.pick(&titles).to_string();
    let start = neighbour.start as i64 + random.int(-600, 600);
    let lasts = random.magnitude(20.0, 50_000.0) as i64;
    if let Some(left) = left {
        return Some(vec![at_the_end(record, plan.month.end(), left, random)]);
    }
    record.submit = start - wait(random);
    let fate = fate(seed, block, false);
    if fate == State::Cancelled(None) && random.chance(0.4) {
        // Before it started.
        record.state = State::Cancelled(Some(record.uid));
        (record.end, record.nodes) = (Some(start), vec![]);
        return Some(vec![record]);
    }
    (record.start, record.end) = (Some(start), Some(start + lasts));
    if random.chance(0.7) {
        let window = (start + 1, start + lasts);
        record.steps = vec![srun(&record, "a.out", 0, window, random)];
    }
    finish(&mut record, fate, "a.out", random);
    Some(once_or_twice(record, fate, random))
}

/// A job with the id that a process elsewhere has as its number, of another user and at another time.
pub(crate) fn trap(plan: &Plan, job: &Job) -> Record {
    let month = plan.month;
    let random = &mut Random::new(month.seed ^ 0x72a9, job.index);
    let other = (job.uid - 20_000) / 7 + 1;
    let user = user(other as u64 % USERS);
    let mut record = blank(job.job_id, user, 32, random);
    record.nodes = nodes::pick(month.seed ^ 2, job.index, record.node_count);
    record.name = "held_for_months".to_string();
    let half = month.days * 86_400 / 2;
    let moved = (job.start as i64 - month.start + half) % (2 * half);
    let start = month.start + moved;
    record.submit = month.start - 60 * 86_400;
    (record.start, record.end) = (Some(start), Some(start + 1_800));
    finish(&mut record, State::Completed, "a.out", random);
    record
}

/// Whether a job that is nothing else has two components: its leader's id must be followed by a free one.
fn is_het(plan: &Plan, job: &Job) -> bool {
    job.scenario.is_none()
        && layout(job.nprocs).0 >= 2
        && offset(job.job_id, job.index) < 2
        && mix(plan.month.seed ^ mix(job.index ^ 0x4e7)).is_multiple_of(16)
}

/// What happens to jobs: shares of those with logs, and of those without, which fail more often: that is why they left
/// none. A job that was put back into the queue or suspended completes later.
const FATES: [(State, f64, f64); 7] = [
    (State::NodeFail, 0.005, 0.012),
    (State::OutOfMemory, 0.008, 0.04),
    (State::Requeued, 0.015, 0.01),
    (State::Suspended, 0.01, 0.01),
    (State::Cancelled(None), 0.025, 0.12),
    (State::Timeout, 0.03, 0.08),
    (State::Failed, 0.06, 0.16),
];

/// What happens to job `index`: dealt evenly, so that small months have some of each.
fn fate(seed: u64, index: u64, logged: bool) -> State {
    let shift = Random::new(seed ^ 0xfa7e, u64::from(logged)).unit();
    let mut at = (index as f64 * GOLDEN + shift).fract();
    for (fate, with, without) in FATES {
        let share = if logged { with } else { without };
        if at < share {
            return fate;
        }
        at -= share;
    }
    State::Completed
}

/// Nodes of a job, CPUs and MiB of each, and the partition: 4 processes on a node for small jobs, as their traces say.
fn layout(nprocs: i64) -> (i64, i64, i64, &'static str) {
    let nodes = |each: i64| (nprocs + each - 1) / each;
    match nprocs {
        ..=16 => (nodes(4), 64, 122_880, "regular"),
        _ if nprocs % 68 == 0 && nprocs % 32 != 0 => (nodes(68), 272, 90_112, "knl"),
        _ => (nodes(32), 64, 122_880, "regular"),
    }
}

/// A record of which only the user and the size are known.
fn blank(id: i64, (user, uid): (String, i64), nprocs: i64, random: &mut Random) -> Record {
    const ACCOUNTS: [&str; 6] = ["astro", "chem", "climate", "fusion", "genomics", "physics"];
    const QOS: [&str; 5] = ["normal", "normal", "normal", "premium", "low"];
    let (count, cpus, memory, partition) = layout(nprocs);
    Record {
        id,
        account: ACCOUNTS[(uid / 7 % 6) as usize],
        dir: format!("/scratch/{user}"),
        user,
        uid,
        partition,
        qos: random.pick::<&'static str>(&QOS),
        limit: Limit::Minutes(30),
        node_count: count,
        cpus_per_node: cpus,
        memory,
        tasks_asked: nprocs,
        ..Record::default()
    }
}

/// Seconds in the queue: heavy-tailed.
fn wait(random: &mut Random) -> i64 {
    random.magnitude(2.0, 40_000.0) as i64
}

/// Name of a job: mostly that of its program and run. A few contain `|` or a line break, which break naive parsers of `sacct -P`.
fn name(job: &Job, index: u64) -> String {
    let program = job.program.trim_end_matches(".py");
    match index % 400 {
        17 | 217 => format!("{program}|case {index}|final"),
        301 => format!("{program}\nsecond line"),
        at if at % 9 == 0 => "run.sh".to_string(),
        _ => format!("{program}_{index:05}"),
    }
}

/// The sruns of a job: one for all logs side by side, else one for each.
fn sruns(job: &Job, windows: &[(f64, f64)]) -> Vec<(i64, i64)> {
    let mut sruns: Vec<(i64, i64)> = vec![];
    for (start, end) in windows {
        let (start, end) = (start.floor() as i64, end.ceil() as i64);
        match sruns.last_mut() {
            Some(one) if job.app.forks => *one = (one.0.min(start), one.1.max(end)),
            _ => sruns.push((start, end)),
        }
    }
    // Darshan starts in MPI_Init and ends in MPI_Finalize.
    let last = sruns.len() - 1;
    (sruns[0].0, sruns[last].1) = (sruns[0].0 - 1, sruns[last].1 + 1);
    sruns
}

/// An srun on all nodes of a record.
fn srun(record: &Record, name: &str, number: i64, window: (i64, i64), random: &mut Random) -> Step {
    Step {
        name: name.to_string(),
        tasks: record.tasks_asked,
        ..step(StepId::Number(number), record, window.0, window.1, random)
    }
}

/// A step on all nodes of a record.
fn step(id: StepId, record: &Record, start: i64, end: i64, random: &mut Random) -> Step {
    let all = record.node_count as usize;
    let (nodes, rss) = match id {
        StepId::Batch => (1, random.int(3_000, 16_000)),
        StepId::Extern => (all, random.int(1_400, 1_700)),
        StepId::Number(_) => {
            // No more than its share of the node.
            let tasks = (record.tasks_asked / record.node_count.max(1)).max(1);
            let most = record.memory as f64 * 1024.0 * 0.9 / tasks as f64;
            (all, random.magnitude(15_000.0, most) as i64)
        }
    };
    Step {
        id,
        name: id.text(),
        state: State::Completed,
        exit: Some((0, 0)),
        start,
        end: Some(end),
        suspended: 0,
        nodes,
        tasks: nodes as i64,
        // Slurm looks every 30 s.
        max_rss: (end - start >= 30).then_some(rss),
    }
}

/// Lets a record that so far is completed end as it should, and adds what Slurm adds: batch and extern steps, the limit.
fn finish(record: &mut Record, fate: State, program: &str, random: &mut Random) {
    let (start, end) = (record.start.unwrap_or(0), record.end.unwrap_or(0));
    let used = (end - start) as f64 / 60.0;
    let minutes = (used * random.float(1.2, 4.0) / 30.0).ceil() as i64 * 30;
    record.limit = match random.int(0, 100) {
        0 => Limit::Unlimited,
        1 => Limit::Partition,
        _ => Limit::Minutes(minutes.max(30)),
    };
    // What goes wrong goes wrong in one more run of the program, which leaves no log: when it is over, and how it and
    // the batch step end.
    (record.state, record.exit) = (fate, (0, 0));
    let killed = (State::Cancelled(None), Some((0, 15)));
    let (mut over, (state, exit)) = match fate {
        State::Failed => {
            record.exit = (1 + start % 3, 0);
            let run = if start % 2 == 0 { 2 + start % 90 } else { 0 };
            (end + run, (fate, Some(record.exit)))
        }
        State::Timeout => {
            let limit = used.ceil() as i64 + 5 + start % 55;
            record.limit = Limit::Minutes(limit);
            (start + limit * 60 + start % 31, killed)
        }
        State::Cancelled(_) => {
            let by = if start % 7 == 0 { 0 } else { record.uid };
            record.state = State::Cancelled(Some(by));
            (end + 20 + start % 3000, killed)
        }
        State::NodeFail => (end + 60 + start % 3000, (State::Cancelled(None), None)),
        State::OutOfMemory => {
            record.exit = (0, 125);
            (end + 5 + start % 600, (fate, Some(record.exit)))
        }
        _ => {
            record.state = State::Completed;
            (end, (State::Completed, Some((0, 0))))
        }
    };
    if over > end {
        let number = record.steps.len() as i64;
        record.steps.push(Step {
            state,
            exit,
            ..srun(record, program, number, (end, over), random)
        });
    }
    if fate == State::Suspended {
        over = over.max(start + 40);
        record.suspended = ((over - start) / 4).min(3_600);
        for step in &mut record.steps {
            step.suspended = (step.end.unwrap_or(over) - step.start).min(record.suspended) / 2;
        }
    }
    record.end = Some(over);
    let batch = Step {
        state,
        exit,
        suspended: record.suspended,
        ..step(StepId::Batch, record, start, over, random)
    };
    // It may be a second late.
    let external = Step {
        suspended: record.suspended,
        ..step(StepId::Extern, record, start, over + start % 2, random)
    };
    record.steps.splice(0..0, [batch, external]);
}

/// A record, and the one before it if the job was put back into the queue.
fn once_or_twice(record: Record, fate: State, random: &mut Random) -> Vec<Record> {
    if fate != State::Requeued {
        return vec![record];
    }
    let start = record.start.unwrap_or(0);
    let put_back = start - random.int(130, 2_000);
    let before = put_back - random.int(20, 3_000);
    let mut first = Record {
        submit: before - wait(random),
        start: Some(before),
        end: Some(put_back),
        state: State::Requeued,
        exit: (0, 0),
        steps: vec![],
        ..record.clone()
    };
    let killed = (StepId::Batch, State::Cancelled(None), 15);
    first.steps = [killed, (StepId::Extern, State::Completed, 0)]
        .map(|(id, state, signal)| Step {
            state,
            exit: Some((0, signal)),
            ..step(id, &first, before, put_back, random)
        })
        .to_vec();
    let second = Record {
        submit: put_back,
        restarts: 1,
        ..record
    };
    vec![first, second]
}

/// The two components of a record: a quarter of the nodes, and the rest. With one log its step spans both; several lie in
/// one component each.
fn components(record: Record, logs: usize) -> Vec<Record> {
    let cut = (record.nodes.len() / 4).max(1);
    let parts = [&record.nodes[..cut], &record.nodes[cut..]];
    let part = |offset: i64| {
        let nodes = parts[offset as usize].to_vec();
        let mut steps = record.steps.clone();
        steps.retain(|step| match step.id {
            StepId::Batch => offset == 0,
            StepId::Extern => true,
            StepId::Number(number) => logs == 1 || number % 2 == offset,
        });
        let share = |tasks: i64| (tasks * nodes.len() as i64 / record.node_count).max(1);
        for step in &mut steps {
            if step.id != StepId::Batch {
                (step.nodes, step.tasks) = (nodes.len(), share(step.tasks));
            }
        }
        Record {
            id: record.id + offset,
            het: Some((record.id, offset)),
            tasks_asked: share(record.tasks_asked),
            node_count: nodes.len() as i64,
            nodes,
            steps,
            ..record.clone()
        }
    };
    vec![part(0), part(1)]
}

/// Jobs at the end of the month that wait or run when it is over.
fn unfinished(plan: &Plan, block: u64) -> Option<u64> {
    let left = plan.month.jobs - 1 - block;
    (left < (2 + plan.month.jobs / 100).min(40)).then_some(left)
}

/// Waits, runs, or is what is left of an array when the month is over.
fn at_the_end(mut record: Record, end: i64, left: u64, random: &mut Random) -> Record {
    let before = random.int(600, 50_000);
    record.submit = end - before - wait(random);
    record.limit = Limit::Minutes(2_880);
    if left.is_multiple_of(4) {
        // It runs until nobody looks any more.
        let start = end - before;
        (record.start, record.state) = (Some(start), State::Running);
        let steps = [StepId::Batch, StepId::Extern, StepId::Number(0)];
        record.steps = (steps.into_iter())
            .map(|id| Step {
                end: None,
                ..step(id, &record, start + i64::from(id == steps[2]), end, random)
            })
            .collect();
    } else {
        (record.state, record.nodes) = (State::Pending, vec![]);
    }
    if left % 4 == 1 {
        record.array = Some((record.id, 9));
        record.waiting = Some("7-9%2".to_string());
    }
    record
}
