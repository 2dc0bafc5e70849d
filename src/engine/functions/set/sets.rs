//! Sets of ids, group by group.

use crate::engine::functions::accumulate::Accumulate;
use crate::engine::functions::arguments::list_of;
use crate::engine::functions::grouped::passing;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, ListArray, PrimitiveArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// So many ids of a group are held before they are looked through for equal ones. There may be many groups.
const LEAST: usize = 256;

/// The set of all ids of each group, be they given one by one or as lists of them. Its partial states are lists.
pub(in crate::engine::functions) fn fold(ids: &DataType) -> Box<dyn Accumulate> {
    match ids {
        DataType::UInt64 => Box::new(Sets::<UInt64Type>::new(vec![])),
        _ => Box::new(Sets::<Int64Type>::new(vec![])),
    }
}

/// The type of a set of ids of this type.
pub(in crate::engine::functions) fn set_of(ids: &DataType) -> DataType {
    list_of(ids.clone())
}

struct Sets<T: ArrowPrimitiveType> {
    groups: Vec<Set<T::Native>>,
    /// Bytes that the ids of all groups have room for.
    held: usize,
}

#[derive(Clone, Default)]
struct Set<N> {
    ids: Vec<N>,
    /// So many of them, the first, ascend and are there once.
    different: usize,
}

impl<N: Copy + Ord> Set<N> {
    fn dedup(&mut self) {
        if self.different < self.ids.len() {
            match self.different {
                0 => self.ids.sort_unstable(),
                // Two runs in order are merged.
                _ => self.ids.sort(),
            }
            self.ids.dedup();
            self.different = self.ids.len();
        }
    }

    /// Makes room for more ids, and says for how many.
    fn grow(&mut self) -> usize {
        let before = self.ids.capacity();
        if before >= LEAST && before / 2 >= self.different {
            self.dedup();
        }
        if self.ids.len() > before / 2 {
            self.ids.reserve(before);
        }
        self.ids.reserve(1);
        self.ids.capacity() - before
    }
}

impl<T: ArrowPrimitiveType<Native: Ord>> Sets<T> {
    fn new(groups: Vec<Set<T::Native>>) -> Self {
        let room: usize = groups.iter().map(|set| set.ids.capacity()).sum();
        let held = room * size_of::<T::Native>();
        Self { groups, held }
    }

    fn add(&mut self, group: usize, id: T::Native) {
        let set = &mut self.groups[group];
        // Rows of one id often stand together.
        if set.ids.last() == Some(&id) {
            return;
        }
        if set.ids.len() == set.ids.capacity() {
            self.held += set.grow() * size_of::<T::Native>();
        }
        set.ids.push(id);
    }

    fn add_rows(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) {
        self.groups.resize_with(total, Default::default);
        let values = &values[0];
        let rows = passing(values.len(), filter);
        let Some(lists) = values.as_list_opt::<i32>() else {
            let ids = values.as_primitive::<T>();
            for row in rows.filter(|row| ids.is_valid(*row)) {
                self.add(groups[row], ids.value(row));
            }
            return;
        };
        let (ids, ends) = (lists.values().as_primitive::<T>(), lists.value_offsets());
        for row in rows.filter(|row| lists.is_valid(*row)) {
            let of = ends[row] as usize..ends[row + 1] as usize;
            if ids.null_count() == 0 {
                let ids = &ids.values()[of];
                ids.iter().for_each(|id| self.add(groups[row], *id));
            } else {
                let ids = ids.slice(of.start, of.len());
                ids.iter()
                    .flatten()
                    .for_each(|id| self.add(groups[row], id));
            }
        }
    }

    /// The ids of the emitted groups, which are then forgotten; NULL of none.
    fn take(&mut self, emit_to: EmitTo, dedup: bool) -> Result<ArrayRef> {
        let mut sets = std::mem::take(&mut self.groups);
        if let EmitTo::First(n) = emit_to {
            self.groups = sets.split_off(n);
        }
        *self = Self::new(std::mem::take(&mut self.groups));
        if dedup {
            sets.iter_mut().for_each(Set::dedup);
        }
        let total: usize = sets.iter().map(|set| set.ids.len()).sum();
        if i32::try_from(total).is_err() {
            return exec_err!("sets of {total} ids together are more than a list can hold");
        }
        let some = NullBuffer::from_iter(sets.iter().map(|set| !set.ids.is_empty()));
        let ends = OffsetBuffer::from_lengths(sets.iter().map(|set| set.ids.len()));
        let ids = match &mut sets[..] {
            [set] => std::mem::take(&mut set.ids),
            _ => {
                let mut all = Vec::with_capacity(total);
                sets.into_iter().for_each(|set| all.extend(set.ids));
                all
            }
        };
        let ids = PrimitiveArray::<T>::new(ScalarBuffer::from(ids), None);
        Ok(Arc::new(ListArray::try_new(
            item::<T>(),
            ends,
            Arc::new(ids),
            Some(some),
        )?))
    }
}

/// What a set is a list of.
fn item<T: ArrowPrimitiveType>() -> FieldRef {
    Arc::new(Field::new_list_field(T::DATA_TYPE, true))
}

impl<T: ArrowPrimitiveType<Native: Ord>> Accumulate for Sets<T> {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(Self::new(self.groups.clone()))
    }
}

