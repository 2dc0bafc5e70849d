//! A logical optimizer rule: a semi or anti join stands on the side of a join whose columns it looks at.
//!
//! ```sql
//! SELECT .. FROM darshan_log l JOIN darshan_file f ON l.log_id = f.log_id WHERE l.job_id IN (SELECT job_id FROM slurm_job WHERE state = 'FAILED')
//! ```
//!
//! DataFusion 55.2 pushes filters through joins, but no semi or anti joins: it makes each row of l with all of its files before it looks for
//! the job.
//!
//! ```text
//! Inner Join: l.log_id = f.log_id            was LeftSemi Join: l.job_id = s.job_id
//!   LeftSemi Join: l.job_id = s.job_id              Inner Join: l.log_id = f.log_id
//!     TableScan: darshan_log l                        TableScan: darshan_log l
//!     SubqueryAlias: s                                TableScan: darshan_file f
//!   TableScan: darshan_file f                       SubqueryAlias: s
//! ```
//!
//! It depends on the columns of one side alone whether a row stays. So rows of that side can go before they are joined, if no row of the other
//! side is kept for want of them: the side is either one of an inner join, or that of an outer join of which each row is kept.

use crate::engine::session::options::Options;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType, Result};
use datafusion::logical_expr::{Expr, Filter, Join, LogicalPlan, Projection, SubqueryAlias};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Moves semi and anti joins below other joins.
#[derive(Debug)]
pub(in crate::engine) struct PushDownSemiJoin;

impl OptimizerRule for PushDownSemiJoin {
    fn name(&self) -> &str {
        "push_down_semi_join"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = &plan else {
            return Ok(Transformed::no(plan));
        };
        if !is_movable(join) || !Options::is_on(&config.options(), self.name()) {
            return Ok(Transformed::no(plan));
        }
        Ok(match below(&join.left, join)? {
            Some(moved) => Transformed::yes(moved),
            None => Transformed::no(plan),
        })
    }
}

