//! Keys of ROLLUP, CUBE and GROUPING SETS that are expressions become columns of a projection below.
//!
//! ```text
//! Aggregate: groupBy=[[ROLLUP (date_trunc('month', t.d), t.a)]]
//! Aggregate: groupBy=[[ROLLUP (date_trunc('month', t.d), t.a)]]        both columns
//!   Projection: t.d, t.a, date_trunc('month', t.d)
//! ```
//!
//! DataFusion 55.2 gives the whole of `ROLLUP (a, b + 1)` one name when it rewrites it, so that a key that a rewrite changes is not found above, nor by `grouping(b + 1)`.

use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use std::collections::HashMap;
use std::sync::Arc;

/// The same plan with these keys as columns. Must run before anything else changes the plan.
pub(in crate::engine) fn as_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= matches!(plan, LogicalPlan::Aggregate(of) if has_expressions(of));
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    if !found {
        return Ok(plan);
    }
    plan_up(plan, &mut |plan| match plan {
        LogicalPlan::Aggregate(of) if has_expressions(&of) => Ok(match above_projection(&of) {
            Ok(above) => Transformed::yes(LogicalPlan::Aggregate(above)),
            // A cast has the name of its argument, which may be a column beside it.
            Err(_) => Transformed::no(LogicalPlan::Aggregate(of)),
        }),
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

/// Whether it groups by sets of keys, of which one is no column. One that uses rows around it stays where it is.
fn has_expressions(aggregate: &Aggregate) -> bool {
    let [Expr::GroupingSet(sets)] = &aggregate.group_expr[..] else {
        return false;
    };
    let keys = sets.distinct_expr();
    let is_column = |key: &&Expr| matches!(key, Expr::Column(_));
    !keys.iter().all(is_column) && !keys.iter().any(|key| key.contains_outer())
}

fn above_projection(aggregate: &Aggregate) -> Result<Aggregate> {
    let inputs = aggregate.input.schema().iter();
    let mut columns: Vec<_> = inputs.map(|at| Expr::Column(at.into())).collect();
    let mut known: HashMap<Expr, Column> = HashMap::new();
    let groups = aggregate.group_expr.iter().cloned().map(|sets| {
        let sets = sets.map_children(|key| {
            if let Expr::Column(_) = key {
                return Ok(Transformed::no(key));
            }
            let name = key.schema_name().to_string();
            let column = known.entry(key).or_insert_with_key(|key| {
                columns.push(key.clone().alias(&name));
                Column::new_unqualified(name)
            });
            Ok(Transformed::yes(Expr::Column(column.clone())))
        });
        sets.data()
    });
    let groups = groups.collect::<Result<Vec<_>>>()?;
    let names = NamePreserver::new_for_projection();
    let functions = aggregate.aggr_expr.iter().cloned().map(|function| {
        let name = names.save(&function);
        let function = expr_up(function, &mut |expr| Ok(of_keys(expr, &known)))?;
        Ok(name.restore(function.data))
    });
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let input = LogicalPlan::Projection(Projection::try_new(columns, aggregate.input.clone())?);
    Aggregate::try_new(Arc::new(input), groups, functions)
}

/// `grouping(key)` of the columns.
fn of_keys(expr: Expr, known: &HashMap<Expr, Column>) -> Transformed<Expr> {
    match expr {
        Expr::AggregateFunction(mut function) if function.func.name() == "grouping" => {
            for argument in &mut function.params.args {
                if let Some(column) = known.get(argument) {
                    *argument = Expr::Column(column.clone());
                }
            }
            Transformed::yes(Expr::AggregateFunction(function))
        }
        expr => Transformed::no(expr),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn keys_that_are_expressions_are_found_above() {
        const T: &str = "(VALUES (DATE '2026-01-31', 1, '7'), (DATE '2026-01-31', 2, NULL), (DATE '2026-02-01', 1, '8')) AS t(d, a, s)";
        for (sql, rows) in [
            (
                "SELECT d + 1, count(*) FROM {T} GROUP BY ROLLUP (d + 1)",
                vec!["2026-02-01 | 2", "2026-02-02 | 1", "NULL | 3"],
            ),
            (
                "SELECT d + 1 AS x, grouping(d + 1) AS g, grouping(a), count(*) FROM {T} GROUP BY CUBE (d + 1, a) HAVING grouping(a) = 1",
                vec![
                    "2026-02-01 | 0 | 1 | 2",
                    "2026-02-02 | 0 | 1 | 1",
                    "NULL | 1 | 1 | 3",
                ],
            ),
            (
                "SELECT d - a, count(*) FROM {T} WHERE a = 1 GROUP BY ROLLUP (d - a)",
                vec!["2026-01-30 | 1", "2026-01-31 | 1", "NULL | 2"],
            ),
            (
                "SELECT a::bigint unsigned % 2, max(s) FROM {T} GROUP BY GROUPING SETS ((a::bigint unsigned % 2), ())",
                vec!["0 | NULL", "1 | 8", "NULL | 8"],
            ),
            (
                "SELECT s::int, count(*) FROM (SELECT s FROM {T}) GROUP BY ROLLUP (s::int)",
                vec!["7 | 1", "8 | 1", "NULL | 1", "NULL | 3"],
            ),
            (
                "SELECT s::int, count(*), grouping(s::int) FROM {T} GROUP BY ROLLUP (s::int)",
                vec!["7 | 1 | 0", "8 | 1 | 0", "NULL | 1 | 0", "NULL | 3 | 1"],
            ),
            (
                "SELECT NOT (s NOT LIKE '%'), count(*) FROM {T} GROUP BY CUBE (NOT (s NOT LIKE '%'))",
                vec!["NULL | 1", "NULL | 3", "true | 2"],
            ),
            (
                "SELECT d::timestamp - d > INTERVAL '1 day' AS late, (SELECT max(a + 1) FROM {T} GROUP BY ROLLUP (a + 1) ORDER BY 1 DESC LIMIT 1) AS n FROM {T} GROUP BY ROLLUP (d::timestamp - d > INTERVAL '1 day')",
                vec!["NULL | 3", "false | 3"],
            ),
        ] {
            let mut answer = ask(&sql.replace("{T}", T)).unwrap_or_else(|e| panic!("{sql}: {e}"));
            answer.sort();
            assert_eq!(answer, rows, "{sql}");
        }
    }
}
