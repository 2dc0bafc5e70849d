//! A stage of a plan that runs on a cluster, as EXPLAIN shows it.

use super::jobs::JobOsts;
use super::members::ExecutorStatus;
use super::stage_figures::StageFigures;
use crate::text::ranges;
use ballista_core::execution_plans::ShuffleWriter;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::metrics::{Count, Metric, MetricValue, MetricsSet};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Formatter;
use std::sync::{Arc, Mutex, PoisonError};

/// What the stages of a job have done, once it has ended, by their numbers.
pub(crate) type Figures = Arc<Mutex<BTreeMap<usize, StageFigures>>>;

/// A stage: it is shown and does not run in this process.
#[derive(Debug)]
pub(crate) struct StageExec {
    number: usize,
    plan: Arc<dyn ExecutionPlan>,
    /// How its rows lie for the next stage, if not as they come.
    shuffle: Option<Partitioning>,
    /// Owners of the OSTs of its partitions: address, OSTs and partitions.
    owners: Vec<(String, BTreeSet<u64>, Vec<u64>)>,
    figures: Figures,
}

impl StageExec {
    /// The stage below this node, which writes its rows; `osts` of the plan's files and their owners among `executors`.
    pub(crate) fn plan(
        writer: &dyn ShuffleWriter,
        osts: &JobOsts,
        executors: &[ExecutorStatus],
        figures: Figures,
    ) -> Option<Arc<dyn ExecutionPlan>> {
        let plan: Arc<dyn ExecutionPlan> = (*writer.children().first()?).clone();
        let mut owners: BTreeMap<&str, (BTreeSet<u64>, Vec<u64>)> = BTreeMap::new();
        for (partition, ost) in osts.of_partitions(&plan).into_iter().enumerate() {
            let owner = ost.and_then(|ost| osts.owners.get(&ost));
            let owner = owner.and_then(|owner| executors.iter().find(|of| of.id == *owner));
            if let Some(owner) = owner {
                let (osts, partitions) = owners.entry(&owner.address).or_default();
                osts.extend(ost.and_then(|ost| u64::try_from(ost).ok()));
                partitions.push(partition as u64);
            }
        }
        let owners = owners.into_iter();
        Some(Arc::new(Self {
            number: writer.stage_id(),
            shuffle: writer.shuffle_output_partitioning().cloned(),
            owners: owners
                .map(|(address, (osts, partitions))| (address.to_string(), osts, partitions))
                .collect(),
            plan,
            figures,
        }))
    }

    fn done(&self) -> Option<StageFigures> {
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.get(&self.number).cloned()
    }
}

impl DisplayAs for StageExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let partitions = self.plan.output_partitioning().partition_count();
        write!(
            f,
            "StageExec: stage={}, partitions={partitions}",
            self.number
        )?;
        if let Some(shuffle) = &self.shuffle {
            write!(f, ", shuffle={shuffle}")?;
        }
        if !self.owners.is_empty() {
            let owners = self.owners.iter();
            let owners = owners.map(|(address, osts, partitions)| {
                let osts: Vec<u64> = osts.iter().copied().collect();
                let (osts, partitions) = (ranges(&osts), ranges(partitions));
                format!("{address}: OST {osts}, partitions {partitions}")
            });
            let owners: Vec<String> = owners.collect();
            write!(f, ", owners=[{}]", owners.join("; "))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for StageExec {
    fn name(&self) -> &str {
        "StageExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a stage of a cluster does not run in the client")
    }

    /// What its tasks have read and written, once the job has ended.
    fn metrics(&self) -> Option<MetricsSet> {
        let done = self.done()?;
        let mut metrics = MetricsSet::new();
        let mut push = |name: &'static str, value: u64| {
            let count = Count::new();
            count.add(value as usize);
            let name = name.into();
            metrics.push(Arc::new(Metric::new(
                MetricValue::Count { name, count },
                None,
            )));
        };
        push("tasks", done.tasks);
        push("elapsed_ms", done.ended.saturating_sub(done.began));
        push("task_ms", done.task_ms);
        if done.bytes_scanned > 0 {
            push("rows_scanned", done.rows_scanned);
            push("bytes_scanned", done.bytes_scanned);
            if !self.owners.is_empty() {
                push(
                    "percent_read_by_owners",
                    done.bytes_of_owners * 100 / done.bytes_scanned,
                );
            }
        }
        push("rows_written", done.rows);
        push("bytes_written", done.bytes);
        Some(metrics)
    }
}
