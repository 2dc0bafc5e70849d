//! Walks over the SQL of a statement, and over parts of one.
//!
//! What shows a visitor a syntax tree is some 800 functions, compiled for each type of visitor. So all visitors are shown it from here, behind a pointer: it is then
//! compiled once for each type of `Break`.

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};
use std::ops::ControlFlow;

/// Shows a visitor the SQL of a statement, also of one that is explained or copied into a file.
pub(in crate::engine) fn visit<B>(
    statement: &Statement,
    visitor: &mut dyn Visitor<Break = B>,
) -> ControlFlow<B> {
    match statement {
        Statement::Statement(inner) => visit_part(inner, visitor),
        Statement::Explain(explain) => visit(&explain.statement, visitor),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => visit_part(query, visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    }
}

/// The same, for a visitor that changes it.
pub(in crate::engine) fn visit_mut<B>(
    statement: &mut Statement,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    match statement {
        Statement::Statement(inner) => visit_part_mut(inner, visitor),
        Statement::Explain(explain) => visit_mut(&mut explain.statement, visitor),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => visit_part_mut(query, visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    }
}

/// Shows a visitor a part of a statement.
pub(in crate::engine) fn visit_part<B>(
    part: &impl Visit,
    visitor: &mut dyn Visitor<Break = B>,
) -> ControlFlow<B> {
    part.visit(&mut Behind(visitor))
}

/// The same, for a visitor that changes it.
pub(in crate::engine) fn visit_part_mut<B>(
    part: &mut impl VisitMut,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    part.visit(&mut BehindMut(visitor))
}

/// Shows a function every expression of a part of a statement, each before its own parts.
pub(in crate::engine) fn visit_exprs<B>(
    part: &impl Visit,
    see: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Exprs<F>(F);

    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Exprs<F> {
        type Break = B;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }
    visit_part(part, &mut Exprs(see))
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
    let mut outside = Outside {
        change,
        subqueries: 0,
    };
    let _ = visit_part_mut(part, &mut outside);
}

/// A visitor behind a pointer.
struct Behind<'a, B>(&'a mut dyn Visitor<Break = B>);

/// The same, for one that changes what it is shown.
struct BehindMut<'a, B>(&'a mut dyn VisitorMut<Break = B>);

macro_rules! pass_on {
    ($($name:ident: $of:ty),* $(,)?) => {
        impl<B> Visitor for Behind<'_, B> {
            type Break = B;
            $(fn $name(&mut self, part: &$of) -> ControlFlow<B> {
                self.0.$name(part)
            })*
        }

        impl<B> VisitorMut for BehindMut<'_, B> {
            type Break = B;
            $(fn $name(&mut self, part: &mut $of) -> ControlFlow<B> {
                self.0.$name(part)
            })*
        }
    };
}

pass_on! {
    pre_visit_query: Query,
    post_visit_query: Query,
    pre_visit_select: Select,
    post_visit_select: Select,
    pre_visit_relation: ObjectName,
    post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor,
    post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr,
    post_visit_expr: Expr,
    pre_visit_statement: ast::Statement,
    post_visit_statement: ast::Statement,
    pre_visit_value: ValueWithSpan,
    post_visit_value: ValueWithSpan,
}
