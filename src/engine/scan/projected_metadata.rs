//! Of the footer of a data file a scan sees the columns that it was asked for.
//!
//! DataFusion and the Parquet reader go through all columns of a file to open it: they make its schema twice, and where a filter can leave
//! out pages they read its whole page index for each question anew. Of files of some hundred rows and 100 columns that was a sixth of a
//! question. A scan here has a table of the columns that are asked for, and so must the file.
//!
//! Only the footer that is read is whole, and kept for the next question.

use datafusion::arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::Result as ParquetResult;
use datafusion::parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData,
};
use datafusion::parquet::schema::types::{SchemaDescriptor, Type};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::future::{BoxFuture, FutureExt};
use std::ops::Range;
use std::sync::Arc;

/// Opens files of which only some columns are known.
#[derive(Debug)]
pub(in crate::engine) struct Footers {
    files: CachedParquetFileReaderFactory,
    columns: Arc<[String]>,
}

impl Footers {
    /// Footers come from `files`, cut to the columns of `asked`.
    pub(in crate::engine) fn new(files: CachedParquetFileReaderFactory, asked: &Schema) -> Self {
        let names = asked.fields().iter().map(|field| field.name().clone());
        Self {
            files,
            columns: names.collect(),
        }
    }
}

impl ParquetFileReaderFactory for Footers {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        Ok(Box::new(File {
            whole: self
                .files
                .create_reader(partition, file, size_hint, metrics)?,
            columns: self.columns.clone(),
        }))
    }
}

struct File {
    whole: Box<dyn AsyncFileReader + Send>,
    columns: Arc<[String]>,
}

impl AsyncFileReader for File {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<bytes::Bytes>> {
        self.whole.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<bytes::Bytes>>> {
        self.whole.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let whole = self.whole.get_metadata(options).await?;
            cut(&whole, &self.columns).map(Arc::new)
        }
        .boxed()
    }
}

/// The same file with these columns only. What it says of Arrow's schema goes with the others: it is of all columns.
fn cut(whole: &ParquetMetaData, columns: &[String]) -> ParquetResult<ParquetMetaData> {
    let file = whole.file_metadata();
    let all = file.schema_descr();
    let asked = |name: &str| columns.iter().any(|column| column == name);
    let fields = all.root_schema().get_fields().iter();
    let fields = fields.filter(|field| asked(field.name())).cloned();
    let root = Type::group_type_builder(all.name()).with_fields(fields.collect());
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(root.build()?)));
    // A list is one column, and each of its leaves another.
    let leaves: Vec<usize> = (0..all.num_columns())
        .filter(|leaf| asked(all.get_column_root(*leaf).name()))
        .collect();
    let group = |group: &RowGroupMetaData| {
        let columns = leaves.iter().map(|leaf| group.column(*leaf).clone());
        let mut cut = RowGroupMetaData::builder(schema.clone())
            .set_num_rows(group.num_rows())
            .set_total_byte_size(group.total_byte_size())
            .set_column_metadata(columns.collect());
        if let Some(ordinal) = group.ordinal() {
            cut = cut.set_ordinal(ordinal);
        }
        if let Some(offset) = group.file_offset() {
            cut = cut.set_file_offset(offset);
        }
        cut.build()
    };
    let groups = whole.row_groups().iter().map(group);
    let orders = file.column_orders();
    Ok(ParquetMetaDataBuilder::new(FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(String::from),
        None,
        schema.clone(),
        orders.map(|orders| of(orders, &leaves)),
    ))
    .set_row_groups(groups.collect::<ParquetResult<_>>()?)
    .set_column_index(
        whole
            .column_index()
            .map(|groups| groups.iter().map(|group| of(group, &leaves)).collect()),
    )
    .set_offset_index(
        whole
            .offset_index()
            .map(|groups| groups.iter().map(|group| of(group, &leaves)).collect()),
    )
    .build())
}

