//! `WHERE (job_id, log_id) IN (SELECT job_id, log_id FROM ..)`, which DataFusion 55.2 does not plan.
//!
//! It is planned as `EXISTS (SELECT 1 FROM (SELECT job_id, log_id FROM ..) AS r(a, b) WHERE r.a = job_id AND r.b = log_id)`. Where IN would be NULL, EXISTS is false. A WHERE
//! takes both for the same, below AND and OR alike, but not below NOT and in a select list, where such an IN is refused as before.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, Select};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// Plans so what stands in the WHERE of a SELECT.
pub(super) fn plan_as_exists(select: &mut Select) {
    if let Some(condition) = &mut select.selection {
        rewrite(condition);
    }
}

fn rewrite(condition: &mut Expr) {
    match condition {
        Expr::Nested(inner) => rewrite(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or,
            right,
        } => {
            rewrite(left);
            rewrite(right);
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated: false,
        } => {
            if let Expr::Tuple(values) = expr.as_ref()
                && let Some(exists) = exists(values, subquery)
            {
                *condition = exists;
            }
        }
        _ => {}
    }
}

/// Names that no column of the query around is likely to have.
const ROW: &str = "\"row value\"";

fn exists(values: &[Expr], rows: &Query) -> Option<Expr> {
    let names = (1..=values.len()).map(|n| format!("\"row value {n}\""));
    let names: Vec<_> = names.collect();
    let equal = values.iter().zip(&names);
    let equal = equal.map(|(value, name)| format!("{ROW}.{name} = ({value})"));
    let sql = format!(
        "EXISTS (SELECT 1 FROM ({rows}) AS {ROW}({}) WHERE {})",
        names.join(", "),
        equal.collect::<Vec<_>>().join(" AND ")
    );
    let parser = Parser::new(&GenericDialect {}).try_with_sql(&sql);
    parser.and_then(|mut parser| parser.parse_expr()).ok()
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn several_columns_are_compared_with_the_rows_of_a_subquery() {
        const T: &str = "(VALUES (1, 'a'), (1, 'b'), (2, 'a'), (NULL, 'a')) AS t(k, v)";
        const U: &str =
            "(VALUES (1, 'b', 5), (2, 'b', 6), (2, 'a', 7), (NULL, 'a', 8)) AS u(k, v, w)";
        for (condition, rows) in [
            ("(k, v) IN (SELECT k, v FROM {U})", vec!["1 | b", "2 | a"]),
            (
                "(k, v) IN (SELECT k, v FROM {U} WHERE w < 7) AND k > 0",
                vec!["1 | b"],
            ),
            (
                "k IS NULL OR ((t.k + 0, v) IN (SELECT k, max(v) FROM {U} GROUP BY k))",
                vec!["1 | b", "NULL | a"],
            ),
        ] {
            let sql =
                format!("SELECT k, v FROM {T} WHERE {condition} ORDER BY k, v").replace("{U}", U);
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        for condition in [
            "(k, v) NOT IN (SELECT k, v FROM {U})",
            "NOT (k, v) IN (SELECT k, v FROM {U})",
        ] {
            let sql = format!("SELECT k, v FROM {T} WHERE {condition}").replace("{U}", U);
            let error = ask(&sql).unwrap_err();
            assert!(error.contains("compare several by [NOT] EXISTS"), "{error}");
        }
    }
}
