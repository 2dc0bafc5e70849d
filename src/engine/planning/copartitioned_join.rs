//! A physical optimizer rule: joins on job_id and more keep the partitions of the scans.
//!
//! `JOIN .. USING (job_id, log_id)` is the everyday join of our tables, whose scans are all cut by job id. DataFusion lets a
//! partitioned join skip the repartition only if its inputs are partitioned on exactly its keys. This rule restates what
//! is true anyway: rows cut by job_id at `s` are also cut by (job_id, x) at (s, least x), for NULL, sorted first, is below
//! every x.
//!
//! ```text
//! DeclarePartitioningExec: Range([job_id], [s])                       true of the join since it is true of its inputs
//!   HashJoinExec: on=[(job_id, job_id), (log_id, log_id)]
//!     DeclarePartitioningExec: Range([job_id, log_id], [(s, NULL)])
//!       input: Range([job_id], [s])
//!     DeclarePartitioningExec: Range([job_id, log_id], [(s, NULL)])
//!       input: Range([job_id], [s])
//! ```
//!
//! The rule stands just before `EnsureRequirements`, whose checks, and those of `SanityCheckPlan`, then hold as they are.
//!
//! # Why it gives no wrong rows
//! Before `EnsureRequirements` a plan's word about its partitions is provisional: a join further down may yet get its inputs
//! hashed. A [`DeclarePartitioningExec`] therefore looks at its input again each time it is rebuilt, and states something only if that
//! input is then still cut as it was; else the input's own word passes through, and DataFusion repartitions the join as
//! it would have without the rule. The rule does nothing where the groups are fewer than `target_partitions`, for there
//! `EnsureRequirements` repartitions the inputs whatever they state.

use super::push_projection::push_projection;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::arrow::compute::SortOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, Result, ScalarValue, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{
    LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr, RangePartitioning, SplitPoint,
};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "copartitioned_join",
    instead,
};

fn instead(node: &Node, config: &ConfigOptions) -> Result<Option<Node>> {
    restate(node, config.execution.target_partitions)
}

type Keys = Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>;

/// A hash join that works partition by partition. Merge joins are left alone: DataFusion 55.2 takes their output to be
/// sorted by more than it is (the order of the one side, then that of the other, though rows of the first have ties), and
/// without a repartition above nothing would put that right.
fn partitioned(plan: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    let join = plan.downcast_ref::<HashJoinExec>()?;
    (*join.partition_mode() == PartitionMode::Partitioned).then_some(join)
}

/// The position of the key by which both inputs of a join are range partitioned, at the same split points and into at least `least` partitions; None if they are not.
pub(super) fn cut_alike(join: &HashJoinExec, least: usize) -> Option<usize> {
    let (left, right) = (
        join.left().output_partitioning(),
        join.right().output_partitioning(),
    );
    let (Partitioning::Range(cut), Partitioning::Range(other)) = (left, right) else {
        return None;
    };
    let (a, b) = (only(cut)?, only(other)?);
    let alike = a.options == b.options
        && cut.split_points() == other.split_points()
        && cut.partition_count() >= least;
    let is_cut =
        |(x, y): &(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)| x.eq(&a.expr) && y.eq(&b.expr);
    join.on().iter().position(is_cut).filter(|_| alike)
}

/// The join between restating nodes, if its inputs are cut alike by one of its keys.
fn restate(plan: &Arc<dyn ExecutionPlan>, least: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = partitioned(plan) else {
        return Ok(None);
    };
    let Some(first) = cut_alike(join, least).filter(|_| join.on().len() > 1) else {
        return Ok(None);
    };
    let (left, right) = (join.left(), join.right());
    let (Partitioning::Range(cut), Partitioning::Range(other)) =
        (left.output_partitioning(), right.output_partitioning())
    else {
        return Ok(None);
    };
    let mut keys: Keys = join.on().to_vec();
    keys[..=first].rotate_right(1);
    let (x, y): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
    let (Some(x), Some(y)) = (widen(left, cut, &x)?, widen(right, other, &y)?) else {
        return Ok(None);
    };
    let (points, wide) = (x.split_points().to_vec(), [x, y]);
    let narrow = plan.output_partitioning().clone();
    let [x, y] = wide.map(|range| Statement::Wide {
        range,
        points: cut.split_points().to_vec(),
    });
    let mut keys: Keys = join.on().to_vec();
    keys[..=first].rotate_right(1);
    let inputs = vec![
        DeclarePartitioningExec::plan(left.clone(), x),
        DeclarePartitioningExec::plan(right.clone(), y),
    ];
    let join = join
        .builder()
        .with_on(keys)
        .with_new_children(inputs)?
        .build_exec()?;
    Ok(Some(match narrow {
        Partitioning::Range(range) => {
            DeclarePartitioningExec::plan(join, Statement::Narrow { range, points })
        }
        _ => join,
    }))
}

