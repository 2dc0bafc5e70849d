//! A correlated subquery that gives the first of some rows is an aggregate.
//!
//! | written | planned as |
//! |---|---|
//! | `(SELECT x FROM t WHERE t.k = o.k ORDER BY y LIMIT 1)` | `(SELECT first_value(x ORDER BY y) FROM t WHERE t.k = o.k)` |
//! | `(SELECT max(x) FROM t WHERE t.k = o.k LIMIT 1)` | the same without LIMIT |
//!
//! DataFusion 55.2 makes joins of such subqueries where they are aggregates without LIMIT, and refuses the others.

use crate::engine::rewrite::expr_up;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, Expr, FetchType, LogicalPlan, Projection, SkipType, SortExpr, Subquery,
};
use std::sync::Arc;

/// Plans such a subquery so. Must run before types are coerced.
#[derive(Debug)]
pub(in crate::engine) struct CorrelatedFirst;

impl FunctionRewrite for CorrelatedFirst {
    fn name(&self) -> &str {
        "correlated_first"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarSubquery(subquery) = expr else {
            return Ok(Transformed::no(expr));
        };
        Ok(match aggregate(&subquery)? {
            Some(plan) => Transformed::yes(Expr::ScalarSubquery(Subquery {
                subquery: Arc::new(plan),
                ..subquery
            })),
            None => Transformed::no(Expr::ScalarSubquery(subquery)),
        })
    }
}

/// The aggregate; None of another subquery.
fn aggregate(subquery: &Subquery) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Limit(limit) = subquery.subquery.as_ref() else {
        return Ok(None);
    };
    let skips = !matches!(limit.get_skip_type()?, SkipType::Literal(0));
    let FetchType::Literal(Some(fetch @ 1..)) = limit.get_fetch_type()? else {
        return Ok(None);
    };
    if subquery.outer_ref_columns.is_empty() || skips {
        return Ok(None);
    }
    if let Some(row) = only_row(&limit.input) {
        return Ok(Some(row.clone()));
    }
    let Some(rows) = Rows::of(&limit.input).filter(|_| fetch == 1) else {
        return Ok(None);
    };
    let name = Column::from(subquery.subquery.schema().qualified_field(0));
    // The join that DataFusion makes has the columns of the conditions beside the value.
    let name = match is_compared(&rows.input, &rows.value)? {
        true => Column::new_unqualified(format!("first_value({})", name.name)),
        false => name,
    };
    let first = Expr::AggregateFunction(match first_value(rows.value, rows.order) {
        Expr::AggregateFunction(function) => function,
        _ => return Ok(None),
    });
    let first = Aggregate::try_new(rows.input, vec![], vec![first])?;
    let value = Expr::Column(Column::from(first.schema.qualified_field(0)));
    let value = value.alias_qualified(name.relation, name.name);
    let value = Projection::try_new(vec![value], Arc::new(LogicalPlan::Aggregate(first)))?;
    Ok(Some(LogicalPlan::Projection(value)))
}

/// Whether a value is a column that is compared with the rows around it.
fn is_compared(rows: &LogicalPlan, value: &Expr) -> Result<bool> {
    rows.exists(|plan| {
        Ok(match (plan, value) {
            (LogicalPlan::Filter(filter), Expr::Column(column)) => {
                let conditions = split_conjunction(&filter.predicate).into_iter();
                let mut compared = conditions.filter(|condition| condition.contains_outer());
                compared.any(|condition| {
                    let columns = condition.column_refs();
                    columns.into_iter().any(|of| of.name == column.name)
                })
            }
            _ => false,
        })
    })
}

/// What a LIMIT is asked of, where it is an aggregate without GROUP BY.
fn only_row(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => only_row(&sort.input),
        LogicalPlan::Projection(projection) => match projection.input.as_ref() {
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Some(plan),
            _ => None,
        },
        _ => None,
    }
}

/// Rows, of each of which one value is asked, and their order.
struct Rows {
    value: Expr,
    order: Vec<SortExpr>,
    input: Arc<LogicalPlan>,
}

