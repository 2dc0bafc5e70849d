//! `EXCEPT ALL` and `INTERSECT ALL` are refused.
//!
//! By the SQL standard `a EXCEPT ALL b` takes as many of equal rows from `a` as `b` has, and `INTERSECT ALL` leaves as many as both have.
//! DataFusion 55.2 takes them all, or leaves them all, without a word. An error is better than that answer.

use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier, Visitor};
use std::ops::ControlFlow;

/// Refuses such operations, wherever they stand.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(statement: &Statement) -> Result<()> {
    match super::visit::visit(statement, &mut Operations) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(operator) => Err(Error::Invalid(format!(
            "{operator} ALL is not supported; write {operator}, or number equal rows on both sides: \
             `row_number() OVER (PARTITION BY ..all columns..) AS n`"
        ))),
    }
}

struct Operations;

impl Visitor for Operations {
    type Break = SetOperator;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SetOperator> {
        body(&query.body)
    }
}

/// Queries in brackets are visited as queries of their own.
fn body(expr: &SetExpr) -> ControlFlow<SetOperator> {
    let SetExpr::SetOperation {
        op,
        set_quantifier,
        left,
        right,
    } = expr
    else {
        return ControlFlow::Continue(());
    };
    let all = matches!(
        set_quantifier,
        SetQuantifier::All | SetQuantifier::AllByName
    );
    if all && *op != SetOperator::Union {
        return ControlFlow::Break(*op);
    }
    body(left)?;
    body(right)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn all_of_except_and_intersect_is_refused_and_the_rest_answered() {
        for (sql, operator) in [
            ("VALUES (1), (1) EXCEPT ALL VALUES (1)", "EXCEPT"),
            (
                "SELECT * FROM ((SELECT 1 INTERSECT ALL SELECT 1) UNION ALL SELECT 2)",
                "INTERSECT",
            ),
        ] {
            let error = ask(sql).unwrap_err();
            let expected = format!("{operator} ALL is not supported; write {operator}, or ");
            assert!(error.starts_with(&expected), "{error}");
        }
        for (sql, answer) in [
            ("VALUES (1), (1), (2) EXCEPT VALUES (2)", vec!["1"]),
            ("VALUES (1), (1), (2) INTERSECT VALUES (1)", vec!["1"]),
            ("SELECT 1 UNION ALL SELECT 1", vec!["1", "1"]),
        ] {
            assert_eq!(ask(sql).unwrap(), answer);
        }
    }
}
