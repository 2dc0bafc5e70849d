//! A physical optimizer rule: aggregates over whole partitions of a window are computed for many partitions at once, as rows come.
//!
//! `sum(x) OVER (PARTITION BY k)` has one value for each `k`. DataFusion 55.2 reads all rows first and then makes an accumulator for each partition:
//! some microseconds each, where most have two rows, and all rows twice in memory.
//!
//! ```text
//! PartitionValuesExec: [sum(own_file)] by [fs, ost, time]        was WindowAggExec: .. ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
//!   SortExec: [fs, ost, time]
//! ```
//!
//! Rows come sorted by the keys of the partitions. A batch is given once the partition of its last row has ended, so that no more is held than the batches of one
//! partition, and the one in which it ends.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat, partition, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::window::PlainAggregateWindowExpr;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
    WindowExpr,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::VecDeque;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "partition_values",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let window = node.downcast_ref::<WindowAggExec>();
    Ok(window
        .and_then(PartitionValuesExec::of)
        .map(|of| Arc::new(of) as Node))
}

/// The windows of this node, if it is one.
pub(in crate::engine) fn windows(node: &Node) -> Option<&[Arc<dyn WindowExpr>]> {
    let values = node.downcast_ref::<PartitionValuesExec>();
    values.map(|values| values.window.window_expr())
}

