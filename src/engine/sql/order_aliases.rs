//! `SELECT app, round(sum(bytes)) AS bytes .. ORDER BY sum(bytes)`: inside an aggregate of ORDER BY a name is that of a column.
//!
//! DataFusion 55.2 takes such a name for the alias, and refuses the query: "duplicate unqualified field", or a plan with an aggregate that it cannot
//! run. An alias of an aggregate cannot stand in an aggregate, so that only the column can be meant. With its table before it DataFusion
//! knows.

use super::using::name_of;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// The statement with a table before such names: once for each place that a table has in FROM, for the column may be any one's. Nothing if there are
/// no such names.
pub(in crate::engine) fn qualified(
    statement: &Statement,
    is_aggregate: &dyn Fn(&str) -> bool,
) -> Vec<Statement> {
    let mut found = vec![];
    for place in 0.. {
        let mut changed = statement.clone();
        let mut names = Names {
            place,
            is_aggregate,
            found: false,
        };
        let _ = super::visit::visit_mut(&mut changed, &mut names);
        if !names.found {
            break;
        }
        found.push(changed);
    }
    found
}

struct Names<'a> {
    /// Which of the tables of FROM is put before a name.
    place: usize,
    is_aggregate: &'a dyn Fn(&str) -> bool,
    found: bool,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let (SetExpr::Select(select), Some(order_by)) = (&*query.body, &mut query.order_by) else {
            return ControlFlow::Continue(());
        };
        let OrderByKind::Expressions(terms) = &mut order_by.kind else {
            return ControlFlow::Continue(());
        };
        let Some(table) = tables(select).nth(self.place) else {
            return ControlFlow::Continue(());
        };
        let mut inside = Inside {
            table,
            aliases: aliases(select),
            is_aggregate: self.is_aggregate,
            depth: 0,
            found: false,
        };
        for term in terms {
            let _ = term.expr.visit(&mut inside);
        }
        self.found |= inside.found;
        ControlFlow::Continue(())
    }
}

fn tables(select: &Select) -> impl Iterator<Item = Ident> {
    let relations = select.from.iter().flat_map(|from| {
        let joined = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joined)
    });
    relations.filter_map(name_of)
}

fn aliases(select: &Select) -> Vec<String> {
    let items = select.projection.iter();
    let aliases = items.filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    });
    aliases.collect()
}

pub(super) fn normal(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

/// Looks at an expression of ORDER BY.
struct Inside<'a> {
    table: Ident,
    aliases: Vec<String>,
    is_aggregate: &'a dyn Fn(&str) -> bool,
    /// Aggregates around what is looked at.
    depth: usize,
    found: bool,
}

impl Inside<'_> {
    fn is_aggregate(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Function(function)
            if function.over.is_none() && (self.is_aggregate)(&function.name.to_string().to_lowercase()))
    }
}

impl VisitorMut for Inside<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.is_aggregate(expr) {
            self.depth += 1;
        }
        if let (Expr::Identifier(name), true) = (&*expr, self.depth > 0)
            && self.aliases.contains(&normal(name))
        {
            *expr = Expr::CompoundIdentifier(vec![self.table.clone(), name.clone()]);
            self.found = true;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.is_aggregate(expr) {
            self.depth -= 1;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_name_in_an_aggregate_of_order_by_is_that_of_a_column() {
        const T: &str = "(VALUES ('a', 2), ('b', 3), ('b', -2)) AS t(g, v)";
        const U: &str = "(VALUES ('a', 9), ('b', 1)) AS u(k, w)";
        for (select, order, rows) in [
            ("g, sum(v) + 1 AS v", "sum(v)", ["b | 2", "a | 3"]),
            ("g, max(v) AS v", "sum(v)", ["b | 3", "a | 2"]),
            (
                "g, -sum(v) AS \"v\"",
                "1 - sum(V) DESC, 2",
                ["b | -1", "a | -2"],
            ),
            ("g, max(v) AS v", "v", ["a | 2", "b | 3"]),
            ("g, count(*) AS v", "max(t.v) DESC", ["b | 2", "a | 1"]),
        ] {
            let sql = format!("SELECT {select} FROM {T} GROUP BY g ORDER BY {order}");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
            let first = format!("SELECT * FROM ({sql} LIMIT 1)");
            assert_eq!(ask(&first).unwrap(), rows[..1], "{first}");
        }
        let joined = format!(
            "SELECT g, max(w) AS w, min(v) AS v FROM {T} JOIN {U} ON k = g GROUP BY g ORDER BY sum(w) DESC"
        );
        assert_eq!(ask(&joined).unwrap(), ["a | 9 | 2", "b | 1 | -2"]);
    }
}
