//! A union of inputs whose rows lie in partitions alike.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use std::fmt::Formatter;
use std::sync::Arc;

/// Partition i has the rows of partition i of each input, as those of DataFusion's `InterleaveExec`.
///
/// That node looks again whether its inputs are partitioned alike whenever it is rebuilt, which they do not say any more where a task has some of their partitions. The
/// scheduler gives a task the same partitions of all inputs of a node, so this one need not look; and as it is no `UnionExec`, whose inputs' partitions stand one behind
/// the other, its inputs need no stages of their own.
#[derive(Debug)]
pub(crate) struct AlignedUnionExec {
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

impl AlignedUnionExec {
    /// Of these inputs.
    ///
    /// # Errors
    /// If there are none, or they differ in their columns or numbers of partitions.
    pub(crate) fn plan(inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let union = UnionExec::try_new(inputs.clone())?;
        let mut partitionings = inputs.iter().map(|input| input.output_partitioning());
        let Some(first) = partitionings.next() else {
            return exec_err!("a union without inputs");
        };
        let partitions = first.partition_count();
        let mut partitioning = first.clone();
        for other in partitionings {
            if other.partition_count() != partitions {
                return exec_err!("a union of inputs with different numbers of partitions");
            }
            if other != first {
                partitioning = Partitioning::UnknownPartitioning(partitions);
            }
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(union.schema()),
            partitioning,
            union.properties().emission_type,
            union.properties().boundedness,
        );
        Ok(Arc::new(Self {
            inputs,
            properties: Arc::new(properties),
        }))
    }
}

impl DisplayAs for AlignedUnionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedUnionExec")
    }
}

impl ExecutionPlan for AlignedUnionExec {
    fn name(&self) -> &str {
        "AlignedUnionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Self::plan(children)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.inputs.iter();
        let rows = rows.map(|input| input.execute(partition, context.clone()));
        let rows = futures::stream::select_all(rows.collect::<Result<Vec<_>>>()?);
        let rows = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(Box::pin(rows))
    }

    fn child_stats_requests(&self, _: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::Skip; self.inputs.len()]
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }
}
