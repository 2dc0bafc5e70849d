//! Expressions of very many operators in a row are refused.
//!
//! DataFusion 55.2 asks for the type of each part of `a + b + c + ..` anew, and for its name, so that planning takes time in proportion to the
//! square of its length: 10 s for 2,000 terms. Conditions of many terms with AND and OR are planned faster, and stay.

use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};
use std::ops::ControlFlow;

/// So many operators in a row are planned in a third of a second.
const MOST: usize = 500;

/// Refuses longer chains.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(statement: &Statement) -> Result<()> {
    match super::visit_expressions(statement, too_long) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(operators) => Err(Error::Invalid(format!(
            "an expression of {operators} operators in a row is not supported, {MOST} are; \
             write `SELECT sum(v) FROM (VALUES (1), (2), ..) AS t(v)`, or parts of it in a subquery"
        ))),
    }
}

/// The number of operators of a chain that is too long. The whole chain is visited before its parts.
fn too_long(expr: &Expr) -> ControlFlow<usize> {
    let (mut operators, mut rest) = (0, expr);
    while let Expr::BinaryOp { left, op, .. } = rest
        && is_arithmetic(op)
    {
        (operators, rest) = (operators + 1, left.as_ref());
    }
    match operators > MOST {
        true => ControlFlow::Break(operators),
        false => ControlFlow::Continue(()),
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(op, Plus | Minus | Multiply | Divide | Modulo | StringConcat)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_chain_of_thousands_is_refused_and_one_of_hundreds_answered() {
        let chain = |terms: usize, operator: &str| vec!["1"; terms].join(operator);
        let error = ask(&format!("SELECT {}", chain(2001, " + "))).unwrap_err();
        assert!(
            error.starts_with(
                "an expression of 2000 operators in a row is not supported, 500 are; "
            ),
            "{error}"
        );
        assert_eq!(
            ask(&format!("SELECT {}", chain(500, " + "))).unwrap(),
            ["500"]
        );
        let many = (0..200).map(|i| format!("v = {i}")).collect::<Vec<_>>();
        let sql = format!(
            "SELECT v FROM (VALUES (7), (200)) AS t(v) WHERE {}",
            many.join(" OR ")
        );
        assert_eq!(ask(&sql).unwrap(), ["7"]);
    }
}
