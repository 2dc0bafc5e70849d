//! A physical optimizer rule: no join, and no grouping by several sets of keys, claims an order or one value that its rows do not have.
//!
//! DataFusion 55.2 takes the rows of a join of two sorted inputs to be sorted by the order of the streamed input, then by
//! that of the other. Where two rows of the streamed input tie that is not so, each of them meets the rows of the other anew:
//!
//! ```text
//! streamed   other      joined          claimed: k, v
//! k  x       k  v       k  x  v
//! 1  a       1  3       1  a  3
//! 1  b       1  4       1  a  4
//!                       1  b  3         v is smaller again
//!                       1  b  4
//! ```
//!
//! `ORDER BY k, v` then sorts no more, and a grouping by `k, v` closes a group as soon as the next begins and gives (1, 3)
//! twice, without a word. An [`DropOrderingExec`] above the join takes the claim back; what needs an order then sorts.
//!
//! The node has a second use above a sort-merge join. DataFusion moves projections below such a join and leaves the columns of
//! its condition where they were, so that it compares others, or panics. Through this node no projection moves.
//!
//! And a third: above a grouping by GROUPING SETS, ROLLUP or CUBE. DataFusion 55.2 takes a key that is one value in all rows of the input, as `WHERE
//! fs = 'a'` makes it, to be one value in all groups. But grouping sets that leave the key out make it NULL. `ORDER BY fs` then sorts
//! no more, and with a LIMIT gives other rows.
//!
//! And a fourth: above an outer join. DataFusion 55.2 takes a column that is one value on the side that is filled up with NULLs, as `(SELECT job_id, 1
//! AS hit ..)` makes it, to be one value in the rows of the join, and so closes groups early or sorts no more.
//! Likewise above a UNION ALL of constants, of which one is NULL.
//!
//! And a fifth: above a window whose frame moves. DataFusion 55.2 takes `count(*) OVER (PARTITION BY k ORDER BY t ROWS BETWEEN 2 PRECEDING AND CURRENT
//! ROW)` to grow from row to row through all partitions, and likewise the counts, least and greatest values of other frames that move, whatever
//! NULLs they hold. The order of the window's input stays.
//!
//! And a sixth: above UNION ALL. Of `SELECT id AS x, id AS z .. UNION ALL SELECT 1, 3 .. ORDER BY z, x LIMIT 2` DataFusion 55.2 sorts the parts each, the
//! first by z alone, does not find the order of both in them and fails. Here all rows are sorted.
//!
//! And for a cluster a seventh: below windows, so that their rows are sorted by all of their keys.
//!
//! The rule stands before `EnsureRequirements`, which adds the sorts.

use super::push_projection::push_projection;
use crate::engine::exec::partition_values;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use crate::engine::session::options::Options;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::window::{SlidingAggregateWindowExpr, WindowExpr};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use std::fmt::Formatter;
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "drop_join_ordering",
    instead,
};

fn instead(node: &Node, config: &ConfigOptions) -> Result<Option<Node>> {
    // The order of a node is not that of its rows on a cluster: Ballista 55 may swap the sides of a hash join, and `datafusion-proto` 55.2 does not say of a window
    // function that it runs backwards, as DataFusion has it do where its input is sorted the other way round.
    let is_for_cluster = Options::of(config).partition_each_range;
    if let Some(windows) = windows(node).filter(|_| is_for_cluster) {
        return Ok(Some(DropOrderingExec::plan(by_all_keys(node, windows)?)));
    }
    let drops = claims_too_much(node) || is_for_cluster && node.is::<HashJoinExec>();
    Ok(drops.then(|| DropOrderingExec::plan(node.clone())))
}

/// Windows above rows that are sorted by all of their keys. A key that is one value, or that equals another, is left out of a sort; but the stage behind a
/// shuffle does not know that it is, and DataFusion 55.2 fails for want of an order.
fn by_all_keys(node: &Node, windows: &[Arc<dyn WindowExpr>]) -> Result<Node> {
    let inputs = node.children();
    let is_known = |key: &Arc<dyn PhysicalExpr>| {
        inputs.iter().any(|input| {
            let known = input.equivalence_properties();
            let equal = known.eq_group().get_equivalence_class(key);
            known.is_expr_constant(key).is_some() || equal.is_some_and(|equal| equal.len() > 1)
        })
    };
    let is_known_of = |window: &Arc<dyn WindowExpr>| {
        let mut order = window.order_by().iter();
        window.partition_by().iter().any(is_known) || order.any(|key| is_known(&key.expr))
    };
    if !windows.iter().any(is_known_of) {
        return Ok(node.clone());
    }
    let inputs = inputs.into_iter().cloned();
    let inputs = inputs.map(DropOrderingExec::saying_nothing).collect();
    let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    node.clone().replace_children(inputs, anew)
}

/// Whether the order of both inputs goes into that of the node, or one value of a column of an input is taken for one of all its rows.
fn claims_too_much(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let hash = plan.downcast_ref::<HashJoinExec>();
    plan.is::<SortMergeJoinExec>()
        || plan.is::<UnionExec>()
        || hash.is_some_and(|join| *join.join_type() == JoinType::Inner)
        || windows(plan).is_some_and(|windows| windows.iter().any(moves))
        || loses_constants(plan)
}

