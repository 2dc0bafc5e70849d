//! A physical optimizer rule: rows of one group that follow one another are looked up once, not one by one.
//!
//! DataFusion 55.2 hashes the key of every row and looks for it in its table of groups.
//!
//! ```text
//! AggregateExec: mode=FinalPartitioned, gby=[log_id], aggr=[sum(bytes_read)]
//!   RepartitionExec: Hash([log_id])
//!     GroupRunsExec: mode=Partial, gby=[log_id], aggr=[sum(bytes_read)]        was an AggregateExec
//!       DataSourceExec
//! ```
//!
//! The table of groups and the functions are DataFusion's own, and what the node gives is what the node in whose place it stands would
//! give: states of groups, or their results. Whether the rows come in runs is seen from the first of them; where they do not, that other
//! node is asked. No order is asked for or stated, so none can be false.
//!
//! The rule stands last but for the check of the plan, when nothing looks for groupings to merge or to limit any more.

use super::{RUN, runs_of};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_arrays;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{GroupsAccumulatorAdapter, PhysicalExpr};
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateMode, aggregate_expressions, evaluate_group_by,
};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    InputDistributionRequirements, InputOrderMode, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Display, Formatter};
use std::iter::repeat_n;
use std::sync::{Arc, Mutex};

/// So many rows tell whether they come in runs.
const SAMPLE: usize = 2048;

/// The rule.
#[derive(Debug)]
pub(in crate::engine) struct GroupRuns;

