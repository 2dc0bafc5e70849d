//! `ORDER BY 2` of an expression over aggregates.
//!
//! DataFusion 55.2 refuses `SELECT app, round(avg(nprocs), 1) FROM .. GROUP BY app ORDER BY 2`, as if the expression had no aggregate. With the expression
//! in the place of its position it answers. Only a query that was refused is changed.

use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, OrderByKind, Query, SelectItem, SetExpr, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Whether a query was refused for that reason.
pub(in crate::engine) fn refused(error: &DataFusionError) -> bool {
    error
        .to_string()
        .contains("ORDER BY must be in GROUP BY or an aggregate function")
}

/// The statement with expressions instead of positions in ORDER BY; None if there are no such.
pub(in crate::engine) fn written_out(mut statement: Statement) -> Option<Statement> {
    let mut positions = Positions { found: false };
    let _ = super::visit::visit_mut(&mut statement, &mut positions);
    positions.found.then_some(statement)
}

struct Positions {
    found: bool,
}

impl VisitorMut for Positions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let (SetExpr::Select(select), Some(order_by)) = (&*query.body, &mut query.order_by) else {
            return ControlFlow::Continue(());
        };
        let OrderByKind::Expressions(terms) = &mut order_by.kind else {
            return ControlFlow::Continue(());
        };
        // Behind a `*` it is not known which expression has a position.
        let items = select.projection.iter();
        let items: Vec<&SelectItem> = items
            .take_while(|item| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            })
            .collect();
        for term in terms {
            let position = match &term.expr {
                Expr::Value(value) => match &value.value {
                    Value::Number(number, _) => number.parse::<usize>().ok(),
                    _ => None,
                },
                _ => None,
            };
            let item = position
                .and_then(|at| at.checked_sub(1))
                .and_then(|at| items.get(at));
            if let Some(SelectItem::UnnamedExpr(expr)) = item {
                term.expr = expr.clone();
                self.found = true;
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_position_stands_for_an_expression_over_aggregates() {
        const T: &str = "WITH t(a, x) AS (VALUES ('p', 1), ('p', 2), ('q', 9), ('r', 4)) ";
        for (sql, rows) in [
            (
                "SELECT a, round(avg(x), 1) FROM t GROUP BY a ORDER BY 2 DESC",
                vec!["q | 9.0", "r | 4.0", "p | 1.5"],
            ),
            (
                "SELECT a, sum(x) * 10 FROM t GROUP BY 1 ORDER BY 2, 1 LIMIT 1",
                vec!["p | 30"],
            ),
            ("SELECT sum(x) + count(*) FROM t ORDER BY 1", vec!["20"]),
            (
                "SELECT b, n FROM (SELECT a AS b, count(*) * 100 AS n FROM t GROUP BY a ORDER BY 2 LIMIT 2) ORDER BY 1",
                vec!["q | 100", "r | 100"],
            ),
            (
                "SELECT a, sum(x) / 2 FROM t GROUP BY ROLLUP (a) ORDER BY 2 DESC LIMIT 2",
                vec!["NULL | 8", "q | 4"],
            ),
        ] {
            let answer = ask(&format!("{T}{sql}")).unwrap();
            let answer: Vec<String> = answer
                .iter()
                .map(|row| match row.strip_prefix(" | ") {
                    Some(rest) => format!("NULL | {rest}"),
                    None => row.clone(),
                })
                .collect();
            assert_eq!(answer, rows, "{sql}");
        }
        let error = ask(&format!("{T}SELECT a, x FROM t GROUP BY a ORDER BY 2")).unwrap_err();
        assert!(error.contains("`t.x` is neither in GROUP BY"), "{error}");
    }
}
