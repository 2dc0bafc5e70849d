//! A physical optimizer rule: a grouping by floats does not stop at a limit.
//!
//! Where only the first groups of an order are wanted, DataFusion 55.2 keeps no more of them, in a table of its own that compares floats as
//! processors do: NaN is not equal to itself there, and each row with one is a group of its own. Without the limit it groups as always, and the limit
//! above is left.
//!
//! The rule stands behind those that give groupings a limit.

use crate::engine::rule::{Node, Rule};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;

/// The rule.
pub(in crate::engine) const RULE: Rule = Rule {
    name: "float_keys",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(grouping) = node.downcast_ref::<AggregateExec>() else {
        return Ok(None);
    };
    if grouping.limit_options().is_none() {
        return Ok(None);
    }
    let input = grouping.input().schema();
    for (key, _) in grouping.group_expr().expr() {
        if key.data_type(&input)?.is_floating() {
            let grouping = grouping.with_new_limit_options(None);
            return Ok(Some(Arc::new(grouping)));
        }
    }
    Ok(None)
}