fn is_movable(semi: &Join) -> bool {
    matches!(semi.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && !semi.null_aware
        && !semi.on.iter().any(|(key, _)| key.is_volatile())
        && !semi.filter.as_ref().is_some_and(Expr::is_volatile)
}

/// The plan with `semi`, which looks at columns of it, on a side of a join of it; None if there is no such join.
fn below(plan: &LogicalPlan, semi: &Join) -> Result<Option<LogicalPlan>> {
    Ok(match plan {
        LogicalPlan::Projection(projection) => {
            let renamed = renamed(semi, &projection.schema, |at| {
                match projection.expr[at].clone().unalias() {
                    Expr::Column(column) => Some(column),
                    _ => None,
                }
            })?;
            let Some(input) = renamed.map(|semi| below(&projection.input, &semi)) else {
                return Ok(None);
            };
            let (expr, schema) = (projection.expr.clone(), projection.schema.clone());
            input?
                .map(|input| Projection::try_new_with_schema(expr, Arc::new(input), schema))
                .transpose()?
                .map(LogicalPlan::Projection)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let of = alias.input.schema();
            let renamed = renamed(semi, &alias.schema, |at| {
                Some(Column::from(of.qualified_field(at)))
            })?;
            let Some(input) = renamed.map(|semi| below(&alias.input, &semi)) else {
                return Ok(None);
            };
            input?
                .map(|input| SubqueryAlias::try_new(Arc::new(input), alias.alias.clone()))
                .transpose()?
                .map(LogicalPlan::SubqueryAlias)
        }
        LogicalPlan::Filter(filter) => below(&filter.input, semi)?
            .map(|input| Filter::try_new(filter.predicate.clone(), Arc::new(input)))
            .transpose()?
            .map(LogicalPlan::Filter),
        LogicalPlan::Join(join) => on_a_side(join, semi)?,
        _ => None,
    })
}

/// The join with `semi` on one of its sides.
fn on_a_side(join: &Join, semi: &Join) -> Result<Option<LogicalPlan>> {
    use JoinType::*;
    let looks_at = |side: &DFSchema, other: &DFSchema| {
        let columns = columns(semi);
        !columns.is_empty()
            && columns
                .iter()
                .all(|column| side.has_column(column) && !other.has_column(column))
    };
    let (left, right) = (join.left.schema(), join.right.schema());
    let is_left = looks_at(left, right);
    if !is_left && !looks_at(right, left) {
        return Ok(None);
    }
    let side = if is_left { &join.left } else { &join.right };
    let side = match (join.join_type, is_left) {
        (Inner, _) | (Left, true) | (Right, false) => {
            let lower = below(side, semi)?;
            lower.map_or_else(|| on(side, semi).map(LogicalPlan::Join), Ok)?
        }
        // Of two of a kind neither is better above the other.
        (LeftSemi | LeftAnti, true) => match below(side, semi)? {
            Some(side) => side,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let mut join = join.clone();
    match is_left {
        true => join.left = Arc::new(side),
        false => join.right = Arc::new(side),
    }
    Ok(Some(LogicalPlan::Join(join)))
}

/// The semi join of these rows.
fn on(rows: &Arc<LogicalPlan>, semi: &Join) -> Result<Join> {
    Join::try_new(
        rows.clone(),
        semi.right.clone(),
        semi.on.clone(),
        semi.filter.clone(),
        semi.join_type,
        semi.join_constraint,
        semi.null_equality,
        false,
    )
}

/// The columns of its left side that it looks at.
fn columns(semi: &Join) -> Vec<&Column> {
    let of_right = semi.right.schema();
    let keys = semi.on.iter().flat_map(|(key, _)| key.column_refs());
    let others = semi.filter.iter().flat_map(Expr::column_refs);
    keys.chain(others.filter(|column| !of_right.has_column(column)))
        .collect()
}

/// The same join with other names for the columns that it looks at, each given by its place; None if one has no name, or that of a column of the
/// right side.
fn renamed(
    semi: &Join,
    left: &DFSchema,
    name: impl Fn(usize) -> Option<Column>,
) -> Result<Option<Join>> {
    let of_right = semi.right.schema();
    let mut all = true;
    let mut rename = |expr: Expr, keeps_rights: bool| {
        expr.transform(|part| match part {
            Expr::Column(column) if !(keeps_rights && of_right.has_column(&column)) => {
                let below = left.index_of_column(&column).ok().and_then(&name);
                let below = below.filter(|below| !of_right.has_column(below));
                all &= below.is_some();
                Ok(below.map_or_else(
                    || Transformed::no(Expr::Column(column)),
                    |below| Transformed::yes(Expr::Column(below)),
                ))
            }
            part => Ok(Transformed::no(part)),
        })
        .data()
    };
    let mut renamed = semi.clone();
    for (key, _) in &mut renamed.on {
        *key = rename(key.clone(), false)?;
    }
    renamed.filter = renamed
        .filter
        .map(|filter| rename(filter, true))
        .transpose()?;
    Ok(all.then_some(renamed))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{batches, block_on, rows};
    use crate::engine::{Engine, EngineOptions};

    const TABLES: &str = "WITH a AS (SELECT * FROM (VALUES (1, 1), (2, NULL), (NULL, 3), (3, 3)) AS t(k, x)), \
        b AS (SELECT * FROM (VALUES (1, 5), (NULL, 6), (1, NULL), (3, 3)) AS t(k, y)), s AS (SELECT * FROM (VALUES (1), (3), (7)) AS t(v))";

    /// What stands below the first join of a plan that is no semi or anti join: whether one is.
    fn is_below(sql: &str) -> bool {
        let plan = ask(&format!("EXPLAIN {TABLES} {sql}")).unwrap();
        let logical: Vec<_> = plan
            .iter()
            .flat_map(|row| row.lines())
            .take_while(|line| !line.starts_with("physical_plan"))
            .collect();
        let of = |kinds: &[&str]| {
            let is = |line: &&str| kinds.iter().any(|kind| line.contains(kind));
            logical
                .iter()
                .position(is)
                .unwrap_or_else(|| panic!("{sql}\n{logical:#?}"))
        };
        of(&[
            "Inner Join",
            "Left Join",
            "Right Join",
            "Full Join",
            "Cross Join",
        ]) < of(&["LeftSemi", "LeftAnti", "RightSemi", "RightAnti"])
    }

    /// Semi and anti joins above joins, and whether they move.
    const CASES: &[(&str, bool)] = &[
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE a.x IN (SELECT v FROM s)",
            true,
        ),
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE b.y IN (SELECT v FROM s)",
            true,
        ),
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM s WHERE v = x)",
            true,
        ),
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE x NOT IN (SELECT v FROM s)",
            true,
        ),
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM s WHERE v = a.k AND v + x > 3)",
            true,
        ),
        (
            "SELECT n FROM (SELECT a.x AS n, b.y FROM a JOIN b ON a.k = b.k) AS t WHERE n IN (SELECT v FROM s)",
            true,
        ),
        (
            "SELECT * FROM a LEFT JOIN b ON a.k = b.k WHERE a.x IN (SELECT v FROM s)",
            true,
        ),
        (
            "SELECT * FROM a RIGHT JOIN b ON a.k = b.k WHERE b.y NOT IN (SELECT v FROM s WHERE v > 3)",
            true,
        ),
        (
            "SELECT * FROM a JOIN b ON a.k = b.k JOIN b c ON c.k = b.k WHERE a.x IN (SELECT v FROM s) AND c.y NOT IN (SELECT v FROM s)",
            true,
        ),
        (
            "SELECT * FROM a, b WHERE a.x > 0 AND a.x IN (SELECT v FROM s)",
            true,
        ),
        // A row of the other side is kept for want of one that goes.
        (
            "SELECT * FROM a LEFT JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM s WHERE v = y)",
            false,
        ),
        (
            "SELECT * FROM a FULL JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM s WHERE v = x)",
            false,
        ),
        // Columns of both sides.
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM s WHERE v = x AND v < y)",
            false,
        ),
        (
            "SELECT * FROM a JOIN b ON a.k = b.k WHERE x + y IN (SELECT v FROM s)",
            false,
        ),
        // Computed above the join.
        (
            "SELECT n FROM (SELECT a.x + b.y AS n FROM a JOIN b ON a.k = b.k) AS t WHERE n IN (SELECT v FROM s)",
            false,
        ),
    ];

    #[test]
    fn it_moves_where_one_side_alone_says_which_rows_stay() {
        for (sql, moves) in CASES {
            assert_eq!(is_below(sql), *moves, "{sql}");
        }
    }

    /// The same rows with and without the rule.
    #[test]
    fn the_rows_are_those_of_the_join_above() {
        let engine = |switch: &str| {
            Engine::new(EngineOptions {
                threads: Some(2),
                settings: vec![
                    ("iolode.push_down_semi_join".into(), switch.into()),
                    ("iolode.fallback".into(), "error".into()),
                ],
                ..EngineOptions::default()
            })
            .unwrap()
        };
        let (on, off) = (engine("on"), engine("off"));
        block_on(async {
            for (sql, _) in CASES {
                let sql = format!("{TABLES} {sql}");
                let sorted = async |engine| {
                    let mut rows = rows(&batches(engine, &sql).await.unwrap());
                    rows.sort();
                    rows
                };
                assert_eq!(sorted(&on).await, sorted(&off).await, "{sql}");
            }
        });
    }
}
