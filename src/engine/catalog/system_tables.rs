//! Tables whose rows are what a lake knows of itself: `lake_input`, `lake_file`, `lake_version`, `lake_mount`.
//!
//! Their rows are made when a query scans them, not when it names them: a lake may know a million inputs.

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// Rows of one piece: small enough to be worked on by several threads.
const PIECE: usize = 8192;

/// Makes the rows; called once for each scan, on a thread that may wait for files.
type Rows = Arc<dyn Fn() -> crate::Result<RecordBatch> + Send + Sync>;

/// A table whose rows a function gives.
pub(crate) struct LakeRows {
    schema: SchemaRef,
    rows: Rows,
}

impl LakeRows {
    /// `rows` gives a batch of `schema`.
    pub(crate) fn new(
        schema: SchemaRef,
        rows: impl Fn() -> crate::Result<RecordBatch> + Send + Sync + 'static,
    ) -> Self {
        Self {
            schema,
            rows: Arc::new(rows),
        }
    }
}

impl Debug for LakeRows {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "LakeRows({} columns)", self.schema.fields().len())
    }
}

#[async_trait]
impl TableProvider for LakeRows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.rows.clone();
        let batch = tokio::task::spawn_blocking(move || rows())
            .await
            .map_err(|e| exec_datafusion_err!("{e}"))?;
        let batch = batch.map_err(crate::engine::error::external)?;
        // The manifest may have been written by a version of the program with fewer columns or other metadata.
        let batch = batch.with_schema(self.schema.clone())?;
        let mut partitions =
            vec![vec![]; state.config_options().execution.target_partitions.max(1)];
        let count = partitions.len();
        for (i, from) in (0..batch.num_rows()).step_by(PIECE).enumerate() {
            partitions[i % count].push(batch.slice(from, PIECE.min(batch.num_rows() - from)));
        }
        partitions.retain(|partition| !partition.is_empty());
        if partitions.is_empty() {
            partitions.push(vec![]);
        }
        Ok(MemorySourceConfig::try_new_exec(
            &partitions,
            self.schema.clone(),
            projection.cloned(),
        )?)
    }
}
