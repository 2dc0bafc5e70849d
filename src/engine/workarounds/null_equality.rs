//! A join whose only condition is `IS NOT DISTINCT FROM` keeps it as a condition until all rules have looked at it.
//!
//! DataFusion 55.2 makes it a key, and says of the whole join that NULL equals NULL in its keys. Other rules then add keys of `=` to that join, whose NULLs
//! meet as well (`ON a.x IS NOT DISTINCT FROM b.x WHERE a.y = b.y`), or put the key into a join in which NULL equals nothing: rows too many or too few without a
//! word. [`crate::engine::logical::null_safe_keys`] makes keys of it that are compared by `=`.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// DataFusion's rule, which changes no join into one in which NULL equals NULL.
#[derive(Debug, Default)]
pub(in crate::engine) struct KeysOfEqualsAlone(ExtractEquijoinPredicate);

impl OptimizerRule for KeysOfEqualsAlone {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !may_equal_nulls(&plan) {
            return self.0.rewrite(plan, config);
        }
        let changed = self.0.rewrite(plan.clone(), config)?;
        let equals_nulls = matches!(&changed.data, LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull);
        Ok(match equals_nulls {
            true => Transformed::no(plan),
            false => changed,
        })
    }
}

/// Whether a join in which NULL equals nothing has such a condition.
fn may_equal_nulls(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Join(join) = plan else {
        return false;
    };
    let is_null_safe = |expr: &Expr| {
        let op = Operator::IsNotDistinctFrom;
        Ok(matches!(expr, Expr::BinaryExpr(BinaryExpr { op: found, .. }) if *found == op))
    };
    let filter = join.filter.as_ref();
    join.null_equality == NullEquality::NullEqualsNothing
        && filter.is_some_and(|filter| filter.exists(is_null_safe).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand: NULL = NULL is not true, NULL IS NOT DISTINCT FROM NULL is. So say PostgreSQL and DuckDB.
    #[test]
    fn equal_and_null_safe_conditions_of_one_join_stay_what_they_are() {
        const T: &str = "(VALUES (1, CAST(NULL AS INT)), (2, 3), (NULL, 4)) AS t(d, b)";
        const U: &str = "(VALUES (1, CAST(NULL AS INT)), (2, 3), (NULL, 4)) AS u(d, b)";
        const W: &str = "(VALUES (1), (2)) AS w(d)";
        const SAME: &str = "(t.d IS NOT DISTINCT FROM u.d)";
        for (sql, rows) in [
            (
                format!("SELECT t.d, t.b FROM {T} JOIN {U} ON {SAME} WHERE u.b = t.b ORDER BY 1"),
                &["2 | 3", "NULL | 4"][..],
            ),
            (
                format!(
                    "SELECT t.d, t.b FROM {T} LEFT JOIN {U} ON {SAME} WHERE u.b = t.b ORDER BY 1"
                ),
                &["2 | 3", "NULL | 4"],
            ),
            (
                format!(
                    "SELECT d, b FROM (SELECT t.d, t.b, u.b AS c FROM {T} JOIN {U} ON {SAME}) WHERE b = c ORDER BY 1"
                ),
                &["2 | 3", "NULL | 4"],
            ),
            (
                format!(
                    "SELECT t.b FROM {T} JOIN {U} ON t.b IS NOT DISTINCT FROM u.b JOIN {W} ON u.d = w.d ORDER BY 1"
                ),
                &["3", "NULL"],
            ),
            (
                format!(
                    "SELECT t.b, w.d FROM {T} LEFT JOIN {U} ON {SAME} JOIN {W} ON u.d = w.d AND (t.b IS NOT DISTINCT FROM u.b) ORDER BY 1"
                ),
                &["3 | 2", "NULL | 1"],
            ),
            (
                format!("SELECT count(*) FROM {T} JOIN {U} ON {SAME}"),
                &["3"],
            ),
            (
                format!(
                    "SELECT t.d FROM {T} WHERE NOT EXISTS (SELECT 1 FROM {U} WHERE {SAME} AND u.b = t.b)"
                ),
                &["1"],
            ),
            (
                format!("SELECT d, b FROM {T} INTERSECT SELECT d, b FROM {U} ORDER BY 1"),
                &["1 | NULL", "2 | 3", "NULL | 4"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }

    #[test]
    fn the_condition_is_a_key_in_the_end() {
        let sql = "SELECT count(*) FROM (VALUES (1), (NULL)) AS t(d) JOIN (VALUES (1), (NULL)) AS u(d) ON t.d IS NOT DISTINCT FROM u.d";
        let plan = ask(&format!("EXPLAIN {sql}")).unwrap().join("\n");
        assert!(
            plan.contains("HashJoinExec") && !plan.contains("NestedLoop"),
            "{plan}"
        );
    }
}
