//! Comparisons of rows, `(a, b)`.
//!
//! | written | planned as |
//! |---|---|
//! | `(a, b) = (c, d)` | `a = c AND b = d` |
//! | `(a, b) < (c, d)` | `a < c OR a = c AND b < d` |
//! | `(a, b) IN ((1, 2), (3, 4))` | `a = 1 AND b = 2 OR a = 3 AND b = 4` |
//! | `WHERE (a, b) IN (SELECT c, d FROM ..)` | `EXISTS (SELECT 1 FROM (SELECT c, d FROM ..) AS r(c, d) WHERE r.c = a AND r.d = b)` |
//! | `WHERE (a, b) IN (` a long list `)` | the same with `VALUES` |
//!
//! DataFusion 55.2 compares the first ones as structs, in which a NULL is a value and less than all others, takes columns and literals alone, and does not plan the last.
//! Where an IN of a subquery would be NULL, EXISTS is false. A WHERE takes both for the same, below AND and OR alike, but not below NOT and in a select list, where such an IN is refused as
//! before. A list of more than 2,000 rows is refused there too: its conditions would take long to plan.

use super::long_chains::{self, ANY_OF, SHORT};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Select, UnaryOperator};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::fmt::Display;

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
            let equal = equal.collect::<Option<Vec<_>>>()?;
            let any = long_chains::balanced(equal, &BinaryOperator::Or);
            Some(negated_if(*negated, nested(any)))
        }
        _ => None,
    }
}

/// Why a list of rows is not planned.
pub(super) fn refused(expr: &Expr) -> Option<String> {
    match expr {
        Expr::InList { expr, list, .. } if list.len() > ANY_OF && row(expr).is_some() => {
            Some(format!(
                "a list of {} rows is too long here, at most {ANY_OF}; write `WHERE (a, b) IN (..)` with numbers and texts, or join a table of the rows",
                list.len()
            ))
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
        Expr::InList {
            expr,
            list,
            negated: false,
        } if list.len() > SHORT => {
            if let Expr::Tuple(values) = expr.as_ref()
                && is_table(values.len(), list)
            {
                let rows: Vec<String> = list.iter().map(Expr::to_string).collect();
                if let Some(exists) = exists(values, format!("VALUES {}", rows.join(", "))) {
                    *condition = exists;
                }
            }
        }
        _ => {}
    }
}

/// Names that no column of the query around is likely to have.
const ROW: &str = "\"row value\"";

/// Whether rows have so many columns, each of whole numbers or of texts alone.
fn is_table(columns: usize, rows: &[Expr]) -> bool {
    let mut rows = rows.iter().map(|values| {
        let values = row(values).filter(|values| values.len() == columns)?;
        let kinds = values.iter().map(long_chains::is_text);
        kinds.collect::<Option<Vec<bool>>>()
    });
    let Some(Some(first)) = rows.next() else {
        return false;
    };
    rows.all(|kinds| kinds.as_ref() == Some(&first))
}

fn exists(values: &[Expr], rows: impl Display) -> Option<Expr> {
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

    /// By hand: of 1 to 3, with NULL in the place of 2, the rows (1, 1), (2, NULL) and (3, 3).
    #[test]
    fn long_lists_of_rows_are_planned_soon_and_answered() {
        const T: &str = "(SELECT value AS a, nullif(value, 2) AS b, value::text AS t FROM generate_series(1, 3))";
        let list = |rows: usize, row: fn(usize) -> String| {
            (0..rows).map(row).collect::<Vec<_>>().join(", ")
        };
        let numbers = |rows| list(rows, |i| format!("({}, {})", i + 2, i + 2));
        let texts = list(20_000, |i| format!("({}, '{}')", i, i % 3));
        for (sql, rows) in [
            (
                format!("SELECT a FROM {T} WHERE (a, b) IN ({})", numbers(20_000)),
                vec!["3"],
            ),
            (
                format!(
                    "SELECT a FROM {T} WHERE a = 1 OR (a, b) IN ({})",
                    numbers(20_000)
                ),
                vec!["1", "3"],
            ),
            (
                format!("SELECT a FROM {T} WHERE (a + 0, t) IN ({texts})"),
                vec!["1", "2"],
            ),
            (
                format!("SELECT a FROM {T} WHERE (a, b) NOT IN ({})", numbers(500)),
                vec!["1"],
            ),
            (
                format!("SELECT (a, b) IN ({}) FROM {T}", numbers(500)),
                vec!["NULL", "false", "true"],
            ),
        ] {
            let mut answer = ask(&sql).unwrap();
            answer.sort();
            assert_eq!(answer, rows);
        }
        let error = ask(&format!("SELECT (a, b) IN ({}) FROM {T}", numbers(2_001))).unwrap_err();
        assert!(
            error.starts_with("a list of 2001 rows is too long here"),
            "{error}"
        );
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
