//! Aggregates of DataFusion under their own names, corrected where DataFusion 55.2 is wrong.
//!
//! - `sum` of integers wraps; [`super::sum`] sums in 128 bits. DataFusion also makes `sum(x) + n * count(x)` of `sum(x + n)`, which would
//!   multiply integers unchecked, so that rewrite is left out.
//! - `min` and `max` of floats by group take a NaN for the extreme or not as the order of the rows would have it, and give -1.797e308 as the
//!   greatest of a group of -Infinity alone (DataFusion's issue 24432). They follow the total order, as they do without groups.
//! - `min` and `max` of booleans have an accumulator for each group, 12 times as slow as DuckDB for 17,000 groups; they have one for all, as `bool_and` has.
//! - `sum` of what a join gives may be taken from statistics of one of its sides: `SELECT sum(a.id) FROM (SELECT 7 AS id) a JOIN (SELECT 8 AS id) b ON
//!   a.id = b.id` is 7. It never is here.
//! - Over a frame whose first row moves nothing is taken out of a sum of floats again: [`super::moving_frames`].
//! - Correlation, covariance and regression lose their digits, or give a constant a spread: [`super::comoments`].
//! - Functions that compute floats may give a NaN of either sign, or -0.0; their results are made canonical ([`crate::engine::logical::canonical_floats`]).

use super::comoments::{self, Statistic};
use super::moving_frames::MovingFrame;
use super::percentile_values::Percentile;
use super::sum::{DistinctTotal, STATE, Total, Totals};
use crate::engine::logical::canonical_floats;
use datafusion::arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray};
use datafusion::arrow::datatypes::{
    ArrowNativeTypeOp, DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type, Int64Type,
    UInt64Type,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunctionParams, WindowFunctionParams};
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::bool_op::BooleanGroupsAccumulator;
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;
use std::marker::PhantomData;
use std::sync::Arc;

/// The functions that are corrected, and how.
const CORRECTED: &[(&str, Correction)] = &[
    ("sum", Correction::Sum),
    ("min", Correction::Least),
    ("max", Correction::Greatest),
    ("avg", Correction::Canonical),
    ("median", Correction::Canonical),
    ("var", Correction::Canonical),
    ("var_pop", Correction::Canonical),
    ("stddev", Correction::Canonical),
    ("stddev_pop", Correction::Canonical),
    ("covar_samp", Correction::Comoments(Statistic::CovarSamp)),
    ("covar_pop", Correction::Comoments(Statistic::CovarPop)),
    ("corr", Correction::Comoments(Statistic::Corr)),
    ("regr_slope", Correction::Comoments(Statistic::Slope)),
    (
        "regr_intercept",
        Correction::Comoments(Statistic::Intercept),
    ),
    ("regr_r2", Correction::Comoments(Statistic::R2)),
    ("regr_avgx", Correction::Comoments(Statistic::AvgX)),
    ("regr_avgy", Correction::Comoments(Statistic::AvgY)),
    ("regr_sxx", Correction::Comoments(Statistic::Sxx)),
    ("regr_syy", Correction::Comoments(Statistic::Syy)),
    ("regr_sxy", Correction::Comoments(Statistic::Sxy)),
    ("percentile_cont", Correction::Percentile),
    ("approx_median", Correction::Canonical),
    ("approx_percentile_cont", Correction::Canonical),
    ("approx_percentile_cont_with_weight", Correction::Canonical),
];

/// What is corrected of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) enum Correction {
    /// Integers are summed in 128 bits; floats as [`Correction::Canonical`].
    Sum,
    /// The least float by the total order.
    Least,
    /// The greatest float by the total order.
    Greatest,
    /// The result is made canonical.
    Canonical,
    /// The result is computed to the last digit.
    Percentile,
    /// Computed of moments that keep their digits.
    Comoments(Statistic),
}

