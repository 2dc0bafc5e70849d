//! Rows in as little memory as is cheap.
//!
//! Most columns of a Darshan table are counters, small or 0 or missing in thousands of rows on end, and as Arrow each takes 8 bytes a
//! row. Held in the least integers that hold them the rows of `darshan_file` take a quarter.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, NullArray, PrimitiveArray, new_null_array,
};
use arrow::compute::concat;
use arrow::datatypes::{
    DataType, FieldRef, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// The rows of a batch, each column narrowed.
pub(in crate::lake) struct Downcast {
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Downcast {
    /// Narrows the columns of a batch.
    pub(in crate::lake) fn new(batch: &RecordBatch) -> Self {
        Self {
            columns: batch.columns().iter().map(narrow).collect(),
            rows: batch.num_rows(),
        }
    }

    /// How many there are.
    pub(in crate::lake) fn rows(&self) -> usize {
        self.rows
    }

    /// About how many bytes of memory they take.
    pub(in crate::lake) fn bytes(&self) -> usize {
        self.columns.iter().map(self::bytes_of).sum()
    }

    /// A column as it was.
    pub(in crate::lake) fn column(&self, at: usize, data_type: &DataType) -> ArrayRef {
        upcast(&self.columns[at], data_type)
    }
}

/// A column of several batches as one, narrowed; at least one batch.
pub(in crate::lake) fn gathered(
    batches: &[Downcast],
    at: usize,
    field: &FieldRef,
) -> Result<ArrayRef, ArrowError> {
    let columns = || batches.iter().map(|batch| &batch.columns[at]);
    let alike = columns().all(|column| column.data_type() == batches[0].columns[at].data_type());
    if alike {
        let columns: Vec<&dyn Array> = columns().map(AsRef::as_ref).collect();
        return concat(&columns);
    }
    let wide: Vec<ArrayRef> = columns()
        .map(|column| upcast(column, field.data_type()))
        .collect();
    let wide: Vec<&dyn Array> = wide.iter().map(AsRef::as_ref).collect();
    Ok(narrow(&concat(&wide)?))
}

/// A column as it was before it was narrowed to another type.
pub(in crate::lake) fn upcast(column: &ArrayRef, data_type: &DataType) -> ArrayRef {
    match (column.data_type(), data_type) {
        (DataType::Null, _) => new_null_array(data_type, column.len()),
        (DataType::Int8, DataType::Float64) => wider::<Int8Type, Float64Type>(column),
        (DataType::Int8, DataType::Int64) => wider::<Int8Type, Int64Type>(column),
        (DataType::Int16, DataType::Int64) => wider::<Int16Type, Int64Type>(column),
        (DataType::Int32, DataType::Int64) => wider::<Int32Type, Int64Type>(column),
        (DataType::UInt8, DataType::UInt64) => wider::<UInt8Type, UInt64Type>(column),
        (DataType::UInt16, DataType::UInt64) => wider::<UInt16Type, UInt64Type>(column),
        (DataType::UInt32, DataType::UInt64) => wider::<UInt32Type, UInt64Type>(column),
        _ => column.clone(),
    }
}

fn wider<N: ArrowPrimitiveType, W: ArrowPrimitiveType>(column: &ArrayRef) -> ArrayRef
where
    W::Native: From<N::Native>,
{
    Arc::new(column.as_primitive::<N>().unary::<_, W>(W::Native::from))
}

/// The same values in the least type that holds them; of text, lists and times only those that are all NULL.
///
/// What lies where a value is NULL is looked at, too: a look at the values alone takes several times as long, and at worst the type
/// is wider than it need be.
fn narrow(column: &ArrayRef) -> ArrayRef {
    if column.null_count() == column.len() {
        return Arc::new(NullArray::new(column.len()));
    }
    match column.data_type() {
        DataType::Int64 => {
            let values = column.as_primitive::<Int64Type>();
            // A number less than 0 needs the bits that its complement needs.
            let bits = used(values, |v| (v ^ (v >> 63)) as u64);
            match bits {
                0..8 => Arc::new(values.unary::<_, Int8Type>(|v| v as i8)),
                8..16 => Arc::new(values.unary::<_, Int16Type>(|v| v as i16)),
                16..32 => Arc::new(values.unary::<_, Int32Type>(|v| v as i32)),
                _ => column.clone(),
            }
        }
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>();
            match used(values, |v| v) {
                0..=8 => Arc::new(values.unary::<_, UInt8Type>(|v| v as u8)),
                9..=16 => Arc::new(values.unary::<_, UInt16Type>(|v| v as u16)),
                17..=32 => Arc::new(values.unary::<_, UInt32Type>(|v| v as u32)),
                _ => column.clone(),
            }
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            // By their bits: -0.0 is another value.
            match used(values, f64::to_bits) {
                0 => Arc::new(values.unary::<_, Int8Type>(|_| 0)),
                _ => column.clone(),
            }
        }
        _ => column.clone(),
    }
}

/// How many bits the numbers of a column need.
fn used<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, bits: fn(T::Native) -> u64) -> u32 {
    let values = column.values().iter();
    let all = values.fold(0, |all, value| all | bits(*value));
    u64::BITS - all.leading_zeros()
}

