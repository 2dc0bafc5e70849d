//! Canonical floats: one NaN, which is positive, and no -0.0.
//!
//! Arrow and DataFusion 55.2 compare, sort, group and join floats by the total order of IEEE 754, in which -NaN stands below all numbers, NaN
//! above them, and -0.0 below 0.0. Processors set the sign of a NaN as they like: 0.0 / 0.0 is -NaN on x86-64 and NaN on ARM. In SQL NaN is
//! one value, equal to itself and greater than all others, and -0.0 equals 0.0, as in PostgreSQL and DuckDB.
//!
//! So no comparison is changed, but every float is made canonical where it arises: [`super::checked_arithmetic`] does so in expressions,
//! [`crate::engine::workarounds::aggregates`] in aggregates, and the readers of logs store no other.

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};
use datafusion::common::ScalarValue;
use std::sync::Arc;

/// A float of 16 bits.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// Whether values of a type can be other than canonical.
pub(in crate::engine) fn is_float(data_type: &DataType) -> bool {
    data_type.is_floating()
}

/// A float in its canonical form. Adding 0.0 turns -0.0 into 0.0.
pub(in crate::engine) fn float(x: f64) -> f64 {
    match x.is_nan() {
        true => f64::NAN,
        false => x + 0.0,
    }
}

/// The same floats in their canonical form; other arrays as they are.
pub(in crate::engine) fn array(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => map::<Float64Type>(array, float),
        DataType::Float32 => map::<Float32Type>(array, |x| match x.is_nan() {
            true => f32::NAN,
            false => x + 0.0,
        }),
        DataType::Float16 => map::<Float16Type>(array, |x| match x.is_nan() {
            true => Half::NAN,
            false => Half::from_f64(float(x.into())),
        }),
        _ => array,
    }
}

/// A value in its canonical form.
pub(in crate::engine) fn scalar(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float64(x) => ScalarValue::Float64(x.map(float)),
        // Exact: a NaN stays one, and 32 bits fit into 64.
        ScalarValue::Float32(x) => ScalarValue::Float32(x.map(|x| float(x.into()) as f32)),
        ScalarValue::Float16(x) => ScalarValue::Float16(x.map(|x| Half::from_f64(float(x.into())))),
        other => other,
    }
}

/// In place where nobody else holds the values.
fn map<T: ArrowPrimitiveType>(array: ArrayRef, f: impl Fn(T::Native) -> T::Native) -> ArrayRef {
    let values = PrimitiveArray::<T>::from(array.to_data());
    drop(array);
    Arc::new(match values.unary_mut(&f) {
        Ok(changed) => changed,
        Err(shared) => shared.unary(&f),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{AsArray, Float64Array};

    #[test]
    fn floats_have_one_nan_and_one_zero() {
        let given = [-0.0, 0.0, -f64::NAN, f64::NAN, f64::NEG_INFINITY, -1.5];
        let bits = |x: &f64| x.to_bits();
        let expected = [0.0, 0.0, f64::NAN, f64::NAN, f64::NEG_INFINITY, -1.5].map(|x| bits(&x));
        let made = array(Arc::new(Float64Array::from(given.to_vec())));
        let made = made.as_primitive::<Float64Type>();
        assert_eq!(made.values().iter().map(bits).collect::<Vec<_>>(), expected);
        for (x, expected) in given.iter().zip(expected) {
            let ScalarValue::Float64(Some(wide)) = scalar(ScalarValue::from(*x)) else {
                panic!("another type")
            };
            let ScalarValue::Float32(Some(single)) = scalar(ScalarValue::from(*x as f32)) else {
                panic!("another type")
            };
            assert_eq!(bits(&wide), expected);
            assert_eq!(
                single.to_bits(),
                (f64::from_bits(expected) as f32).to_bits()
            );
        }
    }

    #[test]
    fn values_that_somebody_else_holds_stay_as_they_are() {
        let shared: ArrayRef = Arc::new(Float64Array::from(vec![Some(-0.0), None]));
        let made = array(shared.clone());
        assert!(
            shared
                .as_primitive::<Float64Type>()
                .value(0)
                .is_sign_negative()
        );
        assert!(
            made.as_primitive::<Float64Type>()
                .value(0)
                .is_sign_positive()
        );
        assert!(made.is_null(1));
    }
}
