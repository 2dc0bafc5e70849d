//! Forms of PostgreSQL and DuckDB that DataFusion 55.2 does not plan, or plans badly, in a form that it plans well.
//!
//! `a = ANY (SELECT ..)` is `a IN (SELECT ..)`, and `a <> ALL (SELECT ..)` is `a NOT IN (SELECT ..)`: DataFusion plans the first ones as a join that visits every pair of
//! rows. The order of rows in EXISTS means nothing: `EXISTS (SELECT 1 .. ORDER BY x LIMIT 1)` has none. A field of an element, `components[1].stripe_count`, is
//! `components[1]['stripe_count']`.

use crate::engine::udf::statement::normal;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Subscript, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Writes them so.
pub(in crate::engine) fn write_out(statement: &mut Statement) {
    let _ = super::visit::visit_mut(statement, &mut Forms);
}

struct Forms;

impl VisitorMut for Forms {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Exists { subquery, .. } => subquery.order_by = None,
            Expr::CompoundFieldAccess { access_chain, .. } => {
                let mut is_element = false;
                for access in access_chain {
                    match access {
                        AccessExpr::Subscript(_) => is_element = true,
                        AccessExpr::Dot(Expr::Identifier(field)) if is_element => {
                            let field = Value::SingleQuotedString(normal(field));
                            let index = Expr::Value(field.with_empty_span());
                            *access = AccessExpr::Subscript(Subscript::Index { index });
                        }
                        AccessExpr::Dot(_) => {}
                    }
                }
            }
            _ => {}
        }
        let written = match &*expr {
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => is_in(left, right, false),
            Expr::AllOp {
                left,
                compare_op: BinaryOperator::NotEq,
                right,
            } => is_in(left, right, true),
            _ => None,
        };
        if let Some(written) = written {
            *expr = written;
        }
        ControlFlow::Continue(())
    }
}

/// Whether a value is one of the rows of a subquery; None of a list.
fn is_in(value: &Expr, rows: &Expr, negated: bool) -> Option<Expr> {
    let Expr::Subquery(subquery) = rows else {
        return None;
    };
    Some(Expr::InSubquery {
        expr: Box::new(value.clone()),
        subquery: subquery.clone(),
        negated,
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn exists_has_no_order_and_elements_have_fields() {
        const T: &str = "(VALUES (1), (2), (3)) AS t(v)";
        const U: &str = "(VALUES (2, 5), (2, 6), (3, 1)) AS u(k, w)";
        const E: &str = "(SELECT [named_struct('n', 7, 'm', [8, 9])] AS e) AS s";
        for (sql, rows) in [
            (
                format!(
                    "SELECT v FROM {T} WHERE EXISTS (SELECT 1 FROM {U} WHERE u.k = t.v ORDER BY u.w LIMIT 1) ORDER BY v"
                ),
                vec!["2", "3"],
            ),
            (
                format!(
                    "SELECT v FROM {T} WHERE NOT EXISTS (SELECT w FROM {U} WHERE u.k = t.v ORDER BY w DESC)"
                ),
                vec!["1"],
            ),
            (format!("SELECT e[1].n, e[1].m[2] FROM {E}"), vec!["7 | 9"]),
            (format!("SELECT s.e[1].N + 1 FROM {E}"), vec!["8"]),
            (format!("SELECT e[array_length(e)].n FROM {E}"), vec!["7"]),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }

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
