//! What a column determines below an `unnest`, or below a grouping of joined rows, it does not determine above.
//!
//! DataFusion 55.2 keeps two kinds of functional dependencies that no longer hold:
//! - The keys of a grouping still determine its other columns after a list of these was unnested (its pull request 24787).
//! - A key of one side of a join determines the columns of that side alone. A grouping by this key and other columns takes it for a
//!   key of all its columns.
//!
//! Above these it leaves terms out of GROUP BY and ORDER BY, adds others, takes DISTINCT for done, and makes joins smaller than they are, all
//! without a word:
//!
//! ```sql
//! WITH a AS (SELECT g, array_agg(x) AS l FROM t GROUP BY g), b AS (SELECT g, unnest(l) AS x FROM a)
//! SELECT DISTINCT g FROM b                  -- as many rows as b has
//!
//! WITH a AS (SELECT g FROM t GROUP BY g)
//! SELECT DISTINCT a.g, u.x FROM a CROSS JOIN u ORDER BY g, x     -- x in any order
//! ```
//!
//! The dependencies of such an input are taken away: of each key one column passes through [`OPTIMIZER_BARRIER`], a function that gives what it is
//! given, of which DataFusion does not know that. [`DropFunctionalDependencies`] does so while a statement is planned, for the relations in its FROM,
//! since GROUP BY looks at them then, again for the whole plan, and after each pass that makes a LEFT or inner join of a FULL one: that has
//! keys that the FULL join had not. [`PLAIN_COLUMNS`] puts the column itself into the physical plan, which has no functional dependencies.
//!
//! Delete when `a_key_of_a_side_is_taken_for_one_of_a_grouping` fails and the pull request is in.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use crate::engine::rewrite::plan_up;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, FunctionalDependence, Result, internal_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    Aggregate, ColumnarValue, Distinct, Expr, LogicalPlan, Projection, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::sql::sqlparser::ast::TableFactor;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// Takes away functional dependencies that DataFusion would keep too long.
#[derive(Debug)]
pub(in crate::engine) struct DropFunctionalDependencies;

/// Columns instead of [`OPTIMIZER_BARRIER`] of them.
pub(in crate::engine) const PLAIN_COLUMNS: NodeRewrite = NodeRewrite {
    name: "plain_columns",
    instead: plain_columns,
};

impl AnalyzerRule for DropFunctionalDependencies {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        forget(grouped(plan)?)
    }

    fn name(&self) -> &str {
        "forget_functional_dependencies"
    }
}

impl OptimizerRule for DropFunctionalDependencies {
    fn name(&self) -> &str {
        "forget_functional_dependencies"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !may_mistake(&plan, Below::Nothing)? {
            return Ok(Transformed::no(plan));
        }
        // A rule changes a node and leaves the dependencies of those above it as they were.
        let known = plan_up(plan.clone(), &mut |node| {
            Ok(Transformed::yes(node.recompute_schema()?))
        })?
        .data;
        match keeps_too_long(&known)? {
            true => Ok(Transformed::yes(forget(known)?)),
            false => Ok(Transformed::no(plan)),
        }
    }
}

/// What stands above a node.
#[derive(Clone, Copy, PartialEq)]
enum Below {
    Nothing,
    Grouping,
    /// A join below a grouping.
    Join,
}

/// Whether there is a grouping of joined rows, one side of which is grouped: only such have a key of one side.
fn may_mistake(plan: &LogicalPlan, below: Below) -> Result<bool> {
    let below = match plan {
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) if below == Below::Join => {
            return Ok(true);
        }
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) => Below::Grouping,
        LogicalPlan::Join(_) if below == Below::Grouping => Below::Join,
        _ => below,
    };
    let mut found = false;
    plan.apply_subqueries(|subquery| {
        found = found || may_mistake(subquery, Below::Nothing)?;
        Ok(TreeNodeRecursion::Jump)
    })?;
    for input in plan.inputs() {
        found = found || may_mistake(input, below)?;
    }
    Ok(found)
}

thread_local! {
    /// That the relation to be planned next comes from this planner, and is DataFusion's to plan.
    static THROUGH: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for DropFunctionalDependencies {
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
        let plan = forget(plan?)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan, None,
        ))))
    }
}

/// The same plan, with a grouping in place of each DISTINCT: DataFusion makes one of it later, whose keys are known only then. One that DataFusion
/// will find to be done already stays.
fn grouped(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found = matches!(node, LogicalPlan::Distinct(Distinct::All(_)));
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    if !found {
        return Ok(plan);
    }
    let grouped = plan_up(plan, &mut |node| {
        let LogicalPlan::Distinct(Distinct::All(input)) = &node else {
            return Ok(match node.inputs().is_empty() {
                true => Transformed::no(node),
                false => Transformed::yes(node.recompute_schema()?),
            });
        };
        let columns = input.schema().columns();
        let is_whole = |key: &FunctionalDependence| {
            let first = key.source_indices.iter().take(columns.len());
            key.source_indices.len() >= columns.len() && first.copied().eq(0..columns.len())
        };
        let keys = input.schema().functional_dependencies();
        if columns.is_empty() || keys.iter().any(is_whole) {
            return Ok(Transformed::no(node));
        }
        let columns = columns.into_iter().map(Expr::Column).collect();
        let grouping = Aggregate::try_new(Arc::clone(input), columns, vec![])?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(grouping)))
    })?;
    Ok(grouped.data)
}

