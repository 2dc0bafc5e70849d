//! Parts of durations: `extract(epoch FROM end_time - start_time)`.
//!
//! What DataFusion 55.2 takes out of a duration loses the fraction of a second as soon as there is a whole one, and with it a
//! bandwidth is wrong by up to a half. Of an interval it is right, so a duration becomes one first.

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable};

/// Turns the duration that `date_part` is asked about into an interval.
#[derive(Debug)]
pub(in crate::engine) struct PartsOfDurations;

impl FunctionRewrite for PartsOfDurations {
    fn name(&self) -> &str {
        "parts_of_durations"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, mut args }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let of_duration = func.name() == "date_part"
            && args
                .get(1)
                .and_then(|of| of.get_type(schema).ok())
                .is_some_and(|found| matches!(found, DataType::Duration(_)));
        if of_duration {
            let interval = DataType::Interval(IntervalUnit::MonthDayNano);
            let duration = std::mem::take(&mut args[1]);
            args[1] = Expr::Cast(Cast::new(Box::new(duration), interval));
        }
        let expr = Expr::ScalarFunction(ScalarFunction { func, args });
        Ok(Transformed::new_transformed(expr, of_duration))
    }
}
