//! `CREATE FUNCTION`, `DROP FUNCTION` and `SHOW FUNCTIONS`, as they are written; and the functions that other SQL calls.

use crate::engine::sql::visit::{visit, visit_part};
use crate::error::{Error, Result};
use crate::lake::{UserFunction, UserParameter};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CreateFunction, CreateFunctionBody, DropFunction, Expr, FunctionReturnType, Ident, ObjectName,
    ObjectNamePart, ShowStatementFilter, Statement as SqlStatement, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// How a function is made.
const SYNTAX: &str = "CREATE FUNCTION f(x BIGINT, ..) RETURNS BIGINT RETURN expression";

/// A statement about functions.
pub(in crate::engine) enum Request {
    /// `CREATE [OR REPLACE] [TEMPORARY] FUNCTION`.
    Create {
        /// The lake named before it.
        lake: Option<String>,
        /// What is made.
        function: UserFunction,
        /// Whether one of that name may be there.
        replace: bool,
        /// Whether it is this session's, whatever the lake.
        temporary: bool,
    },
    /// `DROP FUNCTION [IF EXISTS]`: lake and name of each.
    Drop {
        /// The lake named before it, and its name.
        names: Vec<(Option<String>, String)>,
        /// Whether it need not be there.
        if_exists: bool,
    },
    /// `SHOW FUNCTIONS [LIKE ..]`: a pattern of their names, and whether upper and lower case differ.
    Show(Option<(String, bool)>),
}

/// What a statement asks about functions; None if it is about something else.
///
/// # Errors
/// [`Error::Invalid`] if it is written in a way that iolode does not take.
pub(in crate::engine) fn read(statement: &Statement) -> Result<Option<Request>> {
    let Statement::Statement(statement) = statement else {
        return Ok(None);
    };
    match statement.as_ref() {
        SqlStatement::CreateFunction(create) => read_create(create).map(Some),
        SqlStatement::DropFunction(drop) => read_drop(drop).map(Some),
        SqlStatement::ShowFunctions { filter } => Ok(Some(Request::Show(match filter {
            None => None,
            Some(ShowStatementFilter::Like(pattern)) => Some((pattern.clone(), true)),
            Some(ShowStatementFilter::ILike(pattern)) => Some((pattern.clone(), false)),
            Some(_) => {
                let why = "expected `SHOW FUNCTIONS LIKE 'pattern'`";
                return Err(Error::Invalid(why.into()));
            }
        }))),
        _ => Ok(None),
    }
}

fn read_create(create: &CreateFunction) -> Result<Request> {
    let (lake, name) = read_name(&create.name)?;
    let refuse = |why: &str| Error::Invalid(format!("function `{name}`: {why}"));
    let odd = create.or_alter
        || create.if_not_exists
        || create.behavior.is_some()
        || create.called_on_null.is_some()
        || create.parallel.is_some()
        || create.security.is_some()
        || !create.set_params.is_empty()
        || create.using.is_some()
        || create.language.is_some()
        || create.determinism_specifier.is_some()
        || create.options.is_some()
        || create.remote_connection.is_some();
    let (
        false,
        Some(FunctionReturnType::DataType(returns)),
        Some(CreateFunctionBody::Return(body)),
    ) = (odd, &create.return_type, &create.function_body)
    else {
        return Err(refuse(&format!("expected `{SYNTAX}`")));
    };
    let mut parameters: Vec<UserParameter> = vec![];
    for given in create.args.iter().flatten() {
        let Some(ident) = &given.name else {
            let why = format!("`{}` needs a name before its type", given.data_type);
            return Err(refuse(&why));
        };
        let parameter = normal(&reread(ident));
        if given.mode.is_some() || given.default_expr.is_some() {
            let why = format!("expected `{parameter} {}` and no more", given.data_type);
            return Err(refuse(&why));
        }
        if parameters.iter().any(|known| known.name == parameter) {
            return Err(refuse(&format!("two parameters are named `{parameter}`")));
        }
        parameters.push(UserParameter {
            name: parameter,
            type_name: given.data_type.to_string(),
        });
    }
    // Kept as text: what would be read back as something else must not be.
    let text = body.to_string();
    if expression(&text)? != *body {
        let why =
            format!("`{text}` would not be read back as it was written; write it another way");
        return Err(refuse(&why));
    }
    Ok(Request::Create {
        lake,
        function: UserFunction {
            name,
            parameters,
            returns: returns.to_string(),
            body: text,
        },
        replace: create.or_replace,
        temporary: create.temporary,
    })
}

fn read_drop(drop: &DropFunction) -> Result<Request> {
    let names = drop.func_desc.iter().map(|desc| read_name(&desc.name));
    Ok(Request::Drop {
        names: names.collect::<Result<_>>()?,
        if_exists: drop.if_exists,
    })
}

/// The lake before a function's name, and the name.
fn read_name(name: &ObjectName) -> Result<(Option<String>, String)> {
    let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    match parts[..] {
        [name] => Ok((None, normal(name))),
        [lake, name] => Ok((Some(normal(lake)), normal(name))),
        _ => Err(Error::Invalid(format!(
            "`{name}` is not a valid function name"
        ))),
    }
}

/// A name in lower case unless it is in quotes.
pub(in crate::engine) fn normal(name: &Ident) -> String {
    match name.quote_style {
        None => name.value.to_lowercase(),
        Some(_) => name.value.clone(),
    }
}

/// sqlparser 0.62 takes the quotes of a parameter's name for a part of it.
fn reread(name: &Ident) -> Ident {
    let parsed = Parser::new(&GenericDialect {}).try_with_sql(&name.value);
    let parsed = parsed.and_then(|mut parser| parser.parse_identifier());
    parsed.unwrap_or_else(|_| name.clone())
}

/// An expression read from its text, with the corrections that every statement gets.
///
/// # Errors
/// [`Error::Invalid`] if it is none.
pub(super) fn expression(text: &str) -> Result<Expr> {
    let quoted = crate::engine::workarounds::keywords::quoted(text);
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql(&quoted)
        .and_then(|mut parser| parser.parse_expr());
    let mut parsed = parsed.map_err(|e| Error::Invalid(format!("`{text}`: {e}")))?;
    crate::engine::sql::user_column::plain_users(&mut parsed);
    Ok(parsed)
}

/// A function that is called, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Called {
    /// The lake before its name.
    pub(in crate::engine) lake: Option<String>,
    /// Its name.
    pub(in crate::engine) name: String,
    /// What DataFusion will look for.
    pub(in crate::engine) key: String,
}

/// The functions that a statement calls, each once, those of DataFusion and iolode among them.
pub(in crate::engine) fn called(statement: &Statement) -> Vec<Called> {
    let mut calls = Calls::default();
    let _ = visit(statement, &mut calls);
    calls.0
}

/// As [`called`], in a part of a statement.
pub(super) fn called_in(node: &impl Visit) -> Vec<Called> {
    let mut calls = Calls::default();
    let _ = visit_part(node, &mut calls);
    calls.0
}

#[derive(Default)]
struct Calls(Vec<Called>);

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Ok((lake, name)) = read_name(&function.name)
        {
            let key = match &lake {
                None => name.clone(),
                Some(_) => function.name.to_string(),
            };
            let called = Called { lake, name, key };
            if !self.0.contains(&called) {
                self.0.push(called);
            }
        }
        ControlFlow::Continue(())
    }
}
