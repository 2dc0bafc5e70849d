//! Expressions of a node are changed, and its columns keep their names.
//!
//! [`NamePreserver`] gives the whole of `ROLLUP (a, b)` one name, so that its keys would lose theirs.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Changes each expression of a node.
pub(in crate::engine) fn map_expressions(
    plan: LogicalPlan,
    change: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| map(&names, expr, change))
}

/// Changes an expression of a node, or each key of grouping sets.
pub(in crate::engine) fn map(
    names: &NamePreserver,
    expr: Expr,
    change: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<Expr>> {
    if let Expr::GroupingSet(_) = expr {
        return expr.map_children(|key| map(names, key, change));
    }
    let name = names.save(&expr);
    let changed = change(expr)?;
    Ok(match changed.transformed {
        true => changed.update_data(|expr| name.restore(expr)),
        false => changed,
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn keys_of_grouping_sets_keep_their_names() {
        const T: &str = "(VALUES ('1', 'a'), ('1', NULL), ('2', 'b')) AS t(a, b)";
        for (sql, rows) in [
            (
                "SELECT a::double + 1, grouping(a::double + 1), count(*) FROM {T} GROUP BY ROLLUP (a::double + 1)",
                vec!["2.0 | 0 | 2", "3.0 | 0 | 1", "NULL | 1 | 3"],
            ),
            (
                "SELECT a, NULL::double - '-3.0'::double, count(*) FROM {T} WHERE a = '1' GROUP BY ROLLUP (a, NULL::double - '-3.0'::double)",
                vec!["1 | NULL | 2", "1 | NULL | 2", "NULL | NULL | 2"],
            ),
            (
                "SELECT b IN ('a', NULL), count(*) FROM {T} GROUP BY CUBE (b IN ('a', NULL))",
                vec!["NULL | 2", "NULL | 3", "true | 1"],
            ),
            (
                "SELECT a, a IN (SELECT '1'), count(*) FROM {T} GROUP BY GROUPING SETS ((a, a IN (SELECT '1')), (a IN (SELECT '1')))",
                vec![
                    "1 | true | 2",
                    "2 | false | 1",
                    "NULL | false | 1",
                    "NULL | true | 2",
                ],
            ),
        ] {
            let mut answer = ask(&sql.replace("{T}", T)).unwrap();
            answer.sort();
            assert_eq!(answer, rows, "{sql}");
        }
    }
}
