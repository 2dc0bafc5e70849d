//! The rows of one table of a lake version, cut by job id or by day.
//!
//! All tables of a version that are cut by job id are scanned in the same [`JobPartitions`]: partition `p` of each holds the same jobs. The scan says so
//! (`Partitioning::Range` on job_id), and joins and groupings by job_id need no repartition.
//!
//! It does not say that each partition is sorted by job_id, though it is: [`crate::engine::planning::drop_join_ordering`] tells what DataFusion 55.2 makes of
//! the joins of sorted inputs, and the less it is told the less it can get wrong.
//!
//! Tables cut by day have a file for each file system and day, which time and file system in a filter leave out.
//!
//! Planning opens no file: rows, bytes and bounds come from the manifest.

use super::job_partitions::JobPartitions;
use super::projected_metadata::Footers;
use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, StringViewArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DFSchema, Result, ScalarValue, Statistics, exec_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::object_store::ObjectMeta;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    LexOrdering, Partitioning, PhysicalSortExpr, RangePartitioning, SplitPoint,
};
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashSet;
use std::sync::Arc;

/// One data file, as the manifest lists it. Bounds are inclusive.
#[derive(Clone, Debug)]
pub(crate) struct ScanFile {
    /// Where it lies in the store.
    pub(crate) location: Path,
    /// Size.
    pub(crate) bytes: u64,
    /// Rows.
    pub(crate) rows: u64,
    /// Least and greatest job id, if the table has one.
    pub(crate) jobs: Option<(i64, i64)>,
    /// Least and greatest `start_time`, microseconds since 1970, UTC; None if the table has no such column.
    pub(crate) start: Option<(i64, i64)>,
    /// Least and greatest `time`, if the table has one.
    pub(crate) time: Option<(i64, i64)>,
    /// File system of all its rows, if the table is cut by it.
    pub(crate) fs: Option<String>,
    /// The target on which it was placed, if it was.
    pub(crate) ost: Option<i64>,
    /// Whether it has all columns that the table has: none was added since it was written.
    pub(crate) whole: bool,
}

/// The target on which a file of a scan was placed: an extension of [`PartitionedFile`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileOst(pub(crate) i64);

/// The columns of a table as a scan gives them: text and bytes as views, which point into the pages that were read. Equal text
/// of a page is then there once, and grouping and comparing look at its first bytes alone.
pub(crate) fn scanned(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        DataType::Binary => Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView)),
        _ => field.clone(),
    });
    let metadata = schema.metadata().clone();
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        metadata,
    ))
}

/// A table over an explicit list of Parquet files, which may be empty.
#[derive(Debug)]
pub(crate) struct LakeTable {
    schema: SchemaRef,
    url: ObjectStoreUrl,
    /// The partition of each file, and the file; by job id, or by file system and time.
    files: Vec<(usize, ScanFile)>,
    partitions: Partitions,
}

/// What is known of the partitions.
#[derive(Debug)]
enum Partitions {
    /// They are cut by job id.
    Jobs(Arc<JobPartitions>),
    /// So many, of whole days.
    Days(usize),
}

impl Partitions {
    fn count(&self) -> usize {
        match self {
            Self::Jobs(jobs) => jobs.partitions(),
            Self::Days(partitions) => *partitions,
        }
    }
}

impl LakeTable {
    /// The table whose rows are those of `files`.
    ///
    /// # Errors
    /// If a file holds jobs of two partitions, which the lake's ranges rule out.
    pub(crate) fn of_jobs(
        schema: SchemaRef,
        url: ObjectStoreUrl,
        files: &[ScanFile],
        jobs: Arc<JobPartitions>,
    ) -> Result<Self> {
        let placed = |file: &ScanFile| {
            let Some((least, most)) = file.jobs else {
                return exec_err!("{} lacks its bounds of job_id", file.location);
            };
            match (jobs.partition(least), jobs.partition(most)) {
                (first, last) if first == last => Ok((first, file.clone())),
                _ => exec_err!(
                    "{} holds the jobs {least} to {most}, which lie in two ranges",
                    file.location
                ),
            }
        };
        let mut files = files.iter().map(placed).collect::<Result<Vec<_>>>()?;
        files.sort_by_key(|(_, file)| file.jobs);
        Ok(Self {
            schema,
            url,
            files,
            partitions: Partitions::Jobs(jobs),
        })
    }

