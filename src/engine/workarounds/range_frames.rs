//! `RANGE BETWEEN 5 PRECEDING ..` in the order of a text is refused.
//!
//! DataFusion 55.2 casts the distance to the type that rows are ordered by, and gives some answer for texts, Booleans and bytes, of which none is
//! a distance from another. PostgreSQL and DuckDB refuse it.
//!
//! It also casts an interval to a number of days where rows are ordered by a date, so that `INTERVAL '1 hour' PRECEDING` is the day itself. Such a date is compared as the time
//! of its beginning.
//!
//! A frame without a distance, as every window with ORDER BY has one, is refused by it in the order of durations, times of day, bytes and structs, as an internal error. There it
//! becomes a frame of GROUPS, which has the same rows.
//!
//! Delete when DataFusion refuses the first and answers the second: `datafusion_alone_answers` and `datafusion_alone_has_no_order_of_durations` then fail.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrameBound, WindowFrameUnits, cast};

/// Refuses the first, writes out the others.
#[derive(Debug)]
pub(in crate::engine) struct RangeFrames;

impl FunctionRewrite for RangeFrames {
    fn name(&self) -> &str {
        "range_frames"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::WindowFunction(window) = &expr else {
            return Ok(Transformed::no(expr));
        };
        if let Some(term) = measured(window) {
            let kind = term.get_type(schema)?;
            if matches!(kind, DataType::Date32 | DataType::Date64) && is_by_interval(window) {
                let mut window = window.clone();
                if let [term] = window.params.order_by.as_mut_slice() {
                    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
                    term.expr = cast(term.expr.clone(), time);
                }
                return Ok(Transformed::yes(Expr::WindowFunction(window)));
            }
            if !(kind.is_numeric() || kind.is_temporal() || kind.is_null()) {
                return plan_err!(
                    "RANGE with a distance needs ORDER BY of one number or time; write ROWS, or RANGE UNBOUNDED PRECEDING"
                );
            }
        } else if let Some(first) = window.params.order_by.first()
            && window.params.window_frame.units == WindowFrameUnits::Range
            && first
                .expr
                .get_type(schema)
                .is_ok_and(|kind| !is_known(&kind))
        {
            let mut window = window.clone();
            window.params.window_frame.units = WindowFrameUnits::Groups;
            return Ok(Transformed::yes(Expr::WindowFunction(window)));
        }
        Ok(Transformed::no(expr))
    }
}

/// Whether DataFusion has RANGE frames in the order of such values.
fn is_known(kind: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Dictionary, FixedSizeList, LargeList, List};
    match kind {
        Dictionary(_, value) => is_known(value),
        Boolean | Date32 | Date64 | List(_) | LargeList(_) | FixedSizeList(..) => true,
        DataType::Timestamp(..) => true,
        kind => kind.is_numeric() || kind.is_string() || kind.is_null(),
    }
}

/// Whether a distance is an interval: until types are coerced distances are texts, those that are numbers too.
fn is_by_interval(window: &WindowFunction) -> bool {
    let frame = &window.params.window_frame;
    [&frame.start_bound, &frame.end_bound].iter().any(|bound| {
        use WindowFrameBound::{Following, Preceding};
        let (Preceding(by) | Following(by)) = bound else {
            return false;
        };
        match by {
            ScalarValue::Utf8(Some(text)) => text.parse::<f64>().is_err(),
            by => matches!(by.data_type(), DataType::Interval(_)) && !by.is_null(),
        }
    })
}

