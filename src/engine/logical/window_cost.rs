//! Aggregates as window functions whose cost grows with the square of a partition are refused where it has grown too large.
//!
//! `percentiles(x) OVER (ORDER BY t)` has a result for each row, and for each of them looks at all values so far: 100,000 rows are
//! a hang. So it is with DataFusion's `median`, `percentile_cont` and `sum(DISTINCT x)`; and `array_agg(x) OVER ()` gives each of n rows
//! a list of n values, which no budget of memory bounds. Over partitions that are small enough they are answered.

use super::super::functions::is_ours;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, Signature,
    WindowFunctionDefinition,
};
use std::sync::Arc;

/// Bytes that may be looked at anew in one partition: a few seconds.
const LOOKED_AT: usize = 4 << 30;
/// Bytes of the results of one partition.
const RESULTS: usize = 2 << 30;
/// States up to this size cost nothing: looking at one is a part of what each row takes anyway.
const SMALL: usize = 4 << 10;
/// How much more expensive than looking at a value once it is to copy and sort it, too.
const SORTED: usize = 16;

/// Puts the bound on those aggregates that need it, where they are window functions.
#[derive(Debug)]
pub(in crate::engine) struct BoundWindows;

impl FunctionRewrite for BoundWindows {
    fn name(&self) -> &str {
        "bound_windows"
    }

    fn rewrite(
        &self,
        mut expr: Expr,
        _: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        if let Expr::WindowFunction(window) = &mut expr
            && let Some(bounded) = bounded(window)
        {
            let bounded = Arc::new(AggregateUDF::from(bounded));
            window.fun = WindowFunctionDefinition::AggregateUDF(bounded);
            return Ok(Transformed::yes(expr));
        }
        Ok(Transformed::no(expr))
    }
}

/// The function with a bound; None if it needs none.
fn bounded(window: &WindowFunction) -> Option<Bounded> {
    let WindowFunctionDefinition::AggregateUDF(function) = &window.fun else {
        return None;
    };
    let (ours, distinct) = (is_ours(function), window.params.distinct);
    let cost = match function.name() {
        _ if function.inner().downcast_ref::<Bounded>().is_some() => return None,
        "set_agg" | "set_union" | "critical_files" if ours => Cost::STATE_AND_RESULT,
        _ if ours => Cost::STATE,
        "array_agg" if distinct => Cost {
            weight: SORTED,
            ..Cost::RESULT
        },
        "array_agg" | "string_agg" => Cost::RESULT,
        "median" | "percentile_cont" => Cost::VALUES,
        "sum" | "avg" if distinct => Cost::VALUES,
        _ => return None,
    };
    let function = function.clone();
    Some(Bounded { function, cost })
}

/// What a function looks at for each result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cost {
    /// Whether it is its state; else its result.
    state: bool,
    /// Whether the result grows with the rows.
    grows: bool,
    weight: usize,
}

impl Cost {
    /// Once all values.
    const VALUES: Self = Self {
        state: true,
        grows: false,
        weight: 1,
    };
    /// A copy of the state, which is sorted.
    const STATE: Self = Self {
        weight: SORTED,
        ..Self::VALUES
    };
    /// The same, for a result that grows with the rows.
    const STATE_AND_RESULT: Self = Self {
        grows: true,
        ..Self::STATE
    };
    /// A result that grows with the rows.
    const RESULT: Self = Self {
        state: false,
        grows: true,
        weight: 1,
    };
}

/// An aggregate with a bound on its cost.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    function: Arc<AggregateUDF>,
    cost: Cost,
}

impl Bounded {
    fn accumulator(&self, inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        Box::new(Counting {
            inner,
            name: self.function.name().to_string(),
            cost: self.cost,
            rows: 0,
            looked_at: None,
            result: None,
        })
    }
}

impl AggregateUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(given)
    }

    fn return_type(&self, taken: &[DataType]) -> Result<DataType> {
        self.function.return_type(taken)
    }

    fn return_field(&self, taken: &[FieldRef]) -> Result<FieldRef> {
        self.function.return_field(taken)
    }

    fn is_nullable(&self) -> bool {
        self.function.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.function.default_value(data_type)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.function.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Self::accumulator(self, self.function.accumulator(args)?))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let inner = self.function.create_sliding_accumulator(args)?;
        Ok(Self::accumulator(self, inner))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.function.order_sensitivity()
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.function.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.function.supports_within_group_clause()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.function.documentation()
    }
}

/// Counts what an accumulator costs in one partition.
#[derive(Debug)]
struct Counting {
    inner: Box<dyn Accumulator>,
    name: String,
    cost: Cost,
    rows: usize,
    /// Bytes; None before the first result, which is free: over a whole partition it is the only one.
    looked_at: Option<usize>,
    /// The result, as long as no row comes or goes: rows of equal order have the same.
    result: Option<ScalarValue>,
}

