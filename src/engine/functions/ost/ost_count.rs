//! `ost_count`: how many OSTs a set has.

use super::bits::BitsArray;
use crate::engine::functions::arguments::{bits_type, taken};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use std::sync::Arc;

pub(in crate::engine::functions) static OST_COUNT: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_count",
        description: "How many OSTs a set has.",
        syntax: "ost_count(bits)",
        arguments: &[(
            "bits",
            "roaring bitmap of OST indexes, such as darshan_file.ost_bits",
        )],
        example: "SELECT ost_count(ost_bits([3, 7, 7, 200]))",
        answer: "3",
    },
    coerce: |given| taken(&OST_COUNT.doc, &[1], given, |_, t| bits_type(t)),
    return_type: || DataType::Int64,
    kernel: ost_count,
};

fn ost_count(args: &[ArrayRef]) -> Result<ArrayRef> {
    let bits = BitsArray::new("ost_count", &args[0])?;
    let count = |i| Ok(bits.get("ost_count", i)?.map(|bits| bits.len() as i64));
    Ok(Arc::new(
        (0..args[0].len())
            .map(count)
            .collect::<Result<Int64Array>>()?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn every_binary_type_is_taken_and_bad_bytes_are_an_error_that_names_the_function() {
        for data_type in ["Binary", "LargeBinary", "BinaryView"] {
            assert_eq!(
                ask(&format!(
                    "SELECT ost_count(arrow_cast(ost_bits([1, 2]), '{data_type}'))"
                ))
                .unwrap(),
                ["2"]
            );
        }
        let error = ask("SELECT ost_count(x'0102030405')").unwrap_err();
        assert_eq!(
            error,
            "ost_count: a bitmap of 5 bytes cannot be read: it is not a roaring bitmap in the portable format"
        );
        assert_eq!(ask("SELECT ost_count(NULL)").unwrap(), ["NULL"]);
    }
}
