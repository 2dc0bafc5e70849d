//! The scope of a named query: what its names mean does not depend on the statement around it, nor the other way round.
//!
//! A named query is put as a subquery into the user's statement, in which names have a meaning already:
//!
//! - `WITH darshan_log AS (..) SELECT * FROM top_write()` would have it read the user's rows: the tables of its own SQL get the
//!   lake's name before theirs, and DataFusion looks for these in no WITH.
//! - DataFusion refuses a WITH within a statement whose own WITH has the same name already: the parts of its own WITH are named
//!   after the query.
//! - A value that names columns or tables, such as `(SELECT max(x) FROM t)`, would see the columns of the place where it is put:
//!   it becomes a part of its own, before all others, where only the user's names are known.

use crate::engine::catalog::lakes::of_a_lake;
use crate::engine::sql::visit::{visit_part, visit_part_mut};
use crate::engine::udf::statement::normal;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, Visitor,
    VisitorMut, With,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The alias of a table.
pub(in crate::engine) fn alias(name: Ident) -> TableAlias {
    TableAlias {
        explicit: true,
        name,
        columns: vec![],
        at: None,
    }
}

/// Puts the name of a named query before those of its common table expressions, and where these are asked. Columns are found by
/// the old names, which are aliases then.
pub(in crate::engine) fn name_the_parts(query: &mut Query, name: &str) {
    let mut own = Names(BTreeSet::new());
    let _ = visit_part_mut(query, &mut own);
    let mut qualify = Qualify {
        names: own.0,
        query: name,
    };
    let _ = visit_part_mut(query, &mut qualify);
}

/// Collects names.
struct Names(BTreeSet<String>);

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let parts = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0
            .extend(parts.map(|part| part.alias.name.value.clone()));
        ControlFlow::Continue(())
    }
}

struct Qualify<'a> {
    names: BTreeSet<String>,
    query: &'a str,
}

impl Qualify<'_> {
    fn name(&self, part: &str) -> Ident {
        Ident::with_quote('"', format!("{}.{part}", self.query))
    }
}

impl VisitorMut for Qualify<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for part in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            part.alias.name = self.name(&part.alias.name.value);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
            && let [ObjectNamePart::Identifier(ident)] = &name.0[..]
            && self.names.contains(&ident.value)
        {
            let old = ident.clone();
            *name = ObjectName::from(vec![self.name(&old.value)]);
            alias.get_or_insert_with(|| self::alias(old));
        }
        ControlFlow::Continue(())
    }
}

/// Puts the name of a lake before those of its tables and views. Columns are found by the table's name alone, as before.
pub(in crate::engine) fn name_the_lake(query: &mut Query, lake: &str) {
    let _ = visit_part_mut(query, &mut OfLake(lake));
}

struct OfLake<'a>(&'a str);

impl VisitorMut for OfLake<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name, args: None, ..
        } = factor
            && let [ObjectNamePart::Identifier(ident)] = &name.0[..]
            && of_a_lake(&ident.value)
        {
            // No alias: `table.column` finds `lake.table.column`, and an alias of a table of many columns takes long to plan.
            let table = ident.clone();
            *name = ObjectName::from(vec![Ident::with_quote('"', self.0), table]);
        }
        ControlFlow::Continue(())
    }
}

/// Refuses a part of a user's WITH that has the full name of a lake's table: DataFusion would take it for the table.
///
/// # Errors
/// [`Error::Invalid`], which says so.
pub(in crate::engine) fn check_parts(query: &Query, lakes: &[&str]) -> Result<()> {
    for part in query.with.iter().flat_map(|with| &with.cte_tables) {
        let name = normal(&part.alias.name);
        let of_lake = |lake: &&str| {
            let table = name
                .strip_prefix(lake)
                .and_then(|rest| rest.strip_prefix('.'));
            table.is_some_and(of_a_lake)
        };
        if lakes.iter().any(of_lake) {
            return Err(Error::Invalid(format!(
                "`{name}` is the name of a table of the lake; name this part of WITH differently"
            )));
        }
    }
    Ok(())
}

