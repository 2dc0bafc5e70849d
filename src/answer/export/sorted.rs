//! Rows in another order, by the engine: they spill within its memory.

use crate::engine::{Engine, Rows};
use crate::error::Result;
use crate::table::{Partition, Table};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::functions::expr_fn::date_trunc;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{col, ident, lit};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// Rows that come from a thread.
struct Incoming {
    schema: SchemaRef,
    rows: Mutex<Option<mpsc::Receiver<Result<RecordBatch>>>>,
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Incoming")
    }
}

impl PartitionStream for Incoming {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().ok().and_then(|mut rows| rows.take());
        let rows = futures::stream::unfold(rows, |rows| async {
            let mut rows = rows?;
            let batch = rows.recv().await?;
            let batch = batch.map_err(|e| DataFusionError::External(Box::new(e)));
            Some((batch, Some(rows)))
        });
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), rows))
    }
}

/// The rows of a table in its order.
///
/// # Errors
/// Those of the rows; [`Error::Invalid`] if the memory does not suffice.
pub(super) async fn sorted(
    engine: &Engine,
    table: &Table,
    rows: mpsc::Receiver<Result<RecordBatch>>,
) -> Result<Rows> {
    let incoming = Incoming {
        schema: table.schema.clone(),
        rows: Mutex::new(Some(rows)),
    };
    let failed = |e: DataFusionError| engine.error(e);
    let source = StreamingTable::try_new(table.schema.clone(), vec![Arc::new(incoming)]);
    let frame = source
        .and_then(|source| engine.context().read_table(Arc::new(source)))
        .map_err(failed)?;
    let mut order = vec![];
    for column in table.order() {
        order.push(ident(column).sort(true, false));
        // A file holds the samples of a file system and day.
        if table.partition == Partition::Day && column == "fs" {
            order.push(date_trunc(lit("day"), col("time")).sort(true, false));
        }
    }
    let frame = frame.sort(order).map_err(failed)?;
    engine.run_frame(frame).await
}
