//! A physical optimizer rule: rows of one key that follow one another are looked up in a join once, not one by one.
//!
//! DataFusion 55.2 hashes the key of every row on both sides and looks for it in one hash table of the build side.
//!
//! ```text
//! JoinRunsExec: mode=Partitioned, join_type=Inner, on=[(log_id, log_id), (record_id, record_id)]       was a HashJoinExec
//!   DataSourceExec: darshan_file      build side
//!   DataSourceExec: darshan_posix     probe side: a log's records once for log_id, then each among the files of this log
//! ```
//!
//! Which of the keys stand in runs is seen from the first probe rows; where none does, the rows go to the hash join that the node replaces.
//! Its partitions, order and statistics are also the node's. No order is asked for or stated, so none can be false.

use super::build_table::{BuildTable, Found, NONE, Search};
use super::fixed_keys::runs_of;
use super::replay::{ReplayExec, Shown, batches, begin};
use super::sample::RUN;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::compute::{BatchCoalescer, concat_batches, take};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::common::{JoinSide, JoinType, NullEquality, Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::joins::utils::{ColumnIndex, build_join_schema};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions,
};
use futures::stream::Fuse;
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "join_runs",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let join = node.downcast_ref::<HashJoinExec>();
    let join = join.filter(|join| joins_plainly(join));
    let join = join.map(|join| join.builder().build()).transpose()?;
    Ok(join.map(|join| Arc::new(JoinRunsExec::new(join)) as Node))
}

/// Whether rows are joined partition by partition, by keys that are equal or not, and none come at the end for build rows that met none.
fn joins_plainly(join: &HashJoinExec) -> bool {
    let (left, right) = (join.left().schema(), join.right().schema());
    let plain = |(l, r): &(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)| {
        let types = (l.data_type(&left), r.data_type(&right));
        matches!(types, (Ok(l), Ok(r)) if l == r && is_plain(&l))
    };
    *join.partition_mode() == PartitionMode::Partitioned
        && matches!(
            join.join_type(),
            JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti
        )
        && join.filter().is_none()
        && join.fetch().is_none()
        && !join.null_aware
        && join.null_equality() == NullEquality::NullEqualsNothing
        && join.dynamic_expressions_produced().is_empty()
        && join.on().iter().all(plain)
}

/// Of these types values are equal exactly where their bytes are.
fn is_plain(key: &DataType) -> bool {
    let others = matches!(
        key,
        DataType::Dictionary(..)
            | DataType::RunEndEncoded(..)
            | DataType::Interval(_)
            | DataType::Null
    );
    !(key.is_nested() || key.is_floating() || others)
}

/// A join that looks up runs of rows. What it gives, and what it says of it, is `join`'s.
#[derive(Clone)]
pub(in crate::engine) struct JoinRunsExec {
    join: Arc<HashJoinExec>,
    metrics: ExecutionPlanMetricsSet,
}