/// The same plan, in which no dependency is kept too long.
fn forget(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !keeps_too_long(&plan)? {
        return Ok(plan);
    }
    let forgotten = plan_up(plan, &mut |node| {
        let lost = lost(&node);
        let node = match lost.is_empty() {
            true => node,
            false => node.map_children(|input| without(input, &lost))?.data,
        };
        Ok(Transformed::yes(node.recompute_schema()?))
    })?;
    Ok(forgotten.data)
}

/// Whether a dependency is kept too long.
fn keeps_too_long(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found = !lost(node).is_empty();
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// Columns of the node's input, by position: the last one of each key that determines less above the node than DataFusion believes.
fn lost(node: &LogicalPlan) -> BTreeSet<usize> {
    match node {
        LogicalPlan::Unnest(unnest) => last_columns(unnest.input.schema(), |_| true),
        LogicalPlan::Aggregate(aggregate) => lost_by_grouping(
            aggregate.input.schema(),
            (aggregate.group_expr.iter()).map(|expr| expr.schema_name().to_string()),
        ),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            lost_by_grouping(input.schema(), input.schema().field_names().into_iter())
        }
        LogicalPlan::Distinct(Distinct::On(on)) => lost_by_grouping(
            on.input.schema(),
            (on.on_expr.iter()).map(|expr| expr.schema_name().to_string()),
        ),
        _ => BTreeSet::new(),
    }
}

/// The last column of each key in a GROUP BY that does not determine all terms of it.
fn lost_by_grouping(input: &DFSchema, terms: impl Iterator<Item = String>) -> BTreeSet<usize> {
    if input.functional_dependencies().is_empty() {
        return BTreeSet::new();
    }
    let names = input.field_names();
    let terms: Vec<String> = terms.collect();
    last_columns(input, |key| {
        let is_in = |at: &usize| terms.contains(&names[*at]);
        let is_determined = |term: &String| key.target_indices.iter().any(|at| names[*at] == *term);
        key.source_indices.iter().all(is_in) && !terms.iter().all(is_determined)
    })
}

/// The last column of each of these keys: a key is known as long as all of its columns are columns.
fn last_columns(
    schema: &DFSchema,
    is_lost: impl Fn(&FunctionalDependence) -> bool,
) -> BTreeSet<usize> {
    let keys = schema.functional_dependencies().iter();
    keys.filter(|key| is_lost(key))
        .filter_map(|key| key.source_indices.last().copied())
        .collect()
}

/// The same rows under the same names; nothing is known of these columns.
fn without(input: LogicalPlan, lost: &BTreeSet<usize>) -> Result<Transformed<LogicalPlan>> {
    let columns = input.schema().iter().enumerate();
    let columns = columns.map(|(at, (table, field))| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        match lost.contains(&at) {
            true => OPTIMIZER_BARRIER
                .call(vec![column])
                .alias_qualified(table.cloned(), field.name()),
            false => column,
        }
    });
    let projection = Projection::try_new(columns.collect(), Arc::new(input))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

fn plain_columns(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(projection) = node.downcast_ref::<ProjectionExec>() else {
        return Ok(None);
    };
    let mut found = false;
    let exprs = projection.expr().iter().cloned().map(|mut one| {
        if let Some(column) = column_behind_barrier(&one.expr) {
            found = true;
            one.expr = column;
        }
        one
    });
    let exprs: Vec<ProjectionExpr> = exprs.collect();
    match found {
        true => Ok(Some(Arc::new(ProjectionExec::try_new(
            exprs,
            Arc::clone(projection.input()),
        )?))),
        false => Ok(None),
    }
}

/// The column that [`OPTIMIZER_BARRIER`] is given; None if the expression is anything else.
fn column_behind_barrier(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let [column] = function.args() else {
        return None;
    };
    let is_plain =
        function.fun().name() == OPTIMIZER_BARRIER.name() && column.is::<PhysicalColumn>();
    is_plain.then(|| Arc::clone(column))
}

/// What it is given, whatever that is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OptimizerBarrier {
    name: &'static str,
    /// Whether DataFusion is to know that values have the order of those that are given.
    keeps_order: bool,
    signature: Signature,
}

impl OptimizerBarrier {
    fn named(name: &'static str, keeps_order: bool) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(Self {
            name,
            keeps_order,
            signature: Signature::any(1, Volatility::Immutable),
        }))
    }
}

/// The function that gives what it is given.
pub(in crate::engine) static OPTIMIZER_BARRIER: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| OptimizerBarrier::named("same_value", true));

/// The same, of which DataFusion does not know either in what order values come.
pub(in crate::engine) static ORDER_BARRIER: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| OptimizerBarrier::named("same_value_in_any_order", false));

