//! A logical rule: `IN (SELECT ..)` is NULL where SQL says so, wherever it stands in a WHERE or a HAVING.
//!
//! `x IN (S)` is NULL if it is not true and x is NULL (and S has a row), or S has a NULL. DataFusion 55.2 knows this only of a condition
//! of its own, `WHERE .. AND x NOT IN (S)`, of which it makes a null-aware anti join that holds the table of x in memory ([`anti_join`]). Of
//! an IN inside of another expression it makes a mark join, whose mark is false for NULL, so that these answer wrongly without a word:
//!
//! ```sql
//! WHERE uid = 1 OR nprocs NOT IN (SELECT array_job_id FROM slurm_job)   -- keeps rows although S has NULLs
//! WHERE nprocs IN (SELECT array_job_id FROM slurm_job) IS NULL          -- keeps none
//! ```
//!
//! Where only `true` counts, the mark is right. In all other places this rule writes out the three values:
//!
//! ```sql
//! CASE WHEN (x IN (S)) IS TRUE THEN true
//!      WHEN (SELECT count(*) FROM (S) WHERE its column IS NULL LIMIT 1) > 0
//!        OR x IS NULL AND (SELECT count(*) FROM (S) LIMIT 1) > 0 THEN NULL
//!      ELSE false END
//! ```
//!
//! Where x and the column of S cannot be NULL nothing changes. For a correlated S, `EXISTS` stands for the counts.
//! ANY and ALL over a correlated S DataFusion writes out itself, rightly once the column of S has a name that no column of the row has ([`apart`]); others are compared with the extremes
//! of S ([`super::set_comparison`]).
//!
//! Wrong or without a plan are as well, and mended or refused here:
//! - a condition `x NOT IN (S)` whose x is an expression that makes NULLs of columns without, or a constant, or whose S is correlated;
//! - an IN in the ON of an inner join that looks at both sides, of which a filter is made;
//! - a column of S without the name of a table, as that of VALUES or UNION has none, which is then found twice;
//! - rows `(a, b)`, in which a NULL counts as a value: refused;
//! - a correlated S that aggregates without GROUP BY and so has one row, which is lost if nothing meets the condition: `x IN (S)` is
//!   `x = (S)`, which DataFusion does right;
//! - a correlated S with a window function, or with LIMIT or OFFSET, which are taken over the rows of all, or not at all: refused.
//!
//! Delete when DataFusion's mark joins know NULL: `datafusion_alone_is_wrong` then fails.

use super::set_comparison::by_extremes;
use crate::engine::rewrite::plan_up;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{BinaryExpr, Case, Exists, InSubquery, SetComparison};
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprSchemable, FetchType, Filter, JoinType, Limit, LogicalPlan, LogicalPlanBuilder,
    Operator, SkipType, Subquery, binary_expr, lit, not, when,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Writes out the three values of `IN (SELECT ..)` in filters. Must run after types are coerced.
#[derive(Debug)]
pub(in crate::engine) struct ThreeValuedIn;

impl AnalyzerRule for ThreeValuedIn {
    fn name(&self) -> &str {
        "three_valued_in"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan_up(plan, &mut rewrite).data()
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let filter = |conditions: Vec<Expr>, input: Arc<LogicalPlan>| {
        let predicate = all(conditions, input.schema())?.unwrap_or_else(|| lit(true));
        let filter = Filter::try_new(predicate, input)?;
        Ok(Transformed::yes(LogicalPlan::Filter(filter)))
    };
    match plan {
        LogicalPlan::Filter(of) if has_subquery(&of.predicate) => {
            filter(split_conjunction_owned(of.predicate), of.input)
        }
        LogicalPlan::Join(mut join) if join.filter.as_ref().is_some_and(has_subquery) => {
            let conditions = join.filter.take().map(split_conjunction_owned);
            let conditions = conditions.unwrap_or_default();
            if join.join_type != JoinType::Inner {
                // Not its own schema: a column is NULL in it where no row was met, and it may lack a side.
                let schema = merge_schema(&[&join.left, &join.right]);
                join.filter = all(conditions, &schema)?;
                return Ok(Transformed::yes(LogicalPlan::Join(join)));
            }
            let (subqueries, others): (Vec<_>, Vec<_>) =
                conditions.into_iter().partition(has_subquery);
            join.filter = conjunction(others);
            filter(subqueries, Arc::new(LogicalPlan::Join(join)))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let found = expr.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)
        ))
    });
    found.unwrap_or(true)
}

