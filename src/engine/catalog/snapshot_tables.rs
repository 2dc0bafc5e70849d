//! What one version of a lake holds: its tables, of whose files a scan lists those that it needs.
//!
//! A lake of 10,000 ranges has 100,000 files. A table is known when a query names it, its files when it is scanned: all of its own, which are then
//! kept for the next scan, or those of the ranges that a filter on job_id leaves.

use crate::engine::scan::job_partitions::JobPartitions;
use crate::engine::scan::lake_table::{LakeTable, ScanFile, may_pass, scanned};
use crate::engine::session::options::Options;
use crate::error::{Error, Result};
use crate::lake::{DataFile, Store, Version};
use crate::table::{Partition, Table, table};
use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::path::Path;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::{HashMap, HashSet};
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// More partitions than these, each with its tasks, cost a scheduler more than they save: neighbouring ranges share one.
const PARTITIONS_MAX: usize = 1024;

/// One version of a lake, as scans need it.
pub(in crate::engine) struct SnapshotTables {
    pub(in crate::engine) version: Arc<Version>,
    url: ObjectStoreUrl,
    partitions: usize,
    /// Bytes of each range over all tables.
    bytes: Vec<u64>,
    /// How the ranges lie in so many partitions.
    jobs: Mutex<HashMap<usize, Arc<JobPartitions>>>,
    /// The tables of which all files are known, by name and number of partitions.
    whole: Mutex<HashMap<(String, usize), Arc<LakeTable>>>,
}

impl SnapshotTables {
    /// The files of a version, which lie under `url`, in so many partitions for a scan.
    ///
    /// # Errors
    /// [`Error::Columns`] or [`Error::Invalid`] if their list is damaged.
    pub(in crate::engine) fn new(
        version: Arc<Version>,
        url: ObjectStoreUrl,
        partitions: usize,
    ) -> Result<Self> {
        Ok(Self {
            bytes: version.range_bytes()?,
            version,
            url,
            partitions,
            jobs: Mutex::default(),
            whole: Mutex::default(),
        })
    }

    /// The partitions of a scan in this session: as many as threads; on a cluster one for each range, and no fewer than a repartition makes.
    fn partitions(&self, state: &dyn Session) -> usize {
        match Options::of(state.config_options()).partition_each_range {
            true => {
                let least = state.config_options().execution.target_partitions;
                self.bytes.len().min(PARTITIONS_MAX).max(least)
            }
            false => self.partitions,
        }
    }

    /// How the ranges lie in so many partitions.
    fn jobs(&self, partitions: usize) -> Arc<JobPartitions> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let pack = || JobPartitions::new(self.version.splits(), &self.bytes, partitions);
        let packed = jobs.entry(partitions).or_insert_with(|| Arc::new(pack()));
        packed.clone()
    }

    /// A table with all its files, if these are known.
    fn known(&self, name: &str, partitions: usize) -> Option<Arc<LakeTable>> {
        let whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.get(&(name.to_string(), partitions)).cloned()
    }

    /// A table with the files of some ranges, or with all of them, in so many partitions.
    fn listed(
        &self,
        of: &Table,
        ranges: Option<&[usize]>,
        partitions: usize,
    ) -> Result<Arc<LakeTable>> {
        let files = self.version.files_of(&of.name, ranges)?;
        let files = files.iter().map(|file| self.scan_file(file));
        let files = files.collect::<Result<Vec<_>>>()?;
        let (schema, url) = (scanned(&of.schema), self.url.clone());
        let listed = match of.partition {
            Partition::Day => LakeTable::of_days(schema, url, &files, partitions),
            _ => LakeTable::of_jobs(schema, url, &files, self.jobs(partitions))
                .map_err(|e| Error::columns(format!("table {}", of.name), e))?,
        };
        let listed = Arc::new(listed);
        if ranges.is_none() {
            let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
            whole.insert((of.name.clone(), partitions), listed.clone());
        }
        Ok(listed)
    }

    fn scan_file(&self, file: &DataFile) -> Result<ScanFile> {
        Ok(ScanFile {
            location: location(self.version.store(), file)?,
            bytes: file.bytes,
            rows: file.rows,
            jobs: file.job_id,
            start: file.start_time,
            time: file.time,
            fs: file.day.as_ref().map(|(fs, _)| fs.clone()),
            ost: file.ost,
            whole: table(&file.table).is_ok_and(|table| table.version == file.schema_version),
        })
    }
}

/// Where a data file lies for DataFusion.
fn location(store: &Store, file: &DataFile) -> Result<Path> {
    match store.local(&file.path) {
        None => Ok(Path::from(file.path.as_str())),
        Some(path) => Path::from_absolute_path(&path)
            .map_err(|e| Error::io(&path, "cannot read", std::io::Error::other(e))),
    }
}

/// A table of a version, whose files are listed when it is scanned.
pub(in crate::engine) struct ListedTable {
    contents: Arc<SnapshotTables>,
    table: &'static Table,
    schema: SchemaRef,
}

impl ListedTable {
    pub(in crate::engine) fn new(contents: Arc<SnapshotTables>, table: &'static Table) -> Self {
        Self {
            contents,
            table,
            schema: scanned(&table.schema),
        }
    }