/// Gives each row the values of its partition, as the window would.
#[derive(Clone)]
struct PartitionValuesExec {
    window: Arc<WindowAggExec>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartitionValuesExec {
    /// In the place of a window whose functions have one value for each partition, and whose rows come sorted by partition.
    fn of(window: &WindowAggExec) -> Option<Self> {
        let keys = window.window_expr().first()?.partition_by().len();
        let sorted = window.partition_by_sort_keys().ok()?;
        let is_sorted = keys > 0 && sorted.len() == keys;
        let is_known = |of: &Arc<dyn WindowExpr>| aggregate(of).is_some();
        (is_sorted && window.window_expr().iter().all(is_known)).then(|| Self {
            window: Arc::new(window.clone()),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    fn values(&self) -> Result<Values> {
        let windows = self.window.window_expr();
        let functions = windows.iter().filter_map(aggregate);
        let functions = functions.map(|function| {
            let accumulator = function.create_groups_accumulator()?;
            Ok((function.expressions(), accumulator))
        });
        Ok(Values {
            schema: self.schema(),
            keys: windows[0].partition_by().to_vec(),
            functions: functions.collect::<Result<_>>()?,
            held: VecDeque::new(),
            partitions: 0,
            given: 0,
            open: None,
            last: vec![],
        })
    }
}

/// The aggregate of a window over whole partitions, if many of its values can be computed at once and no order of rows changes them.
fn aggregate(window: &Arc<dyn WindowExpr>) -> Option<&AggregateFunctionExpr> {
    let plain = window.as_any().downcast_ref::<PlainAggregateWindowExpr>()?;
    let frame = window.get_window_frame();
    let is_whole = window.order_by().is_empty()
        && frame.start_bound.is_unbounded()
        && frame.end_bound.is_unbounded();
    // DataFusion does not give the filter of a window; what it prints ends with it.
    let has_filter = !format!("{plain:?}").ends_with("filter: None }");
    let function = plain.get_aggregate_expr();
    let is_plain = !function.is_distinct()
        && function.order_bys().is_empty()
        && function.order_sensitivity() == AggregateOrderSensitivity::Insensitive
        && function.groups_accumulator_supported();
    (is_whole && !has_filter && is_plain).then_some(function)
}

/// Rows on their way, and the values of their partitions, which are numbered as they come.
struct Values {
    schema: SchemaRef,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    functions: Vec<Function>,
    held: VecDeque<Held>,
    /// Partitions that have begun.
    partitions: usize,
    /// Those whose values were asked for.
    given: usize,
    /// The key of the last one.
    open: Option<Vec<ArrayRef>>,
    /// The values of the last one that was asked for: rows of it may be held.
    last: Vec<ArrayRef>,
}

/// An aggregate: its arguments, and its values by partition.
type Function = (Vec<Arc<dyn PhysicalExpr>>, Box<dyn GroupsAccumulator>);

/// A batch, and the partition of each of its rows, ascending.
struct Held {
    batch: RecordBatch,
    partitions: Vec<usize>,
}

impl Held {
    /// That of its last row.
    fn last(&self) -> usize {
        self.partitions.last().copied().unwrap_or_default()
    }
}

impl Values {
    /// Takes a batch in, and gives those whose partitions have ended.
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        if batch.num_rows() == 0 {
            return Ok(vec![]);
        }
        let partitions = self.partitions_of(&batch)?;
        let groups: Vec<usize> = partitions.iter().map(|of| of - self.given).collect();
        for (arguments, accumulator) in &mut self.functions {
            let values = evaluated(arguments, &batch)?;
            accumulator.update_batch(&values, &groups, None, self.partitions - self.given)?;
        }
        self.held.push_back(Held { batch, partitions });
        let ended = self.partitions - 1;
        let batches = self.held.partition_point(|held| held.last() < ended);
        self.give(batches)
    }

    /// Gives the rest.
    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.give(self.held.len())
    }

    /// The partition of each row of a batch.
    fn partitions_of(&mut self, batch: &RecordBatch) -> Result<Vec<usize>> {
        let keys = evaluated(&self.keys, batch)?;
        let row = |at: usize| keys.iter().map(|key| key.slice(at, 1)).collect::<Vec<_>>();
        let goes_on = match &self.open {
            None => false,
            Some(open) => {
                let both = open.iter().zip(row(0));
                let both = both.map(|(open, first)| concat(&[open, &first]));
                let both = both.collect::<std::result::Result<Vec<_>, _>>()?;
                partition(&both)?.len() == 1
            }
        };
        let first = self.partitions - usize::from(goes_on);
        let mut partitions = Vec::with_capacity(batch.num_rows());
        for (number, rows) in partition(&keys)?.ranges().into_iter().enumerate() {
            partitions.extend(std::iter::repeat_n(first + number, rows.len()));
            self.partitions = first + number + 1;
        }
        self.open = Some(row(batch.num_rows() - 1));
        Ok(partitions)
    }

    /// Gives the first of the batches that are held, whose partitions have ended.
    fn give(&mut self, batches: usize) -> Result<Vec<RecordBatch>> {
        let Some(ended) = self.held.iter().take(batches).map(Held::last).next_back() else {
            return Ok(vec![]);
        };
        // The first rows may be of the last partition that was asked for.
        let from = self.given - usize::from(!self.last.is_empty());
        let mut values = std::mem::take(&mut self.last);
        let new = ended + 1 - self.given;
        if new > 0 {
            let new = self
                .functions
                .iter_mut()
                .map(|(_, accumulator)| accumulator.evaluate(EmitTo::First(new)));
            let new = new.collect::<Result<Vec<_>>>()?;
            values = match values.is_empty() {
                true => new,
                false => {
                    let both = values.iter().zip(&new);
                    let both = both.map(|(last, new)| concat(&[last.as_ref(), new.as_ref()]));
                    both.collect::<std::result::Result<_, _>>()?
                }
            };
            self.given = ended + 1;
        }
        let given = self.held.drain(..batches).map(|held| {
            let places = held.partitions.iter().map(|of| (of - from) as u32);
            let places = UInt32Array::from_iter_values(places);
            let mut columns = held.batch.columns().to_vec();
            for values in &values {
                columns.push(take(values, &places, None)?);
            }
            Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
        });
        let given = given.collect::<Result<Vec<_>>>()?;
        self.last = values
            .iter()
            .map(|values| values.slice(values.len() - 1, 1))
            .collect();
        Ok(given)
    }
}

fn evaluated(expressions: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let array = |of: &Arc<dyn PhysicalExpr>| of.evaluate(batch)?.into_array(batch.num_rows());
    expressions.iter().map(array).collect()
}

impl Debug for PartitionValuesExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for PartitionValuesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let windows = self.window.window_expr();
        let names: Vec<&str> = windows.iter().map(|window| window.name()).collect();
        let keys: Vec<String> = windows[0]
            .partition_by()
            .iter()
            .map(ToString::to_string)
            .collect();
        write!(
            f,
            "PartitionValuesExec: [{}] by [{}]",
            names.join(", "),
            keys.join(", ")
        )
    }
}

impl ExecutionPlan for PartitionValuesExec {
    fn name(&self) -> &str {
        "PartitionValuesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.window.input_distribution_requirements()
    }

