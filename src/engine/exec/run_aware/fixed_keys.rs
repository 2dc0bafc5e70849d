//! Keys as words, which are compared without a look at what they mean.
//!
//! Numbers and times of eight bytes are such words, and texts as views, which hold up to twelve bytes themselves. Where the words of two rows
//! of a batch are the same, or NULL in both, so are the keys. Where they are not, longer texts may still be equal.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, make_comparator};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::datatypes::DataType;
use std::ops::{BitOr, BitXor, Range};

/// So many keys that were there before are remembered.
const REMEMBERED: usize = 256;

/// The runs of rows with equal keys, none if there are no keys; each row is one where keys of such a type cannot be compared.
pub(in crate::engine) fn runs_of(keys: &[ArrayRef]) -> Vec<Range<usize>> {
    let rows = keys.first().map_or(0, |key| key.len());
    if rows == 0 {
        return vec![];
    }
    let mut changes = vec![0; (rows - 1).div_ceil(64)];
    for key in keys {
        let Some(of_key) = changes_of(key) else {
            return (0..rows).map(|row| row..row + 1).collect();
        };
        changes
            .iter_mut()
            .zip(of_key)
            .for_each(|(all, of_key)| *all |= of_key);
    }
    let count: u32 = changes.iter().map(|bits| bits.count_ones()).sum();
    let (mut runs, mut start) = (Vec::with_capacity(count as usize + 1), 0);
    for (i, mut bits) in changes.into_iter().enumerate() {
        while bits != 0 {
            let end = i * 64 + bits.trailing_zeros() as usize + 1;
            runs.push(start..end);
            start = end;
            bits &= bits - 1;
        }
    }
    runs.push(start..rows);
    runs
}

/// A bit for each row but the first, set if its key is not that of the row before it; None if keys of this type cannot be compared.
fn changes_of(key: &ArrayRef) -> Option<Vec<u64>> {
    let both = |valid: &NullBuffer| {
        let (valid, others) = (valid.inner(), valid.len() - 1);
        (valid.slice(0, others), valid.slice(1, others))
    };
    let Some(words) = Words::of(key) else {
        return Some(changes_by_value(key)?.bit_chunks().iter_padded().collect());
    };
    let mut changes = match &words.values {
        Values::Eight(values) => changes_of_words(values),
        Values::Sixteen(values) => changes_of_words(values),
    };
    if let Values::Sixteen(views) = &words.values {
        keep_changes_of_long_texts(key, views, &mut changes);
    }
    if let Some((before, after)) = words.nulls.as_ref().map(both) {
        let (before, after) = (before.bit_chunks(), after.bit_chunks());
        let valid = before.iter_padded().zip(after.iter_padded());
        for (changes, (before, after)) in changes.iter_mut().zip(valid) {
            *changes = *changes & before & after | before ^ after;
        }
    }
    Some(changes)
}

/// The same for keys that are not made of words.
fn changes_by_value(key: &ArrayRef) -> Option<BooleanBuffer> {
    let others = key.len() - 1;
    let nested = |kind: &DataType| {
        kind.is_nested() || matches!(kind, DataType::Dictionary(..) | DataType::RunEndEncoded(..))
    };
    let nested = match key.data_type() {
        DataType::Dictionary(_, values) => nested(values),
        other => nested(other),
    };
    if nested {
        let order = make_comparator(key, key, SortOptions::default()).ok()?;
        return Some(BooleanBuffer::collect_bool(others, |row| {
            order(row, row + 1).is_ne()
        }));
    }
    let changes = distinct(&key.slice(0, others), &key.slice(1, others)).ok()?;
    Some(changes.values().clone())
}

fn changes_of_words<T>(words: &[T]) -> Vec<u64>
where
    T: Copy + Default + Eq + BitXor<Output = T> + BitOr<Output = T>,
{
    let others = words.len() - 1;
    let pairs = words[..others].chunks(64).zip(words[1..].chunks(64));
    let changes = pairs.map(|(before, after)| {
        let mut bits = 0;
        let eights = before.chunks(8).zip(after.chunks(8)).enumerate();
        for (i, (before, after)) in eights {
            let pairs = before.iter().zip(after);
            // Mostly nothing changes, which is told of eight at a time.
            let any = pairs.clone().fold(T::default(), |any, (before, after)| {
                any | (*before ^ *after)
            });
            if any != T::default() {
                for (j, (before, after)) in pairs.enumerate() {
                    bits |= u64::from(before != after) << (i * 8 + j);
                }
            }
        }
        bits
    });
    changes.collect()
}