impl JoinRunsExec {
    fn new(join: HashJoinExec) -> Self {
        Self {
            join: Arc::new(join),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    pub(in crate::engine) fn join(&self) -> &HashJoinExec {
        &self.join
    }

    /// The rows of one partition.
    async fn joined(
        self,
        build: SendableRecordBatchStream,
        rows: SendableRecordBatchStream,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let memory = MemoryConsumer::new(format!("JoinRunsExec[{partition}]"))
            .register(context.memory_pool());
        let (schema, collected) = (build.schema(), collect(build, &memory).await?);
        let count: usize = collected.iter().map(RecordBatch::num_rows).sum();
        if count == 0 && matches!(self.join.join_type(), JoinType::Inner | JoinType::RightSemi) {
            return Ok(batches(self.schema(), vec![]));
        }
        let (first, rows) = begin(rows).await?;
        let keys = self.keys_in_runs(&first)?;
        if !keys.contains(&true) || count >= NONE as usize {
            memory.free();
            let build = ReplayExec::plan(self.join.left(), batches(schema, collected));
            let rows = ReplayExec::plan(self.join.right(), rows);
            let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
            let join = self.join.replace_children(vec![build, rows], keep)?;
            return join.execute(partition, context);
        }
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let timer = metrics.elapsed_compute().timer();
        let build = concat_batches(&schema, &collected)?;
        drop(collected);
        let rows_only = memory.size();
        memory.try_grow(BuildTable::size_at_most(count))?;
        let on = self.join.on().iter().map(|(build, _)| build.clone());
        let (outer, inner) = Keys::new(on, &keys).of(&build)?;
        let build = BuildTable::try_new(build, outer, inner)?;
        memory.resize(rows_only + build.size());
        timer.done();
        let size = context.session_config().batch_size();
        let joined = Joined {
            of: *self.join.join_type(),
            columns: self.columns(),
            keys: Keys::new(self.join.on().iter().map(|(_, key)| key.clone()), &keys),
            small: BatchCoalescer::new(self.schema(), size),
            schema: self.schema(),
            size,
            build,
            rows: rows.fuse(),
            search: None,
            found: Default::default(),
            metrics,
            _memory: memory,
        };
        Ok(joined.into_rows())
    }
}

/// All rows of the build side.
async fn collect(
    mut rows: SendableRecordBatchStream,
    memory: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    // Of groups for one each batch may be a part of the same buffers.
    let mut counter = RecordBatchMemoryCounter::new();
    let mut collected = vec![];
    while let Some(batch) = rows.try_next().await? {
        memory.try_grow(counter.count_batch(&batch))?;
        collected.push(batch);
    }
    Ok(collected)
}

impl JoinRunsExec {
    /// Which of the keys stand in runs, alone and together, in the rows that look first.
    fn keys_in_runs(&self, first: &[RecordBatch]) -> Result<Vec<bool>> {
        let rows: usize = first.iter().map(RecordBatch::num_rows).sum();
        let on: Vec<_> = self.join.on().iter().map(|(_, key)| key.clone()).collect();
        let keys = first
            .iter()
            .map(|batch| evaluate_expressions_to_arrays(&on, batch));
        let keys: Vec<Vec<ArrayRef>> = keys.collect::<Result<_>>()?;
        let runs = |which: &dyn Fn(usize) -> bool| -> usize {
            let chosen = |keys: &Vec<ArrayRef>| -> Vec<ArrayRef> {
                let chosen = keys.iter().enumerate().filter(|(i, _)| which(*i));
                chosen.map(|(_, key)| key.clone()).collect()
            };
            keys.iter().map(|keys| runs_of(&chosen(keys)).len()).sum()
        };
        let alone: Vec<usize> = (0..on.len()).map(|i| runs(&|other| other == i)).collect();
        let in_runs = |i: usize| alone[i] * RUN <= rows;
        // Keys whose runs end at different rows may have short ones together: then that with the longest serves alone.
        let together = runs(&in_runs) * RUN <= rows;
        let best = (0..on.len()).min_by_key(|i| alone[*i]);
        let serves = |i: usize| in_runs(i) && (together || best == Some(i));
        Ok((0..on.len()).map(serves).collect())
    }

    /// Where the columns of the output come from.
    fn columns(&self) -> Vec<ColumnIndex> {
        let (left, right) = (self.join.left().schema(), self.join.right().schema());
        let (_, columns) = build_join_schema(&left, &right, self.join.join_type());
        match &self.join.projection {
            Some(projection) => projection.iter().map(|i| columns[*i].clone()).collect(),
            None => columns,
        }
    }
}

/// Keys, cut in two.
struct Keys {
    outer: Vec<Arc<dyn PhysicalExpr>>,
    inner: Vec<Arc<dyn PhysicalExpr>>,
}

impl Keys {
    fn new(keys: impl Iterator<Item = Arc<dyn PhysicalExpr>>, in_runs: &[bool]) -> Self {
        let (outer, inner): (Vec<_>, Vec<_>) =
            keys.zip(in_runs).partition(|(_, in_runs)| **in_runs);
        let keys =
            |keys: Vec<(Arc<dyn PhysicalExpr>, _)>| keys.into_iter().map(|(key, _)| key).collect();
        Self {
            outer: keys(outer),
            inner: keys(inner),
        }
    }

    fn of(&self, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Vec<ArrayRef>)> {
        let outer = evaluate_expressions_to_arrays(&self.outer, batch)?;
        Ok((outer, evaluate_expressions_to_arrays(&self.inner, batch)?))
    }
}

/// The join of one partition, at work.
struct Joined {
    of: JoinType,
    schema: SchemaRef,
    columns: Vec<ColumnIndex>,
    build: BuildTable,
    rows: Fuse<SendableRecordBatchStream>,
    keys: Keys,
    /// The batch at hand and the search for its rows.
    search: Option<(RecordBatch, Search)>,
    /// What was found last, and how much of it is joined.
    found: (Found, usize),
    /// What is ready; and what is too little for a batch of its own.
    small: BatchCoalescer,
    size: usize,
    metrics: BaselineMetrics,
    _memory: MemoryReservation,
}

impl Joined {
    fn into_rows(self) -> SendableRecordBatchStream {
        let schema = self.schema.clone();
        let rows = stream::try_unfold(self, async |mut joined| {
            let batch = joined.next().await?;
            Ok::<_, DataFusionError>(batch.map(|batch| (batch, joined)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let computing = self.metrics.elapsed_compute().clone();
        loop {
            if let Some(batch) = self.small.next_completed_batch() {
                self.metrics.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            let Some((batch, search)) = &mut self.search else {
                let Some(batch) = self.rows.try_next().await? else {
                    if self.small.is_empty() {
                        return Ok(None);
                    }
                    self.small.finish_buffered_batch()?;
                    continue;
                };
                let _timer = computing.timer();
                let (outer, inner) = self.keys.of(&batch)?;
                self.search = Some((batch, Search::try_new(&self.build, &outer, &inner)?));
                continue;
            };
            let _timer = computing.timer();
            let (found, joined) = &mut self.found;
            if *joined < found.rows.len() {
                let part = *joined..found.rows.len().min(*joined + self.size);
                *joined = part.end;
                let batch = batch.clone();
                let made = self.made(&batch, part)?;
                self.put(made)?;
                continue;
            }
            match search.next(&self.build, self.of, self.size) {
                Some(found) => self.found = (found, 0),
                None => self.search = None,
            }
        }
    }

    /// Makes a batch ready; a small one together with others.
    fn put(&mut self, made: RecordBatch) -> Result<()> {
        let large = self.columns.is_empty() || made.num_rows() > self.size / 2;
        if large {
            self.small.finish_buffered_batch()?;
        }
        let limit = large.then_some(0);
        self.small.set_biggest_coalesce_batch_size(limit);
        Ok(self.small.push_batch(made)?)
    }

    /// A part of what was found, in columns.
    fn made(&self, batch: &RecordBatch, part: Range<usize>) -> Result<RecordBatch> {
        let (found, _) = &self.found;
        let rows = &found.rows[part.clone()];
        let build = found.build.get(part).unwrap_or_default();
        let (first, count) = (rows[0] as usize, rows.len());
        let stand_together = rows.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let taken = (!stand_together).then(|| UInt32Array::from(rows.to_vec()));
        let build = match self.of {
            JoinType::Right => build
                .iter()
                .map(|row| (*row != NONE).then_some(*row))
                .collect(),
            _ => UInt32Array::from(build.to_vec()),
        };
        let column = |column: &ColumnIndex| -> Result<ArrayRef> {
            Ok(match (column.side, &taken) {
                (JoinSide::Left, _) => take(self.build.rows().column(column.index), &build, None)?,
                (_, None) => batch.column(column.index).slice(first, count),
                (_, Some(rows)) => take(batch.column(column.index), rows, None)?,
            })
        };
        let columns = self.columns.iter().map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let made = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        Ok(made)
    }
}

impl Debug for JoinRunsExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for JoinRunsExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let shown = Shown(self.join.as_ref(), form).to_string();
        f.write_str(&shown.replacen("HashJoinExec", "JoinRunsExec", 1))
    }
}

impl ExecutionPlan for JoinRunsExec {
    fn name(&self) -> &str {
        "JoinRunsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.join.input_distribution_requirements()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        ExecutionPlan::maintains_input_order(self.join.as_ref())
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.join.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(f)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let join = replace_children_if_necessary(self.join.clone(), children)?;
        match join.downcast_ref::<HashJoinExec>() {
            Some(join) => Ok(Arc::new(Self::new(join.builder().build()?))),
            None => Ok(join),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let build = self.join.left().execute(partition, context.clone())?;
        let rows = self.join.right().execute(partition, context.clone())?;
        let joined = self.clone().joined(build, rows, partition, context);
        let joined = stream::once(joined).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            joined,
        )))
    }

    /// Where the rows went to the other join, also its metrics.
    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.metrics.clone_inner();
        for metric in self.join.metrics().iter().flat_map(MetricsSet::iter) {
            metrics.push(metric.clone());
        }
        Some(metrics)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.join.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.join.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.join.cardinality_effect()
    }
}
