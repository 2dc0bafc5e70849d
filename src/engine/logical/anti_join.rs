//! A logical optimizer rule: an outer join of which only the rows are kept that met no row is an anti join.
//!
//! ```sql
//! SELECT j.* FROM slurm_job j LEFT JOIN darshan_log l ON l.job_id = j.job_id WHERE l.job_id IS NULL
//! ```
//!
//! DataFusion 55.2 makes all pairs first and then throws them away, which over columns of few values does not end.
//!
//! ```text
//! Projection: j.job_id, .., NULL AS l.job_id, ..        was Filter: l.job_id IS NULL
//!   LeftAnti Join: j.job_id = l.job_id                     Left Join: j.job_id = l.job_id
//! ```
//!
//! A row that was met has no NULL in a key that is compared by `=`, nor in a column that has no NULLs anyway: where one of these is NULL,
//! no row was met. What else the filter says stays above.
//!
//! Delete when DataFusion has such a rule: `only_what_met_no_row_is_an_anti_join` then finds one without ours.

use crate::engine::session::options::Options;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality, Result, ScalarValue};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Expr, Filter, Join, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Puts an anti join in the place of an outer join below such a filter.
#[derive(Debug)]
pub(in crate::engine) struct OuterToAnti;

impl OptimizerRule for OuterToAnti {
    fn name(&self) -> &str {
        "outer_to_anti"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else {
            return Ok(Transformed::no(plan));
        };
        if !Options::is_on(&config.options(), self.name()) {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        }
        let conditions = split_conjunction(&filter.predicate);
        for (i, condition) in conditions.iter().enumerate() {
            let Expr::IsNull(of) = condition else {
                continue;
            };
            let Some(column) = of.try_as_col() else {
                continue;
            };
            if let Some(plan) = without_met_rows(&filter.input, column)? {
                let others = conditions
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != i);
                let others = conjunction(others.map(|(_, other)| (*other).clone()));
                let plan = match others {
                    Some(others) => LogicalPlan::Filter(Filter::try_new(others, Arc::new(plan))?),
                    None => plan,
                };
                return Ok(Transformed::yes(plan));
            }
        }
        Ok(Transformed::no(LogicalPlan::Filter(filter)))
    }
}

/// The plan with an anti join for an outer join, below projections perhaps, of which only rows with NULL in this column are wanted.
fn without_met_rows(plan: &LogicalPlan, column: &Column) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let Ok(at) = projection.schema.index_of_column(column) else {
                return Ok(None);
            };
            let Expr::Column(column) = projection.expr[at].clone().unalias() else {
                return Ok(None);
            };
            let Some(input) = without_met_rows(&projection.input, &column)? else {
                return Ok(None);
            };
            let (expr, schema) = (projection.expr.clone(), projection.schema.clone());
            let projection = Projection::try_new_with_schema(expr, Arc::new(input), schema)?;
            Ok(Some(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::Join(join) => anti(join, column),
        _ => Ok(None),
    }
}

