//! What the scheduler notes of the jobs that run: who has tasks of them, which OST each partition lies on, what their stages have read and written.

use super::convert_exec::ConvertRangesExec;
use super::members::ExecutorStatus;
use super::owners::owners;
use super::stage_figures::StageFigures;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The OST of each data file that is placed on one, by path.
pub(crate) type FileOsts = HashMap<String, i64>;

/// The jobs that run.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    by_id: Mutex<HashMap<String, Job>>,
    /// Placements of jobs that have no id yet, by the id of their session.
    submitted: Mutex<HashMap<String, Arc<JobOsts>>>,
    /// Jobs that are over, and since when. Ballista may offer tasks of one until it has heard of its end.
    over: Mutex<HashMap<String, Instant>>,
}

/// By then Ballista has heard of the end of a job.
const HEARD: Duration = Duration::from_secs(60);

/// A job that runs.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Those that were given a task of it.
    pub(crate) executors: HashSet<String>,
    /// Told when one of them is lost.
    pub(crate) lost: Arc<Notify>,
    /// Where its files lie.
    pub(crate) osts: Arc<JobOsts>,
    /// What its stages have done, by their numbers.
    pub(crate) stages: BTreeMap<usize, StageFigures>,
    /// Tasks, by stage and number, that read OSTs of their executor alone.
    pub(crate) by_owners: HashSet<(usize, usize)>,
}

/// The OSTs of a job's files, and who owns them.
#[derive(Debug, Default)]
pub(crate) struct JobOsts {
    files: FileOsts,
    /// Id of the executor of each OST.
    pub(crate) owners: BTreeMap<i64, String>,
}

impl Jobs {
    /// All jobs, for as long as the guard lives.
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<String, Job>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submitted(&self) -> MutexGuard<'_, HashMap<String, Arc<JobOsts>>> {
        let submitted = self.submitted.lock();
        submitted.unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes where the files of a job lie that is about to be submitted in a session. Its tasks may be asked for before its id is known.
    pub(crate) fn submit(&self, session: &str, osts: JobOsts) {
        self.submitted().insert(session.into(), Arc::new(osts));
    }

    fn over(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job, which is noted if it was not; `session` is that in which it was submitted. None if it is over.
    pub(crate) fn noted<'a>(
        &self,
        jobs: &'a mut HashMap<String, Job>,
        id: &str,
        session: &str,
    ) -> Option<&'a mut Job> {
        if self.over().contains_key(id) {
            return None;
        }
        let job = jobs.entry(id.into()).or_default();
        if let Some(osts) = self.submitted().remove(session) {
            job.osts = osts;
        }
        Some(job)
    }

    /// Forgets a job: no task of it is handed out any more.
    pub(crate) fn end(&self, id: &str) {
        let mut jobs = self.lock();
        let mut over = self.over();
        over.retain(|_, since| since.elapsed() < HEARD);
        over.insert(id.into(), Instant::now());
        jobs.remove(id);
    }

    /// Forgets a job that could not be submitted.
    pub(crate) fn forget_session(&self, session: &str) {
        self.submitted().remove(session);
    }
}

impl JobOsts {
    /// Of a plan whose data files lie on these OSTs, for the executors that are there now.
    pub(crate) fn new(
        plan: &Arc<dyn ExecutionPlan>,
        files: FileOsts,
        executors: &[ExecutorStatus],
    ) -> Self {
        let mut bytes = BTreeMap::new();
        bytes_by_ost(plan, &files, &mut bytes);
        Self {
            owners: owners(&bytes, executors),
            files,
        }
    }

    /// The OST of each partition of a plan or stage; None where it reads no placed file.
    pub(crate) fn of_partitions(&self, plan: &Arc<dyn ExecutionPlan>) -> Vec<Option<i64>> {
        of_partitions(plan, &self.files)
    }
}

/// Adds up the bytes of the data files of a plan by their OSTs.
fn bytes_by_ost(plan: &Arc<dyn ExecutionPlan>, osts: &FileOsts, bytes: &mut BTreeMap<i64, u64>) {
    let ranges = plan.downcast_ref::<ConvertRangesExec>();
    if let Some(ost) = ranges.and_then(ConvertRangesExec::ost) {
        *bytes.entry(ost).or_default() += 1;
    }
    for file in scan(plan)
        .into_iter()
        .flat_map(|scan| &scan.file_groups)
        .flat_map(|group| group.files())
    {
        if let Some(ost) = osts.get(file.path().as_ref()) {
            *bytes.entry(*ost).or_default() += file.object_meta.size;
        }
    }
    for input in plan.children() {
        bytes_by_ost(input, osts, bytes);
    }
}

/// The scan of files that a node is.
pub(crate) fn scan(node: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let source: &dyn Any = scan.data_source().as_ref();
    source.downcast_ref()
}

fn of_partitions(node: &Arc<dyn ExecutionPlan>, osts: &FileOsts) -> Vec<Option<i64>> {
    if let Some(ranges) = node.downcast_ref::<ConvertRangesExec>() {
        return vec![ranges.ost(); node.output_partitioning().partition_count()];
    }
    if let Some(scan) = scan(node) {
        let groups = scan.file_groups.iter();
        return groups
            .map(|group| {
                // All files of a range lie on one OST, unless it refused some.
                let placed = group.files().iter().filter_map(|file| {
                    let ost = osts.get(file.path().as_ref())?;
                    Some((file.object_meta.size, *ost))
                });
                placed.max().map(|(_, ost)| ost)
            })
            .collect();
    }
    let inputs = node.children().into_iter();
    let inputs = inputs.map(|input| of_partitions(input, osts));
    if node.is::<UnionExec>() {
        return inputs.flatten().collect();
    }
    let partitions = node.output_partitioning().partition_count();
    let mut here = vec![None; partitions];
    for input in inputs.filter(|input| input.len() == partitions) {
        for (here, of_input) in here.iter_mut().zip(input) {
            *here = here.or(of_input);
        }
    }
    here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_over_is_not_noted_again() {
        let jobs = Jobs::default();
        assert!(jobs.noted(&mut jobs.lock(), "a", "session").is_some());
        jobs.end("a");
        assert!(jobs.noted(&mut jobs.lock(), "a", "session").is_none());
        assert!(jobs.noted(&mut jobs.lock(), "b", "session").is_some());
        assert_eq!(jobs.lock().len(), 1);
    }
}
