//! The nodes and data files that a plan may have.
//!
//! A plan comes from whoever has the keys of the cluster, and is decoded before it is looked at. DataFusion's decoder makes nodes that write files and read any file
//! of any format; a cluster of iolode runs queries over its lakes alone. The scheduler looks at a plan as a whole, each executor at its stage and, when a file is
//! opened, at its path ([`LakeFiles`]).

use crate::engine::parts::LocalFiles;
use crate::error::{Error, Result};
use crate::lake::Lake;
use async_trait::async_trait;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result as PlanResult, exec_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileScanConfig, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result as StoreResult,
};
use datafusion::physical_plan::ExecutionPlan;
use futures::stream::{BoxStream, StreamExt};
use std::any::Any;
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::path::{Component, PathBuf};
use std::sync::Arc;

/// The nodes of queries: DataFusion's, Ballista's and ours, by their names. None of them writes, or reads but through a scan, except `ConvertRangesExec`, which reads
/// logs and writes data files of a lake of its executor.
const NODES: &[&str] = &[
    "AggregateExec",
    "AlignedUnionExec",
    "BoundedWindowAggExec",
    "CoalesceBatchesExec",
    "CoalescePartitionsExec",
    "ConvertRangesExec",
    "CooperativeExec",
    "CrossJoinExec",
    "DeclarePartitioningExec",
    "DropOrderingExec",
    "EmptyExec",
    "FilterExec",
    "GlobalLimitExec",
    "HashJoinExec",
    "InterleaveExec",
    "LocalLimitExec",
    "NestedLoopJoinExec",
    "OpaqueExec",
    "PartialSortExec",
    "PlaceholderRowExec",
    "ProjectionExec",
    "RepartitionExec",
    "ShuffleReaderExec",
    "ShuffleWriterExec",
    "SinglePartitionExec",
    "SortExec",
    "SortExec(TopK)",
    "SortMergeJoinExec",
    "SortPreservingMergeExec",
    "SortShuffleWriterExec",
    "UnionExec",
    "UnnestExec",
    "WindowAggExec",
];

/// Refuses a plan with another node than those of queries, or a scan of anything but Parquet files of this machine and rows in the plan.
///
/// # Errors
/// The node or the scan.
pub(crate) fn check(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<()> {
    plan.apply(|node| {
        match node.downcast_ref::<DataSourceExec>() {
            Some(scan) => check_scan(scan)?,
            None if NODES.contains(&node.name()) => (),
            None => return exec_err!("a plan with {} does not run on a cluster", node.name()),
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn check_scan(scan: &DataSourceExec) -> PlanResult<()> {
    let source: &dyn Any = scan.data_source().as_ref();
    if source.is::<MemorySourceConfig>() {
        return Ok(());
    }
    let Some(files) = source.downcast_ref::<FileScanConfig>() else {
        return exec_err!("a plan with a scan of another source does not run on a cluster");
    };
    let format: &dyn Any = files.file_source().as_ref();
    match format.is::<ParquetSource>() && files.object_store_url.as_str() == "file:///" {
        true => Ok(()),
        false => exec_err!(
            "a scan of {} does not run on a cluster, for executors read Parquet files of lakes",
            files.object_store_url
        ),
    }
}

/// The data files of some lakes, to be read.
#[derive(Debug)]
pub(crate) struct LakeFiles {
    files: Arc<dyn ObjectStore>,
    directories: Vec<PathBuf>,
}

impl LakeFiles {
    /// Those of these lakes.
    ///
    /// # Errors
    /// Those of the lakes.
    pub(crate) fn new(lakes: &[Lake]) -> Result<Self> {
        let mut directories = vec![];
        for lake in lakes {
            for directory in lake.data_directories()? {
                // Where it leads now: a link that is put into a lake later leads nowhere.
                let real = directory.canonicalize();
                directories.push(real.map_err(|e| Error::io(&directory, "cannot read", e))?);
            }
        }
        Ok(Self {
            files: Arc::new(LocalFiles::default()),
            directories,
        })
    }

    /// Refuses a path that is no data file of these lakes.
    fn check(&self, location: &Path) -> StoreResult<()> {
        let refused = |why: &str| {
            Err(StoreError::Generic {
                store: "LakeFiles",
                source: format!("/{location}: {why}").into(),
            })
        };
        let path = PathBuf::from(format!("/{location}"));
        if path.components().any(|part| part == Component::ParentDir)
            || path.extension().is_none_or(|ending| ending != "parquet")
        {
            return refused("not a data file of a lake");
        }
        let Ok(real) = path.canonicalize() else {
            return Err(StoreError::NotFound {
                path: location.to_string(),
                source: "no such file".into(),
            });
        };
        let inside = |directory: &PathBuf| real.starts_with(directory);
        match self.directories.iter().any(inside) {
            true => Ok(()),
            false => refused("not a data file of a lake that this executor was started with"),
        }
    }
}

impl Display for LakeFiles {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("LakeFiles")
    }
}

/// What every change is answered with.
fn refused<T>() -> StoreResult<T> {
    Err(StoreError::NotImplemented {
        operation: "writing".into(),
        implementer: "LakeFiles".into(),
    })
}

#[async_trait]
impl ObjectStore for LakeFiles {
    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> StoreResult<Vec<bytes::Bytes>> {
        self.check(location)?;
        self.files.get_ranges(location, ranges).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.check(location)?;
        self.files.get_opts(location, options).await
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> StoreResult<PutResult> {
        refused()
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        refused()
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        futures::stream::iter([refused()]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        futures::stream::iter([refused()]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> StoreResult<ListResult> {
        refused()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> StoreResult<()> {
        refused()
    }
}
