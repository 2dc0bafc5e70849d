//! A node whose rows end with an error once its statement is to end.
//!
//! A task of tokio that is given up takes along what it polls itself, not what it has spawned: Ballista 55 writes the rows of a stage in a task of its own, which goes on.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use std::fmt::Formatter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes its input through until the flag is set, and gives way to other tasks.
#[derive(Debug)]
pub(crate) struct StoppableExec {
    input: Arc<dyn ExecutionPlan>,
    stop: Arc<AtomicBool>,
}

impl StoppableExec {
    /// Above `input`.
    pub(crate) fn plan(
        input: Arc<dyn ExecutionPlan>,
        stop: &Arc<AtomicBool>,
    ) -> Arc<dyn ExecutionPlan> {
        let stop = stop.clone();
        Arc::new(Self { input, stop })
    }
}

impl DisplayAs for StoppableExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoppableExec")
    }
}

impl ExecutionPlan for StoppableExec {
    fn name(&self) -> &str {
        "StoppableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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
        Ok(Self::plan(children.swap_remove(0), &self.stop))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let stop = self.stop.clone();
        let until_stopped = move |batch: Result<RecordBatch>| match stop.load(Ordering::Relaxed) {
            true => exec_err!("interrupted"),
            false => batch,
        };
        let rows = self.input.execute(partition, context)?.map(until_stopped);
        let rows = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(Box::pin(cooperative(rows)))
    }
}
