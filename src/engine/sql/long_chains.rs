//! Statements that would take long to plan are refused, and long chains of conditions are planned as lists and trees.
//!
//! DataFusion 55.2 looks at each part of an expression once for each operator above it: its time grows with the square of the length of
//! `a + b + c ..`, which is as deep as it is long (2,000 terms: 4 s). Chains of AND and of OR, as programs write them, may be bracketed in any
//! way, so that they are as deep as the logarithm of their length. Sums may not: that of floats would be another.
//!
//! Of such a chain, `x = 1 OR x = 2 ..` is `x IN (1, 2, ..)` and `x <> 1 AND x <> 2 ..` is `x NOT IN (1, 2, ..)`, of any length.

use super::visit::{visit_mut, visit_part};
use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, UnaryOperator, Value, Visit, Visitor, VisitorMut,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Operators one after another, but AND and OR.
const OPERATORS: usize = 300;
/// Conditions joined by AND: DataFusion estimates the rows by comparing each with all others, part by part.
const ALL_OF: usize = 500;
/// Conditions joined by OR.
pub(super) const ANY_OF: usize = 2_000;
/// Columns of one CUBE, of which each subset is a grouping.
const CUBE: usize = 12;
/// Tables that a part of WITH asks, those that others ask for it included.
const TABLES: usize = 2_000;
/// Chains up to this length stay as they are written.
pub(super) const SHORT: usize = 32;

/// Brackets long chains.
///
/// # Errors
/// [`Error::Invalid`] for those that are too long, which says what to write instead.
pub(in crate::engine) fn bracket(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut Bracket) {
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
                if length(expr, |other| *other == op) <= SHORT {
                    return ControlFlow::Continue(());
                }
                let whole = std::mem::replace(expr, Expr::value(Value::Null));
                let terms = with_lists(terms_of(whole, &op), &op);
                let most = match op {
                    BinaryOperator::And => ALL_OF,
                    _ => ANY_OF,
                };
                if terms.len() > most {
                    return ControlFlow::Break(format!(
                        "{} conditions joined by {op} are too many, at most {most}; write `x IN (..)` or `x NOT IN (..)`, or join a table of the values",
                        terms.len()
                    ));
                }
                *expr = balanced(terms, &op);
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
    struct Tables<'a> {
        parts: &'a HashMap<String, usize>,
        tables: usize,
    }

    impl Visitor for Tables<'_> {
        type Break = ();

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            self.tables += self.parts.get(&name.to_string()).unwrap_or(&1);
            ControlFlow::Continue(())
        }
    }
    let mut tables = Tables { parts, tables: 0 };
    let _ = visit_part(asks, &mut tables);
    tables.tables
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

/// The same terms, with one list in the place of all that compare a column with whole numbers, or with texts.
fn with_lists(terms: Vec<Expr>, op: &BinaryOperator) -> Vec<Expr> {
    let compared = match op {
        BinaryOperator::Or => BinaryOperator::Eq,
        _ => BinaryOperator::NotEq,
    };
    let mut lists: HashMap<(Expr, bool), usize> = HashMap::new();
    let mut left = vec![];
    for term in terms {
        let (column, value, is_text) = match term {
            Expr::BinaryOp { left: x, op, right } if op == compared && is_column(&x) => {
                match is_text(&right) {
                    Some(is_text) => (x, *right, is_text),
                    None => {
                        left.push(Expr::BinaryOp { left: x, op, right });
                        continue;
                    }
                }
            }
            other => {
                left.push(other);
                continue;
            }
        };
        let at = *lists
            .entry((*column.clone(), is_text))
            .or_insert(left.len());
        match left.get_mut(at) {
            Some(Expr::InList { list, .. }) => list.push(value),
            _ => left.push(Expr::InList {
                expr: column,
                list: vec![value],
                negated: *op == BinaryOperator::And,
            }),
        }
    }
    left
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Whether a value is a text, or a whole number of 64 bits; None if it is neither. Values of one kind are compared alike one by one and in
/// a list, where others, fractions among them, may give it another type.
pub(super) fn is_text(value: &Expr) -> Option<bool> {
    let whole = |value: &Expr| match value {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<i64>().is_ok(),
            _ => false,
        },
        _ => false,
    };
    match value {
        Expr::Value(of) if matches!(of.value, Value::SingleQuotedString(_)) => Some(true),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => whole(expr).then_some(false),
        value => whole(value).then_some(false),
    }
}

/// The same terms joined as a tree.
pub(super) fn balanced(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
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

    const TABLE: &str = "(SELECT value AS a, nullif(value, 2) AS b, value::double AS d, 't' AS t FROM generate_series(1, 3))";

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
                chain("OR", 2_001, |i| format!("a + {i} = 5")),
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
            (
                chain("OR", 20_000, |i| format!("a = {}", i + 2)),
                ["false", "true", "true"],
            ),
            (
                chain("AND", 20_000, |i| format!("a <> {}", i + 2)),
                ["true", "false", "false"],
            ),
            (
                chain("OR", 99, |i| match i % 3 {
                    0 => format!("t = 'x{i}'"),
                    1 => format!("a = {}", -(i as i64)),
                    _ => format!("d = {i}.5 OR a = 3"),
                }),
                ["false", "false", "true"],
            ),
            // Of 1, NULL and 3.
            (
                chain("OR", 99, |i| format!("b = {}", 3 * i)),
                ["false", "NULL", "true"],
            ),
            (
                chain("AND", 99, |i| format!("b <> {}", 3 * i)),
                ["true", "NULL", "false"],
            ),
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
