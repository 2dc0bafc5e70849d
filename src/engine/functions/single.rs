//! One group out of a fold over many: the accumulator that window functions and ordered aggregates use.

use super::accumulate::Accumulate;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo};
use std::fmt::{Debug, Formatter};

/// An [`Accumulate`] with one group.
pub(super) struct Single {
    fold: Box<dyn Accumulate>,
    return_type: DataType,
    states: Vec<DataType>,
}

impl Single {
    pub(super) fn new(
        fold: Box<dyn Accumulate>,
        return_type: DataType,
        states: Vec<DataType>,
    ) -> Self {
        Self {
            fold,
            return_type,
            states,
        }
    }
}

/// The group of each row of a batch.
fn zeros(values: &[ArrayRef]) -> Vec<usize> {
    vec![0; values.first().map_or(0, |array| array.len())]
}

impl Debug for Single {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Single({})", self.return_type)
    }
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.fold.update_batch(values, &zeros(values), None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.fold.merge_batch(states, &zeros(states), 1)
    }

    /// Looks at a copy: a window asks again and again while rows are added.
    fn evaluate(&mut self) -> Result<ScalarValue> {
        first(&self.fold.copy().evaluate(EmitTo::All)?, &self.return_type)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.fold.copy().state(EmitTo::All)?;
        states
            .iter()
            .zip(&self.states)
            .map(|(array, data_type)| first(array, data_type))
            .collect()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.fold.size()
    }
}

/// The one value, or NULL if there was no batch yet.
fn first(array: &ArrayRef, data_type: &DataType) -> Result<ScalarValue> {
    match array.len() {
        0 => ScalarValue::try_from(data_type),
        _ => ScalarValue::try_from_array(array, 0),
    }
}
