//! `SELECT CAST(id AS VARCHAR), id, count(DISTINCT v) .. GROUP BY 1, 2` is planned without the rules that name its keys anew.
//!
//! The name of a cast is that of its argument, so that the two keys have one name. Some rules of DataFusion 55.2 put a projection above a grouping
//! that has all keys with their names, and the statement is refused: "Projections require unique expression names".

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::HashSet;
use std::sync::Arc;

/// The rules of DataFusion that do so.
const RULES: [&str; 2] = [
    "single_distinct_aggregation_to_group_by",
    "eliminate_group_by_constant",
];

/// One of these rules, which leaves groupings with two keys of one name alone.
#[derive(Debug)]
struct KeysOfOneName(Arc<dyn OptimizerRule + Send + Sync>);

/// Puts them in the place of DataFusion's.
pub(in crate::engine) fn correct(rules: &mut [Arc<dyn OptimizerRule + Send + Sync>]) {
    for rule in rules {
        if RULES.contains(&rule.name()) {
            *rule = Arc::new(KeysOfOneName(rule.clone()));
        }
    }
}

impl OptimizerRule for KeysOfOneName {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Aggregate(aggregate) = &plan {
            let mut names = HashSet::new();
            let mut keys = aggregate.group_expr.iter();
            if !keys.all(|key| names.insert(key.schema_name().to_string())) {
                return Ok(Transformed::no(plan));
            }
        }
        self.0.rewrite(plan, config)
    }
}
