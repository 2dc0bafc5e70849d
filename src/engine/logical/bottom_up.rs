//! Optimizer rules that look at one node at a time, from below: one walk over the plan for all of them.
//!
//! DataFusion walks over the plan for each rule, in each of its passes. Of the time that planning takes a walk is a hundredth.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// These rules, one after another at each node.
#[derive(Debug)]
pub(in crate::engine) struct BottomUp(
    pub(in crate::engine) &'static [&'static (dyn OptimizerRule + Send + Sync)],
);

impl OptimizerRule for BottomUp {
    fn name(&self) -> &str {
        "bottom_up"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        mut plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let mut changed = false;
        for rule in self.0 {
            let rewritten = rule.rewrite(plan, config)?;
            changed |= rewritten.transformed;
            plan = rewritten.data;
        }
        Ok(Transformed::new_transformed(plan, changed))
    }
}
