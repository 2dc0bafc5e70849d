//! Where DataFusion 55.2 answers wrongly without a word, or not at all where other databases do.
//!
//! Each file says what is wrong, with the number of DataFusion's issue where there is one, and makes it right or refuses it with a
//! line that says what to write instead. A file goes when DataFusion is right. What is only switched off, because a setting
//! suffices, is in [`super::session`].

pub(in crate::engine) mod aggregates;
pub(in crate::engine) mod all_sets;
pub(in crate::engine) mod arithmetic;
pub(in crate::engine) mod canonical;
pub(in crate::engine) mod cast_bounds;
pub(in crate::engine) mod correlated;
pub(in crate::engine) mod count_distinct;
pub(in crate::engine) mod distinct_from;
pub(in crate::engine) mod durations;
pub(in crate::engine) mod float_keys;
pub(in crate::engine) mod functional_dependencies;
pub(in crate::engine) mod headings;
pub(in crate::engine) mod in_lists;
pub(in crate::engine) mod join_order;
pub(in crate::engine) mod kept_nulls;
pub(in crate::engine) mod keywords;
pub(in crate::engine) mod long_chains;
pub(in crate::engine) mod order_twice;
pub(in crate::engine) mod percentile_cont;
pub(in crate::engine) mod signed_counts;
pub(in crate::engine) mod sort_fetch;
pub(in crate::engine) mod sum;
pub(in crate::engine) mod table_clauses;
pub(in crate::engine) mod time_zone;
pub(in crate::engine) mod using;
pub(in crate::engine) mod window_cost;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, Visit, Visitor};
use std::ops::ControlFlow;

/// Shows a visitor the SQL of a statement, also of one that is explained or copied into a file.
fn visit<V: Visitor>(statement: &Statement, visitor: &mut V) -> ControlFlow<V::Break> {
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

/// Shows a function every expression of a statement, each before its parts, until it gives something.
fn visit_expressions<B>(
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
