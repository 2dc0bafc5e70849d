//! A physical optimizer rule: what comes in one stream is not dealt out to threads for a batch or so.
//!
//! DataFusion 55.2 deals the rows of one stream out to all threads where anything is computed of them, and gathers them again, however few
//! they are. Waking the threads and planning with their streams costs more than a projection of
//!
//! ```sql
//! SELECT app, so_far / total FROM (SELECT app, sum(bytes) OVER (ORDER BY bytes, app) AS so_far, ..) ORDER BY bytes, app LIMIT 10
//! SELECT unnest(bin_counts(x, 0, 100, 100)) AS logs FROM t
//! ```
//!
//! Of the first only as many rows are ever asked for as it gives, since a projection leaves none out. The second is one row that is held
//! in memory at once.

use crate::engine::rule::{Node, Rule};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlanProperties, Partitioning};

/// The rule.
pub(in crate::engine) const RULE: Rule = Rule {
    name: "one_stream",
    instead,
};

fn instead(node: &Node, config: &ConfigOptions) -> Result<Option<Node>> {
    if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
        let a_batch = |rows| rows <= config.execution.batch_size.get();
        return match merge.fetch().is_some_and(a_batch) {
            true => below(node),
            false => Ok(None),
        };
    }
    Ok(dealt_out(node).filter(|stream| of_one_row(stream)).cloned())
}

/// The node over one stream, if there are but projections between it and where the stream is dealt out.
fn below(node: &Node) -> Result<Option<Node>> {
    let [child] = node.children()[..] else {
        return Ok(None);
    };
    let stream = match dealt_out(child) {
        Some(stream) => Some(stream.clone()),
        None if child.is::<ProjectionExec>() => below(child)?,
        None => None,
    };
    let over = stream.map(|stream| replace_children_if_necessary(node.clone(), vec![stream]));
    over.transpose()
}

/// The one stream that a node deals out by turns.
fn dealt_out(node: &Node) -> Option<&Node> {
    let dealing = node.downcast_ref::<RepartitionExec>()?;
    let by_turns = matches!(dealing.partitioning(), Partitioning::RoundRobinBatch(_));
    let stream = dealing.input();
    (by_turns && stream.output_partitioning().partition_count() == 1).then_some(stream)
}

/// Whether all of it was one row once: that of a grouping without keys.
fn of_one_row(node: &Node) -> bool {
    if let Some(grouping) = node.downcast_ref::<AggregateExec>() {
        return grouping.group_expr().is_true_no_grouping()
            && *grouping.mode() != AggregateMode::Partial;
    }
    let of_a_row =
        node.is::<UnnestExec>() || node.is::<ProjectionExec>() || node.is::<FilterExec>();
    of_a_row && node.children().iter().all(|child| of_one_row(child))
}
