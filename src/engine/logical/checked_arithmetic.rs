//! Integers never wrap and floats are canonical, in every expression.
//!
//! DataFusion 55.2 lets `+`, `-`, `*` and the sign of integers wrap: `65536::int * 65536::int` is 0. And its floats may be a NaN of either sign,
//! or -0.0 ([`super::canonical_floats`]). This rule of the analyzer stands behind the one that gives both sides of an operator their type. It puts functions in the
//! place of operators:
//!
//! | expression | becomes |
//! |---|---|
//! | `+`, `-`, `*` and the sign of integers | the same, checked |
//! | `+`, `-`, `*`, `/`, `%` and the sign of floats | the same, canonical |
//! | casts to floats from text and from wider floats, functions that give floats | `canonical(..)` |
//! | float columns of files that are not a lake's | `canonical(..)` in a projection above the scan |
//!
//! A function that is given floats and passes one on is left as it is.

use super::canonical_floats;
use super::kept_names;
use crate::engine::catalog::snapshot_tables::ListedTable;
use crate::engine::catalog::system_tables::LakeRows;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::kernels::numeric::{add, div, mul, neg, rem, sub};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, FieldRef, Int64Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_datafusion_err, plan_err};
use datafusion::datasource::{DefaultTableSource, MemTable};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, Projection,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TableScan, TryCast,
    Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;
use std::sync::{Arc, LazyLock};

/// The functions that stand for operators, for every session.
pub(in crate::engine) fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    FUNCTIONS.iter().cloned()
}

#[derive(Debug)]
pub(in crate::engine) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan_up(plan, &mut rewrite_plan).data()
    }
}

fn rewrite_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    // A table may have many columns: its schema is made only where an expression needs it, and one input's is not copied.
    let plan = match plan {
        LogicalPlan::TableScan(scan) if scan.filters.is_empty() => return canonical_scan(scan),
        plan => plan,
    };
    let schema = match (&plan, &plan.inputs()[..]) {
        (LogicalPlan::TableScan(scan), _) => Arc::new(DFSchema::try_from_qualified_schema(
            scan.table_name.clone(),
            &scan.source.schema(),
        )?),
        (_, [input]) => Arc::clone(input.schema()),
        (_, inputs) => Arc::new(merge_schema(inputs)),
    };
    let plan = kept_names::map_expressions(plan, &mut |expr| {
        expr_up(expr, &mut |expr| rewrite(expr, &schema))
    })?;
    let plan = match plan.transformed {
        true => Transformed::yes(plan.data.recompute_schema()?),
        false => plan,
    };
    plan.transform_data(|plan| match plan {
        LogicalPlan::TableScan(scan) => canonical_scan(scan),
        plan => Ok(Transformed::no(plan)),
    })
}

/// What stands for an expression whose parts have been rewritten.
fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            match Operation::of(op).filter(|operation| operation.takes(&left, &right, schema)) {
                Some(operation) => Transformed::yes(operation.call(vec![*left, *right])),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr::new(left, op, right))),
            }
        }
        Expr::Negative(inner) => match type_of(&inner, schema) {
            Some(t) if t.is_integer() || canonical_floats::is_float(&t) => {
                Transformed::yes(Operation::Negate.call(vec![*inner]))
            }
            _ => Transformed::no(Expr::Negative(inner)),
        },
        Expr::Cast(Cast { expr, field }) => {
            let needed = gives_others(&expr, field.data_type(), schema);
            canonical_if(needed, Expr::Cast(Cast { expr, field }))
        }
        Expr::TryCast(TryCast { expr, field }) => {
            let needed = gives_others(&expr, field.data_type(), schema);
            canonical_if(needed, Expr::TryCast(TryCast { expr, field }))
        }
        Expr::Literal(value, metadata) => {
            let other = match &value {
                ScalarValue::Float64(Some(x)) => {
                    x.to_bits() != canonical_floats::float(*x).to_bits()
                }
                ScalarValue::Float32(Some(x)) => x.is_nan() || (*x == 0.0 && x.is_sign_negative()),
                _ => false,
            };
            match other {
                true => Transformed::yes(Expr::Literal(canonical_floats::scalar(value), metadata)),
                false => Transformed::no(Expr::Literal(value, metadata)),
            }
        }
        Expr::ScalarFunction(function) => {
            let ours = function.func.inner().is::<Arithmetic>();
            let passes_on = PASS_ON.contains(&function.func.name());
            let expr = Expr::ScalarFunction(function);
            let float = |t: DataType| canonical_floats::is_float(&t);
            let needed = !ours && !passes_on && type_of(&expr, schema).is_some_and(float);
            canonical_if(needed, expr)
        }
        expr => Transformed::no(expr),
    })
}

