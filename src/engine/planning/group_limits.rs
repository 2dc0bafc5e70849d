//! A physical optimizer rule: a grouping does not stop at a limit where that gives other rows.
//!
//! Where only the first groups of an order are wanted, DataFusion 55.2 tells the grouping to keep no more of them. In two cases that is wrong:
//!
//! - By floats: it keeps them in a table of its own that compares floats as processors do. NaN is not equal to itself there, and each row with one is a
//!   group of its own.
//! - Below a window function: a window over all rows then sees the first groups alone.
//!
//! ```sql
//! SELECT g, count(*) OVER (ORDER BY g) FROM (SELECT DISTINCT g FROM t) ORDER BY g DESC LIMIT 2     -- counts to 2, whatever t has
//! ```
//!
//! Without its limit a grouping groups as always, and the limit above is left. The rule stands behind those that give groupings a limit.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "group_limits",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    if node.is::<WindowAggExec>() || node.is::<BoundedWindowAggExec>() {
        let below = node.clone().transform_down(|node| {
            Ok(match limited(&node).map(without_limit) {
                Some(grouping) => Transformed::yes(grouping),
                None => Transformed::no(node),
            })
        })?;
        return Ok(below.transformed.then_some(below.data));
    }
    let Some(grouping) = limited(node) else {
        return Ok(None);
    };
    let input = grouping.input().schema();
    for (key, _) in grouping.group_expr().expr() {
        if key.data_type(&input)?.is_floating() {
            return Ok(Some(without_limit(grouping)));
        }
    }
    Ok(None)
}

/// A node as a grouping that stops at a limit.
fn limited(node: &Node) -> Option<&AggregateExec> {
    let grouping = node.downcast_ref::<AggregateExec>()?;
    grouping.limit_options().is_some().then_some(grouping)
}

fn without_limit(grouping: &AggregateExec) -> Node {
    Arc::new(grouping.with_new_limit_options(None))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_window_over_groups_sees_all_of_them_whatever_limit_stands_above() {
        let sql = "SELECT g, lag(g, 0) OVER (PARTITION BY g ORDER BY g) AS l, count(*) OVER (ORDER BY g) AS n
            FROM (SELECT DISTINCT g FROM (VALUES (1), (2), (3), (4), (5)) AS t(g)) ORDER BY g DESC LIMIT 2";
        assert_eq!(ask(sql).unwrap(), ["5 | 5 | 5", "4 | 4 | 4"]);
    }
}
