//! `quantiles`: those that are asked for, exactly.

use super::percentiles::{Cuts, Percentiles};
use crate::engine::functions::arguments::{floats, number_type, taken};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::logical_expr::function::AccumulatorArgs;
use std::sync::Arc;

pub(in crate::engine) static QUANTILES: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "quantiles",
        description: "The quantiles of x at each p, as a list in their order: 0.5 is the median. Exact, interpolated between neighbors as \
            DuckDB's quantile_cont. NULLs are left out, NaN counts as greater than all; NULL if there is no value. Keeps all values in memory, once \
            for all p.",
        syntax: "quantiles(x, p[, ...])",
        arguments: &[
            ("x", "number"),
            ("p", "constant number from 0 to 1; as many as wanted"),
        ],
        example: "SELECT quantiles(x, 0.5, 0.875) FROM (VALUES (1), (2), (3), (4), (10)) AS t(x)",
        answer: "[3.0, 7.0]",
    },
    coerce: |given| {
        let number = given.len().max(2);
        taken(&QUANTILES.doc, &[number], given, |_, t| number_type(t))
    },
    return_type: |_| floats(),
    state: |_| vec![("values", floats())],
    distinct_is_same: false,
    fold: |args| Ok(Box::new(Percentiles::new(Cuts::At(asked(args)?)))),
};

/// The arguments `p`, which must be constants.
///
/// # Errors
/// If one is no constant, or not from 0 to 1.
pub(in crate::engine) fn asked(args: &AccumulatorArgs) -> Result<Vec<f64>> {
    let none = RecordBatch::new_empty(Arc::new(args.schema.clone()));
    let constant = |p: &Arc<dyn datafusion::physical_expr::PhysicalExpr>| match p.evaluate(&none)? {
        ColumnarValue::Scalar(ScalarValue::Float64(Some(p))) if (0.0..=1.0).contains(&p) => Ok(p),
        ColumnarValue::Scalar(p) => plan_err!("quantiles: p is {p}; expected 0 to 1"),
        ColumnarValue::Array(_) => plan_err!("quantiles: p must be a constant"),
    };
    args.exprs.iter().skip(1).map(constant).collect()
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::quantile::exact::quantiles_at;
    use crate::engine::functions::tests::ask;
    use datafusion::arrow::array::Float64Builder;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(9), ..ProptestConfig::default() })]

        /// By the definition of DuckDB's quantile_cont, over sorted values.
        #[test]
        fn they_are_those_of_sorted_values_in_whatever_order_they_are_asked_for(
            values in prop::collection::vec(prop_oneof![-1e9..1e9f64, Just(0.0), Just(7.0)], 1..60),
            at in prop::collection::vec(prop_oneof![0.0..=1.0f64, Just(0.0), Just(1.0), Just(0.5)], 1..8)
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let mut into = Float64Builder::new();
            quantiles_at(&mut values.clone(), &at, &mut into);
            for (found, at) in into.finish().values().iter().zip(&at) {
                let place = (sorted.len() - 1) as f64 * at;
                let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
                let expected = low + (high - low) * (place - place.floor());
                prop_assert!((found - expected).abs() <= 1e-13 * 1e9, "{found} {expected}");
            }
        }
    }

    #[test]
    fn they_are_by_group_with_nan_as_the_greatest_and_null_for_none() {
        let sql = "SELECT g, quantiles(x, 1, 0, 0.5) FROM (VALUES (1, 'NaN'::double), (1, 2), (1, -3), (2, NULL), (3, 4)) AS t(g, x) GROUP BY g ORDER BY g";
        let expected = ["1 | [NaN, -3.0, 2.0]", "2 | NULL", "3 | [4.0, 4.0, 4.0]"];
        assert_eq!(ask(sql).unwrap(), expected);
    }

    #[test]
    fn p_must_be_a_constant_from_0_to_1() {
        for (sql, expected) in [
            (
                "SELECT quantiles(1.0, 1.5)",
                "quantiles: p is 1.5; expected 0 to 1",
            ),
            (
                "SELECT quantiles(1.0, NULL)",
                "quantiles: p is NULL; expected 0 to 1",
            ),
            (
                "SELECT quantiles(x, x) FROM (VALUES (1)) AS t(x)",
                "quantiles: p must be a constant",
            ),
            (
                "SELECT quantiles(1.0)",
                "quantiles takes 2 arguments, 1 were given: quantiles(x, p[, ...])",
            ),
        ] {
            assert_eq!(ask(sql).unwrap_err(), expected);
        }
    }
}