/// The window functions of a node that has some.
fn windows(plan: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    let bounded = plan
        .downcast_ref()
        .map(|windows: &BoundedWindowAggExec| windows.window_expr());
    let whole = || {
        plan.downcast_ref()
            .map(|windows: &WindowAggExec| windows.window_expr())
    };
    bounded
        .or_else(whole)
        .or_else(|| partition_values::windows(plan))
}

/// Whether the first row of its frame moves.
fn moves(window: &Arc<dyn WindowExpr>) -> bool {
    window.as_any().is::<SlidingAggregateWindowExpr>()
}

/// Whether a column that is one value in all rows of an input may be several in its own.
fn loses_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let union = || {
        let equivalences = plan.properties().equivalence_properties();
        plan.is::<UnionExec>() && !equivalences.constants().is_empty()
    };
    fills_with_nulls(plan) || groups_by_sets(plan) || union()
}

/// Whether this is a join that fills one of its sides with NULLs.
fn fills_with_nulls(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let hash = plan
        .downcast_ref()
        .map(|join: &HashJoinExec| *join.join_type());
    let merge = || {
        plan.downcast_ref()
            .map(|join: &SortMergeJoinExec| join.join_type())
    };
    let loops = || {
        plan.downcast_ref()
            .map(|join: &NestedLoopJoinExec| *join.join_type())
    };
    let of = hash.or_else(merge).or_else(loops);
    matches!(of, Some(JoinType::Left | JoinType::Right | JoinType::Full))
}

/// Whether this groups by several sets of keys.
fn groups_by_sets(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let grouping = plan.downcast_ref::<AggregateExec>();
    grouping.is_some_and(|grouping| grouping.group_expr().has_grouping_set())
}

/// Passes its input through and says nothing of its order.
#[derive(Clone, Debug)]
pub(crate) struct DropOrderingExec {
    input: Arc<dyn ExecutionPlan>,
    /// It says nothing of values that are one in all rows either, whatever its input is.
    says_nothing: bool,
    /// Whether the input loses constants, now or when this node was made: later a `DeclarePartitioningExec` may stand between this node and the join that loses them.
    loses_constants: bool,
    properties: Arc<PlanProperties>,
}

impl DropOrderingExec {
    fn plan(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Self::of(input, false, false)
    }

    /// One that says nothing of its rows at all.
    pub(in crate::engine) fn saying_nothing(
        input: Arc<dyn ExecutionPlan>,
    ) -> Arc<dyn ExecutionPlan> {
        Self::of(input, true, false)
    }

    /// Whether it is such a one.
    pub(crate) fn says_nothing(&self) -> bool {
        self.says_nothing
    }

    /// Whether what its input, or an input that it had, took for one value may be several.
    #[cfg(feature = "cluster")]
    pub(crate) fn loses_constants(&self) -> bool {
        self.loses_constants
    }

    /// Whose rows it passes through.
    pub(in crate::engine) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// One that says nothing at all, or above an input that loses constants.
    pub(crate) fn of(
        input: Arc<dyn ExecutionPlan>,
        says_nothing: bool,
        lost_constants: bool,
    ) -> Arc<dyn ExecutionPlan> {
        let mut properties = input.properties().as_ref().clone();
        let loses_constants = lost_constants || loses_constants(&input);
        let equivalences = match says_nothing || loses_constants {
            true => EquivalenceProperties::new(input.schema()),
            false if windows(&input).is_some() => {
                let below = input.children();
                let below = below
                    .iter()
                    .map(|input| (*input).equivalence_properties().clone());
                let all = || EquivalenceProperties::new(input.schema());
                let extended = below.map(|below| all().extend(below)).next();
                extended.and_then(Result::ok).unwrap_or_else(all)
            }
            false => {
                let mut equivalences = properties.equivalence_properties().clone();
                equivalences.clear_orderings();
                equivalences
            }
        };
        properties.set_eq_properties(equivalences);
        Arc::new(Self {
            input,
            says_nothing,
            loses_constants,
            properties: Arc::new(properties),
        })
    }
}

impl DisplayAs for DropOrderingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "DropOrderingExec")
    }
}

impl ExecutionPlan for DropOrderingExec {
    fn name(&self) -> &str {
        "DropOrderingExec"
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
        let input = children.swap_remove(0);
        Ok(Self::of(input, self.says_nothing, self.loses_constants))
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

    /// Into a hash join, never below a sort-merge join; and not into a projection, which gives back the one above if the two
    /// cannot become one: that would stand above this node once more, and again. Nor one that makes a column of one value, or two columns that are equal: sorts above go
    /// by that, and below this node nobody would know it.
    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let known = self.properties.equivalence_properties();
        let makes_constant = |one: &ProjectionExpr| known.is_expr_constant(&one.expr).is_some();
        let outputs = projection.expr();
        let is_repeated = |at: usize| {
            outputs[..at]
                .iter()
                .any(|one| one.expr.eq(&outputs[at].expr))
        };
        if self.input.is::<SortMergeJoinExec>()
            || self.input.is::<ProjectionExec>()
            || outputs.iter().any(makes_constant)
            || (1..outputs.len()).any(is_repeated)
        {
            return Ok(None);
        }
        let input = push_projection(&self.input, projection)?;
        Ok(input.map(|input| Self::of(input, self.says_nothing, self.loses_constants)))
    }
}