/// Functions that give one of the floats that they are given.
const PASS_ON: [&str; 9] = [
    "coalesce",
    "nvl",
    "nvl2",
    "nullif",
    "greatest",
    "least",
    "get_field",
    "array_element",
    "arrow_metadata",
];

fn canonical_if(needed: bool, expr: Expr) -> Transformed<Expr> {
    match needed {
        true => Transformed::yes(Operation::Canonical.call(vec![expr])),
        false => Transformed::no(expr),
    }
}

/// Whether a cast to a type may give floats that are not canonical: of text, and where a small number becomes -0.0.
fn gives_others(from: &Expr, to: &DataType, schema: &DFSchema) -> bool {
    let from = || type_of(from, schema);
    canonical_floats::is_float(to)
        && from().is_none_or(|from| {
            let is_exact = from.is_integer() || from.is_decimal();
            let is_other = matches!(from, DataType::Boolean | DataType::Null);
            !is_exact && !is_other && !widens_float(&from, to)
        })
}

fn widens_float(from: &DataType, to: &DataType) -> bool {
    canonical_floats::is_float(from) && from.primitive_width() <= to.primitive_width()
}

/// The type of an expression; None if it has none, which is for somebody else to say. Of operators that have been rewritten it is that of their first
/// argument, so that a chain of them is not walked again for each.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        Expr::ScalarFunction(function) if function.func.inner().is::<Arithmetic>() => {
            type_of(function.args.first()?, schema)
        }
        expr => expr.get_type(schema).ok(),
    }
}

/// A scan, with its float columns made canonical if it is neither of a lake's table nor of one in memory, whose rows SQL has made.
fn canonical_scan(scan: TableScan) -> Result<Transformed<LogicalPlan>> {
    let provider = scan.source.downcast_ref::<DefaultTableSource>();
    let known = provider.is_some_and(|source| {
        let provider = &source.table_provider;
        provider.is::<ListedTable>() || provider.is::<LakeRows>() || provider.is::<MemTable>()
    });
    let fields = scan.projected_schema.fields();
    let floats = fields
        .iter()
        .any(|field| canonical_floats::is_float(field.data_type()));
    if known || !floats {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    }
    let columns = scan.projected_schema.iter().map(|(table, field)| {
        let column = Expr::Column((table, field).into());
        match canonical_floats::is_float(field.data_type()) {
            true => Operation::Canonical
                .call(vec![column])
                .alias_qualified(table.cloned(), field.name()),
            false => column,
        }
    });
    let columns = columns.collect();
    let scan = Arc::new(LogicalPlan::TableScan(scan));
    let projection = Projection::try_new(columns, scan)?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// What a function of ours does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Negate,
    Canonical,
}

use Operation::{Add, Canonical, Divide, Modulo, Multiply, Negate, Subtract};

const OPERATIONS: [Operation; 7] = [Add, Subtract, Multiply, Divide, Modulo, Negate, Canonical];

static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 7]> = LazyLock::new(|| {
    OPERATIONS.map(|operation| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Arithmetic {
            operation,
            signature,
        }))
    })
});

