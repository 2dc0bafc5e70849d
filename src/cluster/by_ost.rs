//! Which tasks an executor gets: those whose files lie on its own OSTs, after a short wait those of others.
//!
//! A task has several partitions of a stage, one for each free core of its executor, or up to four while many are left. Of its own OSTs it gets those that fewest tasks
//! of the stage read at the moment, so that the OSTs of an executor end at about the same time.

use super::jobs::Jobs;
use super::members::Members;
use super::stage_figures::now;
use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::config::BallistaConfig;
use ballista_core::execution_plans::ShuffleReaderExec;
use ballista_core::serde::protobuf::{AvailableVcores, job_status, task_status};
use ballista_core::serde::scheduler::TaskKey;
use ballista_scheduler::cluster::{BoundTask, DistributionPolicy};
use ballista_scheduler::state::execution_graph::{TaskDescription, create_task_info};
use ballista_scheduler::state::execution_stage::RunningStage;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a partition waits for a free core of the executor that owns its OST, counted from the last task that such an executor took.
const WAIT: Duration = Duration::from_secs(1);

/// At most so many partitions of a task for each core.
const MOST_PER_CORE: usize = 4;

/// Hands out tasks by the OSTs of their files.
#[derive(Debug, Default)]
pub(crate) struct ByOst {
    jobs: Arc<Jobs>,
    members: Arc<Members>,
    /// Stages that were looked at, by job and number.
    stages: Mutex<HashMap<(String, usize), Stage>>,
}

/// A stage.
#[derive(Debug)]
struct Stage {
    /// The OST of each partition.
    osts: Vec<Option<i64>>,
    /// When an executor last took partitions of its own.
    last: Instant,
}

/// What an executor is given of a stage.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    partitions: Vec<usize>,
    by_owner: bool,
}

#[async_trait]
impl DistributionPolicy for ByOst {
    async fn bind_tasks(
        &self,
        budgets: Vec<&mut AvailableVcores>,
        running_jobs: Arc<HashMap<JobId, JobInfoCache>>,
    ) -> datafusion::common::Result<Vec<BoundTask>> {
        let mut bound = vec![];
        self.forget_ended(&running_jobs);
        for budget in budgets {
            for (id, job) in running_jobs.iter() {
                if !matches!(job.status, Some(job_status::Status::Running(_))) {
                    continue;
                }
                let mut graph = job.execution_graph.write().await;
                let session = graph.session_id().to_string();
                let mut seen = vec![];
                while budget.vcores > 0
                    && let Some(stage) = graph.fetch_running_stage(&seen)
                {
                    seen.push(stage.stage_id);
                    bound.extend(self.bind(id, &session, stage, budget));
                }
            }
        }
        Ok(bound)
    }

    fn name(&self) -> &str {
        "by OST"
    }
}

impl ByOst {
    /// For these jobs and executors.
    pub(crate) fn new(jobs: Arc<Jobs>, members: Arc<Members>) -> Self {
        Self {
            jobs,
            members,
            ..Self::default()
        }
    }

    /// Forgets the stages of jobs that do not run any more.
    fn forget_ended(&self, running_jobs: &HashMap<JobId, JobInfoCache>) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.retain(|(job, _), _| running_jobs.contains_key(&JobId::from(job.clone())));
    }

    /// A task of a stage for the free cores of an executor, if there is one.
    fn bind(
        &self,
        job_id: &JobId,
        session: &str,
        stage: &mut RunningStage,
        budget: &mut AvailableVcores,
    ) -> Option<BoundTask> {
        let mut jobs = self.jobs.lock();
        let job = self.jobs.noted(&mut jobs, job_id.as_str(), session)?;
        let pending = stage.pending.next_slice(usize::MAX);
        let is_whole = is_whole(&stage.plan);
        let given = {
            let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (job_id.to_string(), stage.stage_id);
            let known = stages.entry(key).or_insert_with(|| Stage {
                osts: job.osts.of_partitions(&stage.plan.children()[0].clone()),
                last: Instant::now(),
            });
            let readers = readers(stage, &known.osts);
            let is_own = |ost| job.osts.owners.get(&ost) == Some(&budget.executor_id);
            let cores = budget.vcores as usize;
            let per_core = known.per_core(&pending, is_own, [cores, self.members.cores()]);
            let most = match is_whole {
                true => usize::MAX,
                false => at_most(stage).min(cores * per_core),
            };
            let mut given = known.give(&pending, &readers, is_own, most, WAIT);
            // Who gets a part of what must not be divided gets all.
            if is_whole && !given.partitions.is_empty() && given.partitions.len() < pending.len() {
                given = Given {
                    partitions: pending.clone(),
                    by_owner: false,
                };
            }
            if given.by_owner {
                known.last = Instant::now();
            }
            given
        };
        let left = pending.into_iter();
        let left = left.filter(|partition| !given.partitions.contains(partition));
        stage.pending.reschedule(left);
        if given.partitions.is_empty() {
            return None;
        }
        let cores = match is_whole {
            // One thread has it all.
            true => 1,
            false => budget.vcores.min(given.partitions.len() as u32),
        };
        let task_id = stage.task_infos.len();
        job.executors.insert(budget.executor_id.clone());
        let figures = job.stages.entry(stage.stage_id).or_default();
        if figures.began == 0 {
            figures.began = now();
        }
        if given.by_owner {
            job.by_owners.insert((stage.stage_id, task_id));
        }
        budget.vcores -= cores;
        Some(note(
            job_id,
            session,
            stage,
            budget,
            given.partitions,
            cores,
        ))
    }
}

