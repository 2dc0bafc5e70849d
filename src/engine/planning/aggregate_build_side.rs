//! A physical optimizer rule: a join holds the groups in memory, not the rows that they were made of.
//!
//! DataFusion 55.2 takes a grouping to give as many rows as it is given, and so holds the wrong side of
//!
//! ```sql
//! SELECT s.* FROM lmt_ost s JOIN (SELECT fs, ost, max(time) AS time FROM lmt_ost GROUP BY fs, ost) last USING (fs, ost, time)
//! ```
//!
//! which is 13 million samples instead of 256 groups. Groups are never more than their rows and mostly far fewer, so where the other
//! side has at least as many rows, the groups are the side that is held.
//!
//! And it takes a condition that it knows nothing of to leave a fifth of the rows. One on subqueries that have one value, such as
//! [`crate::engine::logical::not_in`] puts below the anti join of a NOT IN, leaves all or none, so the other side of that join is held unless it is larger.
//!
//! The rule stands behind the one that chooses sides by statistics.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{JoinType, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "aggregate_build_side",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else {
        return Ok(None);
    };
    if !join.join_type().supports_swap() || join.null_aware {
        return Ok(None);
    }
    let left = match grouped(join.right()) && !grouped(join.left()) {
        true => Some(join.left().clone()),
        false => without_subqueries(join)?,
    };
    let Some(left) = left else {
        return Ok(None);
    };
    let (left, right) = (rows(&left)?, rows(join.right())?);
    let swap = left.zip(right).is_some_and(|(left, right)| left >= right);
    let swapped = swap.then(|| join.swap_inputs(*join.partition_mode()));
    swapped.transpose()
}

/// Whether these are groups, filtered or renamed perhaps.
fn grouped(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.downcast_ref::<AggregateExec>() {
        Some(grouping) => !grouping.group_expr().is_empty(),
        None => matches!(plan.children()[..], [child] if grouped(child)),
    }
}

/// The left side of a semi or anti join without the conditions on subqueries of one value that filter it, if there are such.
fn without_subqueries(join: &HashJoinExec) -> Result<Option<Node>> {
    let filter = join.left().downcast_ref::<FilterExec>();
    let (JoinType::LeftSemi | JoinType::LeftAnti, Some(filter)) = (join.join_type(), filter) else {
        return Ok(None);
    };
    let of_subquery = |condition: &&Arc<dyn PhysicalExpr>| {
        let found = condition.exists(|part| Ok(part.is::<ScalarSubqueryExpr>()));
        found.unwrap_or(false)
    };
    let conditions = split_conjunction(filter.predicate());
    let (of_subqueries, others): (Vec<_>, Vec<_>) = conditions.into_iter().partition(of_subquery);
    if of_subqueries.is_empty() {
        return Ok(None);
    }
    let input = filter.input().clone();
    Ok(Some(match others.is_empty() {
        true => input,
        false => {
            let others = conjunction(others.into_iter().cloned());
            Arc::new(FilterExec::try_new(others, input)?)
        }
    }))
}

fn rows(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<usize>> {
    let known = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
    Ok(known.num_rows.get_value().copied())
}
