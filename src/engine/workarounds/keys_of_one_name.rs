//! `SELECT CAST(id AS VARCHAR), id, count(DISTINCT v) .. GROUP BY 1, 2` is planned without the rules that name its keys anew.
//!
//! The name of a cast is that of its argument, so that the two keys have one name. Some rules of DataFusion 55.2 put a projection above a grouping
//! that has all keys with their names, and the statement is refused: "Projections require unique expression names". The rule that pushes filters down takes the keys by
//! these names, and puts one in the place of the other: `WHERE CAST(g AS DOUBLE) > 1.2` above `SELECT CAST(d AS BIGINT) AS g, d .. GROUP BY 1, 2` kept d = 1.5. A filter
//! above two columns of one name stays where it is.

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result, TableReference};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::HashSet;
use std::sync::Arc;

/// The rules of DataFusion that do so.
const RULES: [&str; 3] = [
    "single_distinct_aggregation_to_group_by",
    "eliminate_group_by_constant",
    "push_down_filter",
];

/// One of these rules, which leaves groupings with two keys of one name alone, and filters above two such columns.
#[derive(Debug)]
struct KeysOfOneName(Arc<dyn OptimizerRule + Send + Sync>);

/// Puts them in the place of DataFusion's.
pub(in crate::engine) fn correct(rules: &mut [Arc<dyn OptimizerRule + Send + Sync>]) {
    for rule in rules {
        if RULES.contains(&rule.name()) {
            *rule = Arc::new(KeysOfOneName(rule.clone()));
        }
    }
}

impl OptimizerRule for KeysOfOneName {
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
        let mut names = HashSet::new();
        let are_told_apart = match &plan {
            LogicalPlan::Aggregate(aggregate) => {
                let mut keys = aggregate.group_expr.iter();
                keys.all(|key| names.insert(key.schema_name().to_string()))
            }
            // Only the name of an expression has a dot and no table.
            LogicalPlan::Filter(filter) if filter.input.schema().iter().any(is_expression) => {
                let columns = filter.input.schema().iter();
                let mut columns = columns.map(|column| Column::from(column).flat_name());
                columns.all(|name| names.insert(name))
            }
            _ => true,
        };
        match are_told_apart {
            true => self.0.rewrite(plan, config),
            false => Ok(Transformed::no(plan)),
        }
    }
}

fn is_expression((table, field): (Option<&TableReference>, &FieldRef)) -> bool {
    table.is_none() && field.name().contains('.')
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_filter_is_that_of_its_key() {
        const T: &str = "(VALUES (1.5), (2.5)) AS t(d)";
        for (sql, rows) in [
            (
                "SELECT g, d FROM (SELECT trunc(d)::BIGINT AS x, CAST(d AS BIGINT) AS g, d FROM {T} GROUP BY 1, 2, 3) WHERE CAST(g AS DOUBLE) > 1.2",
                "2 | 2.5",
            ),
            (
                "SELECT g, d FROM (SELECT CAST(d AS BIGINT) AS g, d FROM {T} GROUP BY 1, 2) WHERE CAST(g AS DOUBLE) > 1.2",
                "2 | 2.5",
            ),
            (
                "SELECT g, d FROM (SELECT d, CAST(d AS BIGINT) AS g FROM {T} GROUP BY 1, 2) WHERE g = 1",
                "1 | 1.5",
            ),
            (
                "SELECT g, d FROM (SELECT d, CAST(d AS BIGINT) AS g FROM {T} GROUP BY 1, 2) WHERE d < 2 AND g < 5",
                "1 | 1.5",
            ),
            (
                "SELECT CAST(d AS BIGINT) AS g, d FROM {T} GROUP BY CAST(d AS BIGINT), d HAVING CAST(d AS BIGINT) = 2",
                "2 | 2.5",
            ),
            (
                "SELECT d FROM (SELECT d, CAST(d AS BIGINT) FROM {T} GROUP BY 1, 2) WHERE d > 2.2",
                "2.5",
            ),
            (
                "SELECT d FROM (SELECT CAST(d AS BIGINT), d FROM {T}) WHERE d > 2.2",
                "2.5",
            ),
        ] {
            assert_eq!(ask(&sql.replace("{T}", T)).unwrap(), [rows], "{sql}");
        }
        let none = "SELECT g FROM (SELECT CAST(i AS DOUBLE) AS g, i FROM (VALUES (1), (2)) AS t(i) GROUP BY 1, 2) WHERE g > 1.0 AND g < -1.0";
        assert_eq!(ask(none).unwrap(), [""; 0]);
    }
}
