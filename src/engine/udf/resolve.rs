//! The text of a user's function to an expression, with all that such a function must not be.

use super::statement::{Called, called_in, expression};
use super::{SqlUdf, count};
use crate::engine::error::{ErrorContext, translate};
use crate::engine::queries::queries;
use crate::engine::rewrite::expr_up;
use crate::engine::sql::visit::{visit_exprs, visit_part};
use crate::error::{Error, Result, nearest};
use crate::lake::{UserFunction, UserParameter};
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::execution::registry::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, ExprWithAlias, FunctionArguments, Query, Value, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Makes expressions of functions, each with those that it calls.
pub(in crate::engine) struct Resolver<'a> {
    /// Plans bodies; it has functions and options, but no tables.
    planner: &'a SessionState,
    /// Functions by who keeps them. One calls those of its own keeper, then those of the keepers behind it.
    keepers: Vec<&'a [UserFunction]>,
    /// What is being resolved, from the outermost.
    open: Vec<(usize, String)>,
    done: HashMap<(usize, String), SqlUdf>,
}

impl<'a> Resolver<'a> {
    /// A resolver of these functions.
    pub(in crate::engine) fn new(
        planner: &'a SessionState,
        keepers: Vec<&'a [UserFunction]>,
    ) -> Self {
        Self {
            planner,
            keepers,
            open: vec![],
            done: HashMap::new(),
        }
    }

    /// The function of that name as DataFusion has it, under the name `key`; None if nobody keeps such a function.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be what it says.
    pub(in crate::engine) fn function(
        &mut self,
        name: &str,
        key: &str,
    ) -> Result<Option<Arc<ScalarUDF>>> {
        let written = self.resolve(name, 0)?;
        Ok(written.map(|written| {
            Arc::new(ScalarUDF::from(SqlUdf {
                name: key.to_string(),
                ..written
            }))
        }))
    }

    /// Looks for it from a keeper on.
    fn resolve(&mut self, name: &str, from: usize) -> Result<Option<SqlUdf>> {
        let kept = |(at, keeper): (usize, &&'a [UserFunction])| {
            let found = keeper.iter().find(|function| function.name == name)?;
            Some((at, found))
        };
        let mut found = self.keepers.iter().enumerate().skip(from).filter_map(kept);
        let Some((keeper, function)) = found.next() else {
            return Ok(None);
        };
        let id = (keeper, name.to_string());
        if let Some(done) = self.done.get(&id) {
            return Ok(Some(done.clone()));
        }
        if let Some(at) = self.open.iter().position(|open| *open == id) {
            let through: Vec<String> = self.open[at + 1..]
                .iter()
                .map(|(_, name)| format!("`{name}`"))
                .collect();
            return Err(refusal(
                name,
                match through.is_empty() {
                    true => "it calls itself, which would never end".to_string(),
                    false => format!(
                        "it calls itself through {}, which would never end",
                        through.join(" and ")
                    ),
                },
            ));
        }
        self.open.push(id.clone());
        let written = self.written(function, keeper);
        self.open.pop();
        let written = written?;
        self.done.insert(id, written.clone());
        Ok(Some(written))
    }

    fn written(&mut self, function: &UserFunction, keeper: usize) -> Result<SqlUdf> {
        let name = &function.name;
        let body = expression(&function.body)?;
        if let ControlFlow::Break(what) = visit_part(&body, &mut Foreign) {
            return Err(refusal(
                name,
                format!("{what} cannot stand in a function; it is an expression of its parameters"),
            ));
        }
        let mut planner = self.planner.clone();
        for Called { lake, name, key } in called_in(&body) {
            if lake.is_none()
                && !is_built_in(&planner, &name)
                && let Some(written) = self.resolve(&name, keeper)?
            {
                let called = ScalarUDF::from(SqlUdf {
                    name: key,
                    ..written
                });
                planner
                    .register_udf(Arc::new(called))
                    .map_err(|e| self.error(name.as_str(), e))?;
            }
        }
        let typed = |p: &UserParameter| Ok((p.name.clone(), self.data_type(name, &p.type_name)?));
        let parameters: Vec<(String, DataType)> = function
            .parameters
            .iter()
            .map(typed)
            .collect::<Result<_>>()?;
        let returns = self.data_type(name, &function.returns)?;
        let fields: Vec<Field> = parameters
            .iter()
            .map(|(name, data_type)| Field::new(name, data_type.clone(), true))
            .collect();
        let schema = DFSchema::from_unqualified_fields(fields.into(), HashMap::new())
            .map_err(|e| self.error(name, e))?;
        let body = planner
            .create_logical_expr_from_sql_expr(
                ExprWithAlias {
                    expr: body,
                    alias: None,
                },
                &schema,
            )
            .map_err(|e| self.body_error(function, e))?;
        let foreign = |expr: &Expr| {
            matches!(
                expr,
                Expr::AggregateFunction(_)
                    | Expr::WindowFunction(_)
                    | Expr::GroupingSet(_)
                    | Expr::Unnest(_)
            )
        };
        if count(&body, foreign).map_err(|e| self.error(name, e))? > 0 {
            let why = "it looks at several rows; a function takes the values of one";
            return Err(refusal(name, why.into()));
        }
        // What the analyzer does to a query's expressions it would not do to this one: it looks at each only once.
        let rewrites = planner.analyzer().function_rewrites();
        let options = planner.config_options();
        let rewritten = expr_up(body, &mut |expr| {
            let first = Transformed::no(expr);
            rewrites.iter().try_fold(first, |result, rewrite| {
                result.transform_data(|expr| rewrite.rewrite(expr, &schema, options))
            })
        });
        let body = rewritten.map_err(|e| self.error(name, e))?.data;
        let body = body.unalias_nested().data;
        planner
            .create_physical_expr(body.clone(), &schema)
            .map_err(|e| self.error(name, e))?;
        let gives = body.get_type(&schema).map_err(|e| self.error(name, e))?;
        if !can_cast_types(&gives, &returns) {
            return Err(refusal(
                name,
                format!(
                    "its result is of type {gives}, of which no {} can be made",
                    function.returns
                ),
            ));
        }
        SqlUdf::new(
            name.clone(),
            function.signature(),
            parameters,
            returns,
            body,
        )
        .map_err(|e| self.error(name, e))
    }

