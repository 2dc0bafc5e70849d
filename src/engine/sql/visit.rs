//! Walks over the SQL of a statement.

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, Query, Visit, VisitMut, Visitor, VisitorMut};
use std::ops::ControlFlow;

/// Shows a visitor the SQL of a statement, also of one that is explained or copied into a file.
pub(in crate::engine) fn visit<V: Visitor>(
    statement: &Statement,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    match statement {
        Statement::Statement(inner) => inner.visit(visitor),
        Statement::Explain(explain) => visit(&explain.statement, visitor),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.visit(visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    }
}

/// The same, for a visitor that changes it.
pub(in crate::engine) fn visit_mut<V: VisitorMut>(
    statement: &mut Statement,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    match statement {
        Statement::Statement(inner) => inner.visit(visitor),
        Statement::Explain(explain) => visit_mut(&mut explain.statement, visitor),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    }
}

/// Lets a function change every expression of a part of a statement, each behind its own parts, but for those in subqueries: names there may be of other tables.
pub(in crate::engine) fn change_outside_subqueries(
    part: &mut impl VisitMut,
    change: impl FnMut(&mut Expr),
) {
    struct Outside<F> {
        change: F,
        subqueries: usize,
    }

    impl<F: FnMut(&mut Expr)> VisitorMut for Outside<F> {
        type Break = ();

        fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
            self.subqueries += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
            self.subqueries -= 1;
            ControlFlow::Continue(())
        }

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if self.subqueries == 0 {
                (self.change)(expr);
            }
            ControlFlow::Continue(())
        }
    }
    let _ = part.visit(&mut Outside {
        change,
        subqueries: 0,
    });
}