impl Operation {
    fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            Operator::Plus => Add,
            Operator::Minus => Subtract,
            Operator::Multiply => Multiply,
            Operator::Divide => Divide,
            Operator::Modulo => Modulo,
            _ => return None,
        })
    }

    /// Whether it can be other between these: division of integers does not wrap.
    fn takes(self, left: &Expr, right: &Expr, schema: &DFSchema) -> bool {
        let (Some(left), Some(right)) = (type_of(left, schema), type_of(right, schema)) else {
            return false;
        };
        let divides = matches!(self, Divide | Modulo);
        left == right && (canonical_floats::is_float(&left) || (left.is_integer() && !divides))
    }

    fn call(self, args: Vec<Expr>) -> Expr {
        let function = FUNCTIONS[self as usize].clone();
        Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
    }

    fn sign(self) -> &'static str {
        match self {
            Add => "+",
            Subtract | Negate => "-",
            Multiply => "*",
            Divide => "/",
            Modulo => "%",
            Canonical => "",
        }
    }

    fn kernel(self, a: &dyn Datum, b: &dyn Datum) -> std::result::Result<ArrayRef, ArrowError> {
        if let Some(array) = self.at_once(a, b) {
            return Ok(array);
        }
        match self {
            Add => add(a, b),
            Subtract => sub(a, b),
            Multiply => mul(a, b),
            Divide => div(a, b),
            Modulo => rem(a, b),
            Negate | Canonical => unreachable!("they take one argument"),
        }
    }

    /// Sums and differences of integers of 64 bits, of which it is looked once for all of an array whether they fit. None if one does not, or
    /// what stands where a NULL is does not.
    fn at_once(self, a: &dyn Datum, b: &dyn Datum) -> Option<ArrayRef> {
        match (self, a.get().0.data_type()) {
            (Add, DataType::Int64) => all_fit::<Int64Type>(a, b, |a, b| {
                let sum = a.wrapping_add(b);
                (sum, (a ^ sum) & (b ^ sum) < 0)
            }),
            (Subtract, DataType::Int64) => all_fit::<Int64Type>(a, b, |a, b| {
                let difference = a.wrapping_sub(b);
                (difference, (a ^ b) & (a ^ difference) < 0)
            }),
            (Add, DataType::UInt64) => all_fit::<UInt64Type>(a, b, |a, b| {
                let sum = a.wrapping_add(b);
                (sum, sum < a)
            }),
            (Subtract, DataType::UInt64) => {
                all_fit::<UInt64Type>(a, b, |a, b| (a.wrapping_sub(b), a < b))
            }
            _ => None,
        }
    }

    /// The error of integers that do not fit.
    fn overflow(self, data_type: &DataType) -> String {
        let bits = 8 * data_type.primitive_width().unwrap_or_default();
        let wider = match bits {
            64 => "double",
            _ => "bigint",
        };
        match self {
            _ if data_type.is_unsigned_integer() && matches!(self, Subtract | Negate) => {
                format!(
                    "a difference of unsigned integers is below 0; subtract signed ones: `x::{} - y`",
                    if bits == 64 { "double" } else { "bigint" }
                )
            }
            Multiply if bits == 64 => "a product of integers is too large for 64 bits; \
                multiply numbers with a fraction: `bytes::double * bytes`"
                .into(),
            Multiply => format!(
                "a product of integers is too large for {bits} bits; write `x::{wider} * y`"
            ),
            Negate => format!("-x is too large for {bits} bits; write `-(x::{wider})`"),
            _ => format!(
                "x {0} y of integers is too large for {bits} bits; write `x::{wider} {0} y`",
                self.sign()
            ),
        }
    }
}

/// A function that stands for an operator.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    operation: Operation,
    signature: Signature,
}

