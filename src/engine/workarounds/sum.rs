//! Sums of integers in 128 bits, which must fit into 64 in the end.
//!
//! DataFusion 55.2 lets them wrap: a sum of squared bytes comes out negative without a word.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{cast, sum_checked};
use datafusion::arrow::datatypes::{
    ArrowNativeTypeOp, ArrowNumericType, DataType, Decimal128Type, Int64Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::accumulate::NullState;
use std::collections::HashMap;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

/// The type of a partial sum. What lies in it are integers of 128 bits, of which a decimal shows 38 digits.
pub(in crate::engine) const STATE: DataType = DataType::Decimal128(38, 0);

/// A type of integers that can be summed in 128 bits.
pub(super) trait Summed:
    ArrowNumericType<Native: Into<i128> + TryFrom<i128>> + Debug + Send
{
}

impl Summed for Int64Type {}
impl Summed for UInt64Type {}

/// The error.
fn too_large<T>() -> Result<T> {
    exec_err!(
        "a sum of integers is too large for 64 bits; sum them as numbers with a fraction: `sum(bytes::double)`"
    )
}

fn narrow<T: Summed>(sum: i128) -> Result<T::Native> {
    T::Native::try_from(sum).or_else(|_| too_large())
}

/// The partial sums in an array: integers of the type itself, or of 128 bits.
fn wide<T: Summed>(sums: &ArrayRef) -> Result<ArrayRef> {
    match sums.data_type() == &T::DATA_TYPE {
        true => Ok(cast(sums, &STATE)?),
        false => Ok(sums.clone()),
    }
}

/// One sum, of which values can be taken out again, as windows do; NULL of no values.
#[derive(Debug)]
pub(super) struct Total<T> {
    sum: i128,
    values: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Summed> Total<T> {
    pub(super) fn new() -> Self {
        let of = PhantomData;
        Self {
            sum: 0,
            values: 0,
            of,
        }
    }

    /// Sum and number of the values that are not NULL.
    fn of(values: &ArrayRef) -> (i128, usize) {
        let values = values.as_primitive::<T>();
        let sum = match sum_checked(values) {
            Ok(sum) => sum.map_or(0, Into::into),
            Err(_) => values.iter().flatten().map(Into::<i128>::into).sum(),
        };
        (sum, values.len() - values.null_count())
    }
}

impl<T: Summed> Accumulator for Total<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (sum, values) = Self::of(&values[0]);
        self.sum += sum;
        self.values += values;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (sum, values) = Self::of(&values[0]);
        self.sum -= sum;
        self.values -= values;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let sums = wide::<T>(&states[0])?;
        for sum in sums.as_primitive::<Decimal128Type>().iter().flatten() {
            self.sum += sum;
            self.values += 1;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = (self.values > 0).then(|| narrow::<T>(self.sum));
        let sum = PrimitiveArray::<T>::from_iter([sum.transpose()?]);
        ScalarValue::try_from_array(&sum, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = (self.values > 0).then_some(self.sum);
        Ok(vec![ScalarValue::Decimal128(sum, 38, 0)])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of different values: those that DataFusion's accumulator holds, in 128 bits.
#[derive(Debug)]
pub(super) struct DistinctTotal<T> {
    pub(super) values: Box<dyn Accumulator>,
    pub(super) of: PhantomData<fn() -> T>,
}

impl<T: Summed> Accumulator for DistinctTotal<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut total = Total::<T>::new();
        for state in self.values.state()? {
            let ScalarValue::List(different) = state else {
                return internal_err!("different values come in a list, not in {state}");
            };
            total.update_batch(&[different.values().clone()])?;
        }
        total.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}

/// The sums of groups: in 64 bits as long as they fit, and what goes beyond beside them.
pub(super) struct Totals<T: Summed> {
    sums: Vec<T::Native>,
    /// What is to be added to the sums of a few groups.
    beyond: HashMap<usize, i128>,
    seen: NullState,
}

impl<T: Summed> Totals<T> {
    pub(super) fn new() -> Self {
        Self {
            sums: vec![],
            beyond: HashMap::new(),
            seen: NullState::new(),
        }
    }

    /// The sums of 128 bits of the emitted groups, which are forgotten, NULL of no values.
    fn take(&mut self, emit_to: EmitTo) -> Decimal128Array {
        let (sums, mut beyond) = self.take_parts(emit_to);
        let nulls = self.seen.build(emit_to);
        let sums = sums.into_iter().enumerate();
        let sums = sums.map(|(group, sum)| {
            let sum: i128 = sum.into();
            sum + beyond.remove(&group).unwrap_or(0)
        });
        let sums: Vec<i128> = sums.collect();
        Decimal128Array::new(sums.into(), nulls).with_data_type(STATE)
    }

    fn take_parts(&mut self, emit_to: EmitTo) -> (Vec<T::Native>, HashMap<usize, i128>) {
        let sums = emit_to.take_needed(&mut self.sums);
        let (taken, left) = std::mem::take(&mut self.beyond)
            .into_iter()
            .partition(|(group, _)| *group < sums.len());
        let left: HashMap<usize, i128> = left;
        let left = left.into_iter();
        self.beyond = left.map(|(group, sum)| (group - sums.len(), sum)).collect();
        (sums, taken)
    }
}

impl<T: Summed> GroupsAccumulator for Totals<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sums.resize(total, T::Native::ZERO);
        let (sums, beyond) = (&mut self.sums, &mut self.beyond);
        let values = values[0].as_primitive::<T>();
        let add = |group: usize, value: T::Native| match sums[group].add_checked(value) {
            Ok(sum) => sums[group] = sum,
            Err(_) => {
                *beyond.entry(group).or_default() += sums[group].into();
                sums[group] = value;
            }
        };
        self.seen.accumulate(groups, values, filter, total, add);
        Ok(())
    }

    /// Partial sums of 128 bits or, of runs of rows, of the type itself.
    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        if states[0].data_type() == &T::DATA_TYPE {
            return self.update_batch(states, groups, None, total);
        }
        self.sums.resize(total, T::Native::ZERO);
        let (sums, beyond) = (&mut self.sums, &mut self.beyond);
        let partial = states[0].as_primitive::<Decimal128Type>();
        let add = |group: usize, partial: i128| {
            let sum = Into::<i128>::into(sums[group]) + partial;
            match T::Native::try_from(sum) {
                Ok(sum) => sums[group] = sum,
                Err(_) => {
                    *beyond.entry(group).or_default() += sum;
                    sums[group] = T::Native::ZERO;
                }
            }
        };
        self.seen.accumulate(groups, partial, None, total, add);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (mut sums, beyond) = self.take_parts(emit_to);
        for (group, beyond) in beyond {
            let sum: i128 = sums[group].into();
            sums[group] = narrow::<T>(sum + beyond)?;
        }
        let nulls = self.seen.build(emit_to);
        Ok(Arc::new(PrimitiveArray::<T>::new(sums.into(), nulls)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(self.take(emit_to))])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<T>();
        let kept = filter.map(|filter| {
            let kept = filter.iter().map(|keep| keep == Some(true));
            kept.collect::<NullBuffer>()
        });
        let nulls = NullBuffer::union(values.nulls(), kept.as_ref());
        let sums: Vec<i128> = values.values().iter().map(|v| (*v).into()).collect();
        let sums = Decimal128Array::new(sums.into(), nulls).with_data_type(STATE);
        Ok(vec![Arc::new(sums)])
    }

    fn size(&self) -> usize {
        let beyond = self.beyond.capacity() * size_of::<(usize, i128)>();
        self.sums.capacity() * size_of::<T::Native>() + beyond + self.seen.size()
    }
}
