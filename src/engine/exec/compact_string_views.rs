//! A physical optimizer rule: sorted rows that are merged keep buffers of their own text alone.
//!
//! Text is scanned as views, which point into the buffers that it was read into. A batch of a sort points into the buffers of all
//! batches that its rows came from, and is counted with all of them: a sort of 3 million paths that ends with 128 MiB was refused them.
//! So between a sort and the merge of its parts the text of each batch is copied into a buffer of its own.
//!
//! ```text
//! SortPreservingMergeExec: [bytes_written]
//!   CompactStringViewsExec
//!     SortExec: [bytes_written], preserve_partitioning=[true]
//! ```
//!
//! Only sessions with a budget have the rule, as those of the command line have: the copy takes time, and without a budget nobody
//! counts.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray, RecordBatch};
use datafusion::arrow::datatypes::{BinaryViewType, ByteViewType, DataType, StringViewType};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::TryStreamExt;
use std::fmt::Formatter;
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "compact_string_views",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() else {
        return Ok(None);
    };
    let sorted = merge.input().clone();
    if !sorted.is::<SortExec>() || !has_views(&sorted) {
        return Ok(None);
    }
    replace_children_if_necessary(node.clone(), vec![compacted(sorted)]).map(Some)
}

/// The plan, with batches that hold the bytes of their own text alone. Shuffle files are written from such batches: with the whole pages that views point into, 75 rows
/// of paths were 10 MB.
pub(crate) fn compacted(plan: Node) -> Node {
    match has_views(&plan) {
        true => Arc::new(CompactStringViewsExec { input: plan }),
        false => plan,
    }
}

fn has_views(plan: &Node) -> bool {
    let schema = plan.schema();
    let mut fields = schema.fields().iter();
    fields.any(|field| matches!(field.data_type(), DataType::Utf8View | DataType::BinaryView))
}

/// Passes its input through, each batch with buffers of its own.
#[derive(Debug)]
struct CompactStringViewsExec {
    input: Arc<dyn ExecutionPlan>,
}

fn compact_batch(batch: &RecordBatch) -> Result<RecordBatch> {
    let column = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8View => compact(column.as_byte_view::<StringViewType>(), column),
        DataType::BinaryView => compact(column.as_byte_view::<BinaryViewType>(), column),
        _ => column.clone(),
    };
    let columns = batch.columns().iter().map(column).collect();
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

/// The same values, copied if they lie in buffers of more than twice their size.
fn compact<T: ByteViewType>(values: &GenericByteViewArray<T>, as_they_are: &ArrayRef) -> ArrayRef {
    let buffers: usize = values
        .data_buffers()
        .iter()
        .map(|buffer| buffer.capacity())
        .sum();
    match buffers > 2 * values.total_buffer_bytes_used() {
        true => Arc::new(values.gc()),
        false => as_they_are.clone(),
    }
}

impl DisplayAs for CompactStringViewsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("CompactStringViewsExec")
    }
}

impl ExecutionPlan for CompactStringViewsExec {
    fn name(&self) -> &str {
        "CompactStringViewsExec"
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
        let input = children.swap_remove(0);
        Ok(Arc::new(Self { input }))
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
        let sorted = self.input.execute(partition, context)?;
        let own = sorted.and_then(async |batch| compact_batch(&batch));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), own)))
    }
}