impl Rows {
    fn of(plan: &LogicalPlan) -> Option<Self> {
        let (order, plan) = match plan {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.expr.clone(), &*sort.input),
            plan => (vec![], plan),
        };
        let LogicalPlan::Projection(projection) = plan else {
            return None;
        };
        let [value] = &projection.expr[..] else {
            return None;
        };
        let value = value.clone().unalias();
        let output = Column::from(projection.schema.qualified_field(0));
        let of_input = |sort: SortExpr| {
            let expr = expr_up(sort.expr, &mut |expr| match expr {
                Expr::Column(column) if column == output => Ok(Transformed::yes(value.clone())),
                expr => Ok(Transformed::no(expr)),
            });
            let expr = expr.ok()?.data;
            Some(SortExpr { expr, ..sort })
        };
        let above = order.into_iter().map(of_input);
        let (order, input) = match (
            above.collect::<Option<Vec<_>>>()?,
            projection.input.as_ref(),
        ) {
            // By what is no output DataFusion sorts below the projection.
            (above, LogicalPlan::Sort(sort)) if above.is_empty() && sort.fetch.is_none() => {
                (sort.expr.clone(), &sort.input)
            }
            (above, _) => (above, &projection.input),
        };
        Some(Self {
            input: is_of_rows(input).then(|| input.clone())?,
            value,
            order,
        })
    }
}

/// Whether it gives rows of tables and no groups of them.
fn is_of_rows(plan: &LogicalPlan) -> bool {
    let groups = plan.exists(|plan| {
        Ok(!matches!(
            plan,
            LogicalPlan::Projection(_)
                | LogicalPlan::Filter(_)
                | LogicalPlan::SubqueryAlias(_)
                | LogicalPlan::Join(_)
                | LogicalPlan::TableScan(_)
                | LogicalPlan::Values(_)
        ))
    });
    groups.is_ok_and(|groups| !groups)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const TABLES: &str = "WITH a(k, v) AS (VALUES (1, 10), (2, 20), (3, 30), (NULL, 50)), \
         b(k, x, y) AS (VALUES (1, 5, 2), (1, 7, 1), (2, NULL, 1), (2, 4, 2), (NULL, 11, 1)) ";

    /// By hand; so does DuckDB.
    #[test]
    fn the_first_row_of_each_is_found() {
        for (subquery, rows) in [
            (
                "SELECT x FROM b WHERE b.k = a.k ORDER BY x LIMIT 1",
                ["1 | 5", "2 | 4", "3 | NULL", "NULL | NULL"],
            ),
            (
                "SELECT x FROM b WHERE b.k = a.k ORDER BY y LIMIT 1",
                ["1 | 7", "2 | NULL", "3 | NULL", "NULL | NULL"],
            ),
            (
                "SELECT -x FROM b WHERE b.k = a.k AND x > 5 LIMIT 1",
                ["1 | -7", "2 | NULL", "3 | NULL", "NULL | NULL"],
            ),
            (
                "SELECT c.x FROM b JOIN b AS c ON b.y = c.x - 3 WHERE b.k = a.k ORDER BY 1 FETCH FIRST 1 ROW ONLY",
                ["1 | 4", "2 | 4", "3 | NULL", "NULL | NULL"],
            ),
            (
                "SELECT max(x) FROM b WHERE b.k = a.k ORDER BY 1 LIMIT 1",
                ["1 | 7", "2 | 4", "3 | NULL", "NULL | NULL"],
            ),
            (
                "SELECT count(*) FROM b WHERE b.k = a.k LIMIT 5",
                ["1 | 2", "2 | 2", "3 | 0", "NULL | 0"],
            ),
        ] {
            let sql = format!("{TABLES} SELECT k, ({subquery}) FROM a ORDER BY k");
            assert_eq!(
                ask(&sql).as_deref(),
                Ok(&rows.map(String::from)[..]),
                "{sql}"
            );
        }
        let sql = format!(
            "{TABLES} SELECT (SELECT k FROM b WHERE b.k = a.k ORDER BY x LIMIT 1) AS r, v FROM a WHERE (SELECT k FROM b WHERE b.k = a.k LIMIT 1) > 0 ORDER BY v"
        );
        assert_eq!(ask(&sql).unwrap(), ["1 | 10", "2 | 20"]);
        let sql = format!(
            "{TABLES} SELECT k FROM a WHERE v > 3 * (SELECT x FROM b WHERE b.k = a.k ORDER BY x DESC NULLS LAST LIMIT 1) ORDER BY k"
        );
        assert_eq!(ask(&sql).unwrap(), ["2"]);
    }

    /// DuckDB answers them.
    #[test]
    fn others_are_refused() {
        for subquery in [
            "SELECT x FROM b WHERE b.k = a.k ORDER BY x LIMIT 1 OFFSET 1",
            "SELECT x FROM b WHERE b.k = a.k LIMIT 0",
            "SELECT x + a.v AS s FROM b WHERE b.k = a.k ORDER BY s DESC LIMIT 1",
            "SELECT max(x) FROM b WHERE b.k = a.k GROUP BY y ORDER BY 1 LIMIT 1",
        ] {
            let error = ask(&format!("{TABLES} SELECT k, ({subquery}) FROM a")).unwrap_err();
            assert!(error.contains("write a LEFT JOIN with GROUP BY"), "{error}");
        }
    }
}
