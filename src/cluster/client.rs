//! The runner of a session whose large statements run on a cluster.

use super::connect_file::ConnectFile;
use super::control;
use super::distributable::{Stages, prepare};
use super::job::Job;
use super::jobs::JobOsts;
use super::members::{ClusterStatus, ExecutorStatus};
use super::parts::{decode, encode, file_osts};
use super::session;
use super::stage_exec::{Figures, StageExec};
use crate::engine::Runner;
use crate::engine::parts::text_of;
use crate::error::{Error, Result};
use crate::lake::Lake;
use async_trait::async_trait;
use ballista_core::extension::SessionConfigHelperExt;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::exec_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::session_state::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use datafusion::prelude::SessionConfig;
use futures::TryStreamExt;
use std::fmt::Formatter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a statement waits for the first executor of a cluster.
const EXECUTOR_WAIT: Duration = Duration::from_secs(30);

/// A plan whose scans read less than this runs in process, if nothing else is asked for.
const LEAST_BYTES: u64 = 256 << 20;

/// Runs plans on a cluster.
#[derive(Debug)]
pub struct ClusterRunner {
    keys: Arc<ConnectFile>,
    lakes: Vec<(String, PathBuf)>,
    /// None where nobody has said so.
    least_bytes: Option<u64>,
    /// Those that were there when it was last asked for its width.
    executors: Mutex<Vec<ExecutorStatus>>,
    resent: Arc<AtomicUsize>,
}

impl ClusterRunner {
    /// Plans over these lakes whose scans read at least `least_bytes` run on this cluster; by default those that read 256 MiB or more, if the cluster has more cores
    /// than the session has threads.
    pub fn new<'a>(
        keys: ConnectFile,
        lakes: impl IntoIterator<Item = &'a Lake>,
        least_bytes: Option<u64>,
    ) -> Self {
        let lakes = lakes.into_iter().filter_map(|lake| {
            let root = lake.root()?.to_path_buf();
            Some((lake.id().to_string(), root))
        });
        Self {
            keys: Arc::new(keys),
            lakes: lakes.collect(),
            least_bytes,
            executors: Mutex::default(),
            resent: Arc::default(),
        }
    }

    fn executors(&self) -> MutexGuard<'_, Vec<ExecutorStatus>> {
        self.executors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClusterRunner {
    /// The stages of a job as EXPLAIN shows them, the last first.
    fn shown(&self, stages: &Stages, osts: &JobOsts, job: &Job) -> Vec<Arc<dyn ExecutionPlan>> {
        let executors = self.executors();
        let shown = stages.iter().rev().filter_map(|stage| {
            StageExec::plan(stage.as_ref(), osts, &executors, job.figures.clone())
        });
        shown.collect()
    }
}

/// The cluster once it has an executor, all of which read these lakes.
///
/// # Errors
/// [`Error::Unavailable`] if there is none after [`EXECUTOR_WAIT`]; [`Error::Lake`] if one of them does not find the files of a lake.
pub(crate) async fn present(
    keys: &ConnectFile,
    lakes: &[(String, PathBuf)],
) -> Result<ClusterStatus> {
    let begin = Instant::now();
    loop {
        let status = control::status(keys).await;
        let status = status.map_err(|e| Error::Unavailable(e.to_string()))?;
        if !status.executors.is_empty() {
            status
                .executors
                .iter()
                .try_for_each(|of| check(of, lakes))?;
            return Ok(status);
        }
        if begin.elapsed() > EXECUTOR_WAIT {
            return Err(Error::Unavailable(format!(
                "the cluster at {} has no executor; start some with `iolode cluster executor`",
                keys.scheduler
            )));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Refuses an executor that would not find the files of these lakes, by their ids and directories.
fn check(executor: &ExecutorStatus, lakes: &[(String, PathBuf)]) -> Result<()> {
    for (id, root) in lakes {
        let root = root.to_string_lossy();
        let at = executor.lakes.iter().find(|(_, at)| *at == root);
        let has = executor.lakes.iter().any(|(of, _)| of == id);
        let why = match at {
            Some((of, _)) if of == id => continue,
            Some(_) => format!("has another lake at {root}"),
            None if has => {
                let others = executor.lakes.iter().filter(|(of, _)| of == id);
                let others: Vec<&str> = others.map(|(_, at)| at.as_str()).collect();
                format!("reads this lake as {}, not as {root}", others.join(", "))
            }
            None => format!("does not read this lake; start it with --lake {root}"),
        };
        return Err(Error::Lake {
            lake: root.as_ref().into(),
            reason: format!("the executor at {} {why}", executor.address),
        });
    }
    Ok(())
}

#[async_trait]
impl Runner for ClusterRunner {
    fn least_bytes(&self) -> u64 {
        self.least_bytes.unwrap_or(LEAST_BYTES)
    }

    fn least_width(&self, threads: usize) -> usize {
        match self.least_bytes {
            Some(_) => 0,
            None => threads + 1,
        }
    }

    async fn width(&self) -> Result<usize> {
        let status = present(&self.keys, &self.lakes).await?;
        let cores = status.cores();
        *self.executors() = status.executors;
        Ok(cores)
    }

    fn resent(&self) -> usize {
        self.resent.load(Ordering::Relaxed)
    }

    fn configure(&self, config: SessionConfig) -> SessionConfig {
        session::configure(config, &self.keys)
    }

    fn distribute(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        state: &SessionState,
    ) -> std::result::Result<Arc<dyn ExecutionPlan>, String> {
        super::allowed::check(&plan).map_err(|e| text_of(&e))?;
        let rows = plan.clone();
        let (plan, stages) = prepare(plan, state)?;
        let files = file_osts(&plan);
        let osts = JobOsts::new(&plan, files, &self.executors());
        let plan = encode(&plan).map_err(|e| text_of(&e))?;
        // What a node claims of its order is looked at where it arrives.
        decode(&plan, &state.task_ctx()).map_err(|e| text_of(&e))?;
        let job = Job {
            keys: self.keys.clone(),
            plan,
            settings: state.config().to_key_value_pairs(),
            figures: Figures::default(),
            resent: self.resent.clone(),
        };
        Ok(Arc::new(ClusterExec::new(
            rows,
            self.shown(&stages, &osts, &job),
            job,
        )))
    }
}

/// The rows of a plan that runs on a cluster.
#[derive(Debug)]
struct ClusterExec {
    schema: SchemaRef,
    job: Job,
    /// As EXPLAIN shows them.
    stages: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

impl ClusterExec {
    /// `plan` is what the rows are those of.
    fn new(plan: Arc<dyn ExecutionPlan>, stages: Vec<Arc<dyn ExecutionPlan>>, job: Job) -> Self {
        // Several partitions come one after the other, in no order.
        let equivalences = match plan.output_partitioning().partition_count() {
            1 => plan.equivalence_properties().clone(),
            _ => EquivalenceProperties::new(plan.schema()),
        };
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            schema: plan.schema(),
            job,
            stages,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClusterExec: scheduler={}", self.job.keys.scheduler)
    }
}

impl ExecutionPlan for ClusterExec {
    fn name(&self) -> &str {
        "ClusterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    /// The stages, to be shown: they run elsewhere.
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.stages.iter().collect()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> datafusion::common::Result<TreeNodeRecursion>,
    ) -> datafusion::common::Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        _: Arc<TaskContext>,
    ) -> datafusion::common::Result<SendableRecordBatchStream> {
        if partition != 0 {
            return exec_err!("ClusterExec has one partition, not {partition}");
        }
        let rows = futures::stream::once(self.job.clone().rows()).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema.clone(),
            rows,
        )))
    }
}
