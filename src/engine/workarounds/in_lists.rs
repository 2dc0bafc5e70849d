//! A logical rule: two lists for one expression stay two.
//!
//! DataFusion 55.2 makes one of `x IN (..) AND x IN (..)`, of `x IN (..) AND x NOT IN (..)`, and of `x NOT IN (..) OR x NOT IN (..)`, by comparing the
//! terms of the lists as they are written. All three are wrong without a word (its pull request 24258):
//!
//! ```sql
//! WHERE a IN (1, 5) AND a NOT IN (2, NULL)      -- keeps 1 and 5; no row is right
//! WHERE a IN (b, 7) AND a IN (c, 8)             -- keeps no row where a, b and c are equal
//! WHERE a NOT IN (1, 5) OR a NOT IN (2, 6)      -- keeps rows whose a is NULL
//! ```
//!
//! A NULL of a list becomes a term beside it, and where two lists would be made one wrongly, the second is one for [`OPTIMIZER_BARRIER`] of the
//! expression. Conditions of a WHERE whose lists hold values alone stay as they are: there false is as good as NULL, and rows are
//! pruned by them.
//!
//! Delete when DataFusion compares values: `datafusion_alone_is_wrong` then fails.

use super::functional_dependencies::OPTIMIZER_BARRIER;
use crate::engine::logical::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{BinaryExpr, InList};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Operator, binary_expr, lit};
use datafusion::optimizer::AnalyzerRule;

/// Keeps lists apart. Must run after types are coerced.
#[derive(Debug)]
pub(in crate::engine) struct SeparateLists;

impl AnalyzerRule for SeparateLists {
    fn name(&self) -> &str {
        "separate_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan_up(plan, &mut |plan| match plan {
            LogicalPlan::Filter(filter) => in_filter(filter),
            plan => kept_names::map_expressions(plan, &mut separate),
        })
        .data()
    }
}

/// A WHERE or HAVING: of its conditions false and NULL are alike.
fn in_filter(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let mut conditions: Vec<Expr> = vec![];
    for condition in split_conjunction_owned(filter.predicate) {
        let separated = match condition {
            Expr::InList(list) => match without_null(list) {
                // With a NULL in its list, NOT IN is never true.
                (list, true) if list.negated => Transformed::yes(lit(false)),
                (list, had_null) => Transformed::new_transformed(Expr::InList(list), had_null),
            },
            condition => separate(condition)?,
        };
        changed |= separated.transformed;
        let mut condition = separated.data;
        let others = conditions.iter().filter_map(as_list);
        if let Some(list) = as_list(&condition)
            && others
                .filter(|other| may_become_one(other.of, list.of))
                .any(|other| !(other.is_of_values && list.is_of_values))
        {
            condition = hidden(condition)?;
            changed = true;
        }
        conditions.push(condition);
    }
    let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
    let filter = LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?);
    Ok(Transformed::new_transformed(filter, changed))
}

/// The same value, of whose lists no two are made one.
fn separate(expr: Expr) -> Result<Transformed<Expr>> {
    expr_up(expr, &mut |expr| match expr {
        Expr::InList(list) => Ok(match without_null(list) {
            (list, false) => Transformed::no(Expr::InList(list)),
            (list, true) => {
                let null = lit(ScalarValue::Boolean(None));
                let op = match list.negated {
                    true => Operator::And,
                    false => Operator::Or,
                };
                Transformed::yes(binary_expr(Expr::InList(list), op, null))
            }
        }),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            Ok(match becomes_one_wrongly(&left, op, &right) {
                true => Transformed::yes(binary_expr(*left, op, hidden(*right)?)),
                false => Transformed::no(binary_expr(*left, op, *right)),
            })
        }
        expr => Ok(Transformed::no(expr)),
    })
}

/// A list without its NULLs, and whether there were any.
fn without_null(mut list: InList) -> (InList, bool) {
    let terms = list.list.len();
    list.list
        .retain(|term| !literal(term).is_some_and(ScalarValue::is_null));
    let had_null = list.list.len() < terms;
    (list, had_null)
}

/// Whether DataFusion would make one list of two, other than by putting them together.
fn becomes_one_wrongly(left: &Expr, op: Operator, right: &Expr) -> bool {
    if !matches!(op, Operator::And | Operator::Or) {
        return false;
    }
    // Of a long chain of terms the right side is one term.
    let Some(right) = as_list(right) else {
        return false;
    };
    if op == Operator::Or && !right.negated {
        return false;
    }
    as_list(left).is_some_and(|left| {
        let put_together = op == Operator::And && left.negated && right.negated;
        let stays = op == Operator::Or && !left.negated;
        may_become_one(left.of, right.of) && !put_together && !stays
    })
}

/// Whether two expressions are one, or may become one while DataFusion simplifies them: it takes casts from a column to the values beside it.
fn may_become_one(left: &Expr, right: &Expr) -> bool {
    left == right || left.column_refs() == right.column_refs()
}

