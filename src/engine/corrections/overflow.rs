//! Sums and products of integers that do not fit into 64 bits are errors.
//!
//! DataFusion 55.2 lets them wrap: a sum of squared bytes comes out negative without a word. Both are ours therefore: `sum` by a
//! function of the same name, which differs for integers only, and `*` between integers by a rewrite.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::compute::kernels::numeric::mul;
use datafusion::arrow::compute::sum_checked;
use datafusion::arrow::datatypes::{
    ArrowNativeTypeOp, ArrowNumericType, DataType, Field, FieldRef, Int64Type, UInt64Type,
};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, BinaryExpr, Cast, ColumnarValue, Documentation,
    EmitTo, Expr, ExprSchemable, GroupsAccumulator, Operator, ReturnFieldArgs, ReversedUDAF,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, SetMonotonicity, Signature, StatisticsArgs,
    Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// `sum` for every session.
pub(in crate::engine) fn sum() -> AggregateUDF {
    AggregateUDF::from(CheckedSum(Sum::new()))
}

/// The product of two 64-bit integers, which `*` between them becomes.
pub(in crate::engine) static PRODUCT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::exact(
        vec![DataType::Int64, DataType::Int64],
        Volatility::Immutable,
    );
    Arc::new(ScalarUDF::from(Product { signature }))
});

/// The error.
pub(in crate::engine) fn too_large<T>() -> Result<T> {
    exec_err!(
        "a sum of integers is too large for 64 bits; sum them as numbers with a fraction: `sum(bytes::double)`"
    )
}

/// DataFusion's sum, but for integers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct CheckedSum(Sum);

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 if !args.is_distinct => Ok(Box::new(Total::<Int64Type>(None))),
            DataType::UInt64 if !args.is_distinct => Ok(Box::new(Total::<UInt64Type>(None))),
            _ => self.0.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 => Ok(Totals::new::<Int64Type>()),
            DataType::UInt64 => Ok(Totals::new::<UInt64Type>()),
            _ => self.0.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 if !args.is_distinct => Ok(Box::new(Sliding::<Int64Type>::new())),
            DataType::UInt64 if !args.is_distinct => Ok(Box::new(Sliding::<UInt64Type>::new())),
            _ => self.0.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.0.set_monotonicity(data_type)
    }

    fn simplify_expr_op_literal(
        &self,
        function: &AggregateFunction,
        arg: &Expr,
        op: Operator,
        literal: &Expr,
        arg_is_left: bool,
    ) -> Result<Option<Expr>> {
        self.0
            .simplify_expr_op_literal(function, arg, op, literal, arg_is_left)
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.0.value_from_stats(args)
    }
}

/// One sum; None of no values.
#[derive(Debug)]
struct Total<T: ArrowNumericType>(Option<T::Native>);

impl<T: ArrowNumericType + std::fmt::Debug> Accumulator for Total<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Ok(sum) = sum_checked(values[0].as_primitive::<T>()) else {
            return too_large();
        };
        self.0 = match (self.0, sum) {
            (Some(a), Some(b)) => match a.add_checked(b) {
                Ok(sum) => Some(sum),
                Err(_) => return too_large(),
            },
            (a, b) => a.or(b),
        };
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&PrimitiveArray::<T>::from_iter([self.0]), 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of a window that slides: values come and go, so that only its own result must fit.
#[derive(Debug)]
struct Sliding<T> {
    sum: i128,
    values: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: ArrowNumericType> Sliding<T>
where
    T::Native: Into<i128>,
{
    fn new() -> Self {
        let of = PhantomData;
        Self {
            sum: 0,
            values: 0,
            of,
        }
    }

    /// Sum and number of the values of a column that are not NULL.
    fn of(values: &ArrayRef) -> (i128, usize) {
        let values = values.as_primitive::<T>();
        let sum = values.iter().flatten().map(Into::<i128>::into).sum();
        (sum, values.len() - values.null_count())
    }
}

impl<T: ArrowNumericType + std::fmt::Debug> Accumulator for Sliding<T>
where
    T::Native: Into<i128> + TryFrom<i128>,
{
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
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = match self.values {
            0 => None,
            _ => match T::Native::try_from(self.sum) {
                Ok(sum) => Some(sum),
                Err(_) => return too_large(),
            },
        };
        ScalarValue::try_from_array(&PrimitiveArray::<T>::from_iter([sum]), 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sums of groups: DataFusion's, with a note of one that was too large.
struct Totals {
    sums: Box<dyn GroupsAccumulator>,
    too_large: Arc<AtomicBool>,
}

impl Totals {
    #[allow(clippy::new_ret_no_self)]
    fn new<T: ArrowNumericType + Send>() -> Box<dyn GroupsAccumulator> {
        let too_large = Arc::new(AtomicBool::new(false));
        let noted = too_large.clone();
        let add = move |sum: &mut T::Native, value: T::Native| match sum.add_checked(value) {
            Ok(both) => *sum = both,
            Err(_) => noted.store(true, Ordering::Relaxed),
        };
        let sums = Box::new(PrimitiveGroupsAccumulator::<T, _>::new(&T::DATA_TYPE, add));
        Box::new(Self { sums, too_large })
    }

    fn checked(&self) -> Result<()> {
        match self.too_large.load(Ordering::Relaxed) {
            true => too_large(),
            false => Ok(()),
        }
    }
}

impl GroupsAccumulator for Totals {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sums.update_batch(values, groups, filter, total)?;
        self.checked()
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.sums.merge_batch(states, groups, total)?;
        self.checked()
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.sums.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.sums.state(emit_to)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.sums.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sums.size()
    }
}

/// Turns `*` between 64-bit integers into [`PRODUCT`].
#[derive(Debug)]
pub(in crate::engine) struct CheckedProducts;

impl FunctionRewrite for CheckedProducts {
    fn name(&self) -> &str {
        "checked_products"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Multiply,
            right,
        }) = expr
        else {
            return Ok(Transformed::no(expr));
        };
        let of = |side: &Expr| side.get_type(schema).ok();
        let (a, b) = (of(&left), of(&right));
        let signed = |t: &Option<DataType>| t.as_ref().is_some_and(DataType::is_signed_integer);
        let long = a == Some(DataType::Int64) || b == Some(DataType::Int64);
        if !(signed(&a) && signed(&b) && long) {
            let product = BinaryExpr::new(left, Operator::Multiply, right);
            return Ok(Transformed::no(Expr::BinaryExpr(product)));
        }
        let widened = |side: Box<Expr>, t: Option<DataType>| match t {
            Some(DataType::Int64) => *side,
            _ => Expr::Cast(Cast::new(side, DataType::Int64)),
        };
        let args = vec![widened(left, a), widened(right, b)];
        let product = ScalarFunction::new_udf(PRODUCT.clone(), args);
        Ok(Transformed::yes(Expr::ScalarFunction(product)))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Product {
    signature: Signature,
}

impl ScalarUDFImpl for Product {
    fn name(&self) -> &str {
        "product_of_integers"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), DataType::Int64, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [a, b] = &args.args[..] else {
            return exec_err!("a product has two sides");
        };
        apply(a, b, mul).map_err(|_| {
            exec_datafusion_err!(
                "a product of integers is too large for 64 bits; multiply numbers with a fraction: `bytes::double * bytes`"
            )
        })
    }
}
