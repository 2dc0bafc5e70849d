//! What an SQL function of ours is: its documentation, its types, its kernel; and what DataFusion sees of it.

use super::accumulate::Accumulate;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, DocSection, Documentation,
    GroupsAccumulator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a person needs to know to use a function.
#[derive(Debug)]
pub struct FunctionDoc {
    /// Name in SQL.
    pub name: &'static str,
    /// What the result is, in one or a few sentences.
    pub description: &'static str,
    /// How it is called.
    pub syntax: &'static str,
    /// Each argument, with its type and unit.
    pub arguments: &'static [(&'static str, &'static str)],
    /// A query that needs no table.
    pub example: &'static str,
    /// The rows that the example gives, cells separated by ` | `.
    pub answer: &'static str,
}

impl FunctionDoc {
    fn documentation(&self, section: &'static str) -> Documentation {
        let section = DocSection {
            include: true,
            label: section,
            description: None,
        };
        let example = format!("```sql\n{}\n----\n{}\n```", self.example, self.answer);
        let mut documentation = Documentation::builder(section, self.description, self.syntax)
            .with_sql_example(example);
        for (name, text) in self.arguments {
            documentation = documentation.with_argument(*name, *text);
        }
        documentation.build()
    }
}

/// A function of the values of one row.
pub struct Scalar {
    /// What it is, and how it is called.
    pub doc: FunctionDoc,
    /// The types that it takes in place of those given, or why it cannot take them.
    pub(super) coerce: fn(&[DataType]) -> Result<Vec<DataType>>,
    /// The type that it gives.
    pub(super) return_type: fn() -> DataType,
    /// One result for each row; the arguments have equal lengths, and the types that `coerce` gave.
    pub(super) kernel: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

impl Scalar {
    /// The function as DataFusion has it.
    pub fn udf(&'static self) -> ScalarUDF {
        let documentation = self.doc.documentation("OST and statistics functions");
        ScalarUDF::from(ScalarImpl {
            function: self,
            signature: Signature::user_defined(Volatility::Immutable),
            documentation,
        })
    }
}

/// A function of the values of many rows.
pub struct Aggregate {
    /// What it is, and how it is called.
    pub doc: FunctionDoc,
    /// The types that it takes in place of those given, or why it cannot take them.
    pub(super) coerce: fn(&[DataType]) -> Result<Vec<DataType>>,
    /// The type that it gives for arguments of the types that `coerce` gave.
    pub(super) return_type: fn(&[DataType]) -> DataType,
    /// Names and types of a partial state, for the same.
    pub(super) state: fn(&[DataType]) -> Vec<(&'static str, DataType)>,
    /// Whether `DISTINCT` changes nothing.
    pub(super) distinct_is_same: bool,
    /// A fold over no rows.
    pub(super) fold: fn(&AccumulatorArgs) -> Result<Box<dyn Accumulate>>,
}

impl Aggregate {
    /// Whether DataFusion's function is this one.
    pub(in crate::engine) fn is(&self, function: &AggregateUDF) -> bool {
        let ours = function.inner().downcast_ref::<AggregateImpl>();
        ours.is_some_and(|ours| ours.function.doc.name == self.doc.name)
    }

    /// The function as DataFusion has it.
    pub fn udaf(&'static self) -> AggregateUDF {
        let documentation = self.doc.documentation("OST and statistics functions");
        AggregateUDF::from(AggregateImpl {
            function: self,
            signature: Signature::user_defined(Volatility::Immutable),
            documentation,
        })
    }
}

/// Whether a function is one of [`AGGREGATE`].
pub(in crate::engine) fn is_ours(function: &AggregateUDF) -> bool {
    function.inner().downcast_ref::<AggregateImpl>().is_some()
}

struct ScalarImpl {
    function: &'static Scalar,
    signature: Signature,
    documentation: Documentation,
}

impl ScalarUDFImpl for ScalarImpl {
    fn name(&self) -> &str {
        self.function.doc.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        (self.function.coerce)(given)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok((self.function.return_type)())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let result = (self.function.kernel)(&ColumnarValue::values_to_arrays(&args.args)?)?;
        match constant {
            true => Ok(ColumnarValue::Scalar(
                datafusion::common::ScalarValue::try_from_array(&result, 0)?,
            )),
            false => Ok(ColumnarValue::Array(result)),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

struct AggregateImpl {
    function: &'static Aggregate,
    signature: Signature,
    documentation: Documentation,
}

impl AggregateImpl {
    fn fold(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulate>> {
        if args.is_distinct && !self.function.distinct_is_same {
            return plan_err!("{} does not take DISTINCT", self.name());
        }
        (self.function.fold)(args)
    }
}

impl AggregateUDFImpl for AggregateImpl {
    fn name(&self) -> &str {
        self.function.doc.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        (self.function.coerce)(given)
    }

    fn return_type(&self, taken: &[DataType]) -> Result<DataType> {
        Ok((self.function.return_type)(taken))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |(name, data_type)| {
            Arc::new(Field::new(
                format!("{}[{name}]", args.name),
                data_type,
                true,
            ))
        };
        let states = (self.function.state)(&types(args.input_fields));
        Ok(states.into_iter().map(field).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let taken = types(args.expr_fields);
        let states = (self.function.state)(&taken).into_iter();
        Ok(Box::new(super::single::Single::new(
            self.fold(&args)?,
            (self.function.return_type)(&taken),
            states.map(|(_, data_type)| data_type).collect(),
        )))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(self.fold(&args)?)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

/// The types of arguments.
pub(super) fn types(fields: &[FieldRef]) -> Vec<DataType> {
    fields
        .iter()
        .map(|field| field.data_type().clone())
        .collect()
}

/// A function is known by its name: each is in the lists once.
macro_rules! known_by_name {
    ($type:ty) => {
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.function.doc.name == other.function.doc.name
            }
        }
        impl Eq for $type {}
        impl Hash for $type {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.function.doc.name.hash(state);
            }
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.function.doc.name)
            }
        }
    };
}
known_by_name!(ScalarImpl);
known_by_name!(AggregateImpl);
