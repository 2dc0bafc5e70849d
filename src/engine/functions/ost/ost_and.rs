//! `ost_and`: the OSTs that both sets have.

use super::bits::{BitsArray, serialize};
use crate::engine::functions::arguments::{bits_type, taken};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, BinaryBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use std::sync::Arc;

pub(in crate::engine::functions) static OST_AND: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_and",
        description: "The OSTs that both sets have, as a roaring bitmap. OST indexes belong to a file system: both sets must be of the same one.",
        syntax: "ost_and(bits, other)",
        arguments: &[
            ("bits", "roaring bitmap of OST indexes"),
            ("other", "roaring bitmap of OST indexes"),
        ],
        example: "SELECT ost_list(ost_and(ost_bits([3, 7]), ost_bits([7, 9])))",
        answer: "[7]",
    },
    coerce: |given| taken(&OST_AND.doc, &[2], given, |_, t| bits_type(t)),
    return_type: || DataType::Binary,
    kernel: ost_and,
};

fn ost_and(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (a, b) = (
        BitsArray::new("ost_and", &args[0])?,
        BitsArray::new("ost_and", &args[1])?,
    );
    let (mut sets, mut bytes) = (
        BinaryBuilder::with_capacity(args[0].len(), 64 * args[0].len()),
        vec![],
    );
    for i in 0..args[0].len() {
        match (a.get("ost_and", i)?, b.get("ost_and", i)?) {
            (Some(a), Some(b)) => {
                serialize(&mut (a.to_bitmap() & b.to_bitmap()), &mut bytes);
                sets.append_value(&bytes);
            }
            _ => sets.append_null(),
        }
    }
    Ok(Arc::new(sets.finish()))
}
