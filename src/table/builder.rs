//! Rows of one table on their way to a [`RecordBatch`], column by column.
//!
//! Readers fill whole columns at once from a log's records ([`Numbers::extend`]), log after log into the same builder,
//! so that a small log costs no allocation of its own.

use super::Table;
use crate::error::{Error, Result};
use arrow::array::{
    ArrayBuilder, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, BooleanBuilder, ListArray,
    MapArray, NullBufferBuilder, PrimitiveArray, StringBuilder, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use std::sync::Arc;

/// Bytes of a column's memory that are kept for the next batch, at most.
const MOST_KEPT: usize = 64 << 10;

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
    /// Lists, such as OST indexes, or the components of a layout; and maps, which are lists of keys and values.
    List(Lists),
}

/// Numbers of one column, with which of them are NULL.
pub struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
    /// The values of the batch before: their memory is taken back when nobody holds that batch any more.
    before: Option<Buffer>,
    /// As many as the batch before had: this one will have about as many.
    expected: usize,
}

/// Lists of one column: the items of all of them one after another, and where each list ends.
pub struct Lists {
    /// Starts with 0.
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
    /// One column, or one for each field of a struct.
    items: Vec<Column>,
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
    /// The column as lists.
    list: List(Lists);
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
            DataType::List(item) | DataType::Map(item, _) => {
                Self::List(Lists::new(item.data_type()))
            }
            other => panic!("no builder makes a column of {other}"),
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
            Self::List(c) => c.len(),
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
            Self::List(c) => 4 * c.len() + c.items.iter().map(Column::bytes).sum::<usize>(),
        }
    }

    fn finish(&mut self, data_type: &DataType) -> ArrayRef {
        match self {
            Self::Int32(c) => c.finish(data_type),
            Self::Int64(c) => c.finish(data_type),
            Self::UInt64(c) => c.finish(data_type),
            Self::Float64(c) => {
                c.make_canonical();
                c.finish(data_type)
            }
            Self::Timestamp(c) => c.finish(data_type),
            Self::Boolean(c) => Arc::new(c.finish()),
            Self::Utf8(c) => Arc::new(c.finish()),
            Self::Binary(c) => Arc::new(c.finish()),
            Self::List(c) => c.finish(data_type),
        }
    }
}

impl Lists {
    fn new(item: &DataType) -> Self {
        let items = match item {
            DataType::Struct(fields) => fields.iter().map(|f| Column::new(f.data_type())).collect(),
            item => vec![Column::new(item)],
        };
        Self {
            ends: vec![0],
            nulls: NullBufferBuilder::new(0),
            items,
        }
    }

    /// Lists so far.
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of all lists; of a list of structs, their field at this place.
    pub fn items(&mut self, field: usize) -> &mut Column {
        &mut self.items[field]
    }

    /// Ends a list `length` items after the one before. Its items may come before or after this.
    pub fn push(&mut self, length: usize) {
        self.extend(std::iter::once(length));
    }

    /// Ends lists of these lengths, one after another.
    pub fn extend(&mut self, lengths: impl ExactSizeIterator<Item = usize>) {
        self.nulls.append_n_non_nulls(lengths.len());
        let mut end = self.end();
        self.ends.extend(lengths.map(|length| {
            end += length;
            i32::try_from(end).expect("a batch is cut long before it has so many items")
        }));
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        self.nulls.append_null();
        self.ends.push(self.end() as i32);
    }

    fn end(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    fn finish(&mut self, data_type: &DataType) -> ArrayRef {
        let (DataType::List(item) | DataType::Map(item, _)) = data_type else {
            panic!("{data_type} is no list");
        };
        let items: ArrayRef = match item.data_type() {
            DataType::Struct(fields) => {
                let columns = self.items.iter_mut().zip(fields);
                let columns = columns.map(|(c, f)| c.finish(f.data_type())).collect();
                Arc::new(StructArray::new(fields.clone(), columns, None))
            }
            item => self.items[0].finish(item),
        };
        let ends = OffsetBuffer::new(std::mem::replace(&mut self.ends, vec![0]).into());
        if let DataType::Map(entries, sorted) = data_type {
            let (nulls, pairs) = (self.nulls.finish(), items.as_struct().clone());
            return Arc::new(MapArray::new(entries.clone(), ends, pairs, nulls, *sorted));
        }
        Arc::new(ListArray::new(
            item.clone(),
            ends,
            items,
            self.nulls.finish(),
        ))
    }
}

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            values: vec![],
            nulls: NullBufferBuilder::new(0),
            before: None,
            expected: 0,
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
        self.take_back();
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
        self.take_back();
        self.values
            .resize(self.values.len() + n, value.unwrap_or_default());
    }

    /// Appends values, of which those for which `valid` is false become NULL.
    pub fn extend(
        &mut self,
        values: impl ExactSizeIterator<Item = T::Native>,
        valid: impl Fn(T::Native) -> bool,
    ) {
        self.take_back();
        let from = self.values.len();
        self.values.extend(values);
        append_validity(&mut self.nulls, &self.values[from..], valid);
    }

    /// The same for values that lie side by side already.
    pub fn extend_from_slice(&mut self, values: &[T::Native], valid: impl Fn(T::Native) -> bool) {
        self.take_back();
        self.values.extend_from_slice(values);
        append_validity(&mut self.nulls, values, valid);
    }

    /// Gets memory for a batch, if there is none yet: that of the batch before if nobody holds it any more.
    #[inline]
    fn take_back(&mut self) {
        if self.values.capacity() == 0 && self.expected > 0 {
            let before = self.before.take().and_then(|before| before.into_vec().ok());
            self.values = before.unwrap_or_default();
            self.values.clear();
            self.values
                .reserve_exact(std::mem::take(&mut self.expected));
        }
    }

    fn finish(&mut self, data_type: &DataType) -> ArrayRef {
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        // One huge log must not hold its memory for the rest of the run.
        self.before = Some(values.inner().clone()).filter(|before| before.capacity() <= MOST_KEPT);
        self.expected = match self.before {
            Some(_) => values.len() + values.len() / 16,
            None => 0,
        };
        let nulls: Option<NullBuffer> = self.nulls.finish();
        Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type.clone()))
    }
}

