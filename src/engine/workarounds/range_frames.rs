//! `RANGE BETWEEN 5 PRECEDING ..` in the order of a text is refused.
//!
//! DataFusion 55.2 casts the distance to the type that rows are ordered by, and gives some answer for texts, Booleans and bytes, of which none is
//! a distance from another. PostgreSQL and DuckDB refuse it.
//!
//! Delete when DataFusion refuses it: `datafusion_alone_answers` then fails.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrameBound, WindowFrameUnits};

/// Refuses such frames.
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
        if let Expr::WindowFunction(window) = &expr
            && let Some(term) = measured(window)
        {
            let kind = term.get_type(schema)?;
            if !(kind.is_numeric() || kind.is_temporal() || kind.is_null()) {
                return plan_err!(
                    "RANGE with a distance needs ORDER BY of one number or time; write ROWS, or RANGE UNBOUNDED PRECEDING"
                );
            }
        }
        Ok(Transformed::no(expr))
    }
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
        ] {
            assert_eq!(ask(sql).unwrap(), rows, "{sql}");
        }
    }

    #[test]
    fn datafusion_alone_answers() {
        runtime(Some(2)).unwrap().block_on(async {
            let asked = SessionContext::new().sql(OVER_TEXT).await.unwrap();
            assert!(asked.collect().await.is_ok());
        });
    }
}