/// That all these conditions are true, with the three values of each IN written out where they matter.
fn all(conditions: Vec<Expr>, schema: &DFSchema) -> Result<Option<Expr>> {
    let conditions = conditions
        .into_iter()
        .map(|condition| match not_in_condition(condition) {
            Ok(found) => anti_join(named(found)?, schema),
            Err(condition) => written_out(condition, true, schema),
        });
    Ok(conjunction(conditions.collect::<Result<Vec<_>>>()?))
}

/// The condition of a filter that a column, cast perhaps, is not in a subquery without correlation. Any other one is given back.
fn not_in_condition(condition: Expr) -> std::result::Result<InSubquery, Expr> {
    let is_right = |found: &InSubquery| {
        let mut x = &*found.expr;
        while let Expr::Cast(cast) = x {
            x = &cast.expr;
        }
        matches!(x, Expr::Column(_)) && found.subquery.outer_ref_columns.is_empty()
    };
    match condition {
        Expr::InSubquery(found) if found.negated && is_right(&found) => Ok(found),
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(mut found) if !found.negated && is_right(&found) => {
                found.negated = true;
                Ok(found)
            }
            inner => Err(Expr::Not(Box::new(inner))),
        },
        other => Err(other),
    }
}

/// `x NOT IN (S)` as a condition of which only `true` counts, in which DataFusion sees an anti join.
///
/// Of the IN itself, if it may be NULL, it makes a null-aware anti join, which holds all rows of x in memory: those of the larger side.
/// What it is aware of stands beside the join here:
///
/// ```sql
/// NOT EXISTS (SELECT 1 FROM (S) WHERE its column = x)
///   AND NOT ((SELECT count(*) FROM (S) WHERE its column IS NULL LIMIT 1) > 0
///     OR x IS NULL AND (SELECT count(*) FROM (S) LIMIT 1) > 0)
/// ```
fn anti_join(found: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let Some(unknown) = null_unless_true(&found, schema)? else {
        return Ok(Expr::InSubquery(found));
    };
    let InSubquery { expr, subquery, .. } = found;
    let mut outer_ref_columns = vec![];
    let x = expr.transform(|part| match part {
        Expr::Column(column) => {
            let field = schema.field_from_column(&column)?.clone();
            let outer = Expr::OuterReferenceColumn(field, column);
            outer_ref_columns.push(outer.clone());
            Ok(Transformed::yes(outer))
        }
        part => Ok(Transformed::no(part)),
    });
    let subquery = apart(subquery)?;
    let column = Column::from(subquery.subquery.schema().qualified_field(0));
    let equal = Expr::Column(column).eq(x.data()?);
    let plan = LogicalPlanBuilder::from(subquery.subquery.clone()).filter(equal)?;
    let subquery = Subquery {
        subquery: Arc::new(plan.build()?),
        outer_ref_columns,
        ..subquery
    };
    Ok(Expr::Exists(Exists::new(subquery, true)).and(not(unknown)))
}

