//! An expression that stands twice in an ORDER BY of `DISTINCT ON` or of an aggregate stands there once.
//!
//! DataFusion 55.2 drops the second itself, but still hands over a column for it, and panics: `SELECT DISTINCT ON (id) id, id AS f .. ORDER BY id, f`.

use crate::engine::logical::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

#[derive(Debug)]
pub(in crate::engine) struct OrderOnce;

impl AnalyzerRule for OrderOnce {
    fn name(&self) -> &str {
        "order_once"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan_up(plan, &mut |plan| match plan {
            LogicalPlan::Distinct(Distinct::On(mut on)) => {
                let changed = on.sort_expr.as_mut().is_some_and(once);
                let plan = LogicalPlan::Distinct(Distinct::On(on));
                Ok(Transformed::new_transformed(plan, changed))
            }
            LogicalPlan::Aggregate(_) => {
                // What stands above knows the aggregate by its name.
                kept_names::map_expressions(plan, &mut |expr| {
                    expr_up(expr, &mut |expr| match expr {
                        Expr::AggregateFunction(mut function) => {
                            let changed = once(&mut function.params.order_by);
                            let expr = Expr::AggregateFunction(function);
                            Ok(Transformed::new_transformed(expr, changed))
                        }
                        expr => Ok(Transformed::no(expr)),
                    })
                })
            }
            plan => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Leaves out what stands there already; whether there was something.
fn once(order: &mut Vec<Sort>) -> bool {
    let before = order.len();
    let mut seen: Vec<Expr> = vec![];
    order.retain(|sort| {
        let expr = sort.expr.clone().unalias_nested().data;
        let new = !seen.contains(&expr);
        seen.extend(new.then_some(expr));
        new
    });
    order.len() < before
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn an_aggregate_keeps_its_name_where_a_key_stands_twice() {
        const T: &str = "(VALUES (1, 10), (1, 9), (2, 3)) AS t(a, b)";
        for (term, rows) in [
            (
                "array_agg(b ORDER BY b DESC, a, b)",
                ["1 | [10, 9]", "2 | [3]"],
            ),
            ("first_value(b ORDER BY b, b DESC)", ["1 | 9", "2 | 3"]),
            (
                "string_agg(b::varchar, ',' ORDER BY b, a, b)",
                ["1 | 9,10", "2 | 3"],
            ),
        ] {
            let sql = format!("SELECT a, {term} AS r FROM {T} GROUP BY a ORDER BY a");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
