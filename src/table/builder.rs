//! Rows of one table on their way to a [`RecordBatch`], column by column.
//!
//! Readers fill whole columns at once from a log's records ([`Numbers::extend`]), log after log into the same builder,
//! so that a small log costs no allocation of its own.

use super::Table;
use crate::error::{Error, Result};
use arrow::array::NullBufferBuilder;
use arrow::array::{
    ArrayBuilder, ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanBuilder, Int32Builder,
    Int64Builder, ListBuilder, PrimitiveArray, StringBuilder, make_builder,
};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use std::sync::Arc;

/// Builds rows of one table.
///
/// Every column must get the same number of values before [`TableBuilder::finish`]. Asking for a column by another type
/// than its schema's panics: that is a mistake in the program, not in the data.
pub struct TableBuilder {
    table: Arc<Table>,
    columns: Vec<Column>,
}

/// The values of one column so far.
pub enum Column {
    /// Int32.
    Int32(Numbers<Int32Type>),
    /// Int64.
    Int64(Numbers<Int64Type>),
    /// UInt64.
    UInt64(Numbers<UInt64Type>),
    /// Float64.
    Float64(Numbers<Float64Type>),
    /// Microseconds since 1970, UTC.
    Timestamp(Numbers<TimestampMicrosecondType>),
    /// True or false.
    Boolean(BooleanBuilder),
    /// Text.
    Utf8(StringBuilder),
    /// Bytes.
    Binary(BinaryBuilder),
    /// A list of Int32, such as OST indexes.
    Int32List(ListBuilder<Int32Builder>),
    /// A list of Int64, such as bytes for each OST.
    Int64List(ListBuilder<Int64Builder>),
    /// A list of texts, such as module names.
    Utf8List(ListBuilder<StringBuilder>),
    /// Any other nested type.
    Nested(Box<dyn ArrayBuilder>),
}

/// Numbers of one column, with which of them are NULL.
pub struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl TableBuilder {
    /// An empty builder for `table`.
    pub fn new(table: &Arc<Table>) -> Self {
        let columns = table
            .schema
            .fields()
            .iter()
            .map(|field| Column::new(field.data_type()))
            .collect();
        Self {
            table: table.clone(),
            columns,
        }
    }

    /// The table whose rows these are.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// About how many bytes the values so far take in memory.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// The column at a position of the schema.
    pub fn column(&mut self, at: usize) -> &mut Column {
        &mut self.columns[at]
    }

    /// Takes the rows out, leaving the builder empty and ready for more.
    ///
    /// # Errors
    /// [`Error::Columns`] if columns differ in length or a column that may not be NULL holds one.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let rows = self.rows();
        let schema = self.table.schema.clone();
        let columns: Vec<ArrayRef> = self
            .columns
            .iter_mut()
            .zip(schema.fields())
            .map(|(c, f)| c.finish(f.data_type()))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|e| Error::columns(self.table.name.clone(), e))
    }
}

