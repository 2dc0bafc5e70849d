//! `ost_or`: the OSTs that at least one of two sets has.

use super::bits::{BitsArray, serialize};
use crate::engine::functions::arguments::{bits_type, taken};
use crate::engine::functions::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, BinaryBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use std::sync::Arc;

pub(in crate::engine::functions) static OST_OR: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ost_or",
        description: "The OSTs that at least one of two sets has, as a roaring bitmap. OST indexes belong to a file system: both sets must be of the same one.",
        syntax: "ost_or(bits, other)",
        arguments: &[
            ("bits", "roaring bitmap of OST indexes"),
            ("other", "roaring bitmap of OST indexes"),
        ],
        example: "SELECT ost_list(ost_or(ost_bits([3, 7]), ost_bits([7, 9])))",
        answer: "[3, 7, 9]",
    },
    coerce: |given| taken(&OST_OR.doc, &[2], given, |_, t| bits_type(t)),
    return_type: || DataType::Binary,
    kernel: ost_or,
};

fn ost_or(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (a, b) = (
        BitsArray::new("ost_or", &args[0])?,
        BitsArray::new("ost_or", &args[1])?,
    );
    let (mut sets, mut bytes) = (
        BinaryBuilder::with_capacity(args[0].len(), 64 * args[0].len()),
        vec![],
    );
    for i in 0..args[0].len() {
        match (a.get("ost_or", i)?, b.get("ost_or", i)?) {
            (Some(a), Some(b)) => {
                serialize(&mut (a.to_bitmap() | b.to_bitmap()), &mut bytes);
                sets.append_value(&bytes);
            }
            _ => sets.append_null(),
        }
    }
    Ok(Arc::new(sets.finish()))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn list(set: &BTreeSet<i64>) -> String {
        format!(
            "[{}]",
            set.iter()
                .map(i64::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn union_and_intersection_obey_the_laws_of_sets(
            a in prop::collection::btree_set(0i64..5000, 1..40), b in prop::collection::btree_set(0i64..5000, 1..40), c in prop::collection::btree_set(0i64..5000, 1..40)
        ) {
            let (or, and): (BTreeSet<_>, BTreeSet<_>) = (&a | &b, &a & &b);
            let sql = format!(
                "WITH t AS (SELECT ost_bits({}) a, ost_bits({}) b, ost_bits({}) c)
                 SELECT ost_list(ost_or(a, b)), ost_list(ost_and(a, b)), ost_or(a, b) = ost_or(b, a), ost_and(a, b) = ost_and(b, a),
                    ost_or(a, ost_or(b, c)) = ost_or(ost_or(a, b), c), ost_and(a, ost_or(b, c)) = ost_or(ost_and(a, b), ost_and(a, c)),
                    ost_count(a) + ost_count(b) = ost_count(ost_or(a, b)) + ost_count(ost_and(a, b)), ost_bits(ost_list(a)) = a FROM t",
                list(&a), list(&b), list(&c)
            );
            prop_assert_eq!(ask(&sql).unwrap(), [format!("{} | {} | true | true | true | true | true | true", list(&or), list(&and))]);
        }
    }
}
