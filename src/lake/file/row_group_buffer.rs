//! Rows that wait for their row group: the newest in memory, those before them in a temporary file.
//!
//! To begin a row group costs a reader as much as to read thousands of values, for each column anew, so a row group should be large; and an
//! ingest fills one for each table on each thread. What they hold goes through memory a few MiB at a time, so that neither the size of
//! row groups nor that of an ingest has a part in its memory.

use super::downcast::{Downcast, gathered, upcast};
use super::temp::{Piece, Spill};
use crate::error::{Error, Result};
use arrow::array::ArrayRef;
use arrow::buffer::Buffer;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// Bytes that are gathered before the file is written to.
const BUFFER: usize = 1 << 20;

/// The rows of a row group to be.
pub(in crate::lake) struct RowGroupBuffer {
    schema: SchemaRef,
    /// Rows in the file, which come before those in memory.
    aside: Vec<Vec<Column>>,
    held: Vec<Downcast>,
    spill: Arc<Spill>,
    rows: usize,
    bytes: usize,
    memory: usize,
}

/// Where a column of rows in the file lies.
struct Column {
    piece: Arc<Piece>,
    from: u64,
    length: u64,
}

impl RowGroupBuffer {
    /// No rows yet, of this schema; they are put aside into `spill`.
    pub(in crate::lake) fn new(schema: SchemaRef, spill: Arc<Spill>) -> Self {
        Self {
            schema,
            aside: vec![],
            held: vec![],
            spill,
            rows: 0,
            bytes: 0,
            memory: 0,
        }
    }

    /// How many there are.
    pub(in crate::lake) fn rows(&self) -> usize {
        self.rows
    }

    /// About how many bytes they take, in memory and in the file.
    pub(in crate::lake) fn bytes(&self) -> usize {
        self.bytes
    }

    /// About how many bytes of memory they take.
    pub(in crate::lake) fn memory(&self) -> usize {
        self.memory
    }

    /// Appends rows.
    pub(in crate::lake) fn push(&mut self, rows: &RecordBatch) {
        let rows = Downcast::new(rows);
        let bytes = rows.bytes();
        self.rows += rows.rows();
        self.bytes += bytes;
        self.memory += bytes;
        self.held.push(rows);
    }

    /// Puts what is in memory into the file.
    pub(in crate::lake) fn spill_rows(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let (mut columns, mut bytes, mut lengths) = (vec![], Vec::with_capacity(BUFFER), vec![]);
        for (at, field) in self.schema.fields().iter().enumerate() {
            let column = gathered(&self.held, at, field).map_err(no_rows)?;
            let from = bytes.len();
            encode(column, &mut bytes).map_err(no_rows)?;
            lengths.push((from as u64, (bytes.len() - from) as u64));
            if bytes.len() >= BUFFER || at + 1 == self.schema.fields().len() {
                let piece = Arc::new(self.spill.put(&bytes)?);
                columns.extend(lengths.drain(..).map(|(from, length)| Column {
                    piece: piece.clone(),
                    from,
                    length,
                }));
                bytes.clear();
            }
        }
        self.aside.push(columns);
        self.held.clear();
        self.memory = 0;
        Ok(())
    }

    /// A column of them, piece by piece.
    pub(in crate::lake) fn column(&self, at: usize) -> impl Iterator<Item = Result<ArrayRef>> {
        let data_type = self.schema.field(at).data_type();
        let aside = self.aside.iter().map(move |aside| {
            let Column {
                piece,
                from,
                length,
            } = &aside[at];
            let bytes = piece.read(*from, *length)?;
            let column = decode(bytes).map_err(no_rows)?;
            Ok(upcast(&column, data_type))
        });
        let held = self.held.iter();
        aside.chain(held.map(move |rows| Ok(rows.column(at, data_type))))
    }

    /// The longest piece of a column; None if there are no rows.
    pub(in crate::lake) fn sample(&self, at: usize) -> Result<Option<ArrayRef>> {
        let longest = self.held.iter().max_by_key(|rows| rows.rows());
        match longest.filter(|_| self.aside.is_empty()) {
            Some(rows) => {
                let data_type = self.schema.field(at).data_type();
                Ok(Some(rows.column(at, data_type)))
            }
            None => self.column(at).next().transpose(),
        }
    }

