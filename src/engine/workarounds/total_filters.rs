//! `SELECT * FROM (SELECT 'a' AS app, count(*) AS n FROM t) WHERE app = 'b'` has no row.
//!
//! DataFusion 55.2 takes a condition on keys of a grouping below it, and one without columns for one on keys. Below a total, whose only group is there
//! without rows too, such a condition changes the total and leaves out no row: the answer is `a, 0`. It comes about where a condition meets a constant
//! of a subquery, as in the halves of a UNION ALL. The same holds for grouping sets, of which one may be empty.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// DataFusion's rule, which leaves conditions above totals.
#[derive(Debug, Default)]
pub(in crate::engine) struct TotalFilters(PushDownFilter);

impl OptimizerRule for TotalFilters {
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
        if let LogicalPlan::Filter(filter) = &plan
            && let LogicalPlan::Aggregate(aggregate) = filter.input.as_ref()
        {
            let keys = &aggregate.group_expr;
            let is_set = |key: &Expr| matches!(key, Expr::GroupingSet(_));
            // Of these no condition on keys is taken below them either.
            if keys.is_empty() || keys.iter().any(is_set) {
                return Ok(Transformed::no(plan));
            }
        }
        self.0.rewrite(plan, config)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    const TOTAL: &str = "SELECT * FROM (SELECT 'a' AS app, count(*) AS n FROM (VALUES (1)) AS t(x)) AS u WHERE app = 'b'";

    #[test]
    fn a_condition_on_a_constant_beside_a_total_leaves_out_the_row() {
        let halves = "SELECT * FROM (SELECT app, n FROM (VALUES ('b', 7)) AS v(app, n) UNION ALL \
             SELECT CAST(NULL AS VARCHAR), c.n FROM (SELECT count(*) AS n FROM (VALUES (1)) AS t(x)) AS c CROSS JOIN \
               (SELECT max(x) AS m FROM (VALUES (1)) AS t(x)) AS d) AS u WHERE app = 'b'";
        let sets = "SELECT * FROM (SELECT 'a' AS app, k, count(*) AS n FROM (VALUES (1)) AS t(k) GROUP BY ROLLUP (k)) AS u WHERE app = 'b'";
        for (sql, expected) in [(TOTAL, &[][..]), (halves, &["b | 7"]), (sets, &[])] {
            assert_eq!(ask(sql).unwrap(), expected, "{sql}");
        }
        // A condition on keys still goes below, and one that holds leaves all as it is.
        for (sql, expected) in [
            (
                "SELECT k, n FROM (SELECT k, count(*) AS n FROM (VALUES (1), (1), (2)) AS t(k) GROUP BY k) AS u WHERE k = 1",
                "1 | 2",
            ),
            (
                "SELECT app, n FROM (SELECT 'a' AS app, count(*) AS n FROM (VALUES (1), (2)) AS t(x)) AS u WHERE app = 'a'",
                "a | 2",
            ),
            (
                "SELECT app, n FROM (SELECT 'a' AS app, count(*) AS n FROM (VALUES (1), (2)) AS t(x)) AS u WHERE n > 1",
                "a | 2",
            ),
        ] {
            assert_eq!(ask(sql).unwrap(), [expected], "{sql}");
        }
    }

    #[test]
    fn datafusion_alone_takes_it_below() {
        let alone = block_on(async { plain(2).sql(TOTAL).await?.collect().await });
        assert_eq!(rows(&alone.unwrap()), ["a | 0"]);
    }
}
