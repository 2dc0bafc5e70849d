//! The rows of one table of a lake version, cut by job id.
//!
//! All tables of a version are scanned in the same [`Cuts`]: group `g` of each holds the same jobs. The scan says so
//! (`Partitioning::Range` on job_id), and joins and groupings by job_id need no repartition.
//!
//! It does not say that each group is sorted by job_id, though it is: [`super::corrections::join_order`] tells what DataFusion 55.2 makes of
//! the joins of sorted inputs, and the less it is told the less it can get wrong.
//!
//! Planning opens no file: rows, bytes and bounds come from the manifest.

use super::cuts::Cuts;
use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DFSchema, Result, ScalarValue, Statistics, exec_err};
use datafusion::datasource::file_format::{FileFormat, parquet::ParquetFormat};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
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
    /// Least and greatest job id.
    pub(crate) jobs: (i64, i64),
    /// Least and greatest `start_time`, microseconds since 1970, UTC; None if the table has no such column.
    pub(crate) start: Option<(i64, i64)>,
}

/// A table over an explicit list of Parquet files, which may be empty.
#[derive(Debug)]
pub(crate) struct LakeTable {
    schema: SchemaRef,
    /// job_id, by which the groups are cut.
    order: LexOrdering,
    url: ObjectStoreUrl,
    /// The group of each file, and the file; by job id.
    files: Vec<(usize, ScanFile)>,
    cuts: Arc<Cuts>,
}

impl LakeTable {
    /// The table whose rows are those of `files`.
    ///
    /// # Errors
    /// If the table has no job_id, or a file holds jobs of two groups (which the lake's ranges rule out).
    pub(crate) fn try_new(
        schema: SchemaRef,
        url: ObjectStoreUrl,
        files: &[ScanFile],
        cuts: Arc<Cuts>,
    ) -> Result<Self> {
        let grouped = |file: &ScanFile| match (cuts.group(file.jobs.0), cuts.group(file.jobs.1)) {
            (first, last) if first == last => Ok((first, file.clone())),
            _ => exec_err!(
                "{} holds the jobs {} to {}, which lie in two ranges",
                file.location,
                file.jobs.0,
                file.jobs.1
            ),
        };
        let mut files = files.iter().map(grouped).collect::<Result<Vec<_>>>()?;
        files.sort_by_key(|(_, file)| file.jobs);
        let job = Column::new_with_schema("job_id", &schema)?;
        let job = PhysicalSortExpr::new_default(Arc::new(job))
            .asc()
            .nulls_last();
        Ok(Self {
            schema,
            order: LexOrdering::from([job]),
            url,
            files,
            cuts,
        })
    }

    /// For each file, whether a row of it may pass the filters, by its bounds alone.
    fn keep(&self, state: &dyn Session, filters: &[Expr]) -> Result<Vec<bool>> {
        let all = vec![true; self.files.len()];
        let Some(filter) = conjunction(filters.to_vec()) else {
            return Ok(all);
        };
        let filter =
            state.create_physical_expr(filter, &DFSchema::try_from(self.schema.clone())?)?;
        let most = state.config_options().execution.parquet.max_in_list_size;
        let builder = PruningPredicateBuilder::new()
            .with_file_schema(self.schema.clone())
            .with_max_in_list_size(most);
        match builder.build(filter) {
            Some(predicate) => predicate.prune(&Bounds(self)),
            None => Ok(all),
        }
    }

