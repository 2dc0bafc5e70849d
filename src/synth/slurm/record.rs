//! A record of the accounting, and how it looks at a moment.

use super::nodes;

/// State of a job or step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum State {
    Pending,
    Running,
    #[default]
    Completed,
    Failed,
    Timeout,
    /// By this user, as far as somebody is named.
    Cancelled(Option<i64>),
    NodeFail,
    OutOfMemory,
    Requeued,
    Suspended,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled(_) => "CANCELLED",
            Self::NodeFail => "NODE_FAIL",
            Self::OutOfMemory => "OUT_OF_MEMORY",
            Self::Requeued => "REQUEUED",
            Self::Suspended => "SUSPENDED",
        }
    }
}

/// Which step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepId {
    Batch,
    Extern,
    /// An srun.
    Number(i64),
}

impl StepId {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Batch => "batch".to_string(),
            Self::Extern => "extern".to_string(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A step of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) id: StepId,
    pub(crate) name: String,
    pub(crate) state: State,
    /// Exit code and signal; none for steps on a node that failed.
    pub(crate) exit: Option<(i64, i64)>,
    pub(crate) start: i64,
    /// None while it runs.
    pub(crate) end: Option<i64>,
    /// Seconds that it was suspended.
    pub(crate) suspended: i64,
    /// Nodes, the first ones of the job's.
    pub(crate) nodes: usize,
    pub(crate) tasks: i64,
    /// KiB; none where Slurm did not look before it was over.
    pub(crate) max_rss: Option<i64>,
}

impl Step {
    /// Seconds that it has run at `now`.
    pub(crate) fn elapsed(&self, now: i64) -> i64 {
        (self.end.unwrap_or(now) - self.start - self.suspended).max(0)
    }
}

/// A record of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) id: i64,
    /// Array and task.
    pub(crate) array: Option<(i64, i64)>,
    /// For the last task of an array, when each task starts: the tasks that wait are one record, with its id.
    pub(crate) tasks: Vec<i64>,
    /// Tasks that wait and that this record stands for: `7-9%2`.
    pub(crate) waiting: Option<String>,
    /// Leader and offset.
    pub(crate) het: Option<(i64, i64)>,
    pub(crate) user: String,
    pub(crate) uid: i64,
    pub(crate) account: &'static str,
    pub(crate) partition: &'static str,
    pub(crate) qos: &'static str,
    pub(crate) name: String,
    pub(crate) dir: String,
    pub(crate) state: State,
    pub(crate) exit: (i64, i64),
    pub(crate) submit: i64,
    /// None if it never started.
    pub(crate) start: Option<i64>,
    /// None while it runs or waits.
    pub(crate) end: Option<i64>,
    pub(crate) suspended: i64,
    pub(crate) limit: Limit,
    /// Nodes by number; none before it starts.
    pub(crate) nodes: Vec<i64>,
    /// Nodes that it asked for.
    pub(crate) node_count: i64,
    pub(crate) cpus_per_node: i64,
    /// MiB of each node.
    pub(crate) memory: i64,
    pub(crate) tasks_asked: i64,
    pub(crate) restarts: i64,
    pub(crate) steps: Vec<Step>,
}

/// Time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limit {
    Minutes(i64),
    Unlimited,
    /// That of the partition.
    #[default]
    Partition,
}

impl Record {
    /// How sacct shows the job: 2, 3_4, 34_[7-9%2], 29+1.
    pub(crate) fn shown(&self) -> String {
        match (self.array, &self.waiting, self.het) {
            (Some((array, _)), Some(waiting), _) => format!("{array}_[{waiting}]"),
            (Some((array, task)), None, _) => format!("{array}_{task}"),
            (None, _, Some((leader, offset))) => format!("{leader}+{offset}"),
            (None, _, None) => self.id.to_string(),
        }
    }

    /// From when on it may start: one that was put back waits for two minutes.
    pub(crate) fn eligible(&self) -> i64 {
        self.submit + 121 * self.restarts
    }

    /// Seconds that it has run at `now`.
    pub(crate) fn elapsed(&self, now: i64) -> i64 {
        let until = self.end.unwrap_or(now) - self.suspended;
        self.start.map_or(0, |start| (until - start).max(0))
    }

    /// Whether a dump of the time `[from, to)` that is made at its end has it.
    pub(crate) fn seen(&self, from: i64, to: i64) -> bool {
        self.submit < to && self.end.is_none_or(|end| end >= from)
    }

    /// What the accounting knows of it at `now`; None if that is nothing yet.
    pub(crate) fn at(&self, now: i64) -> Option<Self> {
        if self.submit > now {
            return None;
        }
        let mut record = self.clone();
        if self.end.is_some_and(|end| end <= now) {
            return Some(record);
        }
        // When it is suspended nobody says until it is over.
        (record.end, record.exit, record.suspended) = (None, (0, 0), 0);
        if record.start.is_none_or(|start| start > now) {
            (record.state, record.start) = (State::Pending, None);
            (record.nodes, record.steps) = (vec![], vec![]);
            if let (Some((array, task)), None) = (record.array, &record.waiting) {
                // Tasks that wait have no ids yet, and are one record.
                if record.id != array {
                    return None;
                }
                let first = self.tasks.iter().position(|start| *start > now);
                let first = first.map_or(task, |at| at as i64);
                record.waiting = Some(match first == task {
                    true => task.to_string(),
                    false => format!("{first}-{task}"),
                });
            }
            return Some(record);
        }
        record.state = State::Running;
        record.steps.retain(|step| step.start <= now);
        for step in &mut record.steps {
            if step.end.is_none_or(|end| end > now) {
                (step.end, step.state, step.exit) = (None, State::Running, Some((0, 0)));
                (step.max_rss, step.suspended) = (None, 0);
            }
        }
        Some(record)
    }

    /// Its nodes as Slurm writes them.
    pub(crate) fn node_list(&self, count: usize) -> String {
        match self.nodes.is_empty() {
            true => "None assigned".to_string(),
            false => nodes::list(&self.nodes[..count.min(self.nodes.len())]),
        }
    }

    /// Trackable resources of so many of its nodes, in the order of sacct, with the numbers that Slurm gives them;
    /// billing for the job and its extern step only.
    pub(crate) fn tres(&self, nodes: i64, billing: bool) -> Vec<(&'static str, i64, i64)> {
        let (cpus, memory) = (nodes * self.cpus_per_node, nodes * self.memory);
        let all = [
            ("billing", 5, cpus),
            ("cpu", 1, cpus),
            ("mem", 2, memory),
            ("node", 4, nodes),
        ];
        match nodes {
            0 => vec![],
            _ => all[usize::from(!billing)..].to_vec(),
        }
    }
}