impl ScalarUDFImpl for OptimizerBarrier {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match given {
            [one] => Ok(one.clone()),
            _ => internal_err!("{} takes one argument", self.name),
        }
    }

    fn return_field_from_args(&self, given: ReturnFieldArgs) -> Result<FieldRef> {
        match given.arg_fields {
            [one] => Ok(one.clone()),
            _ => internal_err!("{} takes one argument", self.name),
        }
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match given.args.into_iter().next() {
            Some(one) => Ok(one),
            None => internal_err!("{} takes one argument", self.name),
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let given = inputs.first().filter(|_| self.keeps_order);
        Ok(given.map_or(SortProperties::Unordered, |one| one.sort_properties))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::rows;
    use crate::engine::{Engine, EngineOptions, runtime};

    /// One group, 1, and the rows 3, 9, 5, 7.
    const A_AND_U: &str = "WITH a AS (SELECT g FROM (VALUES (1), (1)) AS t(g) GROUP BY g), u(x) AS (VALUES (3), (9), (5), (7)), d AS (SELECT DISTINCT g, x FROM a CROSS JOIN u) ";

    #[test]
    fn a_key_of_one_side_of_a_join_is_none_of_a_grouping_by_columns_of_both() {
        runtime(Some(2)).unwrap().block_on(async {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            for (sql, expected) in [
                ("SELECT g, x FROM d ORDER BY g, x DESC", vec!["1 | 9", "1 | 7", "1 | 5", "1 | 3"]),
                ("SELECT DISTINCT g FROM d", vec!["1"]),
                ("SELECT count(*) FROM (SELECT g FROM d GROUP BY g, x)", vec!["4"]),
                ("SELECT g, count(DISTINCT x) FROM d GROUP BY g, x % 4 ORDER BY 2 DESC", vec!["1 | 2", "1 | 2"]),
                ("SELECT g, x, count(*) FROM a CROSS JOIN u GROUP BY g, x ORDER BY g, x DESC", vec!["1 | 9 | 1", "1 | 7 | 1", "1 | 5 | 1", "1 | 3 | 1"]),
                ("SELECT g, x > 5 AS large, count(*) FROM a JOIN u ON x > g GROUP BY g, x > 5 ORDER BY g, large DESC", vec!["1 | true | 2", "1 | false | 2"]),
                ("SELECT DISTINCT ON (g, x) g, x, x + 1 FROM a CROSS JOIN u ORDER BY g, x DESC", vec!["1 | 9 | 10", "1 | 7 | 8", "1 | 5 | 6", "1 | 3 | 4"]),
                ("SELECT count(*) FROM u JOIN d ON d.g = u.x - 2", vec!["4"]),
                ("SELECT g, x, sum(x) OVER (ORDER BY g) FROM d ORDER BY x LIMIT 1", vec!["1 | 3 | 24"]),
                ("SELECT g, x FROM (SELECT g, x FROM a CROSS JOIN u UNION SELECT 1, 4) ORDER BY g, x LIMIT 2", vec!["1 | 3", "1 | 4"]),
                // The FULL join becomes a LEFT or an inner one while the plan is optimised, and has the key of its side only then.
                ("SELECT DISTINCT u.x % 5 AS y, a.g FROM a FULL JOIN u ON true WHERE u.x >= a.g ORDER BY g, y DESC", vec!["4 | 1", "3 | 1", "2 | 1", "0 | 1"]),
                ("SELECT x % 5 AS y, g FROM u FULL JOIN a ON u.x - 2 >= a.g WHERE x <> 9 GROUP BY y, g ORDER BY g, y DESC", vec!["3 | 1", "2 | 1", "0 | 1"]),
                ("SELECT DISTINCT b.s, x FROM (SELECT lower('B') AS s FROM u GROUP BY 1) AS b RIGHT JOIN u ON true ORDER BY s DESC, x", vec!["b | 3", "b | 5", "b | 7", "b | 9"]),
                // A key of a side still is one of a grouping by columns of that side.
                ("SELECT g, n, count(*) FROM (SELECT g, count(*) AS n FROM (VALUES (1), (1)) AS t(g) GROUP BY g) AS a CROSS JOIN u GROUP BY g", vec!["1 | 2 | 4"]),
            ] {
                let answer = engine.run(&format!("{A_AND_U}{sql}")).await.unwrap().collect().await.unwrap();
                assert_eq!(rows(&answer), expected, "{sql}");
            }
            // Such as this would not be refused: x is no function of g.
            let refused = engine.run(&format!("{A_AND_U}SELECT g, x FROM d GROUP BY g")).await;
            assert!(refused.is_err());
            let sql = format!("EXPLAIN {A_AND_U}SELECT g, x, count(*) FROM a CROSS JOIN u GROUP BY g, x");
            let plan = rows(&engine.run(&sql).await.unwrap().collect().await.unwrap()).join("\n");
            let (logical, physical) = plan.split_once("physical_plan").unwrap();
            assert!(logical.contains("same_value") && !physical.contains("same_value"), "{plan}");
        });
    }

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
