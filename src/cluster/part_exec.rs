//! A leaf that stands for another part of a plan.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt::Formatter;
use std::sync::Arc;

/// Stands for another part while a plan is made into bytes.
#[derive(Debug)]
pub(crate) struct PartExec {
    index: usize,
    properties: Arc<PlanProperties>,
}

impl PartExec {
    /// For the part at this place, of which nodes above see these properties.
    pub(crate) fn new(index: usize, properties: Arc<PlanProperties>) -> Self {
        Self { index, properties }
    }

    /// Its place among the parts.
    pub(crate) fn index(&self) -> usize {
        self.index
    }
}

impl DisplayAs for PartExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "PartExec: {}", self.index)
    }
}

impl ExecutionPlan for PartExec {
    fn name(&self) -> &str {
        "PartExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
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
        internal_err!("a part of a plan does not run")
    }
}
