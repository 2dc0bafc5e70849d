//! `ost_intersect`: the OSTs that all of some rows have.

use super::fold::{Operation, SetFold, state};
use crate::engine::functions::arguments::{bits_type, taken, text_type};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use datafusion::arrow::datatypes::DataType;

pub(in crate::engine::functions) static OST_INTERSECT: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "ost_intersect",
        description: "The OSTs that all of the sets have, as a roaring bitmap; NULL if there is no set. OST indexes belong to a file \
            system, so all sets of a group must be of the same one: group by fs.",
        syntax: "ost_intersect(fs, bits)",
        arguments: &[
            ("fs", "text: file system of the set"),
            (
                "bits",
                "roaring bitmap of OST indexes, such as darshan_file.ost_bits",
            ),
        ],
        example: "SELECT fs, ost_list(ost_intersect(fs, ost_bits(osts))) FROM (VALUES ('home', [1]), ('scratch', [1, 2]), ('scratch', [2, 9])) \
            AS file(fs, osts) GROUP BY fs ORDER BY fs",
        answer: "home | [1]\nscratch | [2]",
    },
    coerce: |given| {
        taken(&OST_INTERSECT.doc, &[2], given, |i, t| {
            if i == 0 { text_type(t) } else { bits_type(t) }
        })
    },
    return_type: |_| DataType::Binary,
    state: |_| state(),
    distinct_is_same: true,
    fold: |_| {
        Ok(Box::new(SetFold::new(
            "ost_intersect",
            Operation::Intersection,
        )))
    },
};