impl Stage {
    /// Partitions that a task gets for each free core. Several share the cost of a task, some 7 ms of CPU time; towards the end of a stage it is one, so that all cores
    /// have work.
    ///
    /// `cores` are those free cores, and those of all executors.
    fn per_core(
        &self,
        pending: &[usize],
        is_own: impl Fn(i64) -> bool,
        cores: [usize; 2],
    ) -> usize {
        let ost = |partition: &usize| self.osts.get(*partition).copied().flatten();
        let placed: Vec<i64> = pending.iter().filter_map(ost).collect();
        let (for_it, cores) = match placed.is_empty() {
            true => (pending.len(), cores[1]),
            false => (
                placed.into_iter().filter(|ost| is_own(*ost)).count(),
                cores[0],
            ),
        };
        (for_it / (2 * cores.max(1))).clamp(1, MOST_PER_CORE)
    }

    /// Of the pending partitions at most so many for an executor: of its own OSTs and of none, or, if it has no such and owners have taken none for `wait`, of others.
    fn give(
        &self,
        pending: &[usize],
        readers: &BTreeMap<i64, usize>,
        is_own: impl Fn(i64) -> bool,
        most: usize,
        wait: Duration,
    ) -> Given {
        let ost = |partition: usize| self.osts.get(partition).copied().flatten();
        let (own, others): (Vec<_>, Vec<_>) = pending
            .iter()
            .copied()
            .partition(|partition| ost(*partition).is_none_or(&is_own));
        let by_owner = !own.is_empty();
        let mut from = match by_owner {
            true => own,
            false if self.last.elapsed() >= wait => others,
            false => vec![],
        };
        let mut readers = readers.clone();
        let mut partitions = vec![];
        while partitions.len() < most && !from.is_empty() {
            // The first of those with fewest readers.
            let read_by = |partition: usize| {
                let ost = ost(partition);
                ost.map_or(0, |ost| readers.get(&ost).copied().unwrap_or(0))
            };
            let places = 0..from.len();
            let Some(at) = places.min_by_key(|at| read_by(from[*at])) else {
                break;
            };
            let partition = from.remove(at);
            if let Some(ost) = ost(partition) {
                *readers.entry(ost).or_default() += 1;
            }
            partitions.push(partition);
        }
        partitions.sort_unstable();
        Given {
            partitions,
            by_owner,
        }
    }
}

/// How many partitions of each OST are read at the moment.
fn readers(stage: &RunningStage, osts: &[Option<i64>]) -> BTreeMap<i64, usize> {
    let running = |status: &task_status::Status| matches!(status, task_status::Status::Running(_));
    let tasks = stage.task_infos.iter();
    let tasks = tasks.filter(|task| running(&task.task_status));
    let partitions = tasks.flat_map(|task| &task.global_input_partition_ids);
    let mut readers = BTreeMap::new();
    for ost in partitions.filter_map(|partition| osts.get(*partition).copied().flatten()) {
        *readers.entry(ost).or_default() += 1;
    }
    readers
}

/// How many partitions a task may have.
fn at_most(stage: &RunningStage) -> usize {
    let options = stage.session_config.options();
    let ballista = options.extensions.get::<BallistaConfig>();
    let most = ballista.map(BallistaConfig::max_partitions_per_task);
    most.filter(|most| *most > 0).unwrap_or(usize::MAX)
}

/// Whether one task must have all partitions of a stage: a node of it brings them into one.
fn is_whole(stage: &Arc<dyn ExecutionPlan>) -> bool {
    let input = |node: &Arc<dyn ExecutionPlan>| match node.children()[..] {
        [input] => Some(input.clone()),
        _ => None,
    };
    std::iter::successors(input(stage), input)
        .take_while(|node| !node.is::<ShuffleReaderExec>())
        .any(|node| node.output_partitioning().partition_count() == 1)
}

/// Notes the task in its stage, as Ballista's own policies do, and describes it.
fn note(
    job_id: &JobId,
    session: &str,
    stage: &mut RunningStage,
    budget: &AvailableVcores,
    partitions: Vec<usize>,
    cores: u32,
) -> BoundTask {
    let executor = budget.executor_id.clone();
    let task_id = stage.task_infos.len();
    let failures = |partition: &usize| stage.task_failure_numbers.get(*partition).copied();
    let task_attempt = partitions.iter().filter_map(failures).max().unwrap_or(0);
    let mut info = create_task_info(executor.clone(), task_id);
    info.global_input_partition_ids = partitions.clone();
    info.vcores_consumed = cores;
    stage.task_infos.push(info);
    let task = TaskDescription {
        session_id: session.into(),
        key: TaskKey {
            job_id: job_id.clone(),
            stage_id: stage.stage_id,
            task_id,
        },
        stage_attempt_num: stage.stage_attempt_num,
        task_attempt,
        global_input_partition_ids: partitions,
        vcores_consumed: cores,
        plan: stage.plan.clone(),
        session_config: stage.session_config.clone(),
    };
    (executor, task)
}