/// The same of a column.
pub(in crate::lake) fn bytes_of(column: &ArrayRef) -> usize {
    let values = column.to_data().get_slice_memory_size().unwrap_or(0);
    values + size_of_val(column.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray, UInt64Array};
    use proptest::prelude::*;

    fn back(column: ArrayRef) -> ArrayRef {
        upcast(&narrow(&column), column.data_type())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn integers_come_back_as_they_were(
            values in prop::collection::vec(prop::option::of(any::<i64>()), 0..20),
            bits in 0u32..64,
        ) {
            let signed: Int64Array = values.iter().map(|v| v.map(|v| v >> bits)).collect();
            let unsigned: UInt64Array = values.iter().map(|v| v.map(|v| v as u64 >> bits)).collect();
            for column in [Arc::new(signed) as ArrayRef, Arc::new(unsigned) as ArrayRef] {
                prop_assert_eq!(&back(column.clone()), &column);
                // Also of a part of a longer column.
                let part = column.slice(column.len() / 3, column.len() / 2);
                prop_assert_eq!(&back(part.clone()), &part);
            }
        }
    }

    #[test]
    fn floats_come_back_bit_by_bit() {
        for values in [
            vec![Some(0.0), None, Some(0.0)],
            vec![Some(-0.0), Some(0.0)],
            vec![Some(f64::NAN), None, Some(1e-300)],
            vec![None, None],
        ] {
            let column: Float64Array = values.clone().into_iter().collect();
            let back = back(Arc::new(column));
            let bits = |v: Option<f64>| v.map(f64::to_bits);
            let back = back.as_primitive::<Float64Type>().iter().map(bits);
            assert!(back.eq(values.into_iter().map(bits)));
        }
    }

    #[test]
    fn text_and_lists_come_back_as_they_were() {
        let text: StringArray = [Some("a"), None, Some("")].into_iter().collect();
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
        ]);
        for column in [Arc::new(text) as ArrayRef, Arc::new(lists)] {
            assert_eq!(&back(column.clone()), &column);
            let nothing = new_null_array(column.data_type(), 3);
            assert_eq!(&back(nothing.clone()), &nothing);
        }
    }

    #[test]
    fn counters_take_a_byte_each_and_what_is_missing_none() {
        let counters: Int64Array = (0..1000).map(|v| Some(v % 100)).collect();
        let narrow_counters = narrow(&(Arc::new(counters) as ArrayRef));
        assert_eq!(narrow_counters.data_type(), &DataType::Int8);
        let missing = narrow(&new_null_array(&DataType::Int64, 1000));
        assert_eq!(missing.data_type(), &DataType::Null);
    }
}