/// The value of a constant that may still have to be cast.
fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match below_casts(expr) {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn below_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast) => below_casts(&cast.expr),
        expr => expr,
    }
}

/// `of [NOT] IN (..)`.
struct List<'a> {
    of: &'a Expr,
    negated: bool,
    is_of_values: bool,
}

/// What DataFusion takes, or makes, a list of; None if it is anything else.
fn as_list(expr: &Expr) -> Option<List<'_>> {
    match expr {
        Expr::InList(list) => Some(List {
            of: &list.expr,
            negated: list.negated,
            is_of_values: (list.list.iter()).all(|term| literal(term).is_some()),
        }),
        Expr::Not(of) => as_list(of).map(|list| List {
            negated: !list.negated,
            ..list
        }),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let right = match op {
                Operator::Or => as_list(right).or_else(|| as_term(right)),
                Operator::And => as_list(right),
                _ => None,
            }?;
            let left = match op {
                Operator::Or => as_list(left).or_else(|| as_term(left)),
                _ => as_list(left),
            }?;
            let negated = *op == Operator::And;
            let is_one = may_become_one(left.of, right.of)
                && left.negated == negated
                && right.negated == negated;
            is_one.then_some(List {
                is_of_values: left.is_of_values && right.is_of_values,
                ..left
            })
        }
        _ => None,
    }
}

/// `column = value`: a list of one, beside others.
fn as_term(expr: &Expr) -> Option<List<'_>> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = expr
    else {
        return None;
    };
    let of = match (below_casts(left), below_casts(right)) {
        (Expr::Column(_), Expr::Literal(..)) => left,
        (Expr::Literal(..), Expr::Column(_)) => right,
        _ => return None,
    };
    Some(List {
        of,
        negated: false,
        is_of_values: true,
    })
}

