//! `erfc`: what a normal distribution holds beyond a value.

use super::arguments::{number_type, taken};
use super::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use std::sync::Arc;

pub(super) static ERFC: Scalar = Scalar {
    doc: FunctionDoc {
        name: "erfc",
        description: "The complementary error function, as in PostgreSQL. Half of erfc(z / sqrt(2)) is the probability that a value of a normal \
            distribution lies more than z standard deviations above its mean.",
        syntax: "erfc(x)",
        arguments: &[("x", "number")],
        example: "SELECT round(erfc(0), 6), round(erfc(1.959964 / sqrt(2)) / 2, 6)",
        answer: "1.0 | 0.025",
    },
    coerce: |given| taken(&ERFC.doc, &[1], given, |_, t| number_type(t)),
    return_type: || DataType::Float64,
    kernel: erfc,
};

fn erfc(args: &[ArrayRef]) -> Result<ArrayRef> {
    let x = args[0].as_primitive::<Float64Type>();
    let found: Float64Array = x.unary(libm::erfc);
    Ok(Arc::new(found))
}