/// The rows of an outer join that met none, if those with NULL in this column are just these.
fn anti(join: &Join, column: &Column) -> Result<Option<LogicalPlan>> {
    let (left, right) = (join.left.schema(), join.right.schema());
    // The columns of the left side come first. Both sides may have columns of one name.
    let lefts = 0..left.fields().len();
    let rights = lefts.end..lefts.end + right.fields().len();
    let (of, other, others) = match join.join_type {
        JoinType::Left => (JoinType::LeftAnti, right, rights),
        JoinType::Right => (JoinType::RightAnti, left, lefts),
        _ => return Ok(None),
    };
    let at = join.schema.index_of_column(column);
    let Some(at) = at.ok().filter(|at| others.contains(at)) else {
        return Ok(None);
    };
    let at = at - others.start;
    let is_key = |(left, right): &(Expr, Expr)| {
        let mut key = match of {
            JoinType::LeftAnti => right,
            _ => left,
        };
        // A cast of NULL is NULL, too.
        while let Expr::Cast(cast) = key {
            key = &cast.expr;
        }
        let key = key.try_as_col().map(|key| other.index_of_column(key));
        matches!(key, Some(Ok(key)) if key == at)
    };
    let compared = join.null_equality == NullEquality::NullEqualsNothing;
    if other.field(at).is_nullable() && !(compared && join.on.iter().any(is_key)) {
        return Ok(None);
    }
    let columns = join.schema.iter().enumerate().map(|(at, (table, field))| {
        if !others.contains(&at) {
            return Ok(Expr::Column(Column::new(table.cloned(), field.name())));
        }
        let null = Expr::Literal(ScalarValue::try_new_null(field.data_type())?, None);
        let metadata = Some(FieldMetadata::from(field.as_ref())).filter(|known| !known.is_empty());
        Ok(null.alias_qualified_with_metadata(table.cloned(), field.name(), metadata))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let anti = Join::try_new(
        join.left.clone(),
        join.right.clone(),
        join.on.clone(),
        join.filter.clone(),
        of,
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    let anti = Arc::new(LogicalPlan::Join(anti));
    let plan = Projection::try_new_with_schema(columns, anti, join.schema.clone())?;
    Ok(Some(LogicalPlan::Projection(plan)))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const TABLES: &str = "WITH l AS (SELECT * FROM (VALUES (1, 1), (2, NULL), (NULL, 3)) AS t(k, x)), r AS (SELECT * FROM (VALUES (1, 5), (NULL, 6), (1, NULL)) AS t(k, x))";

    fn plan(sql: &str) -> String {
        ask(&format!("EXPLAIN {TABLES} {sql}")).unwrap().join("\n")
    }

    #[test]
    fn only_what_met_no_row_is_an_anti_join() {
        for sql in [
            "SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL",
            "SELECT l.x FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL AND l.x > 1",
            "SELECT r.x FROM l RIGHT JOIN r ON l.k = r.k WHERE NOT l.k IS NOT NULL",
            "SELECT * FROM l LEFT JOIN r ON l.k = r.k AND l.x = r.x WHERE r.x IS NULL",
            "SELECT * FROM l LEFT JOIN r ON l.k = r.k AND l.x < r.x WHERE r.k IS NULL",
            "SELECT * FROM l LEFT JOIN (SELECT k, 1 AS one FROM r) r ON l.k = r.k WHERE one IS NULL",
            "SELECT * FROM l LEFT JOIN (SELECT k::bigint AS k FROM r) r ON l.k = r.k WHERE r.k IS NULL",
        ] {
            let plan = plan(sql);
            assert!(
                plan.contains("Anti") && !plan.contains("IS NULL"),
                "{sql}\n{plan}"
            );
        }
        for sql in [
            "SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE r.x IS NULL",
            "SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE l.k IS NULL",
            "SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL OR r.x = 5",
            "SELECT * FROM l LEFT JOIN r ON l.k IS NOT DISTINCT FROM r.k WHERE r.k IS NULL",
            "SELECT * FROM l FULL JOIN r ON l.k = r.k WHERE r.k IS NULL",
            "SELECT * FROM l LEFT JOIN r ON l.k = coalesce(r.k, 2) WHERE r.k IS NULL",
        ] {
            let plan = plan(sql);
            assert!(!plan.contains("Anti"), "{sql}\n{plan}");
        }
    }

    /// By hand. All columns of both sides have the same names.
    #[test]
    fn columns_of_the_other_side_are_null_and_keep_their_places_and_types() {
        let asked = |sql: &str| ask(&format!("{TABLES} {sql}")).unwrap();
        assert_eq!(
            asked(
                "SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL ORDER BY l.x NULLS FIRST"
            ),
            ["2 | NULL | NULL | NULL", "NULL | 3 | NULL | NULL"]
        );
        assert_eq!(
            asked("SELECT * FROM l RIGHT JOIN r ON l.k = r.k WHERE l.k IS NULL"),
            ["NULL | NULL | NULL | 6"]
        );
        assert_eq!(
            asked(
                "SELECT arrow_typeof(r.x), coalesce(r.x, l.x, 0) AS x FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL AND coalesce(r.x, l.x) > 2"
            ),
            ["Int64 | 3"]
        );
        assert_eq!(
            asked(
                "SELECT count(*), count(r.x), sum(l.x) FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL"
            ),
            ["2 | 0 | 3"]
        );
    }
}
