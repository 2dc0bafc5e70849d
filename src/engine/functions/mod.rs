//! SQL functions, one file each.
//!
//! # Adding a function
//! One file with a `static` [`Scalar`] or [`Aggregate`]: its page (what it is, how it is called, an example with its
//! answer), the types it takes, and its kernel over whole arrays. One line in [`SCALAR`] or [`AGGREGATE`]. The registry
//! test then runs the example, `information_schema.routines` shows the page, and every session has the function.
//!
//! An aggregate implements [`GroupsAccumulator`] over flat vectors with an honest `size()`, and its partial states merge
//! to the same answer in whatever order they come; `single::Single` makes of it the accumulator that windows need.

mod bin;
mod bin_counts;
pub mod call;
pub(super) mod date_part;
pub(super) mod date_trunc;
mod erfc;
mod grouped;
mod interval;
mod ost;
mod quantile;
mod ratio;
mod set;
mod single;
mod whole_percent;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, DocSection, Documentation,
    GroupsAccumulator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use interval::intervals::Time;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(super) use grouped::passing;
pub(super) use quantile::quantiles::{QUANTILES, asked as asked_quantiles, quantiles_at};
pub(super) use set::set_agg::SET_AGG;

/// Every scalar function, in the order in which they are shown.
pub static SCALAR: &[&Scalar] = &[
    &ost::ost_bits::OST_BITS,
    &ost::ost_count::OST_COUNT,
    &ost::ost_list::OST_LIST,
    &ost::ost_contains::OST_CONTAINS,
    &ost::ost_and::OST_AND,
    &ost::ost_or::OST_OR,
    &ost::ost_overlap::OST_OVERLAP,
    &bin::BIN,
    &whole_percent::WHOLE_PERCENT,
    &ratio::RATIO,
    &erfc::ERFC,
];

/// Every aggregate function, in the order in which they are shown.
pub static AGGREGATE: &[&Aggregate] = &[
    &ost::ost_union::OST_UNION,
    &ost::ost_intersect::OST_INTERSECT,
    &quantile::percentiles::PERCENTILES,
    &quantile::quantiles::QUANTILES,
    &quantile::approx_percentiles::APPROX_PERCENTILES,
    &bin_counts::BIN_COUNTS,
    &set::set_agg::SET_AGG,
    &set::set_union::SET_UNION,
    &interval::critical_files::CRITICAL_FILES,
    &interval::io_time::IO_TIME,
];

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
    /// Its page.
    pub page: FunctionDoc,
    /// The types that it takes in place of those given, or why it cannot take them.
    coerce: fn(&[DataType]) -> Result<Vec<DataType>>,
    /// The type that it gives.
    return_type: fn() -> DataType,
    /// One result for each row; the arguments have equal lengths, and the types that `takes` named.
    kernel: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

impl Scalar {
    /// The function as DataFusion has it.
    pub fn udf(&'static self) -> ScalarUDF {
        let documentation = self.page.documentation("OST and statistics functions");
        ScalarUDF::from(ScalarImpl {
            function: self,
            signature: Signature::user_defined(Volatility::Immutable),
            documentation,
        })
    }
}

/// A function of the values of many rows.
pub struct Aggregate {
    /// Its page.
    pub page: FunctionDoc,
    /// The types that it takes in place of those given, or why it cannot take them.
    coerce: fn(&[DataType]) -> Result<Vec<DataType>>,
    /// The type that it gives for arguments of the types that `takes` named.
    return_type: fn(&[DataType]) -> DataType,
    /// Names and types of a partial state, for the same.
    state: fn(&[DataType]) -> Vec<(&'static str, DataType)>,
    /// Whether `DISTINCT` changes nothing.
    distinct_is_same: bool,
    /// A fold over no rows.
    fold: fn(&AccumulatorArgs) -> Result<Box<dyn Accumulate>>,
}

/// A [`GroupsAccumulator`] that can be copied, so that a window can look at its value and go on.
trait Accumulate: GroupsAccumulator + Sync {
    fn copy(&self) -> Box<dyn Accumulate>;
}

impl Aggregate {
    /// Whether DataFusion's function is this one.
    pub(super) fn is(&self, function: &AggregateUDF) -> bool {
        let ours = function.inner().downcast_ref::<AggregateImpl>();
        ours.is_some_and(|ours| ours.function.page.name == self.page.name)
    }

