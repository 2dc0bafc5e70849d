//! `approx_percentiles`: all percentiles at once, from a sketch of some kilobytes.

use super::digest::{Centroid, compress, quantiles};
use super::exact::order;
use super::percentiles::parts;
use crate::engine::functions::accumulate::Accumulate;
use crate::engine::functions::arguments::{floats, integer_type, number_type, taken};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use crate::engine::functions::grouped::{Grouped, passing};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Builder, ListBuilder,
};
use datafusion::arrow::datatypes::Float64Type;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(in crate::engine::functions) static APPROX_PERCENTILES: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "approx_percentiles",
        description: "As percentiles, from a t-digest of at most 300 means (5 KiB) for each group: off by at most half a percent of the ranks, \
            less towards the ends; least and greatest value are exact, and so is all for up to 50 values. The last digits may depend on \
            the order in which the rows come.",
        syntax: "approx_percentiles(x[, n])",
        arguments: &[
            ("x", "number"),
            (
                "n",
                "constant integer from 1 to 100000: how many parts; 100 if left out",
            ),
        ],
        example: "SELECT approx_percentiles(x, 4) FROM (VALUES (1), (2), (3), (4), (10)) AS t(x)",
        answer: "[1.0, 2.0, 3.0, 4.0, 10.0]",
    },
    coerce: |given| {
        taken(&APPROX_PERCENTILES.doc, &[1, 2], given, |i, t| {
            if i == 0 {
                number_type(t)
            } else {
                integer_type(t)
            }
        })
    },
    return_type: |_| floats(),
    state: |_| vec![("means", floats()), ("weights", floats())],
    distinct_is_same: false,
    fold: |args| {
        Ok(Box::new(ApproxPercentiles {
            parts: parts("approx_percentiles", args)?,
            ..Default::default()
        }))
    },
};

/// Values are merged into the digests once so many wait, or as many as there are centroids: 1.25 MiB, then 20 bytes each.
const WAITING: usize = 1 << 16;

/// A t-digest for each group. Its partial state is the means of a group and their weights.
#[derive(Clone, Default)]
struct ApproxPercentiles {
    parts: usize,
    waiting: Grouped<Centroid>,
    /// Digests of all groups, one after another: group `i` has `digests[ends[i]..ends[i + 1]]`.
    digests: Vec<Centroid>,
    ends: Vec<usize>,
}

impl ApproxPercentiles {
    /// Merges what waits once there is enough of it.
    fn compress(&mut self) {
        if self.waiting.len() >= WAITING.max(self.digests.len()) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        let total = self.waiting.total();
        let (waiting_ends, waiting) = self.waiting.take(EmitTo::All);
        self.waiting.grow(total);
        let (mut digests, mut ends, mut group) = (
            Vec::with_capacity(self.digests.len() + waiting.len()),
            vec![0],
            vec![],
        );
        for i in 0..total {
            group.clear();
            group.extend_from_slice(self.digest(i));
            let new = &waiting[waiting_ends[i]..waiting_ends[i + 1]];
            if new.is_empty() {
                digests.append(&mut group);
            } else {
                group.extend_from_slice(new);
                group.sort_by(|a, b| order(&a.mean, &b.mean));
                compress(&group, &mut digests);
            }
            ends.push(digests.len());
        }
        digests.shrink_to_fit();
        (self.digests, self.ends) = (digests, ends);
    }

    fn digest(&self, group: usize) -> &[Centroid] {
        match self.ends.get(group..group + 2) {
            Some(ends) => &self.digests[ends[0]..ends[1]],
            None => &[],
        }
    }

    /// Digests of the emitted groups, as [`Grouped::take`] gives values.
    fn take(&mut self, emit_to: EmitTo) -> (Vec<usize>, Vec<Centroid>) {
        self.merge();
        let emitted = match emit_to {
            EmitTo::All => self.waiting.total(),
            EmitTo::First(n) => n,
        };
        let at = self.ends[emitted];
        let rest = self.digests.split_off(at);
        let digests = std::mem::replace(&mut self.digests, rest);
        let ends = self.ends[..=emitted].to_vec();
        self.ends = self.ends[emitted..].iter().map(|end| end - at).collect();
        self.waiting.take(EmitTo::First(emitted));
        (ends, digests)
    }
}

impl Accumulate for ApproxPercentiles {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(self.clone())
    }
}

