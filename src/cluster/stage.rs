//! A stage as an executor runs it: checked, with the readers that the way dropped from its scans, and after the rules that a part of a plan is enough for.

use super::allowed;
use super::connections::Connections;
use super::opaque::OpaqueExec;
use super::stage_figures::TaskFigures;
use crate::engine::for_execution;
use crate::engine::parts::{StoppableExec, compacted, interruptible, with_readers};
use ballista_core::JobId;
use ballista_core::execution_plans::ShuffleWriterExec;
use ballista_core::serde::protobuf::ShuffleWritePartition;
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
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
        // `OpaqueExec` is for the scheduler alone, and the rules of `for_execution` do not see through it.
        let input = input.transform_up(|node| {
            Ok(match node.downcast_ref::<OpaqueExec>() {
                Some(opaque) => Transformed::yes(opaque.input().clone()),
                None => Transformed::no(node),
            })
        });
        let input = with_readers(input.data()?, &context.runtime_env())?;
        let input = for_execution(input, context.session_config().options())?;
        // Ballista's writer of hash partitions compacts views itself.
        let input = match plan.is::<ShuffleWriterExec>() {
            true => compacted(input),
            false => input,
        };
        stoppable(interruptible(input, stop)?, stop)
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    replace_children_if_necessary(plan, inputs)
}

/// The plan, whose leaves end once the flag is set: the task that writes the rows is not given up with the one that has spawned it.
fn stoppable(
    plan: Arc<dyn ExecutionPlan>,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|node| {
        Ok(match node.children().is_empty() {
            true => Transformed::yes(StoppableExec::plan(node, stop)),
            false => Transformed::no(node),
        })
    });
    plan.data()
}

#[cfg(test)]
mod tests {
    use super::super::connect_file::ConnectFile;
    use super::super::distributable::prepare;
    use super::super::session;
    use super::*;
    use crate::engine::parts::{NO_LAKE, for_cluster, runtime, session_state};
    use crate::lake::{CreateOptions, IngestOptions, Lake, Silent};
    use crate::synth::{self, Month};
    use ballista_core::execution_plans::UnresolvedShuffleExec;
    use chrono::TimeDelta;
    use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, MemorySchemaProvider};
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::{ExecutionPlanProperties, displayable};
    use datafusion::prelude::{ParquetReadOptions, SessionContext};

    /// The stages of a statement as executors run them.
    fn stages(sql: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let [logs, root] = ["logs", "lake"].map(|name| directory.path().join(name));
        synth::write(&Month::complete(20, 3), &logs, &|_| ()).unwrap();
        let lake = Lake::create(&root, &CreateOptions::default()).unwrap();
        let options = IngestOptions {
            paths: vec![logs.into()],
            ..IngestOptions::default()
        };
        lake.ingest(&options, &Silent).unwrap();
        let keys = ConnectFile::new("127.0.0.1:1".into(), TimeDelta::days(1)).unwrap();
        let state = session_state(2, None, NO_LAKE, runtime(2, None).unwrap());
        let state = for_cluster(state, 2, |config| session::configure(config, &keys));
        let context = SessionContext::new_with_state(state.clone());
        let catalog = MemoryCatalogProvider::new();
        let schema = Arc::new(MemorySchemaProvider::new());
        catalog.register_schema(NO_LAKE, schema).unwrap();
        let name = &state.config_options().catalog.default_catalog;
        context.register_catalog(name, Arc::new(catalog));
        crate::engine::runtime(Some(2)).unwrap().block_on(async {
            for table in ["darshan_log", "darshan_file"] {
                let path = root.join(table);
                let path = path.to_str().unwrap();
                let read = ParquetReadOptions::default();
                context.register_parquet(table, path, read).await.unwrap();
            }
            let plan = context.sql(sql).await.unwrap();
            let plan = plan.create_physical_plan().await.unwrap();
            let (_, stages) = prepare(plan, &state).unwrap();
            let stop = Arc::default();
            let stages = stages.into_iter().map(|stage| {
                let stage: Arc<dyn ExecutionPlan> = stage;
                // The scheduler puts the files of other stages in their place.
                let resolved = stage.transform_up(|node| {
                    let partitions = node.output_partitioning().partition_count();
                    Ok(match node.is::<UnresolvedShuffleExec>() {
                        true => Transformed::yes(Arc::new(
                            EmptyExec::new(node.schema()).with_partitions(partitions),
                        )),
                        false => Transformed::no(node),
                    })
                });
                let stage = ready(resolved.data().unwrap(), &state.task_ctx(), &stop).unwrap();
                displayable(stage.as_ref()).indent(false).to_string()
            });
            stages.collect()
        })
    }

    #[test]
    fn the_first_of_each_key_is_found_before_the_sort() {
        let shown = stages(
            "SELECT log_id, path FROM (SELECT log_id, path, row_number() OVER (PARTITION BY log_id ORDER BY bytes_written DESC) AS place FROM darshan_file) WHERE place = 1",
        );
        assert!(shown.contains("TopOfRunsExec"), "{shown}");
    }

    #[test]
    fn rows_are_written_with_their_own_text_alone() {
        let shown = stages("SELECT path FROM darshan_file WHERE bytes_written > 1000000000");
        let mut lines = shown.lines().map(str::trim_start);
        assert!(
            lines.next().unwrap().starts_with("ShuffleWriterExec"),
            "{shown}"
        );
        assert!(
            lines.next().unwrap().starts_with("CompactBatchesExec"),
            "{shown}"
        );
    }

    #[test]
    fn keys_of_a_build_side_that_was_sent_bound_the_scan_of_the_probe_side() {
        let shown = stages(
            "SELECT l.app, count(*) FROM darshan_log l JOIN darshan_file f ON l.start_time = f.write_start_time WHERE l.nprocs > 64 GROUP BY l.app",
        );
        assert!(shown.contains("KeyBoundsExec"), "{shown}");
        assert!(!shown.contains("OpaqueExec"), "{shown}");
    }
}
