//! `end_time - start_time > interval '1 day'`: intervals are compared by their length, as in PostgreSQL and DuckDB.
//!
//! DataFusion 55.2 compares months, then days, then time. A difference of times has no days, so that one of four days is less than `interval '1 day'`, and so are
//! `interval '36 hours'`. Here both sides become lengths in nanoseconds, a month being 30 days.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};

/// Makes lengths of the sides of a comparison if one is an interval and the others have a length. Whether it has.
pub(super) fn by_length(sides: &mut [&mut Expr], types: &[DataType]) -> bool {
    let is_asked = types.iter().all(has_length)
        && types
            .iter()
            .any(|kind| matches!(kind, DataType::Interval(_)));
    for side in sides.iter_mut().filter(|_| is_asked) {
        let args = vec![std::mem::take(*side)];
        **side = Expr::ScalarFunction(ScalarFunction::new_udf(LENGTH.clone(), args));
    }
    is_asked
}

fn has_length(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Interval(_) | DataType::Duration(_) | DataType::Null
    )
}

/// The function that gives the length of an interval or a duration in nanoseconds.
pub(in crate::engine) static LENGTH: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(Length {
        signature: Signature::any(1, Volatility::Immutable),
    }))
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    signature: Signature,
}

/// Nanoseconds of as many months as an interval can have do not fit in 64 bits.
const NANOSECONDS: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);
const DAY: i128 = 86_400_000_000_000;

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        "interval_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(NANOSECONDS)
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [given] = given.args.as_slice() else {
            return exec_err!("interval_length takes one argument");
        };
        let is_one = matches!(given, ColumnarValue::Scalar(_));
        let lengths: ArrayRef = Arc::new(lengths(&given.to_array(1)?)?);
        Ok(match is_one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&lengths, 0)?),
            false => ColumnarValue::Array(lengths),
        })
    }
}

fn lengths(of: &ArrayRef) -> Result<Decimal128Array> {
    let lengths: Decimal128Array = match of.data_type() {
        DataType::Duration(unit) => {
            let per_unit = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            // The numbers are taken as they are, so that none is too large for a smaller unit.
            let numbers = cast(of, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            numbers
                .iter()
                .map(|number| Some(i128::from(number?) * per_unit))
                .collect()
        }
        _ => {
            let intervals = cast(of, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
            let length = |months: i32, days: i32, nanoseconds: i64| {
                (i128::from(months) * 30 + i128::from(days)) * DAY + i128::from(nanoseconds)
            };
            intervals
                .iter()
                .map(|interval| {
                    let interval = interval?;
                    Some(length(interval.months, interval.days, interval.nanoseconds))
                })
                .collect()
        }
    };
    Ok(lengths.with_data_type(NANOSECONDS))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use datafusion::prelude::SessionContext;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn intervals_are_compared_by_their_length() {
        const T: &str = "(SELECT timestamp '2026-01-05 06:00:00' AS b, timestamp '2026-01-01' AS a, NULL AS n) AS t";
        for (condition, answer) in [
            ("b - a > interval '1 day'", "true"),
            ("b - a = interval '102 hours'", "true"),
            ("b - a < interval '1 month'", "true"),
            ("interval '100 hours' < b - a", "true"),
            (
                "b - a BETWEEN interval '4 days' AND interval '5 days'",
                "true",
            ),
            (
                "b - a NOT BETWEEN interval '4 days' AND interval '102 hours'",
                "false",
            ),
            (
                "b - a IN (interval '1 day', interval '4 days 6 hours')",
                "true",
            ),
            ("coalesce(b - a, interval '0 s') > interval '1 day'", "true"),
            ("a - b < interval '-4 days'", "true"),
            ("interval '36 hours' > interval '1 day'", "true"),
            ("interval '1 day' = interval '24 hours'", "true"),
            ("interval '30 days' = interval '1 month'", "true"),
            (
                "interval '1 day' IS DISTINCT FROM interval '24 hours'",
                "false",
            ),
            ("interval '1 day' > NULL", "NULL"),
            ("b - a <> b - a", "false"),
            ("b - interval '1 day' > a", "true"),
        ] {
            let sql = format!("SELECT {condition} FROM {T}");
            assert_eq!(ask(&sql).unwrap(), [answer], "{sql}");
        }
        let kept = format!("SELECT count(*) FROM {T} WHERE b - a > interval '1 day'");
        assert_eq!(ask(&kept).unwrap(), ["1"]);
    }

    /// If this fails, DataFusion is right, and this file goes.
    #[test]
    fn datafusion_alone_compares_months_then_days() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let sql =
            "SELECT (timestamp '2026-01-05' - timestamp '2026-01-01') > interval '1 day' AS longer";
        let shown = runtime.block_on(async {
            let frame = SessionContext::new().sql(sql).await.unwrap();
            frame.to_string().await.unwrap()
        });
        assert!(shown.contains("| false "), "{shown}");
    }
}
