//! A physical optimizer rule: different ids are told apart part by part, each of which a processor's cache holds.
//!
//! `count(DISTINCT record_id)` is a grouping without functions. DataFusion 55.2 looks for each id in one table of all, and waits for memory at
//! each: three quarters of the time of counting the files of a month.
//!
//! ```text
//! AggregateExec: mode=Partial, gby=[], aggr=[count(alias1)]
//!   DistinctExec: [alias1]                                                   was AggregateExec: mode=FinalPartitioned, gby=[alias1], aggr=[]
//!     RepartitionExec: Hash([alias1])
//!       AggregateExec: mode=Partial, gby=[record_id], aggr=[]
//! ```
//!
//! Ids are set down in 256 parts by their hash; a part that has grown to twice its different ids is rid of the others. Where memory does not
//! suffice, what is left of the parts and what has not been read yet go to the node in whose place this one stands, which can spill.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::array::{Array, ArrayData, ArrayRef, Int64Array, RecordBatch, make_array};
use datafusion::arrow::buffer::{Buffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::EmitTo;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, InputOrderMode,
    PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts of many ids.
const PARTS: usize = 256;

/// So many ids, 256 KiB of them, are one part.
const FEW: usize = 32 << 10;

/// So many ids of one of [`PARTS`] are looked through at least: then these are 8 MiB together.
const LEAST: usize = FEW / 8;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "radix_distinct",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let grouping = node.downcast_ref::<AggregateExec>();
    let grouping = grouping.filter(|grouping| tells_ids_apart(grouping));
    Ok(grouping.map(|grouping| {
        Arc::new(DistinctExec {
            grouping: Arc::new(grouping.clone()),
            metrics: ExecutionPlanMetricsSet::new(),
        }) as Node
    }))
}

/// Whether it brings states together that are one id each, and says no more of them.
fn tells_ids_apart(grouping: &AggregateExec) -> bool {
    let schema = grouping.input().schema();
    let [(key, _)] = grouping.group_expr().expr() else {
        return false;
    };
    let id = |kind: &DataType| {
        matches!(
            kind,
            DataType::Int64 | DataType::UInt64 | DataType::Timestamp(..)
        )
    };
    matches!(
        grouping.mode(),
        AggregateMode::Final | AggregateMode::FinalPartitioned
    ) && grouping.group_expr().is_single()
        && grouping.aggr_expr().is_empty()
        && grouping.limit_options().is_none()
        && *grouping.input_order_mode() == InputOrderMode::Linear
        && grouping.dynamic_expressions_produced().is_empty()
        && key
            .downcast_ref::<Column>()
            .is_some_and(|column| column.index() == 0)
        && matches!(schema.fields().as_ref(), [field] if id(field.data_type()))
}

/// Gives each id of its input once, as the grouping would.
#[derive(Clone)]
struct DistinctExec {
    grouping: Arc<AggregateExec>,
    metrics: ExecutionPlanMetricsSet,
}

impl DistinctExec {
    async fn ids(
        self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let mut input = self.grouping.input().execute(partition, context.clone())?;
        let mut ids = Ids::new(partition, &context)?;
        while let Some(batch) = input.next().await {
            let timer = baseline.elapsed_compute().timer();
            let fits = ids.add(batch?.column(0))?;
            timer.done();
            if !fits {
                return self.spilling(ids, input, context);
            }
        }
        let timer = baseline.elapsed_compute().timer();
        ids.dedup()?;
        timer.done();
        let size = context.session_config().batch_size();
        let found = ids.batches(schema.clone(), size);
        let found = found.inspect_ok(move |batch| baseline.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, found)))
    }

    /// What the grouping makes of ids that are held and others that are not read yet.
    fn spilling(
        &self,
        held: Ids,
        rest: SendableRecordBatchStream,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = rest.schema();
        let size = context.session_config().batch_size();
        let all = held.batches(schema.clone(), size).chain(rest);
        let all = Box::pin(RecordBatchStreamAdapter::new(schema.clone(), all));
        let once = Once {
            schema: schema.clone(),
            rows: Mutex::new(Some(all)),
        };
        let input =
            StreamingTableExec::try_new(schema, vec![Arc::new(once)], None, [], false, None)?;
        let grouping = replace_children_if_necessary(self.grouping.clone(), vec![Arc::new(input)])?;
        grouping.execute(0, context)
    }
}

/// Ids in parts by their hash, some of them several times.
struct Ids {
    parts: Vec<Vec<i64>>,
    /// How many a part may have before it is looked through.
    limits: Vec<usize>,
    null: bool,
    /// DataFusion's own table of groups.
    table: Box<dyn GroupValues>,
    memory: MemoryReservation,
}

