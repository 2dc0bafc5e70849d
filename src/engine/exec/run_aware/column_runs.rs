//! A column of a row group, as the runs of values that its pages hold.

use super::rle_bitpacked::{Run, hybrid, packed, push, split};
use bytes::{Buf, Bytes};
use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, StringViewBuilder,
};
use datafusion::arrow::buffer::{Buffer, ScalarBuffer};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::column::page::{Page, PageReader};
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::ColumnChunkMetaData;
use datafusion::parquet::file::reader::{ChunkReader, Length};
use datafusion::parquet::file::serialized_reader::SerializedPageReader;
use std::ops::Range;
use std::sync::Arc;

/// In the place of a value, that there is none.
pub(super) const NULL: u32 = u32::MAX;

/// The pages of a column that is no list, one after another. The values of a run are places in an array.
pub(super) struct Chunk {
    pages: SerializedPageReader<Part>,
    data_type: DataType,
    optional: bool,
    dictionary: Option<ArrayRef>,
    /// Of the page at hand, and the next of them.
    runs: Vec<Run>,
    next: usize,
    valid: Vec<Run>,
    stored: Vec<Run>,
}

/// Whether columns of a type are read here.
pub(super) fn is_known(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(unit, _) => *unit == TimeUnit::Microsecond,
        DataType::Int32 | DataType::Int64 | DataType::UInt64 | DataType::Float64 => true,
        DataType::Boolean | DataType::Utf8View => true,
        _ => false,
    }
}

/// Where the bytes of a chunk lie in its file.
///
/// # Errors
/// If the footer gives it no place.
pub(super) fn place(of: &ColumnChunkMetaData) -> Result<Range<u64>> {
    let start = of.dictionary_page_offset().unwrap_or(of.data_page_offset());
    let place = u64::try_from(start)
        .ok()
        .zip(of.compressed_size().try_into().ok());
    let place = place.and_then(|(start, length)| Some(start..start.checked_add(length)?));
    place.ok_or_else(|| ParquetError::General("a column without a place in its file".into()))
}

impl Chunk {
    /// The column of these bytes, which come from the place of the chunk.
    pub(super) fn new(
        of: &ColumnChunkMetaData,
        bytes: Bytes,
        rows: usize,
        data_type: &DataType,
    ) -> Result<Self> {
        let start = place(of)?.start;
        Ok(Self {
            pages: SerializedPageReader::new(Arc::new(Part { start, bytes }), of, rows, None)?,
            data_type: data_type.clone(),
            optional: of.column_descr().max_def_level() > 0,
            dictionary: None,
            runs: vec![],
            next: 0,
            valid: vec![],
            stored: vec![],
        })
    }

    /// The next run; None where the page at hand has no more.
    pub(super) fn run(&mut self) -> Option<Run> {
        let run = self.runs.get(self.next).copied();
        self.next += 1;
        run
    }