impl Arithmetic {
    /// As the operator would be shown.
    fn shown(&self, args: &[Expr], show: impl Fn(&Expr) -> String) -> String {
        let sign = self.operation.sign();
        match args {
            [a, b] => format!("{} {sign} {}", show(a), show(b)),
            [a] if self.operation == Negate => format!("(- {})", show(a)),
            args => args.iter().map(show).collect::<Vec<_>>().join(", "),
        }
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        match self.operation {
            Add => "checked_add",
            Subtract => "checked_subtract",
            Multiply => "checked_multiply",
            Divide => "canonical_divide",
            Modulo => "canonical_modulo",
            Negate => "checked_negate",
            Canonical => "canonical",
        }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.shown(args, Expr::to_string))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let shown = self.shown(args, |arg| arg.schema_name().to_string());
        // Beside the column that is made canonical, as in the key of a join, it needs another name.
        Ok(match self.operation {
            Canonical => format!("{}({shown})", self.name()),
            _ => shown,
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let expected = match self.operation {
            Negate | Canonical => 1,
            _ => 2,
        };
        let numbers = given
            .iter()
            .all(|t| t.is_integer() || canonical_floats::is_float(t));
        let alike = given.iter().all(|t| Some(t) == given.first());
        match given.len() == expected && numbers && alike {
            true => Ok(given.to_vec()),
            false => plan_err!("{} takes {expected} numbers of one type", self.name()),
        }
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        let first = given.first().cloned();
        first.map_or_else(|| plan_err!("{} takes a number", self.name()), Ok)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let types: Vec<DataType> = args
            .arg_fields
            .iter()
            .map(|f| f.data_type().clone())
            .collect();
        let data_type = self.return_type(&types)?;
        Ok(Arc::new(Field::new(self.name(), data_type, nullable)))
    }

    /// NULL if one of them is, as DataFusion knows of its operators.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let null = |arg: &&Expr| matches!(arg, Expr::Literal(value, _) if value.is_null());
        Ok(match args.iter().find(null) {
            Some(null) => ExprSimplifyResult::Simplified(null.clone()),
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (operation, data_type) = (self.operation, args.return_field.data_type().clone());
        let mut args = args.args.into_iter();
        let result = match (operation, args.next(), args.next()) {
            (Negate | Canonical, Some(value), None) => one(value, |array| match operation {
                Negate => Ok(canonical_floats::array(neg(&array)?)),
                _ => Ok(canonical_floats::array(array)),
            }),
            (_, Some(a), Some(b)) => apply(&a, &b, |a, b| {
                operation.kernel(a, b).map(canonical_floats::array)
            }),
            _ => return plan_err!("{} has too few arguments", self.name()),
        };
        let overflows = data_type.is_integer();
        result.map_err(|error| match overflows {
            true => exec_datafusion_err!("{}", operation.overflow(&data_type)),
            false => error,
        })
    }
}

/// What `f` gives of each pair of values, which may be none of NULLs, with whether it does not fit; None if that is so of any pair.
fn all_fit<T: ArrowPrimitiveType>(
    a: &dyn Datum,
    b: &dyn Datum,
    f: impl Fn(T::Native, T::Native) -> (T::Native, bool),
) -> Option<ArrayRef> {
    let ((a, one_a), (b, one_b)) = (a.get(), b.get());
    let (a, b) = (a.as_primitive::<T>(), b.as_primitive::<T>());
    let mut beyond = false;
    let mut pair = |a: T::Native, b: T::Native| {
        let (value, does_not_fit) = f(a, b);
        beyond |= does_not_fit;
        value
    };
    let (x, y) = (a.values(), b.values());
    let (values, nulls): (Vec<T::Native>, _) = match (one_a, one_b) {
        (false, false) if x.len() == y.len() => {
            let values = x.iter().zip(y).map(|(x, y)| pair(*x, *y));
            (values.collect(), NullBuffer::union(a.nulls(), b.nulls()))
        }
        (false, true) if b.null_count() == 0 => {
            let y = *y.first()?;
            (x.iter().map(|x| pair(*x, y)).collect(), a.nulls().cloned())
        }
        (true, false) if a.null_count() == 0 => {
            let x = *x.first()?;
            (y.iter().map(|y| pair(x, *y)).collect(), b.nulls().cloned())
        }
        _ => return None,
    };
    (!beyond).then(|| Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)) as ArrayRef)
}

