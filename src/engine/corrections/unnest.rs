//! `unnest` makes several rows of one: what was unique below it is not unique above.
//!
//! DataFusion 55.2 goes on believing that the keys of a grouping determine its other columns after a list of these was unnested
//! (its pull request 24787). Above such an `unnest` it then leaves terms out of GROUP BY and ORDER BY, adds others, takes DISTINCT for done,
//! and makes joins smaller than they are, all without a word:
//!
//! ```sql
//! WITH a AS (SELECT g, array_agg(x) AS l FROM t GROUP BY g), b AS (SELECT g, unnest(l) AS x FROM a)
//! SELECT DISTINCT g FROM b                  -- as many rows as b has
//! ```
//!
//! What the input of an `unnest` knows of its keys is taken away: of each key one column passes through [`SAME`], a function that
//! gives what it is given, of which DataFusion does not know that. [`UniqueNoMore`] does so while a statement is planned, for the
//! relations in its FROM, since GROUP BY looks at them then, and again for the whole plan.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, Result, internal_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, Projection, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::TableFactor;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// Takes away what inputs of `unnest` know of their keys.
#[derive(Debug)]
pub(in crate::engine) struct UniqueNoMore;

impl AnalyzerRule for UniqueNoMore {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        forget_keys(plan)
    }

    fn name(&self) -> &str {
        "unique_no_more"
    }
}

thread_local! {
    /// That the relation to be planned next comes from this planner, and is DataFusion's to plan.
    static THROUGH: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for UniqueNoMore {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if THROUGH.take()
            || !matches!(
                relation,
                TableFactor::Table { .. } | TableFactor::Derived { .. }
            )
        {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        THROUGH.set(true);
        let plan = context.plan(relation);
        // Had it failed before it came here again, the next relation would be passed over.
        THROUGH.set(false);
        let plan = forget_keys(plan?)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan, None,
        ))))
    }
}

fn forget_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found = matches!(node, LogicalPlan::Unnest(unnest) if !unnest.input.schema().functional_dependencies().is_empty());
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    if !found {
        return Ok(plan);
    }
    let forgotten = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Unnest(mut unnest) => {
            if !unnest.input.schema().functional_dependencies().is_empty() {
                unnest.input = Arc::new(without_keys(unnest.input)?);
            }
            Ok(Transformed::yes(
                LogicalPlan::Unnest(unnest).recompute_schema()?,
            ))
        }
        node => Ok(Transformed::yes(node.recompute_schema()?)),
    })?;
    Ok(forgotten.data)
}

/// The same rows under the same names.
fn without_keys(input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
    let schema = input.schema();
    // A key is known as long as all of its columns are columns.
    let last: BTreeSet<usize> = (schema.functional_dependencies().iter())
        .filter_map(|key| key.source_indices.last().copied())
        .collect();
    let columns = schema.iter().enumerate().map(|(at, (table, field))| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        match last.contains(&at) {
            true => SAME
                .call(vec![column])
                .alias_qualified(table.cloned(), field.name()),
            false => column,
        }
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(
        columns, input,
    )?))
}

/// What it is given, whatever that is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Same {
    signature: Signature,
}

/// The function that gives what it is given.
pub(in crate::engine) static SAME: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(Same {
        signature: Signature::any(1, Volatility::Immutable),
    }))
});

impl ScalarUDFImpl for Same {
    fn name(&self) -> &str {
        "same_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match given {
            [one] => Ok(one.clone()),
            _ => internal_err!("same_value takes one argument"),
        }
    }

    fn return_field_from_args(&self, given: ReturnFieldArgs) -> Result<FieldRef> {
        match given.arg_fields {
            [one] => Ok(one.clone()),
            _ => internal_err!("same_value takes one argument"),
        }
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match given.args.into_iter().next() {
            Some(one) => Ok(one),
            None => internal_err!("same_value takes one argument"),
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(inputs
            .first()
            .map_or(SortProperties::Unordered, |one| one.sort_properties))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::rows;
    use crate::engine::{Engine, EngineOptions, runtime};

    /// The rows of `b`: (1, 5), (1, 6), (1, 11), (2, 7).
    const B: &str = "WITH t(g, x) AS (VALUES (1, 5), (1, 6), (1, 11), (2, 7)), a AS (SELECT g, array_agg(x) AS l FROM t GROUP BY g), b AS (SELECT g, unnest(l) AS x FROM a) ";

    #[test]
    fn rows_of_an_unnested_list_are_not_taken_for_one() {
        runtime(Some(2)).unwrap().block_on(async {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            for (sql, expected) in [
                ("SELECT g, sum(x) FROM b GROUP BY g ORDER BY g", vec!["1 | 22", "2 | 7"]),
                ("SELECT g, x % 5 AS r, sum(x) FROM b GROUP BY g, x % 5 ORDER BY g, r", vec!["1 | 0 | 5", "1 | 1 | 17", "2 | 2 | 7"]),
                ("SELECT DISTINCT g FROM b ORDER BY g", vec!["1", "2"]),
                ("SELECT g, x FROM b ORDER BY g, x DESC", vec!["1 | 11", "1 | 6", "1 | 5", "2 | 7"]),
                ("SELECT count(*) FROM t JOIN b ON b.g = t.g", vec!["10"]),
                ("SELECT t.g FROM t JOIN b ON b.g = t.g WHERE t.x = 5", vec!["1", "1", "1"]),
                ("SELECT g, count(*) FROM (SELECT g, unnest(l) FROM a) GROUP BY g ORDER BY g", vec!["1 | 3", "2 | 1"]),
                ("SELECT DISTINCT a.g, unnest(l) % 2 AS r FROM a ORDER BY g, r", vec!["1 | 0", "1 | 1", "2 | 1"]),
                ("SELECT c.g, sum(c.x) FROM (SELECT a.g, d.g AS h, unnest(a.l) AS x FROM a JOIN a AS d ON d.g = a.g) AS c GROUP BY c.g ORDER BY c.g", vec!["1 | 22", "2 | 7"]),
                // What is unique still is: no rows are lost where nothing was unnested.
                ("SELECT g, array_length(l) FROM a GROUP BY g, l ORDER BY g", vec!["1 | 3", "2 | 1"]),
            ] {
                let answer = engine.run(&format!("{B}{sql}")).await.unwrap().collect().await.unwrap();
                assert_eq!(rows(&answer), expected, "{sql}");
            }
            engine.run(&format!("CREATE VIEW v AS {B} SELECT g, x FROM b")).await.unwrap();
            let answer = engine.run("SELECT g, sum(x) FROM v GROUP BY g ORDER BY g").await.unwrap();
            assert_eq!(rows(&answer.collect().await.unwrap()), ["1 | 22", "2 | 7"]);
        });
    }
}
