//! `CASE WHEN x <> 0 THEN 10 / x > 5 END` looks at a branch only where it is taken.
//!
//! DataFusion 55.2 makes `x <> 0 AND 10 / x > 5` of a CASE of few conditions, and evaluates both sides of AND: "division by zero". A CASE with an operand,
//! `CASE true WHEN x <> 0 THEN ..`, stays.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Case, Expr, ExprSchemable, Operator, lit};

/// Gives such a CASE an operand, where a branch can be an error.
#[derive(Debug)]
pub(in crate::engine) struct BooleanCase;

impl FunctionRewrite for BooleanCase {
    fn name(&self) -> &str {
        "boolean_case"
    }

    fn rewrite(
        &self,
        mut expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        if let Expr::Case(case) = &mut expr
            && case.expr.is_none()
            && is_boolean(case, schema)
            && can_fail(case)
        {
            case.expr = Some(Box::new(lit(true)));
            return Ok(Transformed::yes(expr));
        }
        Ok(Transformed::no(expr))
    }
}

fn is_boolean(case: &Case, schema: &DFSchema) -> bool {
    let mut results = case.when_then_expr.iter().map(|(_, then)| then);
    results.any(|then| matches!(then.get_type(schema), Ok(DataType::Boolean)))
}

/// Whether one of its branches computes what can be an error.
fn can_fail(case: &Case) -> bool {
    let branches = case.when_then_expr.iter().map(|(_, then)| then);
    let mut branches = branches.chain(&case.else_expr);
    branches.any(|branch| {
        let found = branch.exists(|expr| {
            Ok(match expr {
                Expr::BinaryExpr(BinaryExpr { op, .. }) => {
                    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
                    matches!(op, Divide | Modulo | Plus | Minus | Multiply)
                }
                Expr::Cast(_) | Expr::ScalarFunction(_) => true,
                _ => false,
            })
        });
        found.unwrap_or(true)
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_branch_that_is_not_taken_is_no_error() {
        for (term, rows) in [
            (
                "case when x <> 0 then 10 / x > 5 end",
                ["true", "NULL", "false"],
            ),
            (
                "case when x <> 0 then 10 / x > 5 else x = 0 end",
                ["true", "true", "false"],
            ),
            (
                "case when x = 0 then null when x > 1 then 10 % x = 1 else false end",
                ["false", "NULL", "true"],
            ),
            (
                "case when s ~ '^[0-9]+$' then cast(s as int) > 3 else false end",
                ["false", "false", "true"],
            ),
        ] {
            let sql = format!(
                "SELECT coalesce(cast({term} as varchar), 'NULL') FROM (VALUES (1, '2', 1), (0, 'a', 2), (3, '4', 3)) AS t(x, s, i) ORDER BY i"
            );
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let kept = "SELECT count(*) FROM (VALUES (1), (0), (3)) AS t(x) WHERE case when x <> 0 then 10 / x > 5 else true end";
        assert_eq!(ask(kept).unwrap(), ["2"]);
    }
}
