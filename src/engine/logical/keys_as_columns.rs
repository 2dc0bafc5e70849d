//! Keys of sorts and windows that are expressions become columns of a projection below.
//!
//! DataFusion 55.2 puts one side of an equality in the place of the other inside of such keys: below `WHERE a % 2 = b % 2` the key `b > b % 2` becomes `b > a % 2`, and
//! then it finds no order that answers the query. A column is put in no other's place. Not a rule: a plan that is found at fault is made again so, and no other
//! pays for it.

use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Sort, SortExpr, Window};
use std::sync::Arc;

/// The same plan with its keys as columns.
pub(in crate::engine) fn keys_as_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan_up(plan, &mut |plan| {
        Ok(match plan {
            LogicalPlan::Sort(sort) => {
                let mut below = Below::new(&sort.input);
                let expr = below.sorts(sort.expr);
                below.with_input(sort.input, |input| {
                    let fetch = sort.fetch;
                    Ok(LogicalPlan::Sort(Sort { expr, input, fetch }))
                })?
            }
            LogicalPlan::Window(window) => {
                let mut below = Below::new(&window.input);
                let functions = window.window_expr.into_iter();
                let functions = functions.map(|function| below.window(function));
                let functions = functions.collect::<Result<Vec<_>>>()?;
                below.with_input(window.input, |input| {
                    Ok(LogicalPlan::Window(Window::try_new(functions, input)?))
                })?
            }
            other => Transformed::no(other),
        })
    })
    .data()
}

/// The columns that a node gets from below: those of its input, then its keys.
struct Below {
    columns: Vec<Expr>,
    inputs: usize,
}

impl Below {
    fn new(input: &LogicalPlan) -> Below {
        let columns = input.schema().iter();
        let columns: Vec<_> = columns.map(|at| Expr::Column(at.into())).collect();
        Below {
            inputs: columns.len(),
            columns,
        }
    }

    /// The column of a key. One that uses rows around it stays where it is.
    fn key(&mut self, key: Expr) -> Expr {
        if matches!(key, Expr::Column(_) | Expr::Literal(..)) || key.contains_outer() {
            return key;
        }
        let name = format!("__key_{}", self.columns.len());
        self.columns.push(key.alias(&name));
        Expr::Column(Column::new_unqualified(name))
    }

    fn sorts(&mut self, sorts: Vec<SortExpr>) -> Vec<SortExpr> {
        let sorts = sorts.into_iter().map(|sort| SortExpr {
            expr: self.key(sort.expr),
            ..sort
        });
        sorts.collect()
    }

    /// A window function over keys that are columns, under its own name.
    fn window(&mut self, function: Expr) -> Result<Expr> {
        let name = NamePreserver::new_for_projection().save(&function);
        let function = expr_up(function, &mut |expr| {
            let Expr::WindowFunction(mut function) = expr else {
                return Ok(Transformed::no(expr));
            };
            let params = &mut function.params;
            let keys = std::mem::take(&mut params.partition_by).into_iter();
            params.partition_by = keys.map(|key| self.key(key)).collect();
            params.order_by = self.sorts(std::mem::take(&mut params.order_by));
            Ok(Transformed::yes(Expr::WindowFunction(function)))
        })?;
        Ok(name.restore(function.data))
    }

    /// The node above a projection with these columns, without its keys; the node as it was where no key is an expression.
    fn with_input(
        self,
        input: Arc<LogicalPlan>,
        node: impl FnOnce(Arc<LogicalPlan>) -> Result<LogicalPlan>,
    ) -> Result<Transformed<LogicalPlan>> {
        if self.columns.len() == self.inputs {
            return Ok(Transformed::no(node(input)?));
        }
        let keys = self.inputs..self.columns.len();
        let input = Projection::try_new(self.columns, input)?;
        let node = node(Arc::new(LogicalPlan::Projection(input)))?;
        let outputs = node.schema().iter().enumerate();
        let outputs = outputs.filter(|(at, _)| !keys.contains(at));
        let outputs = outputs.map(|(_, at)| Expr::Column(at.into())).collect();
        let outputs = Projection::try_new(outputs, Arc::new(node))?;
        Ok(Transformed::yes(LogicalPlan::Projection(outputs)))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn keys_are_found_below_equalities_of_expressions() {
        const T: &str =
            "(VALUES (1, 1, 'x'), (2, 4, 'y'), (3, 2, 'x'), (5, 5, NULL)) AS t(a, b, s)";
        for (sql, rows) in [
            (
                format!(
                    "SELECT a, row_number() OVER (PARTITION BY b > b % 2 ORDER BY a) FROM {T} WHERE a % 2 = b % 2 ORDER BY a"
                ),
                ["1 | 1", "2 | 1", "5 | 2"].as_slice(),
            ),
            (
                format!(
                    "SELECT t.a FROM {T} JOIN (VALUES (1, 0), (5, 4)) AS u(c, d) ON t.b = u.c AND t.a + 1 = u.d + 2 ORDER BY t.a + 1 > 5, t.a"
                ),
                &["1", "5"],
            ),
            (
                format!(
                    "SELECT c, max(n) FROM (SELECT coalesce(cast(s AS varchar), 'none') AS c, count(*) OVER (PARTITION BY coalesce(cast(s AS varchar), 'none')) AS n FROM {T}) GROUP BY c ORDER BY c"
                ),
                &["none | 1", "x | 2", "y | 1"],
            ),
            (
                format!("SELECT a FROM {T} ORDER BY a IN (SELECT 2), a"),
                &["1", "3", "5", "2"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