/// Puts corrected functions in the place of DataFusion's in a session's list.
pub(in crate::engine) fn correct(functions: &mut [Arc<AggregateUDF>]) {
    for function in functions {
        let known = CORRECTED.iter().find(|(name, _)| *name == function.name());
        if let Some((_, correction)) = known {
            *function = Arc::new(AggregateUDF::from(Corrected {
                inner: function.clone(),
                correction: *correction,
            }));
        }
    }
}

/// What is corrected of a function; None of one that is DataFusion's own or ours.
pub(in crate::engine) fn correction(function: &AggregateUDF) -> Option<Correction> {
    let corrected = function.inner().downcast_ref::<Corrected>();
    corrected.map(|corrected| corrected.correction)
}

/// Whether a function is this one of DataFusion's, corrected or not.
pub(in crate::engine) fn is<T: AggregateUDFImpl>(function: &AggregateUDF) -> bool {
    match function.inner().downcast_ref::<Corrected>() {
        Some(corrected) => corrected.inner.inner().is::<T>(),
        None => function.inner().is::<T>(),
    }
}

/// A function of DataFusion with its correction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Corrected {
    inner: Arc<AggregateUDF>,
    correction: Correction,
}

impl Corrected {
    /// Whether it computes a sum, a mean, a variance or the like of floats: partial results of rows can be put together, and no value can be taken out of one
    /// without a trace.
    fn is_of_moments(&self) -> bool {
        !matches!(self.name(), "median") && !self.name().starts_with("approx_")
    }

    /// An accumulator that gives canonical floats.
    fn canonical(&self, data_type: &DataType, of: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        let needed = !matches!(self.correction, Correction::Least | Correction::Greatest);
        match needed && canonical_floats::is_float(data_type) {
            true => Box::new(Canonical(of)),
            false => of,
        }
    }
}

