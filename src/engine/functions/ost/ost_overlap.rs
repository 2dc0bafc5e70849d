//! `ost_overlap`: how many OSTs two files, jobs or programs have in common.

use super::bits::BitsArray;
use crate::engine::functions::arguments::{bits_type, taken, text_type};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

pub(in crate::engine::functions) static OST_OVERLAP: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_overlap",
        description: "How many OSTs two sets have in common. OST indexes belong to a file system, so both must be of the same one: \
            ask for a.fs = b.fs in the join. Without file systems it is ost_count(ost_and(a, b)).",
        syntax: "ost_overlap(fs, bits, other_fs, other_bits)",
        arguments: &[
            ("fs", "text: file system of the first set"),
            ("bits", "roaring bitmap of OST indexes"),
            ("other_fs", "text: file system of the second set"),
            ("other_bits", "roaring bitmap of OST indexes"),
        ],
        example: "SELECT ost_overlap('scratch', ost_bits([1, 2, 3]), 'scratch', ost_bits([2, 3, 4]))",
        answer: "2",
    },
    coerce: |given| {
        taken(&OST_OVERLAP.doc, &[4], given, |i, t| {
            if i % 2 == 0 {
                text_type(t)
            } else {
                bits_type(t)
            }
        })
    },
    return_type: || DataType::Int64,
    kernel: ost_overlap,
};

fn ost_overlap(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (fs, other_fs) = (args[0].as_string::<i32>(), args[2].as_string::<i32>());
    let (bits, other) = (
        BitsArray::new("ost_overlap", &args[1])?,
        BitsArray::new("ost_overlap", &args[3])?,
    );
    let overlap = |i| {
        let (Some(a), Some(b)) = (bits.get("ost_overlap", i)?, other.get("ost_overlap", i)?) else {
            return Ok(None);
        };
        if fs.is_null(i) || other_fs.is_null(i) {
            return Ok(None);
        }
        match (fs.value(i), other_fs.value(i)) {
            (x, y) if x == y => Ok(Some(a.overlap(&b) as i64)),
            (x, y) => exec_err!(
                "ost_overlap: one set is of file system `{x}`, the other of `{y}`: OST indexes belong to a file system; join on fs as well"
            ),
        }
    };
    Ok(Arc::new(
        (0..args[0].len())
            .map(overlap)
            .collect::<Result<Int64Array>>()?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn sets_of_different_file_systems_are_an_error_and_null_gives_null() {
        let error =
            ask("SELECT ost_overlap('home', ost_bits([1]), 'scratch', ost_bits([1]))").unwrap_err();
        assert_eq!(
            error,
            "ost_overlap: one set is of file system `home`, the other of `scratch`: OST indexes belong to a file system; join on fs as well"
        );
        assert_eq!(ask("SELECT ost_overlap('home', NULL, 'scratch', ost_bits([1])), ost_overlap(NULL, ost_bits([1]), 'a', ost_bits([1]))").unwrap(), ["NULL | NULL"]);
    }
}
