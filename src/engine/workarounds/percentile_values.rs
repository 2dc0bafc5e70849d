//! The values of a `percentile_cont` that DataFusion gathers, and of which the percentile is computed to the last digit.

use crate::engine::functions::{asked_quantiles, quantiles_at};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Builder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;

/// The accumulator of a `percentile_cont` that did not become a [`QUANTILES`].
#[derive(Debug)]
pub(super) struct Percentile {
    /// DataFusion's, whose state is all its values.
    values: Box<dyn Accumulator>,
    /// Whether the state stays with it as it gives it.
    distinct: bool,
    at: f64,
    gives: DataType,
}

impl Percentile {
    /// Given what makes DataFusion's.
    pub(super) fn accumulator(
        args: AccumulatorArgs,
        values: impl FnOnce(AccumulatorArgs) -> Result<Box<dyn Accumulator>>,
    ) -> Result<Box<dyn Accumulator>> {
        if args.expr_fields[0].data_type().is_null() {
            return values(args);
        }
        let falling = args.order_bys.first().map(|order| order.options.descending);
        let (distinct, gives) = (args.is_distinct, args.return_field.data_type().clone());
        let at = asked_quantiles(&args);
        // What it says of other places comes first.
        let values = values(args)?;
        let at = at?.first().copied().unwrap_or_default();
        Ok(Box::new(Self {
            values,
            distinct,
            at: if falling == Some(true) { 1.0 - at } else { at },
            gives,
        }))
    }
}

impl Accumulator for Percentile {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.values.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let states = self.values.state()?;
        let states = states.iter().map(|state| state.to_array());
        let states = states.collect::<Result<Vec<_>>>()?;
        let values = cast(&states[0].as_list::<i32>().value(0), &DataType::Float64)?;
        if !self.distinct {
            self.values.merge_batch(&states)?;
        }
        let mut values = values.as_primitive::<Float64Type>().values().to_vec();
        let mut found = Float64Builder::new();
        match values.is_empty() {
            true => found.append_null(),
            false => quantiles_at(&mut values, &[self.at], &mut found),
        }
        ScalarValue::try_from_array(&found.finish(), 0)?.cast_to(&self.gives)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn size(&self) -> usize {
        self.values.size()
    }
}
