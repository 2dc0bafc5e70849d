//! A physical optimizer rule of plans for a cluster: a join holds the whole of one side only if each task of it may, and the side is known to be small.
//!
//! In process all partitions of a `CollectLeft` join share one hash table, and with it the marks of rows that found a partner. On a cluster each task has its own,
//! so that a join that gives rows for its left side would give them once for each task. Such a join repartitions both sides. The left side of any other is sent to every
//! task, as long as [`is_small`] knows it to be small; else both sides are repartitioned.
//!
//! A side that is cut by a key of the join as the other is need not be sent: both stay where they are. So do the joins above, and a stage grows by them until the
//! scheduler may not take it; then [`EVERYWHERE`] sends such sides too, which ends a stage.
//!
//! A nested loop join cannot repartition: where it gives rows for its left side, its right side is brought into one partition.
//!
//! The rule stands before `EnsureRequirements`, which adds the repartitions.

use super::copartitioned_join::cut_alike;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use crate::engine::planning::single_partition::SinglePartitionExec;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{JoinType, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "broadcast_joins",
    instead: |node, config| instead(node, config, false),
};

/// The rule that sends a small side also where both sides are cut alike.
pub(in crate::engine) const EVERYWHERE: NodeRewrite = NodeRewrite {
    name: "broadcast_joins",
    instead: |node, config| instead(node, config, true),
};

fn instead(node: &Node, config: &ConfigOptions, everywhere: bool) -> Result<Option<Node>> {
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        if !gives_left_rows(*join.join_type()) || join.right().is::<SinglePartitionExec>() {
            return Ok(None);
        }
        let right = SinglePartitionExec::plan(join.right().clone());
        let inputs = vec![join.left().clone(), right];
        return replace_children_if_necessary(node.clone(), inputs).map(Some);
    }
    let Some(join) = node.downcast_ref::<HashJoinExec>() else {
        return Ok(None);
    };
    let most = config.optimizer.hash_join_single_partition_threshold;
    let partitions = config.execution.target_partitions;
    let sent = everywhere || cut_alike(join, partitions).is_none();
    let stays = *join.partition_mode() != PartitionMode::CollectLeft
        || join.null_aware
        || !gives_left_rows(*join.join_type()) && sent && is_small(join.left(), most);
    if stays {
        return Ok(None);
    }
    let join = join
        .builder()
        .with_partition_mode(PartitionMode::Partitioned);
    join.build_exec().map(Some)
}

/// Whether a join gives rows for its left side that no row of its right side asks for.
pub(crate) fn gives_left_rows(of: JoinType) -> bool {
    use JoinType::*;
    matches!(of, Left | Full | LeftSemi | LeftAnti | LeftMark)
}

/// Whether the rows of a plan are known to have fewer bytes than `most`: as the statistics say, or else by the number of rows and the widths of their columns.
fn is_small(plan: &Node, most: usize) -> bool {
    let Ok(known) = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()) else {
        return false;
    };
    if let Some(bytes) = known
        .total_byte_size
        .get_value()
        .filter(|bytes| **bytes != 0)
    {
        return *bytes < most;
    }
    let width = |of: &DataType| match of {
        DataType::Boolean | DataType::Int8 | DataType::UInt8 => 1,
        DataType::Int16 | DataType::UInt16 => 2,
        DataType::Int32 | DataType::UInt32 | DataType::Float32 | DataType::Date32 => 4,
        DataType::Int64 | DataType::UInt64 | DataType::Float64 | DataType::Date64 => 8,
        DataType::Decimal128(..) => 16,
        _ => 32,
    };
    let schema = plan.schema();
    let width: usize = schema.fields().iter().map(|of| width(of.data_type())).sum();
    let rows = known.num_rows.get_value().filter(|rows| **rows != 0);
    rows.is_some_and(|rows| rows.saturating_mul(width.max(8)) < most)
}
