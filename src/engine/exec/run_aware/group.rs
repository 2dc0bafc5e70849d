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
//! node is asked. No order is asked for or stated, so none can be false. Where a filter lies below, rows that it does not keep are
//! passed over, not the others copied; `EXPLAIN ANALYZE` then counts nothing for the filter.
//!
//! Where the files store all columns that are asked for as runs, rows are not written out to be gathered again: a row then stands for as many
//! as are alike ([`super::rle_scan`]).
//!
//! Where nothing is grouped, all rows are one run, and the node stands where that spares the copy of what a filter keeps: for counts,
//! sums and extremes above a filter.
//!
//! The rule stands behind all that plan, when nothing looks for groupings to merge or to limit any more.

use super::fixed_keys::{runs_of, told_apart};
use super::function::{Function, OneGroup};
use super::replay::{ReplayExec, Shown, begin};
use super::rle_scan::RunScan;
use super::run_states::{Reduction, valid};
use super::sample::RUN;
use super::selection::SelectedBatch;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use crate::engine::planning::constant_keys::plain_input;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_arrays;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateMode, aggregate_expressions, evaluate_group_by,
};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    InputDistributionRequirements, InputOrderMode, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Formatter};
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "group_runs",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let grouping = node.downcast_ref::<AggregateExec>();
    let grouping = grouping.filter(|grouping| groups_rows(grouping));
    let runs = grouping.map(|grouping| {
        let grouping = plain_input(grouping.clone())?;
        GroupRunsExec::try_new(Arc::new(grouping))
    });
    Ok(runs.transpose()?.map(|runs| Arc::new(runs) as Node))
}