/// The same expression with the three values of each IN written out, except, where only `true` counts, of those of which that is asked.
fn written_out(expr: Expr, only_true: bool, schema: &DFSchema) -> Result<Expr> {
    let inner = |expr: Box<Expr>, only_true| written_out(*expr, only_true, schema).map(Box::new);
    Ok(match expr {
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) => {
            let x = inner(expr, false)?;
            if has_one_row(&subquery, false)? {
                let op = match negated {
                    true => Operator::NotEq,
                    false => Operator::Eq,
                };
                return Ok(binary_expr(*x, op, Expr::ScalarSubquery(subquery)));
            }
            let found = named(InSubquery::new(x, subquery, negated))?;
            match only_true && !found.negated {
                true => Expr::InSubquery(found),
                false => three_values(found, None, schema)?,
            }
        }
        // DataFusion makes a join of it that looks at each row.
        Expr::Exists(found) if found.subquery.outer_ref_columns.is_empty() => {
            let has_row = has_row(&found.subquery, None)?;
            match found.negated {
                true => not(has_row),
                false => has_row,
            }
        }
        Expr::Exists(found) => match has_one_row(&found.subquery, true)? {
            true => lit(!found.negated),
            false => Expr::Exists(found),
        },
        // Of one row ANY and ALL are the same.
        Expr::SetComparison(found) if has_one_row(&found.subquery, false)? => {
            let SetComparison {
                expr, subquery, op, ..
            } = found;
            binary_expr(*inner(expr, false)?, op, Expr::ScalarSubquery(subquery))
        }
        Expr::SetComparison(found) => {
            let expr = inner(found.expr, false)?;
            let subquery = apart(found.subquery)?;
            let found = SetComparison {
                expr,
                subquery,
                ..found
            };
            by_extremes(&found)?.unwrap_or(Expr::SetComparison(found))
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Operator::And | Operator::Or),
            right,
        }) => Expr::BinaryExpr(BinaryExpr {
            left: inner(left, only_true)?,
            op,
            right: inner(right, only_true)?,
        }),
        Expr::IsTrue(of) => Expr::IsTrue(inner(of, true)?),
        Expr::IsNotTrue(of) => Expr::IsNotTrue(inner(of, true)?),
        Expr::Case(Case {
            expr: None,
            when_then_expr,
            else_expr,
        }) => Expr::Case(Case {
            expr: None,
            when_then_expr: when_then_expr
                .into_iter()
                .map(|(when, then)| Ok((inner(when, true)?, inner(then, only_true)?)))
                .collect::<Result<_>>()?,
            else_expr: else_expr.map(|other| inner(other, only_true)).transpose()?,
        }),
        other => {
            other
                .map_children(|child| written_out(child, false, schema).map(Transformed::yes))?
                .data
        }
    })
}

/// Whether a correlated subquery aggregates without GROUP BY, and so has one row.
///
/// # Errors
/// If it has what DataFusion takes over the rows of all.
pub(super) fn has_one_row(subquery: &Subquery, only_exists: bool) -> Result<bool> {
    if subquery.outer_ref_columns.is_empty() {
        return Ok(false);
    }
    let of_exists = top(&subquery.subquery);
    let mut of = &*subquery.subquery;
    let mut may_drop = false;
    let one = loop {
        of = match of {
            LogicalPlan::Projection(node) => &node.input,
            LogicalPlan::SubqueryAlias(node) => &node.input,
            LogicalPlan::Sort(node) => &node.input,
            LogicalPlan::Filter(node) => {
                may_drop = true;
                &node.input
            }
            LogicalPlan::Limit(node) => {
                may_drop = true;
                &node.input
            }
            LogicalPlan::Aggregate(node) => break node.group_expr.is_empty(),
            _ => break false,
        };
    };
    let over_all = subquery.subquery.exists(|node| {
        let taken_over_all = match node {
            LogicalPlan::Window(_) => true,
            LogicalPlan::Limit(limit) => {
                !(only_exists && std::ptr::eq(node, of_exists) && keeps_a_row(limit)?)
            }
            _ => false,
        };
        Ok(taken_over_all && !node.all_out_ref_exprs().is_empty())
    })?;
    if over_all || one && may_drop {
        return plan_err!(
            "a subquery that uses columns of the row around it cannot have a window function, LIMIT or HAVING here; write a join with a subquery, or compare with its value as in `(SELECT count(*) ..) > 1`"
        );
    }
    Ok(one)
}

/// What lies under nodes that neither add nor drop rows.
pub(super) fn top(mut plan: &LogicalPlan) -> &LogicalPlan {
    loop {
        plan = match plan {
            LogicalPlan::Projection(node) => &node.input,
            LogicalPlan::SubqueryAlias(node) => &node.input,
            LogicalPlan::Sort(node) => &node.input,
            plan => return plan,
        };
    }
}

/// Whether a LIMIT gives a row wherever its input has one.
pub(super) fn keeps_a_row(limit: &Limit) -> Result<bool> {
    let all = matches!(limit.get_skip_type()?, SkipType::Literal(0));
    Ok(all
        && !matches!(
            limit.get_fetch_type()?,
            FetchType::Literal(Some(0)) | FetchType::UnsupportedExpr
        ))
}

