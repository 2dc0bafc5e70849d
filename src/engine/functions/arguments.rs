//! The types of arguments: how many there are, and what stands for a type that was given.

use super::definition::FunctionDoc;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, plan_err};
use std::sync::Arc;

/// Checks the number of arguments, then asks `each` for the type that stands for argument `i` of type `t`; None refuses it.
pub(super) fn taken(
    doc: &FunctionDoc,
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
            doc.name,
            given.len(),
            doc.syntax
        );
    }
    let each = |(i, data_type): (usize, &DataType)| match each(i, data_type) {
        Some(taken) => Ok(taken),
        None => plan_err!(
            "{}: argument {} cannot be of type {data_type}: {}",
            doc.name,
            i + 1,
            doc.syntax
        ),
    };
    given.iter().enumerate().map(each).collect()
}

/// A column of sets may have any binary type; NULL stands for the empty column of them.
pub(super) fn bits_type(given: &DataType) -> Option<DataType> {
    match given {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Some(given.clone()),
        DataType::Null => Some(DataType::Binary),
        _ => None,
    }
}

pub(super) fn text_type(given: &DataType) -> Option<DataType> {
    let text = matches!(
        given,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null
    );
    let text =
        text || matches!(given, DataType::Dictionary(_, value) if text_type(value).is_some());
    text.then_some(DataType::Utf8)
}

/// Whether each value is one of an Int64.
pub(super) fn fits_int64(given: &DataType) -> bool {
    given.is_integer() && *given != DataType::UInt64
}

pub(super) fn integer_type(given: &DataType) -> Option<DataType> {
    (given.is_integer() || given.is_null()).then_some(DataType::Int64)
}

/// Ids are of 64 bits, with a sign or without.
pub(super) fn id_type(given: &DataType) -> Option<DataType> {
    match given {
        DataType::UInt64 => Some(DataType::UInt64),
        _ => integer_type(given),
    }
}

pub(super) fn number_type(given: &DataType) -> Option<DataType> {
    (given.is_numeric() || given.is_null()).then_some(DataType::Float64)
}

/// A list of `item`.
pub(super) fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// The column that lists of floats are made of.
pub(super) fn floats() -> DataType {
    list_of(DataType::Float64)
}
