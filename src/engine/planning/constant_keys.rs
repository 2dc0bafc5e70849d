//! A physical optimizer rule: no grouping goes by the order of keys that are one value.
//!
//! ```sql
//! SELECT fs, ost, bytes_free, count(*) FROM lmt_ost WHERE fs = 'scratch' GROUP BY fs, ost, bytes_free
//! ```
//!
//! DataFusion 55.2 takes the rows to be sorted by `fs`, which they are, and groups them in the way of sorted rows: it looks at them one by one, which
//! over 4 million rows took 17 s where it takes 1 s to group them by the other keys alone. It helps nothing, for there is one run of them. A node
//! that says nothing of its rows below the grouping has it grouped as if they were in no order.
//!
//! The rule stands before `EnsureRequirements`; [`plain_input`] takes the node out where runs of rows are grouped, which makes use of no order.

use super::drop_join_ordering::DropOrderingExec;
use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "constant_keys",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(grouping) = node.downcast_ref::<AggregateExec>() else {
        return Ok(None);
    };
    let InputOrderMode::PartiallySorted(sorted) = grouping.input_order_mode() else {
        return Ok(None);
    };
    let input = grouping.input();
    let keys = grouping.group_expr().expr();
    let known = input.equivalence_properties();
    let is_constant = |at: &usize| {
        keys.get(*at)
            .is_some_and(|(key, _)| known.is_expr_constant(key).is_some())
    };
    if !sorted.iter().all(is_constant) {
        return Ok(None);
    }
    let input = DropOrderingExec::saying_nothing(Arc::clone(input));
    let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(node)
        .replace_children(vec![input], anew)
        .map(Some)
}

/// The same grouping, of the rows themselves where [`RULE`] has put a node between.
pub(in crate::engine) fn plain_input(grouping: AggregateExec) -> Result<AggregateExec> {
    let input = grouping.input().downcast_ref::<DropOrderingExec>();
    let said = input.filter(|input| input.says_nothing()).cloned();
    let Some(said) = said.filter(|_| *grouping.mode() == AggregateMode::Partial) else {
        return Ok(grouping);
    };
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    let whole = Arc::new(grouping.clone());
    let plain = whole.replace_children(vec![Arc::clone(said.input())], keep)?;
    Ok(plain.downcast_ref().cloned().unwrap_or(grouping))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::rows;
    use crate::engine::{Engine, EngineOptions, runtime};

    #[test]
    fn rows_of_one_value_of_a_key_are_grouped_as_if_they_were_in_no_order() {
        runtime(Some(2)).unwrap().block_on(async {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            let ask =
                async |sql: &str| rows(&engine.run(sql).await.unwrap().collect().await.unwrap());
            let sql = "SELECT k, v, count(*) FROM (VALUES ('a', 2), ('a', 1), ('b', 1), ('a', 2)) AS t(k, v) \
                       WHERE k = 'a' GROUP BY k, v ORDER BY v";
            let distinct = "SELECT DISTINCT v, 7 AS c FROM (VALUES (2), (1), (2)) AS t(v) ORDER BY v";
            for switch in ["on", "off"] {
                ask(&format!("SET iolode.constant_keys = {switch}")).await;
                assert_eq!(ask(sql).await, ["a | 1 | 1", "a | 2 | 2"]);
                assert_eq!(ask(distinct).await, ["1 | 7", "2 | 7"]);
                let plan = ask(&format!("EXPLAIN {sql}")).await.join("\n");
                assert_eq!(plan.contains("PartiallySorted"), switch == "off", "{plan}");
            }
        });
    }
}