    /// The function as DataFusion has it.
    pub fn udaf(&'static self) -> AggregateUDF {
        let documentation = self.page.documentation("OST and statistics functions");
        AggregateUDF::from(AggregateImpl {
            function: self,
            signature: Signature::user_defined(Volatility::Immutable),
            documentation,
        })
    }
}

/// Whether a function is one of [`AGGREGATE`].
pub(super) fn is_ours(function: &AggregateUDF) -> bool {
    function.inner().downcast_ref::<AggregateImpl>().is_some()
}

struct ScalarImpl {
    function: &'static Scalar,
    signature: Signature,
    documentation: Documentation,
}

impl ScalarUDFImpl for ScalarImpl {
    fn name(&self) -> &str {
        self.function.page.name
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
        self.function.page.name
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
        Ok(Box::new(single::Single::new(
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
fn types(fields: &[FieldRef]) -> Vec<DataType> {
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
                self.function.page.name == other.function.page.name
            }
        }
        impl Eq for $type {}
        impl Hash for $type {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.function.page.name.hash(state);
            }
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.function.page.name)
            }
        }
    };
}
known_by_name!(ScalarImpl);
known_by_name!(AggregateImpl);

/// Checks the number of arguments, then asks `each` for the type that stands for argument `i` of type `t`; None refuses it.
fn taken(
    page: &FunctionDoc,
    numbers: &[usize],
    given: &[DataType],
    each: impl Fn(usize, &DataType) -> Option<DataType>,
) -> Result<Vec<DataType>> {
    if !numbers.contains(&given.len()) {
        let wanted = numbers
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(" or ");
        return plan_err!(
            "{} takes {wanted} arguments, {} were given: {}",
            page.name,
            given.len(),
            page.syntax
        );
    }
    let each = |(i, data_type): (usize, &DataType)| match each(i, data_type) {
        Some(taken) => Ok(taken),
        None => plan_err!(
            "{}: argument {} cannot be of type {data_type}: {}",
            page.name,
            i + 1,
            page.syntax
        ),
    };
    given.iter().enumerate().map(each).collect()
}

/// A column of sets may have any binary type; NULL stands for the empty column of them.
fn bits_type(given: &DataType) -> Option<DataType> {
    match given {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Some(given.clone()),
        DataType::Null => Some(DataType::Binary),
        _ => None,
    }
}

fn text_type(given: &DataType) -> Option<DataType> {
    let text = matches!(
        given,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null
    );
    let text =
        text || matches!(given, DataType::Dictionary(_, value) if text_type(value).is_some());
    text.then_some(DataType::Utf8)
}

/// Whether each value is one of an Int64.
fn fits_int64(given: &DataType) -> bool {
    given.is_integer() && *given != DataType::UInt64
}

fn integer_type(given: &DataType) -> Option<DataType> {
    (given.is_integer() || given.is_null()).then_some(DataType::Int64)
}

/// Ids are of 64 bits, with a sign or without.
fn id_type(given: &DataType) -> Option<DataType> {
    match given {
        DataType::UInt64 => Some(DataType::UInt64),
        _ => integer_type(given),
    }
}

fn number_type(given: &DataType) -> Option<DataType> {
    (given.is_numeric() || given.is_null()).then_some(DataType::Float64)
}

