//! A physical optimizer rule: before the rows of each key are sorted to find the first of them, those go that cannot be it.
//!
//! ```sql
//! SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY log_id ORDER BY bytes_written DESC) AS place FROM darshan_file) WHERE place = 1
//! ```
//!
//! sorts all files in DataFusion 55.2. Of a run of files of one log only the first in that order can be the first of the log, so that
//! 100,000 rows are left to sort of 3 million.
//!
//! ```text
//! FilterExec: place = 1
//!   BoundedWindowAggExec: row_number() PARTITION BY [log_id] ORDER BY [bytes_written DESC]
//!     SortExec: [log_id, bytes_written DESC]
//!       TopOfRunsExec: 1 of each [log_id] by [bytes_written DESC]
//! ```
//!
//! # Why the places stay right
//! A row is left out only if k rows of its run stand before it or beside it, of which k stay; so k rows stand before it among those
//! that stay, too, and the places up to k are given to the same rows, or to others that are equal in the order. The filter above drops all
//! other places. It must stand right above the window, and the window must compute nothing else: a sum over the key needs all rows.
//!
//! DataFusion's own `PartitionedTopKExec` holds a heap for each key, in memory that it cannot spill; it is off by default.

use super::fixed_keys::runs_of;
use super::sample::RUN;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use crate::engine::planning::drop_join_ordering::DropOrderingExec;
use datafusion::arrow::array::{
    ArrayRef, DynComparator, RecordBatch, UInt32Array, make_comparator,
};
use datafusion::arrow::compute::{BatchCoalescer, take_record_batch};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{TryStreamExt, stream};
use std::cmp::Ordering;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "partial_topk",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let put = |(under, top): (usize, Top)| put(node.clone(), under, &top);
    wanted(node).map(put).transpose()
}

/// Which rows of each key are wanted.
#[derive(Clone)]
struct Top {
    places: usize,
    /// Whether rows that are equal in the order have one place, all of them: `rank`, not `row_number`.
    ties: bool,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    order: Vec<PhysicalSortExpr>,
}

/// If a filter wants the first places of a window right below it: how many nodes lie between the filter and the rows to sort,
/// and what is wanted.
fn wanted(plan: &Arc<dyn ExecutionPlan>) -> Option<(usize, Top)> {
    let filter = plan.downcast_ref::<FilterExec>()?;
    let (mut below, mut under) = (filter.input(), 1);
    let mut place = None;
    for condition in split_conjunction(filter.predicate()) {
        place = place.or_else(|| first_places(condition));
    }
    let (mut column, places) = place?;
    if let Some(projection) = below.downcast_ref::<ProjectionExec>() {
        column = projection
            .expr()
            .get(column)?
            .expr
            .downcast_ref::<Column>()?
            .index();
        (below, under) = (projection.input(), under + 1);
    }
    if let Some(dropped) = below.downcast_ref::<DropOrderingExec>() {
        (below, under) = (dropped.input(), under + 1);
    }
    let window = below.downcast_ref::<BoundedWindowAggExec>()?;
    let [function] = window.window_expr() else {
        return None;
    };
    let ties = match function_name(function)? {
        "row_number" => false,
        "rank" => true,
        _ => return None,
    };
    let sort = window.input().downcast_ref::<SortExec>()?;
    let sorted = sort.fetch().is_none() && column == window.input().schema().fields().len();
    let top = Top {
        places,
        ties,
        keys: function.partition_by().to_vec(),
        order: function.order_by().to_vec(),
    };
    (sorted && !top.keys.is_empty() && !top.order.is_empty()).then_some((under + 1, top))
}

/// The column that must be at most so many, from a condition like `place = 1`, `place <= 3`, `4 > place`.
fn first_places(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let condition = condition.downcast_ref::<BinaryExpr>()?;
    let sides = (condition.left(), condition.right());
    let (column, number, op) = match sides.0.downcast_ref::<Column>() {
        Some(column) => (column, sides.1, *condition.op()),
        None => (
            sides.1.downcast_ref::<Column>()?,
            sides.0,
            condition.op().swap()?,
        ),
    };
    let number = number.downcast_ref::<Literal>()?.value();
    let number = match number {
        ScalarValue::UInt64(Some(number)) => i128::from(*number),
        ScalarValue::Int64(Some(number)) => i128::from(*number),
        _ => return None,
    };
    let places = match op {
        Operator::Eq if number == 1 => 1,
        Operator::LtEq => number,
        Operator::Lt => number - 1,
        _ => return None,
    };
    Some((
        column.index(),
        usize::try_from(places).ok().filter(|places| *places > 0)?,
    ))
}

fn function_name(function: &Arc<dyn WindowExpr>) -> Option<&str> {
    let function = function.as_any().downcast_ref::<StandardWindowExpr>()?;
    let function = function.get_standard_func_expr().as_any();
    Some(function.downcast_ref::<WindowUDFExpr>()?.fun().name())
}