    /// What is known of some files together.
    fn overall<'a>(&self, files: impl IntoIterator<Item = &'a ScanFile>) -> Statistics {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let (mut rows, mut bytes, mut jobs, mut starts) = (0, 0, None, vec![]);
        for file in files {
            rows += file.rows;
            bytes += file.bytes;
            jobs = Some(jobs.map_or(file.jobs, |(min, max): (i64, i64)| {
                (min.min(file.jobs.0), max.max(file.jobs.1))
            }));
            starts.push(file.start);
        }
        statistics.num_rows = Precision::Exact(rows as usize);
        if starts.is_empty() {
            return statistics;
        }
        statistics.total_byte_size = Precision::Inexact(bytes as usize);
        let mut set = |name: &str, bounds: Option<(ScalarValue, ScalarValue)>| {
            let (Ok(i), Some((min, max))) = (self.schema.index_of(name), bounds) else {
                return;
            };
            let nulls = if self.schema.field(i).is_nullable() {
                Precision::Absent
            } else {
                Precision::Exact(0)
            };
            statistics.column_statistics[i] = ColumnStatistics::new_unknown()
                .with_null_count(nulls)
                .with_min_value(Precision::Exact(min))
                .with_max_value(Precision::Exact(max));
        };
        let scalar = |v| ScalarValue::Int64(Some(v));
        set("job_id", jobs.map(|(min, max)| (scalar(min), scalar(max))));
        let time = |v| ScalarValue::TimestampMicrosecond(Some(v), Some("UTC".into()));
        let starts = starts
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default();
        let start = starts
            .into_iter()
            .reduce(|(min, max), (low, high)| (min.min(low), max.max(high)));
        set("start_time", start.map(|(min, max)| (time(min), time(max))));
        statistics
    }
}

/// The bounds of a table's files as columns, one row a file.
struct Bounds<'a>(&'a LakeTable);

impl Bounds<'_> {
    fn column(&self, name: &str, side: impl Fn((i64, i64)) -> i64) -> Option<ArrayRef> {
        let i = self.0.schema.index_of(name).ok()?;
        let files = self.0.files.iter().map(|(_, file)| file);
        match (name, self.0.schema.field(i).data_type()) {
            ("job_id", DataType::Int64) => Some(Arc::new(Int64Array::from_iter_values(
                files.map(|file| side(file.jobs)),
            ))),
            ("start_time", DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
                let times: TimestampMicrosecondArray =
                    files.map(|file| file.start.map(&side)).collect();
                Some(Arc::new(times.with_timezone_opt(zone.clone())))
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

    fn statistics(&self) -> Option<Statistics> {
        Some(self.overall(self.files.iter().map(|(_, file)| file)))
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
        let keep = self.keep(state, filters)?;
        // Whole files suffice for a bare LIMIT. Leaving out a file may empty a group, never remove it: the others would
        // move, and the tables would no longer lie beside each other.
        let enough = if filters.is_empty() {
            limit.map_or(u64::MAX, |n| n as u64)
        } else {
            u64::MAX
        };
        let (mut groups, mut rows, mut kept) = (vec![vec![]; self.cuts.groups()], 0, vec![]);
        for ((group, file), keep) in self.files.iter().zip(keep) {
            if keep && rows < enough {
                rows += file.rows;
                kept.push(file);
                // No file is ever written anew under its name, so no date is needed to tell its versions apart.
                let meta = ObjectMeta {
                    location: file.location.clone(),
                    last_modified: chrono::DateTime::UNIX_EPOCH,
                    size: file.bytes,
                    e_tag: None,
                    version: None,
                };
                groups[*group].push(
                    PartitionedFile::new_from_meta(meta)
                        .with_statistics(Arc::new(self.overall([file]))),
                );
            }
        }
        let cuts = self
            .cuts
            .points()
            .iter()
            .map(|cut| SplitPoint::new(vec![ScalarValue::Int64(Some(*cut))]))
            .collect();
        let range = RangePartitioning::try_new(self.order.clone(), cuts)?;
        let config = FileScanConfigBuilder::new(
            self.url.clone(),
            Arc::new(ParquetSource::new(self.schema.clone())),
        )
        .with_file_groups(groups.into_iter().map(FileGroup::new).collect())
        .with_statistics(self.overall(kept))
        .with_projection_indices(projection.cloned())?
        .with_limit(limit)
        .with_output_partitioning(Some(Partitioning::Range(range)))
        .build();
        ParquetFormat::default()
            .with_options(state.default_table_options().parquet)
            .create_physical_plan(state, config)
            .await
    }
}
