//! Where a statement runs: in this process, or elsewhere by a [`Runner`].
//!
//! Every statement is planned in this process, for this process. If its scans read more than a [`Runner`] wants to be asked for, it is planned once more, for the
//! runner: a partition for each range of job ids, and without the rules of [`exec`](super::exec), which executors apply to what they run. What the runner cannot
//! distribute runs here.

use super::session::state;
use crate::error::Result;
use crate::text::amount::size;
use async_trait::async_trait;
use datafusion::common::DataFusionError;
use datafusion::common::format::ExplainFormat;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Explain, LogicalPlan, PlanType, StringifiedPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::displayable;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::prelude::SessionConfig;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Runs physical plans in other processes.
#[async_trait]
pub trait Runner: Debug + Send + Sync {
    /// Scans that read fewer bytes than these are not worth the way.
    fn least_bytes(&self) -> u64;

    /// Cores that there must be for a session with so many threads to use them.
    fn least_width(&self, threads: usize) -> usize;

    /// Partitions of a repartition: the cores of all executors.
    ///
    /// # Errors
    /// If there is nobody to run a plan.
    async fn width(&self) -> Result<usize>;

    /// Adds the options that the runner needs to those that plans are made with.
    fn configure(&self, config: SessionConfig) -> SessionConfig;

    /// How many plans were sent once more by now, since a process was lost.
    fn resent(&self) -> usize;

    /// A node that gives the rows of `plan`, in their order, as others make them.
    ///
    /// # Errors
    /// Why the plan cannot run in other processes.
    fn distribute(
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
/// EXPLAIN shows the plan that would run, and for one that stays in this process why.
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
    let Some((shown, explain)) = here.downcast_ref::<ExplainExec>().zip(explained(plan)) else {
        return chosen(runner, state, plan, here).await;
    };
    let inner = state.create_physical_plan(&explain.plan).await?;
    let (inner, place) = chosen(runner, state, &explain.plan, inner).await?;
    let displayed = displayable(inner.as_ref());
    let text = match explain.explain_format {
        ExplainFormat::Tree => displayed.tree_render().to_string(),
        _ => displayed.indent(explain.verbose).to_string(),
    };
    let plans = shown.stringified_plans().iter().map(|of| {
        let is_final = of.plan_type == PlanType::FinalPhysicalPlan;
        let text = match (&place, is_final) {
            (_, false) => return of.clone(),
            (Place::InProcess(Some(why)), _) => format!("in process: {why}\n{}", of.plan),
            _ => text.clone(),
        };
        StringifiedPlan::new(of.plan_type.clone(), text)
    });
    let shown = ExplainExec::new(shown.schema(), plans.collect(), shown.verbose());
    Ok((Arc::new(shown), Place::InProcess(None)))
}

/// The statement that EXPLAIN shows the plan of.
fn explained(plan: &LogicalPlan) -> Option<&Explain> {
    match plan {
        LogicalPlan::Explain(explain) => Some(explain),
        _ => None,
    }
}

async fn chosen(
    runner: &Arc<dyn Runner>,
    state: &SessionState,
    plan: &LogicalPlan,
    here: Arc<dyn ExecutionPlan>,
) -> std::result::Result<(Arc<dyn ExecutionPlan>, Place), DataFusionError> {
    let stay = |why: String| Ok((here.clone(), Place::InProcess(Some(why))));
    let Some(bytes) = scanned_bytes(&here) else {
        return stay("it reads no data file of a lake".into());
    };
    if bytes < runner.least_bytes() {
        return stay(format!(
            "its scans read {}, and less than {} runs in process",
            size(bytes),
            size(runner.least_bytes())
        ));
    }
    let width = runner.width().await.map_err(super::error::external)?;
    let threads = state.config().target_partitions();
    if width < runner.least_width(threads) {
        return stay(format!(
            "the cluster has {width} cores, which is no more than the {threads} threads of this process"
        ));
    }
    let state = state::for_cluster(state.clone(), width, |config| runner.configure(config));
    let elsewhere = match distributed(runner, &state, plan).await {
        Err(_) => distributed(runner, &state::with_broadcasts(state), plan).await,
        elsewhere => elsewhere,
    };
    match elsewhere {
        Ok(plan) => Ok((plan, Place::Elsewhere)),
        Err(why) => stay(why),
    }
}

/// The plan of a statement as the runner has it run.
///
/// # Errors
/// Why it does not.
async fn distributed(
    runner: &Arc<dyn Runner>,
    state: &SessionState,
    plan: &LogicalPlan,
) -> std::result::Result<Arc<dyn ExecutionPlan>, String> {
    let elsewhere = state.create_physical_plan(plan).await;
    let elsewhere = elsewhere.map_err(|error| format!("no plan for the cluster: {error}"))?;
    // This process writes what is written, and shows what is measured.
    let stays = elsewhere.is::<DataSinkExec>() || elsewhere.is::<AnalyzeExec>();
    match elsewhere.children()[..] {
        [input] if stays => {
            let input = runner.distribute(input.clone(), state)?;
            let root = replace_children_if_necessary(elsewhere.clone(), vec![input]);
            root.map_err(|error| error.to_string())
        }
        _ => runner.distribute(elsewhere, state),
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