    /// The type that a name of SQL stands for.
    fn data_type(&self, function: &str, name: &str) -> Result<DataType> {
        let schema = DFSchema::empty();
        let null = ExprWithAlias {
            expr: expression(&format!("CAST(NULL AS {name})"))?,
            alias: None,
        };
        self.planner
            .create_logical_expr_from_sql_expr(null, &schema)
            .and_then(|null| null.get_type(&schema))
            .map_err(|e| self.error(function, e))
    }

    fn error(&self, function: &str, error: DataFusionError) -> Error {
        refusal(
            function,
            translate(error, &self.error_context()).to_string(),
        )
    }

    /// The same for a body, of which users expect most often that it sees the columns of a table.
    fn body_error(&self, function: &UserFunction, error: DataFusionError) -> Error {
        let DataFusionError::SchemaError(inner, _) = error.find_root() else {
            return self.error(&function.name, error);
        };
        let SchemaError::FieldNotFound { field, .. } = inner.as_ref() else {
            return self.error(&function.name, error);
        };
        let unknown = field.flat_name().replace('"', "");
        let known = function.parameters.iter().map(|p| p.name.as_str());
        let hint = match (nearest(&unknown, known), function.parameters.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, true) => "it has none, and a function sees no columns".to_string(),
            (None, false) => "a function sees no columns but what it is given".to_string(),
        };
        refusal(
            &function.name,
            format!("unknown parameter `{unknown}`; {hint}"),
        )
    }

    fn error_context(&self) -> ErrorContext {
        let users = self.keepers.iter().flat_map(|keeper| keeper.iter());
        let mut functions: Vec<String> = users.map(|function| function.name.clone()).collect();
        functions.extend(built_in(self.planner).map(str::to_string));
        functions.sort();
        ErrorContext {
            functions,
            ..ErrorContext::default()
        }
    }
}

/// An error about a function.
pub(super) fn refusal(function: &str, why: String) -> Error {
    let start = format!("function `{function}`: ");
    match why.starts_with("function `") {
        // Of a function that this one calls.
        true => Error::Invalid(why),
        false => Error::Invalid(format!("{start}{why}")),
    }
}

/// The names of DataFusion's and iolode's functions for expressions, in no order.
fn built_in(state: &SessionState) -> impl Iterator<Item = &str> {
    let higher = state.higher_order_functions().keys();
    state
        .scalar_functions()
        .keys()
        .chain(higher)
        .chain(state.aggregate_functions().keys())
        .chain(state.window_functions().keys())
        .map(String::as_str)
}

/// Whether DataFusion or iolode have a function or a question of that name.
pub(in crate::engine) fn is_built_in(state: &SessionState, name: &str) -> bool {
    // DataFusion's planner knows this one by its name alone.
    name == "unnest"
        || state.scalar_functions().contains_key(name)
        || state.higher_order_functions().contains_key(name)
        || state.aggregate_functions().contains_key(name)
        || state.window_functions().contains_key(name)
        || state.table_functions().contains_key(name)
        || queries().iter().any(|query| query.is_called(name))
}

/// Whether a call of that name is read as one: SQL has words, such as `minus` and `union`, that are followed by something else.
pub(super) fn is_callable(name: &str, parameters: usize) -> bool {
    let plain = name
        .bytes()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if !plain {
        // Its calls have quotes, too.
        return true;
    }
    let call = format!("{name}({})", vec!["1"; parameters].join(", "));
    // Some are words of SQL only behind something else.
    let text = format!("SELECT {call}, {call} WHERE 1 = {call} AND {call} = 1 GROUP BY {call}");
    let Ok(statements) = Parser::parse_sql(&GenericDialect {}, &text) else {
        return false;
    };
    let mut calls = 0;
    let _: ControlFlow<()> = visit_exprs(&statements, |expr| {
        calls += usize::from(matches!(
            expr,
            SqlExpr::Function(function)
                if matches!(&function.args, FunctionArguments::List(list) if list.args.len() == parameters)
                    && function.name.to_string() == name
        ));
        ControlFlow::Continue(())
    });
    calls == 5
}

/// Finds what cannot stand in a body, as far as the text tells.
struct Foreign;

impl Visitor for Foreign {
    type Break = String;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
        ControlFlow::Break("a subquery".into())
    }

    fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<String> {
        match expr {
            SqlExpr::Value(value) => match &value.value {
                Value::Placeholder(name) => ControlFlow::Break(format!("`{name}`")),
                _ => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}
