//! A logical optimizer rule: the least and greatest values of a column say nothing of its casts into another order.
//!
//! DataFusion 55.2 casts what the statistics of a column say are its least and greatest values together with it: of a `CAST(id AS VARCHAR)`
//! over 3, 4 and 11 the greatest is then '11' and the least '3'. A filter above finds that no interval, and the whole statement fails, as an
//! internal error.
//!
//! Where a projection gives such a cast, it passes through [`OPTIMIZER_BARRIER`], a function that gives what it is given, of which DataFusion does not know
//! that. The rule stands last, for those before it look into casts.
//!
//! Delete when DataFusion casts only bounds that keep their order: `datafusion_alone_fails` then fails.

use super::functional_dependencies::OPTIMIZER_BARRIER;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

#[derive(Debug)]
pub(in crate::engine) struct CastBounds;

impl OptimizerRule for CastBounds {
    fn name(&self) -> &str {
        "cast_bounds"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Projection(projection) = plan else {
            return Ok(Transformed::no(plan));
        };
        let input = projection.input.schema();
        let found = projection
            .expr
            .iter()
            .map(|expr| changes_order(expr, input));
        let found = found.collect::<Result<Vec<_>>>()?;
        if !found.contains(&true) {
            return Ok(Transformed::no(LogicalPlan::Projection(projection)));
        }
        let Projection {
            expr,
            input,
            schema,
            ..
        } = projection;
        let columns = expr.into_iter().zip(found).zip(schema.iter());
        let columns = columns.map(|((expr, found), (table, field))| match found {
            true => OPTIMIZER_BARRIER
                .call(vec![expr.unalias()])
                .alias_qualified(table.cloned(), field.name()),
            false => expr,
        });
        let projection = Projection::try_new_with_schema(columns.collect(), input, schema.clone())?;
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
    }
}

/// Whether casts, one in another perhaps, bring values into another order.
fn changes_order(expr: &Expr, input: &DFSchema) -> Result<bool> {
    match expr {
        Expr::Alias(alias) => changes_order(&alias.expr, input),
        Expr::Cast(Cast { expr, field }) => {
            Ok(!keeps_order(&expr.get_type(input)?, field.data_type())
                || changes_order(expr, input)?)
        }
        _ => Ok(false),
    }
}

fn keeps_order(from: &DataType, to: &DataType) -> bool {
    let of_day = |t: &DataType| matches!(t, DataType::Time32(_) | DataType::Time64(_));
    from.equals_datatype(to)
        || from.is_numeric() && to.is_numeric()
        || from.is_string() && to.is_string()
        || from.is_temporal() && to.is_temporal() && of_day(from) == of_day(to)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    const SQL: &str = "SELECT c FROM (SELECT CAST(id AS VARCHAR) AS c, app FROM (SELECT 3 AS id, 'a' AS app UNION ALL SELECT 11, 'a' UNION ALL SELECT 4, 'b') AS t) AS d \
        QUALIFY count(*) OVER (PARTITION BY app ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) <= 2 ORDER BY c";

    /// By hand: as texts 11 comes before 3.
    #[test]
    fn a_filter_above_a_cast_into_text_is_answered() {
        assert_eq!(ask(SQL).unwrap(), ["11", "3", "4"]);
    }

    #[test]
    fn datafusion_alone_fails() {
        let alone = block_on(async { plain(2).sql(SQL).await?.collect().await });
        let error = alone.map(|batches| rows(&batches)).unwrap_err();
        assert!(
            error.to_string().contains("greater than the upper bound"),
            "{error}"
        );
    }
}
