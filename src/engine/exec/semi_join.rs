//! A physical optimizer rule: duplicates are dropped from the side of a semi, anti or mark join that is only looked at.
//!
//! Such a join asks of each row of one side whether the other side, the filter side, has an equal one. DataFusion 55.2 visits every pair of
//! equal rows nevertheless, so that over columns of few values
//!
//! ```sql
//! SELECT count(*) FROM lmt_ost WHERE fs IN (SELECT fs FROM darshan_file)
//! ```
//!
//! takes time in proportion to the product of the two tables. The same holds for EXISTS, NOT EXISTS, NOT IN, INTERSECT and EXCEPT, and for
//! joins without an equality, of which each visits all pairs. (Its issue 22930 is about the memory of such duplicates.)
//!
//! ```text
//! HashJoinExec: mode=CollectLeft, join_type=RightSemi, on=[(fs, fs)]
//!   DropDuplicatesExec: [fs]
//!     CoalescePartitionsExec
//!       DropDuplicatesExec: [fs]
//!         DataSourceExec: darshan_file
//!   DataSourceExec: lmt_ost
//! ```
//!
//! Rows are duplicates if they are equal in all columns that the join looks at: its keys, and those in its further condition. NULL is a
//! value like others here, so NOT IN still meets it. Duplicates are looked for while rows pass, and one that is missed does no harm. So no
//! row waits, memory that is not granted is not needed, and single keys that come in ascending order, as job_id does, are compared with the
//! one before and not kept.
//!
//! Delete when DataFusion's semi joins stop at the first equal row: `pairs_are_not_visited_one_by_one` then ends without the rule.

use super::run_aware::runs_of;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt32Array,
};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::compute::{BatchCoalescer, take_arrays, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{HashSet, JoinSide, JoinType, Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{TryStreamExt, stream};
use std::collections::BTreeSet;
use std::fmt::{Debug, Formatter};
use std::mem::replace;
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "semi_join",
    instead,
};

/// A search that may be given up is given up after so many rows, if more than [`MOSTLY_NEW`] of 8 of them were no duplicates.
const PROBE: usize = 64 << 10;

/// See [`PROBE`].
const MOSTLY_NEW: usize = 7;

/// So many keys are kept of a side that is probed, where a duplicate that is missed costs no more than a look: they stay in a processor's
/// cache. Each such number of them a duplicate may pass again.
const AT_A_TIME: usize = 64 << 10;

/// So often keys that ascend may begin anew before they are kept: each time a duplicate of each may be missed.
const ANEW: usize = 8;

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(looks) = Looks::of(node) else {
        return Ok(None);
    };
    let mut children: Vec<Node> = node.children().into_iter().cloned().collect();
    let side = &children[looks.side];
    if side.is::<DropDuplicatesExec>() || is_unique(side, &looks.columns) {
        return Ok(None);
    }
    // Behind a repartition each stream has what is left of all: few duplicates if below each stream has no more than a few.
    let below = looks.below(side)?;
    let crossed = below.is_some();
    let input = below.unwrap_or_else(|| side.clone());
    children[looks.side] = looks.distinct(input, crossed || looks.condition);
    replace_children_if_necessary(node.clone(), children).map(Some)
}

/// What a join looks at on its filter side.
struct Looks {
    /// Which of its inputs this side is.
    side: usize,
    columns: Vec<usize>,
    /// Whether it has a condition besides equal keys: then rows that differ in it are pairs to look at.
    condition: bool,
    /// Whether this side is probed by its keys, and not held.
    probed: bool,
}

impl Looks {
    /// None if the join needs each row of both sides, or rows cannot be compared.
    fn of(node: &Node) -> Option<Self> {
        type Keys<'a> = &'a [(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)];
        let (of, on, filter): (JoinType, Keys, Option<&JoinFilter>) =
            if let Some(join) = node.downcast_ref::<HashJoinExec>() {
                (*join.join_type(), join.on(), join.filter())
            } else {
                let join = node.downcast_ref::<NestedLoopJoinExec>()?;
                (*join.join_type(), &[], join.filter())
            };
        use JoinType::*;
        let side = match of {
            LeftSemi | LeftAnti | LeftMark => 1,
            RightSemi | RightAnti | RightMark => 0,
            Inner | Left | Right | Full => return None,
        };
        let mut columns = BTreeSet::new();
        for (left, right) in on {
            let key = [left, right][side];
            if is_volatile(key) {
                return None;
            }
            columns.extend(collect_columns(key).iter().map(Column::index));
        }
        if let Some(filter) = filter {
            if is_volatile(filter.expression()) {
                return None;
            }
            let of = [JoinSide::Left, JoinSide::Right][side];
            let columns_of = filter.column_indices().iter();
            columns.extend(columns_of.filter(|c| c.side == of).map(|c| c.index));
        }
        let schema = node.children()[side].schema();
        let compared = columns
            .iter()
            .all(|column| can_be_compared(schema.field(*column).data_type()));
        compared.then(|| Self {
            side,
            columns: columns.into_iter().collect(),
            condition: filter.is_some(),
            probed: side == 1 && !on.is_empty(),
        })
    }

