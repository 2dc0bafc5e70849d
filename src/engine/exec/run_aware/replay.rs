//! What a node has read of its input before it leaves the rest, and these rows, to a node of DataFusion.

use super::sample::SAMPLE;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Display, Formatter};
use std::sync::{Arc, Mutex};

/// A leaf that replays a stream which has begun: one partition of the node in whose place it stands, with the properties of that node.
pub(super) struct ReplayExec {
    properties: Arc<PlanProperties>,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl ReplayExec {
    /// A plan that gives the rows once, instead of a node.
    pub(super) fn plan(
        node: &Arc<dyn ExecutionPlan>,
        rows: SendableRecordBatchStream,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self {
            properties: node.properties().clone(),
            rows: Mutex::new(Some(rows)),
        })
    }
}

impl Debug for ReplayExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplayExec")
    }
}

impl DisplayAs for ReplayExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplayExec")
    }
}

impl ExecutionPlan for ReplayExec {
    fn name(&self) -> &str {
        "ReplayExec"
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
        let rows = self.rows.lock().unwrap_or_else(|e| e.into_inner()).take();
        rows.map_or_else(|| internal_err!("rows that have begun come once"), Ok)
    }
}

/// The first rows, enough to see whether they come in runs, and all rows.
pub(super) async fn begin(
    mut rows: SendableRecordBatchStream,
) -> Result<(Vec<RecordBatch>, SendableRecordBatchStream)> {
    let (mut first, mut count): (Vec<RecordBatch>, _) = (vec![], 0);
    while count < SAMPLE
        && let Some(batch) = rows.try_next().await?
    {
        count += batch.num_rows();
        first.push(batch);
    }
    let schema = rows.schema();
    // Fused, for what has ended may be asked again.
    let rows = stream::iter(first.clone().into_iter().map(Ok)).chain(rows.fuse());
    Ok((first, Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// How a node of DataFusion shows itself.
pub(super) struct Shown<'a>(pub(super) &'a dyn DisplayAs, pub(super) DisplayFormatType);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt_as(self.1, f)
    }
}
