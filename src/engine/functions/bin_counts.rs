//! `bin_counts`: how many values lie in each of some bins, those without values too.

use super::accumulate::Accumulate;
use super::arguments::{fits_int64, integer_type, list_of, number_type, taken};
use super::definition::{Aggregate, FunctionDoc};
use super::grouped::passing;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Int64Array, ListArray,
    PrimitiveArray, RecordBatch,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{ColumnarValue, EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(super) static BIN_COUNTS: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "bin_counts",
        description: "How many values of x lie in each of n bins of equal width from least to most, as a list that is also long enough where \
            bins are empty. Element 0 counts what is below least, elements 1 to n the bins, each with its lower edge and without its upper one, \
            element n + 1 what is most or above. So bin numbers them, too. NULL and NaN are left out.",
        syntax: "bin_counts(x, least, most, n)",
        arguments: &[
            ("x", "number"),
            ("least", "constant number"),
            ("most", "constant number, greater than least"),
            ("n", "constant integer from 1 to 100000"),
        ],
        example: "SELECT bin_counts(x, 0, 1, 4) FROM (VALUES (0.0), (0.2), (0.25), (0.9), (1.0)) AS t(x)",
        answer: "[0, 2, 1, 0, 1, 1]",
    },
    coerce: |given| {
        taken(&BIN_COUNTS.doc, &[4], given, |i, t| match i {
            3 => integer_type(t),
            0 if fits_int64(t) => Some(DataType::Int64),
            _ => number_type(t),
        })
    },
    return_type: |_| list_of(DataType::Int64),
    state: |_| vec![("counts", list_of(DataType::Int64))],
    distinct_is_same: false,
    fold: |args| Ok(Box::new(Counts::new(edges(args)?))),
};

/// The edges of the bins, one more than there are bins.
fn edges(args: &AccumulatorArgs) -> Result<Vec<f64>> {
    let constant = |at: usize, name: &str| {
        let Some(expr) = args.exprs.get(at) else {
            return plan_err!("bin_counts: {name} is missing");
        };
        match expr.evaluate(&RecordBatch::new_empty(Arc::new(args.schema.clone())))? {
            ColumnarValue::Scalar(value) => Ok(value),
            ColumnarValue::Array(_) => plan_err!("bin_counts: {name} must be a constant"),
        }
    };
    let number = |at: usize, name: &str| match constant(at, name)? {
        ScalarValue::Float64(Some(number)) if number.is_finite() => Ok(number),
        other => plan_err!("bin_counts: {name} is {other}; expected a number"),
    };
    let (least, most) = (number(1, "least")?, number(2, "most")?);
    let n = match constant(3, "n")? {
        ScalarValue::Int64(Some(n @ 1..=100_000)) => n,
        other => return plan_err!("bin_counts: n is {other}; expected 1 to 100000"),
    };
    let width = (most - least) / n as f64;
    let lower = (0..n).map(|i| least + i as f64 * width);
    let edges: Vec<f64> = lower.chain([most]).collect();
    match edges.windows(2).all(|pair| pair[0] < pair[1]) && width.is_finite() {
        true => Ok(edges),
        false => plan_err!("bin_counts: {n} bins from {least} to {most} have no width"),
    }
}

/// Counts of all groups. Their partial states are those of a group as a list.
#[derive(Clone)]
struct Counts {
    /// What each count begins at and the one before it ends at: the edges of the bins, between the infinities.
    edges: Arc<[f64]>,
    /// Bins for each unit of x.
    scale: f64,
    /// Of each group as many as there are bins, and two more.
    counts: Vec<i64>,
}

impl Counts {
    fn new(edges: Vec<f64>) -> Self {
        let (bins, last) = (edges.len() - 1, edges.len() - 1);
        let scale = bins as f64 / (edges[last] - edges[0]);
        let below = std::iter::once(f64::NEG_INFINITY);
        Self {
            scale,
            edges: below.chain(edges).chain([f64::INFINITY]).collect(),
            counts: vec![],
        }
    }

    fn width(&self) -> usize {
        self.edges.len() - 1
    }

    /// How many edges of bins are at most x. It is looked for where it would be if nothing were rounded, without a branch that depends
    /// on x.
    #[inline]
    fn bin(&self, x: f64) -> usize {
        let about = ((x - self.edges[1]) * self.scale + 1.0) as i64;
        let about = about.clamp(0, self.width() as i64 - 1) as usize;
        match self.edges.get(about..about + 2) {
            Some(&[lower, upper]) if (lower <= x) & (x < upper) => about,
            _ => {
                let of_bins = &self.edges[1..self.edges.len() - 1];
                of_bins.partition_point(|edge| *edge <= x)
            }
        }
    }

    #[inline]
    fn count(&mut self, x: f64, group: usize) {
        if !x.is_nan() {
            let at = group * self.width() + self.bin(x);
            self.counts[at] += 1;
        }
    }

