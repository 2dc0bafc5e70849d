//! `WHERE k % 2 = 1 ORDER BY k > 1`: an expression that equals a constant in a filter is no other name of that constant.
//!
//! DataFusion 55.2 takes the expression and the constant for the same below sorts and windows, puts `k % 2` in the place of the `1` in `k > 1`, and then finds no order that
//! answers the query. As `k % 2 IS NOT DISTINCT FROM 1`, which is true of the same rows, it takes nothing from it. A column that equals a constant stays: that is what
//! scans and sorts use.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Rewrites such conditions of filters.
#[derive(Debug)]
pub(in crate::engine) struct FilterEquality;

impl OptimizerRule for FilterEquality {
    fn name(&self) -> &str {
        "filter_equality"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else {
            return Ok(Transformed::no(plan));
        };
        let mut changed = false;
        let conditions = split_conjunction_owned(filter.predicate);
        let conditions = conditions.into_iter().map(|condition| match condition {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Eq,
                right,
            }) if is_of_no_column(&left, &right) || is_of_no_column(&right, &left) => {
                changed = true;
                Expr::BinaryExpr(BinaryExpr::new(left, Operator::IsNotDistinctFrom, right))
            }
            condition => condition,
        });
        let predicate = conjunction(conditions.collect::<Vec<_>>());
        let predicate = predicate.unwrap_or_else(|| datafusion::logical_expr::lit(true));
        let filter = LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?);
        Ok(Transformed::new_transformed(filter, changed))
    }
}

/// Whether the first is an expression over columns and the second a constant that is not NULL.
fn is_of_no_column(expr: &Expr, constant: &Expr) -> bool {
    let is_constant = matches!(constant, Expr::Literal(value, _) if !value.is_null());
    is_constant && !matches!(expr, Expr::Column(_) | Expr::Literal(..)) && expr.any_column_refs()
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_constant_of_a_filter_stands_again_in_an_order_or_a_window() {
        const T: &str = "generate_series(1, 6) AS t(k)";
        for (sql, rows) in [
            (
                format!("SELECT k FROM {T} WHERE k % 2 = 1 ORDER BY k > 1, k LIMIT 2"),
                ["1", "3"],
            ),
            (
                format!(
                    "SELECT row_number() OVER (PARTITION BY k > 0 ORDER BY k) FROM {T} WHERE k % 5 = 0 UNION ALL SELECT 7 ORDER BY 1"
                ),
                ["1", "7"],
            ),
            (
                format!(
                    "SELECT k FROM {T} WHERE 3 = abs(k) OR k % 5 = 1 ORDER BY k > 1, k LIMIT 2"
                ),
                ["1", "3"],
            ),
            (
                format!(
                    "SELECT DISTINCT s FROM (SELECT k, k::varchar || '' AS s FROM {T}) WHERE s || 'x' = '1x' OR k = 2 ORDER BY s < '1x', s"
                ),
                ["2", "1"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let nulls = "SELECT count(*) FROM (VALUES (1), (NULL)) AS t(k) WHERE k % 2 = 1";
        assert_eq!(ask(nulls).unwrap(), ["1"]);
    }
}
