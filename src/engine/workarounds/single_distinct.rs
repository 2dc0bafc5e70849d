//! `SELECT CAST(id AS VARCHAR), id, count(DISTINCT v) .. GROUP BY 1, 2` is planned without the rewrite of one DISTINCT.
//!
//! DataFusion 55.2 rewrites one DISTINCT aggregate as a grouping below a grouping, and names the keys of the upper one after those of the
//! query. The name of a cast is that of its argument, so that the two keys have one name, and the statement is refused: "Projections
//! require unique expression names".

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::HashSet;

/// DataFusion's rule, which leaves groupings with two keys of one name alone.
#[derive(Debug, Default)]
pub(in crate::engine) struct SingleDistinct(SingleDistinctToGroupBy);

impl OptimizerRule for SingleDistinct {
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
            let keys = &aggregate.group_expr;
            if !keys
                .iter()
                .all(|key| names.insert(key.schema_name().to_string()))
            {
                return Ok(Transformed::no(plan));
            }
        }
        self.0.rewrite(plan, config)
    }
}
