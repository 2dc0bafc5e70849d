//! Plans and expressions rewritten from the leaves up.
//!
//! DataFusion's own functions are compiled anew for each closure that they are given, some 40 KB of them. These are compiled once.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Rewrites each node of a plan and of the plans of its subqueries.
pub(in crate::engine) fn plan_up(
    plan: LogicalPlan,
    rewrite: &mut dyn FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(rewrite)
}

/// Rewrites each part of an expression.
pub(in crate::engine) fn expr_up(
    expr: Expr,
    rewrite: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<Expr>> {
    expr.transform_up(rewrite)
}
