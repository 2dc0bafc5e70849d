//! Union and intersection of the sets of many rows, group by group.

use super::bits::{Bits, BitsArray, serialize};
use crate::engine::functions::accumulate::Accumulate;
use crate::engine::functions::grouped::passing;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, StringBuilder,
};
use datafusion::arrow::compute::{cast, nullif};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::Arc;

/// OST indexes below this lie in flat words, the rest, which no site has, in a map: 512 bytes a group at most.
const DENSE: u32 = 4096;
/// The place in `systems` of a group that has no row yet.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::functions) enum Operation {
    Union,
    Intersection,
}

/// Sets of OSTs by group. Its partial state is the file system and the set, so merging states is the same operation.
#[derive(Clone)]
pub(in crate::engine::functions) struct SetFold {
    function: &'static str,
    operation: Operation,
    /// The file systems seen, NULL as None.
    systems: Vec<Option<String>>,
    /// Each group's place in `systems`.
    system: Vec<u32>,
    /// Words of each group; a power of two, as many as the greatest index so far needs.
    stride: usize,
    words: Vec<u64>,
    /// Indexes from [`DENSE`] on.
    rest: HashMap<usize, RoaringBitmap>,
}

/// Names and types of the partial state.
pub(in crate::engine::functions) fn state() -> Vec<(&'static str, DataType)> {
    vec![("fs", DataType::Utf8), ("bits", DataType::Binary)]
}

impl SetFold {
    pub(in crate::engine::functions) fn new(function: &'static str, operation: Operation) -> Self {
        Self {
            function,
            operation,
            systems: vec![],
            system: vec![],
            stride: 1,
            words: vec![],
            rest: HashMap::new(),
        }
    }

    fn add(&mut self, group: usize, fs: Option<&str>, bits: &Bits<'_>) -> Result<()> {
        let at = match self
            .systems
            .iter()
            .position(|system| system.as_deref() == fs)
        {
            Some(at) => at,
            None => {
                self.systems.push(fs.map(str::to_string));
                self.systems.len() - 1
            }
        };
        let first = self.system[group] == NONE;
        if !first && self.system[group] != at as u32 {
            let name = |at: usize| {
                self.systems[at]
                    .as_deref()
                    .map_or("of no name".to_string(), |name| format!("`{name}`"))
            };
            let (a, b) = (name(self.system[group] as usize), name(at));
            let function = self.function;
            return exec_err!(
                "{function}: a group has sets of the file systems {a} and {b}: OST indexes belong to a file system; group by fs as well"
            );
        }
        self.system[group] = at as u32;
        if first || self.operation == Operation::Union {
            self.unite(group, bits);
        } else {
            self.intersect(group, bits);
        }
        Ok(())
    }

    fn unite(&mut self, group: usize, bits: &Bits<'_>) {
        bits.for_each(|ost| {
            if ost >= DENSE {
                self.rest.entry(group).or_default().insert(ost);
                return;
            }
            let word = ost as usize / 64;
            if word >= self.stride {
                self.widen((word + 1).next_power_of_two());
            }
            self.words[group * self.stride + word] |= 1 << (ost % 64);
        });
    }

    fn intersect(&mut self, group: usize, bits: &Bits<'_>) {
        let (mut row, mut rest) = ([0; DENSE as usize / 64], RoaringBitmap::new());
        bits.for_each(|ost| match ost < DENSE {
            true => row[ost as usize / 64] |= 1u64 << (ost % 64),
            false => _ = rest.insert(ost),
        });
        let words = &mut self.words[group * self.stride..(group + 1) * self.stride];
        words
            .iter_mut()
            .zip(row)
            .for_each(|(word, other)| *word &= other);
        if let Some(set) = self.rest.get_mut(&group) {
            *set &= rest;
        }
    }

