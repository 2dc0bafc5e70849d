//! A node that passes its input through and says less of it than is known.

use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use std::fmt::Formatter;
use std::sync::Arc;

/// What is said of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// How its rows lie in partitions, and nothing of their number: the scheduler leaves a join of such inputs as the client planned it.
    Partitioning,
    /// That it is small, as the client has found: the scheduler sends it to all tasks of a join.
    Small,
    /// Nothing.
    Nothing,
}

/// Says less of its input than is known.
#[derive(Debug)]
pub(crate) struct OpaqueExec {
    input: Arc<dyn ExecutionPlan>,
    says: Says,
    properties: Arc<PlanProperties>,
}

impl OpaqueExec {
    /// Above `input`.
    pub(crate) fn plan(input: Arc<dyn ExecutionPlan>, says: Says) -> Arc<dyn ExecutionPlan> {
        let mut properties = input.properties().as_ref().clone();
        if says == Says::Nothing {
            let partitions = input.output_partitioning().partition_count();
            properties =
                properties.with_partitioning(Partitioning::UnknownPartitioning(partitions));
        }
        Arc::new(Self {
            input,
            says,
            properties: Arc::new(properties),
        })
    }

    /// Whose rows it passes through.
    pub(crate) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// What it says.
    pub(crate) fn says(&self) -> Says {
        self.says
    }
}

impl DisplayAs for OpaqueExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpaqueExec: {:?}", self.says)
    }
}

impl ExecutionPlan for OpaqueExec {
    fn name(&self) -> &str {
        "OpaqueExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Self::plan(children.swap_remove(0), self.says))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, _: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::Skip]
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if self.says == Says::Small {
            statistics.num_rows = Precision::Inexact(1);
            statistics.total_byte_size = Precision::Inexact(1);
        }
        Ok(Arc::new(statistics))
    }
}
