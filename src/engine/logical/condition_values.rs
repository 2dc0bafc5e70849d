//! A logical rule: `EXISTS (SELECT ..)` and `IN (SELECT ..)` as values, in a select list or inside of an aggregate.
//!
//! ```sql
//! SELECT j.job_id, EXISTS (SELECT 1 FROM darshan_log l WHERE l.job_id = j.job_id) AS has_log FROM slurm_job j
//! SELECT count(*) FILTER (WHERE j.job_id IN (SELECT job_id FROM darshan_log)) FROM slurm_job j
//! ```
//!
//! DataFusion 55.2 makes joins of them in filters alone, and elsewhere refuses them. It does make joins of scalar subqueries, so that here
//! they become comparisons of counts:
//!
//! ```sql
//! SELECT j.job_id, CASE WHEN (SELECT count(*) FROM darshan_log l WHERE l.job_id = j.job_id) > 0 THEN true ELSE false END AS has_log
//! FROM slurm_job j
//! ```
//!
//! `IN` has the three values of SQL, as [`super::not_in`] writes them out. Those of an aggregate stand in a projection below it.
//!
//! Delete when DataFusion plans them: `datafusion_alone_refuses` then fails.

use super::kept_names;
use super::not_in::{apart, has_one_row, has_row, keeps_a_row, named, three_values, top};
use super::set_comparison::by_extremes;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, plan_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, binary_expr,
    lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use std::collections::HashMap;
use std::sync::Arc;

/// Makes values of them. Must run after types are coerced.
#[derive(Debug)]
pub(in crate::engine) struct ConditionValues;

