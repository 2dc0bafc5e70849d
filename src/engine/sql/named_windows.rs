//! `sum(v) OVER w .. WINDOW w AS (..)` is written out before DataFusion plans it.
//!
//! DataFusion 55.2 looks for a window's name in the list of SELECT alone, not in QUALIFY and ORDER BY. It looks into subqueries of that list as well,
//! before they are planned, and refuses a window that the subquery defines: "The window w is not defined". And of `WINDOW p AS (PARTITION BY g), w AS (p ORDER BY v)`
//! it takes for `w` what stands in its own brackets, without the terms of `p`.

use super::order_aliases::normal;
use super::visit::change_outside_subqueries;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, OrderByKind, Query, Select, SetExpr,
    VisitMut, VisitorMut, WindowType,
};
use std::ops::ControlFlow;

/// Puts the definition of each window in the place of its name. A name without a definition stays: DataFusion refuses it.
pub(in crate::engine) fn write_out(statement: &mut Statement) {
    let _ = super::visit::visit_mut(statement, &mut Selects);
}

struct Selects;

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let (SetExpr::Select(select), Some(order_by)) = (&*query.body, &mut query.order_by)
            && let OrderByKind::Expressions(terms) = &mut order_by.kind
            && !select.named_window.is_empty()
        {
            Names(&select.named_window).write_out(terms);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if !select.named_window.is_empty() {
            let windows = select.named_window.clone();
            Names(&windows).write_out(&mut select.projection);
            Names(&windows).write_out(&mut select.qualify);
        }
        ControlFlow::Continue(())
    }
}

/// The windows of one SELECT.
struct Names<'a>(&'a [NamedWindowDefinition]);

impl Names<'_> {
    /// Writes them out in a part of that SELECT.
    fn write_out(&self, part: &mut impl VisitMut) {
        change_outside_subqueries(part, |expr| {
            if let Expr::Function(function) = expr
                && let Some(over) = &function.over
            {
                function.over = Some(self.window(over, self.0.len()));
            }
        });
    }

    /// What a name stands for. `WINDOW a AS b` is another's name, `WINDOW a AS (b ORDER BY v)` extends another: as many steps as there are windows are enough,
    /// unless names go round. A name that is not defined stays.
    fn window(&self, over: &WindowType, steps: usize) -> WindowType {
        let mut window = match over {
            WindowType::WindowSpec(window) => window.clone(),
            WindowType::NamedWindow(name) => {
                let named = |window: &&NamedWindowDefinition| normal(&window.0) == normal(name);
                return match self.0.iter().find(named).map(|found| &found.1) {
                    None => over.clone(),
                    Some(_) if steps == 0 => WindowType::NamedWindow(Ident::new(format!(
                        "{name}, which is made of itself,"
                    ))),
                    Some(NamedWindowExpr::NamedWindow(other)) => {
                        self.window(&WindowType::NamedWindow(other.clone()), steps - 1)
                    }
                    Some(NamedWindowExpr::WindowSpec(window)) => {
                        self.window(&WindowType::WindowSpec(window.clone()), steps - 1)
                    }
                };
            }
        };
        if let Some(name) = window.window_name.take() {
            match self.window(&WindowType::NamedWindow(name), steps) {
                WindowType::WindowSpec(extended) => {
                    if window.partition_by.is_empty() {
                        window.partition_by = extended.partition_by;
                    }
                    if window.order_by.is_empty() {
                        window.order_by = extended.order_by;
                    }
                }
                unknown => return unknown,
            }
        }
        WindowType::WindowSpec(window)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const T: &str = "(VALUES ('a', 1), ('a', 2), ('b', 4)) AS t(g, v)";

    /// By hand; so do PostgreSQL and, where it has the clause, DuckDB.
    #[test]
    fn a_window_is_known_wherever_its_select_names_it() {
        for (sql, rows) in [
            (
                format!(
                    "SELECT (SELECT max(s) FROM (SELECT sum(v) OVER w AS s FROM {T} WINDOW w AS (PARTITION BY g)))"
                ),
                &["4"][..],
            ),
            (
                format!(
                    "SELECT (SELECT sum(v) OVER w FROM {T} WINDOW w AS (ORDER BY v) ORDER BY v DESC LIMIT 1) AS s, count(*) OVER W \
                     FROM (VALUES (1), (2)) AS u(x) WINDOW w AS ()"
                ),
                &["7 | 2", "7 | 2"],
            ),
            (
                format!(
                    "SELECT g, v FROM {T} WINDOW \"w\" AS (PARTITION BY g ORDER BY v DESC) QUALIFY row_number() OVER w = 1 ORDER BY v"
                ),
                &["a | 2", "b | 4"],
            ),
            (
                format!(
                    "SELECT v FROM {T} WINDOW w AS (PARTITION BY g) ORDER BY sum(v) OVER w DESC, v DESC"
                ),
                &["4", "2", "1"],
            ),
            (
                format!(
                    "SELECT sum(v) OVER a AS s FROM {T} WINDOW a AS b, b AS (ORDER BY v) ORDER BY s"
                ),
                &["1", "3", "7"],
            ),
            (
                format!(
                    "SELECT sum(v) OVER w AS s FROM {T} WINDOW p AS (PARTITION BY g), w AS (p ORDER BY v) ORDER BY v"
                ),
                &["1", "3", "4"],
            ),
            (
                format!(
                    "SELECT sum(v) OVER w AS s FROM {T} WINDOW w AS (o ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), o AS (p ORDER BY v), p AS (PARTITION BY g) ORDER BY v"
                ),
                &["3", "2", "4"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }

    #[test]
    fn a_window_without_a_definition_is_not_known() {
        for sql in [
            format!("SELECT sum(v) OVER x FROM {T} WINDOW w AS (ORDER BY v)"),
            format!("SELECT sum(v) OVER a FROM {T} WINDOW a AS b, b AS a"),
            format!("SELECT sum(v) OVER a FROM {T} WINDOW a AS (x ORDER BY v)"),
            format!("SELECT sum(v) OVER a FROM {T} WINDOW a AS (b ORDER BY v), b AS (a)"),
        ] {
            let refused = ask(&sql).unwrap_err().to_string();
            assert!(refused.contains("window"), "{sql}: {refused}");
        }
    }
}