/// The one column of a range.
fn only(range: &RangePartitioning) -> Option<&PhysicalSortExpr> {
    (range.ordering().len() == 1).then(|| range.ordering().first())
}

/// `Range([k0], [s..])` in the words of the keys `[k0, k1, ..]`; None if a key stands twice.
fn widen(
    input: &Arc<dyn ExecutionPlan>,
    range: &RangePartitioning,
    keys: &[Arc<dyn PhysicalExpr>],
) -> Result<Option<RangePartitioning>> {
    let schema = input.schema();
    let mut order = vec![range.ordering().first().clone()];
    let mut least = vec![];
    for key in &keys[1..] {
        order.push(PhysicalSortExpr::new(
            key.clone(),
            SortOptions {
                descending: false,
                nulls_first: true,
            },
        ));
        least.push(ScalarValue::try_from(key.data_type(&schema)?)?);
    }
    let point = |point: &SplitPoint| {
        SplitPoint::new(point.values().iter().chain(&least).cloned().collect())
    };
    let points = range.split_points().iter().map(point).collect();
    match LexOrdering::new(order).filter(|order| order.len() == keys.len()) {
        Some(order) => RangePartitioning::try_new(order, points).map(Some),
        None => Ok(None),
    }
}

/// What a [`DeclarePartitioningExec`] says, and what its input must be for it to be true.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// The input is cut by the first key of `range` alone, at `points`.
    Wide {
        range: RangePartitioning,
        points: Vec<SplitPoint>,
    },
    /// The input is a join, with nothing above it that moves rows between partitions, whose inputs are both cut at `points`;
    /// their first column is what `range` says.
    Narrow {
        range: RangePartitioning,
        points: Vec<SplitPoint>,
    },
}

impl Statement {
    fn range(&self) -> &RangePartitioning {
        match self {
            Self::Wide { range, .. } | Self::Narrow { range, .. } => range,
        }
    }

    fn holds(&self, input: &Arc<dyn ExecutionPlan>) -> bool {
        match self {
            Self::Wide { range, points } => match input.output_partitioning() {
                Partitioning::Range(now) => {
                    let (now_first, first) = (now.ordering().first(), range.ordering().first());
                    only(now).is_some() && now.split_points() == points && now_first.expr.eq(&first.expr) && now_first.options == first.options
                }
                _ => false,
            },
            Self::Narrow { points, .. } => partitioned(beneath(input)).is_some_and(|join| {
                let cut = |input: &&Arc<dyn ExecutionPlan>| matches!(input.output_partitioning(), Partitioning::Range(now) if now.split_points() == points);
                *join.join_type() != JoinType::Full && cut(&join.left()) && cut(&join.right())
            }),
        }
    }
}

/// What lies under nodes that the optimizer may put between, all of which leave each row in its partition.
fn beneath(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    let stays =
        plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || plan.is::<CooperativeExec>();
    let stays = stays
        || plan
            .downcast_ref::<SortExec>()
            .is_some_and(SortExec::preserve_partitioning);
    match plan.children()[..] {
        [child] if stays => beneath(child),
        _ => plan,
    }
}

/// Passes its input through and states its partitions in other, equally true words.
pub(crate) struct DeclarePartitioningExec {
    input: Arc<dyn ExecutionPlan>,
    statement: Statement,
    properties: Arc<PlanProperties>,
}

