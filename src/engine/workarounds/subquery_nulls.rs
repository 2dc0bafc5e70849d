//! A subquery that is a value may be NULL, though its column never is: `(SELECT job_id FROM slurm_job WHERE job_id = -1) IS NULL`.
//!
//! DataFusion 55.2 asks the column of the subquery whether it can be NULL, and forgets that there may be no row: IS NULL becomes false, `coalesce(.., 1)` drops its second
//! term, and an output is an error. Here such a subquery is given to a function of which nobody knows that it gives what it is given.

use crate::engine::logical::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::{Arc, LazyLock};

#[derive(Debug)]
pub(in crate::engine) struct SubqueryNulls;

impl AnalyzerRule for SubqueryNulls {
    fn name(&self) -> &str {
        "subquery_nulls"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_such(&plan)? {
            return Ok(plan);
        }
        let mut changed = false;
        plan_up(plan, &mut |plan| {
            let plan = kept_names::map_expressions(plan, &mut |expr| {
                expr_up(expr, &mut |expr| match is_such(&expr) {
                    true => {
                        let call = ScalarFunction::new_udf(MAYBE_NULL.clone(), vec![expr]);
                        Ok(Transformed::yes(Expr::ScalarFunction(call)))
                    }
                    false => Ok(Transformed::no(expr)),
                })
            })?;
            changed |= plan.transformed;
            // What stands above takes its columns for never NULL, too.
            match changed {
                true => plan.map_data(LogicalPlan::recompute_schema),
                false => Ok(plan),
            }
        })
        .data()
    }
}

/// Whether a plan has such a subquery: few have, and the others stay as they are.
fn has_such(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found = found || expr.exists(|expr| Ok(is_such(expr)))?;
            Ok(match found {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })
    })?;
    Ok(found)
}

/// Whether it is a subquery whose column is never NULL, but that may have no row.
fn is_such(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarSubquery(subquery) => {
            let plan = &subquery.subquery;
            plan.schema()
                .fields()
                .iter()
                .all(|field| !field.is_nullable())
                && !has_a_row(plan)
        }
        _ => false,
    }
}

/// Whether a plan has one row for certain.
fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_a_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_a_row(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(relation) => relation.produce_one_row,
        _ => false,
    }
}

/// The function that gives what it is given, and that may give NULL.
pub(in crate::engine) static MAYBE_NULL: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(MaybeNull {
        signature: Signature::any(1, Volatility::Immutable),
    }))
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct MaybeNull {
    signature: Signature,
}

impl ScalarUDFImpl for MaybeNull {
    fn name(&self) -> &str {
        "maybe_null"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match given {
            [one] => Ok(one.clone()),
            _ => internal_err!("maybe_null takes one argument"),
        }
    }

    fn return_field_from_args(&self, given: ReturnFieldArgs) -> Result<FieldRef> {
        match given.arg_fields {
            [one] => Ok(Arc::new(Field::clone(one).with_nullable(true))),
            _ => internal_err!("maybe_null takes one argument"),
        }
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match given.args.into_iter().next() {
            Some(one) => Ok(one),
            None => internal_err!("maybe_null takes one argument"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_subquery_without_a_row_is_null() {
        const T: &str = "generate_series(1, 3) AS t(k)";
        for (term, found) in [
            ("(SELECT 1 WHERE false) IS NULL", "true"),
            ("(SELECT 1 WHERE false)", "NULL"),
            ("coalesce((SELECT 1 WHERE false), 5)", "5"),
            (
                "(SELECT 'yes' FROM generate_series(1, 2) AS u(v) WHERE v > 7) IS NOT NULL",
                "false",
            ),
            (
                "(SELECT count(*) FROM generate_series(1, 2) AS u(v) WHERE v > 7 GROUP BY v) IS NULL",
                "true",
            ),
            (
                "coalesce((SELECT count(*) FROM generate_series(1, 2) AS u(v) WHERE v = k HAVING count(*) > 1), -5)",
                "-5",
            ),
            (
                "(SELECT count(*) FROM generate_series(1, 2) AS u(v) WHERE v > 7) IS NULL",
                "false",
            ),
            (
                "(SELECT count(*) FROM generate_series(1, 2) AS u(v) WHERE v = k + 7)",
                "0",
            ),
            ("(SELECT 7) + 1", "8"),
        ] {
            let sql = format!("SELECT {term} AS c FROM {T} LIMIT 1");
            assert_eq!(ask(&sql).unwrap(), [found], "{sql}");
        }
        for (condition, rows) in [
            (
                "(SELECT v FROM generate_series(1, 2) AS u(v) WHERE v > 7) IS NULL",
                "3",
            ),
            (
                "(SELECT count(*) FROM generate_series(1, 2) AS u(v) WHERE u.v = k HAVING count(*) > 0) IS NULL",
                "1",
            ),
            (
                "k = (SELECT v FROM generate_series(1, 2) AS u(v) WHERE v = 2)",
                "1",
            ),
        ] {
            let sql = format!("SELECT count(*) FROM {T} WHERE {condition}");
            assert_eq!(ask(&sql).unwrap(), [rows], "{sql}");
        }
    }
}
