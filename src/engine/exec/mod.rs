//! Physical optimizer rules, and their nodes, that replace one node of a plan by an equal one.
//!
//! They look at a node and what lies under it, so they apply to a part of a plan as to the whole: [`for_execution`].

pub(super) mod compact_batches;
pub(super) mod dynamic_filter;
pub(super) mod interruptible;
pub(super) mod partition_values;
pub(super) mod radix_distinct;
pub(super) mod run_aware;
pub(super) mod semi_join;
pub(super) mod stoppable;

use super::session::options::switched;
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// The rules of this folder, in the order in which they are applied.
pub(super) fn rules() -> [Arc<dyn PhysicalOptimizerRule + Send + Sync>; 7] {
    [
        switched(dynamic_filter::DynamicFilter),
        switched(semi_join::RULE),
        switched(run_aware::TOP_OF_RUNS),
        switched(run_aware::GROUP_RUNS),
        switched(radix_distinct::RULE),
        switched(partition_values::RULE),
        switched(compact_batches::RULE),
    ]
}

/// A plan, or a part of one, with the nodes that these rules put in the place of others.
///
/// # Errors
/// Those of a rule.
pub fn for_execution(
    plan: Arc<dyn ExecutionPlan>,
    config: &ConfigOptions,
) -> Result<Arc<dyn ExecutionPlan>> {
    let apply =
        |plan, rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| rule.optimize(plan, config);
    rules().into_iter().try_fold(plan, apply)
}