    /// Forgets them.
    pub(in crate::lake) fn clear(&mut self) {
        self.aside.clear();
        self.held.clear();
        (self.rows, self.bytes, self.memory) = (0, 0, 0);
    }
}

fn encode(column: ArrayRef, to: &mut Vec<u8>) -> std::result::Result<(), ArrowError> {
    let field = Field::new("", column.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut stream = StreamWriter::try_new(to, &schema)?;
    stream.write(&RecordBatch::try_new(schema, vec![column])?)?;
    stream.finish()
}

fn decode(bytes: Vec<u8>) -> std::result::Result<ArrayRef, ArrowError> {
    // The column lies in these bytes and is not copied out of them.
    let mut stream = StreamDecoder::new();
    let rows = stream.decode(&mut Buffer::from(bytes))?;
    rows.map(|rows| rows.column(0).clone())
        .ok_or_else(|| ArrowError::IpcError("it lacks rows".into()))
}

fn no_rows(e: ArrowError) -> Error {
    Error::columns("rows that wait for their row group", e)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray};
    use arrow::compute::concat;
    use arrow::datatypes::{DataType, Int64Type};
    use proptest::prelude::*;

    fn rows(from: i64, n: i64, wide: i64) -> RecordBatch {
        let rows = from..from + n;
        let ints: Int64Array = rows
            .clone()
            .map(|v| (v % 3 > 0).then_some(v * wide))
            .collect();
        let floats: Float64Array = rows
            .clone()
            .map(|v| Some((v * (wide - 1)) as f64))
            .collect();
        let text: StringArray = rows.clone().map(|v| Some(format!("/file/{v}"))).collect();
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(
            rows.map(|v| (v % 4 > 0).then(|| (0..v % 4).map(Some))),
        );
        let missing = arrow::array::new_null_array(&DataType::UInt64, n as usize);
        RecordBatch::try_from_iter_with_nullable([
            ("ints", Arc::new(ints) as ArrayRef, true),
            ("floats", Arc::new(floats), true),
            ("text", Arc::new(text), true),
            ("lists", Arc::new(lists), true),
            ("missing", missing, true),
        ])
        .unwrap()
    }

    fn whole(waiting: &RowGroupBuffer, at: usize) -> ArrayRef {
        let pieces: Vec<ArrayRef> = waiting.column(at).map(Result::unwrap).collect();
        let pieces: Vec<_> = pieces.iter().map(AsRef::as_ref).collect();
        concat(&pieces).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]

        /// Batches of other lengths, with values of other sizes, some of them slices, put aside now and then; and once more after.
        #[test]
        fn rows_come_back_in_order_wherever_they_waited(
            batches in prop::collection::vec((1i64..40, prop::sample::select(vec![1i64, 100, 1 << 20, 1 << 40]), any::<bool>()), 1..8)
        ) {
            let mut waiting = RowGroupBuffer::new(rows(0, 1, 1).schema(), Spill::new(&std::env::temp_dir()));
            for _ in 0..2 {
                let (mut all, mut from) = (vec![], 0);
                for (n, wide, aside) in &batches {
                    let batch = rows(from, n + 2, *wide).slice(1, *n as usize);
                    from += n;
                    waiting.push(&batch);
                    all.push(batch);
                    if *aside {
                        waiting.spill_rows().unwrap();
                        prop_assert_eq!(waiting.memory(), 0);
                    }
                }
                prop_assert_eq!(waiting.rows() as i64, from);
                prop_assert!(waiting.bytes() >= waiting.memory());
                for at in 0..5 {
                    let columns: Vec<_> = all.iter().map(|batch| batch.column(at).as_ref()).collect();
                    prop_assert_eq!(&whole(&waiting, at), &concat(&columns).unwrap());
                    prop_assert!(!waiting.sample(at).unwrap().unwrap().is_empty());
                }
                waiting.clear();
                prop_assert_eq!((waiting.rows(), waiting.bytes(), waiting.memory()), (0, 0, 0));
                prop_assert!(waiting.sample(0).unwrap().is_none());
            }
        }
    }
}
