//! A scan that gives runs of equal rows, as Parquet stores them, instead of rows.
//!
//! Values that repeat are stored as a dictionary and runs of places in it. To read them as arrays writes out each row, only for a grouping
//! to find the runs again. Here a row stands for all rows from one change of a column to the next, and says how many these are.
//!
//! DataFusion's scan is better where a column that is asked for is long, and where a filter may leave out row groups or pages. What files
//! say of themselves decides, then their first rows.

use super::column_runs::{Chunk, NULL, is_known, place};
use super::rle_bitpacked::Run;
use super::sample::RUN;
use crate::engine::node_rewrite::Node;
use crate::engine::scan::lake_table::scanned;
use bytes::Bytes;
use datafusion::arrow::array::{
    ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array, new_empty_array,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetFileReaderFactory,
    ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, RowGroupMetaData};
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNotNullExpr, Literal, NotExpr};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Bytes of a row in its file, before compression, up to which rows are expected to come in runs.
const SHORT: i64 = 2;

/// First rows of a file that tell whether they do.
const FIRST_ROWS: i64 = 1 << 14;

/// A scan of Parquet files.
pub(super) struct RunScan {
    /// The scan, without its files.
    config: FileScanConfig,
    groups: Vec<FileGroup>,
    reader: Arc<dyn ParquetFileReaderFactory>,
    /// The names that its columns have in the files.
    columns: Vec<String>,
    /// Whether rows without a value of the column are left out.
    needed: Arc<[bool]>,
    schema: SchemaRef,
    in_runs: Arc<OnceCell<bool>>,
}

