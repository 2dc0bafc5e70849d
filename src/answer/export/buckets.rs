//! Rows of logs in the order of new job ids: rows of a job stay together, so that they are cut into buckets by job id, which lie in
//! a temporary file, and each bucket is sorted in memory. Unlike an external sort this compares no rows of different buckets.

use crate::error::{Error, Result};
use crate::table::Table;
use arrow::array::{AsArray, UInt32Array};
use arrow::compute::{BatchCoalescer, SortOptions, interleave_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// Rows that are written at once.
const BATCH: usize = 8192;

/// Most buckets.
const MOST: usize = 1 << 16;

/// Bytes of the file that are written or read at once.
const BUFFER: usize = 64 << 10;

/// How many buckets rows of a table need, each of about so many bytes in memory.
pub(super) fn buckets(table: &Table, rows: u64, bytes: usize) -> usize {
    let width = table.schema.fields().iter().map(|field| {
        // Of texts, lists and structs, about.
        let fixed = field.data_type().primitive_width();
        fixed.unwrap_or(if field.data_type() == &DataType::Boolean {
            1
        } else {
            32
        }) as u64
    });
    let all = rows.saturating_mul(width.sum::<u64>());
    all.div_ceil(bytes.max(1) as u64).clamp(1, MOST as u64) as usize
}

/// Sorts the rows of a table by its order.
pub(super) struct Sorting<'a> {
    table: &'a Table,
    /// The least job id of each bucket but the first.
    splits: Vec<i64>,
    rows: Buckets,
}

/// Where the rows of the buckets lie.
enum Buckets {
    /// There is one bucket only.
    Memory(Vec<RecordBatch>),
    File(Box<Parts>),
}

/// A file of batches, each with rows of one bucket.
struct Parts {
    file: FileWriter<BufWriter<File>>,
    written: usize,
    /// The batches of each bucket.
    of_bucket: Vec<Vec<u32>>,
}

impl<'a> Sorting<'a> {
    /// With buckets that begin at these job ids, ascending, in a file of this directory.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn new(table: &'a Table, splits: Vec<i64>, directory: &Path) -> Result<Self> {
        let rows = match splits.len() {
            0 => Buckets::Memory(vec![]),
            n => Buckets::File(Box::new(Parts::new(table, n + 1, directory)?)),
        };
        Ok(Self {
            table,
            splits,
            rows,
        })
    }

    /// Takes rows, those of a job one after another.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub(super) fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let parts = match &mut self.rows {
            Buckets::Memory(batches) => {
                batches.push(rows.clone());
                return Ok(());
            }
            Buckets::File(parts) => parts,
        };
        let jobs = rows.column(self.table.index("job_id")?);
        let jobs = jobs.as_primitive::<Int64Type>().values();
        // The runs of rows of one job, by bucket.
        let mut runs = vec![];
        let mut from = 0;
        for run in jobs.chunk_by(|a, b| a == b) {
            let bucket = self.splits.partition_point(|split| *split <= run[0]);
            runs.push((bucket, from, run.len()));
            from += run.len();
        }
        runs.sort_by_key(|(bucket, ..)| *bucket);
        let of_run = |(_, from, n): &(usize, usize, usize)| *from as u32..(from + n) as u32;
        let order: UInt32Array = runs.iter().flat_map(of_run).collect::<Vec<_>>().into();
        let failed = |e| failed_of(self.table, e);
        let together = take_record_batch(rows, &order).map_err(failed)?;
        let mut from = 0;
        for runs in runs.chunk_by(|a, b| a.0 == b.0) {
            let n = runs.iter().map(|(_, _, n)| n).sum();
            let part = together.slice(from, n);
            parts.write(runs[0].0, &part).map_err(failed)?;
            from += n;
        }
        Ok(())
    }

    /// Gives all rows in order, a batch after the other.
    ///
    /// # Errors
    /// Those of the temporary file, and of `write`.
    pub(super) fn finish(self, mut write: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let failed = |e| failed_of(self.table, e);
        let parts = match self.rows {
            Buckets::Memory(batches) => return sort(self.table, &batches, &mut write),
            Buckets::File(parts) => parts,
        };
        let (mut file, of_bucket) = parts.written().map_err(failed)?;
        for numbers in of_bucket {
            let batches = read(&mut file, &numbers).map_err(failed)?;
            sort(self.table, &batches, &mut write)?;
        }
        Ok(())
    }
}

impl Parts {
    /// Of so many buckets, in a file of this directory without a name.
    fn new(table: &Table, buckets: usize, directory: &Path) -> Result<Self> {
        let failed = |e| Error::io(directory, "cannot write a temporary file", e);
        let file = tempfile::tempfile_in(directory).map_err(failed)?;
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::LZ4_FRAME))
            .map_err(|e| Error::columns(&*table.name, e))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        let file = FileWriter::try_new_with_options(file, &table.schema, options);
        Ok(Self {
            file: file.map_err(|e| failed_of(table, e))?,
            written: 0,
            of_bucket: vec![vec![]; buckets],
        })
    }

    fn write(&mut self, bucket: usize, part: &RecordBatch) -> std::result::Result<(), ArrowError> {
        self.file.write(part)?;
        if let Some(numbers) = self.of_bucket.get_mut(bucket) {
            numbers.push(self.written as u32);
        }
        self.written += 1;
        Ok(())
    }

    /// The file, to be read, and the batches of each bucket.
    fn written(mut self) -> std::result::Result<(Reader, Vec<Vec<u32>>), ArrowError> {
        self.file.finish()?;
        let file = self.file.into_inner()?.into_inner();
        let file = file.map_err(std::io::IntoInnerError::into_error)?;
        let file = FileReader::try_new(BufReader::with_capacity(BUFFER, file), None)?;
        Ok((file, self.of_bucket))
    }
}

