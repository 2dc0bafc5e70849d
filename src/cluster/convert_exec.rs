//! A node that converts the logs of a range of a lake, for an ingest.

use crate::engine::parts::external;
use crate::lake::RangeConverter;
use datafusion::arrow::array::{AsArray, BinaryArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};
use std::fmt::Formatter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// A column of bytes: requests above, answers below.
pub(crate) static BYTES: LazyLock<SchemaRef> = LazyLock::new(|| {
    let bytes = Field::new("bytes", DataType::Binary, false);
    Arc::new(Schema::new(vec![bytes]))
});

/// The lakes of an executor, of which it converts ranges: an extension of its session.
pub(crate) struct Converters(pub(crate) Vec<RangeConverter>);

/// Answers each request of its input.
#[derive(Debug)]
pub(crate) struct ConvertRangesExec {
    input: Arc<dyn ExecutionPlan>,
    lake_id: String,
    /// The OST of the range.
    ost: Option<i64>,
    properties: Arc<PlanProperties>,
}

impl ConvertRangesExec {
    /// Of a lake, whose range lies on this OST.
    pub(crate) fn plan(
        input: Arc<dyn ExecutionPlan>,
        lake_id: String,
        ost: Option<i64>,
    ) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(BYTES.clone()),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Arc::new(Self {
            input,
            lake_id,
            ost,
            properties: Arc::new(properties),
        })
    }

    /// The lake's id.
    pub(crate) fn lake_id(&self) -> &str {
        &self.lake_id
    }

    /// The OST of the range.
    pub(crate) fn ost(&self) -> Option<i64> {
        self.ost
    }
}

impl DisplayAs for ConvertRangesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConvertRangesExec: lake={}", self.lake_id)
    }
}

/// Stops the conversion of a range when nobody waits for its answer any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The answers to the requests of a batch.
async fn answers(
    requests: RecordBatch,
    converters: Arc<Converters>,
    lake_id: String,
    memory: Arc<dyn MemoryPool>,
) -> Result<RecordBatch> {
    let stop = StopOnDrop(Arc::default());
    let cancel = stop.0.clone();
    let converted = tokio::task::spawn_blocking(move || {
        let of_lake = |of: &&RangeConverter| of.lake().id() == lake_id;
        let converter = converters.0.iter().find(of_lake).ok_or_else(|| {
            exec_datafusion_err!("this executor was not started with the lake {lake_id}")
        })?;
        // Statements that run beside it get that much less.
        let reservation = MemoryConsumer::new("ConvertRangesExec").register(&memory);
        reservation.grow(converter.memory_of_a_range());
        let Some(bytes) = requests.column(0).as_binary_opt::<i32>() else {
            return exec_err!("a request is no column of bytes");
        };
        let answers = bytes.iter().flatten().map(|request| {
            let answer = converter.convert(request, &cancel);
            answer.map_err(external)
        });
        answers.collect::<Result<Vec<_>>>()
    });
    let answers = converted
        .await
        .map_err(|e| DataFusionError::External(Box::new(e)))??;
    drop(stop);
    let answers = BinaryArray::from_iter_values(answers);
    Ok(RecordBatch::try_new(
        BYTES.clone(),
        vec![Arc::new(answers)],
    )?)
}

impl ExecutionPlan for ConvertRangesExec {
    fn name(&self) -> &str {
        "ConvertRangesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (lake_id, ost) = (self.lake_id.clone(), self.ost);
        Ok(Self::plan(children.swap_remove(0), lake_id, ost))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(converters) = context.session_config().get_extension::<Converters>() else {
            return exec_err!("ranges are converted by executors alone");
        };
        let (lake_id, memory) = (self.lake_id.clone(), context.memory_pool().clone());
        let requests = self.input.execute(partition, context)?;
        let answers = requests.and_then(move |requests| {
            answers(
                requests,
                converters.clone(),
                lake_id.clone(),
                memory.clone(),
            )
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            BYTES.clone(),
            answers.boxed(),
        )))
    }
}
