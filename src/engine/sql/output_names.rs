//! `SELECT v AS g, v % 2 AS v FROM (SELECT ..) ORDER BY v`: an output has the name of a column that another output shows.
//!
//! DataFusion 55.2 takes the `v` of ORDER BY for the output, and then looks for an output that is made of a column of that name, without regard
//! to which of the two is meant: the rows are sorted by `g`. It finds a column of a table without a name, so that the table gets one; and beside a GROUP BY
//! also `CAST(v AS VARCHAR) AS g` of any table, because a cast has the name of its argument. `coalesce` of the cast has another name, and the optimizer takes it
//! away.

use super::headings::heading;
use super::order_aliases::normal;
use super::visit::{visit_mut, visit_part_mut};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    GroupByExpr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor,
    TableWithJoins, VisitorMut,
};
use std::ops::ControlFlow;

/// The statement with other names for such columns.
pub(in crate::engine) fn told_apart(mut statement: Statement) -> Statement {
    let _ = visit_mut(&mut statement, &mut Queries { named: 0 });
    statement
}

struct Queries {
    /// Tables that got a name.
    named: usize,
}

impl VisitorMut for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let (SetExpr::Select(select), Some(order_by)) = (&mut *query.body, &mut query.order_by)
        else {
            return ControlFlow::Continue(());
        };
        let columns = columns_that_outputs_are_named_after(select);
        if columns.is_empty() {
            return ControlFlow::Continue(());
        }
        for from in &mut select.from {
            self.name_tables(from);
        }
        let is_grouped = match &select.group_by {
            GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
            GroupByExpr::All(_) => true,
        };
        if is_grouped {
            name_casts(select, &columns);
            let mut casts = Casts(columns);
            let _ = visit_part_mut(select, &mut casts);
            let _ = visit_part_mut(order_by, &mut casts);
        }
        ControlFlow::Continue(())
    }
}

impl Queries {
    fn name_tables(&mut self, from: &mut TableWithJoins) {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        for table in std::iter::once(&mut from.relation).chain(joined) {
            match table {
                TableFactor::Derived {
                    alias: alias @ None,
                    ..
                } => {
                    self.named += 1;
                    *alias = Some(TableAlias {
                        explicit: true,
                        name: Ident::new(format!("__derived_table_{}", self.named)),
                        columns: vec![],
                        at: None,
                    });
                }
                TableFactor::NestedJoin {
                    table_with_joins, ..
                } => self.name_tables(table_with_joins),
                _ => {}
            }
        }
    }
}

/// The columns that one output shows, perhaps cast, while another one has their name.
fn columns_that_outputs_are_named_after(select: &Select) -> Vec<String> {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    };
    let names: Vec<String> = select.projection.iter().filter_map(alias).collect();
    let shown = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, .. } => {
            column(expr).filter(|column| alias(item).as_ref() != Some(column))
        }
        SelectItem::UnnamedExpr(expr @ Expr::Cast { .. }) => column(expr),
        _ => None,
    });
    shown.filter(|column| names.contains(column)).collect()
}

/// The column that an expression shows, perhaps cast.
fn column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(normal(name)),
        Expr::CompoundIdentifier(names) => names.last().map(normal),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => column(expr),
        _ => None,
    }
}

/// Gives casts the heading that they would have.
fn name_casts(select: &mut Select, columns: &[String]) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr @ Expr::Cast { .. }) = item
            && column(expr).is_some_and(|column| columns.contains(&column))
        {
            *item = SelectItem::ExprWithAlias {
                alias: Ident::with_quote('"', heading(expr)),
                expr: expr.clone(),
            };
        }
    }
}

/// Puts `coalesce` around casts of these columns, wherever they stand in a query: an expression is a key where it is that of GROUP BY.
struct Casts(Vec<String>);

impl VisitorMut for Casts {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Cast { .. })
            && column(expr).is_some_and(|column| self.0.contains(&column))
        {
            let argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()));
            *expr = Expr::Function(Function {
                name: ObjectName::from(vec![Ident::new("coalesce")]),
                uses_odbc_syntax: false,
                parameters: FunctionArguments::None,
                args: FunctionArguments::List(FunctionArgumentList {
                    duplicate_treatment: None,
                    args: vec![argument],
                    clauses: vec![],
                }),
                filter: None,
                null_treatment: None,
                over: None,
                within_group: vec![],
            });
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn an_output_with_the_name_of_a_column_is_what_order_by_means() {
        const T: &str = "(SELECT column1 AS v FROM (VALUES (1), (2), (3), (4)))";
        const SORTED: &[&str] = &["4 | 0", "2 | 0", "3 | 1", "1 | 1"];
        let cast = "SELECT CAST(v AS VARCHAR) AS g, v % 2 AS v";
        let keys = "GROUP BY CAST(v AS VARCHAR), v % 2 ORDER BY";
        for (sql, rows) in [
            (
                format!("SELECT v AS g, v % 2 AS v FROM {T} ORDER BY v, g DESC"),
                SORTED,
            ),
            (format!("{cast} FROM {T} {keys} v, g DESC"), SORTED),
            (format!("{cast} FROM {T} AS t {keys} v, g DESC"), SORTED),
            (format!("{cast} FROM {T} AS t {keys} 2, 1 DESC"), SORTED),
            (
                format!("{cast} FROM {T} AS t {keys} v, CAST(v AS VARCHAR) DESC"),
                SORTED,
            ),
            (
                format!("WITH t AS {T} {cast} FROM t {keys} v, g DESC LIMIT 2"),
                &SORTED[..2],
            ),
            (
                format!(
                    "SELECT CAST(t.v AS INT)::varchar, v % 2 AS v, count(*) FROM {T} AS t GROUP BY 1, 2 HAVING max(v) > 1 ORDER BY v, 1"
                ),
                &["2 | 0 | 1", "4 | 0 | 1", "3 | 1 | 1"],
            ),
            (
                format!(
                    "SELECT v::bigint AS g, v % 2 AS v FROM {T} GROUP BY ROLLUP (v::bigint, v % 2) ORDER BY v, g DESC LIMIT 2"
                ),
                &["4 | 0", "2 | 0"],
            ),
            (
                format!("SELECT (v) AS g, -v AS V FROM {T} ORDER BY \"v\" LIMIT 2"),
                &["4 | -4", "3 | -3"],
            ),
            (
                format!(
                    "SELECT v AS g, v % 2 AS v FROM ({T} JOIN (SELECT 4 AS w) ON v < w) ORDER BY v, g DESC"
                ),
                &SORTED[1..],
            ),
            (
                format!(
                    "SELECT max(g) FROM (SELECT v AS g, v % 2 AS v FROM {T} ORDER BY v LIMIT 2) UNION ALL SELECT 7 ORDER BY 1"
                ),
                &["4", "7"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