    /// The table cut by day whose rows are those of `files`, in at most `partitions` partitions of about equal bytes.
    pub(crate) fn of_days(
        schema: SchemaRef,
        url: ObjectStoreUrl,
        files: &[ScanFile],
        partitions: usize,
    ) -> Self {
        let mut files = files.to_vec();
        files.sort_by(|a, b| (&a.fs, a.time).cmp(&(&b.fs, b.time)));
        let partitions = partitions.min(files.len()).max(1);
        let all: u64 = files.iter().map(|file| file.bytes).sum();
        let mut before = 0;
        let placed = files.into_iter().map(|file| {
            let middle = before + file.bytes / 2;
            before += file.bytes;
            let partition = (middle as u128 * partitions as u128 / u128::from(all.max(1))) as usize;
            (partition.min(partitions - 1), file)
        });
        Self {
            schema,
            url,
            files: placed.collect(),
            partitions: Partitions::Days(partitions),
        }
    }

    /// The columns that a scan has to know of, as positions of the table: those that it gives, job_id, by which partitions are cut, and in any
    /// case one.
    fn known(&self, projection: Option<&Vec<usize>>) -> Vec<usize> {
        let all = 0..self.schema.fields().len();
        let Some(projection) = projection else {
            return all.collect();
        };
        let job = self.schema.index_of("job_id").unwrap_or(0);
        all.filter(|at| projection.contains(at) || *at == job)
            .collect()
    }

    /// How the rows of a scan of these columns lie in its partitions.
    fn partitioning(&self, schema: &Schema) -> Result<Option<Partitioning>> {
        let Partitions::Jobs(jobs) = &self.partitions else {
            return Ok(None);
        };
        let job = Column::new_with_schema("job_id", schema)?;
        let job = PhysicalSortExpr::new_default(Arc::new(job));
        let order = LexOrdering::from([job.asc().nulls_last()]);
        let point = |cut: &i64| SplitPoint::new(vec![ScalarValue::Int64(Some(*cut))]);
        let points = jobs.points().iter().map(point).collect();
        RangePartitioning::try_new(order, points).map(|range| Some(Partitioning::Range(range)))
    }

    /// What reads these columns of a file.
    fn source(
        &self,
        state: &dyn Session,
        schema: &SchemaRef,
        filters: &[Expr],
    ) -> Result<ParquetSource> {
        let mut options = state.default_table_options().parquet;
        options.global.pushdown_filters |= filters.iter().any(singles_out);
        // No file of a lake has one, and DataFusion prunes by what it has not read all the same.
        options.global.bloom_filter_on_read = false;
        let hint = options.global.metadata_size_hint;
        let read = cached_files(state.runtime_env(), &self.url)?;
        let source = ParquetSource::new(schema.clone())
            .with_table_parquet_options(options)
            .with_parquet_file_reader_factory(match schema.fields() == self.schema.fields() {
                true => Arc::new(read),
                false => Arc::new(Footers::new(read, schema)),
            });
        Ok(match hint {
            Some(hint) => source.with_metadata_size_hint(hint),
            None => source,
        })
    }
}

/// Files whose footers are kept.
fn cached_files(
    runtime: &RuntimeEnv,
    url: &ObjectStoreUrl,
) -> Result<CachedParquetFileReaderFactory> {
    Ok(CachedParquetFileReaderFactory::new(
        runtime.object_store(url)?,
        runtime.cache_manager.get_file_metadata_cache(),
    ))
}

