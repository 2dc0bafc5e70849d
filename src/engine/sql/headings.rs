//! Names for the columns of an answer whose own names are the same.
//!
//! DataFusion 55.2 names `bytes_read::double` like `bytes_read`, and refuses a query in which two columns have one name:
//! `SELECT bytes_read::double .. ORDER BY bytes_read`, `SELECT count(*), count(*)`. Other databases answer. Only a query that
//! was refused gets names, so that all others keep theirs.

use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Value, VisitorMut,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Whether a query was refused for that reason.
pub(in crate::engine) fn clash(error: &DataFusionError) -> bool {
    let text = error.to_string();
    [
        "require unique expression names",
        "duplicate qualified field",
        "duplicate unqualified field",
    ]
    .iter()
    .any(|part| text.contains(part))
}

/// The statement with names of their own for the columns of each SELECT that need one; None if it is no query.
pub(in crate::engine) fn distinct(statement: Statement) -> Option<Statement> {
    named(statement, false)
}

/// The same with names of their own also for the columns beside a `*`, which may hold them too. What stands around such a SELECT may
/// need the names that they had.
pub(in crate::engine) fn distinct_beside_all(statement: Statement) -> Option<Statement> {
    named(statement, true)
}

fn named(mut statement: Statement, beside_all: bool) -> Option<Statement> {
    let mut names = Names {
        beside_all,
        found: false,
    };
    let _ = super::visit::visit_mut(&mut statement, &mut names);
    names.found.then_some(statement)
}

struct Names {
    beside_all: bool,
    found: bool,
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let all = |item: &SelectItem| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        };
        let has_all = self.beside_all && select.projection.iter().any(all);
        let mut seen: HashMap<String, usize> = HashMap::new();
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                *seen.entry(alias.value.to_lowercase()).or_default() += 1;
            }
        }
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else {
                continue;
            };
            let heading = heading(expr);
            let times = seen.entry(heading.to_lowercase()).or_default();
            *times += 1;
            // A column beside `*` is there a second time.
            let column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            let times = *times + usize::from(has_all && column);
            let name = match times {
                1 if column => continue,
                1 => heading,
                n => format!("{heading}_{n}"),
            };
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', name),
            };
            self.found = true;
        }
        ControlFlow::Continue(())
    }
}

/// What stands over a column: its name, or the expression as it is written.
pub(super) fn heading(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(names) => names
            .last()
            .map(|name| name.value.clone())
            .unwrap_or_default(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            value => value.to_string(),
        },
        Expr::Subquery(query) => of_only_column(query).unwrap_or_else(|| expr.to_string()),
        expr => expr.to_string(),
    }
}

/// What stands over the column of a subquery that is a value, as in PostgreSQL.
fn of_only_column(query: &Query) -> Option<String> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    match &select.projection[..] {
        [SelectItem::UnnamedExpr(expr)] => Some(heading(expr)),
        [SelectItem::ExprWithAlias { alias, .. }] => Some(alias.value.clone()),
        _ => None,
    }
}