/// The term that distances of a RANGE frame are measured in; None if there are no distances.
fn measured(window: &WindowFunction) -> Option<&Expr> {
    let frame = &window.params.window_frame;
    let has_distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) => !by.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    let [term] = window.params.order_by.as_slice() else {
        return None;
    };
    let measures = frame.units == WindowFrameUnits::Range
        && (has_distance(&frame.start_bound) || has_distance(&frame.end_bound));
    measures.then_some(&term.expr)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::runtime;
    use datafusion::prelude::SessionContext;

    const OVER_TEXT: &str = "SELECT count(*) OVER (ORDER BY s RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) AS n FROM (VALUES ('a'), ('b')) AS t(s)";

    #[test]
    fn a_distance_between_texts_is_refused_and_one_between_numbers_or_times_answered() {
        let error = ask(OVER_TEXT).unwrap_err();
        assert!(
            error.starts_with("RANGE with a distance needs ORDER BY of one number or time"),
            "{error}"
        );
        for (sql, rows) in [
            (
                "SELECT count(*) OVER (ORDER BY v RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) AS n FROM (VALUES (1), (4), (10)) AS t(v) ORDER BY v",
                ["1", "2", "1"],
            ),
            (
                "SELECT count(*) OVER (ORDER BY s RANGE UNBOUNDED PRECEDING) AS n FROM (VALUES ('a'), ('b'), ('c')) AS t(s) ORDER BY s",
                ["1", "2", "3"],
            ),
            (
                "SELECT count(*) OVER (ORDER BY v::timestamp RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW) AS n \
                 FROM (VALUES ('2026-09-01 10:00:00'), ('2026-09-01 11:00:00'), ('2026-09-01 13:00:00')) AS t(v) ORDER BY v",
                ["1", "2", "1"],
            ),
            (
                "SELECT count(*) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '1 hour' PRECEDING) AS n \
                 FROM (VALUES (DATE '2026-01-01'), (DATE '2026-01-02'), (DATE '2026-01-03')) AS t(d) ORDER BY d",
                ["0", "1", "2"],
            ),
            (
                "SELECT count(*) OVER (ORDER BY d DESC RANGE BETWEEN INTERVAL '1 day' PRECEDING AND INTERVAL '1 second' PRECEDING) AS n \
                 FROM (VALUES (DATE '2026-01-01'), (DATE '2026-01-02'), (DATE '2026-01-03')) AS t(d) ORDER BY d",
                ["1", "1", "0"],
            ),
        ] {
            assert_eq!(ask(sql).unwrap(), rows, "{sql}");
        }
    }

    /// By hand; so does DuckDB.
    #[test]
    fn windows_have_an_order_of_durations_times_of_day_and_bytes() {
        const T: &str = "(VALUES ('b', TIMESTAMP '2026-09-01 10:00:00', TIMESTAMP '2026-09-01 10:05:00'), ('a', TIMESTAMP '2026-09-01 09:00:00', TIMESTAMP '2026-09-01 09:05:00'), \
             ('c', TIMESTAMP '2026-09-02 08:00:00', TIMESTAMP '2026-09-02 10:00:00')) AS t(s, a, b)";
        for (term, rows) in [
            (
                "rank() OVER (ORDER BY b - a DESC)",
                ["a | 2", "b | 2", "c | 1"],
            ),
            (
                "rank() OVER (ORDER BY b - a DESC, s)",
                ["a | 2", "b | 3", "c | 1"],
            ),
            (
                "count(*) OVER (ORDER BY b - a)",
                ["a | 2", "b | 2", "c | 3"],
            ),
            (
                "min(s) OVER (ORDER BY b - a RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
                ["a | a", "b | a", "c | c"],
            ),
            (
                "string_agg(s, '') OVER (ORDER BY a::TIME)",
                ["a | ca", "b | cab", "c | c"],
            ),
            (
                "lag(s, 1, '-') OVER (ORDER BY a::TIME)",
                ["a | c", "b | a", "c | -"],
            ),
            (
                "row_number() OVER (ORDER BY s::BYTEA DESC)",
                ["a | 3", "b | 2", "c | 1"],
            ),
        ] {
            let sql = format!("SELECT s, {term} AS r FROM {T} ORDER BY s");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }

    #[test]
    fn datafusion_alone_has_no_order_of_durations() {
        runtime(Some(2)).unwrap().block_on(async {
            let sql = "SELECT rank() OVER (ORDER BY now() - now())";
            let asked = SessionContext::new().sql(sql).await.unwrap();
            let error = asked.collect().await.unwrap_err().to_string();
            assert!(error.contains("Cannot run range queries"), "{error}");
        });
    }

    #[test]
    fn datafusion_alone_answers() {
        runtime(Some(2)).unwrap().block_on(async {
            let asked = SessionContext::new().sql(OVER_TEXT).await.unwrap();
            assert!(asked.collect().await.is_ok());
        });
    }
}