/// Takes back what are equal texts in two places.
fn keep_changes_of_long_texts(key: &ArrayRef, views: &[u128], changes: &mut [u64]) {
    let equal = |row: usize| match key.data_type() {
        DataType::Utf8View => {
            key.as_string_view().value(row) == key.as_string_view().value(row + 1)
        }
        _ => key.as_binary_view().value(row) == key.as_binary_view().value(row + 1),
    };
    for (i, changes) in changes.iter_mut().enumerate() {
        let mut left = *changes;
        while left != 0 {
            let row = i * 64 + left.trailing_zeros() as usize;
            // The length and the first four bytes. Of NULLs these are anything.
            let (before, after) = (views[row] as u64, views[row + 1] as u64);
            let long =
                before as u32 > 12 && before == after && key.is_valid(row) && key.is_valid(row + 1);
            if long && equal(row) {
                *changes &= !(left & left.wrapping_neg());
            }
            left &= left - 1;
        }
    }
}

/// Which of these rows have keys that no row has that was remembered: these rows, and of each of all rows which of them has its keys. None where
/// there are no keys or these are not made of words.
pub(super) fn told_apart(
    keys: &[ArrayRef],
    rows: impl ExactSizeIterator<Item = usize> + Clone,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let keys: Vec<Words> = keys.iter().map(Words::of).collect::<Option<_>>()?;
    let width = keys.iter().map(Words::width).sum();
    if width == 0 {
        return None;
    }
    let mut words = vec![0; rows.len() * width];
    let mut start = 0;
    for key in &keys {
        let own = start..start + key.width();
        let places = words.chunks_exact_mut(width);
        key.put(
            rows.clone()
                .zip(places.map(|words| &mut words[own.clone()])),
        );
        start = own.end;
    }
    let mut remembered = [u32::MAX; REMEMBERED];
    let (mut different, mut which) = (vec![], Vec::with_capacity(rows.len()));
    // Where the words of each of the different rows stand.
    let mut known: Vec<&[u64]> = vec![];
    for (row, words) in rows.zip(words.chunks_exact(width)) {
        let mix = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = &mut remembered[(words.iter().fold(0, mix) >> 56) as usize];
        if known.get(*place as usize) != Some(&words) {
            *place = different.len() as u32;
            different.push(row as u32);
            known.push(words);
        }
        which.push(*place);
    }
    Some((different, which))
}

/// The words of a key.
struct Words {
    values: Values,
    nulls: Option<NullBuffer>,
}

enum Values {
    Eight(ScalarBuffer<u64>),
    Sixteen(ScalarBuffer<u128>),
}

impl Words {
    fn of(key: &ArrayRef) -> Option<Self> {
        let values = match key.data_type() {
            DataType::Utf8View => Values::Sixteen(key.as_string_view().views().clone()),
            DataType::BinaryView => Values::Sixteen(key.as_binary_view().views().clone()),
            // Intervals of eight bytes may stand at places for four.
            DataType::Interval(_) => return None,
            other if other.primitive_width() == Some(8) => {
                let data = key.to_data();
                let values = data.buffers()[0].clone();
                Values::Eight(ScalarBuffer::new(values, data.offset(), data.len()))
            }
            _ => return None,
        };
        let nulls = key.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        Some(Self { values, nulls })
    }

    /// Words of eight bytes of each row: its own and, where there are NULLs, whether it is one.
    fn width(&self) -> usize {
        let own = match self.values {
            Values::Eight(_) => 1,
            Values::Sixteen(_) => 2,
        };
        own + usize::from(self.nulls.is_some())
    }