impl Numbers<Float64Type> {
    /// Makes NULL of NaN, which is no value that was measured, and 0.0 of -0.0. So neither SQL nor the statistics of a file meet
    /// numbers that are equal or greater in one place and not in another.
    fn make_canonical(&mut self) {
        let mut is_nan = false;
        for value in &mut self.values {
            *value += 0.0;
            is_nan |= value.is_nan();
        }
        if !is_nan {
            return;
        }
        let nulls = self.nulls.finish();
        for (at, value) in self.values.iter_mut().enumerate() {
            let known = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)) && !value.is_nan();
            self.nulls.append(known);
            *value = if known { *value } else { 0.0 };
        }
    }
}

#[inline]
fn append_validity<T: Copy>(nulls: &mut NullBufferBuilder, new: &[T], valid: impl Fn(T) -> bool) {
    // Without a branch the loops are vectorised; nearly always all values are valid, or none.
    if new.iter().fold(true, |all, value| all & valid(*value)) {
        nulls.append_n_non_nulls(new.len());
    } else if new.iter().fold(true, |none, value| none & !valid(*value)) {
        nulls.append_n_nulls(new.len());
    } else {
        new.iter().for_each(|value| nulls.append(valid(*value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Array;
    use arrow::datatypes::Field;

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

    #[test]
    fn memory_of_a_batch_that_is_gone_is_taken_back_and_of_one_that_is_held_is_not() {
        let mut numbers = Numbers::<Int64Type>::default();
        numbers.extend_constant(1, 100);
        let first = numbers.finish(&DataType::Int64);
        numbers.extend_constant(2, 100);
        let held: Vec<i64> = first.as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(held, [1; 100]);
        let second = numbers.finish(&DataType::Int64);
        let place = second.as_primitive::<Int64Type>().values().as_ptr();
        drop(second);
        numbers.push(1);
        let third = numbers.finish(&DataType::Int64);
        assert_eq!(third.len(), 1);
        assert_eq!(third.as_primitive::<Int64Type>().values().as_ptr(), place);
    }

    #[test]
    fn nan_of_either_sign_is_null_and_zero_has_one_sign() {
        let data_type = DataType::Float64;
        let mut column = Column::new(&data_type);
        let floats = [1.5, -0.0, f64::NAN, -f64::NAN, f64::NEG_INFINITY, 0.0];
        column.float64().extend(floats.into_iter(), |v| v != 1.5);
        let array = column.finish(&data_type);
        let found: Vec<Option<u64>> = array
            .as_primitive::<Float64Type>()
            .iter()
            .map(|v| v.map(f64::to_bits))
            .collect();
        let bits = |v: f64| Some(v.to_bits());
        let expected = [
            None,
            bits(0.0),
            None,
            None,
            bits(f64::NEG_INFINITY),
            bits(0.0),
        ];
        assert_eq!(found, expected);
        column.float64().push(-0.0);
        let array = column.finish(&data_type);
        assert_eq!(array.null_count(), 0);
        assert!(
            array
                .as_primitive::<Float64Type>()
                .value(0)
                .is_sign_positive()
        );
    }

    #[test]
    fn lists_end_where_they_are_told_and_can_be_null() {
        let item = Field::new_list_field(DataType::Int32, true);
        let data_type = DataType::List(Arc::new(item));
        let mut column = Column::new(&data_type);
        let lists = column.list();
        lists
            .items(0)
            .int32()
            .extend([1, -1, 3].into_iter(), |v| v >= 0);
        lists.push(2);
        lists.push_null();
        lists.extend([0, 1].into_iter());
        let array = column.finish(&data_type);
        let found: Vec<Option<Vec<Option<i32>>>> = array
            .as_list::<i32>()
            .iter()
            .map(|list| Some(list?.as_primitive::<Int32Type>().iter().collect()))
            .collect();
        let expected = [
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(3)]),
        ];
        assert_eq!(found, expected);
        assert_eq!(column.len(), 0);
    }
}