    fn widen(&mut self, stride: usize) {
        let mut words = vec![0; self.system.len() * stride];
        for (from, to) in self
            .words
            .chunks_exact(self.stride)
            .zip(words.chunks_exact_mut(stride))
        {
            to[..self.stride].copy_from_slice(from);
        }
        (self.words, self.stride) = (words, stride);
    }

    fn rows(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.system.resize(total, NONE);
        self.words.resize(total * self.stride, 0);
        let (fs, bits) = (
            values[0].as_string::<i32>(),
            BitsArray::new(self.function, &values[1])?,
        );
        for i in passing(fs.len(), filter) {
            if let Some(bits) = bits.get(self.function, i)? {
                self.add(groups[i], fs.is_valid(i).then(|| fs.value(i)), &bits)?;
            }
        }
        Ok(())
    }

    /// File systems and sets of the emitted groups, which are then forgotten.
    fn take(&mut self, emit_to: EmitTo) -> (ArrayRef, ArrayRef) {
        let emitted = match emit_to {
            EmitTo::All => self.system.len(),
            EmitTo::First(n) => n,
        };
        let (mut systems, mut sets, mut bytes) =
            (StringBuilder::new(), BinaryBuilder::new(), vec![]);
        for (group, system) in self.system.drain(..emitted).enumerate() {
            if system == NONE {
                systems.append_null();
                sets.append_null();
                continue;
            }
            let words = &self.words[group * self.stride..(group + 1) * self.stride];
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut set = RoaringBitmap::from_lsb0_bytes(0, &words);
            if let Some(rest) = self.rest.get(&group) {
                set |= rest;
            }
            serialize(&mut set, &mut bytes);
            systems.append_option(self.systems[system as usize].as_deref());
            sets.append_value(&bytes);
        }
        self.words.drain(..emitted * self.stride);
        let rest = std::mem::take(&mut self.rest).into_iter();
        self.rest = rest
            .filter(|(group, _)| *group >= emitted)
            .map(|(group, set)| (group - emitted, set))
            .collect();
        if self.system.is_empty() {
            (self.system, self.words) = (vec![], vec![]);
        }
        (Arc::new(systems.finish()), Arc::new(sets.finish()))
    }
}

impl Accumulate for SetFold {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(self.clone())
    }
}

