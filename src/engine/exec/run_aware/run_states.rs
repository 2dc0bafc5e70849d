//! What a run of rows adds to its group, for functions where that is one number, or a list of few.
//!
//! To merge one state for each run gives what an update with all its rows gives. So counts, sums, least and greatest values, which most
//! questions ask for, are taken of a run at a stretch, and a function is given as many states as there are runs.
//!
//! Of floats NaN is above all others, as where nothing is grouped. DataFusion's groups let a NaN take the place of what was before it, and
//! what comes after take the place of a NaN, so that with NaN in several runs of a group the extremes depend on the order of the rows.

use crate::engine::functions::SET_AGG;
use crate::engine::workarounds::aggregates::{Correction, correction};
use crate::engine::workarounds::count_distinct::CountsTexts;
use crate::engine::workarounds::sum::STATE;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int64Array, ListArray, PrimitiveArray,
    downcast_primitive,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{
    ArrowNativeType, ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Field, Float64Type,
    Int64Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::bit_chunk_iterator::UnalignedBitChunk;
use datafusion::arrow::util::bit_iterator::BitIndexIterator;
use datafusion::common::{Result, internal_err};
use datafusion::functions_aggregate::count::Count;
use datafusion::logical_expr::AggregateUDFImpl;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use std::ops::Range;
use std::sync::Arc;

/// The state of a run.
#[derive(Clone, Copy)]
pub(super) enum Reduction {
    /// How many rows it has.
    Rows,
    /// How many values that are not NULL.
    Values,
    /// Their sum, NULL of none.
    Sum,
    /// The least of them, NULL of none.
    Least,
    /// The greatest of them, NULL of none.
    Greatest,
    /// Those that are different, as far as equal ones stand together.
    Different,
}

impl Reduction {
    /// That of a function of all rows; None where there is none.
    pub(super) fn of(function: &AggregateFunctionExpr) -> Option<Self> {
        let arguments = function.expressions();
        let ([argument], false) = (&arguments[..], function.is_distinct()) else {
            return None;
        };
        if SET_AGG.is(function.fun()) {
            return Some(Self::Different);
        }
        let of: &dyn AggregateUDFImpl = function.fun().inner().as_ref();
        if of.is::<CountsTexts>() || of.is::<Count>() {
            let literal = argument.downcast_ref::<Literal>();
            return Some(match literal {
                Some(literal) if !literal.value().is_null() => Self::Rows,
                _ => Self::Values,
            });
        }
        let field = function.field();
        let data_type = field.data_type();
        let numbers = matches!(
            data_type,
            DataType::Int64 | DataType::UInt64 | DataType::Float64
        );
        let reduction = match correction(function.fun())? {
            Correction::Sum => return numbers.then_some(Self::Sum),
            Correction::Least => Self::Least,
            Correction::Greatest => Self::Greatest,
            Correction::Canonical | Correction::Percentile | Correction::Comoments(_) => {
                return None;
            }
        };
        let times = matches!(data_type, DataType::Timestamp(..) | DataType::Duration(_));
        (numbers || times).then_some(reduction)
    }

    /// Whether the states need the values.
    pub(super) fn needs_values(self) -> bool {
        !matches!(self, Self::Rows)
    }

    /// The states of runs; `values` are those of all rows, nothing where they are not needed, and only `kept` rows count, each as many
    /// times as `times` says.
    ///
    /// # Errors
    /// If the values have a type without a reduction.
    pub(super) fn states(
        self,
        values: &[ArrayRef],
        runs: &[Range<usize>],
        kept: Option<&NullBuffer>,
        times: Option<&Int64Array>,
    ) -> Result<ArrayRef> {
        let [values] = values else {
            return Ok(counts(runs, kept, times));
        };
        let nulls = NullBuffer::union(values.logical_nulls().as_ref(), kept);
        let nulls = nulls.as_ref().filter(|nulls| nulls.null_count() > 0);
        Ok(match self {
            Self::Rows | Self::Values => counts(runs, nulls, times),
            Self::Sum => match values.data_type() {
                DataType::Int64 => integer_sums::<Int64Type>(values, runs, nulls, times),
                DataType::UInt64 => integer_sums::<UInt64Type>(values, runs, nulls, times),
                _ => sums::<Float64Type>(values, runs, nulls, times)?,
            },
            Self::Different => match values.data_type() {
                DataType::UInt64 => different::<UInt64Type>(values, runs, nulls)?,
                _ => different::<Int64Type>(values, runs, nulls)?,
            },
            Self::Least | Self::Greatest => {
                let least = matches!(self, Self::Least);
                macro_rules! of {
                    ($t:ty) => {
                        extremes::<$t>(values, runs, nulls, least)
                    };
                }
                downcast_primitive! {
                    values.data_type() => (of),
                    other => return internal_err!("no least or greatest of {other}")
                }
            }
        })
    }
}

/// How many rows of each run are not NULL.
pub(super) fn valid(run: &Range<usize>, nulls: &NullBuffer) -> usize {
    let first = nulls.offset() + run.start;
    // Most runs are short, and to look for words in them costs more than they have.
    if let (true, Some(bytes)) = (run.len() <= 56, nulls.validity()[first / 8..].first_chunk()) {
        let bits = u64::from_le_bytes(*bytes) >> (first % 8);
        return (bits & ((1 << run.len()) - 1)).count_ones() as usize;
    }
    UnalignedBitChunk::new(nulls.validity(), first, run.len()).count_ones()
}

/// Those values of a run that are not NULL. One by one: where they stand alone, which of times and counters they often do, slices of them
/// would take twice as long.
fn valid_values<'a, T>(
    of: &'a [T],
    run: &Range<usize>,
    nulls: &'a NullBuffer,
) -> impl Iterator<Item = &'a T> {
    BitIndexIterator::new(nulls.validity(), nulls.offset() + run.start, run.len())
        .map(|row| &of[row])
}