/// Whether rows, not states, are grouped in the plain way: one set of keys, no order, no limit. All rows that a filter keeps are a
/// group, too, if what is asked of them is one number of a run. A filter that an extreme of all rows produces while it runs is asked for by
/// nobody, for no session has dynamic filters.
fn groups_rows(grouping: &AggregateExec) -> bool {
    let of_rows = matches!(
        grouping.mode(),
        AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    let ordered = |function: &Arc<AggregateFunctionExpr>| !function.order_bys().is_empty();
    of_rows
        && grouping.group_expr().is_single()
        && (!grouping.group_expr().is_empty() || totals_of_kept_rows(grouping))
        && *grouping.input_order_mode() == InputOrderMode::Linear
        && grouping.limit_options().is_none()
        && !grouping.aggr_expr().iter().any(ordered)
}

/// Whether a grouping by nothing need not copy what a filter keeps.
fn totals_of_kept_rows(grouping: &AggregateExec) -> bool {
    let mut functions = grouping.aggr_expr().iter();
    grouping.input().is::<FilterExec>()
        && functions.all(|function| Reduction::of(function).is_some())
}

/// A grouping that looks up runs of rows. What it gives, and what it says of it, is `grouping`'s.
#[derive(Clone)]
struct GroupRunsExec {
    grouping: Arc<AggregateExec>,
    /// The same grouping, giving states.
    partial: Arc<AggregateExec>,
    /// What is below it, if that is a filter: its rows are not copied, but passed over.
    filter: Option<Arc<FilterExec>>,
    /// What gives runs, if that is a scan and nobody needs the rows.
    scan: Option<Arc<RunScan>>,
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
        let filter = grouping.input().downcast_ref::<FilterExec>();
        let filter = filter.filter(|filter| filter.fetch().is_none()).cloned();
        let scan = match takes_runs(&grouping, filter.as_ref()) {
            true => RunScan::of(source(&grouping, filter.as_ref()), filter.as_ref()),
            false => None,
        };
        Ok(Self {
            grouping,
            partial,
            filter: filter.map(Arc::new),
            scan: scan.map(Arc::new),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Where the rows come from.
    fn source(&self) -> &Arc<dyn ExecutionPlan> {
        source(&self.grouping, self.filter.as_deref())
    }

    fn gives_states(&self) -> bool {
        *self.grouping.mode() == AggregateMode::Partial
    }

    /// The groups of one partition.
    async fn groups(
        self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if let Some(scan) = &self.scan
            && let Some(runs) = scan.runs(partition, &context).await?
        {
            return self.grouped(runs, true, partition, context).await;
        }
        let input = self.source().execute(partition, context.clone())?;
        let (first, input) = begin(input).await?;
        let (mut rows, mut runs) = (0, 0);
        for batch in first {
            if let Some(kept) = SelectedBatch::of(self.filter.as_deref(), batch)? {
                let batch = kept.copied()?.batch;
                runs += runs_of(&keys(&self.grouping, &batch)?).len();
                rows += batch.num_rows();
            }
        }
        if runs * RUN > rows {
            let keep = || ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
            let mut begun = ReplayExec::plan(self.source(), input);
            if let Some(filter) = self.filter {
                begun = filter.replace_children(vec![begun], keep())?;
            }
            return self
                .grouping
                .replace_children(vec![begun], keep())?
                .execute(partition, context);
        }
        self.grouped(input, false, partition, context).await
    }

    /// The groups of rows that come in runs, or `of_runs`, as these.
    async fn grouped(
        self,
        input: SendableRecordBatchStream,
        of_runs: bool,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut table = Table::try_new(&self, input, of_runs, partition, &context)?;
        let ended = table.fill().await?;
        if self.gives_states() {
            return Ok(table.into_states(ended));
        }
        if ended {
            let results = table.take(
                |function| Ok(vec![function.evaluate(EmitTo::All)?]),
                self.schema(),
            )?;
            // The table goes with the last of them, and with it its reservation.
            let results = stream::iter(results).map(move |batch| {
                let _ = &table;
                Ok(batch)
            });
            let results = RecordBatchStreamAdapter::new(self.schema(), results);
            return Ok(Box::pin(results));
        }
        // More groups than memory: DataFusion's own grouping of states spills.
        AggregateExec::try_new(
            AggregateMode::Final,
            self.grouping.group_expr().as_final(),
            self.grouping.aggr_expr().to_vec(),
            vec![None; self.grouping.aggr_expr().len()],
            ReplayExec::plan(&(self.partial.clone() as _), table.into_states(false)),
            self.grouping.input_schema(),
        )?
        .execute(partition, context)
    }
}

/// Where the rows of a grouping come from, below the filter.
fn source<'a>(
    grouping: &'a AggregateExec,
    filter: Option<&'a FilterExec>,
) -> &'a Arc<dyn ExecutionPlan> {
    filter.map_or(grouping.input(), FilterExec::input)
}

/// Whether a grouping gives the same of runs as of rows: no function needs each row, and no expression is another for each.
fn takes_runs(grouping: &AggregateExec, filter: Option<&FilterExec>) -> bool {
    let keys = grouping.group_expr().expr().iter().map(|(key, _)| key);
    let functions = grouping.aggr_expr();
    let arguments = functions.iter().flat_map(|function| function.expressions());
    let filters = grouping.filter_expr().iter().flatten();
    let condition = filter.map(FilterExec::predicate);
    functions
        .iter()
        .all(|function| Function::takes_runs(function))
        && !keys.chain(filters).chain(condition).any(is_volatile)
        && !arguments.collect::<Vec<_>>().iter().any(is_volatile)
}

/// The keys of rows. There is one set of them, the rule looked, or none.
fn keys(grouping: &AggregateExec, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let mut sets = evaluate_group_by(grouping.group_expr(), batch)?;
    Ok(sets.pop().unwrap_or_default())
}

/// The groups so far, and what each function holds for each of them.
struct Table {
    grouping: Arc<AggregateExec>,
    input: SendableRecordBatchStream,
    filter: Option<Arc<FilterExec>>,
    /// Whether all functions can pass over rows that the filter does not keep.
    passes_over: bool,
    values: Box<dyn GroupValues>,
    functions: Vec<Function>,
    /// The group of each row, and of each run, of the batch at hand.
    groups: (Vec<usize>, Vec<usize>),
    batch_size: usize,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
    /// How many rows of the input stood for several; None if each is one.
    stored_runs: Option<Count>,
}

impl Table {
    fn try_new(
        node: &GroupRunsExec,
        input: SendableRecordBatchStream,
        of_runs: bool,
        partition: usize,
        context: &TaskContext,
    ) -> Result<Self> {
        let grouping = node.partial.clone();
        let arguments = aggregate_expressions(grouping.aggr_expr(), grouping.mode(), 0)?;
        let functions = grouping.aggr_expr().iter().zip(arguments);
        let keys = grouping
            .group_expr()
            .group_schema(&grouping.input().schema())?;
        let of_keys = !keys.fields().is_empty();
        let functions: Vec<Function> = functions
            .zip(grouping.filter_expr())
            .map(|((function, arguments), filter)| {
                Function::new(function, arguments, filter.clone(), of_keys)
            })
            .collect::<Result<_>>()?;
        let values = match of_keys {
            true => new_group_values(keys, &GroupOrdering::None)?,
            false => Box::<OneGroup>::default(),
        };
        Ok(Self {
            input,
            filter: node.filter.clone(),
            passes_over: functions.iter().all(Function::reduces),
            values,
            functions,
            groups: Default::default(),
            batch_size: context.session_config().batch_size(),
            reservation: MemoryConsumer::new(format!("GroupRunsExec[{partition}]"))
                .with_can_spill(true)
                .register(context.memory_pool()),
            metrics: BaselineMetrics::new(&node.metrics, partition),
            stored_runs: of_runs
                .then(|| MetricBuilder::new(&node.metrics).counter("stored_runs", partition)),
            grouping,
        })
    }

    /// Takes in rows until there are no more, which is true, or no more memory for their groups, which is false.
    async fn fill(&mut self) -> Result<bool> {
        let computing = self.metrics.elapsed_compute().clone();
        while let Some(batch) = self.input.try_next().await? {
            let timer = computing.timer();
            let kept = match &self.stored_runs {
                Some(stored) => {
                    stored.add(batch.num_rows());
                    SelectedBatch::of_runs(self.filter.as_deref(), &batch)?
                }
                None => SelectedBatch::of(self.filter.as_deref(), batch)?,
            };
            if let Some(kept) = kept {
                let few = kept.count * 2 < kept.batch.num_rows();
                let copy = !self.passes_over || few || kept.times.is_some();
                self.add(if copy { kept.copied()? } else { kept })?;
            }
            timer.done();
            if self.reservation.try_resize(self.size()).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, kept: SelectedBatch) -> Result<()> {
        let (keys, of_runs) = match self.look_at(&kept) {
            // What the filter does not keep may be what an expression fails of.
            Err(_) if kept.rows.is_some() => return self.add(kept.copied()?),
            Ok((_, None)) if kept.rows.is_some() => return self.add(kept.copied()?),
            looked_at => looked_at?,
        };
        let batch = &kept.batch;
        let (rows, firsts) = &mut self.groups;
        rows.clear();
        let Some(OfRuns {
            runs,
            which,
            states,
        }) = of_runs
        else {
            self.values.intern(&keys, rows)?;
            let total = self.values.len();
            for function in &mut self.functions {
                function.update(batch, rows, total)?;
            }
            return Ok(());
        };
        self.values.intern(&keys, firsts)?;
        if let Some(which) = which {
            *firsts = which.into_iter().map(|i| firsts[i as usize]).collect();
        }
        let total = self.values.len();
        for (function, states) in self.functions.iter_mut().zip(states) {
            if let Some(states) = states {
                function.groups.merge_batch(&[states], firsts, total)?;
                continue;
            }
            if rows.is_empty() {
                for (run, group) in runs.iter().zip(firsts.iter()) {
                    rows.extend(repeat_n(*group, run.len()));
                }
            }
            function.update(batch, rows, total)?;
        }
        Ok(())
    }

    /// The keys of all runs with a row that counts, and what functions make of these; of all rows, and nothing, if runs are too short.
    fn look_at(&self, kept: &SelectedBatch) -> Result<(Vec<ArrayRef>, Option<OfRuns>)> {
        let keys = keys(&self.grouping, &kept.batch)?;
        let all = 0..kept.batch.num_rows();
        let mut runs = match keys.is_empty() {
            true => vec![all],
            false => runs_of(&keys),
        };
        let counts = kept.rows.as_ref().map(|rows| {
            let mut counts = vec![];
            runs.retain(|run| {
                let count = valid(run, rows);
                counts.extend((count > 0).then_some(count as i64));
                count > 0
            });
            Int64Array::from(counts)
        });
        if kept.times.is_none() && runs.len() * RUN > kept.count && !keys.is_empty() {
            return Ok((keys, None));
        }
        let starts = runs.iter().map(|run| run.start);
        let (rows, which) = match told_apart(&keys, starts.clone()) {
            Some((rows, which)) => (rows, Some(which)),
            None => (starts.map(|start| start as u32).collect(), None),
        };
        let keys = take_arrays(&keys, &UInt32Array::from(rows), None)?;
        let states = self.functions.iter();
        let states = states.map(|f| f.states(kept, &runs, counts.as_ref()));
        let states = states.collect::<Result<_>>()?;
        Ok((
            keys,
            Some(OfRuns {
                runs,
                which,
                states,
            }),
        ))
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
        self.reservation.resize(get_record_batch_memory_size(&all));
        timer.done();
        self.metrics.record_output(all.num_rows());
        let starts = (0..all.num_rows()).step_by(self.batch_size);
        let length = |start| self.batch_size.min(all.num_rows() - start);
        Ok(starts
            .map(|start| all.slice(start, length(start)))
            .collect())
    }

    /// The states of all groups, of which some may be in several; `ended` says whether all rows are in the table.
    fn into_states(self, ended: bool) -> SendableRecordBatchStream {
        let schema = self.grouping.schema();
        let states = stream::try_unfold((self, ended, true), async |(mut table, ended, first)| {
            if ended && !first {
                return Ok::<_, DataFusionError>(None);
            }
            let ended = match first {
                true => ended,
                false => table.fill().await?,
            };
            let states = table.take(
                |function| function.state(EmitTo::All),
                table.grouping.schema(),
            )?;
            let states = stream::iter(states.into_iter().map(Ok));
            Ok(Some((states, (table, ended, false))))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, states.try_flatten()))
    }
}

/// Runs of a batch, and of each function that has them their states.
struct OfRuns {
    runs: Vec<Range<usize>>,
    /// Of each run, which of the keys are its own; None if there is one for each.
    which: Option<Vec<u32>>,
    states: Vec<Option<ArrayRef>>,
}

impl Debug for GroupRunsExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for GroupRunsExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let shown = Shown(self.grouping.as_ref(), form).to_string();
        f.write_str(&shown.replacen("AggregateExec", "GroupRunsExec", 1))?;
        match self.scan {
            Some(_) => f.write_str(", may take stored runs"),
            None => Ok(()),
        }
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
        let groups = self.clone().groups(partition, context);
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