/// A plan that came from another process, whose scans of Parquet files read them as [`LakeTable`]'s do: footers are kept, and cut to the columns that are asked for.
///
/// # Errors
/// If there is no store for the files.
#[cfg(feature = "cluster")]
pub(crate) fn with_readers(
    plan: Arc<dyn ExecutionPlan>,
    runtime: &RuntimeEnv,
) -> Result<Arc<dyn ExecutionPlan>> {
    use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
    use datafusion::datasource::physical_plan::FileScanConfig;
    plan.transform_up(|node| {
        let scan = node.downcast_ref::<DataSourceExec>();
        let source = scan.map(|scan| scan.data_source().as_ref() as &dyn std::any::Any);
        let Some(files) = source.and_then(|source| source.downcast_ref::<FileScanConfig>()) else {
            return Ok(Transformed::no(node));
        };
        let format = files.file_source().as_ref() as &dyn std::any::Any;
        let Some(parquet) = format.downcast_ref::<ParquetSource>() else {
            return Ok(Transformed::no(node));
        };
        let read = cached_files(runtime, &files.object_store_url)?;
        let read = Footers::new(read, files.file_schema());
        let parquet = parquet
            .clone()
            .with_parquet_file_reader_factory(Arc::new(read));
        let files = FileScanConfigBuilder::from(files.clone()).with_source(Arc::new(parquet));
        Ok(Transformed::yes(DataSourceExec::from_data_source(
            files.build(),
        )))
    })
    .data()
}

/// A file as DataFusion lists it, of which a scan knows these columns.
fn listed(file: &ScanFile, schema: &SchemaRef) -> PartitionedFile {
    // No file is ever written anew under its name, so no date is needed to tell its versions apart.
    let meta = ObjectMeta {
        location: file.location.clone(),
        last_modified: chrono::DateTime::UNIX_EPOCH,
        size: file.bytes,
        e_tag: None,
        version: None,
    };
    let listed = PartitionedFile::new_from_meta(meta);
    let listed = listed.with_statistics(Arc::new(overall(schema, [file])));
    let listed = match file.ost {
        Some(ost) => listed.with_extension(FileOst(ost)),
        None => listed,
    };
    match file.whole {
        // Then nobody has to read from the file what its columns are.
        true => listed.with_arrow_schema(schema.clone()),
        false => listed,
    }
}

/// For each part of a table, a file or a range, whether a row of it may pass the filters, by the bounds of the part alone.
///
/// # Errors
/// If a filter does not fit the columns.
pub(in crate::engine) fn may_pass(
    state: &dyn Session,
    schema: &SchemaRef,
    filters: &[Expr],
    parts: &dyn PruningStatistics,
) -> Result<Vec<bool>> {
    let all = vec![true; parts.num_containers()];
    let Some(filter) = conjunction(filters.to_vec()) else {
        return Ok(all);
    };
    let filter = state.create_physical_expr(filter, &DFSchema::try_from(schema.clone())?)?;
    let most = state.config_options().execution.parquet.max_in_list_size;
    let builder = PruningPredicateBuilder::new()
        .with_file_schema(schema.clone())
        .with_max_in_list_size(most);
    match builder.build(filter) {
        Some(predicate) => predicate.prune(parts),
        None => Ok(all),
    }
}