/// Whether the meaning of a value depends on where it stands.
pub(in crate::engine) fn names_columns_or_tables(value: &Expr) -> bool {
    visit_part(value, &mut Named).is_break()
}

struct Named;

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// A part of WITH that is the value of a parameter, and what asks for it.
///
/// # Errors
/// [`Error::Invalid`] if the value cannot stand in a statement.
pub(in crate::engine) fn part(query: &str, param: &str, value: &Expr) -> Result<(Cte, Expr)> {
    let name = Ident::with_quote('"', format!("{query}.${param}"));
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql(&format!(
            "WITH {name} AS (SELECT {value} AS value) SELECT value FROM {name}"
        ))
        .and_then(|mut parser| parser.parse_query());
    let mut parsed = parsed.map_err(|e| Error::Invalid(format!("`{value}`: {e}")))?;
    let part = parsed
        .with
        .take()
        .and_then(|mut with| with.cte_tables.pop());
    let part = part.ok_or_else(|| Error::Invalid(format!("`{value}` is no value")))?;
    Ok((part, Expr::Subquery(parsed)))
}

/// Puts parts before those that a query's WITH has.
pub(in crate::engine) fn put_first(query: &mut Query, parts: Vec<Cte>) {
    if parts.is_empty() {
        return;
    }
    let with = query.with.get_or_insert_with(|| With {
        with_token: AttachedToken::empty(),
        recursive: false,
        cte_tables: vec![],
    });
    with.cte_tables.splice(..0, parts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Query {
        let parsed = Parser::new(&GenericDialect {})
            .try_with_sql(sql)
            .and_then(|mut parser| parser.parse_query());
        *parsed.unwrap()
    }

    #[test]
    fn parts_are_named_after_the_query_and_columns_keep_their_names() {
        let sql = "WITH a AS (SELECT 1 AS x), b AS (SELECT a.x FROM a) SELECT b.x, c.x, d.x FROM b JOIN a AS c ON c.x = b.x JOIN d ON d.x IN (SELECT x FROM b)";
        let mut query = read(sql);
        name_the_parts(&mut query, "q");
        assert_eq!(
            query.to_string(),
            "WITH \"q.a\" AS (SELECT 1 AS x), \"q.b\" AS (SELECT a.x FROM \"q.a\" AS a) SELECT b.x, c.x, d.x FROM \"q.b\" AS b JOIN \"q.a\" AS c ON c.x = b.x JOIN d ON d.x IN (SELECT x FROM \"q.b\" AS b)"
        );
    }

    #[test]
    fn tables_get_the_name_of_their_lake_and_columns_keep_theirs() {
        let sql = "WITH a AS (SELECT darshan_log.uid FROM darshan_log) SELECT * FROM a, job AS j WHERE j.job_id IN (SELECT job_id FROM unnest([1]), slurm_job)";
        let mut query = read(sql);
        name_the_lake(&mut query, "My lake");
        assert_eq!(
            query.to_string(),
            "WITH a AS (SELECT darshan_log.uid FROM \"My lake\".darshan_log) SELECT * FROM a, \"My lake\".job AS j WHERE j.job_id IN (SELECT job_id FROM UNNEST([1]), \"My lake\".slurm_job)"
        );
    }

    #[test]
    fn a_value_becomes_the_first_part() {
        let value = read("SELECT 1 + (SELECT max(x) FROM t)").to_string();
        let value = Parser::new(&GenericDialect {}).try_with_sql(&value["SELECT ".len()..]);
        let value = value.and_then(|mut parser| parser.parse_expr()).unwrap();
        assert!(names_columns_or_tables(&value));
        let (part, asked) = part("q", "n", &value).unwrap();
        assert_eq!(asked.to_string(), "(SELECT value FROM \"q.$n\")");
        let mut query = read("SELECT 1");
        put_first(&mut query, vec![part]);
        assert_eq!(
            query.to_string(),
            "WITH \"q.$n\" AS (SELECT 1 + (SELECT max(x) FROM t) AS value) SELECT 1"
        );
    }
}
