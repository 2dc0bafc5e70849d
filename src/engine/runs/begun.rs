//! What a node has read of its input before it leaves the rest, and these rows, to a node of DataFusion.

use super::SAMPLE;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Display, Formatter};
use std::sync::{Arc, Mutex};

/// Rows that have begun to come, as a leaf of a plan.
pub(super) struct Begun {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl Begun {
    /// A plan that gives the rows once, as this partition.
    pub(super) fn plan(
        rows: SendableRecordBatchStream,
        partition: usize,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = rows.schema();
        let begun: Arc<dyn PartitionStream> = Arc::new(Self {
            schema: schema.clone(),
            rows: Mutex::new(Some(rows)),
        });
        let partitions = vec![begun; partition + 1];
        let plan = StreamingTableExec::try_new(schema, partitions, None, [], false, None)?;
        Ok(Arc::new(plan))
    }
}

impl Debug for Begun {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begun")
    }
}

impl PartitionStream for Begun {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(|e| e.into_inner()).take();
        rows.unwrap_or_else(|| batches(self.schema.clone(), vec![]))
    }
}

/// The first rows, enough to see whether they come in runs, and all rows.
pub(super) async fn begin(
    mut rows: SendableRecordBatchStream,
) -> Result<(Vec<RecordBatch>, SendableRecordBatchStream)> {
    let (mut first, mut count): (Vec<RecordBatch>, _) = (vec![], 0);
    while count < SAMPLE
        && let Some(batch) = rows.try_next().await?
    {
        count += batch.num_rows();
        first.push(batch);
    }
    let schema = rows.schema();
    let rows = stream::iter(first.clone().into_iter().map(Ok)).chain(rows);
    Ok((first, Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// How a node of DataFusion shows itself.
pub(super) struct Shown<'a>(pub(super) &'a dyn DisplayAs, pub(super) DisplayFormatType);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt_as(self.1, f)
    }
}

/// Batches that are there, as they would come.
pub(super) fn batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> SendableRecordBatchStream {
    let batches = stream::iter(batches.into_iter().map(Ok));
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}