    fn required_input_ordering(
        &self,
    ) -> Vec<Option<datafusion::physical_expr::OrderingRequirements>> {
        self.window.required_input_ordering()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.window.maintains_input_order()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.window.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.window.apply_expressions(f)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let window = replace_children_if_necessary(self.window.clone(), children)?;
        let of = window.downcast_ref::<WindowAggExec>().and_then(Self::of);
        Ok(of.map_or(window.clone(), |of| Arc::new(of)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.window.input().execute(partition, context)?;
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let given = stream::try_unfold(Some((self.values()?, input)), move |state| {
            let baseline = baseline.clone();
            async move {
                let Some((mut values, mut input)) = state else {
                    return Ok::<_, DataFusionError>(None);
                };
                let batch = input.next().await.transpose()?;
                let timer = baseline.elapsed_compute().timer();
                let (given, rest) = match batch {
                    Some(batch) => (values.push(batch)?, Some((values, input))),
                    None => (values.finish()?, None),
                };
                timer.done();
                baseline.record_output(given.iter().map(RecordBatch::num_rows).sum());
                Ok(Some((stream::iter(given.into_iter().map(Ok)), rest)))
            }
        });
        let rows = given.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.window.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.window.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.window.cardinality_effect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{AsArray, Int64Array};
    use datafusion::arrow::datatypes::Int64Type;
    use datafusion::arrow::util::pretty::pretty_format_batches;
    use datafusion::datasource::MemTable;
    use datafusion::physical_optimizer::PhysicalOptimizerRule;
    use datafusion::physical_plan::{collect, displayable};
    use datafusion::prelude::{SessionConfig, SessionContext};

    /// A table `t` of keys and numbers, in batches of so many rows; keys of up to nine rows each, NULL among them.
    fn context(batch_size: usize) -> SessionContext {
        let config = SessionConfig::new()
            .with_batch_size(batch_size)
            .with_target_partitions(1);
        let context = SessionContext::new_with_config(config);
        let keys = (0..200i64).map(|row| Some(row * 7919 % 40).filter(|key| *key != 3));
        let keys: ArrayRef = Arc::new(
            keys.map(|key| key.map(|key| key * key % 37))
                .collect::<Int64Array>(),
        );
        let numbers = (0..200i64).map(|row| Some(row * 31 % 17).filter(|number| *number != 5));
        let numbers: ArrayRef = Arc::new(numbers.collect::<Int64Array>());
        let rows =
            RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("x", numbers, true)])
                .unwrap();
        let parts = (0..200)
            .step_by(batch_size)
            .map(|at| rows.slice(at, batch_size.min(200 - at)));
        let table = MemTable::try_new(rows.schema(), vec![parts.collect()]).unwrap();
        context.register_table("t", Arc::new(table)).unwrap();
        context
    }

    async fn rows(context: &SessionContext, plan: Node) -> Vec<String> {
        let rows = collect(plan, context.task_ctx()).await.unwrap();
        let rows = pretty_format_batches(&rows).unwrap().to_string();
        let mut rows: Vec<String> = rows.lines().map(String::from).collect();
        rows.sort();
        rows
    }

    /// The plan of DataFusion's own window, and the one of this rule.
    async fn plans(context: &SessionContext, sql: &str) -> [Node; 2] {
        let plan = context
            .sql(sql)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        let config = context.state().config_options().clone();
        [plan.clone(), RULE.optimize(plan, &config).unwrap()]
    }

    #[tokio::test]
    async fn each_row_has_the_values_of_its_partition_however_batches_are_cut() {
        let sql = "SELECT k, x, sum(x) OVER (PARTITION BY k) AS s, count(x) OVER (PARTITION BY k) AS n, min(x) OVER (PARTITION BY k) AS least, \
             avg(x) OVER (PARTITION BY k) AS mean, max(x) OVER (PARTITION BY k, x) AS own FROM t";
        for batch_size in [1, 2, 3, 7, 64, 200] {
            let context = context(batch_size);
            let [window, values] = plans(&context, sql).await;
            let shown = displayable(values.as_ref()).indent(false).to_string();
            assert_eq!(shown.matches("PartitionValuesExec").count(), 2, "{shown}");
            assert!(!shown.contains("WindowAggExec"), "{shown}");
            assert_eq!(rows(&context, values).await, rows(&context, window).await);
        }
    }

    #[tokio::test]
    async fn batches_are_given_when_their_partitions_end() {
        let context = context(4);
        let [_, values] = plans(
            &context,
            "SELECT k, sum(x) OVER (PARTITION BY k) AS s FROM t",
        )
        .await;
        let batches = collect(values, context.task_ctx()).await.unwrap();
        // Rows keep their order and batches their size: nothing is put together or cut.
        assert!(batches.iter().all(|batch| batch.num_rows() <= 4));
        let keys = batches.iter().flat_map(|batch| {
            batch
                .column(0)
                .as_primitive::<Int64Type>()
                .iter()
                .collect::<Vec<_>>()
        });
        let mut seen = vec![];
        for key in keys {
            if seen.last() != Some(&key) {
                assert!(!seen.contains(&key), "{key:?} comes in two parts");
                seen.push(key);
            }
        }
    }

    #[tokio::test]
    async fn other_windows_stay() {
        let context = context(64);
        for of in [
            "sum(x) FILTER (WHERE x > 3) OVER (PARTITION BY k)",
            "sum(x) OVER (PARTITION BY k ORDER BY x)",
            "sum(x) OVER ()",
            "count(DISTINCT x) OVER (PARTITION BY k)",
            "row_number() OVER (PARTITION BY k)",
            "sum(x) OVER (PARTITION BY k ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        ] {
            let [window, values] = plans(&context, &format!("SELECT {of} AS v FROM t")).await;
            let [window, values] =
                [window, values].map(|plan| displayable(plan.as_ref()).indent(false).to_string());
            assert_eq!(window, values, "{of}");
        }
    }
}