    /// The ranges of job ids that filters leave; None if these are most of them, or their files cannot be read without the others.
    fn ranges(
        &self,
        state: &dyn Session,
        filters: &[Expr],
    ) -> datafusion::common::Result<Option<Vec<usize>>> {
        if self.table.partition == Partition::Day || !self.contents.version.has_pages() {
            return Ok(None);
        }
        let ranges = Ranges(self.contents.version.splits());
        let keep = may_pass(state, &self.schema, filters, &ranges)?;
        let kept = (0..keep.len()).filter(|range| keep[*range]);
        let kept: Vec<usize> = kept.collect();
        Ok((kept.len() < keep.len() / 2).then_some(kept))
    }
}

impl Debug for ListedTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "ListedTable({})", self.table.name)
    }
}

#[async_trait]
impl TableProvider for ListedTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// As [`LakeTable`] says.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> datafusion::common::Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let partitions = self.contents.partitions(state);
        let listed = match self.contents.known(&self.table.name, partitions) {
            Some(known) => known,
            None => {
                let ranges = self.ranges(state, filters)?;
                let listed = self
                    .contents
                    .listed(self.table, ranges.as_deref(), partitions);
                listed.map_err(crate::engine::error::external)?
            }
        };
        listed.scan(state, projection, filters, limit).await
    }
}

/// What is known of the jobs of a lake's ranges, by the points at which these are cut: one row a range.
struct Ranges<'a>(&'a [i64]);

impl Ranges<'_> {
    fn jobs(&self, column: &Column, bounds: impl Iterator<Item = Option<i64>>) -> Option<ArrayRef> {
        let jobs = || Arc::new(bounds.collect::<Int64Array>()) as ArrayRef;
        (column.name == "job_id").then(jobs)
    }
}

impl PruningStatistics for Ranges<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        let first = self.0.iter().map(|first| Some(*first));
        self.jobs(column, std::iter::once(None).chain(first))
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        let last = self.0.iter().map(|next| Some(next.saturating_sub(1)));
        self.jobs(column, last.chain(std::iter::once(None)))
    }

    fn num_containers(&self) -> usize {
        self.0.len() + 1
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let none = || Arc::new(UInt64Array::from(vec![0; self.num_containers()])) as ArrayRef;
        (column.name == "job_id").then(none)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::session::names::NO_LAKE;
    use crate::engine::session::state::{runtime, session_state};
    use crate::engine::tests::{batches, block_on, engine, lake, rows};
    use crate::lake::range_of;
    use datafusion::logical_expr::{col, lit};

    #[test]
    fn a_question_of_some_jobs_lists_the_files_of_their_ranges_alone() {
        let directory = tempfile::tempdir().unwrap();
        let lake = lake(directory.path(), 250, 1, 1);
        let version = lake.version_or(None, None).unwrap();
        let splits = version.splits().to_vec();
        assert!(version.has_pages(), "{} ranges", splits.len());
        let contents = SnapshotTables::new(version, ObjectStoreUrl::local_filesystem(), 2).unwrap();
        let contents = Arc::new(contents);
        let listed = ListedTable::new(contents.clone(), table("darshan_file").unwrap());
        let state = session_state(2, None, NO_LAKE, runtime(2, None).unwrap());
        let ranges = |filters: &[Expr]| listed.ranges(&state, filters).unwrap();
        let job = |at: usize| lit(splits[at]);
        assert_eq!(ranges(&[col("job_id").eq(job(7))]), Some(vec![8]));
        assert_eq!(ranges(&[col("job_id").lt(job(0))]), Some(vec![0]));
        let last = col("job_id").gt(lit(i64::MAX - 1));
        assert_eq!(ranges(&[last]), Some(vec![splits.len()]));
        let between = [col("job_id").gt_eq(job(3)), col("job_id").lt(job(5))];
        assert_eq!(ranges(&between), Some(vec![4, 5]));
        let two = col("job_id").in_list(vec![job(9), job(2)], false);
        assert_eq!(ranges(&[two, col("path").is_not_null()]), Some(vec![3, 10]));
        // Most of them, or nothing known.
        assert_eq!(ranges(&[col("job_id").gt(job(3))]), None);
        assert_eq!(ranges(&[col("bytes_read").gt(lit(0i64))]), None);
        assert_eq!(ranges(&[]), None);

        let of = |at: usize| {
            contents
                .version
                .files_of("darshan_file", Some(&[at]))
                .unwrap()
        };
        assert!(
            of(8)
                .iter()
                .all(|file| range_of(&splits, file.job_id.unwrap().0) == 8)
        );
        // The same answers from parts of the list as from all of it.
        block_on(async {
            let (fresh, whole) = (engine(&lake, 2), engine(&lake, 2));
            let all =
                "SELECT count(*) FROM darshan_file f JOIN darshan_log l USING (job_id, log_id)";
            batches(&whole, all).await.unwrap();
            for job in splits.iter().step_by(40) {
                let sql = format!("{all} WHERE l.job_id = {job}");
                let expected = rows(&batches(&whole, &sql).await.unwrap());
                assert_ne!(expected, ["0"]);
                assert_eq!(rows(&batches(&fresh, &sql).await.unwrap()), expected);
            }
        });
    }
}