    fn distinct(&self, input: Node, may_give_up: bool) -> Node {
        let effort = Effort {
            may_give_up,
            forgets: self.probed,
        };
        Arc::new(DropDuplicatesExec {
            input,
            columns: self.columns.clone(),
            effort,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The plan with the node below where its streams are dealt out or gathered, so that fewer rows are; None if they are not.
    fn below(&self, plan: &Node) -> Result<Option<Node>> {
        let deals = plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>();
        // What a join holds may be noted on the way.
        if !deals && plan.name() != "KeyBoundsExec" {
            return Ok(None);
        }
        let input = plan.children()[0];
        let below = match self.below(input)? {
            Some(below) => below,
            None if deals => self.distinct(input.clone(), self.condition),
            None => return Ok(None),
        };
        replace_children_if_necessary(plan.clone(), vec![below]).map(Some)
    }
}

/// Of these types [`GroupValues`] takes no two values for one that a join takes for two. Floats are compared by their bits.
fn can_be_compared(of: &DataType) -> bool {
    let others = matches!(
        of,
        DataType::Dictionary(..)
            | DataType::RunEndEncoded(..)
            | DataType::Interval(_)
            | DataType::Float16
            | DataType::Null
    );
    !of.is_nested() && !others
}

/// Whether no two rows are equal in these columns, because they are groups.
fn is_unique(plan: &Node, columns: &[usize]) -> bool {
    if let Some(grouping) = plan.downcast_ref::<AggregateExec>() {
        return *grouping.mode() != AggregateMode::Partial
            && grouping.group_expr().is_single()
            && (0..grouping.group_expr().expr().len()).all(|key| columns.contains(&key));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let from = |at: &usize| {
            Some(
                projection.expr()[*at]
                    .expr
                    .downcast_ref::<Column>()?
                    .index(),
            )
        };
        let from: Vec<usize> = columns.iter().filter_map(from).collect();
        return is_unique(projection.input(), &from);
    }
    let passes = plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.name() == "KeyBoundsExec";
    passes && is_unique(plan.children()[0], columns)
}

/// Passes its rows through, but for some that are equal to an earlier one of the same stream in these columns; most of them, unless
/// it may give up or lacks memory.
struct DropDuplicatesExec {
    input: Node,
    columns: Vec<usize>,
    effort: Effort,
    metrics: ExecutionPlanMetricsSet,
}

/// How hard duplicates are looked for.
#[derive(Clone, Copy)]
struct Effort {
    /// Whether the search ends where it finds few.
    may_give_up: bool,
    /// Whether no more than [`AT_A_TIME`] keys are kept.
    forgets: bool,
}

/// The keys of a stream so far.
struct Seen {
    schema: SchemaRef,
    columns: Vec<usize>,
    how: How,
    /// The group of each key of a batch.
    groups: Vec<usize>,
    effort: Effort,
    /// How many keys were looked up, and how many of them were new.
    looked: (usize, usize),
    memory: MemoryReservation,
}

/// How duplicates are found, beside those that stand together.
enum How {
    /// Keys came in ascending order so far, as in a file: the last of them, and how often they began anew, as with the next file.
    Ascending {
        last: Option<i64>,
        anew: usize,
    },
    /// Keys of eight bytes, and whether one was NULL.
    Ids(HashSet<i64>, bool),
    Table(Box<dyn GroupValues>),
    /// All columns are equal, for there are none. Whether a row has come.
    First(bool),
    GivenUp,
}

impl Seen {
    fn try_new(
        schema: &SchemaRef,
        columns: &[usize],
        effort: Effort,
        memory: MemoryReservation,
    ) -> Result<Self> {
        let fields = columns.iter().map(|column| {
            let field = schema.field(*column);
            let of = match field.data_type() {
                DataType::Float32 => &DataType::Int32,
                DataType::Float64 => &DataType::Int64,
                other => other,
            };
            Field::new(field.name(), of.clone(), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let how = match &schema.fields()[..] {
            [] => How::First(false),
            _ if is_id(&schema) => How::Ascending {
                last: None,
                anew: 0,
            },
            _ => How::anew(&schema)?,
        };
        Ok(Self {
            schema,
            columns: columns.to_vec(),
            how,
            groups: vec![],
            effort,
            looked: (0, 0),
            memory,
        })
    }

    /// The rows of a batch that are no duplicates.
    fn new_rows(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = match &mut self.how {
            How::GivenUp => return Ok(batch),
            How::First(come) => {
                let first = usize::from(!*come).min(batch.num_rows());
                *come |= first > 0;
                return Ok(batch.slice(0, first));
            }
            _ if batch.num_rows() == 0 => return Ok(batch),
            _ => self.new_keys(&batch)?,
        };
        match rows.len() == batch.num_rows() {
            true => Ok(batch),
            false => Ok(take_record_batch(&batch, &UInt32Array::from(rows))?),
        }
    }

    /// The first row of each key of a batch that is new.
    fn new_keys(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let columns = self.columns.iter().map(|at| by_bits(batch.column(*at)));
        let mut keys: Vec<ArrayRef> = columns.collect();
        let mut starts: Vec<u32> = runs_of(&keys).iter().map(|run| run.start as u32).collect();
        let looked = starts.len();
        if let How::Ascending { last, anew } = &mut self.how {
            if let Some((first, end)) = ascending(&keys[0]) {
                *anew += usize::from(last.is_some_and(|last| last > first));
                if *anew <= ANEW {
                    if *last == Some(first) {
                        starts.remove(0);
                    }
                    *last = Some(end);
                    return Ok(starts);
                }
            }
            self.how = How::Ids(HashSet::default(), false);
        }
        let (size, kept) = match &mut self.how {
            How::Ids(seen, null) => {
                let (ids, nulls) = (ids(&keys[0]), keys[0].nulls());
                starts.retain(|row| {
                    match nulls.is_some_and(|nulls| nulls.is_null(*row as usize)) {
                        true => !replace(null, true),
                        false => seen.insert(ids[*row as usize]),
                    }
                });
                (seen.allocation_size(), seen.len())
            }
            How::Table(table) => {
                if starts.len() < batch.num_rows() {
                    keys = take_arrays(&keys, &UInt32Array::from(starts.clone()), None)?;
                }
                let known = table.len();
                table.intern(&keys, &mut self.groups)?;
                let mut come = vec![false; table.len() - known];
                let mut groups = self.groups.iter();
                starts.retain(|_| {
                    let new = groups.next().and_then(|group| group.checked_sub(known));
                    new.is_some_and(|new| !replace(&mut come[new], true))
                });
                (table.size(), table.len())
            }
            _ => return Ok(starts),
        };
        self.looked.0 += looked;
        self.looked.1 += starts.len();
        if self.effort.may_give_up && self.looked.0 >= PROBE {
            let mostly_new = self.looked.1 * 8 > self.looked.0 * MOSTLY_NEW;
            self.looked = (0, 0);
            if mostly_new {
                self.how = How::GivenUp;
                self.memory.free();
                return Ok(starts);
            }
        }
        match self.memory.try_resize(size) {
            Ok(()) if self.effort.forgets && kept >= AT_A_TIME => self.how.forget(&self.schema)?,
            Ok(()) => {}
            Err(_) => {
                self.memory.free();
                self.how = How::anew(&self.schema)?;
            }
        }
        Ok(starts)
    }
}

impl How {
    /// A search that knows no keys yet.
    fn anew(schema: &SchemaRef) -> Result<Self> {
        Ok(match is_id(schema) {
            true => Self::Ids(HashSet::default(), false),
            false => Self::Table(new_group_values(schema.clone(), &GroupOrdering::None)?),
        })
    }

    /// Forgets all keys.
    fn forget(&mut self, schema: &SchemaRef) -> Result<()> {
        match self {
            Self::Ids(seen, _) => seen.clear(),
            _ => *self = Self::anew(schema)?,
        }
        Ok(())
    }
}

/// Whether keys are eight bytes each.
fn is_id(schema: &Schema) -> bool {
    matches!(&schema.fields()[..], [key] if key.data_type().primitive_width() == Some(8))
}

/// The bits of keys of eight bytes.
fn ids(keys: &ArrayRef) -> ScalarBuffer<i64> {
    let data = keys.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

/// The least and the greatest of keys of eight bytes, if they ascend and none is NULL. Any order of the bits will do.
fn ascending(keys: &ArrayRef) -> Option<(i64, i64)> {
    let ids = ids(keys);
    let ascend = keys.null_count() == 0 && ids.windows(2).all(|pair| pair[0] <= pair[1]);
    ascend.then_some((*ids.first()?, *ids.last()?))
}

/// Floats as integers of the same bits. A table of groups takes 0.0 and -0.0 for one value, a join does not.
fn by_bits(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>();
            let bits = ScalarBuffer::from(values.values().inner().clone());
            Arc::new(Int32Array::new(bits, values.nulls().cloned()))
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>();
            let bits = ScalarBuffer::from(values.values().inner().clone());
            Arc::new(Int64Array::new(bits, values.nulls().cloned()))
        }
        _ => values.clone(),
    }
}

impl Debug for DropDuplicatesExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for DropDuplicatesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let schema = self.input.schema();
        let name = |column: &usize| schema.field(*column).name().as_str();
        let names: Vec<&str> = self.columns.iter().map(name).collect();
        write!(f, "DropDuplicatesExec: [{}]", names.join(", "))
    }
}

impl ExecutionPlan for DropDuplicatesExec {
    fn name(&self) -> &str {
        "DropDuplicatesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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
        Ok(Arc::new(Self {
            input: children.swap_remove(0),
            columns: self.columns.clone(),
            effort: self.effort,
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let memory = MemoryConsumer::new(format!("DropDuplicatesExec[{partition}]"))
            .with_can_spill(true)
            .register(context.memory_pool());
        let seen = Seen::try_new(&schema, &self.columns, self.effort, memory)?;
        let size = context.session_config().batch_size();
        // A batch of which much is left stays as it is.
        let few = BatchCoalescer::new(schema.clone(), size)
            .with_biggest_coalesce_batch_size(Some(size / 2));
        let rows = Some(self.input.execute(partition, context)?);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let rows = stream::try_unfold(
            (rows, seen, few, metrics),
            async |(mut rows, mut seen, mut few, metrics)| {
                loop {
                    if let Some(batch) = few.next_completed_batch() {
                        metrics.record_output(batch.num_rows());
                        return Ok::<_, DataFusionError>(Some((batch, (rows, seen, few, metrics))));
                    }
                    let Some(input) = &mut rows else {
                        return Ok(None);
                    };
                    let batch = input.try_next().await?;
                    let _timer = metrics.elapsed_compute().timer();
                    match batch {
                        Some(batch) => few.push_batch(seen.new_rows(batch)?)?,
                        None => {
                            rows = None;
                            few.finish_buffered_batch()?;
                        }
                    }
                }
            },
        );
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::new(inputs[0].as_ref().clone().to_inexact()))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, StringViewArray};
    use datafusion::arrow::datatypes::Int64Type;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Columns of few values, one of which ascends, and the number of each row.
    fn batch(rows: &[(i64, u8)], first: usize) -> RecordBatch {
        let some = |n: u8| (n > 0).then_some(n);
        let ascending = (0..rows.len()).map(|at| (first + at) as i64 / 3);
        let text = |n| ["a", "of more than twelve bytes"][n as usize % 2];
        let float = |n| [0.0, -0.0, f64::NAN, 7.5][n as usize % 4];
        let columns: [(&str, ArrayRef); 5] = [
            (
                "row",
                Arc::new(Int64Array::from_iter_values(
                    (first..).take(rows.len()).map(|at| at as i64),
                )),
            ),
            (
                "ascending",
                Arc::new(Int64Array::from_iter_values(ascending)),
            ),
            (
                "int",
                Arc::new(
                    rows.iter()
                        .map(|(a, _)| (*a > 0).then_some(*a))
                        .collect::<Int64Array>(),
                ),
            ),
            (
                "text",
                Arc::new(
                    rows.iter()
                        .map(|(_, b)| some(*b).map(text))
                        .collect::<StringViewArray>(),
                ),
            ),
            (
                "float",
                Arc::new(
                    rows.iter()
                        .map(|(_, b)| some(*b).map(float))
                        .collect::<Float64Array>(),
                ),
            ),
        ];
        let columns = columns.map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(23), ..ProptestConfig::default() })]

        /// The first row of each key stays, and of the others one where the keys ascend and one more each time they began anew; all where there is
        /// no memory.
        #[test]
        fn of_equal_rows_few_are_left_and_the_first_always(
            rows in prop::collection::vec((0i64..5, 0u8..5), 1..200), size in 1usize..40, chosen in 0u8..16, enough in any::<bool>()
        ) {
            let columns: Vec<usize> = (0..4).filter(|column| chosen >> column & 1 == 1).map(|column| column + 1).collect();
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(if enough { 1 << 30 } else { 1 }));
            let memory = MemoryConsumer::new("test").register(&pool);
            let effort = Effort { may_give_up: false, forgets: false };
            let mut seen = Seen::try_new(&batch(&[], 0).schema(), &columns, effort, memory).unwrap();
            let (mut first, mut left): (HashMap<Vec<String>, i64>, HashMap<i64, usize>) = Default::default();
            let mut places: HashMap<Vec<String>, usize> = HashMap::new();
            for (i, some) in rows.chunks(size).enumerate() {
                let batch = batch(some, i * size);
                // Of floats 0.0 and -0.0 are told apart, as a join does.
                let key = |batch: &RecordBatch, row| -> Vec<String> {
                    let text = |column: &usize| format!("{:?}", datafusion::common::ScalarValue::try_from_array(batch.column(*column), row).unwrap());
                    columns.iter().map(text).collect()
                };
                for row in 0..batch.num_rows() {
                    first.entry(key(&batch, row)).or_insert((i * size + row) as i64);
                }
                let kept = seen.new_rows(batch).unwrap();
                for row in 0..kept.num_rows() {
                    *places.entry(key(&kept, row)).or_default() += 1;
                    left.insert(kept.column(0).as_primitive::<Int64Type>().value(row), 1);
                }
            }
            for row in first.values() {
                prop_assert!(left.contains_key(row));
            }
            if enough {
                prop_assert!(places.values().all(|times| *times <= ANEW + 2), "{places:?}");
            }
        }
    }

    #[test]
    fn a_search_that_finds_nothing_is_given_up_if_it_may_be() {
        for (may_give_up, differ, given_up) in [
            (true, 1 << 40, true),
            (false, 1 << 40, false),
            (true, 1000, false),
        ] {
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 30));
            let memory = MemoryConsumer::new("test").register(&pool);
            let schema = Schema::new(vec![Field::new("k", DataType::Int64, true)]);
            let effort = Effort {
                may_give_up,
                forgets: false,
            };
            let mut seen = Seen::try_new(&Arc::new(schema), &[0], effort, memory).unwrap();
            for i in 0..20 {
                let keys = (i * 8192..(i + 1) * 8192).map(|k: i64| k * 7919 % 1_000_003 % differ);
                let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(keys));
                let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
                seen.new_rows(batch).unwrap();
            }
            assert_eq!(matches!(seen.how, How::GivenUp), given_up);
            assert_eq!(pool.reserved() == 0, given_up);
        }
    }

    /// 300,000 keys, then each of them again, and after each 1,000 of them a key that comes as often as all others together.
    #[test]
    fn of_a_side_that_is_probed_few_keys_are_kept_and_those_that_come_often_pass_seldom() {
        for (forgets, most) in [(false, 1), (true, 12)] {
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 30));
            let memory = MemoryConsumer::new("test").register(&pool);
            let schema = Schema::new(vec![Field::new("k", DataType::Int64, true)]);
            let effort = Effort {
                may_give_up: false,
                forgets,
            };
            let mut seen = Seen::try_new(&Arc::new(schema), &[0], effort, memory).unwrap();
            let mut passed: HashMap<i64, usize> = HashMap::new();
            for i in 0..600 {
                let others = (i * 1000..(i + 1) * 1000).map(|k: i64| k * 7919 % 300_007);
                let keys = others.chain(std::iter::repeat_n(-1, 1000));
                let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(keys));
                let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
                for key in seen
                    .new_rows(batch)
                    .unwrap()
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values()
                {
                    *passed.entry(*key).or_default() += 1;
                }
            }
            assert_eq!(passed.len(), 300_008);
            assert!(passed[&-1] <= most, "{}", passed[&-1]);
            assert_eq!(pool.reserved() < 4 << 20, forgets, "{}", pool.reserved());
        }
    }
}
