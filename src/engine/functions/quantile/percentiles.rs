//! `percentiles`: all of them at once, exactly.

use super::exact::quantiles_at;
use super::exact::{between, order};
use crate::engine::functions::accumulate::Accumulate;
use crate::engine::functions::arguments::{floats, integer_type, number_type, taken};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use crate::engine::functions::grouped::{Grouped, passing};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Builder, ListArray, ListBuilder,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{ColumnarValue, EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(in crate::engine::functions) static PERCENTILES: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "percentiles",
        description: "The n + 1 values that cut the values of x into n parts of equal size: element i (from 0) is the quantile at i/n, the first \
            the least value and the last the greatest. Exact, interpolated between neighbors as DuckDB's quantile_cont. NULLs are left out, \
            NaN counts as greater than all; NULL if there is no value. Keeps all values in memory: approx_percentiles does not.",
        syntax: "percentiles(x[, n])",
        arguments: &[
            ("x", "number"),
            (
                "n",
                "constant integer from 1 to 100000: how many parts; 100 if left out",
            ),
        ],
        example: "SELECT percentiles(x, 4) FROM (VALUES (1), (2), (3), (4), (10)) AS t(x)",
        answer: "[1.0, 2.0, 3.0, 4.0, 10.0]",
    },
    coerce: |given| {
        taken(&PERCENTILES.doc, &[1, 2], given, |i, t| {
            if i == 0 {
                number_type(t)
            } else {
                integer_type(t)
            }
        })
    },
    return_type: |_| floats(),
    state: |_| vec![("values", floats())],
    distinct_is_same: false,
    fold: |args| {
        let cuts = Cuts::Parts(parts("percentiles", args)?);
        Ok(Box::new(Percentiles::new(cuts)))
    },
};

/// The argument `n`, which must be a constant.
pub(in crate::engine::functions) fn parts(function: &str, args: &AccumulatorArgs) -> Result<usize> {
    let Some(n) = args.exprs.get(1) else {
        return Ok(100);
    };
    let n = n.evaluate(&RecordBatch::new_empty(Arc::new(args.schema.clone())))?;
    match n {
        ColumnarValue::Scalar(ScalarValue::Int64(Some(n @ 1..=100_000))) => Ok(n as usize),
        ColumnarValue::Scalar(n) => plan_err!("{function}: n is {n}; expected 1 to 100000"),
        ColumnarValue::Array(_) => plan_err!("{function}: n must be a constant"),
    }
}

/// Appends the quantiles at 0/n to n/n of sorted values, of which there is at least one.
fn quantiles(sorted: &[f64], parts: usize, into: &mut Float64Builder) {
    for i in 0..=parts {
        // In whole numbers: (m - 1) * i / n is then exact where it is whole.
        let (at, left) = (
            (sorted.len() - 1) * i / parts,
            (sorted.len() - 1) * i % parts,
        );
        let next = sorted[(at + 1).min(sorted.len() - 1)];
        into.append_value(between(sorted[at], next, left as f64 / parts as f64));
    }
}

/// Which quantiles are asked for.
#[derive(Clone)]
pub(in crate::engine::functions) enum Cuts {
    /// Those that cut the values into so many parts of equal size.
    Parts(usize),
    /// These.
    At(Vec<f64>),
}

/// All values of all groups. Its partial state is the list of a group's values.
#[derive(Clone)]
pub(in crate::engine::functions) struct Percentiles {
    cuts: Cuts,
    values: Grouped<f64>,
}

impl Percentiles {
    pub(in crate::engine::functions) fn new(cuts: Cuts) -> Self {
        Self {
            cuts,
            values: Grouped::default(),
        }
    }
}

impl Accumulate for Percentiles {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(self.clone())
    }
}

