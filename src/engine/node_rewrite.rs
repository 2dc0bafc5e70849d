//! The frame of our physical optimizer rules.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// A rule that puts other nodes, of the same schema, in the place of some, from the leaves up.
pub(super) struct NodeRewrite {
    pub(super) name: &'static str,
    /// What stands instead of a node; None where it stays.
    pub(super) instead: fn(&Node, &ConfigOptions) -> Result<Option<Node>>,
}

/// A node of a plan, with what lies under it.
pub(super) type Node = Arc<dyn ExecutionPlan>;

impl Debug for NodeRewrite {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PhysicalOptimizerRule for NodeRewrite {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(&self, plan: Node, config: &ConfigOptions) -> Result<Node> {
        plan.transform_up(|node| {
            Ok(match (self.instead)(&node, config)? {
                Some(other) => Transformed::yes(other),
                None => Transformed::no(node),
            })
        })
        .data()
    }
}
