//! `SELECT app, round(sum(bytes)) AS bytes .. ORDER BY sum(bytes)`, `SELECT -x AS x .. ORDER BY x + 0`: inside an expression of ORDER BY a name is that of
//! a column, if there is one. By itself it is that of an output.
//!
//! DataFusion 55.2 takes such a name for the alias. In an aggregate it refuses the query: "duplicate unqualified field", or a plan with an aggregate that it
//! cannot run; elsewhere the rows are in another order. With its table before it DataFusion knows, but cannot sort by a column that has the name of another
//! output: then the query is refused. Where no table has such a column the alias is meant.

use super::using::name_of;
use super::visit::{change_outside_subqueries, visit, visit_exprs, visit_mut};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, Result, plan_err};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Ident, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Visitor,
    VisitorMut,
};
use std::ops::ControlFlow;

/// The statement with a table before such names: once for each place that a table has in FROM, for the column may be any one's. Nothing if there are
/// no such names.
pub(in crate::engine) fn qualified(statement: &Statement) -> Vec<Statement> {
    let mut found = vec![];
    // A column that the table does not have would be looked for in the query below, and DataFusion panics where that is DISTINCT ON.
    if visit(statement, &mut DistinctOn).is_break() {
        return found;
    }
    for place in 0.. {
        let mut changed = statement.clone();
        let mut names = Names {
            place,
            found: false,
        };
        let _ = visit_mut(&mut changed, &mut names);
        if !names.found {
            break;
        }
        found.push(changed);
    }
    found
}

/// Whether the columns that rows are sorted by are there: a plan is made also where the table has no such column.
pub(in crate::engine) fn is_resolved(plan: &LogicalPlan) -> bool {
    let lacks = |plan: &LogicalPlan| match plan {
        LogicalPlan::Sort(sort) => {
            let has = |column: &Column| sort.input.schema().has_column(column);
            let terms = sort.expr.iter();
            terms
                .flat_map(|term| term.expr.column_refs())
                .any(|column| !has(column))
        }
        _ => false,
    };
    // The closure never fails.
    !plan.exists(|plan| Ok(lacks(plan))).unwrap_or(true)
}

/// Whether a column in ORDER BY, with its table before it, has the name of an output: DataFusion cannot sort by both.
pub(in crate::engine) fn has_columns_of_outputs(statement: &Statement) -> bool {
    visit(statement, &mut ColumnsOfOutputs).is_break()
}

/// What is said where the rows cannot be sorted by that column.
pub(in crate::engine) fn refused<T>() -> Result<T> {
    plan_err!(
        "a name in ORDER BY is that of a column and of another output; give the output another name, or write the output's name alone"
    )
}

struct DistinctOn;

impl Visitor for DistinctOn {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match &select.distinct {
            Some(Distinct::On(_)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

struct ColumnsOfOutputs;

impl Visitor for ColumnsOfOutputs {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let (SetExpr::Select(select), Some(order_by)) = (&*query.body, &query.order_by) else {
            return ControlFlow::Continue(());
        };
        let aliases = aliases(select);
        visit_exprs(order_by, |expr| match expr {
            Expr::CompoundIdentifier(names)
                if names
                    .last()
                    .is_some_and(|name| aliases.contains(&normal(name))) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
    }
}

struct Names {
    /// Which of the tables of FROM is put before a name.
    place: usize,
    found: bool,
}

impl VisitorMut for Names {
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
        let aliases = aliases(select);
        // A name by itself is that of an output.
        let is_name = |term: &OrderByExpr| matches!(term.expr, Expr::Identifier(_));
        for term in terms.iter_mut().filter(|term| !is_name(term)) {
            change_outside_subqueries(&mut term.expr, |expr| {
                if let Expr::Identifier(name) = expr
                    && aliases.contains(&normal(name))
                {
                    *expr = Expr::CompoundIdentifier(vec![table.clone(), name.clone()]);
                    self.found = true;
                }
            });
        }
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

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_name_in_an_expression_of_order_by_is_that_of_a_column() {
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
        const X: &str = "(VALUES (1, 30), (2, 10), (3, 20)) AS x(a, b)";
        for (select, order, rows) in [
            ("-a AS a", "a", ["-3", "-2", "-1"]),
            ("-a AS c", "abs(c) DESC", ["-3", "-2", "-1"]),
            ("a AS a", "-a", ["3", "2", "1"]),
            ("b AS a, a AS b", "-a", ["20 | 3", "10 | 2", "30 | 1"]),
        ] {
            let sql = format!("SELECT {select} FROM {X} ORDER BY {order}");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let below = format!("(SELECT DISTINCT ON (a) a, b FROM {X} ORDER BY a, b) AS y");
        let sql = format!("SELECT b AS c FROM {below} ORDER BY abs(c), c");
        assert_eq!(ask(&sql).unwrap(), ["10", "20", "30"]);
        for sql in [
            format!("SELECT -a AS a FROM {X} ORDER BY a + 0"),
            format!("SELECT upper(g) AS g, count(*) FROM {T} GROUP BY t.g ORDER BY t.g"),
        ] {
            let error = ask(&sql).unwrap_err();
            assert!(error.contains("; give the output another name"), "{error}");
        }
        let joined = format!(
            "SELECT g, max(w) AS w, min(v) AS v FROM {T} JOIN {U} ON k = g GROUP BY g ORDER BY sum(w) DESC"
        );
        assert_eq!(ask(&joined).unwrap(), ["a | 9 | 2", "b | 1 | -2"]);
    }
}