/// Types for an id, if there is one, and for the begin and the end of an interval.
fn interval_types(page: &FunctionDoc, id: bool, given: &[DataType]) -> Result<Vec<DataType>> {
    let at = usize::from(id);
    let time = |start: &DataType, end: &DataType| {
        Time::of(start, end).map_or_else(
            || {
                plan_err!(
                    "{}: start is of type {start} and end of type {end}; both must be numbers, seconds, or both times: {}",
                    page.name,
                    page.syntax
                )
            },
            |time| Ok(time.data_type()),
        )
    };
    let time = match given.get(at..) {
        Some([start, end]) => time(start, end)?,
        _ => DataType::Null,
    };
    taken(page, &[at + 2], given, |i, t| match t {
        _ if i >= at => Some(time.clone()),
        DataType::UInt64 => Some(DataType::UInt64),
        t => text_type(t)
            .filter(|_| !t.is_null())
            .or_else(|| integer_type(t)),
    })
}

/// A list of `item`.
fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// The column that lists of floats are made of.
fn floats() -> DataType {
    list_of(DataType::Float64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
    use datafusion::execution::session_state::SessionStateBuilder;

    /// The rows of batches, cells separated by ` | `.
    pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<String> {
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = vec![];
        for batch in batches {
            let columns: Vec<_> = batch
                .columns()
                .iter()
                .map(|c| ArrayFormatter::try_new(c, &options).unwrap())
                .collect();
            rows.extend((0..batch.num_rows()).map(|i| {
                columns
                    .iter()
                    .map(|c| c.value(i).to_string())
                    .collect::<Vec<_>>()
                    .join(" | ")
            }));
        }
        rows
    }

    /// The rows that a query without a lake gives, or its error.
    pub(crate) fn ask(sql: &str) -> std::result::Result<Vec<String>, String> {
        let engine = Engine::new(EngineOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            Ok(rows(
                &engine
                    .run(sql)
                    .await
                    .map_err(|e| e.to_string())?
                    .collect()
                    .await
                    .map_err(|e| e.to_string())?,
            ))
        })
    }

    #[test]
    fn every_example_gives_the_answer_on_its_page() {
        for page in SCALAR
            .iter()
            .map(|f| &f.page)
            .chain(AGGREGATE.iter().map(|f| &f.page))
        {
            assert_eq!(
                ask(page.example).unwrap().join("\n"),
                page.answer,
                "{}",
                page.name
            );
        }
    }

    #[test]
    fn every_page_says_what_its_function_is_and_takes() {
        for page in SCALAR
            .iter()
            .map(|f| &f.page)
            .chain(AGGREGATE.iter().map(|f| &f.page))
        {
            assert!(
                page.syntax.starts_with(&format!("{}(", page.name)),
                "{}",
                page.name
            );
            assert!(
                page.description.ends_with('.') && page.example.contains(page.name),
                "{}",
                page.name
            );
            for (argument, text) in page.arguments {
                assert!(
                    page.syntax.contains(argument) && !text.is_empty(),
                    "{}: {argument}",
                    page.name
                );
            }
        }
    }

    #[test]
    fn no_function_takes_a_name_that_datafusion_has() {
        let plain = SessionStateBuilder::new_with_default_features().build();
        let mut seen = std::collections::HashSet::new();
        for name in SCALAR
            .iter()
            .map(|f| f.page.name)
            .chain(AGGREGATE.iter().map(|f| f.page.name))
        {
            assert!(seen.insert(name), "{name} is listed twice");
            assert!(
                !plain.scalar_functions().contains_key(name)
                    && !plain.aggregate_functions().contains_key(name),
                "{name}"
            );
            assert!(
                !plain.window_functions().contains_key(name)
                    && !plain.table_functions().contains_key(name),
                "{name}"
            );
        }
    }

    #[test]
    fn a_wrong_argument_is_named_with_the_way_to_call_the_function() {
        let error = ask("SELECT ost_count(1.5)").unwrap_err();
        assert_eq!(
            error,
            "ost_count: argument 1 cannot be of type Float64: ost_count(bits)"
        );
        let error = ask("SELECT ost_contains(x'00')").unwrap_err();
        assert_eq!(
            error,
            "ost_contains takes 2 arguments, 1 were given: ost_contains(bits, ost)"
        );
    }
}
