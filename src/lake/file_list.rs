//! The list of a version's data files, of which a question reads the pages that it needs.
//!
//! It is sorted by table and range and holds a row for each file: 100,000 in a lake of 10,000 ranges, of which a question by job id
//! wants a few. What its pages hold is read from its page index; a list that has none is read as a whole.

use super::manifest::Part;
use super::parts::{DataFile, PAGE, part_bytes, some_files};
use super::store::Store;
use crate::error::{Error, Result};
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::PageIndexPolicy;

/// The bytes of a list and its footer.
#[derive(Debug)]
pub(super) struct FileList {
    path: String,
    bytes: Bytes,
    footer: ArrowReaderMetadata,
}

impl FileList {
    /// Reads the bytes of a list, but none of its rows.
    ///
    /// # Errors
    /// [`Error::Lake`] if it is missing, [`Error::Columns`] if it cannot be read.
    pub(super) fn open(store: &Store, part: &Part) -> Result<Self> {
        let bytes = part_bytes(store, part)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let footer = ArrowReaderMetadata::load(&bytes, options)
            .map_err(|e| Error::columns(part.path.clone(), e))?;
        Ok(Self {
            path: part.path.clone(),
            bytes,
            footer,
        })
    }

    /// Whether less than all of it can be read.
    pub(super) fn has_pages(&self) -> bool {
        self.footer.metadata().file_metadata().num_rows() > PAGE as i64
    }

    /// All files.
    ///
    /// # Errors
    /// [`Error::Columns`] if it cannot be read, [`Error::Invalid`] if it is no list of files.
    pub(super) fn all(&self) -> Result<Vec<DataFile>> {
        self.files(None, |_, _| true)
    }

    /// The files of a table; of those that are cut by job id the ones of `ranges`, ascending, if they are given.
    ///
    /// # Errors
    /// As [`FileList::all`].
    pub(super) fn of(&self, table: &str, ranges: Option<&[usize]>) -> Result<Vec<DataFile>> {
        let pages = self.pages(table, ranges);
        let pages = pages.map_err(|e| Error::columns(self.path.clone(), e))?;
        self.files(pages, |of, range| {
            let wanted = |ranges: &[usize]| range.is_some_and(|r| ranges.binary_search(&r).is_ok());
            of == table && ranges.is_none_or(wanted)
        })
    }

    /// How many bytes the files of each of so many ranges have.
    ///
    /// # Errors
    /// As [`FileList::all`].
    pub(super) fn range_bytes(&self, ranges: usize) -> Result<Vec<u64>> {
        let schema = self.footer.parquet_schema();
        let columns = ProjectionMask::columns(schema, ["range", "bytes"]);
        let failed = |e| Error::columns(self.path.clone(), e);
        let mut sums = vec![0; ranges];
        for batch in self.reader(None, columns).map_err(failed)? {
            let batch = batch.map_err(|e| Error::columns(self.path.clone(), e))?;
            let column = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
            let (Some(range), Some(bytes)) = (column("range"), column("bytes")) else {
                return Err(Error::Invalid(format!(
                    "{}: a list of files without ranges and bytes",
                    self.path
                )));
            };
            for (range, bytes) in range.iter().zip(bytes) {
                let sum = range.and_then(|range| sums.get_mut(usize::try_from(range).ok()?));
                if let (Some(sum), Some(bytes)) = (sum, bytes) {
                    *sum += bytes as u64;
                }
            }
        }
        Ok(sums)
    }

