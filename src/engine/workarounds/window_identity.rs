//! Two windows stay two.
//!
//! DataFusion 55.2 compares the terms of two windows only as far as the shorter list goes (`NormalizeEq` of `Expr::WindowFunction`), and so takes
//! these for one expression, which it then cannot plan:
//!
//! ```sql
//! SELECT row_number() OVER (ORDER BY uid, uid), row_number() OVER (PARTITION BY uid ORDER BY uid) ..
//! SELECT count(*) OVER (PARTITION BY uid ORDER BY app ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), count(*) OVER (PARTITION BY uid, app) ..
//! ```
//!
//! Of windows with the same terms, divided otherwise between PARTITION BY and ORDER BY, the last term of all but the first is one for [`OPTIMIZER_BARRIER`] of
//! itself.
//!
//! Delete when `datafusion_alone_cannot_plan_them` fails.

use super::functional_dependencies::OPTIMIZER_BARRIER;
use crate::engine::logical::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{HashMap, Result};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Keeps windows apart. Must run after types are coerced.
#[derive(Debug)]
pub(in crate::engine) struct WindowIdentity;

impl AnalyzerRule for WindowIdentity {
    fn name(&self) -> &str {
        "window_identity"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut divided: HashMap<Vec<Expr>, usize> = HashMap::new();
        plan_up(plan, &mut |plan| {
            if !matches!(plan, LogicalPlan::Window(_)) {
                return Ok(Transformed::no(plan));
            }
            kept_names::map_expressions(plan, &mut |expr| {
                expr_up(expr, &mut |expr| match expr {
                    Expr::WindowFunction(mut window) => {
                        let changed = keep_apart(&mut window, &mut divided);
                        let window = Expr::WindowFunction(window);
                        Ok(Transformed::new_transformed(window, changed))
                    }
                    expr => Ok(Transformed::no(expr)),
                })
            })
        })
        .data()
    }
}

/// Changes a window whose terms another one has divided otherwise; whether it did. `divided` holds how many terms of such are in PARTITION BY.
fn keep_apart(window: &mut WindowFunction, divided: &mut HashMap<Vec<Expr>, usize>) -> bool {
    let params = &mut window.params;
    let partition_by = params.partition_by.len();
    let order_by = params.order_by.iter().map(|sort| sort.expr.clone());
    let terms = params.partition_by.iter().cloned().chain(order_by);
    let first = *divided.entry(terms.collect()).or_insert(partition_by);
    let last = match params.order_by.last_mut() {
        Some(sort) => Some(&mut sort.expr),
        None => params.partition_by.last_mut(),
    };
    match last {
        Some(last) if first != partition_by => {
            *last = OPTIMIZER_BARRIER.call(vec![std::mem::take(last)]);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::runtime;
    use datafusion::prelude::SessionContext;

    const T: &str = "WITH t(u, a) AS (VALUES (1, 'x'), (1, 'y'), (2, 'x'), (2, 'x')) ";
    /// Statements, and their rows by hand.
    const STATEMENTS: &[(&str, &[&str])] = &[
        (
            "SELECT u, rank() OVER (ORDER BY u, u) AS r, rank() OVER (PARTITION BY u ORDER BY u) AS s FROM t ORDER BY u",
            &["1 | 1 | 1", "1 | 1 | 1", "2 | 3 | 1", "2 | 3 | 1"],
        ),
        (
            "SELECT u, a, count(*) OVER (PARTITION BY u ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS n, \
             count(*) OVER (PARTITION BY u, a) AS m FROM t ORDER BY u, a",
            &[
                "1 | x | 2 | 1",
                "1 | y | 2 | 1",
                "2 | x | 2 | 2",
                "2 | x | 2 | 2",
            ],
        ),
    ];

    #[test]
    fn windows_with_the_same_terms_divided_otherwise_are_two() {
        for (sql, rows) in STATEMENTS {
            assert_eq!(ask(&format!("{T}{sql}")).unwrap(), *rows, "{sql}");
        }
    }

    #[test]
    fn datafusion_alone_cannot_plan_them() {
        runtime(Some(2)).unwrap().block_on(async {
            for (sql, _) in STATEMENTS {
                let planned = SessionContext::new()
                    .sql(&format!("{T}{sql}"))
                    .await
                    .unwrap();
                assert!(planned.create_physical_plan().await.is_err(), "{sql}");
            }
        });
    }
}
