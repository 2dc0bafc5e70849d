//! A stage as an executor runs it: checked, with the readers that the way dropped from its scans, and after the rules that a part of a plan is enough for.

use super::allowed;
use super::connections::Connections;
use super::stage_figures::TaskFigures;
use crate::engine::for_execution;
use crate::engine::parts::{interruptible, with_readers};
use ballista_core::JobId;
use ballista_core::serde::protobuf::ShuffleWritePartition;
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine};
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes stages ready to run.
pub(crate) struct StageEngine(DefaultExecutionEngine);

/// What a task is of its stage.
pub(crate) struct TaskPart {
    pub(crate) job: JobId,
    pub(crate) stage: usize,
    pub(crate) task: usize,
    /// Of the stage's output partitions those that the task makes.
    pub(crate) partitions: Vec<usize>,
}

impl StageEngine {
    pub(crate) fn new() -> Self {
        let connections = Arc::new(Connections::default());
        Self(DefaultExecutionEngine::with_client_pool(connections))
    }

    /// Runs a task, which writes its shuffle files into `work_dir`: these, and what it has read and written. It ends soon after `stop` is set.
    ///
    /// # Errors
    /// If the plan is not allowed, and those of the query.
    pub(crate) async fn run(
        &self,
        part: TaskPart,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        context: Arc<TaskContext>,
        stop: &Arc<AtomicBool>,
    ) -> Result<(Vec<ShuffleWritePartition>, TaskFigures)> {
        let task = part.task;
        let plan = ready(plan, &context, stop)?;
        let stage = self.0.create_query_stage_exec(
            part.job,
            part.stage,
            part.task,
            part.partitions,
            plan,
            work_dir,
            context.session_config(),
        )?;
        let written = stage.execute_query_stage(task, context).await?;
        let mut figures = TaskFigures::of_scans(&stage.collect_plan_metrics());
        for partition in &written {
            figures.rows += partition.num_rows;
            figures.bytes += partition.num_bytes;
        }
        Ok((written, figures))
    }
}

/// A stage as it runs: allowed, with the readers of its scans, and after the rules for a part of a plan.
fn ready(
    plan: Arc<dyn ExecutionPlan>,
    context: &TaskContext,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<dyn ExecutionPlan>> {
    allowed::check(&plan)?;
    let inputs = plan.children().into_iter().cloned();
    let inputs = inputs.map(|input| {
        let input = with_readers(input, &context.runtime_env())?;
        let input = for_execution(input, context.session_config().options())?;
        interruptible(input, stop)
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    replace_children_if_necessary(plan, inputs)
}