    fn reader(
        &self,
        pages: Option<RowSelection>,
        columns: ProjectionMask,
    ) -> ParquetResult<ParquetRecordBatchReader> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.footer.clone(),
        );
        let builder = builder.with_batch_size(16_384).with_projection(columns);
        match pages {
            Some(pages) => builder.with_row_selection(pages).build(),
            None => builder.build(),
        }
    }

    fn files(
        &self,
        pages: Option<RowSelection>,
        wanted: impl Fn(&str, Option<usize>) -> bool,
    ) -> Result<Vec<DataFile>> {
        let mut files = vec![];
        let reader = self.reader(pages, ProjectionMask::all());
        for batch in reader.map_err(|e| Error::columns(self.path.clone(), e))? {
            let batch = batch.map_err(|e| Error::columns(self.path.clone(), e))?;
            some_files(&batch, &wanted, &mut files)?;
        }
        Ok(files)
    }

    /// The rows of the pages that may hold files of a table and of ranges; None if nothing is known of them.
    fn pages(&self, table: &str, ranges: Option<&[usize]>) -> ParquetResult<Option<RowSelection>> {
        let tables = self.bounds("table_name", |least, most, page| {
            let (least, most) = (least.as_string_opt::<i32>(), most.as_string_opt::<i32>());
            let Some((least, most)) = least.zip(most) else {
                return true;
            };
            (least.is_null(page) || least.value(page) <= table)
                && (most.is_null(page) || table <= most.value(page))
        })?;
        let Some(ranges) = ranges else {
            return Ok(tables);
        };
        let within = self.bounds("range", |least, most, page| {
            let (least, most) = (
                least.as_primitive_opt::<Int64Type>(),
                most.as_primitive_opt::<Int64Type>(),
            );
            let Some((least, most)) = least.zip(most) else {
                return true;
            };
            if least.is_null(page) || most.is_null(page) {
                return true;
            }
            let from = ranges.partition_point(|range| (*range as i64) < least.value(page));
            ranges
                .get(from)
                .is_some_and(|range| *range as i64 <= most.value(page))
        })?;
        Ok(match (tables, within) {
            (Some(tables), Some(within)) => Some(tables.intersection(&within)),
            (one, other) => one.or(other),
        })
    }

    /// The rows of the pages of a column whose least and greatest value `keep`s them.
    fn bounds(
        &self,
        column: &str,
        keep: impl Fn(&dyn Array, &dyn Array, usize) -> bool,
    ) -> ParquetResult<Option<RowSelection>> {
        let metadata = self.footer.metadata();
        let (Some(columns), Some(offsets)) = (metadata.column_index(), metadata.offset_index())
        else {
            return Ok(None);
        };
        let converter = StatisticsConverter::try_new(
            column,
            self.footer.schema(),
            self.footer.parquet_schema(),
        )?;
        let groups: Vec<usize> = (0..metadata.num_row_groups()).collect();
        let least = converter.data_page_mins(columns, offsets, &groups)?;
        let most = converter.data_page_maxes(columns, offsets, &groups)?;
        let rows = converter.data_page_row_counts(offsets, metadata.row_groups(), &groups)?;
        Ok(rows.map(|rows| {
            let page = |(page, rows): (usize, &u64)| match keep(&least, &most, page) {
                true => RowSelector::select(*rows as usize),
                false => RowSelector::skip(*rows as usize),
            };
            rows.values().iter().enumerate().map(page).collect()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts::{files_to_batch, write_part};
    use super::*;
    use bytes::BytesMut;
    use object_store::memory::InMemory;
    use std::sync::Arc;

    /// 3,000 files of each of two tables cut by job id, two for each range, and 500 of days between them.
    fn files() -> Vec<DataFile> {
        let file = |table: &str, number: usize, range| DataFile {
            table: table.into(),
            path: format!("{table}/{number:06}-{:x}.parquet", number * 7919 % 65_521),
            range,
            day: range.is_none().then(|| ("snx11168".into(), number as i64)),
            ost: None,
            rows: 3,
            bytes: 1 + number as u64,
            job_id: range.map(|range| (range as i64, range as i64)),
            start_time: None,
            time: None,
            schema_version: 1,
            version: 2,
            content_hash: Some(number as i64),
            layout: 1,
        };
        let jobs = |table: &'static str| (0..3000).map(move |n| file(table, n, Some(n / 2)));
        let days = (0..500).map(|n| file("lmt_ost", n, None));
        jobs("darshan_file")
            .chain(days)
            .chain(jobs("slurm_job"))
            .collect()
    }

    fn written(files: &[DataFile]) -> (Store, FileList) {
        let store = Store::Memory(Arc::new(InMemory::new()));
        let rows = files_to_batch(files, &(1..1500).collect::<Vec<_>>());
        let part = write_part(&store, "file", [rows]).unwrap().unwrap();
        let list = FileList::open(&store, &part).unwrap();
        (store, list)
    }

    #[test]
    fn a_part_of_the_list_is_what_the_whole_list_says_of_it() {
        let files = files();
        let (_, list) = written(&files);
        assert!(list.has_pages());
        assert_eq!(list.all().unwrap(), files);
        for table in [
            "darshan_file",
            "lmt_ost",
            "slurm_job",
            "darshan_log",
            "a",
            "z",
        ] {
            let of: Vec<_> = files
                .iter()
                .filter(|file| file.table == table)
                .cloned()
                .collect();
            assert_eq!(list.of(table, None).unwrap(), of);
            for ranges in [
                &[][..],
                &[0],
                &[0, 1499],
                &[511, 512, 513, 1024],
                &[1500, 9999],
            ] {
                let wanted = |file: &&DataFile| file.range.is_some_and(|r| ranges.contains(&r));
                let of: Vec<_> = of.iter().filter(wanted).cloned().collect();
                assert_eq!(
                    list.of(table, Some(ranges)).unwrap(),
                    of,
                    "{table} {ranges:?}"
                );
            }
        }
        let mut bytes = vec![0; 1500];
        for file in &files {
            if let Some(range) = file.range {
                bytes[range] += file.bytes;
            }
        }
        assert_eq!(list.range_bytes(1500).unwrap(), bytes);
    }

    #[test]
    fn a_few_ranges_are_found_without_the_pages_of_others() {
        let (_, mut list) = written(&files());
        let of_first = list.of("darshan_file", Some(&[0])).unwrap();
        assert_eq!(of_first.len(), 2);
        let metadata = list.footer.metadata().clone();
        let mut columns = list.footer.parquet_schema().columns().iter();
        let path = columns.position(|column| column.name() == "path").unwrap();
        // Of the paths of the last ranges of darshan_file.
        let page = &metadata.offset_index().unwrap()[0][path].page_locations()[2];
        let mut damaged = BytesMut::from(&list.bytes[..]);
        let at = page.offset as usize;
        damaged[at..at + page.compressed_page_size as usize].fill(0xff);
        list.bytes = damaged.freeze();
        assert_eq!(list.of("darshan_file", Some(&[0])).unwrap(), of_first);
        assert!(list.of("darshan_file", Some(&[1499])).is_err());
        assert!(list.all().is_err());
    }

    #[test]
    fn a_list_without_a_page_index_is_read_as_a_whole() {
        let files = files();
        let (store, _) = written(&files);
        let rows = files_to_batch(&files, &(1..1500).collect::<Vec<_>>()).unwrap();
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
            .set_offset_index_disabled(true);
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(vec![], rows.schema(), Some(properties.build()))
                .unwrap();
        writer.write(&rows).unwrap();
        store.put_new("old", &writer.into_inner().unwrap()).unwrap();
        let part = Part {
            path: "old".into(),
            rows: rows.num_rows() as u64,
        };
        let list = FileList::open(&store, &part).unwrap();
        let of = |file: &&DataFile| file.table == "slurm_job" && file.range == Some(700);
        let of: Vec<_> = files.iter().filter(of).cloned().collect();
        assert_eq!(list.of("slurm_job", Some(&[700])).unwrap(), of);
        assert_eq!(list.all().unwrap(), files);
    }
}