impl RunScan {
    /// The scan that this node is; None if its rows must be read one by one. Rows that the filter above it drops for a NULL may be missing.
    pub(super) fn of(node: &Node, filter: Option<&FilterExec>) -> Option<Self> {
        let scan = node.downcast_ref::<DataSourceExec>()?;
        let config = scan.data_source().downcast_ref::<FileScanConfig>()?;
        let source = config.file_source().downcast_ref::<ParquetSource>()?;
        let schema = scan.schema();
        let fields = schema.fields();
        if config.limit.is_some()
            || fields.is_empty()
            || !fields.iter().all(|field| is_known(field.data_type()))
        {
            return None;
        }
        // A scan that filters by itself may have nobody above it who does.
        let filters = source.table_parquet_options().global.pushdown_filters;
        if source
            .filter()
            .is_some_and(|filter| filters || leaves_out(&filter))
        {
            return None;
        }
        let column = |at: usize| {
            let whole: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(at).name(), at));
            let whole = match config.file_source().projection() {
                Some(projection) => projection.unproject_expr(&whole).ok()?,
                None => whole,
            };
            Some(whole.downcast_ref::<Column>()?.name().to_string())
        };
        let conditions = filter.map(|filter| split_conjunction(filter.predicate()));
        let conditions = conditions.unwrap_or_default();
        let needed = (0..fields.len()).map(|at| {
            let no_null = |condition: &&Arc<dyn PhysicalExpr>| {
                let column = condition.downcast_ref::<IsNotNullExpr>()?.arg();
                Some(column.downcast_ref::<Column>()?.index() == at)
            };
            conditions
                .iter()
                .any(|condition| no_null(condition) == Some(true))
        });
        Some(Self {
            needed: needed.collect(),
            in_runs: Arc::default(),
            reader: source.parquet_file_reader_factory()?.clone(),
            columns: (0..fields.len()).map(column).collect::<Option<_>>()?,
            schema,
            groups: config.file_groups.clone(),
            config: FileScanConfigBuilder::from(config.clone())
                .with_file_groups(vec![])
                .with_output_partitioning(None)
                .build(),
        })
    }

    /// What the batches have: the columns of the scan, and how many rows each row stands for.
    fn with_times(&self) -> SchemaRef {
        let times = Arc::new(Field::new("times", DataType::Int64, false));
        let fields = self.schema.fields().iter().cloned();
        Arc::new(Schema::new(fields.chain([times]).collect::<Vec<_>>()))
    }

    /// The rows of a partition, the last column how many rows each stands for; None if they do not come in runs.
    pub(super) async fn runs(
        self: &Arc<Self>,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Option<SendableRecordBatchStream>> {
        // DataFusion's scan may give a file to another partition than its own, so that all partitions must do the same.
        // What cannot be opened here is DataFusion's to read, or to refuse.
        let in_runs = async || self.come_in_runs(context).await.unwrap_or(false);
        if !*self.in_runs.get_or_init(in_runs).await {
            return Ok(None);
        }
        let files = self.groups.get(partition);
        let files = files.map(FileGroup::files).unwrap_or_default().to_vec();
        let (scan, context) = (self.clone(), context.clone());
        let batches = stream::iter(files).then(move |file| {
            let (scan, context) = (scan.clone(), context.clone());
            async move {
                let opened = scan.open(&file, scan.needed.clone(), partition, &context);
                match opened.await? {
                    Some(opened) => Ok::<_, DataFusionError>(opened.batches().left_stream()),
                    None => Ok(scan.one_by_one(file, &context)?.right_stream()),
                }
            }
        });
        Ok(Some(Box::pin(RecordBatchStreamAdapter::new(
            self.with_times(),
            batches.try_flatten(),
        ))))
    }

    /// Whether they do, by the first rows of the first file and of the last.
    async fn come_in_runs(&self, context: &Arc<TaskContext>) -> Result<bool> {
        let files: Vec<_> = self.groups.iter().flat_map(FileGroup::files).collect();
        let last = files.len().checked_sub(1).filter(|last| *last > 0);
        let (mut runs, mut rows) = (0, 0);
        for file in files
            .first()
            .into_iter()
            .chain(last.map(|last| &files[last]))
        {
            // All rows are looked at, those that are left out too: there may be no others.
            let all = vec![false; self.columns.len()].into();
            let Some(mut opened) = self.open(file, all, 0, context).await? else {
                return Ok(false);
            };
            let mut left = FIRST_ROWS;
            while left > 0
                && let Some(batch) = opened.batch().await?
            {
                let (times, _) = split_times(&batch)?;
                let count = times.values().iter().sum::<i64>();
                runs += batch.num_rows() as i64;
                (left, rows) = (left - count, rows + count);
            }
        }
        Ok(rows > 0 && runs * RUN as i64 <= rows)
    }

    /// A file that can be read as runs; None if it must be read row by row.
    async fn open(
        &self,
        file: &PartitionedFile,
        needed: Arc<[bool]>,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Option<Opened>> {
        // Parts of files, what an extension says of them, and what is not read but known from the manifest are DataFusion's to give.
        if file.range.is_some() || !file.extensions.is_empty() || self.knows_a_column(file) {
            return Ok(None);
        }
        let mut reader = self.reader.create_reader(
            partition,
            file.clone(),
            file.metadata_size_hint,
            self.config.file_source().metrics(),
        )?;
        // The page index would be read of all columns.
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
        let footer = reader.get_metadata(Some(&options)).await?;
        let Some(leaves) = self.leaves(&footer)? else {
            return Ok(None);
        };
        Ok(Some(Opened {
            reader,
            footer,
            leaves,
            group: 0,
            rows: None,
            needed,
            schema: self.with_times(),
            batch_size: context.session_config().batch_size(),
        }))
    }

    /// Whether a column of the scan has one value in all of a file.
    fn knows_a_column(&self, file: &PartitionedFile) -> bool {
        let table = self.config.file_source().table_schema().table_schema();
        let known = |name: &String| {
            let statistics = &file.statistics.as_ref()?.column_statistics;
            let column = statistics.get(table.index_of(name).ok()?)?;
            let (least, most) = (column.min_value.get_value()?, column.max_value.get_value()?);
            let some_lack_it = matches!(column.null_count, Precision::Exact(1..));
            Some(least == most && !some_lack_it)
        };
        self.columns.iter().any(|name| known(name) == Some(true))
    }

    /// Which of a file's columns are those of the scan; None if it has others, or long ones.
    fn leaves(&self, footer: &ParquetMetaData) -> Result<Option<Vec<usize>>> {
        let of_file = footer.file_metadata().schema_descr();
        let types = scanned(&parquet_to_arrow_schema(of_file, None)?);
        let leaf = |(name, field): (&String, &Arc<Field>)| {
            let at = of_file
                .columns()
                .iter()
                .position(|leaf| leaf.path().parts() == [name.as_str()])?;
            let alike = types.field_with_name(name).ok()?.data_type() == field.data_type();
            let leaf = of_file.column(at);
            (alike && leaf.max_rep_level() == 0 && leaf.max_def_level() < 2).then_some(at)
        };
        let leaves = self.columns.iter().zip(self.schema.fields()).map(leaf);
        let Some(leaves) = leaves.collect::<Option<Vec<usize>>>() else {
            return Ok(None);
        };
        let known = |encoding| {
            matches!(
                encoding,
                Encoding::PLAIN
                    | Encoding::PLAIN_DICTIONARY
                    | Encoding::RLE
                    | Encoding::RLE_DICTIONARY
            )
        };
        let (mut bytes, mut rows) = (0i64, 0i64);
        for group in footer.row_groups() {
            rows = rows.saturating_add(group.num_rows());
            for column in leaves.iter().map(|leaf| group.column(*leaf)) {
                bytes = bytes.saturating_add(column.uncompressed_size());
                if !column.encodings().all(known) {
                    return Ok(None);
                }
            }
        }
        Ok((bytes <= rows.saturating_mul(SHORT)).then_some(leaves))
    }

    /// A file as DataFusion reads it, each row for itself.
    fn one_by_one(
        &self,
        file: PartitionedFile,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut alone = self.config.clone();
        alone.file_groups = vec![FileGroup::new(vec![file])];
        let rows = DataSourceExec::from_data_source(alone).execute(0, context.clone())?;
        let schema = self.with_times();
        let (as_given, width) = (schema.clone(), self.columns.len());
        let rows = rows.map(move |batch| {
            let batch = batch?;
            let mut columns = batch.columns()[..width].to_vec();
            columns.push(Arc::new(Int64Array::from(vec![1; batch.num_rows()])));
            Ok(RecordBatch::try_new(schema.clone(), columns)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(as_given, rows)))
    }
}

/// How many rows each row of a batch stands for, which its last column says, and the columns of the scan.
pub(super) fn split_times(batch: &RecordBatch) -> Result<(Int64Array, RecordBatch)> {
    let width = batch.num_columns().saturating_sub(1);
    let Some(times) = batch.columns().get(width) else {
        return internal_err!("a run has a number of rows");
    };
    let columns: Vec<usize> = (0..width).collect();
    Ok((
        times.as_primitive::<Int64Type>().clone(),
        batch.project(&columns)?,
    ))
}

/// Whether a filter may well leave out row groups or pages. NULLs and what is flagged are taken to be few.
fn leaves_out(filter: &Arc<dyn PhysicalExpr>) -> bool {
    let column = |expr: &Arc<dyn PhysicalExpr>| expr.is::<Column>();
    if let Some(both) = filter.downcast_ref::<BinaryExpr>() {
        return *both.op() != Operator::And || leaves_out(both.left()) || leaves_out(both.right());
    }
    let keeps_most = filter.is::<Literal>()
        || filter
            .downcast_ref::<NotExpr>()
            .is_some_and(|not| column(not.arg()))
        || filter
            .downcast_ref::<IsNotNullExpr>()
            .is_some_and(|null| column(null.arg()));
    !keeps_most
}

/// A file that is read.
struct Opened {
    reader: Box<dyn AsyncFileReader + Send>,
    footer: Arc<ParquetMetaData>,
    leaves: Vec<usize>,
    /// The row group that comes next.
    group: usize,
    /// The one at hand.
    rows: Option<Rows>,
    needed: Arc<[bool]>,
    schema: SchemaRef,
    batch_size: usize,
}

impl Opened {
    /// The batches that are left.
    fn batches(self) -> impl futures::Stream<Item = Result<RecordBatch>> {
        stream::try_unfold(self, async |mut opened| {
            let batch = opened.batch().await?;
            Ok(batch.map(|batch| (batch, opened)))
        })
    }

    async fn batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(rows) = &mut self.rows
                && let Some(batch) = rows.batch(&self.schema, self.batch_size)?
            {
                return Ok(Some(batch));
            }
            let footer = self.footer.clone();
            let Some(group) = footer.row_groups().get(self.group) else {
                return Ok(None);
            };
            self.group += 1;
            let places = self.leaves.iter().map(|leaf| place(group.column(*leaf)));
            let places = places.collect::<std::result::Result<_, _>>()?;
            let bytes = self.reader.get_byte_ranges(places).await?;
            let rows = Rows::of(group, &self.leaves, bytes, &self.needed, &self.schema)?;
            self.rows = Some(rows);
        }
    }
}

