//! `percentile_cont`: to the last digit, and of one column as often as wanted.
//!
//! DataFusion 55.2 rounds the way from one value to the next down to a millionth of it: of 0 and 1e12 the third is 333,333,000,000. And three
//! percentiles of a column keep all of its values three times. Those of one column become one [`quantiles`](super::super::functions), of which each takes its own.
//!
//! ```sql
//! SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_cont(0.9) WITHIN GROUP (ORDER BY x) FROM t
//! SELECT quantiles(x, 0.5, 0.9)[1], quantiles(x, 0.5, 0.9)[2] FROM t
//! ```
//!
//! As a window function, and with DISTINCT, it gathers its values as DataFusion does, and computes of them as [`quantiles`](super::super::functions) does.

use super::super::functions::QUANTILES;
use super::aggregates::is;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::functions_aggregate::percentile_cont::PercentileCont;
use datafusion::functions_nested::expr_fn::array_element;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable, LogicalPlan, Projection, lit,
};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::{Arc, LazyLock};

static FUNCTION: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(QUANTILES.udaf()));

/// Puts [`QUANTILES`] in the place of `percentile_cont`.
#[derive(Debug)]
pub(in crate::engine) struct ExactPercentileCont;

impl OptimizerRule for ExactPercentileCont {
    fn name(&self) -> &str {
        "to_the_last_digit"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(grouping) => rewrite(grouping),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// The percentiles of one column: the value and the condition of the function, and which are asked for.
struct Asked {
    value: Expr,
    filter: Option<Box<Expr>>,
    at: Vec<f64>,
}

impl Asked {
    fn function(&self) -> Expr {
        let at = self.at.iter().map(|at| lit(*at));
        let arguments = std::iter::once(self.value.clone()).chain(at).collect();
        let function = FUNCTION.clone();
        let filter = self.filter.clone();
        let function = AggregateFunction::new_udf(function, arguments, false, filter, vec![], None);
        Expr::AggregateFunction(function)
    }
}

fn rewrite(grouping: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let mut asked: Vec<Asked> = vec![];
    // Of each function, if it is one of these: which of `asked` has it, and at which place from 1 on.
    let mut places = vec![];
    for function in &grouping.aggr_expr {
        let Some(one) = percentile(function, &grouping)? else {
            places.push(None);
            continue;
        };
        let same = |asked: &Asked| asked.value == one.value && asked.filter == one.filter;
        let of = asked.iter().position(same).unwrap_or(asked.len());
        let at = one.at[0];
        match asked.get_mut(of) {
            Some(asked) if asked.at.contains(&at) => {}
            Some(asked) => asked.at.push(at),
            None => asked.push(one),
        }
        let place = asked[of].at.iter().position(|known| *known == at);
        places.push(place.map(|place| (of, place + 1)));
    }
    if asked.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(grouping)));
    }
    let all = grouping.aggr_expr.iter().zip(&places);
    let others = all.filter(|(_, place)| place.is_none());
    let mut functions: Vec<Expr> = others.map(|(function, _)| function.clone()).collect();
    functions.extend(asked.iter().map(Asked::function));
    let changed = Aggregate::try_new(
        grouping.input.clone(),
        grouping.group_expr.clone(),
        functions,
    )?;
    let keys = grouping.schema.fields().len() - grouping.aggr_expr.len();
    let first = changed.schema.fields().len() - asked.len();
    let column = |at: usize| Expr::Column(Column::from(changed.schema.qualified_field(at)));
    let (mut columns, mut other): (Vec<Expr>, _) = ((0..keys).map(column).collect(), keys);
    for (i, place) in places.iter().enumerate() {
        columns.push(match place {
            Some((of, place)) => {
                let (table, field) = grouping.schema.qualified_field(keys + i);
                array_element(column(first + of), lit(*place as i64))
                    .alias_qualified(table.cloned(), field.name())
            }
            None => {
                other += 1;
                column(other - 1)
            }
        });
    }
    let changed = Arc::new(LogicalPlan::Aggregate(changed));
    let plan = Projection::try_new_with_schema(columns, changed, grouping.schema)?;
    Ok(Transformed::yes(LogicalPlan::Projection(plan)))
}

