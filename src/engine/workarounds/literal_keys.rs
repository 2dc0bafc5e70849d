//! A logical optimizer rule: a key of an inner join that is compared with a constant is a condition of the join.
//!
//! Where one side of `ON (a.end_time IS NULL) = (b.end_time IS NULL)` becomes known while planning, as where one side of a UNION is ruled out and b.end_time is a constant then, DataFusion 55.2 keeps `a.end_time IS NULL = false` as a
//! key. Its `EliminateCrossJoin` then looks for keys with a column on each side, and drops this one. So the rule stands before that.
//!
//! Delete when `EliminateCrossJoin` keeps such keys: `datafusion_alone_drops_them` then fails.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, binary_expr};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Makes conditions of them.
#[derive(Debug)]
struct LiteralKeys;

/// Puts the rule before the one that drops such keys.
pub(in crate::engine) fn keep(rules: &mut Vec<Arc<dyn OptimizerRule + Send + Sync>>) {
    let dropped = EliminateCrossJoin::new();
    let at = rules.iter().position(|rule| rule.name() == dropped.name());
    rules.insert(at.unwrap_or_default(), Arc::new(LiteralKeys));
}

impl OptimizerRule for LiteralKeys {
    fn name(&self) -> &str {
        "literal_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else {
            return Ok(Transformed::no(plan));
        };
        let is_key =
            |(left, right): &(Expr, Expr)| left.any_column_refs() && right.any_column_refs();
        if join.join_type != JoinType::Inner || join.on.iter().all(is_key) {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let equal = match join.null_equality {
            NullEquality::NullEqualsNothing => Operator::Eq,
            NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
        };
        let (keys, literals): (Vec<_>, Vec<_>) = join.on.into_iter().partition(is_key);
        join.on = keys;
        let conditions = literals.into_iter();
        let conditions = conditions.map(|(left, right)| binary_expr(left, equal, right));
        join.filter = conjunction(conditions.chain(join.filter));
        Ok(Transformed::yes(LogicalPlan::Join(join)))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::runtime;
    use datafusion::prelude::SessionContext;

    /// The first row of the union is ruled out, and of the other y is not NULL. By hand; so does DuckDB.
    const JOINED: &str = "SELECT t.v FROM (VALUES (0.0e0), (NULL), (5.0e0)) AS t(v)
        JOIN (SELECT 9e15 AS x, NULL::double AS y UNION ALL SELECT -1e15, 0.0e0) AS w ON (t.v IS NULL) = (w.y IS NULL) WHERE w.x <= -3";

    #[test]
    fn a_key_that_is_compared_with_a_constant_stays() {
        assert_eq!(
            ask(&format!("{JOINED} ORDER BY t.v")).unwrap(),
            ["0.0", "5.0"]
        );
        // Found by random SQL (13001, 2374).
        let sql = "SELECT t.v FROM (VALUES (0.0e0), (NULL), (5.0e0)) AS t(v)
            JOIN (SELECT 9e15 AS x, NULL::double AS y UNION ALL SELECT -1e15, -0.0::double) AS w ON t.v IS NOT DISTINCT FROM w.y WHERE w.x <= -3";
        assert_eq!(ask(sql).unwrap(), ["0.0"]);
    }

    #[test]
    fn datafusion_alone_drops_them() {
        runtime(Some(2)).unwrap().block_on(async {
            let asked = SessionContext::new().sql(JOINED).await.unwrap();
            let rows = asked.collect().await.unwrap();
            let rows: usize = rows.iter().map(|batch| batch.num_rows()).sum();
            assert_eq!(rows, 3);
        });
    }
}
