//! Halves of a UNION ALL that the parameters of a named query rule out: they are left out before the statement is planned.
//!
//! A query that answers for logs and for jobs is a UNION ALL of both, and with `grain => 'log'` the half of the jobs is
//! `WHERE 'log' = 'job'`. The optimizer finds that it has no rows, but only after it was planned, and views are expensive to plan: 4 of
//! the 18 ms of bin_workload over 100,000 logs, and half of planning root_causes, of which job_facts is a half.

use crate::engine::sql::visit::{visit_part, visit_part_mut};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, Value, Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Leaves them out of a query in which parameters still stand as `$name`, given what will stand in their places. The first half may be left
/// out, so the names and types of all halves must be the same.
pub(in crate::engine) fn leave_out(query: &mut Query, values: &[(String, Expr)]) {
    let _ = visit_part_mut(query, &mut LeaveOut(values));
}

struct LeaveOut<'a>(&'a [(String, Expr)]);

impl VisitorMut for LeaveOut<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.remaining(&mut query.body);
        ControlFlow::Continue(())
    }
}

impl LeaveOut<'_> {
    /// What remains of it. Of halves without rows one stays, if all are such.
    fn remaining(&self, body: &mut SetExpr) {
        let SetExpr::SetOperation {
            op: SetOperator::Union,
            set_quantifier: SetQuantifier::All,
            left,
            right,
        } = body
        else {
            return;
        };
        self.remaining(left);
        self.remaining(right);
        let half = match (self.has_no_rows(left), self.has_no_rows(right)) {
            (_, true) => left,
            (true, false) => right,
            (false, false) => return,
        };
        *body = half.as_ref().clone();
    }

    /// Whether it surely has no rows.
    fn has_no_rows(&self, body: &SetExpr) -> bool {
        match body {
            SetExpr::Select(select) => {
                select
                    .selection
                    .as_ref()
                    .is_some_and(|condition| self.is_never(condition))
                    && !may_be_a_total(select)
            }
            _ => false,
        }
    }

    /// Whether a condition holds for no row, as far as two texts that it compares tell.
    fn is_never(&self, condition: &Expr) -> bool {
        match condition {
            Expr::Nested(inner) => self.is_never(inner),
            Expr::BinaryOp { left, op, right } => match (op, self.text(left), self.text(right)) {
                (BinaryOperator::And, ..) => self.is_never(left) || self.is_never(right),
                (BinaryOperator::Or, ..) => self.is_never(left) && self.is_never(right),
                (BinaryOperator::Eq, Some(left), Some(right)) => left != right,
                (BinaryOperator::NotEq, Some(left), Some(right)) => left == right,
                _ => false,
            },
            _ => false,
        }
    }

    /// The text that it is, or will be, if it is one.
    fn text<'e>(&'e self, expr: &'e Expr) -> Option<&'e str> {
        match expr {
            Expr::Cast {
                expr,
                data_type: DataType::Varchar(None),
                ..
            } => self.text(expr),
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => Some(text),
                Value::Placeholder(name) => {
                    let (_, given) = self.0.iter().find(|(known, _)| known == name)?;
                    self.text(given)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether it may be a sum or count over all rows, which is a row also where there are none.
fn may_be_a_total(select: &Select) -> bool {
    let grouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if !by.is_empty());
    let called = |item: &SelectItem| visit_part(item, &mut Called).is_break();
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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn values() -> [(String, Expr); 1] {
        let log = Parser::new(&GenericDialect {}).try_with_sql("CAST('log' AS VARCHAR)");
        [("$grain".into(), log.unwrap().parse_expr().unwrap())]
    }

    fn left(sql: &str) -> String {
        let dialect = GenericDialect {};
        let parser = Parser::new(&dialect).try_with_sql(sql);
        let mut query = parser.unwrap().parse_query().unwrap();
        leave_out(&mut query, &values());
        query.to_string()
    }

    #[test]
    fn a_half_that_is_ruled_out_is_not_there() {
        let log = "SELECT a FROM l WHERE $grain = 'log' AND a > 1";
        let job = "SELECT f(a) OVER (PARTITION BY b) FROM j WHERE $grain = 'job' AND a > 1";
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
            "SELECT a FROM l UNION ALL SELECT a FROM j WHERE $unit = 'job'",
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