impl GroupsAccumulator for SetFold {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.rows(values, groups, filter, total)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.rows(values, groups, None, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.take(emit_to).1)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (systems, sets) = self.take(emit_to);
        Ok(vec![systems, sets])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let sets = cast(&values[1], &DataType::Binary)?;
        let sets = match filter {
            None => sets,
            Some(filter) => nullif(
                &sets,
                &filter
                    .iter()
                    .map(|pass| Some(pass != Some(true)))
                    .collect::<BooleanArray>(),
            )?,
        };
        Ok(vec![values[0].clone(), sets])
    }

    fn size(&self) -> usize {
        let names = self
            .systems
            .iter()
            .flatten()
            .map(|name| name.capacity() + size_of::<Option<String>>())
            .sum::<usize>();
        let rest = self
            .rest
            .values()
            .map(|set| set.serialized_size() + size_of::<(usize, RoaringBitmap)>())
            .sum::<usize>();
        names
            + rest
            + self.system.capacity() * size_of::<u32>()
            + self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::Bits;
    use super::*;
    use datafusion::arrow::array::{BinaryArray, StringArray};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn columns(rows: &[(usize, Option<BTreeSet<u32>>)]) -> (Vec<ArrayRef>, Vec<usize>) {
        let bits = rows.iter().map(|(_, set)| {
            let mut bytes = vec![];
            serialize(&mut set.as_ref()?.iter().copied().collect(), &mut bytes);
            Some(bytes)
        });
        let bits = BinaryArray::from_iter(bits);
        let fs =
            StringArray::from_iter_values(rows.iter().map(|(group, _)| format!("fs{}", group % 2)));
        (
            vec![Arc::new(fs), Arc::new(bits)],
            rows.iter().map(|(group, _)| *group).collect(),
        )
    }

    fn sets(array: &ArrayRef) -> Vec<Option<BTreeSet<u32>>> {
        let set = |bytes| {
            let mut set = BTreeSet::new();
            Bits::parse(bytes).unwrap().for_each(|v| _ = set.insert(v));
            set
        };
        array
            .as_binary::<i32>()
            .iter()
            .map(|bytes| bytes.map(set))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        /// Partial states of two halves, merged in either order and emitted in two pieces, give what a plain fold gives.
        #[test]
        fn states_merge_to_the_brute_force_answer_in_any_order(
            rows in prop::collection::vec((0usize..4, prop::option::weighted(0.9, prop::collection::btree_set(prop_oneof![0u32..300, 0u32..9000, any::<u32>()], 0..12))), 1..40),
            cut in any::<prop::sample::Index>(), first in 0usize..5, union in any::<bool>(), swap in any::<bool>(), direct in any::<bool>()
        ) {
            let operation = if union { Operation::Union } else { Operation::Intersection };
            let mut expected: Vec<Option<BTreeSet<u32>>> = vec![None; 4];
            for (group, set) in &rows {
                if let Some(set) = set {
                    expected[*group] = Some(match (&expected[*group], operation) {
                        (None, _) => set.clone(),
                        (Some(so_far), Operation::Union) => so_far | set,
                        (Some(so_far), Operation::Intersection) => so_far & set,
                    });
                }
            }
            let halves = rows.split_at(cut.index(rows.len()));
            let mut merged = SetFold::new("ost_union", operation);
            for half in if swap { [halves.1, halves.0] } else { [halves.0, halves.1] } {
                let (values, groups) = columns(half);
                let mut partial = SetFold::new("ost_union", operation);
                if direct {
                    let state = partial.convert_to_state(&values, None).unwrap();
                    merged.merge_batch(&state, &groups, 4).unwrap();
                } else {
                    partial.update_batch(&values, &groups, None, 4).unwrap();
                    let (a, b) = (partial.state(EmitTo::First(first.min(4))).unwrap(), partial.state(EmitTo::All).unwrap());
                    prop_assert!(partial.size() < 200, "what was given out is still held: {}", partial.size());
                    merged.merge_batch(&a, &(0..first.min(4)).collect::<Vec<_>>(), 4).unwrap();
                    merged.merge_batch(&b, &(first.min(4)..4).collect::<Vec<_>>(), 4).unwrap();
                }
            }
            let mut found = sets(&merged.evaluate(EmitTo::First(first.min(4))).unwrap());
            found.extend(sets(&merged.evaluate(EmitTo::All).unwrap()));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn rows_that_the_filter_leaves_out_count_for_nothing() {
        let (values, groups) = columns(&[
            (0, Some([1].into())),
            (0, Some([2].into())),
            (0, Some([3].into())),
        ]);
        let filter = BooleanArray::from(vec![Some(true), Some(false), None]);
        let mut fold = SetFold::new("ost_union", Operation::Union);
        fold.update_batch(&values, &groups, Some(&filter), 1)
            .unwrap();
        assert_eq!(
            sets(&fold.evaluate(EmitTo::All).unwrap()),
            [Some([1].into())]
        );
        let state = fold.convert_to_state(&values, Some(&filter)).unwrap();
        assert_eq!(sets(&state[1]), [Some([1].into()), None, None]);
    }

    #[test]
    fn the_size_grows_with_groups_and_with_the_greatest_index() {
        let rows: Vec<_> = (0..1000)
            .map(|group| (2 * group, Some([5, 700].into())))
            .collect();
        let (values, groups) = columns(&rows);
        let mut fold = SetFold::new("ost_union", Operation::Union);
        fold.update_batch(&values, &groups, None, 2000).unwrap();
        // 700 / 64 = 10, so 16 words of 8 bytes, and 4 bytes for the file system.
        assert!(
            (2000 * 132..2000 * 132 * 2).contains(&fold.size()),
            "{}",
            fold.size()
        );
    }
}