    /// Puts those of rows in their places, which hold 0: that of a NULL is the same whatever stands under it.
    fn put<'a>(&self, rows: impl Iterator<Item = (usize, &'a mut [u64])>) {
        for (row, mut place) in rows {
            if let Some(nulls) = &self.nulls {
                let null = nulls.is_null(row);
                place[0] = null.into();
                place = &mut place[1..];
                if null {
                    continue;
                }
            }
            let word = match &self.values {
                Values::Eight(values) => values[row].into(),
                Values::Sixteen(values) => values[row],
            };
            for (place, word) in place.iter_mut().zip([word as u64, (word >> 64) as u64]) {
                *place = word;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{
        BinaryViewArray, Float64Array, Int32Array, Int64Array, ListArray, StringViewArray,
    };
    use datafusion::arrow::datatypes::Int64Type;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Rows with few values and NULL, each column also cut out of a longer one; texts stand in several places.
    fn keys(rows: &[(u8, u8)], from: usize) -> Vec<ArrayRef> {
        let some = |n: u8| (n > 0).then_some(n);
        let text = |n: u8| {
            [
                "a",
                "scratch",
                "of thirteen b",
                "of thirteen bytes and more",
            ][n as usize % 4]
        };
        let all: Vec<ArrayRef> = vec![
            Arc::new(
                rows.iter()
                    .map(|(a, _)| some(*a).map(i64::from))
                    .collect::<Int64Array>(),
            ),
            Arc::new(
                rows.iter()
                    .map(|(_, b)| some(*b).map(text))
                    .collect::<StringViewArray>(),
            ),
            Arc::new(
                rows.iter()
                    .map(|(_, b)| some(*b).map(|n| [0.0, -0.0, f64::NAN][n as usize % 3]))
                    .collect::<Float64Array>(),
            ),
            Arc::new(
                rows.iter()
                    .map(|(a, _)| some(*a).map(text))
                    .collect::<BinaryViewArray>(),
            ),
            Arc::new(
                rows.iter()
                    .map(|(a, _)| some(*a).map(i32::from))
                    .collect::<Int32Array>(),
            ),
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
                rows.iter()
                    .map(|(a, b)| some(*a).map(|a| [Some(i64::from(a)), some(*b).map(i64::from)])),
            )),
        ];
        all.iter()
            .map(|key| key.slice(from, key.len() - from))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(41), ..ProptestConfig::default() })]

        /// By a comparison of the rows one by one.
        #[test]
        fn runs_end_where_keys_change_and_rows_are_told_apart_by_their_keys(
            rows in prop::collection::vec((0u8..4, 0u8..5, 1usize..4), 1..200), from in 0usize..3, chosen in 1u8..64
        ) {
            let rows: Vec<(u8, u8)> = rows.into_iter().flat_map(|(a, b, times)| std::iter::repeat_n((a, b), times)).collect();
            let all = keys(&rows, from.min(rows.len()));
            let some: Vec<ArrayRef> = all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1).map(|(_, key)| key.clone()).collect();
            let same: Vec<_> = some.iter().map(|key| make_comparator(key, key, Default::default()).unwrap()).collect();
            let same = |a: usize, b: usize| same.iter().all(|same| same(a, b).is_eq());
            let count = rows.len().saturating_sub(from);
            let mut expected: Vec<Range<usize>> = vec![];
            for row in 0..count {
                match expected.last_mut() {
                    Some(run) if same(run.start, row) => run.end = row + 1,
                    _ => expected.push(row..row + 1),
                }
            }
            let runs = runs_of(&some);
            prop_assert_eq!(&runs, &expected);

            let told = told_apart(&some, runs.iter().map(|run| run.start));
            prop_assert_eq!(told.is_none(), chosen & 48 > 0, "keys of four bytes and lists are no words");
            if let Some((rows, which)) = told {
                prop_assert_eq!(which.len(), runs.len());
                for (run, which) in runs.iter().zip(&which) {
                    prop_assert!(same(run.start, rows[*which as usize] as usize));
                }
            }
        }
    }

    /// A hundred runs of three keys by turns, as in a log with files of three file systems.
    #[test]
    fn keys_that_come_by_turns_are_looked_up_once() {
        let fs: StringViewArray = (0..100)
            .map(|i| [Some("scratch"), None, Some("home")][i % 3])
            .collect();
        let (rows, which) = told_apart(&[Arc::new(fs)], 0..100).unwrap();
        assert_eq!(rows, [0, 1, 2]);
        assert!(
            which
                .iter()
                .enumerate()
                .all(|(i, which)| *which as usize == i % 3)
        );
    }

    #[test]
    fn rows_without_keys_are_in_no_run() {
        assert!(runs_of(&[]).is_empty() && told_apart(&[], 0..3).is_none());
    }
}