impl DeclarePartitioningExec {
    /// Above `input`.
    pub(crate) fn plan(
        input: Arc<dyn ExecutionPlan>,
        statement: Statement,
    ) -> Arc<dyn ExecutionPlan> {
        let partitioning = match statement.holds(&input) {
            true => Partitioning::Range(statement.range().clone()),
            false => input.output_partitioning().clone(),
        };
        let properties = Arc::new(
            input
                .properties()
                .as_ref()
                .clone()
                .with_partitioning(partitioning),
        );
        Arc::new(Self {
            input,
            statement,
            properties,
        })
    }

    /// What it says.
    #[cfg(feature = "cluster")]
    pub(crate) fn statement(&self) -> &Statement {
        &self.statement
    }
}

impl Debug for DeclarePartitioningExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "DeclarePartitioningExec({})",
            self.properties.partitioning
        )
    }
}

impl DisplayAs for DeclarePartitioningExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        // A lake of many ranges has as many points, which say nothing to who reads the plan.
        let partitions = self.properties.partitioning.partition_count();
        match &self.properties.partitioning {
            Partitioning::Range(range) => write!(
                f,
                "DeclarePartitioningExec: Range([{}], {partitions})",
                range.ordering()
            ),
            other => write!(f, "DeclarePartitioningExec: {other}"),
        }
    }
}

impl ExecutionPlan for DeclarePartitioningExec {
    fn name(&self) -> &str {
        "DeclarePartitioningExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
        Ok(Self::plan(children.swap_remove(0), self.statement.clone()))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(inputs[0].clone())
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let mapping = projection
            .projection_expr()
            .projection_mapping(&self.schema())?;
        let range = Partitioning::Range(self.statement.range().clone())
            .project(&mapping, self.properties.equivalence_properties());
        let Partitioning::Range(range) = range else {
            return match self.statement {
                // The join above needs the column that the projection leaves out.
                Statement::Wide { .. } => Ok(None),
                // Without that column the projection states no partitions either, so nothing above it relies on them.
                Statement::Narrow { .. } => push_projection(&self.input, projection),
            };
        };
        let Some(input) = push_projection(&self.input, projection)? else {
            return Ok(None);
        };
        let statement = match &self.statement {
            Statement::Wide { points, .. } => Statement::Wide {
                range,
                points: points.clone(),
            },
            Statement::Narrow { points, .. } => Statement::Narrow {
                range,
                points: points.clone(),
            },
        };
        // By now the nodes above may rely on the statement: better an extra projection than to lose it.
        let lost = self.statement.holds(&self.input) && !statement.holds(&input);
        Ok((!lost).then(|| Self::plan(input, statement)))
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::col;
    use datafusion::physical_optimizer::PhysicalOptimizerRule;
    use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::empty::EmptyExec;

    /// It ran until the memory was full.
    #[test]
    fn a_projection_between_others_is_pushed_down_to_an_end() {
        let columns = ["job_id", "log_id"].map(|name| Field::new(name, DataType::Int64, true));
        let project = |input: Node, names: [(&str, &str); 2]| -> Node {
            let schema = input.schema();
            let outputs = names.map(|(from, to)| (col(from, &schema).unwrap(), to.to_string()));
            Arc::new(ProjectionExec::try_new(outputs, input).unwrap())
        };
        let scan: Node = Arc::new(EmptyExec::new(Arc::new(Schema::new(columns.to_vec()))));
        let input = project(scan, [("job_id", "job_id"), ("log_id", "log_id")]);
        let key = PhysicalSortExpr::new_default(col("job_id", &input.schema()).unwrap());
        let order = LexOrdering::new([key]).unwrap();
        let statement = Statement::Wide {
            range: RangePartitioning::try_new(order, vec![]).unwrap(),
            points: vec![],
        };
        let declared = DeclarePartitioningExec::plan(input, statement);
        let plan = project(declared, [("job_id", "j"), ("log_id", "l")]);
        let pushed = ProjectionPushdown::new().optimize(plan, &ConfigOptions::default());
        let pushed = displayable(pushed.unwrap().as_ref())
            .indent(false)
            .to_string();
        assert!(pushed.lines().count() <= 4, "{pushed}");
        assert_eq!(
            pushed.matches("DeclarePartitioningExec").count(),
            1,
            "{pushed}"
        );
    }
}