/// A function of one array, of a value or of many.
fn one(
    value: ColumnarValue,
    f: impl Fn(ArrayRef) -> std::result::Result<ArrayRef, ArrowError>,
) -> Result<ColumnarValue> {
    Ok(match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(f(array)?),
        ColumnarValue::Scalar(value) => {
            let array = f(value.to_array()?)?;
            ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::functions::tests::ask;
    use datafusion::arrow::array::{Int64Array, Scalar, UInt64Array};
    use proptest::prelude::*;

    /// As without the rule: no row is read for a condition that is NULL.
    #[test]
    fn with_null_there_is_nothing_to_compute() {
        let conditions = [
            "CAST(NULL AS BIGINT) * x > 5",
            "x - CAST(NULL AS BIGINT) = 1",
            "-CAST(NULL AS DOUBLE) < x / 2.0",
        ];
        for condition in conditions {
            let plan = ask(&format!(
                "EXPLAIN SELECT x FROM (VALUES (1), (2)) t(x) WHERE {condition}"
            ));
            let plan = plan.unwrap().join("\n");
            assert!(plan.contains("EmptyExec"), "{plan}");
        }
    }

    fn signed() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![
            Just(None),
            (-5i64..5).prop_map(Some),
            any::<i64>().prop_map(Some),
            Just(Some(i64::MIN)),
            Just(Some(i64::MAX))
        ]
    }

    /// Of Rust's own checked operators, pair by pair; an error if one is none.
    fn expected<T>(
        pairs: &[(Option<T>, Option<T>)],
        checked: impl Fn(T, T) -> Option<T>,
    ) -> Option<Vec<Option<T>>>
    where
        T: Copy,
    {
        let pairs = pairs.iter().map(|pair| match *pair {
            (Some(a), Some(b)) => checked(a, b).map(Some),
            _ => Some(None),
        });
        pairs.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]

        #[test]
        fn sums_and_differences_are_checked_for_each_pair(pairs in prop::collection::vec((signed(), signed()), 0..9)) {
            let a = Int64Array::from_iter(pairs.iter().map(|pair| pair.0));
            let b = Int64Array::from_iter(pairs.iter().map(|pair| pair.1));
            let given = |operation: Operation, a: &dyn Datum, b: &dyn Datum| {
                let given = operation.kernel(a, b).ok()?;
                Some(given.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
            };
            prop_assert_eq!(given(Add, &a, &b), expected(&pairs, i64::checked_add));
            prop_assert_eq!(given(Subtract, &a, &b), expected(&pairs, i64::checked_sub));
            let bits = |x: Option<i64>| x.map(|x| x as u64);
            let unsigned: Vec<_> = pairs.iter().map(|(a, b)| (bits(*a), bits(*b))).collect();
            let (x, y) = (UInt64Array::from_iter(unsigned.iter().map(|pair| pair.0)), UInt64Array::from_iter(unsigned.iter().map(|pair| pair.1)));
            let given = |operation: Operation| {
                let given = operation.kernel(&x, &y).ok()?;
                Some(given.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>())
            };
            prop_assert_eq!(given(Add), expected(&unsigned, u64::checked_add));
            prop_assert_eq!(given(Subtract), expected(&unsigned, u64::checked_sub));
        }

        #[test]
        fn so_are_those_with_one_value(values in prop::collection::vec(signed(), 0..9), one in signed()) {
            let (many, single) = (Int64Array::from_iter(values.iter().copied()), Scalar::new(Int64Array::from(vec![one])));
            let given = |operation: Operation, a: &dyn Datum, b: &dyn Datum| {
                let given = operation.kernel(a, b).ok()?;
                Some(given.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
            };
            let after: Vec<_> = values.iter().map(|value| (*value, one)).collect();
            let before: Vec<_> = values.iter().map(|value| (one, *value)).collect();
            prop_assert_eq!(given(Subtract, &many, &single), expected(&after, i64::checked_sub));
            prop_assert_eq!(given(Subtract, &single, &many), expected(&before, i64::checked_sub));
            prop_assert_eq!(given(Add, &many, &single), expected(&after, i64::checked_add));
        }
    }
}
