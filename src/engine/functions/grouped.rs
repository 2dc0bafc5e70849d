//! Values of many groups in two flat vectors, until somebody wants those of each group together.

use datafusion::arrow::array::{Array, BooleanArray, ListArray};
use datafusion::logical_expr::EmitTo;

/// Values in the order in which they came, each with its group.
#[derive(Clone, Default)]
pub(in crate::engine) struct Grouped<T> {
    groups: Vec<u32>,
    values: Vec<T>,
    /// Groups so far, those without a value included.
    total: usize,
}

impl<T: Copy> Grouped<T> {
    pub(in crate::engine) fn push(&mut self, group: usize, value: T) {
        self.groups.push(group as u32);
        self.values.push(value);
    }

    /// Says how many groups there are by now.
    pub(in crate::engine) fn grow(&mut self, total: usize) {
        self.total = self.total.max(total);
    }

    pub(in crate::engine) fn len(&self) -> usize {
        self.values.len()
    }

    pub(in crate::engine) fn total(&self) -> usize {
        self.total
    }

    pub(in crate::engine) fn size(&self) -> usize {
        self.groups.capacity() * size_of::<u32>() + self.values.capacity() * size_of::<T>()
    }

    /// Takes out the values of the emitted groups, group after group: group `i` has `values[ends[i]..ends[i + 1]]`. The
    /// groups that stay move to the front.
    pub(in crate::engine) fn take(&mut self, emit_to: EmitTo) -> (Vec<usize>, Vec<T>) {
        let emitted = match emit_to {
            EmitTo::All => self.total,
            EmitTo::First(n) => n,
        };
        let mut ends = vec![0; emitted + 1];
        for group in self
            .groups
            .iter()
            .filter(|group| (**group as usize) < emitted)
        {
            ends[*group as usize + 1] += 1;
        }
        for i in 0..emitted {
            ends[i + 1] += ends[i];
        }
        // Each group's next place: a stable counting sort, so that the result does not depend on what else is held.
        let (mut next, mut kept) = (ends.clone(), 0);
        let mut values = match self.values.first() {
            Some(any) => vec![*any; ends[emitted]],
            None => vec![],
        };
        for at in 0..self.values.len() {
            let group = self.groups[at] as usize;
            if group < emitted {
                values[next[group]] = self.values[at];
                next[group] += 1;
            } else {
                self.groups[kept] = (group - emitted) as u32;
                self.values[kept] = self.values[at];
                kept += 1;
            }
        }
        self.groups.truncate(kept);
        self.values.truncate(kept);
        self.total -= emitted;
        if kept == 0 {
            (self.groups, self.values) = (vec![], vec![]);
        }
        (ends, values)
    }
}

/// The rows of a batch that an aggregate counts: those that its `FILTER` lets through.
pub(in crate::engine) fn passing(
    rows: usize,
    filter: Option<&BooleanArray>,
) -> impl Iterator<Item = usize> + '_ {
    (0..rows).filter(move |i| filter.is_none_or(|filter| filter.is_valid(*i) && filter.value(*i)))
}

/// The group of each item of some lists, given that of each list, and the items of lists that are not NULL.
pub(in crate::engine) fn items_of(
    lists: &ListArray,
    groups: &[usize],
) -> (Vec<usize>, impl Iterator<Item = usize> + use<>) {
    let mut of_items = vec![0; lists.values().len()];
    let mut rows = vec![];
    for list in (0..lists.len()).filter(|list| lists.is_valid(*list)) {
        let items = lists.offsets()[list] as usize..lists.offsets()[list + 1] as usize;
        of_items[items.clone()].fill(groups[list]);
        rows.push(items);
    }
    (of_items, rows.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_out_by_group_and_the_groups_that_stay_move_to_the_front() {
        let mut grouped = Grouped::default();
        for (group, value) in [(2, 'a'), (0, 'b'), (2, 'c'), (4, 'd'), (0, 'e')] {
            grouped.push(group, value);
        }
        grouped.grow(5);
        assert_eq!(
            grouped.take(EmitTo::First(3)),
            (vec![0, 2, 2, 4], vec!['b', 'e', 'a', 'c'])
        );
        assert_eq!(grouped.take(EmitTo::All), (vec![0, 0, 1], vec!['d']));
        assert_eq!(grouped.take(EmitTo::All), (vec![0], vec![]));
    }
}
