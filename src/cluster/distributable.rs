//! A finished plan as Ballista 55 runs it right, or why it does not.
//!
//! The scheduler cuts a plan at its exchanges and looks at each stage again: it swaps the sides of joins by their sizes, sends small sides to all tasks, and repartitions
//! what it finds unsatisfied. Where that changes rows the plan is written in a form that it leaves alone ([`prepare`]); what cannot be, is refused with the reason, and
//! runs in the client. So is what `datafusion-proto` 55.2 loses on the way. At the end the plan is cut as the scheduler cuts it, and the stages are looked at.

use super::aligned_union::AlignedUnionExec;
use super::opaque::{OpaqueExec, Says};
use super::parts::check_one_piece;
use crate::engine::parts::{gives_left_rows, text_of};
use ballista_core::JobId;
use ballista_core::execution_plans::{ShuffleWriter, UnresolvedShuffleExec};
use ballista_scheduler::planner::{DefaultDistributedPlanner, DistributedPlanner};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::execution::session_state::SessionState;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode,
};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::any::Any;
use std::sync::Arc;

type Plan = Arc<dyn ExecutionPlan>;

/// The stages of a plan, in the order in which they can run.
pub(crate) type Stages = Vec<Arc<dyn ShuffleWriter>>;

/// The plan in a form of which the scheduler changes nothing that matters, and the stages into which it cuts it.
///
/// # Errors
/// Why it would not give the right rows.
pub(crate) fn prepare(plan: Plan, state: &SessionState) -> Result<(Plan, Stages), String> {
    let dictionary = plan.schema();
    let dictionary = dictionary
        .fields()
        .iter()
        .find(|field| matches!(field.data_type(), DataType::Dictionary(..)));
    if let Some(column) = dictionary {
        return Err(format!("column {} is a dictionary", column.name()));
    }
    let mut why = None;
    let walked = plan.apply(|node| {
        why = refused(node);
        Ok(match why {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    walked.map_err(|e| e.strip_backtrace())?;
    if let Some(why) = why {
        return Err(why);
    }
    let prepared = plan.transform_up(|node| {
        Ok(match instead(&node)? {
            Some(other) => Transformed::yes(other),
            None => Transformed::no(node),
        })
    });
    let prepared = prepared.data().map_err(|e| e.strip_backtrace())?;
    let stages = check_stages(&prepared, state)?;
    Ok((prepared, stages))
}

/// Why a node does not run right on a cluster.
fn refused(node: &Plan) -> Option<String> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        if join.null_aware {
            return Some("NOT IN of a column with NULLs".into());
        }
        let stays = *join.partition_mode() == PartitionMode::Partitioned
            || !gives_left_rows(*join.join_type());
        return (!stays).then(|| "a join that keeps rows of the side that all tasks get".into());
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        let stays = !gives_left_rows(*join.join_type())
            || join.right().output_partitioning().partition_count() == 1;
        return (!stays).then(|| "a join without keys that keeps rows of its left side".into());
    }
    if let Some(repartition) = node.downcast_ref::<RepartitionExec>() {
        let hash = matches!(repartition.partitioning(), Partitioning::Hash(..));
        let stays = hash && !repartition.preserve_order();
        return (!stays).then(|| "a repartition that is not by hash, or in order".into());
    }
    if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
        let merge = limit.input().downcast_ref::<SortPreservingMergeExec>();
        let merges = merge.is_some_and(|merge| merge.fetch().is_none());
        if merges && limit.skip() > 0 {
            return Some("OFFSET without LIMIT".into());
        }
        if limit.skip() > u32::MAX as usize {
            return Some("an OFFSET beyond 2^32".into());
        }
    }
    if node.fetch().is_some_and(|fetch| fetch > u32::MAX as usize) {
        return Some("a LIMIT beyond 2^32".into());
    }
    if let Some(scan) = node.downcast_ref::<DataSourceExec>() {
        let source: &dyn Any = scan.data_source().as_ref();
        let rows = source.downcast_ref::<MemorySourceConfig>();
        return rows
            .and_then(MemorySourceConfig::fetch)
            .map(|_| "a LIMIT of rows in the statement".into());
    }
    let bounded = node
        .downcast_ref::<BoundedWindowAggExec>()
        .map(BoundedWindowAggExec::window_expr);
    let whole = || {
        node.downcast_ref::<WindowAggExec>()
            .map(WindowAggExec::window_expr)
    };
    bounded.or_else(whole)?.iter().find_map(refused_window)
}

/// Why a window function does not arrive as it is.
fn refused_window(window: &Arc<dyn WindowExpr>) -> Option<String> {
    let of = window.as_any();
    // Neither these nor a filter have an accessor.
    let lost = ["ignore_nulls: true", "is_reversed: true"];
    if of.is::<StandardWindowExpr>() {
        let shown = format!("{window:?}");
        let loses = lost.iter().any(|what| shown.contains(what));
        let loses = loses || !shown.contains("ignore_nulls: false");
        return loses.then(|| "IGNORE NULLS, or a window function that runs backwards".into());
    }
    let is_plain = of.is::<PlainAggregateWindowExpr>() || of.is::<SlidingAggregateWindowExpr>();
    let stays = is_plain && !format!("{window:?}").contains("filter: Some(");
    (!stays).then(|| "FILTER of a window function".into())
}

/// What stands in the place of a node.
fn instead(node: &Plan) -> datafusion::common::Result<Option<Plan>> {
    let opaque = |says: Says| {
        let inputs = node.children().into_iter();
        let inputs = inputs.map(|input| OpaqueExec::plan(input.clone(), says));
        replace_children_if_necessary(node.clone(), inputs.collect()).map(Some)
    };
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return match join.partition_mode() {
            // The build side is cut off below the node that collects it, and a LIMIT of that node with it.
            PartitionMode::CollectLeft => {
                let collects = join.left().downcast_ref::<CoalescePartitionsExec>();
                let left = match collects.filter(|collects| collects.fetch().is_none()) {
                    Some(collects) => {
                        let build = OpaqueExec::plan(collects.input().clone(), Says::Small);
                        Arc::new(CoalescePartitionsExec::new(build))
                    }
                    None => OpaqueExec::plan(join.left().clone(), Says::Small),
                };
                let right = OpaqueExec::plan(join.right().clone(), Says::Partitioning);
                replace_children_if_necessary(node.clone(), vec![left, right]).map(Some)
            }
            _ => opaque(Says::Partitioning),
        };
    }
    if node.is::<CrossJoinExec>() || node.is::<NestedLoopJoinExec>() {
        return opaque(Says::Partitioning);
    }
    if node.is::<UnionExec>() {
        return opaque(Says::Nothing);
    }
    if node.is::<InterleaveExec>() {
        let inputs = node.children().into_iter().cloned();
        return AlignedUnionExec::plan(inputs.collect()).map(Some);
    }
    Ok(None)
}