impl Ids {
    fn new(partition: usize, context: &TaskContext) -> Result<Self> {
        let id = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true)]));
        let consumer = MemoryConsumer::new(format!("DistinctExec[{partition}]"));
        Ok(Self {
            parts: vec![vec![]],
            limits: vec![FEW],
            null: false,
            table: new_group_values(id, &GroupOrdering::None)?,
            memory: consumer
                .with_can_spill(true)
                .register(context.memory_pool()),
        })
    }

    /// Takes ids in. False if they do not fit into the memory: they are here nevertheless.
    fn add(&mut self, ids: &ArrayRef) -> Result<bool> {
        let data = ids.to_data();
        let all = &data.buffers()[0].typed_data::<i64>()[data.offset()..][..data.len()];
        match ids.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            None => all.iter().for_each(|id| self.put(*id)),
            Some(nulls) => {
                self.null = true;
                nulls.valid_indices().for_each(|at| self.put(all[at]));
            }
        }
        for part in 0..self.parts.len() {
            if self.parts[part].len() >= self.limits[part] {
                self.look_through(part)?;
            }
        }
        // Half of those that were looked through and more are different.
        if self.parts.len() == 1 && self.limits[0] > FEW {
            let first = std::mem::take(&mut self.parts[0]);
            self.parts = vec![vec![]; PARTS];
            self.limits = vec![LEAST; PARTS];
            first.iter().for_each(|id| self.put(*id));
        }
        if self.account() {
            return Ok(true);
        }
        for part in 0..self.parts.len() {
            self.look_through(part)?;
            self.parts[part].shrink_to_fit();
        }
        Ok(self.account())
    }

    fn put(&mut self, id: i64) {
        let part = match self.parts.len() {
            1 => 0,
            // By the upper bits, where all lower ones have their part.
            _ => ((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize,
        };
        self.parts[part].push(id);
    }

    /// Leaves of the ids of a part one each.
    fn look_through(&mut self, part: usize) -> Result<()> {
        let ids = std::mem::take(&mut self.parts[part]);
        let ids: ArrayRef = Arc::new(Int64Array::from(ids));
        self.table.intern(&[ids], &mut vec![])?;
        let found = self.table.emit(EmitTo::All)?;
        let found = found[0].to_data();
        let found = &found.buffers()[0].typed_data::<i64>()[found.offset()..][..found.len()];
        self.parts[part].extend_from_slice(found);
        let least = if self.parts.len() == 1 { FEW } else { LEAST };
        self.limits[part] = least.max(2 * self.parts[part].len());
        Ok(())
    }

    fn dedup(&mut self) -> Result<()> {
        (0..self.parts.len()).try_for_each(|part| self.look_through(part))
    }

    /// Whether the memory suffices for what is held.
    fn account(&self) -> bool {
        let held: usize = self.parts.iter().map(Vec::capacity).sum();
        let bytes = held * size_of::<i64>() + self.table.size();
        self.memory.try_resize(bytes).is_ok()
    }

    /// All that is held, and then no more.
    fn batches(
        self,
        schema: SchemaRef,
        size: usize,
    ) -> impl futures::Stream<Item = Result<RecordBatch>> + Send {
        let kind = schema.field(0).data_type().clone();
        let memory = self.memory;
        let null = self.null.then(|| {
            let nulls = NullBuffer::new_null(1);
            (Buffer::from_slice_ref([0i64]), 1, Some(nulls))
        });
        let parts = self.parts.into_iter().map(|part| {
            let ids = part.len();
            (Buffer::from_vec(part), ids, None)
        });
        let parts = parts.filter(|part| part.1 > 0).chain(null);
        stream::iter(parts)
            .map(move |(ids, count, nulls)| {
                let nulls = nulls
                    .as_ref()
                    .map(|nulls: &NullBuffer| nulls.buffer().clone());
                let data = ArrayData::try_new(kind.clone(), count, nulls, 0, vec![ids], vec![])?;
                let part = RecordBatch::try_new(schema.clone(), vec![make_array(data)])?;
                let bytes = count * size_of::<i64>();
                memory.shrink(bytes.min(memory.size()));
                let pieces = (0..count).step_by(size.max(1));
                let pieces = pieces.map(move |at| Ok(part.slice(at, size.min(count - at))));
                Ok::<_, DataFusionError>(stream::iter(pieces))
            })
            .try_flatten()
    }
}

/// Rows that can be had once.
struct Once {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl Debug for Once {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Once")
    }
}

impl PartitionStream for Once {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self
            .rows
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let gone = || {
            let gone =
                stream::once(async { datafusion::common::internal_err!("rows are there once") });
            Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), gone)) as _
        };
        rows.unwrap_or_else(gone)
    }
}

impl Debug for DistinctExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for DistinctExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "DistinctExec: [{}]", self.schema().field(0).name())
    }
}

impl ExecutionPlan for DistinctExec {
    fn name(&self) -> &str {
        "DistinctExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.grouping.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.grouping.input_distribution_requirements()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.grouping.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.grouping.apply_expressions(f)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let grouping = replace_children_if_necessary(self.grouping.clone(), children)?;
        Ok(match grouping.downcast_ref::<AggregateExec>() {
            Some(grouping) if tells_ids_apart(grouping) => Arc::new(Self {
                grouping: Arc::new(grouping.clone()),
                metrics: ExecutionPlanMetricsSet::new(),
            }),
            _ => grouping,
        })
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let ids = stream::once(self.clone().ids(partition, context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), ids)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.grouping.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.grouping.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.grouping.cardinality_effect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_some_times_what_differs() {
        let context = TaskContext::default();
        for (differ, at_most) in [
            (1000, FEW + 8192),
            (100_000, PARTS * LEAST),
            (2_000_000, 6_000_000),
        ] {
            let mut ids = Ids::new(0, &context).unwrap();
            for batch in 0..500i64 {
                let all = (0..8192).map(|i| (batch * 8192 + i) * 7_919 % differ);
                let all: ArrayRef = Arc::new(Int64Array::from_iter_values(all));
                assert!(ids.add(&all).unwrap());
                let held: usize = ids.parts.iter().map(Vec::len).sum();
                assert!(held <= at_most, "{held} of {differ}");
            }
            ids.dedup().unwrap();
            let mut found: Vec<i64> = ids.parts.concat();
            found.sort_unstable();
            assert_eq!(found, (0..differ).collect::<Vec<_>>());
        }
    }
}
