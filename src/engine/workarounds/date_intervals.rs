//! `current_date - interval '36 hours'` is a time, as in PostgreSQL and DuckDB.
//!
//! DataFusion 55.2 gives a date and drops the hours. A date becomes a time first, unless the interval is whole days.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Operator};

/// Turns a date into a time where hours may be added.
#[derive(Debug)]
pub(in crate::engine) struct HoursOfDates;

impl FunctionRewrite for HoursOfDates {
    fn name(&self) -> &str {
        "hours_of_dates"
    }

    fn rewrite(
        &self,
        mut expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &mut expr else {
            return Ok(Transformed::no(expr));
        };
        let is_date = |expr: &Expr| {
            let data_type = expr.get_type(schema);
            data_type.is_ok_and(|t| matches!(t, DataType::Date32 | DataType::Date64))
        };
        let may_have_hours = |expr: &Expr| {
            let data_type = expr.get_type(schema);
            data_type.is_ok_and(|t| matches!(t, DataType::Interval(_))) && !is_whole_days(expr)
        };
        let date = match op {
            // The right side first: of `a + b + c ..` it is the short one.
            Operator::Plus | Operator::Minus if may_have_hours(right) && is_date(left) => left,
            Operator::Plus if is_date(right) && may_have_hours(left) => right,
            _ => return Ok(Transformed::no(expr)),
        };
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        **date = Expr::Cast(Cast::new(std::mem::take(date), time));
        Ok(Transformed::yes(expr))
    }
}

fn is_whole_days(interval: &Expr) -> bool {
    match interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => {
            interval.nanoseconds == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn hours_that_are_added_to_a_date_stay() {
        for (term, shown) in [
            (
                "date '2026-09-11' - interval '36 hours'",
                "2026-09-09T12:00:00",
            ),
            (
                "date '2026-09-11' + interval '90 minutes'",
                "2026-09-11T01:30:00",
            ),
            (
                "interval '1 day 1 hour' + date '2026-09-11'",
                "2026-09-12T01:00:00",
            ),
            ("date '2026-09-11' - i", "2026-09-10T23:00:00"),
            ("date '2026-09-11' - interval '7 days'", "2026-09-04"),
            ("date '2026-03-31' - interval '1 month'", "2026-02-28"),
            (
                "timestamp '2026-09-10 13:00:00' > date '2026-09-12' - interval '36 hours'",
                "true",
            ),
            (
                "timestamp '2026-09-10 11:00:00' > date '2026-09-12' - interval '36 hours'",
                "false",
            ),
        ] {
            let sql = format!("SELECT {term} FROM (SELECT interval '1 hour' AS i) AS t");
            assert_eq!(ask(&sql).unwrap(), [shown], "{sql}");
        }
    }
}