/// The same with a name for the column of the subquery where DataFusion would not find it.
///
/// # Errors
/// If rows are compared.
pub(super) fn named(found: InSubquery) -> Result<InSubquery> {
    let plan = &found.subquery.subquery;
    let field = plan.schema().field(0);
    if matches!(field.data_type(), DataType::Struct(_)) {
        return plan_err!(
            "rows cannot be looked for in a subquery; write [NOT] EXISTS (SELECT 1 FROM .. WHERE s.a = t.a AND s.b = t.b)"
        );
    }
    let is_found = |of: &Expr| {
        of.column_refs()
            .iter()
            .all(|column| column.relation.is_some())
    };
    if plan.head_output_expr()?.as_ref().is_some_and(is_found) {
        return Ok(found);
    }
    let subquery = apart(found.subquery)?;
    Ok(InSubquery { subquery, ..found })
}

/// The same with a name for its column that no other has. Where DataFusion 55.2 makes a join of a subquery, it takes a column of the row around it
/// for that of the subquery if both are called the same, as in `x NOT IN (SELECT x FROM t)` over t.
pub(super) fn apart(subquery: Subquery) -> Result<Subquery> {
    let plan = &subquery.subquery;
    let column = Expr::Column(plan.schema().qualified_field(0).into()).alias("__in");
    let plan = LogicalPlanBuilder::from(LogicalPlan::clone(plan)).project([column])?;
    Ok(Subquery {
        subquery: Arc::new(plan.build()?),
        ..subquery
    })
}

/// The CASE with the three values of an IN, whose being true `equal` says if it is given; the IN itself if it is not and the IN is never NULL.
pub(super) fn three_values(
    found: InSubquery,
    equal: Option<Expr>,
    schema: &DFSchema,
) -> Result<Expr> {
    let unknown = null_unless_true(&found, schema)?;
    let InSubquery {
        expr: x,
        subquery,
        negated,
    } = found;
    if unknown.is_none() && equal.is_none() {
        return Ok(Expr::InSubquery(InSubquery::new(x, subquery, negated)));
    }
    let is_in = || Expr::InSubquery(InSubquery::new(x, subquery, false)).is_true();
    let mut values = when(equal.unwrap_or_else(is_in), lit(true));
    if let Some(unknown) = unknown {
        let null = Expr::Literal(ScalarValue::Boolean(None), None);
        values = values.when(unknown, null);
    }
    let values = values.otherwise(lit(false))?;
    Ok(match negated {
        true => not(values),
        false => values,
    })
}

/// When an IN is NULL if it is not true. Never NULL; None if it is never so.
fn null_unless_true(found: &InSubquery, schema: &DFSchema) -> Result<Option<Expr>> {
    let (x, subquery) = (&found.expr, &found.subquery);
    let (table, field) = subquery.subquery.schema().qualified_field(0);
    let mut unknown = vec![];
    if field.is_nullable() {
        let null = Expr::Column(Column::from((table, field))).is_null();
        unknown.push(has_row(subquery, Some(null))?);
    }
    if x.nullable(schema)? {
        let null = Expr::clone(x).is_null();
        unknown.push(null.and(has_row(subquery, None)?));
    }
    Ok(unknown.into_iter().reduce(Expr::or))
}