macro_rules! typed {
    ($($(#[$doc:meta])* $method:ident: $variant:ident($type:ty);)*) => {
        impl Column {
            $($(#[$doc])* pub fn $method(&mut self) -> &mut $type {
                match self {
                    Column::$variant(column) => column,
                    _ => panic!(concat!("this column is no ", stringify!($variant))),
                }
            })*
        }
    };
}

typed! {
    /// The column as Int32.
    int32: Int32(Numbers<Int32Type>);
    /// The column as Int64.
    int64: Int64(Numbers<Int64Type>);
    /// The column as UInt64.
    uint64: UInt64(Numbers<UInt64Type>);
    /// The column as Float64.
    float64: Float64(Numbers<Float64Type>);
    /// The column as microseconds since 1970, UTC.
    timestamp: Timestamp(Numbers<TimestampMicrosecondType>);
    /// The column as Boolean.
    boolean: Boolean(BooleanBuilder);
    /// The column as text.
    utf8: Utf8(StringBuilder);
    /// The column as bytes.
    binary: Binary(BinaryBuilder);
    /// The column as lists of Int32.
    int32_list: Int32List(ListBuilder<Int32Builder>);
    /// The column as lists of Int64.
    int64_list: Int64List(ListBuilder<Int64Builder>);
    /// The column as lists of text.
    utf8_list: Utf8List(ListBuilder<StringBuilder>);
    /// The column as Arrow's own builder for its nested type.
    nested: Nested(Box<dyn ArrayBuilder>);
}

impl Column {
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int32 => Self::Int32(Numbers::default()),
            DataType::Int64 => Self::Int64(Numbers::default()),
            DataType::UInt64 => Self::UInt64(Numbers::default()),
            DataType::Float64 => Self::Float64(Numbers::default()),
            DataType::Timestamp(..) => Self::Timestamp(Numbers::default()),
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::Utf8 => Self::Utf8(StringBuilder::new()),
            DataType::Binary => Self::Binary(BinaryBuilder::new()),
            DataType::List(item) if *item.data_type() == DataType::Int32 => {
                Self::Int32List(ListBuilder::new(Int32Builder::new()))
            }
            DataType::List(item) if *item.data_type() == DataType::Int64 => {
                Self::Int64List(ListBuilder::new(Int64Builder::new()))
            }
            DataType::List(item) if *item.data_type() == DataType::Utf8 => {
                Self::Utf8List(ListBuilder::new(StringBuilder::new()))
            }
            nested => Self::Nested(make_builder(nested, 0)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Int32(c) => c.len(),
            Self::Int64(c) => c.len(),
            Self::UInt64(c) => c.len(),
            Self::Float64(c) => c.len(),
            Self::Timestamp(c) => c.len(),
            Self::Boolean(c) => c.len(),
            Self::Utf8(c) => c.len(),
            Self::Binary(c) => c.len(),
            Self::Int32List(c) => c.len(),
            Self::Int64List(c) => c.len(),
            Self::Utf8List(c) => c.len(),
            Self::Nested(c) => c.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Int32(c) => 4 * c.len(),
            Self::Int64(c) => 8 * c.len(),
            Self::UInt64(c) => 8 * c.len(),
            Self::Float64(c) => 8 * c.len(),
            Self::Timestamp(c) => 8 * c.len(),
            Self::Boolean(c) => c.len() / 4,
            Self::Utf8(c) => c.values_slice().len() + 4 * c.len(),
            Self::Binary(c) => c.values_slice().len() + 4 * c.len(),
            Self::Int32List(c) => 4 * c.len() + 4 * c.values_ref().len(),
            Self::Int64List(c) => 4 * c.len() + 8 * c.values_ref().len(),
            Self::Utf8List(c) => 4 * c.len() + 16 * c.values_ref().len(),
            Self::Nested(c) => 128 * c.len(),
        }
    }

    fn finish(&mut self, data_type: &DataType) -> ArrayRef {
        match self {
            Self::Int32(c) => c.finish(data_type),
            Self::Int64(c) => c.finish(data_type),
            Self::UInt64(c) => c.finish(data_type),
            Self::Float64(c) => c.finish(data_type),
            Self::Timestamp(c) => c.finish(data_type),
            Self::Boolean(c) => Arc::new(c.finish()),
            Self::Utf8(c) => Arc::new(c.finish()),
            Self::Binary(c) => Arc::new(c.finish()),
            Self::Int32List(c) => Arc::new(c.finish()),
            Self::Int64List(c) => Arc::new(c.finish()),
            Self::Utf8List(c) => Arc::new(c.finish()),
            Self::Nested(c) => c.finish(),
        }
    }
}

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            values: vec![],
            nulls: NullBufferBuilder::new(0),
        }
    }
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    /// Values so far.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends one value, or NULL.
    pub fn push(&mut self, value: impl Into<Option<T::Native>>) {
        match value.into() {
            Some(value) => {
                self.nulls.append_non_null();
                self.values.push(value);
            }
            None => {
                self.nulls.append_null();
                self.values.push(T::Native::default());
            }
        }
    }

    /// Appends the same value `n` times.
    pub fn extend_constant(&mut self, value: impl Into<Option<T::Native>>, n: usize) {
        let value = value.into();
        match value {
            Some(_) => self.nulls.append_n_non_nulls(n),
            None => self.nulls.append_n_nulls(n),
        }
        self.values
            .resize(self.values.len() + n, value.unwrap_or_default());
    }

    /// Appends values, of which those for which `valid` is false become NULL.
    pub fn extend(
        &mut self,
        values: impl ExactSizeIterator<Item = T::Native>,
        valid: impl Fn(T::Native) -> bool,
    ) {
        let from = self.values.len();
        self.values.extend(values);
        let new = &self.values[from..];
        // Without a branch the loop is vectorised; nearly always all values are valid.
        let all = new.iter().fold(true, |all, value| all & valid(*value));
        if all {
            self.nulls.append_n_non_nulls(new.len());
        } else {
            new.iter()
                .for_each(|value| self.nulls.append(valid(*value)));
        }
    }

    fn finish(&mut self, data_type: &DataType) -> ArrayRef {
        // The next batch is about as long.
        let next = Vec::with_capacity(self.values.len());
        let values = ScalarBuffer::from(std::mem::replace(&mut self.values, next));
        let nulls: Option<NullBuffer> = self.nulls.finish();
        Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};

    #[test]
    fn values_rejected_by_valid_become_null_and_batches_follow_each_other() {
        let mut numbers = Numbers::<Int64Type>::default();
        numbers.extend([3, -1, 5].into_iter(), |v| v >= 0);
        numbers.push(None);
        numbers.extend_constant(7, 2);
        let array = numbers.finish(&DataType::Int64);
        let values: Vec<_> = array.as_primitive::<Int64Type>().iter().collect();
        assert_eq!(values, [Some(3), None, Some(5), None, Some(7), Some(7)]);
        numbers.extend([1].into_iter(), |_| true);
        assert_eq!(numbers.finish(&DataType::Int64).null_count(), 0);
    }
}