fn counts(
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
    times: Option<&Int64Array>,
) -> ArrayRef {
    // What is counted is often rare.
    if nulls.is_some_and(|nulls| nulls.null_count() == nulls.len()) {
        return Arc::new(Int64Array::from(vec![0; runs.len()]));
    }
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    if let Some(times) = times {
        let count = |run: &Range<usize>| -> i64 {
            let of = &times.values()[run.clone()];
            match nulls {
                None => of.iter().sum(),
                Some(nulls) => valid_values(of, run, nulls).sum(),
            }
        };
        return Arc::new(Int64Array::from_iter_values(runs.iter().map(count)));
    }
    let count = |run: &Range<usize>| nulls.map_or(run.len(), |nulls| valid(run, nulls));
    Arc::new(Int64Array::from_iter_values(
        runs.iter().map(|run| count(run) as i64),
    ))
}

/// The sums of runs of integers: in 64 bits or, where one of them does not fit, all of them in 128, which the sum of a group takes as well.
fn integer_sums<T: ArrowPrimitiveType<Native: Into<i128>>>(
    values: &ArrayRef,
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
    times: Option<&Int64Array>,
) -> ArrayRef {
    if let Ok(sums) = sums::<T>(values, runs, nulls, times) {
        return sums;
    }
    let values: &[T::Native] = values.as_primitive::<T>().values();
    let sums = runs.iter().map(|run| {
        let valid = |row: &usize| nulls.is_none_or(|nulls| nulls.is_valid(*row));
        let times = |row: usize| times.map_or(1, |times| i128::from(times.value(row)));
        let rows = run.clone().filter(valid);
        let products = rows.map(|row| Into::<i128>::into(values[row]) * times(row));
        products.reduce(|sum, product| sum + product)
    });
    let sums = sums.collect::<Decimal128Array>();
    Arc::new(sums.with_data_type(STATE))
}

/// # Errors
/// If a sum does not fit.
fn sums<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
    times: Option<&Int64Array>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let values: &[T::Native] = values.as_primitive::<T>().values();
    let add = |sum: T::Native, row: usize| match times {
        None => sum.add_checked(values[row]),
        Some(times) => {
            let times = T::Native::usize_as(times.value(row) as usize);
            sum.add_checked(values[row].mul_checked(times)?)
        }
    };
    let sum = |run: &Range<usize>| match (nulls, times) {
        (None, None) => {
            let mut values = values[run.clone()].iter();
            let sum = values.try_fold(T::Native::ZERO, |sum, value| sum.add_checked(*value));
            sum.map(Some)
        }
        (None, _) => run.clone().try_fold(T::Native::ZERO, add).map(Some),
        (Some(nulls), _) => {
            let rows =
                BitIndexIterator::new(nulls.validity(), nulls.offset() + run.start, run.len());
            let mut rows = rows.map(|row| run.start + row).peekable();
            let some = rows.peek().is_some();
            some.then(|| rows.try_fold(T::Native::ZERO, add))
                .transpose()
        }
    };
    let sums = runs.iter().map(sum);
    let sums = sums.collect::<std::result::Result<PrimitiveArray<T>, _>>()?;
    Ok(Arc::new(sums))
}

fn extremes<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
    least: bool,
) -> ArrayRef {
    let values: &PrimitiveArray<T> = values.as_primitive();
    let extreme = |before: T::Native, value: T::Native| match least {
        true if value.is_lt(before) => value,
        false if value.is_gt(before) => value,
        _ => before,
    };
    let extremes = runs.iter().map(|run| {
        let of = &values.values()[run.clone()];
        match nulls {
            None => of.iter().copied().reduce(extreme),
            Some(nulls) => valid_values(of, run, nulls).copied().reduce(extreme),
        }
    });
    let extremes = extremes.collect::<PrimitiveArray<T>>();
    Arc::new(extremes.with_data_type(values.data_type().clone()))
}

/// The ids of each run, without those that are equal to the one before.
fn different<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    runs: &[Range<usize>],
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let values: &[T::Native] = values.as_primitive::<T>().values();
    let (mut ids, mut ends) = (vec![], Vec::with_capacity(runs.len() + 1));
    ends.push(0);
    for run in runs {
        let of = &values[run.clone()];
        // Rows of a log stand together, so most runs have one id.
        if of.iter().all(|id| *id == of[0]) {
            let some = nulls.is_none_or(|nulls| valid(run, nulls) > 0);
            ids.extend(of.first().filter(|_| some));
        } else {
            let start = ids.len();
            for (row, id) in run.clone().zip(of) {
                let counts = nulls.is_none_or(|nulls| nulls.is_valid(row));
                if counts && ids[start..].last() != Some(id) {
                    ids.push(*id);
                }
            }
        }
        ends.push(ids.len() as i32);
    }
    let ids = PrimitiveArray::<T>::new(ids.into(), None);
    let item = Arc::new(Field::new_list_field(T::DATA_TYPE, true));
    let ends = OffsetBuffer::new(ends.into());
    Ok(Arc::new(ListArray::try_new(
        item,
        ends,
        Arc::new(ids),
        None,
    )?))
}