/// Whether a subquery has a row of which a condition, if any, is true. Never NULL.
pub(super) fn has_row(subquery: &Subquery, condition: Option<Expr>) -> Result<Expr> {
    let mut plan = LogicalPlanBuilder::from(subquery.subquery.clone());
    if let Some(condition) = condition {
        plan = plan.filter(condition)?;
    }
    let correlated = !subquery.outer_ref_columns.is_empty();
    if !correlated {
        // DataFusion runs it once. An EXISTS would be a join of its own.
        plan = plan
            .limit(0, Some(1))?
            .aggregate(Vec::<Expr>::new(), [count(lit(1_i64))])?;
    }
    let subquery = Subquery {
        subquery: Arc::new(plan.build()?),
        ..subquery.clone()
    };
    Ok(match correlated {
        true => Expr::Exists(Exists::new(subquery, false)),
        false => Expr::ScalarSubquery(subquery).gt(lit(0_i64)),
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{batches, block_on, plain, rows};
    use crate::engine::{Engine, EngineOptions};

    /// A value of three-valued logic.
    type Truth = Option<bool>;
    type Value = Option<i64>;

    fn not(a: Truth) -> Truth {
        a.map(|a| !a)
    }

    fn or(a: Truth, b: Truth) -> Truth {
        match (a, b) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }
    }

    fn and(a: Truth, b: Truth) -> Truth {
        not(or(not(a), not(b)))
    }

    fn any(x: Value, set: &[Value], is: fn(i64, i64) -> bool) -> Truth {
        set.iter()
            .map(|y| Some(is(x?, (*y)?)))
            .fold(Some(false), or)
    }

    fn all(x: Value, set: &[Value], is: fn(i64, i64) -> bool) -> Truth {
        set.iter()
            .map(|y| Some(is(x?, (*y)?)))
            .fold(Some(true), and)
    }

    fn sql(value: Value) -> String {
        value.map_or("CAST(NULL AS BIGINT)".into(), |value| {
            format!("CAST({value} AS BIGINT)")
        })
    }

    /// A query with these values in a column y, which can have NULLs only if there are some.
    fn set(values: &[Value]) -> String {
        let rows: Vec<_> = values
            .iter()
            .map(|value| format!("SELECT {} AS y", sql(*value)))
            .collect();
        match rows.is_empty() {
            true => "SELECT CAST(1 AS BIGINT) AS y WHERE false".into(),
            false => rows.join(" UNION ALL "),
        }
    }

    /// What a comparison with all values of a set gives.
    type Test = fn(Value, &[Value]) -> Truth;

    /// What stands in a predicate: `?` is the query.
    const TESTED: &[(&str, Test)] = &[
        ("x IN (?)", |x, s| any(x, s, |x, y| x == y)),
        ("x NOT IN (?)", |x, s| all(x, s, |x, y| x != y)),
        ("nullif(x, 2) NOT IN (?)", |x, s| {
            all(x.filter(|x| *x != 2), s, |x, y| x != y)
        }),
        ("x + 1 IN (?)", |x, s| {
            any(x.map(|x| x + 1), s, |x, y| x == y)
        }),
        ("1 NOT IN (?)", |_, s| all(Some(1), s, |x, y| x != y)),
        ("NULL IN (?)", |_, s| any(None, s, |x, y| x == y)),
        ("x = ANY (?)", |x, s| any(x, s, |x, y| x == y)),
        ("x <> ALL (?)", |x, s| all(x, s, |x, y| x != y)),
        ("x > ANY (?)", |x, s| any(x, s, |x, y| x > y)),
        ("x > ALL (?)", |x, s| all(x, s, |x, y| x > y)),
        ("x <= ALL (?)", |x, s| all(x, s, |x, y| x <= y)),
        // The same names inside and outside.
        ("x IN (SELECT x FROM (SELECT y AS x FROM (?)) t)", |x, s| {
            any(x, s, |x, y| x == y)
        }),
        (
            "x NOT IN (SELECT x FROM (SELECT y AS x FROM (?)) t)",
            |x, s| all(x, s, |x, y| x != y),
        ),
        (
            "x > ANY (SELECT x FROM (SELECT y AS x FROM (?)) t)",
            |x, s| any(x, s, |x, y| x > y),
        ),
        (
            "x <> ALL (SELECT x FROM (SELECT y AS x FROM (?)) t)",
            |x, s| all(x, s, |x, y| x != y),
        ),
        ("EXISTS (?)", |_, s| Some(!s.is_empty())),
        ("NOT EXISTS (?)", |_, s| Some(s.is_empty())),
    ];

    /// What a condition gives in which a comparison stands.
    type Place = fn(Truth, Truth) -> Truth;

    /// Where it stands: `?` is the predicate, b a Boolean.
    const PLACES: &[(&str, Place)] = &[
        ("?", |a, _| a),
        ("NOT (?)", |a, _| not(a)),
        ("b AND ?", |a, b| and(a, b)),
        ("b OR ?", |a, b| or(a, b)),
        ("b OR NOT (?)", |a, b| or(not(a), b)),
        ("NOT (b OR ?)", |a, b| not(or(a, b))),
        ("NOT (b AND ?)", |a, b| not(and(a, b))),
        ("NOT (b AND NOT (?))", |a, b| not(and(not(a), b))),
        ("b OR NOT (b IS NULL AND ?)", |a, b| {
            or(b, not(and(Some(b.is_none()), a)))
        }),
        ("(?) IS NULL", |a, _| Some(a.is_none())),
        ("(?) IS NOT NULL", |a, _| Some(a.is_some())),
        ("(?) IS TRUE", |a, _| Some(a == Some(true))),
        ("(?) IS NOT TRUE", |a, _| Some(a != Some(true))),
        ("(?) IS FALSE", |a, _| Some(a == Some(false))),
        ("(?) IS NOT FALSE", |a, _| Some(a != Some(false))),
        ("(?) IS UNKNOWN", |a, _| Some(a.is_none())),
        ("(b OR NOT (?)) IS NOT TRUE", |a, b| {
            Some(or(b, not(a)) != Some(true))
        }),
        ("(?) = b", |a, b| Some(a? == b?)),
        ("(?) IS DISTINCT FROM b", |a, b| Some(a != b)),
        ("coalesce(?, b)", |a, b| a.or(b)),
        ("CASE WHEN ? THEN b ELSE b IS NULL END", |a, b| {
            match a == Some(true) {
                true => b,
                false => Some(b.is_none()),
            }
        }),
        ("CASE WHEN b THEN ? ELSE NOT (?) END", |a, b| {
            match b == Some(true) {
                true => a,
                false => not(a),
            }
        }),
        ("CASE ? WHEN false THEN true ELSE b END", |a, b| match a {
            Some(false) => Some(true),
            _ => b,
        }),
    ];

    const SETS: &[&[Value]] = &[
        &[],
        &[Some(1)],
        &[Some(1), Some(3)],
        &[None],
        &[Some(1), None],
    ];

    fn session(hash_joins: bool) -> Engine {
        let hash_joins = (
            "datafusion.optimizer.prefer_hash_join".into(),
            hash_joins.to_string(),
        );
        Engine::new(EngineOptions {
            threads: Some(2),
            settings: vec![hash_joins],
            ..EngineOptions::default()
        })
        .unwrap()
    }

    /// The rows of an answer in the order of their letters, or its error.
    async fn sorted(engine: &Engine, sql: &str) -> Result<Vec<String>, String> {
        let mut rows = rows(&batches(engine, sql).await?);
        rows.sort();
        Ok(rows)
    }

    /// Each row of x and b, and the query that gives them. x can be NULL only if it is in one of them.
    fn table(xs: &[Value]) -> (Vec<(Value, Truth)>, String) {
        let rows: Vec<_> = xs
            .iter()
            .flat_map(|x| [Some(true), Some(false), None].map(|b| (*x, b)))
            .collect();
        let queries: Vec<_> = rows
            .iter()
            .map(|(x, b)| {
                let b = b.map_or("NULL".into(), |b| b.to_string());
                format!("SELECT {} AS x, CAST({b} AS BOOLEAN) AS b", sql(*x))
            })
            .collect();
        (rows, queries.join(" UNION ALL "))
    }

    fn text(x: Value, b: Truth) -> String {
        let b = b.map_or("NULL".into(), |b| b.to_string());
        format!("{} | {b}", x.map_or("NULL".into(), |x| x.to_string()))
    }

    const XS: &[&[Value]] = &[&[Some(1), Some(2)], &[Some(1), Some(2), None]];

    #[test]
    fn each_comparison_with_a_set_has_its_three_values_in_each_place() {
        // With hash joins and with sort-merge joins, in turn.
        let engines = [true, false].map(session);
        let mut asked_so_far = 0;
        let mut wrong = vec![];
        block_on(async {
            for (xs, values) in XS.iter().flat_map(|xs| SETS.iter().map(move |s| (xs, s))) {
                let (rows, t) = table(xs);
                for (tested, truth) in TESTED {
                    for (place, of) in PLACES {
                        let tested = tested.replace('?', &set(values));
                        let asked = format!(
                            "WITH t AS ({t}) SELECT x, b FROM t WHERE {}",
                            place.replace('?', &tested)
                        );
                        let mut right: Vec<_> = rows
                            .iter()
                            .filter(|(x, b)| of(truth(*x, values), *b) == Some(true))
                            .map(|(x, b)| text(*x, *b))
                            .collect();
                        right.sort();
                        asked_so_far += 1;
                        let answer = sorted(&engines[asked_so_far % 2], &asked).await;
                        if answer.as_ref() != Ok(&right) {
                            wrong.push(format!("{asked}\n  right {right:?}\n  given {answer:?}"));
                        }
                    }
                }
            }
        });
        assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[0]);
    }

    /// A query's answer that SQL gives, by hand.
    fn right(cases: &[(&str, &[&str])]) {
        for (sql, rows) in cases {
            let mut answer = ask(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            answer.sort();
            assert_eq!(answer, *rows, "{sql}");
        }
    }

    const T: &str = "(VALUES (0), (1), (2)) t(x)";

    #[test]
    fn having_qualify_on_and_filters_of_subqueries_are_filters() {
        right(&[
            (
                "SELECT k FROM (VALUES (1, 5), (2, NULL)) t(k, x) GROUP BY k HAVING k = 9 OR sum(x) NOT IN (VALUES (1), (2))",
                &["1"],
            ),
            (
                "SELECT k FROM (VALUES (1, 5), (2, NULL)) t(k, x) GROUP BY k HAVING (sum(x) NOT IN (VALUES (1), (2))) IS NULL",
                &["2"],
            ),
            (
                "SELECT k FROM (VALUES (1), (2)) t(k) QUALIFY k = 1 OR row_number() OVER (ORDER BY k) NOT IN (VALUES (1), (NULL))",
                &["1"],
            ),
            (
                "SELECT t.x, u.x FROM (VALUES (1), (NULL)) t(x) JOIN (VALUES (1), (2)) u(x) ON t.x = 1 OR u.x NOT IN (VALUES (NULL), (1))",
                &["1 | 1", "1 | 2"],
            ),
            (
                "SELECT t.x, u.x FROM (VALUES (1), (NULL)) t(x) JOIN (VALUES (1), (NULL)) u(x) ON t.x = 1 AND u.x NOT IN (VALUES (2))",
                &["1 | 1"],
            ),
            (
                "SELECT t.x, u.x FROM (VALUES (1), (2)) t(x) LEFT JOIN (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT NULL) u ON t.x = u.x AND (u.x = 2 OR u.x NOT IN (SELECT y FROM (VALUES (3), (NULL)) s(y)))",
                &["1 | NULL", "2 | 2"],
            ),
            (
                "SELECT x FROM (VALUES (0), (1), (2)) t(x) WHERE EXISTS (SELECT 1 FROM (VALUES (1), (NULL)) s(y) WHERE y = x OR y NOT IN (VALUES (1), (NULL)))",
                &["1"],
            ),
        ]);
    }

    #[test]
    fn a_subquery_may_use_columns_of_the_row() {
        let s = "(VALUES (1, 1), (2, NULL), (3, 4)) s(k, y)";
        for (condition, rows) in [
            // Its rows are none, 1 alone, and 1 with NULL.
            (
                format!("x NOT IN (SELECT y FROM {s} WHERE k <= x)"),
                vec!["0"],
            ),
            (
                format!("x IN (SELECT y FROM {s} WHERE k <= x) IS NULL"),
                vec!["2"],
            ),
            (
                format!("x = 1 OR x NOT IN (SELECT y FROM {s} WHERE k <= x)"),
                vec!["0", "1"],
            ),
            // None, 1, and NULL alone.
            (
                format!("x NOT IN (SELECT y FROM {s} WHERE k = x)"),
                vec!["0"],
            ),
            (
                format!("NOT (x IN (SELECT y FROM {s} WHERE k = x)) OR x = 2"),
                vec!["0", "2"],
            ),
            (
                format!("NULL IN (SELECT y FROM {s} WHERE k = x) IS NOT NULL"),
                vec!["0"],
            ),
            // One row, even of none.
            (
                format!("x IN (SELECT count(*) FROM {s} WHERE k = x + 7)"),
                vec!["0"],
            ),
            (
                format!("x NOT IN (SELECT count(y) FROM {s} WHERE k = x)"),
                vec!["2"],
            ),
            (
                format!("x > ALL (SELECT count(*) FROM {s} WHERE k = x)"),
                vec!["2"],
            ),
            (
                format!("x IN (SELECT max(y) FROM {s} WHERE k = x) IS NULL"),
                vec!["0", "2"],
            ),
            (
                format!("EXISTS (SELECT sum(y) FROM {s} WHERE k = x)"),
                vec!["0", "1", "2"],
            ),
            (
                format!("x = 1 OR NOT EXISTS (SELECT sum(y) FROM {s} WHERE k = x)"),
                vec!["1"],
            ),
        ] {
            right(&[(&format!("SELECT x FROM {T} WHERE {condition}"), &rows)]);
        }
    }

    #[test]
    fn what_cannot_be_answered_says_what_to_write() {
        for (rest, says) in [
            ("WHERE (x, x) NOT IN (SELECT (1, 2))", "write [NOT] EXISTS"),
            (
                "WHERE (x, x) NOT IN (SELECT 1, 2)",
                "[NOT] EXISTS (SELECT 1 FROM",
            ),
            (
                "WHERE x IN (SELECT row_number() OVER () FROM (VALUES (1)) s(y) WHERE y = x)",
                "write a join",
            ),
            (
                "WHERE x IN (SELECT y FROM (VALUES (1)) s(y) WHERE y = x LIMIT 1)",
                "write a join",
            ),
            (
                "WHERE x = ANY (SELECT y FROM (VALUES (1)) s(y) WHERE y = x LIMIT 1)",
                "write a join",
            ),
            (
                "WHERE EXISTS (SELECT 1 FROM (VALUES (1)) s(y) WHERE y = x HAVING count(*) = 0)",
                "(SELECT count(*) ..) > 1",
            ),
            (
                "WHERE EXISTS (SELECT 1 FROM (VALUES (1)) s(y) WHERE x NOT IN (VALUES (1)))",
                "write a LEFT JOIN",
            ),
        ] {
            let error = ask(&format!("SELECT x FROM {T} {rest}")).unwrap_err();
            assert!(error.contains(says), "{rest}: {error}");
        }
    }

    #[test]
    fn without_nulls_nothing_is_written_out() {
        let plan = |condition: &str| {
            let sql = format!("EXPLAIN SELECT x FROM {T} WHERE x = 5 OR {condition}");
            ask(&sql).unwrap().join("\n")
        };
        assert!(!plan("x NOT IN (SELECT y FROM (VALUES (1)) s(y))").contains("count("));
        assert!(plan("x NOT IN (SELECT y FROM (VALUES (1), (NULL)) s(y))").contains("count("));
        assert!(!plan("x IN (SELECT y FROM (VALUES (1), (NULL)) s(y))").contains("count("));
    }

    /// A null-aware anti join holds the rows of x, and a join for an EXISTS looks at each row of x.
    #[test]
    fn what_does_not_depend_on_the_row_is_asked_once() {
        let plan = |condition: &str| {
            ask(&format!("EXPLAIN SELECT x FROM {T} WHERE {condition}"))
                .unwrap()
                .join("\n")
        };
        let not_in = plan("x NOT IN (SELECT y FROM (VALUES (1), (NULL)) s(y))");
        assert!(not_in.contains("Anti"), "{not_in}");
        assert!(not_in.contains("ScalarSubqueryExec"), "{not_in}");
        assert!(!not_in.contains("null_aware"), "{not_in}");
        for exists in ["EXISTS", "NOT EXISTS"] {
            let plan = plan(&format!("{exists} (SELECT 1 FROM (VALUES (1)) s(y))"));
            assert!(!plan.contains("Join"), "{plan}");
        }
    }

    /// Each condition is true of no row. The rule, or the part of it, can go as soon as one of them fails.
    #[test]
    fn datafusion_alone_is_wrong() {
        for condition in [
            "x = 5 OR x NOT IN (SELECT y FROM (VALUES (7), (NULL)) s(y))",
            "x NOT IN (SELECT y FROM (VALUES (7), (NULL)) s(y)) IS NOT NULL",
            "nullif(x, x) NOT IN (SELECT y FROM (VALUES (7)) s(y))",
            "NOT EXISTS (SELECT count(*) FROM (VALUES (1)) s(y) WHERE y = x)",
        ] {
            let sql = format!("SELECT x FROM {T} WHERE {condition}");
            right(&[(&sql, &[])]);
            let alone = block_on(async { plain(2).sql(&sql).await?.collect().await });
            assert!(!rows(&alone.unwrap()).is_empty(), "{condition}");
        }
    }
}