/// A row group: its columns side by side.
struct Rows {
    columns: Vec<Side>,
    /// Rows that have not been given yet.
    left: i64,
}

/// A column, and where it has come to.
struct Side {
    chunk: Chunk,
    values: ArrayRef,
    /// The run at hand, of which some rows may have been given.
    run: Run,
    /// The values of the rows that are gathered.
    picked: Vec<u32>,
    needed: bool,
}

/// Rows that are alike.
struct Ahead {
    rows: u32,
    /// Whether they lack a value that is needed.
    dropped: bool,
}

impl Rows {
    fn of(
        group: &RowGroupMetaData,
        leaves: &[usize],
        bytes: Vec<Bytes>,
        needed: &[bool],
        schema: &Schema,
    ) -> Result<Self> {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let columns = leaves.iter().zip(bytes).zip(schema.fields()).zip(needed);
        let columns = columns.map(|(((leaf, bytes), field), needed)| {
            Ok(Side {
                chunk: Chunk::new(group.column(*leaf), bytes, rows, field.data_type())?,
                values: new_empty_array(field.data_type()),
                run: Run { value: 0, rows: 0 },
                picked: vec![],
                needed: *needed,
            })
        });
        Ok(Self {
            columns: columns.collect::<Result<_>>()?,
            left: rows as i64,
        })
    }