/// How many joins send their left side to all tasks.
fn broadcasts(plan: &Plan) -> usize {
    let join = plan.downcast_ref::<HashJoinExec>();
    let here = join.is_some_and(|join| *join.partition_mode() == PartitionMode::CollectLeft);
    usize::from(here) + plan.children().into_iter().map(broadcasts).sum::<usize>()
}

/// Cuts the plan as the scheduler does. A repartition that it adds would stay within a stage, where each task repartitions its own rows alone; a broadcast that it
/// undoes has other partitions than the nodes above go by.
fn check_stages(plan: &Plan, state: &SessionState) -> Result<Stages, String> {
    let (config, context) = (state.config_options(), state.task_ctx());
    let job = JobId::from("check".to_string());
    let stages = DefaultDistributedPlanner::new().plan_query_stages(&job, plan.clone(), config);
    let stages = stages.map_err(|e| e.to_string())?;
    let mut kept = 0;
    for stage in &stages {
        let whole: Plan = stage.clone();
        check_one_piece(&whole, &context).map_err(|e| format!("a stage of it: {}", text_of(&e)))?;
        for input in stage.children() {
            kept += broadcasts(input);
            let mut why = None;
            let walked = input.apply(|node| {
                let range = node.is::<UnresolvedShuffleExec>()
                    && matches!(node.output_partitioning(), Partitioning::Range(_));
                if node.is::<RepartitionExec>() {
                    why = Some("the scheduler would repartition within a stage");
                } else if range && input.output_partitioning().partition_count() > 1 {
                    why = Some("the scheduler would cut a stage by ranges");
                }
                Ok(TreeNodeRecursion::Continue)
            });
            walked.map_err(|e| e.strip_backtrace())?;
            if let Some(why) = why {
                return Err(why.into());
            }
        }
    }
    match kept == broadcasts(plan) {
        true => Ok(stages),
        false => Err("the scheduler would join in another way".into()),
    }
}
