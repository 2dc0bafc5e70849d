//! `user` is a column of `darshan_log`, not a function of the SQL standard.

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArguments, VisitMut, visit_expressions_mut};
use std::ops::ControlFlow;

/// Reads `user` as the column that `darshan_log` has, not as the SQL standard's function without parentheses, which
/// DataFusion lacks.
pub(in crate::engine) fn plain_user(statement: &mut Statement) {
    match statement {
        Statement::Statement(inner) => plain_users(inner.as_mut()),
        Statement::Explain(explain) => plain_user(&mut explain.statement),
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &mut copy.source {
                plain_users(query.as_mut());
            }
        }
        _ => {}
    }
}

/// The same in a part of a statement.
pub(in crate::engine) fn plain_users(part: &mut impl VisitMut) {
    fn rename(expr: &mut Expr) -> ControlFlow<()> {
        let column = match expr {
            Expr::Function(function) if matches!(function.args, FunctionArguments::None) => {
                match &function.name.0[..] {
                    [part] => part
                        .as_ident()
                        .filter(|name| {
                            name.quote_style.is_none() && name.value.eq_ignore_ascii_case("user")
                        })
                        .cloned(),
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(name) = column {
            *expr = Expr::Identifier(name);
        }
        ControlFlow::Continue(())
    }
    _ = visit_expressions_mut(part, rename);
}
