//! `current_date - interval '36 hours'` is a time, `current_date - date '2026-09-01'` a number of days, as in PostgreSQL and DuckDB.
//!
//! DataFusion 55.2 gives a date for the first and drops the hours. A date becomes a time first, unless the interval is whole days. The second is a duration there, which
//! it compares with a number of seconds in a SELECT and with none in a WHERE. A date and a number of days is a time in parts of its plan, so that
//! `d + 1 IN (date '2026-09-03', date '2026-09-04')` is refused, and the days are counted in nanoseconds, of which 131,072 days have too many. They are added as numbers.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Operator};

/// Turns a date into a time where hours may be added, both dates of a difference into numbers of days, and adds numbers of days to dates.
#[derive(Debug)]
pub(in crate::engine) struct DateArithmetic;

impl FunctionRewrite for DateArithmetic {
    fn name(&self) -> &str {
        "date_arithmetic"
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
            data_type.is_ok_and(|t| t == DataType::Date32)
        };
        let may_have_hours = |expr: &Expr| {
            let data_type = expr.get_type(schema);
            data_type.is_ok_and(|t| matches!(t, DataType::Interval(_))) && !is_whole_days(expr)
        };
        if *op == Operator::Minus && is_date(right) && is_date(left) {
            for date in [left, right] {
                **date = Expr::Cast(Cast::new(std::mem::take(date), DataType::Int64));
            }
            return Ok(Transformed::yes(expr));
        }
        let is_number = |expr: &Expr| {
            let data_type = expr.get_type(schema);
            data_type.is_ok_and(|t| t.is_integer())
        };
        let days = match op {
            Operator::Plus | Operator::Minus if is_number(right) && is_date(left) => Some(left),
            Operator::Plus if is_date(right) && is_number(left) => Some(right),
            _ => None,
        };
        if let Some(date) = days {
            **date = Expr::Cast(Cast::new(std::mem::take(date), DataType::Int64));
            let days = Expr::Cast(Cast::new(Box::new(expr), DataType::Int32));
            let date = Expr::Cast(Cast::new(Box::new(days), DataType::Date32));
            return Ok(Transformed::yes(date));
        }
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &mut expr else {
            return Ok(Transformed::no(expr));
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

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn days_are_added_to_dates() {
        const T: &str = "(VALUES (date '2026-09-02', 1), (date '2026-12-31', 365)) AS t(d, n)";
        for (term, rows) in [
            ("d + 1", ["2026-09-03", "2027-01-01"]),
            ("2 + d - n", ["2026-09-03", "2026-01-02"]),
            ("d - n", ["2026-09-01", "2025-12-31"]),
            ("date '2026-09-03' + 131072 * n", ["2385-07-15", ""]),
            (
                "d + 1 IN (date '2026-09-03', date '2026-09-04')",
                ["true", "false"],
            ),
            (
                "d + n NOT IN (date '2026-09-03', date '2026-09-04')",
                ["false", "true"],
            ),
        ] {
            let rows: Vec<&str> = rows.into_iter().filter(|row| !row.is_empty()).collect();
            let sql = format!("SELECT {term} FROM {T} LIMIT {}", rows.len());
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let sql =
            format!("SELECT n FROM {T} WHERE d + 1 IN (date '2026-09-03', date '2026-09-04')");
        assert_eq!(ask(&sql).unwrap(), ["1"]);
    }

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn dates_are_days_apart() {
        const T: &str = "(SELECT timestamp '2026-09-10 13:00:00' AS t, NULL::date AS none) AS s";
        for (term, shown) in [
            ("date '2026-09-10' - date '2026-09-01'", "9"),
            ("t::date - date '2026-10-01'", "-21"),
            ("(t::date - date '2026-09-01') / 7", "1"),
            ("t::date - none", "NULL"),
            ("sum(t::date - date '2026-09-01')", "9"),
            (
                "count(*) FILTER (WHERE t::date - date '2026-09-01' > 5)",
                "1",
            ),
        ] {
            let sql = format!("SELECT {term} FROM {T}");
            assert_eq!(ask(&sql).unwrap(), [shown], "{sql}");
        }
        for (condition, shown) in [
            ("= 9", vec!["1"]),
            ("> 9", vec![]),
            ("BETWEEN 1 AND 9", vec!["1"]),
        ] {
            let sql = format!("SELECT 1 FROM {T} WHERE t::date - date '2026-09-01' {condition}");
            assert_eq!(ask(&sql).unwrap(), shown, "{sql}");
        }
    }
}
