//! `ost_contains`: whether an OST is in a set.

use super::bits::BitsArray;
use crate::engine::functions::arguments::{bits_type, integer_type, taken};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use std::sync::Arc;

pub(in crate::engine::functions) static OST_CONTAINS: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_contains",
        description: "Whether an OST is in a set.",
        syntax: "ost_contains(bits, ost)",
        arguments: &[
            (
                "bits",
                "roaring bitmap of OST indexes, such as darshan_file.ost_bits",
            ),
            ("ost", "integer: an OST index"),
        ],
        example: "SELECT ost_contains(ost_bits([3, 7]), 7), ost_contains(ost_bits([3, 7]), 8)",
        answer: "true | false",
    },
    coerce: |given| {
        taken(&OST_CONTAINS.doc, &[2], given, |i, t| {
            if i == 0 {
                bits_type(t)
            } else {
                integer_type(t)
            }
        })
    },
    return_type: || DataType::Boolean,
    kernel: ost_contains,
};

fn ost_contains(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (bits, osts) = (
        BitsArray::new("ost_contains", &args[0])?,
        args[1].as_primitive::<Int64Type>(),
    );
    let contains = |i| match (bits.get("ost_contains", i)?, osts.is_valid(i)) {
        (Some(bits), true) => Ok(Some(
            u32::try_from(osts.value(i)).is_ok_and(|ost| bits.contains(ost)),
        )),
        _ => Ok(None),
    };
    Ok(Arc::new(
        (0..args[0].len())
            .map(contains)
            .collect::<Result<BooleanArray>>()?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn an_index_that_no_ost_can_have_is_in_no_set_and_null_gives_null() {
        let sql = "SELECT ost_contains(ost_bits([3]), -3), ost_contains(ost_bits([3]), 4294967299), ost_contains(NULL, 3), ost_contains(ost_bits([3]), NULL)";
        assert_eq!(ask(sql).unwrap(), ["false | false | NULL | NULL"]);
    }
}
