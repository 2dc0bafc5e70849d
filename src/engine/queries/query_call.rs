//! A call of a named query: the lake that is asked, the arguments, and SQL with values in the places of parameters.

use crate::engine::sql::visit::visit_part_mut;
use crate::error::{Error, Result};
use chrono_tz::Tz;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Query, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// The schemas of a session that are lakes.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Lakes<'a> {
    /// The one that a name alone means.
    pub(in crate::engine) first: &'a str,
    /// All of them.
    pub(in crate::engine) all: &'a [&'a str],
    /// The zone of each, which times without an offset are in. It is asked only where there are such.
    pub(in crate::engine) zone: &'a (dyn Fn(&str) -> Result<Tz> + Sync),
}

impl<'a> Lakes<'a> {
    /// The lakes, of which names alone mean this one.
    pub(super) fn with_first(self, name: &str) -> Option<Self> {
        let first = self.all.iter().find(|known| **known == name)?;
        Some(Self { first, ..self })
    }

    /// The lakes, for SQL in which times without an offset are in UTC: ours.
    pub(super) fn in_utc(self) -> Self {
        Self { zone: &utc, ..self }
    }
}

fn utc(_: &str) -> Result<Tz> {
    Ok(Tz::UTC)
}

/// The name of an argument, if it has one, and its value.
pub(super) fn argument(argument: &FunctionArg) -> Result<(Option<String>, Expr)> {
    let (name, value) = match argument {
        FunctionArg::Named { name, arg, .. } => (Some(name.value.to_lowercase()), arg),
        FunctionArg::ExprNamed { name, arg, .. } => (Some(name.to_string().to_lowercase()), arg),
        FunctionArg::Unnamed(arg) => (None, arg),
    };
    match value {
        FunctionArgExpr::Expr(value) => Ok((name, value.clone())),
        other => Err(Error::Invalid(format!(
            "`{other}` is not a valid parameter value"
        ))),
    }
}

/// Puts values in the places of `$name`.
pub(super) fn substitute(query: &mut Query, values: &[(String, Expr)]) {
    let _ = visit_part_mut(query, &mut Substitute(values));
}

struct Substitute<'a>(&'a [(String, Expr)]);

impl VisitorMut for Substitute<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && let Some((_, given)) = self.0.iter().find(|(known, _)| known == name)
        {
            *expr = given.clone();
        }
        ControlFlow::Continue(())
    }
}

/// One expression of SQL.
///
/// # Errors
/// [`Error::Invalid`] if it is none.
pub(super) fn expression(sql: &str) -> Result<Expr> {
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql(sql)
        .and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|e| Error::Invalid(format!("`{sql}`: {e}")))
}

/// The name of a zone in the place of `$zone`: days are those of `date_trunc('day', start_time AT TIME ZONE $zone)`.
///
/// # Errors
/// Never: names of zones have no quotes.
pub(super) fn zone_value(zone: Tz) -> Result<Expr> {
    expression(&format!("'{}'", zone.name()))
}

/// One query of SQL.
///
/// # Errors
/// [`Error::Invalid`] if it is none.
pub(super) fn parse_query(sql: &str) -> Result<Query> {
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql(sql)
        .and_then(|mut parser| parser.parse_query());
    parsed
        .map(|query| *query)
        .map_err(|e| Error::Invalid(e.to_string()))
}