    /// The next runs; None if there are no more.
    fn batch(&mut self, schema: &SchemaRef, most: usize) -> Result<Option<RecordBatch>> {
        let mut times: Vec<i64> = Vec::with_capacity(most);
        for side in &mut self.columns {
            side.picked.reserve(most);
        }
        while self.left > 0 && times.len() < most {
            let Ahead { rows, dropped } = match self.ahead() {
                Ok(ahead) => ahead,
                Err(dry) => {
                    let values = self.columns[dry].chunk.turn()?.ok_or_else(|| {
                        ParquetError::EOF(format!("a column ends {} rows early", self.left))
                    })?;
                    // What is gathered are places in the values so far.
                    let others = !Arc::ptr_eq(&values, &self.columns[dry].values);
                    let gathered = match others && !times.is_empty() {
                        true => Some(self.gathered(schema, std::mem::take(&mut times))?),
                        false => None,
                    };
                    self.columns[dry].values = values;
                    if gathered.is_some() {
                        return Ok(gathered);
                    }
                    continue;
                }
            };
            for side in &mut self.columns {
                if !dropped {
                    side.picked.push(side.run.value);
                }
                side.run.rows -= rows;
            }
            times.extend((!dropped).then_some(i64::from(rows)));
            self.left -= i64::from(rows);
        }
        match times.is_empty() {
            true => Ok(None),
            false => self.gathered(schema, times).map(Some),
        }
    }

    /// As far as no column changes; or the first column that has come to the end of its page.
    fn ahead(&mut self) -> std::result::Result<Ahead, usize> {
        let mut ahead = Ahead {
            rows: u32::try_from(self.left).unwrap_or(u32::MAX),
            dropped: false,
        };
        for (at, side) in self.columns.iter_mut().enumerate() {
            while side.run.rows == 0 {
                side.run = side.chunk.run().ok_or(at)?;
            }
            ahead.rows = ahead.rows.min(side.run.rows);
            ahead.dropped |= side.needed && side.run.value == NULL;
        }
        Ok(ahead)
    }