impl<T: ArrowPrimitiveType<Native: Ord>> GroupsAccumulator for Sets<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.add_rows(values, groups, filter, total);
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.add_rows(values, groups, None, total);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.take(emit_to, true)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        // Those of all partitions are told apart once.
        Ok(vec![self.take(emit_to, false)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let passing = filter
            .map(|filter| NullBuffer::from_iter(filter.iter().map(|pass| pass == Some(true))));
        let some = NullBuffer::union(values[0].nulls(), passing.as_ref());
        let (field, ends, ids) = match values[0].as_list_opt::<i32>().cloned() {
            Some(lists) => {
                let (field, ends, ids, _) = lists.into_parts();
                (field, ends, ids)
            }
            None => (
                item::<T>(),
                OffsetBuffer::from_repeated_length(1, values[0].len()),
                values[0].clone(),
            ),
        };
        Ok(vec![Arc::new(ListArray::try_new(field, ends, ids, some)?)])
    }

    fn size(&self) -> usize {
        self.held + self.groups.capacity() * size_of::<Set<T::Native>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn found(sets: &ArrayRef) -> Vec<Option<Vec<i64>>> {
        let ids = |set: ArrayRef| set.as_primitive::<Int64Type>().values().to_vec();
        sets.as_list::<i32>()
            .iter()
            .map(|set| set.map(ids))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(17), ..ProptestConfig::default() })]

        /// Rows in two parts, each taken in or made states of one by one, and states given out in two pieces.
        #[test]
        fn they_are_those_of_a_tree_however_rows_and_states_come(
            rows in prop::collection::vec((0usize..4, prop::option::weighted(0.9, -3i64..9)), 1..60),
            cut in any::<prop::sample::Index>(), first in 0usize..5, direct in any::<bool>()
        ) {
            let mut expected: Vec<BTreeSet<i64>> = vec![BTreeSet::new(); 4];
            for (group, id) in &rows {
                expected[*group].extend(id);
            }
            let expected: Vec<_> = expected.into_iter().map(|set| (!set.is_empty()).then(|| set.into_iter().collect::<Vec<_>>())).collect();
            let mut merged = fold(&DataType::Int64);
            let (one, other) = rows.split_at(cut.index(rows.len()));
            for part in [other, one] {
                let ids: ArrayRef = Arc::new(Int64Array::from_iter(part.iter().map(|(_, id)| *id)));
                let groups: Vec<usize> = part.iter().map(|(group, _)| *group).collect();
                let mut partial = fold(&DataType::Int64);
                if direct {
                    let states = partial.convert_to_state(&[ids], None).unwrap();
                    partial.merge_batch(&states, &groups, 4).unwrap();
                } else {
                    partial.update_batch(&[ids], &groups, None, 4).unwrap();
                }
                let (a, b) = (partial.state(EmitTo::First(first.min(4))).unwrap(), partial.state(EmitTo::All).unwrap());
                prop_assert_eq!(partial.size(), 0);
                merged.merge_batch(&a, &(0..first.min(4)).collect::<Vec<_>>(), 4).unwrap();
                merged.merge_batch(&b, &(first.min(4)..4).collect::<Vec<_>>(), 4).unwrap();
            }
            prop_assert_eq!(found(&merged.copy().evaluate(EmitTo::All).unwrap()), expected.clone());
            prop_assert_eq!(found(&merged.evaluate(EmitTo::All).unwrap()), expected);
        }
    }

    #[test]
    fn rows_that_a_filter_leaves_out_are_in_no_state() {
        let filter = BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]);
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), Some(6), Some(7), None]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(vec![
            Some(vec![Some(5), None]),
            Some(vec![Some(6)]),
            Some(vec![Some(7)]),
            None,
        ]));
        for given in [ids, lists] {
            let mut sets = fold(&DataType::Int64);
            let states = sets.convert_to_state(&[given], Some(&filter)).unwrap();
            sets.merge_batch(&states, &[0, 1, 2, 3], 4).unwrap();
            let all = found(&sets.evaluate(EmitTo::All).unwrap());
            assert_eq!(all, [Some(vec![5]), None, None, None]);
        }
    }

    /// A million rows of 500 groups of two ids each, which take turns.
    #[test]
    fn of_many_groups_only_different_ids_take_memory() {
        let mut sets = fold(&DataType::Int64);
        let groups: Vec<usize> = (0..10_000).map(|row| row / 20).collect();
        for _ in 0..100 {
            let ids = Int64Array::from_iter_values((0..10_000).map(|row| row % 2));
            sets.update_batch(&[Arc::new(ids)], &groups, None, 500)
                .unwrap();
        }
        // 256 of eight bytes at most, and what is known of a group.
        assert!(sets.size() < 500 * 2_200, "{}", sets.size());
        let all = found(&sets.evaluate(EmitTo::All).unwrap());
        assert_eq!(all, vec![Some(vec![0, 1]); 500]);
    }

    /// A million rows of 10,000 ids, in an order in which no two equal ones stand together.
    #[test]
    fn of_many_rows_only_different_ids_take_memory() {
        let mut sets = fold(&DataType::Int64);
        for batch in 0..100 {
            let ids =
                Int64Array::from_iter_values((0..10_000).map(|i| (i * 7919 + batch) % 10_000));
            sets.update_batch(&[Arc::new(ids)], &vec![0; 10_000], None, 1)
                .unwrap();
        }
        assert!((80_000..600_000).contains(&sets.size()), "{}", sets.size());
        let all = found(&sets.evaluate(EmitTo::All).unwrap());
        assert_eq!(all, [Some((0..10_000).collect())]);
    }
}