/// The same, for another expression of the same value.
fn hidden(list: Expr) -> Result<Expr> {
    let Some(of) = as_list(&list).map(|list| list.of.clone()) else {
        return Ok(list);
    };
    let same = OPTIMIZER_BARRIER.call(vec![of.clone()]);
    list.transform_down(|expr| match expr == of {
        true => Ok(Transformed::new(
            same.clone(),
            true,
            TreeNodeRecursion::Jump,
        )),
        false => Ok(Transformed::no(expr)),
    })
    .data()
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::rows;
    use crate::engine::{Engine, EngineOptions, runtime};
    use datafusion::prelude::SessionContext;

    /// Conditions over a, b and c.
    const CONDITIONS: &[&str] = &[
        "a IN (1, 5) AND a NOT IN (2, NULL)",
        "a IN (1, 5, 7, 8, 9) AND a NOT IN (2, 6, NULL)",
        "a NOT IN (2, 6, NULL) AND a IN (1, 5, 7, 8, 9)",
        "a IN (1, 5) AND a NOT IN (2, nullif(1, 1))",
        "a IN (b, 7) AND a IN (c, 8)",
        "a IN (b, 7, 9, 10, 11) AND a IN (c, 8, 12, 13, 14)",
        "a IN (1, 7) AND a NOT IN (c, 8)",
        "a NOT IN (1, 5) OR a NOT IN (2, 6)",
        "NOT (a IN (1, 5, 7, 8, 9) AND a IN (2, 6, 12, 13, 14))",
        "NOT ((a = 1 OR a = 5) AND (a = 2 OR a = 6))",
        "(a <> 1 AND a <> 5) OR (a <> 2 AND a <> 6)",
        "a IN (1, 2, NULL)",
        "a NOT IN (1, NULL)",
        "NOT (a IN (1, NULL) AND a IN (1, 2))",
        "a IN (NULL) OR b = 1",
        "a IN (1, 2, 3, 4, 5) AND a IN (2, 3, 4, 5, 6) AND a NOT IN (3, 4)",
        "a + 0 IN (1, 2) AND a + 0 IN (c, 2)",
        "a IN (1, 5) AND a NOT IN (2, CAST(NULL AS BIGINT))",
        "a IN (1, 5) AND CAST(a AS INTEGER) NOT IN (2, NULL)",
        "a IN (1, 5) AND CAST(a AS INTEGER) NOT IN (2, CAST(NULL AS INTEGER))",
        "a IN (1) AND CAST(a AS INTEGER) NOT IN (2, nullif(1, 1))",
        "NOT ((CAST(a AS INTEGER) = 1 OR CAST(a AS INTEGER) = 5) AND (a = 2 OR a = 6))",
    ];

    /// The rows that they are asked of, of numbers from 1 to 6, and NULL.
    fn table() -> Vec<[Option<i64>; 3]> {
        let numbers = || [None, Some(1), Some(2), Some(5), Some(6)].into_iter();
        let rows = numbers().flat_map(|a| numbers().map(move |b| [a, b, a.filter(|a| *a != 5)]));
        rows.collect()
    }

    /// `x [NOT] IN (..)` as SQL defines it.
    fn is_in(x: Option<i64>, list: &[Option<i64>]) -> Option<bool> {
        let equal = list.iter().map(|y| Some(x? == (*y)?));
        equal.fold(Some(false), or)
    }

    fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
        match (a, b) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }
    }

    fn not(a: Option<bool>) -> Option<bool> {
        a.map(|a| !a)
    }

    fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
        not(or(not(a), not(b)))
    }

    /// The conditions again, by hand.
    fn by_hand(number: usize, [a, b, c]: [Option<i64>; 3]) -> Option<bool> {
        let n = Some;
        let a_in = |list: &[Option<i64>]| is_in(a, list);
        let not_in = |list: &[Option<i64>]| not(is_in(a, list));
        let (long, other) = (
            [n(1), n(5), n(7), n(8), n(9)],
            [n(2), n(6), n(12), n(13), n(14)],
        );
        match number {
            0 | 3 => and(a_in(&[n(1), n(5)]), not_in(&[n(2), None])),
            1 | 2 => and(a_in(&long), not_in(&[n(2), n(6), None])),
            4 => and(a_in(&[b, n(7)]), a_in(&[c, n(8)])),
            5 => and(
                a_in(&[b, n(7), n(9), n(10), n(11)]),
                a_in(&[c, n(8), n(12), n(13), n(14)]),
            ),
            6 => and(a_in(&[n(1), n(7)]), not_in(&[c, n(8)])),
            7 | 10 => or(not_in(&[n(1), n(5)]), not_in(&[n(2), n(6)])),
            8 => not(and(a_in(&long), a_in(&other))),
            9 => not(and(a_in(&[n(1), n(5)]), a_in(&[n(2), n(6)]))),
            11 => a_in(&[n(1), n(2), None]),
            12 => not_in(&[n(1), None]),
            13 => not(and(a_in(&[n(1), None]), a_in(&[n(1), n(2)]))),
            14 => or(a_in(&[None]), b.map(|b| b == 1)),
            15 => and(
                and(
                    a_in(&[n(1), n(2), n(3), n(4), n(5)]),
                    a_in(&[n(2), n(3), n(4), n(5), n(6)]),
                ),
                not_in(&[n(3), n(4)]),
            ),
            16 => and(a_in(&[n(1), n(2)]), a_in(&[c, n(2)])),
            17..=19 => and(a_in(&[n(1), n(5)]), not_in(&[n(2), None])),
            20 => and(a_in(&[n(1)]), not_in(&[n(2), None])),
            _ => not(and(a_in(&[n(1), n(5)]), a_in(&[n(2), n(6)]))),
        }
    }

    /// The table, with a number of each row.
    fn values() -> String {
        let show = |x: Option<i64>| x.map_or("NULL".to_string(), |x| x.to_string());
        let table = table();
        let rows = table
            .iter()
            .enumerate()
            .map(|(at, [a, b, c])| format!("({at}, {}, {}, {})", show(*a), show(*b), show(*c)));
        format!(
            "(VALUES {}) AS t(id, a, b, c)",
            rows.collect::<Vec<_>>().join(", ")
        )
    }

    #[test]
    fn two_lists_have_the_values_of_sql_in_a_filter_and_as_a_value() {
        runtime(Some(2)).unwrap().block_on(async {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            let ask =
                async |sql: &str| rows(&engine.run(sql).await.unwrap().collect().await.unwrap());
            for (number, condition) in CONDITIONS.iter().enumerate() {
                let right: Vec<Option<bool>> = table()
                    .into_iter()
                    .map(|row| by_hand(number, row))
                    .collect();
                let kept = right
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| **value == Some(true));
                let kept: Vec<String> = kept.map(|(at, _)| at.to_string()).collect();
                let sql = format!("SELECT id FROM {} WHERE {condition} ORDER BY id", values());
                assert_eq!(ask(&sql).await, kept, "{condition}");
                let shown = right
                    .iter()
                    .map(|value| value.map_or("".into(), |v| v.to_string()));
                let sql = format!(
                    "SELECT coalesce(({condition})::text, '') FROM {} ORDER BY id",
                    values()
                );
                assert_eq!(
                    ask(&sql).await,
                    shown.collect::<Vec<String>>(),
                    "{condition}"
                );
            }
        });
    }

    #[test]
    fn datafusion_alone_is_wrong() {
        runtime(Some(2)).unwrap().block_on(async {
            let context = SessionContext::new();
            for condition in [CONDITIONS[0], CONDITIONS[4], CONDITIONS[7]] {
                let number = CONDITIONS.iter().position(|one| one == &condition).unwrap();
                let right = table()
                    .into_iter()
                    .filter(|row| by_hand(number, *row) == Some(true));
                let sql = format!("SELECT id FROM {} WHERE {condition}", values());
                let found = context.sql(&sql).await.unwrap().count().await.unwrap();
                assert_ne!(found, right.count(), "{condition}");
            }
        });
    }
}
