//! What follows `IS DISTINCT FROM` ends before the next AND or OR.
//!
//! sqlparser 0.62 reads `a IS DISTINCT FROM b OR c` as `a IS DISTINCT FROM (b OR c)`, without a word where these are Booleans.
//! A refusal is better than that answer.

use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};
use std::ops::ControlFlow;

/// Refuses such conditions without brackets.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(statement: &Statement) -> Result<()> {
    match crate::engine::sql::visit::visit_expressions(statement, wrong) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(written) => Err(Error::Invalid(format!(
            "`{written}` would not be read as it looks; write brackets: `(a IS [NOT] DISTINCT FROM b) AND ..`"
        ))),
    }
}

fn wrong(expr: &Expr) -> ControlFlow<String> {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => match &**right {
            Expr::BinaryOp {
                op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
                ..
            } => ControlFlow::Break(expr.to_string()),
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn without_brackets_it_is_refused_and_with_them_answered() {
        for sql in [
            "SELECT 1 IS DISTINCT FROM 1 OR true",
            "SELECT 1 WHERE NULL IS NOT DISTINCT FROM NULL AND 1 = 1",
            "SELECT * FROM (SELECT 1 WHERE 1 IS DISTINCT FROM 2 AND true) AS t",
        ] {
            let error = ask(sql).unwrap_err();
            assert!(
                error.ends_with("write brackets: `(a IS [NOT] DISTINCT FROM b) AND ..`"),
                "{error}"
            );
        }
        for (sql, answer) in [
            ("SELECT (1 IS DISTINCT FROM 1) OR true", "true"),
            ("SELECT true AND 1 IS NOT DISTINCT FROM 1 + 0", "true"),
            ("SELECT 1 IS DISTINCT FROM (1)", "false"),
        ] {
            assert_eq!(ask(sql).unwrap(), [answer]);
        }
    }
}
