//! Sets of ids, group by group.

use super::grouped::passing;
use super::{Fold, list_of};
use crate::engine::runs::valid;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, ListArray, PrimitiveArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, UInt64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::ops::Range;
use std::sync::Arc;

/// So many ids are held before they are looked through for equal ones.
const LEAST: usize = 32 << 10;

/// The set of all ids of each group, be they given one by one or as lists of them. Its partial states are lists.
pub(super) fn fold(ids: &DataType) -> Box<dyn Fold> {
    match ids {
        DataType::UInt64 => Box::new(Sets::<UInt64Type>::new(vec![])),
        _ => Box::new(Sets::<Int64Type>::new(vec![])),
    }
}

/// The type of a set of ids of this type.
pub(super) fn set_of(ids: &DataType) -> DataType {
    list_of(ids.clone())
}

/// The different ids of each run of rows, in the order of the rows, as far as equal ones stand together: partial states of groups that the runs
/// belong to. The rows are ids of 64 bits, and those that are NULL do not count.
pub(in crate::engine) fn sets_of_runs(
    ids: &ArrayRef,
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    match ids.data_type() {
        DataType::UInt64 => of_runs::<UInt64Type>(ids, runs, nulls),
        _ => of_runs::<Int64Type>(ids, runs, nulls),
    }
}

fn of_runs<T: ArrowPrimitiveType>(
    ids: &ArrayRef,
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let of: &[T::Native] = ids.as_primitive::<T>().values();
    let (mut ids, mut ends) = (vec![], Vec::with_capacity(runs.len() + 1));
    ends.push(0);
    for run in runs {
        let of = &of[run.clone()];
        // Rows of a log stand together, so most runs have one id.
        match of.split_first() {
            Some((first, others)) if others.iter().all(|id| id == first) => {
                let some = nulls.is_none_or(|nulls| valid(run, nulls) > 0);
                ids.extend(some.then_some(*first));
            }
            _ => {
                let start = ids.len();
                for (row, id) in run.clone().zip(of) {
                    let counts = nulls.is_none_or(|nulls| nulls.is_valid(row));
                    if counts && ids[start..].last() != Some(id) {
                        ids.push(*id);
                    }
                }
            }
        }
        ends.push(ids.len() as i32);
    }
    list::<T>(ids, OffsetBuffer::new(ends.into()), None)
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
    fn tell_apart(&mut self) {
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
            self.tell_apart();
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
    fn take(&mut self, emit_to: EmitTo, tell_apart: bool) -> Result<ArrayRef> {
        let mut sets = std::mem::take(&mut self.groups);
        if let EmitTo::First(n) = emit_to {
            self.groups = sets.split_off(n);
        }
        *self = Self::new(std::mem::take(&mut self.groups));
        if tell_apart {
            sets.iter_mut().for_each(Set::tell_apart);
        }
        let total: usize = sets.iter().map(|set| set.ids.len()).sum();
        if i32::try_from(total).is_err() {
            return exec_err!("sets of {total} ids together are more than a list can hold");
        }
        let some = NullBuffer::from_iter(sets.iter().map(|set| !set.ids.is_empty()));
        let ends = OffsetBuffer::from_lengths(sets.iter().map(|set| set.ids.len()));
        let ids = match &mut sets[..] {
            [set] => std::mem::take(&mut set.ids),
            sets => sets.iter().flat_map(|set| &set.ids).copied().collect(),
        };
        list::<T>(ids, ends, Some(some))
    }
}

fn list<T: ArrowPrimitiveType>(
    ids: Vec<T::Native>,
    ends: OffsetBuffer<i32>,
    some: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let ids = PrimitiveArray::<T>::new(ScalarBuffer::from(ids), None);
    let field = Arc::new(Field::new_list_field(T::DATA_TYPE, true));
    Ok(Arc::new(ListArray::try_new(
        field,
        ends,
        Arc::new(ids),
        some,
    )?))
}

impl<T: ArrowPrimitiveType<Native: Ord>> Fold for Sets<T> {
    fn copy(&self) -> Box<dyn Fold> {
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
        let counted = NullBuffer::union(values[0].logical_nulls().as_ref(), passing.as_ref());
        let Some(lists) = values[0].as_list_opt::<i32>() else {
            let rows: Vec<_> = (0..values[0].len()).map(|row| row..row + 1).collect();
            return Ok(vec![of_runs::<T>(&values[0], &rows, counted.as_ref())?]);
        };
        let (field, ends, ids, _) = lists.clone().into_parts();
        Ok(vec![Arc::new(ListArray::try_new(
            field, ends, ids, counted,
        )?)])
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

        /// Rows in two parts, each taken in row by row or as the sets of runs, and states given out in two pieces.
        #[test]
        fn they_are_those_of_a_tree_however_rows_and_states_come(
            rows in prop::collection::vec((0usize..4, prop::option::weighted(0.9, -3i64..9)), 1..60),
            cut in any::<prop::sample::Index>(), first in 0usize..5, by_runs in any::<bool>()
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
                if by_runs {
                    let runs: Vec<Range<usize>> = groups.chunk_by(|a, b| a == b).scan(0, |at, run| { *at += run.len(); Some(*at - run.len()..*at) }).collect();
                    let of: Vec<usize> = runs.iter().map(|run| groups[run.start]).collect();
                    partial.merge_batch(&[sets_of_runs(&ids, &runs, ids.nulls()).unwrap()], &of, 4).unwrap();
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
