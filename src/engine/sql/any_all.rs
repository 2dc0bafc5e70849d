//! `a = ANY (SELECT ..)` is `a IN (SELECT ..)`, and `a <> ALL (SELECT ..)` is `a NOT IN (SELECT ..)`.
//!
//! DataFusion 55.2 plans both as a join that visits every pair of rows, IN as a hash join.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, VisitorMut};
use std::ops::ControlFlow;

/// Writes IN and NOT IN.
pub(in crate::engine) fn write_out(statement: &mut Statement) {
    let _ = super::visit::visit_mut(statement, &mut Comparisons);
}

struct Comparisons;

impl VisitorMut for Comparisons {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let (left, right, negated) = match &*expr {
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => (left, right, false),
            Expr::AllOp {
                left,
                compare_op: BinaryOperator::NotEq,
                right,
            } => (left, right, true),
            _ => return ControlFlow::Continue(()),
        };
        if let Expr::Subquery(subquery) = &**right {
            *expr = Expr::InSubquery {
                expr: left.clone(),
                subquery: subquery.clone(),
                negated,
            };
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn comparisons_with_any_and_all_rows_are_in_and_not_in() {
        const T: &str = "(VALUES (1), (2), (NULL)) AS t(v)";
        for (condition, rows) in [
            ("v = ANY (SELECT 2)", vec!["2"]),
            ("v = SOME (SELECT 2)", vec!["2"]),
            ("v <> ALL (SELECT 2)", vec!["1"]),
            ("v <> ALL (SELECT 2 UNION ALL SELECT NULL)", vec![]),
            ("NOT v = ANY (SELECT 2)", vec!["1"]),
            ("v > ALL (SELECT 1)", vec!["2"]),
        ] {
            let sql = format!("SELECT v FROM {T} WHERE {condition} ORDER BY v");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let plan = ask(&format!(
            "EXPLAIN SELECT v FROM {T} WHERE v = ANY (SELECT a FROM (VALUES (1), (3)) AS u(a))"
        ));
        let plan = plan.unwrap().join("\n");
        assert!(
            plan.contains("HashJoin") && !plan.contains("NestedLoop"),
            "{plan}"
        );
    }
}