    fn count_all<T: ArrowPrimitiveType>(
        &mut self,
        x: &PrimitiveArray<T>,
        float: impl Fn(T::Native) -> f64,
        groups: &[usize],
        filter: Option<&BooleanArray>,
    ) {
        match (filter, x.nulls()) {
            (None, None) => {
                for (x, group) in x.values().iter().zip(groups) {
                    self.count(float(*x), *group);
                }
            }
            (None, Some(nulls)) => {
                for row in nulls.valid_indices() {
                    self.count(float(x.value(row)), groups[row]);
                }
            }
            (Some(_), _) => {
                for row in passing(x.len(), filter).filter(|row| x.is_valid(*row)) {
                    self.count(float(x.value(row)), groups[row]);
                }
            }
        }
    }

    /// The counts of the emitted groups, which are then forgotten.
    fn take(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let width = self.width();
        let rest = match emit_to {
            EmitTo::All => vec![],
            EmitTo::First(n) => self.counts.split_off(n * width),
        };
        let counts = std::mem::replace(&mut self.counts, rest);
        let ends = OffsetBuffer::from_repeated_length(width, counts.len() / width);
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let counts = Arc::new(Int64Array::from(counts));
        Ok(Arc::new(ListArray::try_new(item, ends, counts, None)?))
    }
}

impl Accumulate for Counts {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(self.clone())
    }
}

impl GroupsAccumulator for Counts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let width = self.width();
        self.counts.resize(total * width, 0);
        match values[0].data_type() {
            DataType::Int64 => {
                let x = values[0].as_primitive::<Int64Type>();
                self.count_all(x, |x| x as f64, groups, filter);
            }
            _ => {
                let x = values[0].as_primitive::<Float64Type>();
                self.count_all(x, |x| x, groups, filter);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let width = self.width();
        self.counts.resize(total * width, 0);
        let lists = values[0].as_list::<i32>();
        for (row, group) in groups
            .iter()
            .enumerate()
            .filter(|(row, _)| lists.is_valid(*row))
        {
            let more = lists.value(row);
            let own = &mut self.counts[group * width..][..width];
            let both = own
                .iter_mut()
                .zip(more.as_primitive::<Int64Type>().values());
            both.for_each(|(own, more)| *own += more);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.take(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.take(emit_to)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        // Each row a group.
        let groups: Vec<usize> = (0..values[0].len()).collect();
        let mut each = Self {
            counts: vec![],
            ..self.clone()
        };
        each.update_batch(values, &groups, filter, groups.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>() + size_of_val(&self.edges[..])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ask;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn bins_are_those_between_edges_also_where_numbers_are_rounded(
            least in -1e3f64..1e3, width in 1e-3f64..1e3, n in 1usize..200, at in any::<prop::sample::Index>(), x in -2e6f64..2e6
        ) {
            let most = least + width * n as f64;
            let lower = (0..n).map(|i| least + i as f64 * ((most - least) / n as f64));
            let edges: Vec<f64> = lower.chain([most]).collect();
            let counts = Counts::new(edges.clone());
            let edge = edges[at.index(edges.len())];
            for x in [x, edge, edge.next_up(), edge.next_down(), f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
                let expected = edges.iter().filter(|edge| **edge <= x).count();
                prop_assert_eq!(counts.bin(x), expected, "{} in {:?}", x, edges);
            }
        }
    }

    #[test]
    fn groups_have_counts_of_their_own_and_none_has_fewer() {
        let sql = "SELECT k, bin_counts(x, 0, 10, 2) FROM (VALUES (1, 4), (2, NULL), (1, 5), (1, 11), (3, -1)) AS t(k, x) GROUP BY k ORDER BY k";
        let expected = ["1 | [0, 1, 1, 1]", "2 | [0, 0, 0, 0]", "3 | [1, 0, 0, 0]"];
        assert_eq!(ask(sql).unwrap(), expected);
        let none = "SELECT bin_counts(1, 0, 10, 2) FROM (VALUES (1)) AS t(k) WHERE k > 1";
        assert_eq!(ask(none).unwrap(), ["[0, 0, 0, 0]"]);
        let of_filter = "SELECT bin_counts(x, 0, 10, 2) FILTER (WHERE k = 1) FROM (VALUES (1, 4), (2, 5), (1, 11), (1, NULL)) AS t(k, x)";
        assert_eq!(ask(of_filter).unwrap(), ["[0, 1, 0, 1]"]);
        assert_eq!(
            ask("SELECT bin_counts('NaN'::double, 0, 1, 1)").unwrap(),
            ["[0, 0, 0]"]
        );
    }

    #[test]
    fn bins_without_width_and_bins_that_change_are_refused() {
        for (call, error) in [
            (
                "bin_counts(1, 5, 5, 2)",
                "bin_counts: 2 bins from 5 to 5 have no width",
            ),
            (
                "bin_counts(1, 0, 1, 0)",
                "bin_counts: n is 0; expected 1 to 100000",
            ),
            (
                "bin_counts(1, NULL, 1, 1)",
                "bin_counts: least is NULL; expected a number",
            ),
            (
                "bin_counts(1, 0, k, 1)",
                "bin_counts: most must be a constant",
            ),
        ] {
            let sql = format!("SELECT {call} FROM (VALUES (1)) AS t(k)");
            assert_eq!(ask(&sql).unwrap_err(), error);
        }
    }
}
