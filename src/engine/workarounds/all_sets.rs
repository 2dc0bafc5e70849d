//! `EXCEPT ALL` and `INTERSECT ALL` go by how often a row stands on each side.
//!
//! By the SQL standard `a EXCEPT ALL b` takes as many of equal rows from `a` as `b` has, and `INTERSECT ALL` leaves as many as both have. DataFusion 55.2 takes them
//! all, or leaves them all, without a word. Here equal rows of each side are numbered, and the number is one more key of the join:
//!
//! ```text
//! Projection: a.x
//!   LeftAnti Join: a.x = b.x, n = m          was LeftAnti Join: a.x = b.x
//!     row_number() PARTITION BY a.x AS n             a
//!       a                                            b
//!     row_number() PARTITION BY b.x AS m
//!       b
//! ```
//!
//! Delete when DataFusion counts: `except_all_takes_all_equal_rows` in `engine/tests/upstream.rs` then fails.

use crate::engine::rewrite::plan_up;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Distinct, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder, Projection,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Numbers equal rows on both sides of such an operation.
#[derive(Debug)]
pub(in crate::engine) struct CountEqualRows;

impl AnalyzerRule for CountEqualRows {
    fn name(&self) -> &str {
        "count_equal_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan_up(plan, &mut |plan| match plan {
            LogicalPlan::Join(join) if is_of_all(&join) => numbered(join).map(Transformed::yes),
            plan => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Whether this is how DataFusion plans such an operation. Without ALL the left side is DISTINCT, as it may be here: then ALL changes nothing. Conditions in SQL become
/// joins in which NULL equals NULL behind the analyzer.
fn is_of_all(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftAnti | JoinType::LeftSemi)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && join.on.len() == join.left.schema().fields().len()
        && !matches!(&*join.left, LogicalPlan::Distinct(Distinct::All(_)))
}

fn numbered(join: Join) -> Result<LogicalPlan> {
    let columns = join.left.schema().columns();
    let columns = columns.into_iter().map(Expr::Column).collect();
    let (left, right): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (left, left_number) = with_number(&join.left, left)?;
    let (right, right_number) = with_number(&join.right, right)?;
    let mut on = join.on;
    on.push((left_number, right_number));
    let join = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    let join = Arc::new(LogicalPlan::Join(join));
    Ok(LogicalPlan::Projection(Projection::try_new(columns, join)?))
}

/// The rows with the number that each has among those that are equal to it, and its column.
fn with_number(of: &LogicalPlan, keys: Vec<Expr>) -> Result<(LogicalPlan, Expr)> {
    let number = Expr::from(WindowFunction::new(row_number_udwf(), vec![]));
    let number = number.partition_by(keys).build()?;
    let plan = LogicalPlanBuilder::from(of.clone()).window([number])?;
    let plan = plan.build()?;
    let number = plan.schema().qualified_field(of.schema().fields().len());
    let number = Expr::Column(Column::from(number));
    Ok((plan, number))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn equal_rows_are_taken_one_by_one() {
        const A: &str =
            "(VALUES (1, 'x'), (1, 'x'), (1, 'x'), (2, NULL), (2, NULL), (NULL, NULL)) AS a(i, s)";
        const B: &str = "(VALUES (1, 'x'), (2, NULL), (2, NULL), (2, NULL), (3, 'y')) AS b(j, t)";
        let ask = |sql: &str| ask(&sql.replace("{A}", A).replace("{B}", B)).unwrap();
        for (sql, rows) in [
            (
                "SELECT * FROM {A} EXCEPT ALL SELECT * FROM {B} ORDER BY 1",
                vec!["1 | x", "1 | x", "NULL | NULL"],
            ),
            (
                "SELECT * FROM {B} EXCEPT ALL SELECT * FROM {A} ORDER BY 1",
                vec!["2 | NULL", "3 | y"],
            ),
            (
                "SELECT * FROM {A} INTERSECT ALL SELECT * FROM {B} ORDER BY 1",
                vec!["1 | x", "2 | NULL", "2 | NULL"],
            ),
            (
                "SELECT i FROM {A} INTERSECT ALL SELECT i FROM {A} WHERE i < 2 ORDER BY 1",
                vec!["1", "1", "1"],
            ),
            // Integers beside floats, and columns of one name on both sides.
            (
                "SELECT i FROM {A} EXCEPT ALL SELECT 1.0 ORDER BY 1",
                vec!["1", "1", "2", "2", "NULL"],
            ),
            (
                "SELECT count(*), count(i) FROM (SELECT i, i AS k FROM {A} EXCEPT ALL (SELECT i, i FROM {A} WHERE s = 'x' LIMIT 2))",
                vec!["4 | 3"],
            ),
            // Of three, from left to right; and with a side that is DISTINCT.
            (
                "SELECT i FROM {A} EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 1 ORDER BY 1",
                vec!["1", "2", "2", "NULL"],
            ),
            (
                "(SELECT DISTINCT i FROM {A}) EXCEPT ALL SELECT 2 ORDER BY 1",
                vec!["1", "NULL"],
            ),
            (
                "SELECT i FROM {A} EXCEPT ALL (SELECT DISTINCT i FROM {A}) ORDER BY 1",
                vec!["1", "1", "2"],
            ),
            (
                "SELECT v FROM (VALUES (1), (2)) AS t(v) WHERE v IN (SELECT i FROM {A} EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 1)",
                vec!["2"],
            ),
            (
                "SELECT 0.0 / 0 AS x UNION ALL SELECT 0.0 / 0 EXCEPT ALL SELECT 0.0 / 0",
                vec!["NaN"],
            ),
            // Without ALL each row comes once.
            (
                "SELECT * FROM {A} EXCEPT SELECT * FROM {B}",
                vec!["NULL | NULL"],
            ),
            (
                "SELECT * FROM {A} INTERSECT SELECT * FROM {B} ORDER BY 1",
                vec!["1 | x", "2 | NULL"],
            ),
        ] {
            assert_eq!(ask(sql), rows, "{sql}");
        }
    }
}
