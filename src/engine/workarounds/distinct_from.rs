//! What follows `IS DISTINCT FROM` ends before the next AND or OR.
//!
//! sqlparser 0.62 reads `a IS DISTINCT FROM b AND c` as `a IS DISTINCT FROM (b AND c)`, without a word where these are Booleans. Such a condition is bracketed
//! anew where what stands before it allows that: `x AND a IS DISTINCT FROM b OR c` and `NOT a IS DISTINCT FROM b AND c` are refused.

use crate::engine::sql::visit::visit_mut;
use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, VisitorMut};
use std::ops::ControlFlow;

/// Brackets such conditions.
///
/// # Errors
/// [`Error::Invalid`] where they cannot be, which says what to write instead.
pub(in crate::engine) fn bracket(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut Brackets) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(written) => Err(Error::Invalid(format!(
            "`{written}` would not be read as it looks; write brackets: `(a IS [NOT] DISTINCT FROM b) AND ..`"
        ))),
    }
}

struct Brackets;

impl VisitorMut for Brackets {
    type Break = String;

    /// Operators that stand before such a condition and bind tighter than one of those in it.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let last = match expr {
            Expr::BinaryOp { right, op, .. } => Some((right, Some(&*op))),
            Expr::UnaryOp { expr, .. } => Some((expr, None)),
            _ => None,
        };
        let refused = last.is_some_and(|(last, op)| match taken(last) {
            Some(BinaryOperator::And) => {
                !matches!(op, Some(BinaryOperator::And | BinaryOperator::Or))
            }
            Some(_) => op != Some(&BinaryOperator::Or),
            None => false,
        });
        match refused || has_suffix(expr) {
            true => ControlFlow::Break(expr.to_string()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Conditions in it have their brackets already.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if taken(expr).is_none() {
            return ControlFlow::Continue(());
        }
        let whole = std::mem::replace(expr, Expr::value(Value::Null));
        // In brackets it is read back as it is meant.
        let bracketed = |comparison| Expr::Nested(Box::new(comparison));
        *expr = match whole {
            Expr::IsDistinctFrom(left, right) => with_first(*right, |first| {
                bracketed(Expr::IsDistinctFrom(left, Box::new(first)))
            }),
            Expr::IsNotDistinctFrom(left, right) => with_first(*right, |first| {
                bracketed(Expr::IsNotDistinctFrom(left, Box::new(first)))
            }),
            other => other,
        };
        ControlFlow::Continue(())
    }
}

/// Whether what follows DISTINCT FROM begins with a test, as in `a IS DISTINCT FROM b IS TRUE`, that could be one of the whole.
fn has_suffix(expr: &Expr) -> bool {
    let (Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)) = expr else {
        return false;
    };
    let mut first = right;
    while let Expr::BinaryOp { left, op, .. } = first.as_ref()
        && joins_conditions(op)
    {
        first = left;
    }
    matches!(
        first.as_ref(),
        Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
    )
}

/// The loosest operator of the conditions that the parser took for a part of what follows DISTINCT FROM.
fn taken(expr: &Expr) -> Option<BinaryOperator> {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => match &**right {
            Expr::BinaryOp { op, .. } if joins_conditions(op) => Some(op.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn joins_conditions(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor
    )
}

/// Conditions with another first one.
fn with_first(conditions: Expr, first: impl FnOnce(Expr) -> Expr) -> Expr {
    match conditions {
        Expr::BinaryOp { left, op, right } if joins_conditions(&op) => Expr::BinaryOp {
            left: Box::new(with_first(*left, first)),
            op,
            right,
        },
        only => first(only),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand, by the precedence of PostgreSQL and DuckDB.
    #[test]
    fn what_follows_ends_before_the_next_condition() {
        for (sql, answer) in [
            ("SELECT 1 IS DISTINCT FROM 1 OR true", "true"),
            (
                "SELECT count(*) FROM (SELECT 1) WHERE NULL IS NOT DISTINCT FROM NULL AND 1 = 1",
                "1",
            ),
            (
                "SELECT count(*) FROM (SELECT 1 WHERE 1 IS DISTINCT FROM 2 AND true) AS t",
                "1",
            ),
            ("SELECT false IS DISTINCT FROM true AND false", "false"),
            (
                "SELECT true IS DISTINCT FROM true OR true AND false",
                "false",
            ),
            (
                "SELECT true OR false IS DISTINCT FROM false AND false",
                "true",
            ),
            (
                "SELECT 1 IS DISTINCT FROM 2 AND 3 IS NOT DISTINCT FROM 3 AND 1 = 2",
                "false",
            ),
            ("SELECT (1 IS DISTINCT FROM 1) OR true", "true"),
            ("SELECT true AND 1 IS NOT DISTINCT FROM 1 + 0", "true"),
            ("SELECT 1 IS DISTINCT FROM (1)", "false"),
            (
                "SELECT (false AND true IS DISTINCT FROM false AND true) OR true",
                "true",
            ),
            ("SELECT NOT (1 IS DISTINCT FROM 2 AND true)", "false"),
        ] {
            assert_eq!(ask(sql).unwrap(), [answer], "{sql}");
        }
    }

    #[test]
    fn where_it_would_be_another_condition_it_is_refused() {
        for sql in [
            "SELECT NOT 1 IS DISTINCT FROM 1 AND true",
            "SELECT false AND 1 IS DISTINCT FROM 2 OR true",
            "SELECT NULL::boolean IS DISTINCT FROM NULL::boolean IS TRUE",
            "SELECT true IS DISTINCT FROM true IS DISTINCT FROM false AND true",
            "SELECT false AND 1 IS DISTINCT FROM 2 AND 1 IS NOT DISTINCT FROM 1 OR true",
        ] {
            let error = ask(sql).unwrap_err();
            assert!(
                error.ends_with("write brackets: `(a IS [NOT] DISTINCT FROM b) AND ..`"),
                "{error}"
            );
        }
    }
}