impl AnalyzerRule for ConditionValues {
    fn name(&self) -> &str {
        "condition_values"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan_up(plan, &mut rewrite).data()
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    match plan {
        LogicalPlan::Projection(of) if of.expr.iter().any(has_condition) => {
            let columns = of.expr.into_iter().map(|expr| {
                let name = names.save(&expr);
                Ok(name.restore(value(expr, of.input.schema())?))
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let projection = Projection::try_new(columns, of.input)?;
            Ok(Transformed::yes(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::Aggregate(of)
            if of.group_expr.iter().chain(&of.aggr_expr).any(has_condition) =>
        {
            let schema = of.input.schema().clone();
            let mut columns: Vec<_> = schema.iter().map(|at| Expr::Column(at.into())).collect();
            // A key stands in several grouping sets.
            let mut known: HashMap<Expr, Column> = HashMap::new();
            let mut change = |expr: Expr| {
                expr_up(expr, &mut |expr| {
                    if !is_condition(&expr) {
                        return Ok(Transformed::no(expr));
                    }
                    let column = match known.get(&expr) {
                        Some(column) => column.clone(),
                        None => {
                            let name = format!("__condition_{}", columns.len());
                            columns.push(value(expr.clone(), &schema)?.alias(&name));
                            let column = Column::new_unqualified(name);
                            known.insert(expr, column.clone());
                            column
                        }
                    };
                    Ok(Transformed::yes(Expr::Column(column)))
                })
            };
            let mut below = |expr: Expr| kept_names::map(&names, expr, &mut change).data();
            let groups = of.group_expr.into_iter().map(&mut below);
            let groups = groups.collect::<Result<Vec<_>>>()?;
            let functions = of.aggr_expr.into_iter().map(&mut below);
            let functions = functions.collect::<Result<Vec<_>>>()?;
            let input = LogicalPlan::Projection(Projection::try_new(columns, of.input)?);
            let aggregate = Aggregate::try_new(Arc::new(input), groups, functions)?;
            Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn is_condition(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)
    )
}

fn has_condition(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(is_condition(expr))).unwrap_or(true)
}

/// The same expression with counts for these conditions.
///
/// # Errors
/// If one cannot be answered so.
fn value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let expr = expr_up(expr, &mut |expr| {
        Ok(Transformed::yes(match expr {
            Expr::Exists(found) => match has_one_row(&found.subquery, true)? {
                true => lit(!found.negated),
                false => when(exists(&found.subquery)?, lit(!found.negated))
                    .otherwise(lit(found.negated))?,
            },
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated,
            }) if has_one_row(&subquery, false)? => {
                let op = match negated {
                    true => Operator::NotEq,
                    false => Operator::Eq,
                };
                binary_expr(*expr, op, Expr::ScalarSubquery(subquery))
            }
            Expr::InSubquery(found) => {
                let found = named(found)?;
                let equal = equal_rows(&found, schema)?;
                // Where S is correlated it asks EXISTS.
                value(three_values(found, Some(equal), schema)?, schema)?
            }
            Expr::SetComparison(SetComparison {
                expr, subquery, op, ..
            }) if has_one_row(&subquery, false)? => {
                binary_expr(*expr, op, Expr::ScalarSubquery(subquery))
            }
            Expr::SetComparison(found) => {
                let subquery = apart(found.subquery)?;
                match by_extremes(&SetComparison { subquery, ..found })? {
                    Some(comparison) => comparison,
                    None => {
                        return plan_err!(
                            "ANY and ALL with a subquery that uses columns of the query around it can stand in WHERE and HAVING; here compare with `(SELECT max(..) ..)` or `(SELECT min(..) ..)`"
                        );
                    }
                }
            }
            expr => return Ok(Transformed::no(expr)),
        }))
    })?;
    Ok(expr.data)
}

/// Whether a subquery has a row.
fn exists(subquery: &Subquery) -> Result<Expr> {
    if subquery.outer_ref_columns.is_empty() {
        return has_row(subquery, None);
    }
    let plan = match top(&subquery.subquery) {
        LogicalPlan::Limit(limit) if keeps_a_row(limit)? => top(&limit.input),
        plan => plan,
    };
    has_some(LogicalPlan::clone(plan))
}

/// Whether the subquery of an IN has a row that equals its expression, which is of a row with this schema.
fn equal_rows(found: &InSubquery, schema: &DFSchema) -> Result<Expr> {
    let x = &found.expr;
    if x.is_volatile() || x.exists(|expr| Ok(Subquery::try_from_expr(expr).is_ok()))? {
        return plan_err!(
            "what is random or a subquery itself cannot be looked for by IN (SELECT ..) here; give it a name in a subquery first"
        );
    }
    let x = expr_up(x.as_ref().clone(), &mut |expr| match expr {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            let outer = Expr::OuterReferenceColumn(field, column);
            Ok(Transformed::yes(outer))
        }
        expr => Ok(Transformed::no(expr)),
    })?;
    let plan = apart(found.subquery.clone())?.subquery.as_ref().clone();
    let column = Expr::Column(plan.schema().qualified_field(0).into());
    let equal = LogicalPlanBuilder::from(plan).filter(column.eq(x.data))?;
    has_some(equal.build()?)
}

/// Whether a plan, which may use columns of the row around it, has a row, by its count.
fn has_some(plan: LogicalPlan) -> Result<Expr> {
    let rows = LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), [count(lit(1_i64))])?;
    // A name that no `count(*)` beside it has.
    let number = Expr::Column(rows.schema().qualified_field(0).into()).alias("__rows");
    let rows = rows.project([number])?.build()?;
    let outer_ref_columns = rows.all_out_ref_exprs();
    let rows = Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(rows),
        outer_ref_columns,
        spans: Default::default(),
    });
    Ok(rows.gt(lit(0_i64)))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain};

    const TABLES: &str = "WITH a(k, v) AS (VALUES (1, 10), (2, 20), (3, 30), (4, NULL), (NULL, 50)), \
        b(k, x) AS (VALUES (1, 5), (1, 7), (2, NULL), (3, 9), (NULL, 11), (5, 1)), c(k) AS (VALUES (1), (3), (7)), e(k) AS (SELECT k FROM c WHERE false) ";

    /// By hand, and as DuckDB 1.4.2 answers.
    #[test]
    fn conditions_are_values_of_each_row() {
        for (value, answer) in [
            ("k IN (SELECT k FROM b)", "true true true NULL NULL"),
            // The same names inside and outside.
            (
                "k IN (SELECT k FROM a WHERE v < 25)",
                "true true false false NULL",
            ),
            (
                "k NOT IN (SELECT k FROM a WHERE v > 10)",
                "NULL false false NULL NULL",
            ),
            ("k NOT IN (SELECT k FROM c)", "false true false true NULL"),
            ("k IN (SELECT k FROM e)", "false false false false false"),
            ("NULL IN (SELECT k FROM e)", "false false false false false"),
            (
                "v IN (SELECT x + 5 FROM b WHERE b.k = a.k)",
                "true NULL false false false",
            ),
            (
                "CASE WHEN k IN (SELECT k FROM c) THEN 'c' ELSE 'no' END",
                "c no c no no",
            ),
            (
                "EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
                "true true true false false",
            ),
            (
                "EXISTS (SELECT 1 FROM b WHERE b.k = a.k ORDER BY x LIMIT 1)",
                "true true true false false",
            ),
            (
                "NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND x > 5)",
                "false true false true true",
            ),
            (
                "CASE WHEN EXISTS (SELECT 1 FROM e) THEN 1 ELSE 2 END",
                "2 2 2 2 2",
            ),
            (
                "EXISTS (SELECT max(x) FROM b WHERE b.k = a.k)",
                "true true true true true",
            ),
            (
                "0 IN (SELECT count(*) FROM b WHERE b.k = a.k)",
                "false false false true true",
            ),
            (
                "k IN (SELECT k FROM b UNION SELECT 4)",
                "true true true true NULL",
            ),
            (
                "(k IN (SELECT k FROM c) AND EXISTS (SELECT 1 FROM b WHERE b.k = a.k)) IS NOT FALSE",
                "true false true false false",
            ),
        ] {
            let sql = format!("{TABLES} SELECT {value} AS c FROM a ORDER BY k NULLS LAST");
            let found = ask(&sql).unwrap_or_else(|e| panic!("{value}: {e}"));
            assert_eq!(found.join(" "), answer, "{value}");
        }
    }

    /// By hand: 1, 2 and 3 are in b, 1 and 3 in c.
    #[test]
    fn aggregates_and_groups_take_them() {
        for (sql, answer) in [
            (
                "SELECT count(*) FILTER (WHERE k IN (SELECT k FROM c)), sum(CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN v END) FROM a",
                vec!["2 | 60"],
            ),
            (
                "SELECT k IN (SELECT k FROM c) AS c, count(*), max(v) FROM a GROUP BY 1 ORDER BY 1",
                vec!["false | 2 | 20", "true | 2 | 30", "NULL | 1 | 50"],
            ),
            (
                "SELECT k, count(*), k IN (SELECT k FROM c) AS c, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS e FROM a WHERE k < 4 GROUP BY k ORDER BY k",
                vec![
                    "1 | 1 | true | true",
                    "2 | 1 | false | true",
                    "3 | 1 | true | true",
                ],
            ),
            (
                "SELECT bool_or(k NOT IN (SELECT k FROM c)) FROM a GROUP BY k IS NULL ORDER BY 1",
                vec!["true", "NULL"],
            ),
        ] {
            let found = ask(&format!("{TABLES} {sql}")).unwrap_or_else(|e| panic!("{sql}: {e}"));
            assert_eq!(found, answer, "{sql}");
        }
    }

    #[test]
    fn they_keep_their_names() {
        let sql = format!(
            "{TABLES} SELECT t.\"has b\" FROM (SELECT k, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS \"has b\" FROM a) AS t WHERE t.k = 4"
        );
        assert_eq!(ask(&sql).unwrap(), ["false"]);
    }

    #[test]
    fn what_cannot_be_answered_says_what_to_write() {
        for (value, words) in [
            (
                "k > ALL (SELECT k FROM c WHERE c.k < a.v)",
                "compare with `(SELECT max(..) ..)`",
            ),
            (
                "random() IN (SELECT k FROM c)",
                "give it a name in a subquery first",
            ),
            (
                "EXISTS (SELECT 1 FROM b WHERE b.x < a.v)",
                "write a LEFT JOIN with GROUP BY",
            ),
        ] {
            let error = ask(&format!("{TABLES} SELECT {value} AS c FROM a")).unwrap_err();
            assert!(error.contains(words), "{value}: {error}");
        }
    }

    #[test]
    fn datafusion_alone_refuses() {
        for value in [
            "EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            "k IN (SELECT k FROM c)",
        ] {
            let sql = format!("{TABLES} SELECT {value} FROM a");
            let alone = block_on(async { plain(2).sql(&sql).await?.collect().await });
            assert!(alone.is_err(), "{value}");
        }
    }
}