fn of<T: Clone>(of_all: &[T], leaves: &[usize]) -> Vec<T> {
    let of_leaves = leaves.iter().filter_map(|leaf| of_all.get(*leaf));
    of_leaves.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int32Array, Int64Array, ListArray, StringArray};
    use datafusion::arrow::datatypes::Int32Type;
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::parquet::arrow::ArrowWriter;
    use datafusion::parquet::arrow::arrow_reader::{
        ArrowReaderMetadata, ParquetRecordBatchReaderBuilder,
    };
    use datafusion::parquet::file::metadata::PageIndexPolicy;
    use datafusion::parquet::file::properties::WriterProperties;

    /// Four columns in two row groups, one of them of lists.
    fn rows() -> RecordBatch {
        let osts = [
            Some(vec![Some(3), Some(4)]),
            None,
            Some(vec![]),
            Some(vec![Some(7)]),
        ];
        let columns: [(&str, ArrayRef); 4] = [
            ("job_id", Arc::new(Int64Array::from(vec![1, 1, 2, 3]))),
            (
                "osts",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(osts)),
            ),
            (
                "path",
                Arc::new(StringArray::from(vec!["/a", "/b", "/c", "/d"])),
            ),
            (
                "rank",
                Arc::new(Int32Array::from(vec![None, Some(0), Some(1), None])),
            ),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn file() -> (bytes::Bytes, ArrowReaderMetadata) {
        let rows = rows();
        let groups = WriterProperties::builder().set_max_row_group_row_count(Some(2));
        let mut bytes = vec![];
        let mut writer =
            ArrowWriter::try_new(&mut bytes, rows.schema(), Some(groups.build())).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let bytes = bytes::Bytes::from(bytes);
        let index = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let whole = ArrowReaderMetadata::load(&bytes, index).unwrap();
        (bytes, whole)
    }

    #[test]
    fn a_file_has_the_columns_that_are_asked_for_and_reads_them_as_they_are() {
        let (bytes, whole) = file();
        for asked in [vec![0], vec![1], vec![2, 3], vec![1, 3], vec![0, 1, 2, 3]] {
            let expected = rows().project(&asked).unwrap();
            let names: Vec<String> = asked
                .iter()
                .map(|at| rows().schema().field(*at).name().clone())
                .collect();
            let cut = cut(whole.metadata(), &names).unwrap();
            assert_eq!(cut.num_row_groups(), 2);
            let columns = cut.row_group(1).columns().iter();
            let leaves: Vec<&str> = columns
                .map(|column| column.column_path().parts()[0].as_str())
                .collect();
            assert_eq!(leaves, names);
            let cut = ArrowReaderMetadata::try_new(Arc::new(cut), ArrowReaderOptions::new());
            let reader =
                ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), cut.unwrap());
            let read: Vec<RecordBatch> = reader
                .build()
                .unwrap()
                .collect::<std::result::Result<_, _>>()
                .unwrap();
            assert_eq!(read.len(), 1);
            for (read, expected) in read[0].columns().iter().zip(expected.columns()) {
                assert_eq!(read.to_data(), expected.to_data());
            }
        }
    }

    #[test]
    fn pages_are_those_of_the_columns_that_are_left() {
        let (_, whole) = file();
        let whole = whole.metadata();
        let cut = cut(whole, &["path".into()]).unwrap();
        for group in 0..2 {
            let pages = |file: &ParquetMetaData, leaf: usize| {
                let offsets = &file.offset_index().unwrap()[group][leaf];
                offsets.page_locations()[0].offset
            };
            assert_eq!(pages(&cut, 0), pages(whole, 2));
            assert_ne!(pages(&cut, 0), pages(whole, 0));
            assert_eq!(cut.column_index().unwrap()[group].len(), 1);
        }
        assert_eq!(cut.file_metadata().column_orders().unwrap().len(), 1);
    }

    #[test]
    fn a_column_that_no_file_has_is_not_there() {
        let (_, whole) = file();
        let cut = cut(whole.metadata(), &["rank".into(), "colour".into()]).unwrap();
        assert_eq!(cut.file_metadata().schema_descr().num_columns(), 1);
        assert_eq!(cut.row_group(0).num_rows(), 2);
    }
}
