//! Statements that would take long to plan are refused, and long chains of conditions are planned as trees.
//!
//! DataFusion 55.2 looks at each part of an expression once for each operator above it: its time grows with the square of the length of
//! `a + b + c ..`, which is as deep as it is long (2,000 terms: 4 s). Chains of AND and of OR, as programs write them, may be bracketed in any
//! way, so that they are as deep as the logarithm of their length. Sums may not: that of floats would be another.

use crate::error::{Error, Result};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, Value, Visit, VisitMut, VisitorMut, visit_relations,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Operators one after another, but AND and OR.
const OPERATORS: usize = 300;
/// Conditions joined by AND: DataFusion estimates the rows by comparing each with all others, part by part.
const ALL_OF: usize = 500;
/// Conditions joined by OR.
const ANY_OF: usize = 2_000;
/// Columns of one CUBE, of which each subset is a grouping.
const CUBE: usize = 12;
/// Tables that a part of WITH asks, those that others ask for it included.
const TABLES: usize = 2_000;
/// Chains up to this length stay as they are written.
const SHORT: usize = 32;

/// Brackets long chains.
///
/// # Errors
/// [`Error::Invalid`] for those that are too long, which says what to write instead.
pub(in crate::engine) fn bracket(statement: &mut Statement) -> Result<()> {
    let found = match statement {
        Statement::Statement(inner) => inner.visit(&mut Bracket),
        Statement::Explain(explain) => return bracket(&mut explain.statement),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(&mut Bracket),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Error::Invalid(why)),
    }
}

struct Bracket;

impl VisitorMut for Bracket {
    type Break = String;

    /// Each part of a WITH is planned anew wherever it is asked: those that ask earlier ones several times double what is below.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        let mut asked: HashMap<String, usize> = HashMap::new();
        let Some(with) = &query.with else {
            return ControlFlow::Continue(());
        };
        for part in &with.cte_tables {
            let tables = tables(&part.query, &asked);
            let name = part.alias.name.to_string();
            if tables > TABLES {
                return ControlFlow::Break(too_many(&format!("`{name}`")));
            }
            asked.insert(name, tables.max(1));
        }
        match tables(&query.body, &asked) > TABLES {
            true => ControlFlow::Break(too_many("the statement")),
            false => ControlFlow::Continue(()),
        }
    }

    /// Comes to the whole of a chain before its parts.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match expr {
            Expr::BinaryOp { op, .. } if is_condition(op) => {
                let op = op.clone();
                let terms = length(expr, |other| *other == op);
                let most = match op {
                    BinaryOperator::And => ALL_OF,
                    _ => ANY_OF,
                };
                if terms > most {
                    return ControlFlow::Break(format!(
                        "{terms} conditions joined by {op} are too many, at most {most}; write `x IN (..)` or `x NOT IN (..)`, or join a table of the values"
                    ));
                }
                if terms > SHORT {
                    let whole = std::mem::replace(expr, Expr::value(Value::Null));
                    *expr = balanced(terms_of(whole, &op), &op);
                }
                ControlFlow::Continue(())
            }
            Expr::BinaryOp { .. } => match length(expr, |op| !is_condition(op)) {
                terms if terms > OPERATORS => ControlFlow::Break(format!(
                    "an expression of {terms} terms is too long, at most {OPERATORS}; give parts of it names in a subquery, or write texts as \
                     `concat(a, b, ..)`"
                )),
                _ => ControlFlow::Continue(()),
            },
            Expr::Cube(columns) if columns.len() > CUBE => ControlFlow::Break(format!(
                "CUBE of {} columns has too many groupings, at most {CUBE} columns; list those that you need with GROUPING SETS",
                columns.len()
            )),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// How many tables are asked, given how many each part of WITH asks.
fn tables(asks: &impl Visit, parts: &HashMap<String, usize>) -> usize {
    let mut tables = 0;
    let _: ControlFlow<()> = visit_relations(asks, |name| {
        tables += parts.get(&name.to_string()).unwrap_or(&1);
        ControlFlow::Continue(())
    });
    tables
}

