//! Comparisons with ANY and ALL in forms that DataFusion 55.2 plans well.
//!
//! | written | planned as |
//! |---|---|
//! | `a = ANY (SELECT ..)`, `a <> ALL (SELECT ..)` | `a IN (SELECT ..)`, `a NOT IN (SELECT ..)` |
//! | `a = ANY ([1, 2])`, `a <> ALL ([1, 2])` | `a IN (1, 2)`, `a NOT IN (1, 2)` |
//! | `a > ANY (list)` and the like | `NOT a <= ALL (list)` |
//!
//! DataFusion plans the first as joins that visit every pair of rows, and ANY over a list with a NULL is false there instead of NULL; its ALL over lists is right. The other operators over
//! subqueries are in `logical/set_comparison.rs`.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

/// A comparison with ANY or ALL in its other form; None for any other expression, and for `ALL` over lists.
pub(super) fn planned_as(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => {
            let negated = negation(compare_op)?;
            is_in(left, compare_op, BinaryOperator::Eq, right, false).or_else(|| {
                if matches!(right.as_ref(), Expr::Subquery(_)) {
                    return None;
                }
                let all = Expr::AllOp {
                    left: left.clone(),
                    compare_op: negated,
                    right: right.clone(),
                };
                Some(Expr::Nested(Box::new(Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr: Box::new(Expr::Nested(Box::new(all))),
                })))
            })
        }
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => is_in(left, compare_op, BinaryOperator::NotEq, right, true),
        _ => None,
    }
}

fn negation(op: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match op {
        BinaryOperator::Eq => BinaryOperator::NotEq,
        BinaryOperator::NotEq => BinaryOperator::Eq,
        BinaryOperator::Lt => BinaryOperator::GtEq,
        BinaryOperator::LtEq => BinaryOperator::Gt,
        BinaryOperator::Gt => BinaryOperator::LtEq,
        BinaryOperator::GtEq => BinaryOperator::Lt,
        _ => return None,
    })
}

/// Whether a value is one of some rows or elements that are written out; None of another operator, and of other lists.
fn is_in(
    value: &Expr,
    op: &BinaryOperator,
    of: BinaryOperator,
    among: &Expr,
    negated: bool,
) -> Option<Expr> {
    if *op != of {
        return None;
    }
    let expr = Box::new(value.clone());
    match among {
        Expr::Subquery(subquery) => Some(Expr::InSubquery {
            expr,
            subquery: subquery.clone(),
            negated,
        }),
        Expr::Array(list) if !list.elem.is_empty() => Some(Expr::InList {
            expr,
            list: list.elem.clone(),
            negated,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so does PostgreSQL.
    #[test]
    fn any_is_null_where_a_null_could_be_the_one() {
        for (term, found) in [
            ("2 = ANY ([NULL, 1])", "NULL"),
            ("1 = ANY ([NULL, 1])", "true"),
            ("2 = ANY ([1, 3])", "false"),
            ("NULL = ANY ([1, 3])", "NULL"),
            ("2 <> ALL ([NULL, 1])", "NULL"),
            ("1 <> ALL ([NULL, 1])", "false"),
            ("2 = ANY (l)", "NULL"),
            ("1 = ANY (l)", "true"),
            ("1 = ANY (none)", "NULL"),
            ("1 = ANY (m)", "false"),
            ("'b' = ANY (texts)", "NULL"),
            ("'a' = ANY (texts)", "true"),
            ("3 > ANY (l)", "true"),
            ("0 > ANY (l)", "NULL"),
            ("0 < ANY (l)", "true"),
            ("1 < ANY (l)", "NULL"),
            ("1 <> ANY (l)", "NULL"),
            ("2 <> ANY (l)", "true"),
            ("7 >= ANY (m)", "true"),
            ("4 <= ANY (m)", "true"),
            ("9 <= ANY (m)", "false"),
            ("7 = ALL (m)", "false"),
        ] {
            let sql = format!(
                "SELECT {term} FROM (SELECT [NULL, 1] AS l, [5, 7] AS m, NULL::int[] AS none, ['a', NULL] AS texts) AS t"
            );
            assert_eq!(ask(&sql).unwrap(), [found], "{sql}");
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
        assert!(!plan.contains("NestedLoop"), "{plan}");
    }
}