    /// Goes to the next page with rows. What it gives are the values that its runs mean; None if there is no such page.
    ///
    /// # Errors
    /// If a page is not what Parquet's format says.
    pub(super) fn turn(&mut self) -> Result<Option<ArrayRef>> {
        while let Some(page) = self.pages.get_next_page()? {
            let (buf, count, encoding, levels) = match page {
                Page::DictionaryPage {
                    buf, num_values, ..
                } => {
                    let values = plain(&self.data_type, buf, num_values as usize)?;
                    self.dictionary = Some(values);
                    continue;
                }
                Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding: Encoding::RLE,
                    ..
                } => (buf, num_values, encoding, None),
                Page::DataPage { .. } => return Err(unknown("levels of another kind")),
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    def_levels_byte_len,
                    rep_levels_byte_len: 0,
                    ..
                } => (buf, num_values, encoding, Some(def_levels_byte_len)),
                Page::DataPageV2 { .. } => return Err(unknown("lists")),
            };
            if count > 0 {
                return self.data(&buf, count, encoding, levels).map(Some);
            }
        }
        Ok(None)
    }

    /// The runs of a page: which rows have values, if not all do, and the values. `levels` is the length of the former where the page's
    /// header has it.
    fn data(
        &mut self,
        page: &Bytes,
        count: u32,
        encoding: Encoding,
        levels: Option<u32>,
    ) -> Result<ArrayRef> {
        self.valid.clear();
        let mut rest = &page[..];
        if self.optional {
            let length = match levels {
                Some(length) => length,
                None => split(&mut rest, 4)?.get_u32_le(),
            };
            hybrid(
                split(&mut rest, length as usize)?,
                1,
                count,
                &mut self.valid,
            )?;
        }
        let valid = match self.optional {
            true => self.valid.iter().map(|run| run.value * run.rows).sum(),
            false => count,
        };
        let at = page.len() - rest.len();
        self.stored.clear();
        let values = self.values(page.slice(at..), valid, encoding)?;
        self.next = 0;
        match valid < count {
            true => self.spread(),
            false => std::mem::swap(&mut self.runs, &mut self.stored),
        }
        Ok(values)
    }

    /// The values of a page, and the runs of them that are stored.
    fn values(&mut self, bytes: Bytes, count: u32, encoding: Encoding) -> Result<ArrayRef> {
        match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                let Some(values) = &self.dictionary else {
                    return Err(ParquetError::General("a dictionary is missing".into()));
                };
                if count > 0 {
                    let mut rest = &bytes[..];
                    let width = u32::from(split(&mut rest, 1)?[0]);
                    hybrid(rest, width, count, &mut self.stored)?;
                }
                let known = |run: &Run| (run.value as usize) < values.len();
                match self.stored.iter().all(known) {
                    true => Ok(values.clone()),
                    false => Err(ParquetError::General(
                        "a value that its dictionary lacks".into(),
                    )),
                }
            }
            Encoding::PLAIN if self.data_type == DataType::Boolean => {
                let own = split(&mut &bytes[..], count.div_ceil(8) as usize)?;
                packed(own, 1, count, &mut self.stored);
                Ok(false_and_true())
            }
            Encoding::RLE if self.data_type == DataType::Boolean => {
                let mut rest = &bytes[..];
                split(&mut rest, 4)?;
                hybrid(rest, 1, count, &mut self.stored)?;
                Ok(false_and_true())
            }
            Encoding::PLAIN => {
                let values = plain(&self.data_type, bytes, count as usize)?;
                (0..count).for_each(|row| push(&mut self.stored, row, 1));
                Ok(values)
            }
            other => Err(unknown(&other.to_string())),
        }
    }

    /// The runs of rows, of which those with values have the stored ones.
    fn spread(&mut self) {
        self.runs.clear();
        let mut stored = self.stored.iter().copied();
        let mut own = Run { value: 0, rows: 0 };
        for valid in &self.valid {
            if valid.value == 0 {
                self.runs.push(Run {
                    value: NULL,
                    rows: valid.rows,
                });
                continue;
            }
            let mut left = valid.rows;
            while left > 0 {
                if own.rows == 0 {
                    // There are as many as there are valid rows.
                    let Some(next) = stored.next() else { break };
                    own = next;
                }
                let rows = own.rows.min(left);
                self.runs.push(Run {
                    value: own.value,
                    rows,
                });
                (own.rows, left) = (own.rows - rows, left - rows);
            }
        }
    }
}

fn false_and_true() -> ArrayRef {
    Arc::new(BooleanArray::from(vec![false, true]))
}

fn unknown(what: &str) -> ParquetError {
    ParquetError::NYI(format!("a page of {what}"))
}

/// Values one after another, each as it is.
fn plain(data_type: &DataType, bytes: Bytes, count: usize) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int32 => numbers::<Int32Type>(bytes, count)?,
        DataType::Int64 => numbers::<Int64Type>(bytes, count)?,
        DataType::UInt64 => numbers::<UInt64Type>(bytes, count)?,
        DataType::Float64 => numbers::<Float64Type>(bytes, count)?,
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let times = numbers::<TimestampMicrosecondType>(bytes, count)?;
            let times = times.as_primitive::<TimestampMicrosecondType>().clone();
            Arc::new(times.with_timezone_opt(zone.clone()))
        }
        DataType::Utf8View => texts(bytes, count)?,
        other => return Err(unknown(&other.to_string())),
    })
}

fn numbers<T: ArrowPrimitiveType>(bytes: Bytes, count: usize) -> Result<ArrayRef> {
    let length = count.saturating_mul(size_of::<T::Native>());
    let own = split(&mut &bytes[..], length)?;
    // Copied to where such numbers may lie.
    let numbers = ScalarBuffer::new(Buffer::from(own), 0, count);
    Ok(Arc::new(PrimitiveArray::<T>::new(numbers, None)))
}

/// Texts, each behind its length, as views of the page.
fn texts(bytes: Bytes, count: usize) -> Result<ArrayRef> {
    let (mut rest, whole) = (&bytes[..], bytes.len());
    let mut texts = StringViewBuilder::with_capacity(count.min(whole / 4));
    let block = texts.append_block(Buffer::from(bytes.clone()));
    for _ in 0..count {
        let length = split(&mut rest, 4)?.get_u32_le();
        let at = whole - rest.len();
        split(&mut rest, length as usize)?;
        // A page has less than 2 GiB.
        texts.try_append_view(block, at as u32, length)?;
    }
    Ok(Arc::new(texts.finish()))
}

/// Bytes of a file from `start` on.
struct Part {
    start: u64,
    bytes: Bytes,
}

impl Part {
    fn from(&self, start: u64) -> Result<Bytes> {
        let at = start.checked_sub(self.start).map(|at| at as usize);
        let at = at.filter(|at| *at <= self.bytes.len());
        let outside = || ParquetError::EOF("a page outside of its column".into());
        at.map(|at| self.bytes.slice(at..)).ok_or_else(outside)
    }
}

impl Length for Part {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Part {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let from = self.from(start)?;
        match length <= from.len() {
            true => Ok(from.slice(..length)),
            false => Err(ParquetError::EOF(
                "a page ends outside of its column".into(),
            )),
        }
    }
}
