//! `ratio`: a quotient that is NULL where there is nothing to divide by.

use super::arguments::{number_type, taken};
use super::definition::{FunctionDoc, Scalar};
use crate::engine::logical::canonical_floats;
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use std::sync::Arc;

pub(super) static RATIO: Scalar = Scalar {
    doc: FunctionDoc {
        name: "ratio",
        description: "a divided by b, with a fraction also where both are integers; NULL where b is 0 or either is NULL.",
        syntax: "ratio(a, b)",
        arguments: &[("a", "number"), ("b", "number, mostly of the same unit")],
        example: "SELECT ratio(1, 4), ratio(3, 0), ratio(0, 0)",
        answer: "0.25 | NULL | NULL",
    },
    coerce: |given| taken(&RATIO.doc, &[2], given, |_, t| number_type(t)),
    return_type: || DataType::Float64,
    kernel: ratio,
};

fn ratio(args: &[ArrayRef]) -> Result<ArrayRef> {
    let a = args[0].as_primitive::<Float64Type>();
    let b = args[1].as_primitive::<Float64Type>();
    let pairs = a.iter().zip(b.iter());
    let ratio = |(a, b): (Option<f64>, Option<f64>)| {
        let b = b.filter(|b| *b != 0.0)?;
        Some(canonical_floats::float(a? / b))
    };
    Ok(Arc::new(pairs.map(ratio).collect::<Float64Array>()))
}
