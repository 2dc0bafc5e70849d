//! Values in the place of the parameters of SQL that is no named query, such as that of a report.

use super::param_names::CallNames;
use super::query_call::{expression, zone_value};
use super::query_params::{Param, ParamType};
use crate::engine::sql::visit::visit_mut;
use crate::error::{Error, Result};
use chrono_tz::Tz;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Value, VisitorMut};
use std::ops::ControlFlow;

/// The expression that stands for each parameter, under its name: what was given, as somebody types it, else its default. A time without an offset is one
/// of `zone`, whose name is the value of `$zone`.
///
/// # Errors
/// [`Error::Invalid`] or [`Error::Unknown`] if a value is missing, is none of its parameter's type, or has no parameter.
pub(in crate::engine) fn substitutes(
    params: &[Param],
    given: &[(String, String)],
    zone: Tz,
) -> Result<Vec<(String, Expr)>> {
    for (name, _) in given {
        if !params.iter().any(|param| param.is_called(name)) {
            let known = params.iter().map(|param| param.name.as_str());
            return Err(Error::unknown("parameter", name, known));
        }
    }
    let value = |param: &Param| {
        let given = given.iter().find(|(name, _)| param.is_called(name));
        let (value, zone) = match (given, &param.default) {
            (Some((_, value)), _) => (expression(&param.literal(value)?)?, zone),
            (None, Some(default)) => (expression(default)?, Tz::UTC),
            (None, None) => {
                let why = format!("the parameter {} has no value: {}", param.name, param.doc);
                return Err(Error::Invalid(why));
            }
        };
        param.check(&value)?;
        let zone = match param.kind {
            ParamType::Timestamp => zone,
            _ => Tz::UTC,
        };
        Ok((
            param.name.clone(),
            expression(&param.kind.cast(&value, zone))?,
        ))
    };
    let mut values = params.iter().map(value).collect::<Result<Vec<_>>>()?;
    // A parameter of that name comes first.
    values.push(("zone".to_string(), zone_value(zone)?));
    Ok(values)
}

/// What these values name, such as a program; None if they name nothing.
///
/// # Errors
/// [`Error::Invalid`] if a value is none of its parameter's type.
pub(in crate::engine) fn names(
    params: &[Param],
    given: &[(String, String)],
) -> Result<Option<CallNames>> {
    let mut values = vec![];
    for (name, value) in given {
        if let Some(param) = params.iter().find(|param| param.is_called(name)) {
            values.push((param, expression(&param.literal(value)?)?));
        }
    }
    Ok(CallNames::of(
        None,
        None,
        values.iter().map(|(param, value)| (*param, value)),
    ))
}

/// Puts these expressions in the place of `$name`.
///
/// # Errors
/// [`Error::Unknown`] if a name is that of no parameter.
pub(in crate::engine) fn substitute_all(
    statement: &mut Statement,
    values: &[(String, Expr)],
) -> Result<()> {
    match visit_mut(statement, &mut Substitute(values)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Substitute<'a>(&'a [(String, Expr)]);

impl VisitorMut for Substitute<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Value(value) = expr else {
            return ControlFlow::Continue(());
        };
        let Value::Placeholder(written) = &value.value else {
            return ControlFlow::Continue(());
        };
        let name = written.trim_start_matches('$');
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, given)) => {
                *expr = given.clone();
                ControlFlow::Continue(())
            }
            None => {
                let known = self.0.iter().map(|(name, _)| name.as_str());
                ControlFlow::Break(Error::unknown("parameter", name, known))
            }
        }
    }
}