impl PhysicalOptimizerRule for GroupRuns {
    fn name(&self) -> &str {
        "group_runs"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match plan.downcast_ref::<AggregateExec>() {
            Some(grouping) if groups_rows(grouping) => {
                let runs = GroupRunsExec::try_new(Arc::new(grouping.clone()))?;
                Ok(Transformed::yes(Arc::new(runs) as _))
            }
            _ => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Whether rows, not states, are grouped in the plain way: one set of keys, no order, no limit.
fn groups_rows(grouping: &AggregateExec) -> bool {
    let of_rows = matches!(
        grouping.mode(),
        AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    let ordered = |function: &Arc<AggregateFunctionExpr>| !function.order_bys().is_empty();
    of_rows
        && grouping.group_expr().is_single()
        && !grouping.group_expr().is_empty()
        && *grouping.input_order_mode() == InputOrderMode::Linear
        && grouping.limit_options().is_none()
        && grouping.dynamic_expressions_produced().is_empty()
        && !grouping.aggr_expr().iter().any(ordered)
}

/// A grouping that looks up runs of rows. What it gives, and what it says of it, is `grouping`'s.
#[derive(Clone)]
struct GroupRunsExec {
    grouping: Arc<AggregateExec>,
    /// The same grouping, giving states.
    partial: Arc<AggregateExec>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupRunsExec {
    fn try_new(grouping: Arc<AggregateExec>) -> Result<Self> {
        let partial = match grouping.mode() {
            AggregateMode::Partial => grouping.clone(),
            _ => Arc::new(AggregateExec::try_new(
                AggregateMode::Partial,
                grouping.group_expr().clone(),
                grouping.aggr_expr().to_vec(),
                grouping.filter_expr().to_vec(),
                grouping.input().clone(),
                grouping.input_schema(),
            )?),
        };
        Ok(Self {
            grouping,
            partial,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    fn gives_states(&self) -> bool {
        *self.grouping.mode() == AggregateMode::Partial
    }

    /// The groups of one partition.
    async fn groups(
        self,
        mut input: SendableRecordBatchStream,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (mut first, mut rows, mut runs) = (vec![], 0, 0);
        while rows < SAMPLE
            && let Some(batch) = input.try_next().await?
        {
            runs += runs_of(&keys(&self.grouping, &batch)?).len();
            rows += batch.num_rows();
            first.push(batch);
        }
        let schema = input.schema();
        let input = stream::iter(first.into_iter().map(Ok)).chain(input);
        let input: SendableRecordBatchStream =
            Box::pin(RecordBatchStreamAdapter::new(schema, input));
        if runs * RUN > rows {
            let begun = Begun::plan(input, partition)?;
            let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
            return self
                .grouping
                .replace_children(vec![begun], keep)?
                .execute(partition, context);
        }
        let mut table = Table::try_new(&self, input, partition, &context)?;
        if self.gives_states() {
            return Ok(table.into_states());
        }
        if table.fill().await? {
            let results = table.take(
                |function| Ok(vec![function.evaluate(EmitTo::All)?]),
                self.schema(),
            )?;
            return Ok(batches(self.schema(), results));
        }
        // More groups than memory: DataFusion's own grouping of states spills.
        AggregateExec::try_new(
            AggregateMode::Final,
            self.grouping.group_expr().as_final(),
            self.grouping.aggr_expr().to_vec(),
            vec![None; self.grouping.aggr_expr().len()],
            Begun::plan(table.into_states(), partition)?,
            self.grouping.input_schema(),
        )?
        .execute(partition, context)
    }
}

/// The keys of rows. There is one set of them: the rule looked.
fn keys(grouping: &AggregateExec, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    Ok(evaluate_group_by(grouping.group_expr(), batch)?.swap_remove(0))
}

fn batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> SendableRecordBatchStream {
    let batches = stream::iter(batches.into_iter().map(Ok));
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// The groups so far, and what each function holds for each of them.
struct Table {
    grouping: Arc<AggregateExec>,
    input: SendableRecordBatchStream,
    values: Box<dyn GroupValues>,
    functions: Vec<Function>,
    /// The group of each row, and of each run, of the batch at hand.
    groups: (Vec<usize>, Vec<usize>),
    batch_size: usize,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
}

struct Function {
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    groups: Box<dyn GroupsAccumulator>,
}

impl Table {
    fn try_new(
        node: &GroupRunsExec,
        input: SendableRecordBatchStream,
        partition: usize,
        context: &TaskContext,
    ) -> Result<Self> {
        let grouping = node.partial.clone();
        let arguments = aggregate_expressions(grouping.aggr_expr(), grouping.mode(), 0)?;
        let functions = grouping.aggr_expr().iter().zip(arguments);
        let functions = functions
            .zip(grouping.filter_expr())
            .map(|((function, arguments), filter)| {
                Ok(Function {
                    arguments,
                    filter: filter.clone(),
                    groups: held_by_group(function)?,
                })
            })
            .collect::<Result<_>>()?;
        let keys = grouping.group_expr().group_schema(&input.schema())?;
        Ok(Self {
            input,
            values: new_group_values(keys, &GroupOrdering::None)?,
            functions,
            groups: Default::default(),
            batch_size: context.session_config().batch_size(),
            reservation: MemoryConsumer::new(format!("GroupRunsExec[{partition}]"))
                .with_can_spill(true)
                .register(context.memory_pool()),
            metrics: BaselineMetrics::new(&node.metrics, partition),
            grouping,
        })
    }

    /// Takes in rows until there are no more, which is true, or no more memory for their groups, which is false.
    async fn fill(&mut self) -> Result<bool> {
        let computing = self.metrics.elapsed_compute().clone();
        while let Some(batch) = self.input.try_next().await? {
            let timer = computing.timer();
            self.add(&batch)?;
            timer.done();
            if self.reservation.try_resize(self.size()).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = keys(&self.grouping, batch)?;
        let runs = runs_of(&keys);
        let (rows, firsts) = &mut self.groups;
        match runs.len() * RUN > batch.num_rows() {
            true => self.values.intern(&keys, rows)?,
            false => {
                let starts = runs.iter().map(|run| run.start as u32);
                let starts = UInt32Array::from_iter_values(starts);
                let keys = take_arrays(&keys, &starts, None)?;
                self.values.intern(&keys, firsts)?;
                rows.clear();
                for (run, group) in runs.iter().zip(firsts.iter()) {
                    rows.extend(repeat_n(*group, run.len()));
                }
            }
        }
        let total = self.values.len();
        for function in &mut self.functions {
            let arguments = evaluate_expressions_to_arrays(&function.arguments, batch)?;
            let filter = match &function.filter {
                Some(filter) => Some(filter.evaluate(batch)?.into_array(batch.num_rows())?),
                None => None,
            };
            let filter = filter.as_ref().map(|filter| filter.as_boolean());
            function
                .groups
                .update_batch(&arguments, rows, filter, total)?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        let functions = self.functions.iter().map(|function| function.groups.size());
        let (rows, firsts) = &self.groups;
        let indices = (rows.capacity() + firsts.capacity()) * size_of::<usize>();
        self.values.size() + functions.sum::<usize>() + indices
    }

    /// All groups, in batches: their keys, then of each function what `of` makes of it. The table is empty again.
    fn take(
        &mut self,
        of: impl Fn(&mut dyn GroupsAccumulator) -> Result<Vec<ArrayRef>>,
        schema: SchemaRef,
    ) -> Result<Vec<RecordBatch>> {
        if self.values.is_empty() {
            return Ok(vec![]);
        }
        let computing = self.metrics.elapsed_compute().clone();
        let timer = computing.timer();
        let mut columns = self.values.emit(EmitTo::All)?;
        for function in &mut self.functions {
            columns.extend(of(function.groups.as_mut())?);
        }
        self.values.clear_shrink(0);
        let all = RecordBatch::try_new(schema, columns)?;
        timer.done();
        self.metrics.record_output(all.num_rows());
        let starts = (0..all.num_rows()).step_by(self.batch_size);
        let length = |start| self.batch_size.min(all.num_rows() - start);
        Ok(starts
            .map(|start| all.slice(start, length(start)))
            .collect())
    }

    /// The states of all groups; of those of which there is no memory for all at once, several states.
    fn into_states(self) -> SendableRecordBatchStream {
        let schema = self.grouping.schema();
        let states = stream::try_unfold(Some(self), async |table| {
            let Some(mut table) = table else {
                return Ok::<_, DataFusionError>(None);
            };
            let ended = table.fill().await?;
            let states = table.take(
                |function| function.state(EmitTo::All),
                table.grouping.schema(),
            )?;
            table.reservation.free();
            let states = stream::iter(states.into_iter().map(Ok));
            Ok(Some((states, (!ended).then_some(table))))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, states.try_flatten()))
    }
}

/// What a function holds for all groups, or one of it for each group where it knows no better.
fn held_by_group(function: &Arc<AggregateFunctionExpr>) -> Result<Box<dyn GroupsAccumulator>> {
    if function.groups_accumulator_supported() {
        return function.create_groups_accumulator();
    }
    let function = function.clone();
    let one = move || function.create_accumulator();
    Ok(Box::new(GroupsAccumulatorAdapter::new(one)))
}

/// Rows that have begun to come, as a leaf of a plan.
struct Begun {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl Begun {
    /// A plan that gives the rows once, as this partition.
    fn plan(rows: SendableRecordBatchStream, partition: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = rows.schema();
        let begun: Arc<dyn PartitionStream> = Arc::new(Self {
            schema: schema.clone(),
            rows: Mutex::new(Some(rows)),
        });
        let partitions = vec![begun; partition + 1];
        let plan = StreamingTableExec::try_new(schema, partitions, None, [], false, None)?;
        Ok(Arc::new(plan))
    }
}

impl Debug for Begun {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begun")
    }
}

impl PartitionStream for Begun {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(|e| e.into_inner()).take();
        rows.unwrap_or_else(|| batches(self.schema.clone(), vec![]))
    }
}

impl Debug for GroupRunsExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for GroupRunsExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let shown = Shown(&self.grouping, form).to_string();
        f.write_str(&shown.replacen("AggregateExec", "GroupRunsExec", 1))
    }
}

/// How a grouping shows itself.
struct Shown<'a>(&'a AggregateExec, DisplayFormatType);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt_as(self.1, f)
    }
}

impl ExecutionPlan for GroupRunsExec {
    fn name(&self) -> &str {
        "GroupRunsExec"
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
        match grouping.downcast_ref::<AggregateExec>() {
            Some(grouping) => Ok(Arc::new(Self::try_new(Arc::new(grouping.clone()))?)),
            None => Ok(grouping),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.grouping.input().execute(partition, context.clone())?;
        let groups = self.clone().groups(input, partition, context);
        let groups = stream::once(groups).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            groups,
        )))
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
