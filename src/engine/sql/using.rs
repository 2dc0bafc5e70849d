//! Outer joins whose merged key DataFusion gets wrong are refused.
//!
//! By the SQL standard the key of `a FULL JOIN b USING (k)` is `coalesce(a.k, b.k)`. DataFusion 55.2 gives `a.k`, which is
//! NULL in every row that only `b` has (its issue 22881), without a word. [`super::outer_using`] writes most of such joins out; for the others an error is better than that
//! answer.

use super::visit::{change_outside_subqueries, visit, visit_mut};
use crate::error::{Error, Result};
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, Query, Select, SetExpr, TableFactor, TableWithJoins,
    Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Refuses `RIGHT` and `FULL` joins that still have `USING`, and natural ones, wherever they stand.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(statement: &Statement) -> Result<()> {
    match visit(statement, &mut Merged) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(kind) => Err(Error::Invalid(format!(
            "a {kind} is not supported, for its key would be NULL where only the right side has a row; \
             write `ON a.key = b.key` and `coalesce(a.key, b.key)`"
        ))),
    }
}

/// Whether a query was refused because a name of USING would be ambiguous: DataFusion 55.2 does not know in WHERE and ON that these columns are one.
pub(in crate::engine) fn is_ambiguous(error: &DataFusionError) -> bool {
    let root = error.find_root();
    matches!(root, DataFusionError::SchemaError(inner, _) if matches!(&**inner, SchemaError::AmbiguousReference { .. }))
}

/// The statement with the first table before the names of USING in WHERE and ON; None if there are no such.
pub(in crate::engine) fn qualified(mut statement: Statement) -> Option<Statement> {
    let mut keys = Keys { found: false };
    let _ = visit_mut(&mut statement, &mut keys);
    keys.found.then_some(statement)
}

struct Keys {
    found: bool,
}

impl VisitorMut for Keys {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for from in &mut select.from {
            let Some(first) = name_of(&from.relation) else {
                continue;
            };
            let mut keys: Vec<String> = vec![];
            for join in &mut from.joins {
                use JoinOperator::{Inner, Join, Left, LeftOuter};
                match &mut join.join_operator {
                    Join(constraint)
                    | Inner(constraint)
                    | Left(constraint)
                    | LeftOuter(constraint) => match constraint {
                        JoinConstraint::Using(names) => {
                            keys.extend(names.iter().map(|name| name.to_string().to_lowercase()));
                        }
                        JoinConstraint::On(condition) => self.qualify(condition, &first, &keys),
                        _ => {}
                    },
                    _ => {}
                }
            }
            if let Some(condition) = &mut select.selection {
                self.qualify(condition, &first, &keys);
            }
        }
        ControlFlow::Continue(())
    }
}

impl Keys {
    fn qualify(&mut self, condition: &mut Expr, table: &Ident, keys: &[String]) {
        change_outside_subqueries(condition, |expr| {
            if let Expr::Identifier(name) = expr
                && keys.contains(&name.value.to_lowercase())
            {
                *expr = Expr::CompoundIdentifier(vec![table.clone(), name.clone()]);
                self.found = true;
            }
        });
    }
}

/// What the columns of a table are called by.
pub(super) fn name_of(table: &TableFactor) -> Option<Ident> {
    match table {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => Some(alias.name.clone()),
        TableFactor::Table { name, .. } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

struct Merged;

impl Visitor for Merged {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<&'static str> {
        body(&query.body)
    }
}

/// Queries in brackets are visited as queries of their own.
fn body(expr: &SetExpr) -> ControlFlow<&'static str> {
    match expr {
        SetExpr::Select(select) => select.from.iter().try_for_each(joins),
        SetExpr::SetOperation { left, right, .. } => {
            body(left)?;
            body(right)
        }
        _ => ControlFlow::Continue(()),
    }
}

fn joins(from: &TableWithJoins) -> ControlFlow<&'static str> {
    factor(&from.relation)?;
    from.joins.iter().try_for_each(|join| {
        factor(&join.relation)?;
        use JoinConstraint::{Natural, Using};
        use JoinOperator::{FullOuter, Right, RightOuter};
        match &join.join_operator {
            Right(Using(_)) | RightOuter(Using(_)) => ControlFlow::Break("RIGHT JOIN with USING"),
            FullOuter(Using(_)) => ControlFlow::Break("FULL JOIN with USING"),
            Right(Natural) | RightOuter(Natural) => ControlFlow::Break("NATURAL RIGHT JOIN"),
            FullOuter(Natural) => ControlFlow::Break("NATURAL FULL JOIN"),
            _ => ControlFlow::Continue(()),
        }
    })
}

fn factor(table: &TableFactor) -> ControlFlow<&'static str> {
    match table {
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => joins(table_with_joins),
        _ => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const TABLES: &str =
        "WITH a AS (SELECT 1 AS k), b AS (SELECT 2 AS k), c AS (SELECT 2 AS k, 3 AS j) ";

    #[test]
    fn an_outer_join_that_would_lose_its_key_is_refused_wherever_it_stands() {
        for (sql, kind) in [
            (
                "SELECT k FROM a, b AS d RIGHT JOIN b USING (k)",
                "RIGHT JOIN with USING",
            ),
            (
                "SELECT k FROM a JOIN b AS d ON a.k = d.k FULL OUTER JOIN b USING (k)",
                "FULL JOIN with USING",
            ),
            ("SELECT k FROM a NATURAL FULL JOIN b", "NATURAL FULL JOIN"),
            (
                "SELECT 1 UNION ALL (SELECT k FROM a, b AS d RIGHT OUTER JOIN b USING (k))",
                "RIGHT JOIN with USING",
            ),
            (
                "SELECT 1 WHERE EXISTS (SELECT k FROM c JOIN (a FULL JOIN b USING (k)) ON true)",
                "FULL JOIN with USING",
            ),
        ] {
            let error = ask(&format!("{TABLES}{sql}")).unwrap_err();
            assert_eq!(
                error,
                format!(
                    "a {kind} is not supported, for its key would be NULL where only the right side has a row; \
                     write `ON a.key = b.key` and `coalesce(a.key, b.key)`"
                )
            );
        }
    }

    #[test]
    fn joins_that_keep_their_key_are_not() {
        for (sql, answer) in [
            ("SELECT k, j FROM b JOIN c USING (k)", "2 | 3"),
            ("SELECT k, j FROM a LEFT JOIN c USING (k)", "1 | NULL"),
            ("SELECT k, j FROM a NATURAL LEFT JOIN c", "1 | NULL"),
            // In WHERE and ON, too, the columns of USING are one.
            ("SELECT k, j FROM b JOIN c USING (k) WHERE k = 2", "2 | 3"),
            (
                "SELECT k, j FROM b LEFT JOIN c USING (k) WHERE k + 1 > 2",
                "2 | 3",
            ),
            // In a subquery it is that of the nearest table.
            (
                "SELECT k, j FROM b JOIN c USING (k) WHERE k = 2 AND EXISTS (SELECT 1 FROM a AS d WHERE d.k = k)",
                "2 | 3",
            ),
            (
                "SELECT b.k, c.j FROM b JOIN c USING (k) JOIN c AS d ON k = d.k",
                "2 | 3",
            ),
            (
                "SELECT coalesce(a.k, c.k), j FROM a FULL JOIN c ON a.k = c.k WHERE j = 3",
                "2 | 3",
            ),
        ] {
            assert_eq!(ask(&format!("{TABLES}{sql}")).unwrap(), [answer]);
        }
    }
}
