//! What an expression compares.

use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, Operator};

/// The sides of a comparison; None of an expression that compares nothing.
pub(in crate::engine) fn compared(expr: &mut Expr) -> Option<Vec<&mut Expr>> {
    Some(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => vec![left, right],
        Expr::Between(Between {
            expr, low, high, ..
        }) => vec![expr, low, high],
        Expr::InList(InList { expr, list, .. }) => {
            std::iter::once(&mut **expr).chain(list).collect()
        }
        _ => return None,
    })
}

fn compares(op: Operator) -> bool {
    use Operator as O;
    matches!(
        op,
        O::Eq
            | O::NotEq
            | O::Lt
            | O::LtEq
            | O::Gt
            | O::GtEq
            | O::IsDistinctFrom
            | O::IsNotDistinctFrom
    )
}
