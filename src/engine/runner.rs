//! Where a statement runs: in this process, or elsewhere by a [`Runner`].
//!
//! Every statement is planned in this process, for this process. If its scans read more than a [`Runner`] wants to be asked for, it is planned once more, for the
//! runner: a partition for each range of job ids, and without the rules of [`exec`](super::exec), which executors apply to what they run. What the runner cannot
//! carry runs here.

use super::session::state;
use crate::error::Result;
use async_trait::async_trait;
use datafusion::common::DataFusionError;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::prelude::SessionConfig;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Runs physical plans in other processes.
#[async_trait]
pub trait Runner: Debug + Send + Sync {
    /// Scans that read fewer bytes than these are not worth the way.
    fn least_bytes(&self) -> u64;

    /// Partitions of a repartition: the cores of all executors.
    ///
    /// # Errors
    /// If there is nobody to run a plan.
    async fn width(&self) -> Result<usize>;

    /// Adds the options that the runner needs to those that plans are made with.
    fn configure(&self, config: SessionConfig) -> SessionConfig;

    /// A node that gives the rows of `plan`, in their order, as others make them.
    ///
    /// # Errors
    /// Why the plan cannot be carried to another process.
    fn carry(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        state: &SessionState,
    ) -> std::result::Result<Arc<dyn ExecutionPlan>, String>;
}

/// Where the rows of a statement were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this process; why, where a [`Runner`] was there.
    InProcess(Option<String>),
    /// By the [`Runner`].
    Elsewhere,
}

/// `here`, the plan of a statement for this process, or in its place one whose rows the session's runner gives.
///
/// # Errors
/// Those of the runner.
pub(super) async fn placed(
    runner: Option<&Arc<dyn Runner>>,
    state: &SessionState,
    plan: &LogicalPlan,
    here: Arc<dyn ExecutionPlan>,
) -> std::result::Result<(Arc<dyn ExecutionPlan>, Place), DataFusionError> {
    let Some(runner) = runner else {
        return Ok((here, Place::InProcess(None)));
    };
    let stay = |why: String| Ok((here.clone(), Place::InProcess(Some(why))));
    let Some(bytes) = scanned_bytes(&here) else {
        return stay("it reads no data file of a lake".into());
    };
    if bytes < runner.least_bytes() {
        return stay(format!(
            "its scans read {bytes} B, and fewer than {} B run in process",
            runner.least_bytes()
        ));
    }
    let width = runner.width().await.map_err(super::error::external)?;
    let state = state::for_cluster(state.clone(), width, |config| runner.configure(config));
    let elsewhere = match state.create_physical_plan(plan).await {
        Ok(elsewhere) => elsewhere,
        Err(error) => return stay(format!("no plan for the cluster: {error}")),
    };
    // What is written, this process writes.
    let sink = elsewhere.downcast_ref::<DataSinkExec>().is_some();
    let carried = match elsewhere.children()[..] {
        [input] if sink => runner.carry(input.clone(), &state).and_then(|input| {
            let sink = replace_children_if_necessary(elsewhere.clone(), vec![input]);
            sink.map_err(|error| error.to_string())
        }),
        _ => runner.carry(elsewhere, &state),
    };
    match carried {
        Ok(plan) => Ok((plan, Place::Elsewhere)),
        Err(why) => stay(why),
    }
}

/// The bytes of the data files that the scans of a plan may read; None if it reads none.
fn scanned_bytes(plan: &Arc<dyn ExecutionPlan>) -> Option<u64> {
    let here = plan.downcast_ref::<DataSourceExec>().and_then(|scan| {
        let source: &dyn Any = scan.data_source().as_ref();
        let scan = source.downcast_ref::<FileScanConfig>()?;
        let files = scan.file_groups.iter().flat_map(|group| group.files());
        Some(files.map(|file| file.object_meta.size).sum())
    });
    let below = plan.children().into_iter().filter_map(scanned_bytes);
    here.into_iter().chain(below).reduce(|a, b| a + b)
}
