//! `whole_percent`: which part of a total something is, such that nothing and everything can be told from almost so.

use super::arguments::{fits_int64, number_type, taken};
use super::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

pub(super) static WHOLE_PERCENT: Scalar = Scalar {
    doc: FunctionDoc {
        name: "whole_percent",
        description: "How many whole percent of a total a part is, rounded down, but 1 for anything below one percent: so 0 means nothing, \
            and 100 or more everything. Unsigned 64-bit integers are taken as floats. NULL where the total is 0 or less, the part is negative, or either is NULL, NaN or infinite.",
        syntax: "whole_percent(part, total)",
        arguments: &[("part", "number"), ("total", "number, of the same unit")],
        example: "SELECT whole_percent(0, 900), whole_percent(1, 900), whole_percent(899, 900), whole_percent(900, 900), whole_percent(0, 0)",
        answer: "0 | 1 | 99 | 100 | NULL",
    },
    coerce: |given| {
        let integers = given.iter().all(|t| fits_int64(t) || t.is_null());
        taken(&WHOLE_PERCENT.doc, &[2], given, |_, t| {
            number_type(t).map(|float| if integers { DataType::Int64 } else { float })
        })
    },
    return_type: || DataType::Int64,
    kernel: |args| match args[0].data_type() {
        DataType::Int64 => of_integers(&args[0], &args[1]),
        _ => of_floats(&args[0], &args[1]),
    },
};

/// Below 2^this a hundred times an integer is exact in a Float64, and its quotient is rounded to no integer that it does not reach: from
/// there it is at least 1 / total away, and half a step of the Float64 is less.
const PART_BITS: u32 = 46;

/// Below 2^this an integer is exact in a Float64.
const TOTAL_BITS: u32 = 53;

fn of_integers(parts: &ArrayRef, totals: &ArrayRef) -> Result<ArrayRef> {
    let parts = parts.as_primitive::<Int64Type>();
    let totals = totals.as_primitive::<Int64Type>();
    let has = |part: i64, total: i64| part >= 0 && total > 0;
    let bits = |array: &Int64Array| {
        let any = array.values().iter().fold(0, |any, value| any | value);
        u64::BITS - (any as u64).leading_zeros()
    };
    if bits(parts) <= PART_BITS && bits(totals) <= TOTAL_BITS {
        let percent = |(part, total): (&i64, &i64)| {
            let rounded_down = (100.0 * *part as f64 / *total as f64) as i64;
            rounded_down.max(i64::from(*part > 0))
        };
        let percents: Vec<i64> = parts
            .values()
            .iter()
            .zip(totals.values())
            .map(percent)
            .collect();
        let valid = valid(parts, totals, has);
        return Ok(Arc::new(Int64Array::new(percents.into(), valid)));
    }
    let percent = |part: i64, total: i64| {
        let rounded_down = 100 * i128::from(part) / i128::from(total);
        i64::try_from(rounded_down.max(i128::from(part > 0))).ok()
    };
    of(parts, totals, has, percent)
}

fn of_floats(parts: &ArrayRef, totals: &ArrayRef) -> Result<ArrayRef> {
    let parts = parts.as_primitive::<Float64Type>();
    let totals = totals.as_primitive::<Float64Type>();
    let has =
        |part: f64, total: f64| part >= 0.0 && total > 0.0 && part.is_finite() && total.is_finite();
    // What a product of two Float64 is rounded to, and what it is more than that.
    let product = |a: f64, b: f64| (a * b, a.mul_add(b, -(a * b)));
    let percent = |part: f64, total: f64| {
        // So that no product is beyond a Float64.
        let scale = if part.max(total) > 1e300 {
            1.0 / 1024.0
        } else {
            1.0
        };
        let (part, total) = (part * scale, total * scale);
        let nearest = (100.0 * part / total).round();
        let ((parts, rest), (reached, reached_rest)) =
            (product(100.0, part), product(nearest, total));
        let over = (parts - reached) + (rest - reached_rest);
        let rounded_down = if over < 0.0 { nearest - 1.0 } else { nearest };
        let kept = rounded_down.max(f64::from(part > 0.0));
        (kept < i64::MAX as f64).then_some(kept as i64)
    };
    of(parts, totals, has, percent)
}

/// The percentage of each row that has one, from its part and its total.
fn of<T: ArrowPrimitiveType>(
    parts: &PrimitiveArray<T>,
    totals: &PrimitiveArray<T>,
    has: impl Fn(T::Native, T::Native) -> bool,
    percent: impl Fn(T::Native, T::Native) -> Option<i64>,
) -> Result<ArrayRef> {
    let valid = valid(parts, totals, has);
    let of_row = |row: usize| {
        if valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
            return Ok(0);
        }
        let (part, total) = (parts.value(row), totals.value(row));
        match percent(part, total) {
            Some(percent) => Ok(percent),
            None => exec_err!("whole_percent: {part:?} is more than 2^63 percent of {total:?}"),
        }
    };
    let percents = (0..parts.len()).map(of_row).collect::<Result<Vec<i64>>>()?;
    Ok(Arc::new(Int64Array::new(percents.into(), valid)))
}