/// The plan with the node so many levels down, under what sorts and repartitions the rows.
fn put(plan: Arc<dyn ExecutionPlan>, under: usize, top: &Top) -> Result<Arc<dyn ExecutionPlan>> {
    let input = plan.children()[0].clone();
    let input = match under {
        0 if !input.is::<RepartitionExec>() => TopOfRunsExec::plan(input, top.clone()),
        _ => put(input, under.saturating_sub(1), top)?,
    };
    replace_children_if_necessary(plan, vec![input])
}

/// Leaves out rows of which enough others of their run stand before them.
struct TopOfRunsExec {
    input: Arc<dyn ExecutionPlan>,
    top: Top,
    metrics: ExecutionPlanMetricsSet,
}

impl TopOfRunsExec {
    fn plan(input: Arc<dyn ExecutionPlan>, top: Top) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self {
            input,
            top,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl Top {
    /// The rows that stay.
    fn of(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let runs = runs_of(&evaluate_expressions_to_arrays(&self.keys, &batch)?);
        if runs.len() * RUN > batch.num_rows() {
            return Ok(batch);
        }
        let order = Order::of(&self.order, &batch)?;
        let (mut stay, mut run_rows) = (vec![], vec![]);
        for run in runs {
            let rows = run.start as u32..run.end as u32;
            match (self.places, self.ties) {
                (1, false) => {
                    stay.extend(rows.reduce(|first, row| match order.compare(row, first) {
                        Ordering::Less => row,
                        _ => first,
                    }))
                }
                _ => {
                    run_rows.clear();
                    run_rows.extend(rows);
                    stay.extend(self.first(&order, &mut run_rows));
                }
            }
        }
        Ok(take_record_batch(&batch, &UInt32Array::from(stay))?)
    }

    /// The first rows of one run, in their order of before.
    fn first<'a>(&self, order: &Order, rows: &'a mut [u32]) -> &'a [u32] {
        if rows.len() <= self.places {
            return rows;
        }
        rows.sort_by(|a, b| order.compare(*a, *b));
        let last = rows[self.places - 1];
        let equal = |row: &&u32| self.ties && order.compare(**row, last).is_eq();
        let places = self.places + rows[self.places..].iter().take_while(equal).count();
        let rows = &mut rows[..places];
        rows.sort_unstable();
        rows
    }
}

/// The order of the rows of a batch.
struct Order(Vec<DynComparator>);

impl Order {
    fn of(order: &[PhysicalSortExpr], batch: &RecordBatch) -> Result<Self> {
        let of = |by: &PhysicalSortExpr| {
            let values: ArrayRef = by.expr.evaluate(batch)?.into_array(batch.num_rows())?;
            Ok(make_comparator(&values, &values, by.options)?)
        };
        order.iter().map(of).collect::<Result<_>>().map(Self)
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        let each = self.0.iter().map(|compare| compare(a as usize, b as usize));
        each.fold(Ordering::Equal, Ordering::then)
    }
}

impl Debug for TopOfRunsExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for TopOfRunsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let listed = |list: Vec<String>| list.join(", ");
        let keys = listed(self.top.keys.iter().map(ToString::to_string).collect());
        let order = listed(self.top.order.iter().map(ToString::to_string).collect());
        let places = self.top.places;
        write!(f, "TopOfRunsExec: {places} of each [{keys}] by [{order}]")
    }
}

impl ExecutionPlan for TopOfRunsExec {
    fn name(&self) -> &str {
        "TopOfRunsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let order = self.top.order.iter().map(|by| &by.expr);
        for expr in self.top.keys.iter().chain(order) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Self::plan(children.swap_remove(0), self.top.clone()))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        let size = context.session_config().batch_size();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        // Of a batch a handful of rows stays.
        let full = BatchCoalescer::new(self.schema(), size);
        let state = Some((input, full, self.top.clone(), metrics));
        let rows = stream::try_unfold(state, async |state| {
            let Some((mut input, mut full, top, metrics)) = state else {
                return Ok::<_, DataFusionError>(None);
            };
            loop {
                if let Some(batch) = full.next_completed_batch() {
                    metrics.record_output(batch.num_rows());
                    return Ok(Some((batch, Some((input, full, top, metrics)))));
                }
                let Some(batch) = input.try_next().await? else {
                    full.finish_buffered_batch()?;
                    let Some(batch) = full.next_completed_batch() else {
                        return Ok(None);
                    };
                    metrics.record_output(batch.num_rows());
                    return Ok(Some((batch, None)));
                };
                let timer = metrics.elapsed_compute().timer();
                full.push_batch(top.of(batch)?)?;
                timer.done();
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}