impl Accumulator for Counting {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.result = None;
        self.rows += values.first().map_or(0, |array| array.len());
        self.inner.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.result = None;
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.result = None;
        self.inner.merge_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if let Some(result) = &self.result {
            return Ok(result.clone());
        }
        let result = self.inner.evaluate()?;
        let bytes = match self.cost.state {
            true => self.inner.size(),
            false => result.size(),
        };
        let name = &self.name;
        let looked_at = match self.looked_at {
            None => 0,
            Some(before) => before + self.cost.weight * bytes.saturating_sub(SMALL),
        };
        if looked_at > LOOKED_AT {
            return exec_err!(
                "{name} over this window looks at all its values again for each row, which takes too long; leave out ORDER BY after \
                 OVER, so that it is computed once for each partition, or make the partitions smaller with PARTITION BY"
            );
        }
        self.looked_at = Some(looked_at);
        // Each row of the partition has such a result, or one of half its size in the mean where values come row by row.
        if self.cost.grows && self.rows.saturating_mul(result.size()) > RESULTS {
            return exec_err!(
                "{name} over this window makes a value for each row that grows with the rows, too large together; use {name} with \
                 GROUP BY in a subquery and join it, or make the partitions smaller with PARTITION BY"
            );
        }
        self.result = Some(result.clone());
        Ok(result)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const ROWS: &str = "(SELECT value AS i, (value * 7919 % 100000)::double AS x, 't' || value AS t, [value] AS l FROM generate_series(1, 100000))";

    #[test]
    fn windows_that_would_be_quadratic_are_refused_soon() {
        for (call, over) in [
            ("percentiles(x, 4)", "(ORDER BY i)"),
            ("quantiles(x, 0.5)", "(ORDER BY i)"),
            ("io_time(x, x + 5)", "(ORDER BY i)"),
            ("median(x)", "(ORDER BY i)"),
            (
                "median(x)",
                "(ORDER BY i ROWS BETWEEN 50000 PRECEDING AND CURRENT ROW)",
            ),
            ("percentile_cont(x, 0.5)", "(ORDER BY i)"),
            ("sum(DISTINCT i)", "(ORDER BY i)"),
        ] {
            let error = ask(&format!(
                "SELECT count(r) FROM (SELECT {call} OVER {over} AS r FROM {ROWS})"
            ))
            .unwrap_err();
            let name = call.split('(').next().unwrap();
            assert!(
                error.starts_with(&format!(
                    "{name} over this window looks at all its values again"
                )),
                "{call}: {error}"
            );
        }
        for (call, over) in [
            ("array_agg(i)", "()"),
            ("array_agg(i)", "(ORDER BY i)"),
            ("string_agg(t, ',')", "(ORDER BY i)"),
            ("set_agg(i)", "()"),
        ] {
            let error = ask(&format!(
                "SELECT count(r) FROM (SELECT {call} OVER {over} AS r FROM {ROWS})"
            ))
            .unwrap_err();
            assert!(
                error.contains("over this window makes a value for each row"),
                "{call}: {error}"
            );
        }
    }

    /// Once for each partition, over small partitions, or with a small state.
    #[test]
    fn windows_that_are_not_are_answered() {
        for (call, over) in [
            ("percentiles(x, 4)", "()"),
            ("median(x)", "()"),
            ("percentile_cont(x, 0.5)", "(PARTITION BY i % 2)"),
            ("percentiles(x, 4)", "(PARTITION BY i / 50 ORDER BY i)"),
            ("array_agg(i)", "(PARTITION BY i / 50 ORDER BY i)"),
            ("array_agg(DISTINCT i)", "(PARTITION BY i / 50)"),
            (
                "array_agg(i)",
                "(ORDER BY i ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)",
            ),
            (
                "median(x)",
                "(ORDER BY i ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)",
            ),
            ("ost_union('fs', ost_bits([i % 100]))", "(ORDER BY i)"),
            ("bin_counts(x, 0, 100000, 10)", "(ORDER BY i)"),
            (
                "ost_union('fs', ost_bits([i % 100]))",
                "(ORDER BY i / 50000)",
            ),
            ("count(DISTINCT x)", "(ORDER BY i)"),
            // Half of all rows have the same value.
            ("median(x)", "(ORDER BY i / 50000)"),
            ("percentiles(x, 4)", "(ORDER BY i / 50000)"),
        ] {
            let sql = format!("SELECT count(r) FROM (SELECT {call} OVER {over} AS r FROM {ROWS})");
            assert_eq!(ask(&sql).unwrap(), ["100000"], "{call} OVER {over}");
        }
        let sql = "SELECT i, median(i) OVER (ORDER BY i), array_agg(i) OVER (ORDER BY i DESC), percentiles(i, 2) OVER (ORDER BY i) \
                   FROM (VALUES (1.0), (2.0), (4.0)) AS t(i) ORDER BY i";
        assert_eq!(
            ask(sql).unwrap(),
            [
                "1.0 | 1.0 | [4.0, 2.0, 1.0] | [1.0, 1.0, 1.0]",
                "2.0 | 1.5 | [4.0, 2.0] | [1.0, 1.5, 2.0]",
                "4.0 | 2.0 | [4.0] | [1.0, 2.0, 4.0]"
            ]
        );
    }

    #[test]
    fn a_frame_whose_first_row_moves_is_refused_where_values_cannot_be_taken_back() {
        for call in ["percentiles(x)", "approx_distinct(i)", "string_agg(t, ',')"] {
            let sql = format!(
                "SELECT {call} OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM {ROWS}"
            );
            let name = call.split('(').next().unwrap();
            assert_eq!(
                ask(&sql).unwrap_err(),
                format!(
                    "not supported: {name} over a window whose first row moves; begin the frame with UNBOUNDED PRECEDING, or join the rows \
                     with those of their window and use GROUP BY"
                )
            );
        }
    }
}
