//! Walks over the SQL of a statement.

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, Visit, VisitMut, Visitor, VisitorMut};
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

/// Shows a function every expression of a statement, each before its parts, until it gives something.
pub(in crate::engine) fn visit_expressions<B>(
    statement: &Statement,
    of: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Each<F, B>(F, std::marker::PhantomData<B>);

    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Each<F, B> {
        type Break = B;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            self.0(expr)
        }
    }
    visit(statement, &mut Each(of, std::marker::PhantomData))
}