/// Which rows have a percentage.
fn valid<T: ArrowPrimitiveType>(
    parts: &PrimitiveArray<T>,
    totals: &PrimitiveArray<T>,
    has: impl Fn(T::Native, T::Native) -> bool,
) -> Option<NullBuffer> {
    let (part, total) = (parts.values(), totals.values());
    let has = BooleanBuffer::collect_bool(part.len(), |row| has(part[row], total[row]));
    let given = NullBuffer::union(parts.nulls(), totals.nulls());
    let valid = NullBuffer::union(given.as_ref(), Some(&NullBuffer::new(has)));
    valid.filter(|valid| valid.null_count() > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::ask;
    use super::*;
    use datafusion::arrow::array::Float64Array;
    use proptest::prelude::*;

    fn integer(part: i64, total: i64) -> Option<i64> {
        let array = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let found = of_integers(&array(part), &array(total)).unwrap();
        found.as_primitive::<Int64Type>().iter().next().unwrap()
    }

    /// By multiplication alone: the greatest whole percent that is not above the part.
    fn is_percent(whole: i64, part: i64, total: i64) -> bool {
        let (part, total) = (100 * i128::from(part), i128::from(total));
        let least = i128::from(whole) * total;
        match whole {
            0 => part == 0,
            1 => part > 0 && part < 2 * total,
            _ => least <= part && part < least + total,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn integers_are_exact_also_beside_each_whole_percent(
            total in prop_oneof![1..2000i64, 1..(1i64 << 47), (1i64 << 52)..(1i64 << 54), (i64::MAX - 1000)..i64::MAX], whole in 0..=100i64, off in -2..=2i64
        ) {
            let part = (i128::from(total) * i128::from(whole) / 100) as i64;
            let part = part.saturating_add(off).clamp(0, total);
            let found = integer(part, total).unwrap();
            prop_assert!(is_percent(found, part, total), "{} of {}: {}", part, total, found);
            prop_assert_eq!(found == 100, part == total);
            prop_assert_eq!(found == 0, part == 0);
        }

        #[test]
        fn floats_tell_nothing_and_everything_from_almost_so(total in 1e-300..1e300f64) {
            let array = |value: f64| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
            let found = |part: f64| {
                let found = of_floats(&array(part), &array(total)).unwrap();
                found.as_primitive::<Int64Type>().value(0)
            };
            prop_assert_eq!(found(0.0), 0);
            prop_assert_eq!(found(f64::MIN_POSITIVE), 1);
            prop_assert_eq!(found(total.next_down()), 99);
            prop_assert_eq!(found(total), 100);
            prop_assert_eq!(found(total / 2.0), 50);
        }
    }

    #[test]
    fn floats_that_are_integers_have_the_percentages_of_these() {
        let array = |value: f64| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
        for total in [1i64, 7, 100, 900, 4096, 1_000_003, (1 << 45) + 1] {
            for part in (0..=100).map(|whole| (i128::from(total) * whole / 100) as i64) {
                let found = of_floats(&array(part as f64), &array(total as f64)).unwrap();
                let found = found.as_primitive::<Int64Type>().value(0);
                assert!(is_percent(found, part, total), "{part} of {total}: {found}");
            }
        }
        assert_eq!(
            ask("SELECT whole_percent(29.0, 100.0), whole_percent(1e308, 1e308), whole_percent(5e307, 1e308)").unwrap(),
            ["29 | 100 | 50"]
        );
    }

    #[test]
    fn what_has_no_percentage_is_null_and_what_has_too_many_is_refused() {
        let sql = "SELECT whole_percent(-1, 10), whole_percent(1, -10), whole_percent(5, NULL), whole_percent(NULL, 5), \
            whole_percent('NaN'::double, 5), whole_percent(1.0, 'inf'::double), whole_percent(0.0, 0.0)";
        assert_eq!(
            ask(sql).unwrap(),
            ["NULL | NULL | NULL | NULL | NULL | NULL | NULL"]
        );
        assert_eq!(
            ask("SELECT whole_percent(9223372036854775807, 100), whole_percent(30, 20)").unwrap(),
            ["9223372036854775807 | 150"]
        );
        assert_eq!(
            ask("SELECT whole_percent(9223372036854775807, 99)").unwrap_err(),
            "whole_percent: 9223372036854775807 is more than 2^63 percent of 99"
        );
        assert_eq!(
            ask("SELECT whole_percent(1e300, 1e-5)").unwrap_err(),
            "whole_percent: 1e300 is more than 2^63 percent of 1e-5"
        );
    }
}
