//! Where the key of rows changes, and the runs between.
//!
//! Arrow's `partition` makes a bitmap for each key and puts these together, at more than a nanosecond for each value; a byte for each row,
//! to which all keys add, takes a third of that.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, downcast_primitive};
use datafusion::arrow::compute::partition;
use datafusion::arrow::datatypes::{ArrowNativeTypeOp, DataType};
use std::iter::zip;
use std::ops::Range;

/// The runs of rows with equal keys; each row is one where keys of such a type cannot be compared.
pub(super) fn runs_of(keys: &[ArrayRef]) -> Vec<Range<usize>> {
    let rows = keys.first().map_or(0, |key| key.len());
    if rows == 0 {
        return vec![];
    }
    // Of each row but the first, whether it begins a run.
    let mut changes = vec![false; rows - 1];
    for key in keys {
        add(key, &mut changes);
    }
    let (mut runs, mut start) = (vec![], 0);
    for (row, changes) in zip(1.., changes) {
        if changes {
            runs.push(start..row);
            start = row;
        }
    }
    runs.push(start..rows);
    runs
}

/// Adds where one key changes.
fn add(key: &ArrayRef, changes: &mut [bool]) {
    macro_rules! numbers {
        ($t:ty) => {{
            let values = key.as_primitive::<$t>().values();
            let differ = zip(values, &values[1..]).map(|(this, next)| this.is_ne(*next));
            compare(key, differ, changes)
        }};
    }
    downcast_primitive! {
        key.data_type() => (numbers),
        DataType::Utf8View => {
            let text = key.as_string_view();
            let views = text.views();
            let differ = zip(views, &views[1..]).enumerate().map(|(row, (this, next))| {
                // The lower half is the length and the first bytes; up to twelve are all there.
                this != next && (*this as u64 != *next as u64 || *this as u32 <= 12 || text.value(row) != text.value(row + 1))
            });
            compare(key, differ, changes)
        },
        _ => match partition(std::slice::from_ref(key)) {
            Ok(runs) => runs.ranges().iter().skip(1).for_each(|run| changes[run.start - 1] = true),
            Err(_) => changes.fill(true),
        }
    }
}

/// Adds where another value comes, or NULL instead of one, or one instead of NULL.
fn compare(key: &ArrayRef, differ: impl Iterator<Item = bool>, changes: &mut [bool]) {
    let nulls = key.nulls().filter(|nulls| nulls.null_count() > 0);
    let Some(nulls) = nulls else {
        for (change, differs) in zip(changes, differ) {
            *change |= differs;
        }
        return;
    };
    let valid: Vec<bool> = nulls.iter().collect();
    for ((change, differs), (this, next)) in zip(zip(changes, differ), zip(&valid, &valid[1..])) {
        // What stands under a NULL may be anything.
        *change |= this != next || (*this && differs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::synth::random::Random;
    use datafusion::arrow::array::{
        BooleanArray, Float64Array, Int8Array, Int64Array, ListArray, StringArray, StringViewArray,
    };
    use datafusion::arrow::datatypes::Int64Type;
    use std::sync::Arc;

    /// Rows of each type, of which one in three is another than the row before; NULL among them, over something.
    fn keys(random: &mut Random, rows: usize) -> Vec<ArrayRef> {
        let mut n = 0;
        let n: Vec<Option<i64>> = (0..rows)
            .map(|_| {
                if random.chance(0.3) {
                    n = random.int(0, 4);
                }
                (n > 0).then_some(n)
            })
            .collect();
        let text = |n: &Option<i64>| {
            n.map(|n| {
                [
                    "",
                    "a",
                    "a b c",
                    "a longer text than a view holds",
                    "a longer text that a view refers to",
                ][n as usize]
            })
        };
        let floats = [0.0, -0.0, f64::NAN, 1.5, f64::INFINITY];
        let nulls = || n.iter().map(Option::is_some).collect::<Vec<_>>().into();
        let under: Vec<i64> = n
            .iter()
            .map(|n| n.unwrap_or_else(|| random.int(0, 4)))
            .collect();
        vec![
            Arc::new(Int64Array::from(n.clone())),
            Arc::new(Int64Array::new(under.into(), Some(nulls()))),
            Arc::new(Int8Array::from_iter_values(
                n.iter().map(|n| n.unwrap_or(0) as i8),
            )),
            Arc::new(
                n.iter()
                    .map(|n| n.map(|n| floats[n as usize]))
                    .collect::<Float64Array>(),
            ),
            Arc::new(n.iter().map(text).collect::<StringViewArray>()),
            Arc::new(n.iter().map(text).collect::<StringArray>()),
            Arc::new(n.iter().map(|n| n.map(|n| n > 2)).collect::<BooleanArray>()),
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
                n.iter().map(|n| n.map(|n| [Some(n)])),
            )),
        ]
    }

    /// Rows as Arrow's own formatter shows them.
    fn shown(key: &ArrayRef, row: usize) -> String {
        datafusion::arrow::util::display::array_value_to_string(key, row).unwrap()
    }

    #[test]
    fn a_run_ends_where_a_key_changes_and_nowhere_else() {
        let mut random = Random::new(3, 1);
        for case in 0..300 {
            let rows = *random.pick(&[0, 1, 2, 63, 64, 65, 300]);
            let all = keys(&mut random, rows);
            let other = keys(&mut random, rows);
            let offset = random.int(0, 3).min(rows as i64) as usize;
            let of: Vec<ArrayRef> = match case % 3 {
                0 => vec![random.pick(&all).clone()],
                1 => vec![random.pick(&all).clone(), random.pick(&other).clone()],
                _ => vec![random.pick(&all).slice(offset, rows - offset)],
            };
            let rows = of[0].len();
            let same = |row: usize| {
                of.iter().all(|key| {
                    key.is_null(row) == key.is_null(row - 1)
                        && shown(key, row) == shown(key, row - 1)
                })
            };
            let mut expected: Vec<usize> =
                (0..rows).filter(|row| *row == 0 || !same(*row)).collect();
            let runs = runs_of(&of);
            let starts: Vec<usize> = runs.iter().map(|run| run.start).collect();
            assert_eq!(starts, expected, "{of:?}");
            expected.push(rows);
            let ends: Vec<usize> = runs.iter().map(|run| run.end).collect();
            assert_eq!(ends, expected[1..], "{of:?}");
        }
    }
}