impl GroupsAccumulator for Percentiles {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let x = values[0].as_primitive::<Float64Type>();
        for i in passing(x.len(), filter).filter(|i| x.is_valid(*i)) {
            self.values.push(groups[i], x.value(i));
        }
        self.values.grow(total);
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let lists = values[0].as_list::<i32>();
        let all = lists.values().as_primitive::<Float64Type>().values();
        for i in (0..lists.len()).filter(|i| lists.is_valid(*i)) {
            let ends = &lists.offsets()[i..i + 2];
            all[ends[0] as usize..ends[1] as usize]
                .iter()
                .for_each(|x| self.values.push(groups[i], *x));
        }
        self.values.grow(total);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (ends, mut values) = self.values.take(emit_to);
        let mut lists = ListBuilder::new(Float64Builder::new());
        for ends in ends.windows(2) {
            let group = &mut values[ends[0]..ends[1]];
            if !group.is_empty() {
                match &self.cuts {
                    Cuts::Parts(parts) => {
                        group.sort_unstable_by(order);
                        quantiles(group, *parts, lists.values());
                    }
                    Cuts::At(at) => quantiles_at(group, at, lists.values()),
                }
            }
            lists.append(!group.is_empty());
        }
        Ok(Arc::new(lists.finish()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (ends, values) = self.values.take(emit_to);
        let ends = OffsetBuffer::from_lengths(ends.windows(2).map(|ends| ends[1] - ends[0]));
        let values = datafusion::arrow::array::Float64Array::from(values);
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        Ok(vec![Arc::new(ListArray::try_new(
            item,
            ends,
            Arc::new(values),
            None,
        )?)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let x = values[0].as_primitive::<Float64Type>();
        let mut valid = vec![false; x.len()];
        passing(x.len(), filter).for_each(|i| valid[i] = x.is_valid(i));
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        let ends = OffsetBuffer::from_lengths(vec![1; x.len()]);
        let all = datafusion::arrow::array::Float64Array::from(x.values().to_vec());
        Ok(vec![Arc::new(ListArray::try_new(
            item,
            ends,
            Arc::new(all),
            Some(NullBuffer::from(valid)),
        )?)])
    }

    fn size(&self) -> usize {
        self.values.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::functions::tests::ask;
    use datafusion::arrow::array::Float64Array;
    use proptest::prelude::*;

    /// By the definition of DuckDB's quantile_cont: the values at the floor and the ceiling of (m - 1) q, interpolated.
    fn brute_force(values: &[f64], parts: usize) -> Vec<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |i: usize| {
            let place = (sorted.len() - 1) as f64 * (i as f64 / parts as f64);
            let (low, high) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            low + (high - low) * (place - place.floor())
        };
        (0..=parts).map(quantile).collect()
    }

    fn lists(array: &ArrayRef) -> Vec<Option<Vec<f64>>> {
        array
            .as_list::<i32>()
            .iter()
            .map(|list| list.map(|list| list.as_primitive::<Float64Type>().values().to_vec()))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn they_are_exact_monotone_and_the_same_however_states_are_merged(
            rows in prop::collection::vec((0usize..3, prop::option::weighted(0.9, -1e9..1e9f64)), 1..80),
            cut in any::<prop::sample::Index>(), parts in 1usize..12, swap in any::<bool>(), direct in any::<bool>(), first in 0usize..4
        ) {
            let halves = rows.split_at(cut.index(rows.len()));
            let mut merged = Percentiles::new(Cuts::Parts(parts));
            for half in if swap { [halves.1, halves.0] } else { [halves.0, halves.1] } {
                let values: Vec<ArrayRef> = vec![Arc::new(half.iter().map(|(_, x)| *x).collect::<Float64Array>())];
                let groups: Vec<usize> = half.iter().map(|(group, _)| *group).collect();
                let mut partial = Percentiles::new(Cuts::Parts(parts));
                if direct {
                    merged.merge_batch(&partial.convert_to_state(&values, None).unwrap(), &groups, 3).unwrap();
                } else {
                    partial.update_batch(&values, &groups, None, 3).unwrap();
                    merged.merge_batch(&partial.state(EmitTo::All).unwrap(), &[0, 1, 2], 3).unwrap();
                }
            }
            let mut found = lists(&merged.evaluate(EmitTo::First(first.min(3))).unwrap());
            found.extend(lists(&merged.evaluate(EmitTo::All).unwrap()));
            for (group, found) in found.iter().enumerate() {
                let values: Vec<f64> = rows.iter().filter(|(g, _)| *g == group).filter_map(|(_, x)| *x).collect();
                let largest = values.iter().fold(1.0f64, |most, x| most.max(x.abs()));
                let Some(found) = found else {
                    prop_assert!(values.is_empty());
                    continue;
                };
                for (a, b) in found.iter().zip(brute_force(&values, parts)) {
                    // Two ways to interpolate differ by roundings of the largest value.
                    prop_assert!((a - b).abs() <= 1e-13 * largest, "{a} {b}");
                }
                prop_assert_eq!(found.len(), parts + 1);
                prop_assert!(found.is_sorted());
            }
        }
    }

    /// By hand: of 1, 3, 7, 10 the quartiles stand at the places 0.75, 1.5 and 2.25.
    #[test]
    fn they_are_interpolated_and_nulls_are_left_out() {
        assert_eq!(
            ask("SELECT percentiles(x, 4) FROM (VALUES (3), (1), (10), (7), (NULL)) AS t(x)")
                .unwrap(),
            ["[1.0, 2.5, 5.0, 7.75, 10.0]"]
        );
    }

    #[test]
    fn there_are_101_by_default_and_none_without_a_value() {
        let sql = "SELECT array_length(percentiles(x)), percentiles(x)[51] FROM (SELECT unnest(range(0, 201)) AS x)";
        assert_eq!(ask(sql).unwrap(), ["101 | 100.0"]);
        assert_eq!(
            ask("SELECT percentiles(x) FROM (VALUES (CAST(NULL AS DOUBLE))) AS t(x)").unwrap(),
            ["NULL"]
        );
    }

    #[test]
    fn infinities_and_nan_are_values_like_others() {
        let sql = "SELECT percentiles(x, 2) FROM (VALUES ('NaN'::double), ('-inf'::double), (0.0)) AS t(x)";
        assert_eq!(ask(sql).unwrap(), ["[-inf, 0.0, NaN]"]);
    }

    #[test]
    fn n_must_be_a_constant_in_its_range_and_distinct_is_refused() {
        assert_eq!(
            ask("SELECT percentiles(1.0, 0)").unwrap_err(),
            "percentiles: n is 0; expected 1 to 100000"
        );
        assert_eq!(
            ask("SELECT percentiles(x, x) FROM (VALUES (1)) AS t(x)").unwrap_err(),
            "percentiles: n must be a constant"
        );
        // Alone, DISTINCT is a grouping that DataFusion puts below; beside others the function would have to do it.
        assert_eq!(
            ask("SELECT percentiles(DISTINCT x)[51] FROM (VALUES (1), (1), (3)) AS t(x)").unwrap(),
            ["2.0"]
        );
        let error = ask(
            "SELECT percentiles(DISTINCT x), count(DISTINCT y) FROM (VALUES (1, 2)) AS t(x, y)",
        )
        .unwrap_err();
        assert_eq!(error, "percentiles does not take DISTINCT");
    }
}
