//! `ost_list`: the OSTs of a set, one by one.

use super::bits::BitsArray;
use crate::engine::functions::arguments::{bits_type, list_of, taken};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, Int64Builder, ListBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use std::sync::Arc;

pub(in crate::engine::functions) static OST_LIST: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_list",
        description: "The OSTs of a set as a list, ascending.",
        syntax: "ost_list(bits)",
        arguments: &[(
            "bits",
            "roaring bitmap of OST indexes, such as darshan_file.ost_bits",
        )],
        example: "SELECT unnest(ost_list(ost_bits([200, 3])))",
        answer: "3\n200",
    },
    coerce: |given| taken(&OST_LIST.doc, &[1], given, |_, t| bits_type(t)),
    return_type: || list_of(DataType::Int64),
    kernel: ost_list,
};

fn ost_list(args: &[ArrayRef]) -> Result<ArrayRef> {
    let bits = BitsArray::new("ost_list", &args[0])?;
    let mut lists = ListBuilder::new(Int64Builder::new());
    for i in 0..args[0].len() {
        let set = bits.get("ost_list", i)?;
        if let Some(set) = set {
            set.for_each(|ost| lists.values().append_value(ost as i64));
        }
        lists.append(set.is_some());
    }
    Ok(Arc::new(lists.finish()))
}