/// What is known of some files together.
fn overall<'a>(schema: &Schema, files: impl IntoIterator<Item = &'a ScanFile>) -> Statistics {
    let mut statistics = Statistics::new_unknown(schema);
    let (mut rows, mut bytes, mut jobs, mut starts, mut times) = (0, 0, vec![], vec![], vec![]);
    let (mut systems, mut targets) = (vec![], 0);
    for file in files {
        targets = targets.max(targets_of(file));
        rows += file.rows;
        bytes += file.bytes;
        jobs.push(file.jobs);
        starts.push(file.start);
        times.push(file.time);
        systems.push(file.fs.as_deref());
    }
    statistics.num_rows = Precision::Exact(rows as usize);
    if starts.is_empty() {
        return statistics;
    }
    statistics.total_byte_size = Precision::Inexact(bytes as usize);
    let mut set = |name: &str, bounds: Option<(ScalarValue, ScalarValue)>| {
        let (Ok(i), Some((min, max))) = (schema.index_of(name), bounds) else {
            return;
        };
        let nulls = if schema.field(i).is_nullable() {
            Precision::Absent
        } else {
            Precision::Exact(0)
        };
        statistics.column_statistics[i] = ColumnStatistics::new_unknown()
            .with_null_count(nulls)
            .with_min_value(Precision::Exact(min))
            .with_max_value(Precision::Exact(max));
    };
    // Of all files together, if each says it.
    let reach = |bounds: Vec<Option<(i64, i64)>>| {
        let bounds: Option<Vec<_>> = bounds.into_iter().collect();
        let widest = |(min, max): (i64, i64), (low, high)| (min.min(low), max.max(high));
        bounds.unwrap_or_default().into_iter().reduce(widest)
    };
    let scalar = |v| ScalarValue::Int64(Some(v));
    let job = reach(jobs).map(|(min, max)| (scalar(min), scalar(max)));
    set("job_id", job);
    let time = |v| ScalarValue::TimestampMicrosecond(Some(v), Some("UTC".into()));
    let start = reach(starts).map(|(min, max)| (time(min), time(max)));
    set("start_time", start);
    let stamp = reach(times).map(|(min, max)| (time(min), time(max)));
    set("time", stamp);
    // Where the least and the greatest are equal, DataFusion takes the column for a constant, and does not read it.
    let least = systems.iter().min().copied().flatten();
    if let Some((least, most)) = least.zip(systems.iter().max().copied().flatten()) {
        let name = |name: &str| ScalarValue::Utf8View(Some(name.to_string()));
        set("fs", Some((name(least), name(most))));
        let names: HashSet<_> = systems.iter().flatten().collect();
        let mut distinct = |name: &str, values: usize| {
            if let Ok(i) = schema.index_of(name) {
                statistics.column_statistics[i].distinct_count = Precision::Inexact(values);
            }
        };
        distinct("fs", names.len());
        for target in TARGETS {
            distinct(target, targets);
        }
    }
    statistics
}

/// Columns of which LMT writes a row for each value every 5 s.
const TARGETS: [&str; 3] = ["ost", "mdt", "oss"];

/// Microseconds between two samples of a target.
const SAMPLE: i64 = 5_000_000;

/// About how many targets or servers a file of LMT has, by the time that its rows span.
fn targets_of(file: &ScanFile) -> usize {
    let samples = file
        .time
        .map(|(first, last)| last.saturating_sub(first) / SAMPLE + 1);
    samples.map_or(1, |samples| {
        (file.rows / samples.unsigned_abs().max(1)).max(1) as usize
    })
}

/// Whether few rows can be expected to pass a filter. Then the reader itself filters, and decodes the other columns of those rows
/// alone; where most rows pass, that is slower than filtering all columns at once.
fn singles_out(filter: &Expr) -> bool {
    match filter {
        Expr::BinaryExpr(both) if both.op == Operator::And => {
            singles_out(&both.left) || singles_out(&both.right)
        }
        // What is left of a short list.
        Expr::BinaryExpr(either) if either.op == Operator::Or => {
            singles_out(&either.left) && singles_out(&either.right)
        }
        Expr::BinaryExpr(equal) if equal.op == Operator::Eq => matches!(
            (equal.left.as_ref(), equal.right.as_ref()),
            (Expr::Column(_), Expr::Literal(..)) | (Expr::Literal(..), Expr::Column(_))
        ),
        Expr::InList(list) => !list.negated,
        Expr::Like(like) => !like.negated,
        _ => false,
    }
}

