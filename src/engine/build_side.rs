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

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub(super) struct BuildSide;

impl PhysicalOptimizerRule for BuildSide {
    fn name(&self) -> &str {
        "build_side"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
                return Ok(Transformed::no(plan));
            };
            let swap = join.join_type().supports_swap()
                && !join.null_aware
                && grouped(join.right())
                && !grouped(join.left())
                && rows(join.left())?
                    .zip(rows(join.right())?)
                    .is_some_and(|(l, r)| l >= r);
            Ok(match swap {
                true => Transformed::yes(join.swap_inputs(*join.partition_mode())?),
                false => Transformed::no(plan),
            })
        })
        .data()
    }
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