    fn gathered(&mut self, schema: &SchemaRef, times: Vec<i64>) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.columns.len() + 1);
        for side in &mut self.columns {
            let picked = std::mem::take(&mut side.picked);
            let places = match !side.needed && picked.contains(&NULL) {
                true => {
                    let valid = |row: usize| picked[row] != NULL;
                    let valid = NullBuffer::new(BooleanBuffer::collect_bool(picked.len(), valid));
                    // To some functions of Arrow also places of no value must be within the values.
                    let within = picked.iter().map(|at| if *at == NULL { 0 } else { *at });
                    UInt32Array::new(within.collect::<Vec<_>>().into(), Some(valid))
                }
                false => picked.into(),
            };
            columns.push(take(&side.values, &places, None)?);
        }
        columns.push(Arc::new(Int64Array::from(times)));
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;
    use datafusion::arrow::array::{BooleanArray, StringArray};
    use datafusion::parquet::arrow::ArrowWriter;
    use datafusion::parquet::file::metadata::ParquetMetaDataReader;
    use datafusion::parquet::file::properties::{WriterProperties, WriterVersion};

    /// A file of one row group, its footer, and what its columns are.
    fn file(random: &mut Random) -> (Vec<u8>, ParquetMetaData, SchemaRef) {
        let keys: Vec<i64> = (0..500).map(|row| row / random.int(1, 40) % 50).collect();
        let some = |key: &i64| (key % 6 > 0).then_some(*key);
        let text = keys
            .iter()
            .map(|key| Some(format!("a text of many letters {key}")));
        let columns: [(&str, ArrayRef); 3] = [
            ("n", Arc::new(keys.iter().map(some).collect::<Int64Array>())),
            ("text", Arc::new(text.collect::<StringArray>())),
            (
                "flag",
                Arc::new(
                    keys.iter()
                        .map(|key| Some(key % 2 > 0))
                        .collect::<BooleanArray>(),
                ),
            ),
        ];
        let rows = RecordBatch::try_from_iter(columns).unwrap();
        // A full dictionary is followed by values as they are, which the second version writes in ways that are not read here.
        let (version, dictionary) = *random.pick(&[
            (WriterVersion::PARQUET_1_0, 200),
            (WriterVersion::PARQUET_1_0, 100_000),
            (WriterVersion::PARQUET_2_0, 100_000),
        ]);
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(50)
            .set_dictionary_page_size_limit(dictionary);
        let mut bytes = vec![];
        let mut writer =
            ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties.build())).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let footer = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone()));
        (bytes, footer.unwrap(), scanned(&rows.schema()))
    }

    /// How many rows it has.
    fn read(bytes: &Bytes, footer: &ParquetMetaData, schema: &SchemaRef) -> Result<i64> {
        let group = footer.row_group(0);
        let part = |leaf: usize| {
            let place = place(group.column(leaf))?;
            Ok(bytes.slice(place.start as usize..place.end as usize))
        };
        let parts = (0..3).map(part).collect::<Result<Vec<_>>>()?;
        let times = Field::new("times", DataType::Int64, false);
        let fields = schema.fields().iter().cloned().chain([Arc::new(times)]);
        let with_times = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut rows = Rows::of(group, &[0, 1, 2], parts, &[false; 3], &with_times)?;
        let mut all = 0;
        while let Some(batch) = rows.batch(&with_times, 100)? {
            all += split_times(&batch)?.0.values().iter().sum::<i64>();
        }
        Ok(all)
    }

    #[test]
    fn wrong_bytes_are_refused_or_give_as_many_rows_but_do_no_harm() {
        let mut refused = 0;
        for case in 0..2000 {
            let mut random = Random::new(43, case);
            let (mut bytes, footer, schema) = file(&mut random);
            assert_eq!(read(&bytes.clone().into(), &footer, &schema).unwrap(), 500);
            let pages = place(footer.row_group(0).column(2)).unwrap().end as i64;
            for _ in 0..random.int(1, 4) {
                bytes[random.int(4, pages) as usize] = random.int(0, 256) as u8;
            }
            match read(&bytes.into(), &footer, &schema) {
                Ok(rows) => assert_eq!(rows, 500),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 200, "{refused}");
    }
}