type Reader = FileReader<BufReader<File>>;

/// The rows of a bucket, in batches of full size: those of the file are small, and each column of a batch takes memory of its own.
fn read(file: &mut Reader, numbers: &[u32]) -> std::result::Result<Vec<RecordBatch>, ArrowError> {
    let mut batches = vec![];
    let mut full = BatchCoalescer::new(file.schema(), BATCH);
    for number in numbers {
        file.set_index(*number as usize)?;
        if let Some(part) = file.next() {
            full.push_batch(part?)?;
            batches.extend(full.next_completed_batch());
        }
    }
    full.finish_buffered_batch()?;
    batches.extend(full.next_completed_batch());
    Ok(batches)
}

/// Gives the rows of some batches in the order of a table.
fn sort(
    table: &Table,
    batches: &[RecordBatch],
    write: &mut impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let failed = |e| failed_of(table, e);
    let converter = converter(table, &table.schema)?;
    let keys = |batch: &RecordBatch| -> Result<Rows> {
        let columns = table
            .order()
            .map(|column| Ok(batch.column(table.index(column)?).clone()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        converter.convert_columns(&columns).map_err(failed)
    };
    let keys = batches.iter().map(keys).collect::<Result<Vec<_>>>()?;
    let rows = batches.iter().enumerate();
    let rows = rows.flat_map(|(batch, rows)| (0..rows.num_rows()).map(move |row| (batch, row)));
    let mut order: Vec<(usize, usize)> = rows.collect();
    // Rows of a log stand in runs, of which this sort makes use.
    order.sort_by(|a, b| keys[a.0].row(a.1).cmp(&keys[b.0].row(b.1)));
    drop(keys);
    let all: Vec<&RecordBatch> = batches.iter().collect();
    for part in order.chunks(BATCH) {
        write(&interleave_record_batch(&all, part).map_err(failed)?)?;
    }
    Ok(())
}

fn converter(table: &Table, schema: &SchemaRef) -> Result<RowConverter> {
    let options = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let field = |column: &String| {
        let kind = schema.field(table.index(column)?).data_type().clone();
        Ok(SortField::new_with_options(kind, options))
    };
    let fields = table.order().map(field).collect::<Result<Vec<_>>>()?;
    RowConverter::new(fields).map_err(|e| failed_of(table, e))
}

fn failed_of(table: &Table, e: ArrowError) -> Error {
    match e {
        ArrowError::IoError(_, e) => Error::io("", "cannot write or read a temporary file", e),
        e => Error::columns(&*table.name, e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use arrow::array::{ArrayRef, Int64Array, UInt64Array, new_null_array};
    use std::sync::Arc;

    /// Rows of `darshan_apxc`: log, job and record; others NULL or of no matter.
    fn rows(table: &Table, keys: &[(i64, i64, u64)]) -> RecordBatch {
        let column = |at: usize| -> ArrayRef {
            match table.columns[at].name.as_str() {
                "log_id" => Arc::new(Int64Array::from_iter_values(keys.iter().map(|key| key.1))),
                "job_id" => Arc::new(Int64Array::from_iter_values(keys.iter().map(|key| key.0))),
                "record_id" => {
                    Arc::new(UInt64Array::from_iter_values(keys.iter().map(|key| key.2)))
                }
                "rank" => Arc::new(Int64Array::from_iter_values(keys.iter().map(|_| -1))),
                _ => new_null_array(table.schema.field(at).data_type(), keys.len()),
            }
        };
        let columns = (0..table.columns.len()).map(column).collect();
        RecordBatch::try_new(table.schema.clone(), columns).unwrap()
    }

    #[test]
    fn rows_come_in_the_order_of_the_table_whatever_the_buckets() {
        let table = table("darshan_apxc").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut keys = vec![];
        for job in 0..40 {
            // As pseudonyms are, in no order.
            let job = (job * 7919) % 1009;
            for log in 0..3 {
                for record in 0..log + 1 {
                    keys.push((job, (log * 31 + job) % 11, (record * 17 + 5) % 13));
                }
            }
        }
        let mut expected: Vec<_> = keys.iter().map(|(j, l, r)| (*j, *l, *r as u64)).collect();
        let given = expected.clone();
        expected.sort_unstable();
        for splits in [vec![], vec![500], vec![100, 200, 201, 900, 5000]] {
            let mut sorting = Sorting::new(table, splits, dir.path()).unwrap();
            for keys in given.chunks(23) {
                sorting.push(&rows(table, keys)).unwrap();
            }
            let mut found = vec![];
            let write = |batch: &RecordBatch| {
                let int = |name: &str| {
                    let column = batch.column(table.index(name).unwrap());
                    column.as_primitive::<Int64Type>().values().to_vec()
                };
                let records = batch.column(table.index("record_id").unwrap());
                let records = records.as_primitive::<arrow::datatypes::UInt64Type>();
                for (row, (job, log)) in int("job_id").into_iter().zip(int("log_id")).enumerate() {
                    found.push((job, log, records.value(row)));
                }
                Ok(())
            };
            sorting.finish(write).unwrap();
            assert_eq!(found, expected);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_table_has_as_many_buckets_as_its_rows_need() {
        let table = table("darshan_apxc").unwrap();
        let ten = buckets(table, 1_000_000, 4 << 20);
        assert!((2..=MOST).contains(&ten), "{ten}");
        assert_eq!(buckets(table, 0, 1 << 20), 1);
        assert_eq!(buckets(table, u64::MAX, 1), MOST);
    }
}