/// The bounds of a table's files as columns, one row a file.
struct Bounds<'a>(&'a LakeTable);

impl Bounds<'_> {
    fn column(&self, name: &str, side: impl Fn((i64, i64)) -> i64) -> Option<ArrayRef> {
        let i = self.0.schema.index_of(name).ok()?;
        let files = self.0.files.iter().map(|(_, file)| file);
        match (name, self.0.schema.field(i).data_type()) {
            ("job_id", DataType::Int64) => {
                let jobs: Int64Array = files.map(|file| file.jobs.map(&side)).collect();
                Some(Arc::new(jobs))
            }
            ("start_time" | "time", DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
                let of = |file: &ScanFile| {
                    if name == "time" {
                        file.time
                    } else {
                        file.start
                    }
                };
                let times: TimestampMicrosecondArray =
                    files.map(|file| of(file).map(&side)).collect();
                Some(Arc::new(times.with_timezone_opt(zone.clone())))
            }
            ("fs", DataType::Utf8View) if matches!(self.0.partitions, Partitions::Days(_)) => {
                let names: StringViewArray = files.map(|file| file.fs.as_deref()).collect();
                Some(Arc::new(names))
            }
            _ => None,
        }
    }
}

impl PruningStatistics for Bounds<'_> {
    fn min_values(&self, column: &datafusion::common::Column) -> Option<ArrayRef> {
        self.column(&column.name, |(min, _)| min)
    }

    fn max_values(&self, column: &datafusion::common::Column) -> Option<ArrayRef> {
        self.column(&column.name, |(_, max)| max)
    }

    fn num_containers(&self) -> usize {
        self.0.files.len()
    }

    fn null_counts(&self, column: &datafusion::common::Column) -> Option<ArrayRef> {
        (column.name == "job_id")
            .then(|| Arc::new(UInt64Array::from(vec![0; self.0.files.len()])) as ArrayRef)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from_iter_values(
            self.0.files.iter().map(|(_, file)| file.rows),
        )))
    }

    fn contained(
        &self,
        _: &datafusion::common::Column,
        _: &HashSet<ScalarValue>,
    ) -> Option<BooleanArray> {
        None
    }
}

#[async_trait]
impl TableProvider for LakeTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Inexact: files, row groups and pages are left out, rows are filtered above the scan.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let keep = may_pass(state, &self.schema, filters, &Bounds(self))?;
        // Whole files suffice for a bare LIMIT. Leaving out a file may empty a partition, never remove it: the others would
        // move, and the tables would no longer lie beside each other.
        let enough = if filters.is_empty() {
            limit.map_or(u64::MAX, |n| n as u64)
        } else {
            u64::MAX
        };
        let (mut kept, mut rows) = (vec![], 0);
        for ((partition, file), keep) in self.files.iter().zip(keep) {
            if keep && rows < enough {
                rows += file.rows;
                kept.push((*partition, file));
            }
        }
        // Of a file that lacks columns a scan must find out which.
        let whole = kept.iter().all(|(_, file)| file.whole);
        let known = self.known(projection.filter(|_| whole));
        let schema = Arc::new(self.schema.project(&known)?);
        let mut partitions = vec![vec![]; self.partitions.count()];
        for (partition, file) in &kept {
            partitions[*partition].push(listed(file, &schema));
        }
        let place = |at: &usize| known.iter().position(|known| known == at);
        let asked = projection.map(|asked| asked.iter().filter_map(place).collect());
        let source = self.source(state, &schema, filters)?;
        let files = kept.into_iter().map(|(_, file)| file);
        let config = FileScanConfigBuilder::new(self.url.clone(), Arc::new(source))
            .with_file_groups(partitions.into_iter().map(FileGroup::new).collect())
            .with_statistics(overall(&schema, files))
            .with_projection_indices(asked)?
            .with_limit(limit)
            .with_output_partitioning(self.partitioning(&schema)?)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