fn too_many(what: &str) -> String {
    format!(
        "{what} asks more than {TABLES} tables, for parts of WITH are computed wherever they are asked; make tables of those that are asked \
         often with CREATE TABLE .. AS"
    )
}

fn is_condition(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or)
}

/// How many terms such operators join, along the left sides.
fn length(expr: &Expr, is: impl Fn(&BinaryOperator) -> bool) -> usize {
    let (mut expr, mut terms) = (expr, 1);
    while let Expr::BinaryOp { left, op, .. } = expr
        && is(op)
    {
        (expr, terms) = (left, terms + 1);
    }
    terms
}

/// The terms that an operator joins, in their order.
fn terms_of(mut expr: Expr, chain: &BinaryOperator) -> Vec<Expr> {
    let mut terms = vec![];
    loop {
        match expr {
            Expr::BinaryOp { left, op, right } if op == *chain => {
                terms.push(*right);
                expr = *left;
            }
            first => {
                terms.push(first);
                terms.reverse();
                return terms;
            }
        }
    }
}

/// The same terms joined as a tree.
fn balanced(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                },
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop().unwrap_or(Expr::value(Value::Null))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use std::time::{Duration, Instant};

    const TABLE: &str =
        "(SELECT value AS a, value::double AS d, 't' AS t FROM generate_series(1, 3))";

    fn chain(op: &str, terms: usize, term: impl Fn(usize) -> String) -> String {
        (0..terms)
            .map(term)
            .collect::<Vec<_>>()
            .join(&format!(" {op} "))
    }

    #[test]
    fn chains_that_are_too_long_are_refused_soon() {
        let begin = Instant::now();
        for (chain, why) in [
            (
                chain("+", 2_000, |_| "1".into()),
                "an expression of 2000 terms is too long",
            ),
            (
                chain("*", 2_000, |_| "a".into()),
                "an expression of 2000 terms is too long",
            ),
            (
                chain("||", 301, |_| "t".into()),
                "an expression of 301 terms is too long",
            ),
            (
                chain("OR", 2_001, |i| format!("a = {i}")),
                "2001 conditions joined by OR are too many",
            ),
        ] {
            let error = ask(&format!(
                "SELECT count(*) FROM {TABLE} WHERE ({chain}) IS NOT NULL"
            ))
            .unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
        let cube = chain(",", 20, |i| format!("a + {i}"));
        let error = ask(&format!(
            "SELECT count(*) FROM {TABLE} GROUP BY CUBE ({cube})"
        ))
        .unwrap_err();
        assert!(
            error.starts_with("CUBE of 20 columns has too many groupings"),
            "{error}"
        );
        let parts = chain(",", 30, |i| {
            format!(
                "c{} AS (SELECT x.a FROM c{i} AS x JOIN c{i} AS y ON x.a = y.a)",
                i + 1
            )
        });
        let error = ask(&format!(
            "WITH c0 AS (SELECT 1 AS a), {parts} SELECT count(*) FROM c30"
        ))
        .unwrap_err();
        assert!(
            error.starts_with("`c11` asks more than 2000 tables"),
            "{error}"
        );
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    /// By hand: of 1, 2 and 3.
    #[test]
    fn chains_within_the_bounds_are_answered() {
        for (expr, answer) in [
            (chain("+", 300, |_| "a".into()), ["300", "600", "900"]),
            // 2002 - 1999 is 3.
            (
                chain("OR", 2_000, |i| format!("a + {i} = 2002")),
                ["false", "false", "true"],
            ),
            (
                chain("AND", 500, |i| format!("a <> {}", i + 3)),
                ["true", "true", "false"],
            ),
        ] {
            assert_eq!(
                ask(&format!("SELECT {expr} FROM {TABLE} ORDER BY a")).unwrap(),
                answer
            );
        }
    }
}
