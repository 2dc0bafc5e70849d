//! Parts of durations: `extract(epoch FROM end_time - start_time)`.
//!
//! What DataFusion 55.2 takes out of a duration loses the fraction of a second as soon as there is a whole one, and with it a
//! bandwidth is wrong by up to a half; and of two days and a half it takes 0 days and 60 hours, where PostgreSQL and DuckDB find 2 and 12. Of an interval of days and
//! time it is right, so a duration becomes one first.

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, DurationNanosecondType, IntervalMonthDayNano, IntervalUnit, TimeUnit,
};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::{Arc, LazyLock};

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
            let duration = vec![std::mem::take(&mut args[1])];
            args[1] =
                Expr::ScalarFunction(ScalarFunction::new_udf(DAYS_AND_TIME.clone(), duration));
        }
        let expr = Expr::ScalarFunction(ScalarFunction { func, args });
        Ok(Transformed::new_transformed(expr, of_duration))
    }
}

/// The function that makes of a duration an interval of days and less than a day.
pub(in crate::engine) static DAYS_AND_TIME: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(DaysAndTime {
        signature: Signature::any(1, Volatility::Immutable),
    }))
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct DaysAndTime {
    signature: Signature,
}

/// Nanoseconds.
const DAY: i64 = 86_400_000_000_000;

impl ScalarUDFImpl for DaysAndTime {
    fn name(&self) -> &str {
        "days_and_time"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [given] = given.args.as_slice() else {
            return exec_err!("days_and_time takes one argument");
        };
        let is_one = matches!(given, ColumnarValue::Scalar(_));
        let nanoseconds = cast(
            &given.to_array(1)?,
            &DataType::Duration(TimeUnit::Nanosecond),
        )?;
        let nanoseconds = nanoseconds.as_primitive::<DurationNanosecondType>();
        // Days of 64 bits of nanoseconds fit in 32 bits.
        let interval = |all: i64| IntervalMonthDayNano::new(0, (all / DAY) as i32, all % DAY);
        let intervals: IntervalMonthDayNanoArray = nanoseconds.unary(interval);
        let intervals: ArrayRef = Arc::new(intervals);
        Ok(match is_one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&intervals, 0)?),
            false => ColumnarValue::Array(intervals),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn parts_of_a_difference_are_days_and_time() {
        const T: &str =
            "(SELECT timestamp '2026-09-03 12:30:15.25' AS b, timestamp '2026-09-01' AS a) AS t";
        for (part, forth, back) in [
            ("day", "2", "-2"),
            ("hour", "12", "-12"),
            ("minute", "30", "-30"),
            ("epoch", "217815.25", "-217815.25"),
        ] {
            for (term, found) in [("b - a", forth), ("a - b", back)] {
                let sql = format!("SELECT extract({part} FROM {term}) FROM {T}");
                assert_eq!(ask(&sql).unwrap(), [found], "{sql}");
            }
        }
    }
}
