//! Comparisons of rows, `(a, b)`.
//!
//! | written | planned as |
//! |---|---|
//! | `(a, b) = (c, d)` | `a = c AND b = d` |
//! | `(a, b) < (c, d)` | `a < c OR a = c AND b < d` |
//! | `(a, b) IN ((1, 2), (3, 4))` | `a = 1 AND b = 2 OR a = 3 AND b = 4` |
//! | `WHERE (a, b) IN (SELECT c, d FROM ..)` | `EXISTS (SELECT 1 FROM (SELECT c, d FROM ..) AS r(c, d) WHERE r.c = a AND r.d = b)` |
//!
//! DataFusion 55.2 compares the first ones as structs, in which a NULL is a value and less than all others, takes columns and literals alone, and does not plan the last.
//! Where an IN of a subquery would be NULL, EXISTS is false. A WHERE takes both for the same, below AND and OR alike, but not below NOT and in a select list, where such an IN is refused as
//! before.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, Select, UnaryOperator};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// Plans so what stands in the WHERE of a SELECT.
pub(super) fn plan_as_exists(select: &mut Select) {
    if let Some(condition) = &mut select.selection {
        rewrite(condition);
    }
}

/// A comparison of rows that are written out, column by column; None of anything else.
pub(super) fn by_columns(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => compared(row(left)?, op, row(right)?),
        Expr::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let value = row(expr)?;
            let above = compared(value, &BinaryOperator::GtEq, row(low)?)?;
            let below = compared(value, &BinaryOperator::LtEq, row(high)?)?;
            Some(negated_if(
                *negated,
                joined(above, BinaryOperator::And, below),
            ))
        }
        Expr::InList {
            expr,
            list,
            negated,
        } => {
            let value = row(expr)?;
            let equal = list
                .iter()
                .map(|of| compared(value, &BinaryOperator::Eq, row(of)?));
            let equal = equal.collect::<Option<Vec<_>>>()?.into_iter();
            let any = equal.reduce(|a, b| joined(a, BinaryOperator::Or, b))?;
            Some(negated_if(*negated, any))
        }
        _ => None,
    }
}

fn row(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(values) if values.len() > 1 => Some(values),
        _ => None,
    }
}

fn compared(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Option<Expr> {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    if left.len() != right.len() {
        return None;
    }
    let of = |a: &Expr, op: &BinaryOperator, b: &Expr| {
        joined(nested(a.clone()), op.clone(), nested(b.clone()))
    };
    let mut pairs = left.iter().zip(right).rev();
    let (a, b) = pairs.next()?;
    let last = of(a, op, b);
    // What decides where all columns before are equal.
    Some(match op {
        Eq => pairs.fold(last, |rest, (a, b)| joined(of(a, &Eq, b), And, rest)),
        NotEq => pairs.fold(last, |rest, (a, b)| joined(of(a, &NotEq, b), Or, rest)),
        Lt | LtEq | Gt | GtEq => {
            let strictly = match op {
                Lt | LtEq => Lt,
                _ => Gt,
            };
            pairs.fold(last, |rest, (a, b)| {
                let equal = joined(of(a, &Eq, b), And, rest);
                joined(of(a, &strictly, b), Or, equal)
            })
        }
        _ => return None,
    })
}

fn joined(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    nested(Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    })
}

fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(_) | Expr::Identifier(_) | Expr::Value(_) => expr,
        expr => Expr::Nested(Box::new(expr)),
    }
}

fn negated_if(negated: bool, expr: Expr) -> Expr {
    match negated {
        true => nested(Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(expr),
        }),
        false => expr,
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

    /// By hand; so does PostgreSQL.
    #[test]
    fn rows_are_compared_column_by_column() {
        const T: &str = "(VALUES (1, 2), (3, NULL), (NULL, 4), (5, 6), (3, 3)) AS t(a, b)";
        for (condition, rows) in [
            ("(a, b) < (3, 4)", vec!["1 | 2", "3 | 3"]),
            ("(a, b) <= (3, 3)", vec!["1 | 2", "3 | 3"]),
            ("(a, b) > (3, 2)", vec!["3 | 3", "5 | 6"]),
            ("(a, b) >= (3, 1 + 2)", vec!["3 | 3", "5 | 6"]),
            ("(a, b) = (3, 3)", vec!["3 | 3"]),
            ("(a, b) <> (3, 3)", vec!["1 | 2", "5 | 6", "NULL | 4"]),
            ("(a, b) IN ((1, 2), (3, 4), (5, 6))", vec!["1 | 2", "5 | 6"]),
            ("(a, b) NOT IN ((1, 2), (3, 4))", vec!["3 | 3", "5 | 6"]),
            (
                "((a, b) = (3, NULL)) IS NULL",
                vec!["3 | 3", "3 | NULL", "NULL | 4"],
            ),
            ("(a, b) BETWEEN (1, 3) AND (3, 9)", vec!["3 | 3"]),
            ("(a::double, -b) < (3e0, -2)", vec!["1 | 2", "3 | 3"]),
        ] {
            let sql = format!("SELECT a, b FROM {T} WHERE {condition} ORDER BY a, b");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