/// What a plain `percentile_cont` of floats asks for.
fn percentile(function: &Expr, grouping: &Aggregate) -> Result<Option<Asked>> {
    // A constant that was computed leaves the name of what it was computed from.
    let Expr::AggregateFunction(AggregateFunction { func, params }) = function.clone().unalias()
    else {
        return Ok(None);
    };
    let [value, Expr::Literal(ScalarValue::Float64(Some(at)), _)] = &params.args[..] else {
        return Ok(None);
    };
    let plain = is::<PercentileCont>(&func)
        && !params.distinct
        && (0.0..=1.0).contains(at)
        && value.get_type(grouping.input.schema())? == DataType::Float64;
    let falling = params.order_by.first().is_some_and(|order| !order.asc);
    Ok(plain.then(|| Asked {
        value: value.clone(),
        filter: params.filter.clone(),
        at: vec![if falling { 1.0 - at } else { *at }],
    }))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const X: &str = "FROM (VALUES ('a', 0), ('a', 1000000000000), ('b', 7), ('b', NULL), ('c', NULL)) AS t(g, x)";

    /// By hand: the third of 0 and 1e12 lies a third of the way between them.
    #[test]
    fn a_percentile_is_exact() {
        let sql = format!(
            "SELECT percentile_cont(CAST(1 AS DOUBLE) / 3) WITHIN GROUP (ORDER BY x) {X} WHERE g = 'a'"
        );
        assert_eq!(ask(&sql).unwrap(), ["333333333333.3333"]);
    }

    /// By hand: the thirds of 0 and 1e12, and of these and 3e12; the same value twice counts once with DISTINCT.
    #[test]
    fn it_is_exact_over_windows_and_of_distinct_values() {
        let third = "CAST(1 AS DOUBLE) / 3";
        let x =
            "FROM (VALUES (1, 0), (2, 1000000000000), (3, 3000000000000), (4, NULL)) AS t(i, x)";
        for (over, answer) in [
            ("()", ["666666666666.6666"; 4]),
            (
                "(ORDER BY i)",
                [
                    "0.0",
                    "333333333333.3333",
                    "666666666666.6666",
                    "666666666666.6666",
                ],
            ),
            (
                "(ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
                [
                    "0.0",
                    "333333333333.3333",
                    "1666666666666.6665",
                    "3000000000000.0",
                ],
            ),
        ] {
            let sql = format!("SELECT percentile_cont(x, {third}) OVER {over} {x} ORDER BY i");
            assert_eq!(ask(&sql).unwrap(), answer, "{over}");
        }
        let sql = format!(
            "SELECT percentile_cont(DISTINCT x, {third}), percentile_cont(DISTINCT x, {third}) FILTER (WHERE x > 5) \
             FROM (VALUES (0), (0), (1000000000000)) AS t(x)"
        );
        assert_eq!(ask(&sql).unwrap(), ["333333333333.3333 | 1000000000000.0"]);
    }

    #[test]
    fn percentiles_of_several_columns_beside_other_functions_keep_their_places_and_names() {
        let of = |at: &str, x: &str| format!("percentile_cont({at}) WITHIN GROUP (ORDER BY {x})");
        let (half, tenth, falling, twice) = (
            of("0.5", "x"),
            of("0.1", "x"),
            of("0.1", "x DESC"),
            of("0.5", "2 * x"),
        );
        let sql = format!(
            "SELECT g, {half} AS half, count(*) AS n, {tenth}, {half} FILTER (WHERE x > 0) AS above, sum(x), {falling}, {twice}, {half} + 1 {X} GROUP BY g ORDER BY g"
        );
        // By hand: a tenth of the way from 0 to 1e12, and from 1e12 to 0.
        assert_eq!(
            ask(&sql).unwrap(),
            [
                "a | 500000000000.0 | 2 | 100000000000.0 | 1000000000000.0 | 1000000000000 | 900000000000.0 | 1000000000000.0 | 500000000001.0",
                "b | 7.0 | 2 | 7.0 | 7.0 | 7 | 7.0 | 14.0 | 8.0",
                "c | NULL | 1 | NULL | NULL | NULL | NULL | NULL | NULL",
            ]
        );
        let sql = format!(
            "SELECT t.half FROM (SELECT {half} AS half, {tenth} AS tenth {X}) t WHERE t.tenth < t.half"
        );
        assert_eq!(ask(&sql).unwrap(), ["7.0"]);
    }

    #[test]
    fn one_function_is_asked_for_all_of_a_column() {
        let plan = ask(&format!(
            "EXPLAIN SELECT quantile_cont(x, 0.5), quantile_cont(x, 0.9), quantile_cont(x, 0.5) + 1 {X}"
        ))
        .unwrap()
        .join("\n");
        let one = "gby=[], aggr=[quantiles(t.x,Float64(0.5),Float64(0.9))]\n";
        assert!(plan.contains(one), "{plan}");
    }

    #[test]
    fn what_is_no_percentile_is_refused_as_before() {
        let error = ask(&format!(
            "SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) {X}"
        ))
        .unwrap_err();
        assert!(error.contains("between 0.0 and 1.0"), "{error}");
    }
}
