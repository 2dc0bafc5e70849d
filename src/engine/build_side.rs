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
//! The rule stands behind the one that chooses sides by statistics.

use crate::engine::rule::{Node, Rule};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// The rule.
pub(super) const RULE: Rule = Rule {
    name: "build_side",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else {
        return Ok(None);
    };
    let swap = join.join_type().supports_swap()
        && !join.null_aware
        && grouped(join.right())
        && !grouped(join.left())
        && rows(join.left())?
            .zip(rows(join.right())?)
            .is_some_and(|(l, r)| l >= r);
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

fn rows(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<usize>> {
    let known = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
    Ok(known.num_rows.get_value().copied())
}