impl GroupsAccumulator for ApproxPercentiles {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let x = values[0].as_primitive::<Float64Type>();
        for i in passing(x.len(), filter).filter(|i| x.is_valid(*i)) {
            self.waiting.push(
                groups[i],
                Centroid {
                    mean: x.value(i),
                    weight: 1.0,
                },
            );
        }
        self.waiting.grow(total);
        self.compress();
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let (means, weights) = (values[0].as_list::<i32>(), values[1].as_list::<i32>());
        let (mean, weight) = (
            means.values().as_primitive::<Float64Type>(),
            weights.values().as_primitive::<Float64Type>(),
        );
        for i in (0..means.len()).filter(|i| means.is_valid(*i)) {
            let (m, w) = (&means.offsets()[i..i + 2], &weights.offsets()[i..i + 2]);
            if m[1] - m[0] != w[1] - w[0] {
                return exec_err!(
                    "approx_percentiles: a partial state has {} means and {} weights",
                    m[1] - m[0],
                    w[1] - w[0]
                );
            }
            for (m, w) in (m[0]..m[1]).zip(w[0]..w[1]) {
                self.waiting.push(
                    groups[i],
                    Centroid {
                        mean: mean.value(m as usize),
                        weight: weight.value(w as usize),
                    },
                );
            }
        }
        self.waiting.grow(total);
        self.compress();
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (ends, digests) = self.take(emit_to);
        let mut lists = ListBuilder::new(Float64Builder::new());
        for ends in ends.windows(2) {
            let digest = &digests[ends[0]..ends[1]];
            if !digest.is_empty() {
                quantiles(digest, self.parts, |value| {
                    lists.values().append_value(value)
                });
            }
            lists.append(!digest.is_empty());
        }
        Ok(Arc::new(lists.finish()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (ends, digests) = self.take(emit_to);
        let (mut means, mut weights) = (
            ListBuilder::new(Float64Builder::new()),
            ListBuilder::new(Float64Builder::new()),
        );
        for ends in ends.windows(2) {
            for centroid in &digests[ends[0]..ends[1]] {
                means.values().append_value(centroid.mean);
                weights.values().append_value(centroid.weight);
            }
            means.append(true);
            weights.append(true);
        }
        Ok(vec![Arc::new(means.finish()), Arc::new(weights.finish())])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let x = values[0].as_primitive::<Float64Type>();
        let mut single = Self {
            parts: self.parts,
            ..Default::default()
        };
        // Each row is a group of its own.
        for i in passing(x.len(), filter).filter(|i| x.is_valid(*i)) {
            single.waiting.push(
                i,
                Centroid {
                    mean: x.value(i),
                    weight: 1.0,
                },
            );
        }
        single.waiting.grow(x.len());
        single.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.waiting.size()
            + self.digests.capacity() * size_of::<Centroid>()
            + self.ends.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::functions::tests::ask;
    use datafusion::arrow::array::Float64Array;

    #[test]
    fn many_groups_and_many_batches_give_what_few_values_give_exactly() {
        let mut fold = ApproxPercentiles {
            parts: 2,
            ..Default::default()
        };
        for batch in 0..30 {
            let x: Vec<ArrayRef> = vec![Arc::new(Float64Array::from_iter_values(
                (0..5000).map(|i| f64::from(i + batch)),
            ))];
            fold.update_batch(&x, &(0..5000).collect::<Vec<_>>(), None, 5000)
                .unwrap();
        }
        let bound =
            2 * (150_000 * size_of::<Centroid>() + 5001 * size_of::<usize>() + 20 * WAITING);
        assert!(
            (150_000 * 16..bound).contains(&fold.size()),
            "{}",
            fold.size()
        );
        let first = fold.evaluate(EmitTo::First(2)).unwrap();
        let expected = |i: f64| Some(vec![i, i + 14.5, i + 29.0]);
        let lists = |array: &ArrayRef| -> Vec<_> {
            array
                .as_list::<i32>()
                .iter()
                .map(|l| l.map(|l| l.as_primitive::<Float64Type>().values().to_vec()))
                .collect()
        };
        assert_eq!(lists(&first), [expected(0.0), expected(1.0)]);
        let rest = lists(&fold.evaluate(EmitTo::All).unwrap());
        assert_eq!((rest.len(), &rest[4997]), (4998, &expected(4999.0)));
    }

    #[test]
    fn partial_states_merge_to_within_the_promised_error() {
        let sql = "SELECT max(abs(a - i)) FROM (
            SELECT unnest(approx_percentiles(x)) a, unnest(range(0, 101)) i FROM (SELECT (value * 7919) % 100001 / 1000.0 AS x FROM generate_series(0, 100000)))";
        let off: f64 = ask(sql).unwrap()[0].parse().unwrap();
        assert!(off < 0.5, "{off} percent");
    }
}
