//! `ost_bits`: the set of the OSTs of a list.

use super::bits::serialize;
use crate::engine::functions::arguments::{integer_type, list_of, taken};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use roaring::RoaringBitmap;
use std::sync::Arc;

pub(in crate::engine::functions) static OST_BITS: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_bits",
        description: "The set of the OSTs of a list, as a roaring bitmap. Elements that are NULL (unknown) are left out.",
        syntax: "ost_bits(list)",
        arguments: &[(
            "list",
            "list of integers: OST indexes, such as darshan_file.ost_list; in any order, repeated or not",
        )],
        example: "SELECT ost_list(ost_bits([7, 3, 7, NULL]))",
        answer: "[3, 7]",
    },
    coerce: |given| taken(&OST_BITS.doc, &[1], given, |_, t| list_type(t)),
    return_type: || DataType::Binary,
    kernel: ost_bits,
};

fn list_type(given: &DataType) -> Option<DataType> {
    match given {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            integer_type(item.data_type()).map(list_of)
        }
        DataType::Null => Some(list_of(DataType::Int64)),
        _ => None,
    }
}

fn ost_bits(args: &[ArrayRef]) -> Result<ArrayRef> {
    let lists = args[0].as_list::<i32>();
    let values = lists.values().as_primitive::<Int64Type>();
    let (mut builder, mut set, mut bytes) = (
        BinaryBuilder::with_capacity(lists.len(), 64 * lists.len()),
        RoaringBitmap::new(),
        vec![],
    );
    for (i, ends) in lists.offsets().windows(2).enumerate() {
        if lists.is_null(i) {
            builder.append_null();
            continue;
        }
        set.clear();
        for at in (ends[0] as usize..ends[1] as usize).filter(|at| values.is_valid(*at)) {
            let Ok(ost) = u32::try_from(values.value(at)) else {
                return exec_err!(
                    "ost_bits: {} is not an OST index; expected 0 to {}",
                    values.value(at),
                    u32::MAX
                );
            };
            set.insert(ost);
        }
        serialize(&mut set, &mut bytes);
        builder.append_value(&bytes);
    }
    Ok(Arc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_list_that_is_null_gives_null_and_an_empty_one_the_empty_set() {
        assert_eq!(
            ask("SELECT ost_bits(NULL), ost_count(ost_bits([]))").unwrap(),
            ["NULL | 0"]
        );
    }

    #[test]
    fn a_negative_index_is_an_error_that_names_it() {
        assert_eq!(
            ask("SELECT ost_bits([1, -1])").unwrap_err(),
            "ost_bits: -1 is not an OST index; expected 0 to 4294967295"
        );
    }
}
