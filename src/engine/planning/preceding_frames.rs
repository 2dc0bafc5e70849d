//! A physical optimizer rule: a RANGE frame that ends before the current row sees all rows of the partition.
//!
//! `count(*) OVER (ORDER BY v RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING)` needs no row behind the current one, as long as `v - 1` is less than `v`. For NULL, NaN, infinities and
//! large floats it is `v` again, and the frame has all rows of that key. DataFusion 55.2 answers a row as soon as it has it, and so misses those of the key that come in a later
//! batch. `WindowAggExec` answers when all rows of the partition are there.
//!
//! Times and integers that are never NULL stay as they are. The rule stands behind `EnsureRequirements`, which may turn a frame around and so make one that ends before the row,
//! and before the rules that move limits below windows.
//!
//! Delete when DataFusion waits for such rows: `datafusion_alone_misses_rows` then fails.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::InputOrderMode;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use std::sync::Arc;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "preceding_frames",
    instead,
};

fn instead(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(bounded) = node.downcast_ref::<BoundedWindowAggExec>() else {
        return Ok(None);
    };
    // `WindowAggExec` needs the rows of a partition together.
    if bounded.input_order_mode != InputOrderMode::Sorted {
        return Ok(None);
    }
    for window in bounded.window_expr() {
        if misses_rows(window, bounded.input())? {
            let whole = WindowAggExec::try_new(
                bounded.window_expr().to_vec(),
                Arc::clone(bounded.input()),
                !bounded.partition_keys().is_empty(),
            )?;
            return Ok(Some(Arc::new(whole)));
        }
    }
    Ok(None)
}

/// Whether the frame ends before the row, but for keys that stay what they are when the distance is taken off.
fn misses_rows(window: &Arc<dyn WindowExpr>, input: &Node) -> Result<bool> {
    let frame = window.get_window_frame();
    let WindowFrameBound::Preceding(distance) = &frame.end_bound else {
        return Ok(false);
    };
    let [key] = window.order_by() else {
        return Ok(false);
    };
    if frame.units != WindowFrameUnits::Range || distance.is_null() {
        return Ok(false);
    }
    let schema = input.schema();
    Ok(key.expr.nullable(&schema)? || key.expr.data_type(&schema)?.is_floating())
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::runtime;
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::Int64Type;
    use datafusion::prelude::SessionContext;

    /// By hand; so does DuckDB. The first window makes a batch of each row for the second.
    const NULLS: &str = "SELECT count(*) OVER (PARTITION BY g, b ORDER BY g) AS x,
        count(*) OVER (PARTITION BY g ORDER BY g RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING) AS n
        FROM (VALUES (NULL::int, 1), (NULL, 2), (NULL, 3)) AS t(g, b)";

    #[test]
    fn frames_before_the_row_have_all_rows_of_null_and_nan() {
        assert_eq!(ask(NULLS).unwrap(), ["1 | 3"; 3]);
        for (key, frame) in [
            (
                "NULL::int",
                "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
            ),
            ("'NaN'::double", "RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING"),
            (
                "'Infinity'::double",
                "RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING",
            ),
            ("1e300::double", "RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING"),
            // Turned around, for the first window sorts the other way.
            (
                "NULL::int",
                "DESC NULLS FIRST RANGE BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
            ),
        ] {
            let sql = format!(
                "SELECT count(*) OVER (PARTITION BY b ORDER BY v) AS x, count(*) OVER (ORDER BY v {frame}) AS n
                 FROM (SELECT {key} AS v, b FROM (VALUES (1), (2), (3)) AS t(b))"
            );
            assert_eq!(ask(&sql).unwrap(), ["1 | 3"; 3], "{key} {frame}");
        }
    }

    #[test]
    fn datafusion_alone_misses_rows() {
        runtime(Some(2)).unwrap().block_on(async {
            let asked = SessionContext::new().sql(NULLS).await.unwrap();
            let batches = asked.collect().await.unwrap();
            let counts: Vec<_> = batches
                .iter()
                .flat_map(|batch| {
                    batch
                        .column(1)
                        .as_primitive::<Int64Type>()
                        .values()
                        .to_vec()
                })
                .collect();
            assert_ne!(counts, [3, 3, 3]);
        });
    }
}