impl AggregateUDFImpl for Corrected {
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let data_type = args.return_field.data_type().clone();
        let distinct = args.is_distinct;
        Ok(match (self.correction, &data_type, distinct) {
            (Correction::Sum, DataType::Int64, false) => Box::new(Total::<Int64Type>::new()),
            (Correction::Sum, DataType::UInt64, false) => Box::new(Total::<UInt64Type>::new()),
            (Correction::Sum, DataType::Int64, true) => Box::new(DistinctTotal {
                values: self.inner.accumulator(args)?,
                of: PhantomData::<fn() -> Int64Type>,
            }),
            (Correction::Sum, DataType::UInt64, true) => Box::new(DistinctTotal {
                values: self.inner.accumulator(args)?,
                of: PhantomData::<fn() -> UInt64Type>,
            }),
            (Correction::Percentile, ..) => {
                Percentile::accumulator(args, |args| self.inner.accumulator(args))?
            }
            (Correction::Comoments(statistic), _, false) => {
                Box::new(comoments::Single::new(statistic))
            }
            _ => self.canonical(&data_type, self.inner.accumulator(args)?),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let data_type = args.return_field.data_type().clone();
        Ok(match (self.correction, &data_type, args.is_distinct) {
            (Correction::Sum, DataType::Int64, false) => Box::new(Total::<Int64Type>::new()),
            (Correction::Sum, DataType::UInt64, false) => Box::new(Total::<UInt64Type>::new()),
            (Correction::Percentile, ..) => {
                Percentile::accumulator(args, |args| self.inner.create_sliding_accumulator(args))?
            }
            (
                Correction::Sum | Correction::Canonical | Correction::Comoments(_),
                data_type,
                false,
            ) if canonical_floats::is_float(data_type) && self.is_of_moments() => {
                let function = self.clone();
                let make = move |args: AccumulatorArgs| function.accumulator(args);
                Box::new(MovingFrame::new(&args, make)?)
            }
            _ => self.canonical(&data_type, self.inner.create_sliding_accumulator(args)?),
        })
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = args.return_field.data_type().clone();
        let least = self.correction == Correction::Least;
        Ok(match (self.correction, &data_type) {
            (Correction::Sum, DataType::Int64) => Box::new(Totals::<Int64Type>::new()),
            (Correction::Sum, DataType::UInt64) => Box::new(Totals::<UInt64Type>::new()),
            (Correction::Comoments(statistic), _) => Box::new(comoments::Groups::new(statistic)),
            (Correction::Least | Correction::Greatest, DataType::Float64) => {
                let last = if least { i64::MAX as u64 } else { u64::MAX };
                extremes::<Float64Type>(least, f64::from_bits(last))
            }
            (Correction::Least | Correction::Greatest, DataType::Float32) => {
                let last = if least { i32::MAX as u32 } else { u32::MAX };
                extremes::<Float32Type>(least, f32::from_bits(last))
            }
            (Correction::Least | Correction::Greatest, DataType::Float16) => {
                type Half = <Float16Type as ArrowPrimitiveType>::Native;
                let last = if least { i16::MAX as u16 } else { u16::MAX };
                extremes::<Float16Type>(least, Half::from_bits(last))
            }
            (Correction::Least, DataType::Boolean) => Box::new(BooleanGroupsAccumulator::new(
                |least, value| least && value,
                true,
            )),
            (Correction::Greatest, DataType::Boolean) => Box::new(BooleanGroupsAccumulator::new(
                |greatest, value| greatest || value,
                false,
            )),
            (Correction::Sum | Correction::Canonical | Correction::Percentile, data_type)
                if canonical_floats::is_float(data_type) =>
            {
                Box::new(CanonicalGroups(self.inner.create_groups_accumulator(args)?))
            }
            _ => self.inner.create_groups_accumulator(args)?,
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let integers = matches!(
            args.return_field.data_type(),
            DataType::Int64 | DataType::UInt64
        );
        if self.correction == Correction::Sum && integers && !args.is_distinct {
            let name = format_state_name(args.name, "sum");
            return Ok(vec![Arc::new(Field::new(name, STATE, true))]);
        }
        if matches!(self.correction, Correction::Comoments(_)) && !args.is_distinct {
            return Ok(comoments::state_fields(args.name));
        }
        self.inner.state_fields(args)
    }

    /// A rewrite into other functions would be one into DataFusion's own.
    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        None
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arguments)
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arguments)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.human_display(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.display_name(params)
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_schema_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_display_name(params)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match self.correction {
            Correction::Comoments(_) => !args.is_distinct,
            Correction::Least | Correction::Greatest
                if args.return_field.data_type() == &DataType::Boolean =>
            {
                true
            }
            _ => self.inner.groups_accumulator_supported(args),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.reverse_udf()
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    /// A sum of a constant below a join is that of all its rows, whichever the join keeps.
    fn value_from_stats(&self, statistics: &StatisticsArgs) -> Option<ScalarValue> {
        match self.correction {
            Correction::Sum => None,
            _ => self.inner.value_from_stats(statistics),
        }
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// The least or greatest floats of groups by the total order; `last` is what every other comes before.
fn extremes<T: ArrowPrimitiveType + Send>(
    least: bool,
    last: T::Native,
) -> Box<dyn GroupsAccumulator> {
    fn of<T: ArrowPrimitiveType + Send>(
        last: T::Native,
        keep: impl Fn(&mut T::Native, T::Native) + Send + Sync + 'static,
    ) -> Box<dyn GroupsAccumulator> {
        let of = PrimitiveGroupsAccumulator::<T, _>::new(&T::DATA_TYPE, keep);
        Box::new(of.with_starting_value(last))
    }
    match least {
        true => of::<T>(last, |extreme, value| {
            if value.is_lt(*extreme) {
                *extreme = value;
            }
        }),
        false => of::<T>(last, |extreme, value| {
            if value.is_gt(*extreme) {
                *extreme = value;
            }
        }),
    }
}

/// An accumulator whose result is made canonical.
#[derive(Debug)]
struct Canonical(Box<dyn Accumulator>);

impl Accumulator for Canonical {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate().map(canonical_floats::scalar)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }
}

/// The same of groups.
struct CanonicalGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for CanonicalGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.0.update_batch(values, groups, filter, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to).map(canonical_floats::array)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.0.merge_batch(states, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
