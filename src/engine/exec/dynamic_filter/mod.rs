//! A physical optimizer rule: the keys of the build side of a join bound the scan of its probe side.
//!
//! A join reads its build side before the first row of its probe side. By then the least and the greatest of each key are known
//! ([`key_bounds`] says of which partitions, and what of others), and files, row groups and pages of the probe side outside of them are not read.
//!
//! ```text
//! HashJoinExec: mode=Partitioned, join_type=Inner, on=[(fs, fs), (ost, ost), (time, time)]
//!   KeyBoundsExec: [ost, time]                     records the bounds
//!     AggregateExec                                the last sample of each OST
//!   RepartitionExec: Hash([fs, ost, time])
//!     BoundedScanExec: [ost, time]                 reads what lies within
//!       DataSourceExec: lmt_ost                    all samples
//! ```
//!
//! DataFusion 55.2 has filters of this kind, and they lose rows: they find their columns by name ([`crate::engine::session::state`]). Here a key is followed by its
//! place, from the join to the scan, and only through nodes that let every row of a key through or none.
//!
//! The rule stands behind all that plan, when nothing moves a node any more that one of the two has been put on. On a cluster it is applied to each stage: a bound
//! does not pass from one stage to another.

mod key_bounds;
mod scan;

use crate::engine::node_rewrite::{Node, NodeRewrite};
use crate::engine::planning::copartitioned_join::DeclarePartitioningExec;
use crate::engine::planning::drop_join_ordering::DropOrderingExec;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use key_bounds::{KeyBounds, KeyBoundsExec};
use scan::BoundedScanExec;
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::engine) struct DynamicFilter;

impl PhysicalOptimizerRule for DynamicFilter {
    fn name(&self) -> &str {
        RULE.name
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(&self, plan: Node, config: &ConfigOptions) -> Result<Node> {
        // Its nodes run more than once, each time over other rows.
        match plan.exists(|node| Ok(node.is::<RecursiveQueryExec>()))? {
            true => Ok(plan),
            false => RULE.optimize(plan, config),
        }
    }
}

const RULE: NodeRewrite = NodeRewrite {
    name: "dynamic_filter",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else {
        return Ok(None);
    };
    if !leaves_out_the_unmatched(join) {
        return Ok(None);
    }
    let (mut keys, mut places) = (vec![], vec![]);
    let (left, right) = (join.left().schema(), join.right().schema());
    for (key, probe) in join.on() {
        let types = (key.data_type(&left)?, probe.data_type(&right)?);
        if let Some(column) = probe.downcast_ref::<Column>()
            && types.0 == types.1
            && has_bounds(&types.0)
        {
            keys.push(key.clone());
            places.push(Some(column.index()));
        }
    }
    let partitions = join.left().output_partitioning().partition_count();
    let key_bounds = Arc::new(KeyBounds::of(keys, partitions));
    let beside = *join.partition_mode() == PartitionMode::Partitioned;
    let Some(right) = bounded(join.right(), &places, beside, &key_bounds)? else {
        return Ok(None);
    };
    let left = Arc::new(KeyBoundsExec::new(join.left().clone(), key_bounds));
    replace_children_if_necessary(node.clone(), vec![left, right]).map(Some)
}

/// Whether nothing comes of a row of the probe side, on the right, that has no equal on the build side.
fn leaves_out_the_unmatched(join: &HashJoinExec) -> bool {
    use JoinType::*;
    matches!(
        join.join_type(),
        Inner | Left | LeftSemi | LeftAnti | LeftMark | RightSemi
    ) && matches!(
        join.partition_mode(),
        PartitionMode::Partitioned | PartitionMode::CollectLeft
    ) && !join.null_aware
        && join.null_equality() == NullEquality::NullEqualsNothing
}

fn has_bounds(key: &DataType) -> bool {
    use DataType::*;
    matches!(
        key,
        Int32 | Int64 | UInt64 | Timestamp(TimeUnit::Microsecond, _)
    )
}

/// The plan with a bounded scan below, if all of the way to one lets every row of a key through or none; `places` are the columns of
/// the keys, None where a key is lost on the way, and `beside` says whether group `i` of the plan meets partition `i` of the build side alone.
fn bounded(
    plan: &Node,
    places: &[Option<usize>],
    beside: bool,
    key_bounds: &Arc<KeyBounds>,
) -> Result<Option<Node>> {
    if places.iter().all(Option::is_none) {
        return Ok(None);
    }
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return Ok(
            BoundedScanExec::of(scan, places, beside, key_bounds).map(|scan| Arc::new(scan) as _)
        );
    }
    if let Some(scan) = plan.downcast_ref::<BoundedScanExec>() {
        return Ok(scan
            .and(places, beside, key_bounds)
            .map(|scan| Arc::new(scan) as _));
    }
    let Some(below) = below(plan, places) else {
        return Ok(None);
    };
    let beside = beside && !plan.is::<RepartitionExec>();
    let mut inputs: Vec<Node> = plan.children().into_iter().cloned().collect();
    let Some(last) = inputs.pop() else {
        return Ok(None);
    };
    let Some(input) = bounded(&last, &below, beside, key_bounds)? else {
        return Ok(None);
    };
    inputs.push(input);
    replace_children_if_necessary(plan.clone(), inputs).map(Some)
}

/// The columns of the last input of a node, whose rows it gives, that are these of its output.
fn below(plan: &Node, places: &[Option<usize>]) -> Option<Vec<Option<usize>>> {
    let through = |of: &dyn Fn(usize) -> Option<usize>| {
        let through = places.iter().map(|place| place.and_then(of));
        Some(through.collect())
    };
    let column = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().map(Column::index);
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let projection = filter.projection().as_ref();
        return match filter.fetch() {
            None => through(&|at| projection.map_or(Some(at), |of| of.get(at).copied())),
            Some(_) => None,
        };
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return through(&|at| column(&projection.expr().get(at)?.expr));
    }
    if let Some(grouping) = plan.downcast_ref::<AggregateExec>() {
        use AggregateMode::*;
        let keys = grouping.group_expr();
        if !keys.is_single() || grouping.limit_options().is_some() {
            return None;
        }
        return through(&|at| {
            let (key, _) = keys.expr().get(at)?;
            match grouping.mode() {
                Final | FinalPartitioned => Some(at),
                Partial | Single | SinglePartitioned => column(key),
                PartialReduce => None,
            }
        });
    }
    if let Some(semi) = plan.downcast_ref::<HashJoinExec>() {
        let gives_rights = matches!(semi.join_type(), JoinType::RightSemi | JoinType::RightAnti);
        if !gives_rights || semi.fetch().is_some() {
            return None;
        }
        let projection = semi.projection.as_ref();
        return through(&|at| projection.map_or(Some(at), |of| of.get(at).copied()));
    }
    let passes = plan.is::<RepartitionExec>()
        || plan.is::<DeclarePartitioningExec>()
        || plan.is::<DropOrderingExec>();
    passes.then(|| places.to_vec())
}
