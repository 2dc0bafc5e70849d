//! A logical optimizer rule: `IS NOT DISTINCT FROM` beside `=` in a join is a key of the join.
//!
//! ```sql
//! SELECT .. FROM slurm_step a JOIN slurm_step b ON a.state = b.state AND a.job_id IS NOT DISTINCT FROM b.job_id
//! ```
//!
//! DataFusion 55.2 compares all keys of a join by `=` or all by `IS NOT DISTINCT FROM`. Of this one it visits every pair with the same state, which over
//! columns of few values does not end. With NULL and its like written out, both are compared by `=`:
//!
//! ```text
//! Join: a.state = b.state, (a.job_id IS NULL) = (b.job_id IS NULL), coalesce(a.job_id, 0) = coalesce(b.job_id, 0)
//! ```
//!
//! Where one side is never NULL it is `=` alone. Where there is no `=` besides, DataFusion says of the join that NULL equals NULL, which
//! [`crate::engine::workarounds::null_equality`] keeps it from.
//!
//! Delete when DataFusion knows such a join: `both_are_keys` then finds them without this rule.

use crate::engine::session::options::Options;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, NullEquality, Result, ScalarValue};
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, ExprSchemable, Join, LogicalPlan, Operator, lit};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Makes keys of these conditions.
#[derive(Debug)]
pub(in crate::engine) struct NullSafeKeys;

impl OptimizerRule for NullSafeKeys {
    fn name(&self) -> &str {
        "null_safe_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else {
            return Ok(Transformed::no(plan));
        };
        let fits = join.null_equality == NullEquality::NullEqualsNothing && !join.null_aware;
        // Without another key every pair of rows would be looked at.
        let is_on = join.on.is_empty() || Options::is_on(&config.options(), self.name());
        if !fits || !is_on {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let Some(filter) = join.filter.take() else {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        };
        let (mut others, before) = (vec![], join.on.len());
        for condition in split_conjunction_owned(filter) {
            match keys(&condition, &join)? {
                Some(keys) => join.on.extend(keys),
                None => others.push(condition),
            }
        }
        join.filter = conjunction(others);
        let changed = join.on.len() > before;
        Ok(Transformed::new_transformed(
            LogicalPlan::Join(join),
            changed,
        ))
    }
}

/// The keys, left and right, that stand for a condition of a join; None if it is no such condition.
fn keys(condition: &Expr, join: &Join) -> Result<Option<Vec<(Expr, Expr)>>> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::IsNotDistinctFrom,
        right,
    }) = condition
    else {
        return Ok(None);
    };
    let (lefts, rights) = (join.left.schema(), join.right.schema());
    let is_of = |expr: &Expr, schema: &DFSchema| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.into_iter().all(|column| schema.has_column(column))
    };
    let (left, right) = match (is_of(left, lefts), is_of(right, rights)) {
        (true, true) => (left.as_ref(), right.as_ref()),
        _ if is_of(left, rights) && is_of(right, lefts) => (right.as_ref(), left.as_ref()),
        _ => return Ok(None),
    };
    if left.is_volatile() || right.is_volatile() {
        return Ok(None);
    }
    if !left.nullable(lefts)? || !right.nullable(rights)? {
        return Ok(Some(vec![(left.clone(), right.clone())]));
    }
    let data_type = left.get_type(lefts)?;
    let Ok(any) = ScalarValue::new_default(&data_type) else {
        return Ok(None);
    };
    if any.is_null() || data_type.is_nested() || data_type != right.get_type(rights)? {
        return Ok(None);
    }
    let value = |of: &Expr| coalesce(vec![of.clone(), lit(any.clone())]);
    Ok(Some(vec![
        (left.clone().is_null(), right.clone().is_null()),
        (value(left), value(right)),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const TABLES: &str = "WITH a(i, s, k) AS (VALUES (1, 'x', 0), (2, 'x', NULL), (3, 'y', 7), (4, NULL, NULL), (5, 'y', NULL)), \
        b(j, s, k) AS (VALUES (1, 'x', NULL), (2, 'x', 0), (3, 'y', 0), (4, NULL, NULL), (5, 'x', NULL))";

    /// By hand: 0 is not NULL, and NULL of s meets nothing.
    #[test]
    fn null_meets_null_and_no_other_value() {
        let on = "a.s = b.s AND a.k IS NOT DISTINCT FROM b.k";
        for (join, rows) in [
            ("JOIN", vec!["1 | 2", "2 | 1", "2 | 5"]),
            (
                "LEFT JOIN",
                vec![
                    "1 | 2", "2 | 1", "2 | 5", "3 | NULL", "4 | NULL", "5 | NULL",
                ],
            ),
            (
                "RIGHT JOIN",
                vec!["1 | 2", "2 | 1", "2 | 5", "NULL | 3", "NULL | 4"],
            ),
            (
                "FULL JOIN",
                vec![
                    "1 | 2", "2 | 1", "2 | 5", "3 | NULL", "4 | NULL", "5 | NULL", "NULL | 3",
                    "NULL | 4",
                ],
            ),
        ] {
            let sql = format!("{TABLES} SELECT a.i, b.j FROM a {join} b ON {on} ORDER BY 1, 2");
            assert_eq!(ask(&sql).unwrap(), rows, "{join}");
        }
        for (exists, rows) in [
            ("EXISTS", ["1", "2"].as_slice()),
            ("NOT EXISTS", &["3", "4", "5"]),
        ] {
            let sql = format!(
                "{TABLES} SELECT i FROM a WHERE {exists} (SELECT 1 FROM b WHERE {on}) ORDER BY 1"
            );
            assert_eq!(ask(&sql).unwrap(), rows, "{exists}");
        }
    }

    #[test]
    fn both_are_keys() {
        let plan = |sql: &str| ask(&format!("EXPLAIN {TABLES} {sql}")).unwrap().join("\n");
        let sql = "SELECT count(*) FROM a JOIN b ON a.s = b.s AND a.k IS NOT DISTINCT FROM b.k";
        let found = plan(sql);
        assert!(!found.contains("filter="), "{found}");
        // Over what is never NULL no NULL is written out.
        let never = "SELECT count(*) FROM a JOIN b ON a.s = b.s AND a.i IS NOT DISTINCT FROM coalesce(b.k, 5)";
        let found = plan(never);
        assert!(
            !found.contains("filter=") && !found.contains("IS NULL"),
            "{found}"
        );
    }
}
