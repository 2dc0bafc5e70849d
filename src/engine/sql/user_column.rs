//! `user` is a column of `darshan_log`, not a function of the SQL standard.

use super::visit::{visit_mut, visit_part_mut};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArguments, VisitMut, VisitorMut};
use std::ops::ControlFlow;

/// Reads `user` as the column that `darshan_log` has, not as the SQL standard's function without parentheses, which
/// DataFusion lacks.
pub(in crate::engine) fn plain_user(statement: &mut Statement) {
    let _ = visit_mut(statement, &mut Users);
}

/// The same in a part of a statement.
pub(in crate::engine) fn plain_users(part: &mut impl VisitMut) {
    let _ = visit_part_mut(part, &mut Users);
}

struct Users;

impl VisitorMut for Users {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
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
}
