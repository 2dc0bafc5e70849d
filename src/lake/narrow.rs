//! Rows in as little memory as is cheap.
//!
//! Most columns of a Darshan table are counters, small or 0 or missing in thousands of rows on end, and as Arrow each takes 8 bytes a
//! row. Held in the least integers that hold them the rows of `darshan_file` take a quarter.

use arrow::array::{Array, ArrayRef, AsArray, Int8Array, NullArray, new_null_array};
use arrow::compute::{cast, concat, max, min};
use arrow::datatypes::{DataType, FieldRef, Float64Type, Int64Type, UInt64Type};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// The rows of a batch, each column narrowed.
pub(super) struct Narrow {
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Narrow {
    /// Narrows the columns of a batch.
    pub(super) fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let columns = batch.columns().iter().map(narrow);
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            rows: batch.num_rows(),
        })
    }

    /// How many there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// About how many bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(super::writer::bytes_of).sum()
    }

    /// A column as it was.
    pub(super) fn column(&self, at: usize, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        widen(&self.columns[at], data_type)
    }
}

/// A column of several batches as one, narrowed; at least one batch.
pub(super) fn gathered(
    batches: &[Narrow],
    at: usize,
    field: &FieldRef,
) -> Result<ArrayRef, ArrowError> {
    let columns = || batches.iter().map(|batch| &batch.columns[at]);
    let alike = columns().all(|column| column.data_type() == batches[0].columns[at].data_type());
    if alike {
        let columns: Vec<&dyn Array> = columns().map(AsRef::as_ref).collect();
        return concat(&columns);
    }
    let wide = columns().map(|column| widen(column, field.data_type()));
    let wide: Vec<ArrayRef> = wide.collect::<Result<_, _>>()?;
    let wide: Vec<&dyn Array> = wide.iter().map(AsRef::as_ref).collect();
    narrow(&concat(&wide)?)
}

/// A column as it was before it was narrowed.
pub(super) fn widen(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        narrow if narrow == data_type => Ok(column.clone()),
        DataType::Null => Ok(new_null_array(data_type, column.len())),
        _ => cast(column, data_type),
    }
}

/// The same values in the least type that holds them; of text, lists and times only those that are all NULL.
fn narrow(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if column.null_count() == column.len() {
        return Ok(Arc::new(NullArray::new(column.len())));
    }
    match column.data_type() {
        DataType::Int64 => {
            let values = column.as_primitive::<Int64Type>();
            let fits = |least: i64, most: i64| {
                min(values).is_some_and(|v| v >= least) && max(values).is_some_and(|v| v <= most)
            };
            match () {
                () if fits(i8::MIN.into(), i8::MAX.into()) => cast(column, &DataType::Int8),
                () if fits(i16::MIN.into(), i16::MAX.into()) => cast(column, &DataType::Int16),
                () if fits(i32::MIN.into(), i32::MAX.into()) => cast(column, &DataType::Int32),
                () => Ok(column.clone()),
            }
        }
        DataType::UInt64 => match max(column.as_primitive::<UInt64Type>()) {
            Some(most) if most <= u8::MAX.into() => cast(column, &DataType::UInt8),
            Some(most) if most <= u16::MAX.into() => cast(column, &DataType::UInt16),
            Some(most) if most <= u32::MAX.into() => cast(column, &DataType::UInt32),
            _ => Ok(column.clone()),
        },
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            // By their bits: -0.0 is another value.
            let zero = values.iter().flatten().all(|v| v.to_bits() == 0);
            Ok(match zero {
                true => {
                    let zeros = vec![0; column.len()].into();
                    Arc::new(Int8Array::new(zeros, column.nulls().cloned()))
                }
                false => column.clone(),
            })
        }
        _ => Ok(column.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray, UInt64Array};
    use proptest::prelude::*;

    fn back(column: ArrayRef) -> ArrayRef {
        widen(&narrow(&column).unwrap(), column.data_type()).unwrap()
    }

    proptest! {
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
        let narrow_counters = narrow(&(Arc::new(counters) as ArrayRef)).unwrap();
        assert_eq!(narrow_counters.data_type(), &DataType::Int8);
        let missing = narrow(&new_null_array(&DataType::Int64, 1000)).unwrap();
        assert_eq!(missing.data_type(), &DataType::Null);
    }
}
