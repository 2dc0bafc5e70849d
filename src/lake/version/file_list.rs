//! A list of data files, of which a question reads the pages that it needs.
//!
//! It is sorted by table and least job id and holds a row for each file: 100,000 in a lake of 10,000 ranges, of which a question by job id
//! wants a few. What its pages hold is read from its page index; a list that has none is read as a whole.

use super::list_file::{PAGE, batch_to_entries, list_bytes};
use super::manifest::ListFile;
use super::store::Store;
use crate::error::{Error, Result};
use crate::lake::version::list_file::DataFile;
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
pub(in crate::lake) struct FileList {
    path: String,
    bytes: Bytes,
    footer: ArrowReaderMetadata,
}

impl FileList {
    /// Reads the bytes of a list, but none of its rows.
    ///
    /// # Errors
    /// [`Error::Lake`] if it is missing, [`Error::Columns`] if it cannot be read.
    pub(in crate::lake) fn open(store: &Store, part: &ListFile) -> Result<Self> {
        let bytes = list_bytes(store, part)?;
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
    pub(in crate::lake) fn has_pages(&self) -> bool {
        self.footer.metadata().file_metadata().num_rows() > PAGE as i64
    }

    /// All entries.
    ///
    /// # Errors
    /// [`Error::Columns`] if it cannot be read, [`Error::Invalid`] if it is no list of files.
    pub(in crate::lake) fn all(&self) -> Result<Vec<Entry>> {
        self.entries(None, |_, _| true)
    }

    /// The entries of a table: of its files of days if `of_days`, and of those whose least job id `meets` wants; it is asked with two job ids for
    /// a page whose files have their least job id between these.
    ///
    /// # Errors
    /// As [`FileList::all`].
    pub(in crate::lake) fn of(
        &self,
        table: &str,
        of_days: bool,
        meets: impl Fn(i64, i64) -> bool,
    ) -> Result<Vec<Entry>> {
        let pages = self.pages(table, of_days, &meets);
        let pages = pages.map_err(|e| Error::columns(self.path.clone(), e))?;
        self.entries(pages, |of, job_id| {
            of == table && job_id.map_or(of_days, |job_id| meets(job_id, job_id))
        })
    }

    /// Looks at the least job id, the bytes and whether it is gone of each file that has a job id.
    ///
    /// # Errors
    /// As [`FileList::all`].
    pub(in crate::lake) fn each_size(&self, mut each: impl FnMut(i64, u64, bool)) -> Result<()> {
        let schema = self.footer.parquet_schema();
        let columns = ProjectionMask::columns(schema, ["job_id_min", "bytes", "gone"]);
        let failed = |e| Error::columns(self.path.clone(), e);
        for batch in self.reader(None, columns).map_err(failed)? {
            let batch = batch.map_err(|e| Error::columns(self.path.clone(), e))?;
            let numbers = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
            let gone = batch
                .column_by_name("gone")
                .and_then(|c| c.as_boolean_opt());
            let (Some(job_ids), Some(bytes), Some(gone)) =
                (numbers("job_id_min"), numbers("bytes"), gone)
            else {
                return Err(Error::Invalid(format!(
                    "{}: a list of files without job ids and bytes",
                    self.path
                )));
            };
            for ((job_id, bytes), gone) in job_ids.iter().zip(bytes).zip(gone) {
                if let (Some(job_id), Some(bytes)) = (job_id, bytes) {
                    each(job_id, bytes as u64, gone == Some(true));
                }
            }
        }
        Ok(())
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

    fn entries(
        &self,
        pages: Option<RowSelection>,
        wanted: impl Fn(&str, Option<i64>) -> bool,
    ) -> Result<Vec<Entry>> {
        let mut entries = vec![];
        let reader = self.reader(pages, ProjectionMask::all());
        for batch in reader.map_err(|e| Error::columns(self.path.clone(), e))? {
            let batch = batch.map_err(|e| Error::columns(self.path.clone(), e))?;
            batch_to_entries(&batch, &wanted, &mut entries)?;
        }
        Ok(entries)
    }

    /// The rows of the pages that may hold files that are wanted; None if nothing is known of them.
    fn pages(
        &self,
        table: &str,
        of_days: bool,
        meets: &impl Fn(i64, i64) -> bool,
    ) -> ParquetResult<Option<RowSelection>> {
        let tables = self.bounds("table_name", |least, most, page| {
            let (least, most) = (least.as_string_opt::<i32>(), most.as_string_opt::<i32>());
            let Some((least, most)) = least.zip(most) else {
                return true;
            };
            (least.is_null(page) || least.value(page) <= table)
                && (most.is_null(page) || table <= most.value(page))
        })?;
        if of_days {
            return Ok(tables);
        }
        let within = self.bounds("job_id_min", |least, most, page| {
            let (least, most) = (
                least.as_primitive_opt::<Int64Type>(),
                most.as_primitive_opt::<Int64Type>(),
            );
            let Some((least, most)) = least.zip(most) else {
                return true;
            };
            least.is_null(page) || most.is_null(page) || meets(least.value(page), most.value(page))
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

/// A data file, and whether it is gone since.
pub(in crate::lake) type Entry = (DataFile, bool);

#[cfg(test)]
mod tests {
    use super::super::file_index::tests::{files, written};
    use super::*;
    use bytes::BytesMut;

    #[test]
    fn a_few_ranges_are_found_without_the_pages_of_others() {
        let (store, part) = written(&files());
        let mut list = FileList::open(&store, &part).unwrap();
        let of = |list: &FileList, job_id: i64| {
            let meets = |least: i64, most: i64| least <= job_id && job_id <= most;
            list.of("darshan_file", false, meets)
        };
        let of_first = of(&list, 0).unwrap();
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
        assert_eq!(of(&list, 0).unwrap(), of_first);
        assert!(of(&list, 1499).is_err());
        assert!(list.all().is_err());
    }
}