#[cfg(test)]
mod tests {
    use super::super::owners::owners;
    use super::super::owners::tests::executors;
    use super::*;

    const RANGES: usize = 1024;

    /// What a full scan did.
    #[derive(Default)]
    struct Scanned {
        /// Partitions that each executor read of its own OSTs, and of others.
        own: usize,
        others: usize,
        /// The most tasks that read one OST at a time, in relation to an even share and at least one, before 80 % were read.
        crowding: f64,
    }

    /// A full scan in steps, in each of which every executor reads the partitions of one task, all of equal bytes.
    fn scan(osts: usize, executors_count: usize, cores: usize) -> Scanned {
        let executors = executors(executors_count, cores);
        let stage = Stage {
            osts: (0..RANGES)
                .map(|range| Some((range % osts) as i64))
                .collect(),
            last: Instant::now(),
        };
        let mut bytes = BTreeMap::new();
        for ost in stage.osts.iter().flatten() {
            *bytes.entry(*ost).or_default() += 1u64;
        }
        let owners = owners(&bytes, &executors);
        let mut pending: Vec<usize> = (0..RANGES).collect();
        let mut scanned = Scanned::default();
        while !pending.is_empty() {
            let mut readers = BTreeMap::new();
            let done = RANGES - pending.len();
            for executor in &executors {
                let is_own = |ost: i64| owners[&ost] == executor.id;
                // Who has nothing of its own waits no longer than a task lasts.
                let per_core = stage.per_core(&pending, is_own, [cores, executors_count * cores]);
                let most = cores * per_core;
                let given = stage.give(&pending, &readers, is_own, most, Duration::ZERO);
                for partition in &given.partitions {
                    *readers.entry(stage.osts[*partition].unwrap()).or_default() += 1;
                }
                match given.by_owner {
                    true => scanned.own += given.partitions.len(),
                    false => scanned.others += given.partitions.len(),
                }
                pending.retain(|partition| !given.partitions.contains(partition));
            }
            if done * 10 < RANGES * 8 {
                let all: usize = readers.values().sum();
                let share = (all as f64 / osts as f64).max(1.0);
                let most = *readers.values().max().unwrap() as f64;
                scanned.crowding = scanned.crowding.max(most / share);
            }
        }
        scanned
    }

    #[test]
    fn owners_read_their_osts_and_no_ost_is_crowded() {
        for (osts, executors, cores) in [
            (256, 4, 2),
            (256, 16, 2),
            (256, 64, 2),
            (256, 4, 32),
            (256, 16, 32),
            (248, 4, 2),
            (248, 16, 2),
            (248, 64, 2),
        ] {
            let scanned = scan(osts, executors, cores);
            assert_eq!(scanned.own + scanned.others, RANGES);
            let share = scanned.own as f64 / RANGES as f64;
            assert!(share >= 0.95, "{osts} {executors} {cores}: {share}");
            assert!(
                scanned.crowding <= 1.2,
                "{osts} {executors} {cores}: {}",
                scanned.crowding
            );
        }
    }

    #[test]
    fn a_core_gets_several_partitions_while_many_are_left() {
        let stage = Stage {
            osts: vec![Some(1); 64],
            last: Instant::now(),
        };
        let pending: Vec<usize> = (0..64).collect();
        let per_core = |left, cores| stage.per_core(&pending[..left], |ost| ost == 1, cores);
        assert_eq!(per_core(64, [2, 100]), MOST_PER_CORE);
        assert_eq!(per_core(9, [2, 100]), 2);
        assert_eq!(per_core(7, [2, 100]), 1);
        assert_eq!(stage.per_core(&pending, |_| false, [2, 100]), 1);
        // Those of no OST are for all executors.
        let stage = Stage {
            osts: vec![],
            last: Instant::now(),
        };
        assert_eq!(stage.per_core(&pending, |_| true, [2, 16]), 2);
        assert_eq!(stage.per_core(&pending, |_| true, [2, 64]), 1);
    }

    #[test]
    fn a_stranger_waits_before_it_takes_a_partition() {
        let stage = Stage {
            osts: vec![Some(1), Some(2), None],
            last: Instant::now(),
        };
        let none = BTreeMap::new();
        let mine = |ost| ost == 2;
        let give = |pending: &[usize], wait| stage.give(pending, &none, mine, 2, wait);
        let far = Duration::from_secs(3600);
        assert_eq!(give(&[0, 1, 2], far).partitions, [1, 2]);
        assert_eq!(give(&[0], far), Given::default());
        let stolen = give(&[0], Duration::ZERO);
        assert_eq!((stolen.partitions, stolen.by_owner), (vec![0], false));
    }
}
