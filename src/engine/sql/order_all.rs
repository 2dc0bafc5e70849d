//! `ORDER BY ALL [ASC | DESC] [NULLS FIRST | LAST]`: all columns of the answer, from left to right.
//!
//! sqlparser 0.62 reads `ALL` as the name of a column, and what `*` stands for is known only once a query is planned. So the term is
//! replaced by a constant, which DataFusion plans as it stands, and in the plan the constant by the columns of the sorted rows.

use crate::engine::rewrite::plan_up;
use crate::error::{Error, Result};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DataFusionError, ScalarValue, plan_err};
use datafusion::logical_expr::{Distinct, Expr as PlanExpr, LogicalPlan, Sort, SortExpr};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, OrderByExpr, OrderByKind, Query, Value, VisitorMut};
use std::ops::ControlFlow;

/// The constant. Sorting by it is of no use to a user, who may write it nevertheless: every order is an order by it.
const ALL: &str = "ORDER BY ALL";

/// Puts the constant in the place of `ALL`, in each query of a statement. Whether there was any.
///
/// # Errors
/// [`Error::Invalid`] if it stands beside other terms.
pub(in crate::engine) fn mark(statement: &mut Statement) -> Result<bool> {
    let mut terms = Terms { found: false };
    match super::visit::visit_mut(statement, &mut terms) {
        ControlFlow::Continue(()) => Ok(terms.found),
        ControlFlow::Break(()) => Err(Error::Invalid(
            "ORDER BY ALL stands alone; beside other terms write the columns, and a column of that name as \"all\""
                .into(),
        )),
    }
}

struct Terms {
    found: bool,
}

impl VisitorMut for Terms {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Some(order_by) = &mut query.order_by else {
            return ControlFlow::Continue(());
        };
        let OrderByKind::Expressions(terms) = &mut order_by.kind else {
            return ControlFlow::Continue(());
        };
        match terms.as_mut_slice() {
            [term] if is_all(term) => {
                term.expr = Expr::value(Value::SingleQuotedString(ALL.into()));
                self.found = true;
                ControlFlow::Continue(())
            }
            terms if terms.iter().any(is_all) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_all(term: &OrderByExpr) -> bool {
    matches!(&term.expr, Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all"))
}

/// The plan of a marked statement, sorted by the columns.
///
/// # Errors
/// If the constant stands where DataFusion keeps no sort of its own: behind `DISTINCT ON`.
pub(in crate::engine) fn written_out(plan: LogicalPlan) -> Result<LogicalPlan, DataFusionError> {
    let plan = plan_up(plan, &mut |plan| match plan {
        LogicalPlan::Sort(sort) => match &sort.expr[..] {
            [term] if is_marked(term) => {
                let (asc, nulls_first) = (term.asc, term.nulls_first);
                let columns = sort.input.schema().iter().map(Column::from);
                let columns = columns.map(PlanExpr::Column);
                let expr = columns.map(|column| SortExpr::new(column, asc, nulls_first));
                Ok(Transformed::yes(LogicalPlan::Sort(Sort {
                    expr: expr.collect(),
                    ..sort
                })))
            }
            _ => Ok(Transformed::no(LogicalPlan::Sort(sort))),
        },
        LogicalPlan::Distinct(Distinct::On(on)) if on.sort_expr.iter().flatten().any(is_marked) => {
            plan_err!("ORDER BY ALL does not go with DISTINCT ON; write the columns")
        }
        plan => Ok(Transformed::no(plan)),
    })?;
    Ok(plan.data)
}

fn is_marked(term: &SortExpr) -> bool {
    let is_all = |value: &ScalarValue| value.try_as_str().flatten() == Some(ALL);
    matches!(&term.expr, PlanExpr::Literal(value, _) if is_all(value))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const T: &str =
        "WITH t(a, x) AS (VALUES ('q', 9), ('p', 2), (NULL, 5), ('p', 1), ('r', NULL)) ";

    /// By hand; so does DuckDB.
    #[test]
    fn all_columns_are_sorted_by_from_left_to_right() {
        for (sql, rows) in [
            (
                "SELECT * FROM t ORDER BY ALL",
                vec!["p | 1", "p | 2", "q | 9", "r | NULL", "NULL | 5"],
            ),
            (
                "SELECT * FROM t ORDER BY all DESC",
                vec!["r | NULL", "q | 9", "p | 2", "p | 1", "NULL | 5"],
            ),
            (
                "SELECT a, x FROM t ORDER BY ALL ASC NULLS FIRST LIMIT 2",
                vec!["NULL | 5", "p | 1"],
            ),
            (
                "SELECT x, a FROM t ORDER BY ALL DESC NULLS FIRST LIMIT 3 OFFSET 1",
                vec!["9 | q", "5 | NULL", "2 | p"],
            ),
            (
                "SELECT a, sum(x) + 1, count(*) FROM t GROUP BY a HAVING count(*) > 1 OR a = 'q' ORDER BY ALL",
                vec!["p | 4 | 2", "q | 10 | 1"],
            ),
            (
                "SELECT round(avg(x), 1) AS m, a FROM t GROUP BY a ORDER BY ALL",
                vec!["1.5 | p", "5.0 | NULL", "9.0 | q", "NULL | r"],
            ),
            (
                "SELECT DISTINCT a FROM t ORDER BY ALL",
                vec!["p", "q", "r", "NULL"],
            ),
            (
                "SELECT a FROM t WHERE x > 4 UNION ALL SELECT 'b' ORDER BY ALL",
                vec!["b", "q", "NULL"],
            ),
            (
                "SELECT u.a, t.a, t.x FROM t JOIN t AS u ON u.x < t.x AND t.x = 9 ORDER BY ALL",
                vec!["p | q | 9", "p | q | 9", "NULL | q | 9"],
            ),
            (
                "SELECT array_agg(a) FROM (SELECT a FROM t WHERE x IS NOT NULL ORDER BY ALL LIMIT 2)",
                vec!["[p, p]"],
            ),
            (
                "SELECT a, row_number() OVER (ORDER BY x) AS n FROM t ORDER BY ALL LIMIT 2",
                vec!["p | 1", "p | 2"],
            ),
        ] {
            assert_eq!(ask(&format!("{T}{sql}")).unwrap(), rows, "{sql}");
        }
    }

    #[test]
    fn a_quoted_name_is_a_column_and_what_cannot_be_sorted_so_says_why() {
        let sql = "SELECT a AS \"all\", x FROM (VALUES (2, 1), (1, 2)) AS t(a, x) ORDER BY \"all\"";
        assert_eq!(ask(sql).unwrap(), ["1 | 2", "2 | 1"]);
        let why = ask(&format!(
            "{T}SELECT DISTINCT ON (a) a, x FROM t ORDER BY ALL"
        ));
        let why = why.unwrap_err();
        assert!(why.contains("DISTINCT ON"), "{why}");
        let why = ask(&format!("{T}SELECT a, x FROM t ORDER BY ALL, x")).unwrap_err();
        assert!(why.contains("ORDER BY ALL"), "{why}");
    }
}
