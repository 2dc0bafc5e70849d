//! A physical optimizer rule: what is sorted, and what sorts pass on, has buffers of its own.
//!
//! A sort counts a batch with all buffers that it points into. Text is scanned as views into the buffers that it was read into; a batch of a join points into the
//! text of the whole build side; a grouping cuts one large batch into slices, each with the lists of all groups. A sort of 3 million paths that ends with
//! 128 MiB was refused them, and the critical files of a month's logs were refused 2 GiB where they take 0.5. So the batches are copied that hold more than twice
//! what they need: before a sort, and between a sort and the merge of its parts. Large batches are cut, because the parts of a sorted batch are counted with
//! the whole of it each.
//!
//! ```text
//! SortPreservingMergeExec: [bytes_written]
//!   CompactBatchesExec
//!     SortExec: [bytes_written], preserve_partitioning=[true]
//!       CompactBatchesExec
//! ```
//!
//! Only sessions with a budget have the rule, as those of the command line have: the copy takes time, and without a budget nobody
//! counts.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, GenericByteViewArray, ListArray, RecordBatch, StructArray,
    new_empty_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::concat;
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
    name: "compact_batches",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let input = if let Some(sort) = node.downcast_ref::<SortExec>() {
        sort.input()
    } else if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>()
        && merge.input().is::<SortExec>()
    {
        merge.input()
    } else {
        return Ok(None);
    };
    if !may_share_buffers(input) || input.is::<CompactBatchesExec>() {
        return Ok(None);
    }
    replace_children_if_necessary(node.clone(), vec![compacted(input.clone())]).map(Some)
}

/// The plan, with batches that hold the bytes of their own values alone. Shuffle files are written from such batches: with the whole pages that views point into, 75 rows
/// of paths were 10 MB.
pub(crate) fn compacted(plan: Node) -> Node {
    match may_share_buffers(&plan) {
        true => Arc::new(CompactBatchesExec { input: plan }),
        false => plan,
    }
}

fn may_share_buffers(plan: &Node) -> bool {
    let schema = plan.schema();
    let mut fields = schema.fields().iter();
    fields.any(|field| may_share(field.data_type()))
}

/// Whether a slice of such values may hold much more memory than it takes.
fn may_share(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8View | DataType::BinaryView | DataType::List(_) => true,
        DataType::Struct(fields) => fields.iter().any(|field| may_share(field.data_type())),
        _ => false,
    }
}

/// Passes its input through, each batch with buffers of its own.
#[derive(Debug)]
struct CompactBatchesExec {
    input: Arc<dyn ExecutionPlan>,
}

fn compact_batch(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(compact_column);
    let columns = columns.collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

fn compact_column(column: &ArrayRef) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        DataType::Utf8View => compact(column.as_byte_view::<StringViewType>(), column),
        DataType::BinaryView => compact(column.as_byte_view::<BinaryViewType>(), column),
        DataType::List(field) => {
            let list = column.as_list::<i32>();
            let offsets = list.offsets();
            let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
            let mut items = list.values().slice(first as usize, (last - first) as usize);
            if list.values().len() > 2 * items.len() {
                items = copied(&items)?;
            }
            let offsets = offsets.iter().map(|offset| offset - first).collect();
            let offsets = OffsetBuffer::new(offsets);
            let nulls = list.nulls().cloned();
            let items = compact_column(&items)?;
            Arc::new(ListArray::try_new(field.clone(), offsets, items, nulls)?)
        }
        DataType::Struct(fields) => {
            let of = column.as_struct();
            let columns = of.columns().iter().map(compact_column);
            let columns = columns.collect::<Result<_>>()?;
            let nulls = of.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns,
                nulls,
                of.len(),
            )?)
        }
        _ => column.clone(),
    })
}

/// The same values in buffers of their own; views still point to where they pointed.
fn copied(values: &ArrayRef) -> Result<ArrayRef> {
    // Of one array `concat` gives a slice.
    Ok(concat(&[values, &new_empty_array(values.data_type())])?)
}

/// The rows in batches of about so many, each with buffers of its own: a sort counts each part of a large batch with all of its buffers.
fn pieces(batch: RecordBatch, rows: usize) -> Result<Vec<RecordBatch>> {
    let all = batch.num_rows();
    if all <= 2 * rows {
        return Ok(vec![compact_batch(&batch)?]);
    }
    let piece = |from: usize| {
        let part = batch.slice(from, rows.min(all - from));
        let columns = part.columns().iter().map(copied);
        let part = RecordBatch::try_new(batch.schema(), columns.collect::<Result<_>>()?)?;
        compact_batch(&part)
    };
    (0..all).step_by(rows).map(piece).collect()
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

impl DisplayAs for CompactBatchesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("CompactBatchesExec")
    }
}

impl ExecutionPlan for CompactBatchesExec {
    fn name(&self) -> &str {
        "CompactBatchesExec"
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
        let rows = context.session_config().batch_size();
        let batches = self.input.execute(partition, context)?;
        let own = batches
            .and_then(move |batch| std::future::ready(pieces(batch, rows)))
            .map_ok(|pieces| futures::stream::iter(pieces.into_iter().map(Ok)))
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), own)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, ListBuilder, StringViewBuilder};
    use datafusion::arrow::compute::concat_batches;
    use datafusion::physical_plan::spill::get_record_batch_memory_size;

    /// Rows of a number and a list of two long texts.
    fn lists(rows: usize) -> RecordBatch {
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        for row in 0..rows {
            for item in 0..2 {
                lists
                    .values()
                    .append_value(format!("{row:0>60} {item:0>60}"));
            }
            lists.append(row % 7 != 0);
        }
        let numbers: Int64Array = (0..rows as i64).collect();
        let lists: ArrayRef = Arc::new(lists.finish());
        let numbers: ArrayRef = Arc::new(numbers);
        RecordBatch::try_from_iter([("n", numbers), ("l", lists)]).unwrap()
    }

    #[test]
    fn a_slice_of_lists_is_counted_with_its_own_items_alone() {
        let whole = lists(10_000);
        let slice = whole.slice(5000, 100);
        assert!(get_record_batch_memory_size(&slice) > 2 << 20);
        let [own] = &pieces(slice.clone(), 8192).unwrap()[..] else {
            panic!("it was cut");
        };
        assert_eq!(*own, slice);
        let lists = own.column(1).get_array_memory_size();
        assert!(lists < 100 * 2 * (121 + 16) * 2, "{lists}");
    }

    #[test]
    fn a_large_batch_is_cut_into_batches_with_buffers_of_their_own() {
        let whole = lists(10_000);
        let cut = pieces(whole.clone(), 1000).unwrap();
        assert_eq!(cut.len(), 10);
        assert_eq!(concat_batches(&whole.schema(), &cut).unwrap(), whole);
        let sizes = cut.iter().map(get_record_batch_memory_size);
        let (sum, all) = (sizes.sum::<usize>(), get_record_batch_memory_size(&whole));
        assert!(sum < 2 * all, "{sum} {all}");
        // What is hardly larger than a batch stays one.
        assert_eq!(pieces(whole, 6000).unwrap().len(), 1);
    }
}
