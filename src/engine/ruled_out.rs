//! Halves of a UNION ALL that the parameters of a named query rule out: they are left out before the statement is planned.
//!
//! A query that answers for logs and for jobs is a UNION ALL of both, and with `grain => 'log'` the half of the jobs is
//! `WHERE 'log' = 'job'`. The optimizer finds that it has no rows, but only after it was planned, and views are dear to plan: 4 of
//! the 18 ms of bin_workload over 100,000 logs.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Leaves them out, with values in the places of the parameters. The halves of a query must have the same names and types: those
/// of the first are not always there to be taken over.
pub(super) fn leave_out(query: &mut Query) {
    let _ = query.visit(&mut LeaveOut);
}

struct LeaveOut;

impl VisitorMut for LeaveOut {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        remaining(&mut query.body);
        ControlFlow::Continue(())
    }
}

/// What remains of it. Of halves without rows one stays, if all are such.
fn remaining(body: &mut SetExpr) {
    let SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier: SetQuantifier::All,
        left,
        right,
    } = body
    else {
        return;
    };
    remaining(left);
    remaining(right);
    let half = match (has_no_rows(left), has_no_rows(right)) {
        (_, true) => left,
        (true, false) => right,
        (false, false) => return,
    };
    *body = half.as_ref().clone();
}

/// Whether it surely has no rows.
fn has_no_rows(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => {
            select.selection.as_ref().is_some_and(is_never) && !may_be_a_total(select)
        }
        _ => false,
    }
}

/// Whether it may be a sum or count over all rows, which is a row also where there are none.
fn may_be_a_total(select: &Select) -> bool {
    let grouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if !by.is_empty());
    let called = |item: &SelectItem| item.visit(&mut Called).is_break();
    !grouped && (select.having.is_some() || select.projection.iter().any(called))
}

/// Finds functions that are called without OVER.
struct Called;

impl Visitor for Called {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if function.over.is_none() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Whether a condition holds for no row, as far as two texts that it compares tell.
fn is_never(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => is_never(inner),
        Expr::BinaryOp { left, op, right } => match (op, text(left), text(right)) {
            (BinaryOperator::And, ..) => is_never(left) || is_never(right),
            (BinaryOperator::Or, ..) => is_never(left) && is_never(right),
            (BinaryOperator::Eq, Some(left), Some(right)) => left != right,
            (BinaryOperator::NotEq, Some(left), Some(right)) => left == right,
            _ => false,
        },
        _ => false,
    }
}

/// The text that it is, if it is one.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Cast {
            expr,
            data_type: DataType::Varchar(None),
            ..
        } => text(expr),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn left(sql: &str) -> String {
        let dialect = GenericDialect {};
        let parser = Parser::new(&dialect).try_with_sql(sql);
        let mut query = parser.unwrap().parse_query().unwrap();
        leave_out(&mut query);
        query.to_string()
    }

    #[test]
    fn a_half_that_is_ruled_out_is_not_there() {
        let log = "SELECT a FROM l WHERE CAST('log' AS VARCHAR) = 'log' AND a > 1";
        let job = "SELECT f(a) OVER (PARTITION BY b) FROM j WHERE CAST('log' AS VARCHAR) = 'job' AND a > 1";
        let neither = "SELECT a FROM d WHERE (b = 2 AND 'dxt' <> 'dxt') OR 'x' = 'y'";
        assert_eq!(left(&format!("{log} UNION ALL {job}")), log);
        assert_eq!(left(&format!("{job} UNION ALL {log}")), log);
        assert_eq!(
            left(&format!("{neither} UNION ALL {log} UNION ALL {job}")),
            log
        );
        assert_eq!(left(&format!("{neither} UNION ALL {job}")), neither);
        // Wherever it stands.
        assert_eq!(
            left(&format!(
                "WITH u AS ({log} UNION ALL {job}) SELECT * FROM u, ({neither} UNION ALL {log}) AS v"
            )),
            format!("WITH u AS ({log}) SELECT * FROM u, ({log}) AS v")
        );
        // A group without rows is no row; a total without rows is one.
        let grouped = "SELECT count(*) FROM j WHERE 'log' = 'job' GROUP BY a";
        assert_eq!(left(&format!("{log} UNION ALL {grouped}")), log);
    }

    #[test]
    fn what_may_have_rows_stays() {
        for sql in [
            "SELECT a FROM l UNION ALL SELECT count(*) FROM j WHERE 'log' = 'job'",
            "SELECT a FROM l UNION ALL SELECT a + sum(b) FROM j WHERE 'log' = 'job'",
            "SELECT a FROM l UNION ALL SELECT 1 FROM j WHERE 'log' = 'job' HAVING max(a) IS NULL",
            "SELECT a FROM l UNION ALL SELECT a FROM j WHERE 'log' = 'job' OR a = 1",
            "SELECT a FROM l UNION ALL SELECT a FROM j WHERE NOT 'log' = 'job'",
            "SELECT a FROM l UNION ALL SELECT a FROM j WHERE 'log' = 'log' AND 'log' <> 'job'",
            "SELECT a FROM l UNION ALL SELECT a FROM j WHERE b = 'job'",
            "SELECT a FROM l UNION ALL SELECT a FROM j WHERE CAST('1' AS INT) = CAST('01' AS INT)",
            // Of other set operations both halves matter.
            "SELECT a FROM l UNION SELECT a FROM j WHERE 'log' = 'job'",
            "SELECT a FROM l WHERE 'log' = 'job' EXCEPT SELECT a FROM j",
            "SELECT a FROM l INTERSECT SELECT a FROM j WHERE 'log' = 'job'",
        ] {
            assert_eq!(left(sql), sql);
        }
    }
}
