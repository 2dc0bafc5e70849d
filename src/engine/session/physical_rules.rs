//! The physical optimizer rules of every session: one list, in the order in which they are applied.
//!
//! | part | what it is applied to |
//! |---|---|
//! | `whole_plan_rules` | over a whole plan |
//! | [`exec::rules`] | over a whole plan or any part of one: [`exec::for_execution`]; on a cluster by each executor, over its stage |
//! | [`SanityCheckPlan`] | last, over what is run |
//!
//! Rules without a switch make answers right; the others make them quick.
//!
//! # Adding a rule
//! One that needs to see the whole plan, for partitions, orders or build sides, or must stand before a rule of DataFusion, is a file in `engine/planning` and a line
//! in `whole_plan_rules`, at its place. One that needs neither and puts a node in the place of an equal one is a [`NodeRewrite`](crate::engine::node_rewrite::NodeRewrite) in a file of `engine/exec` and a line in
//! [`exec::rules`]. If it is there for speed it also has a line in [`SWITCHES`](super::options::SWITCHES), by whose name `SET` switches it off and
//! `scripts/bench_rules.py` measures it; one that makes right what DataFusion gets wrong has none, and a test that fails once DataFusion is right.

use super::options::switched;
use crate::engine::exec;
use crate::engine::planning::{
    aggregate_build_side, broadcast_joins, constant_keys, copartitioned_join, drop_join_ordering,
    group_limits, preceding_frames, scan_filter, sort_fetch,
};
use crate::engine::workarounds::functional_dependencies::PLAIN_COLUMNS;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::aggregate_statistics::AggregateStatistics;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_optimizer::ensure_coop::EnsureCooperative;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::hash_join_buffering::HashJoinBuffering;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::limit_pushdown::LimitPushdown;
use datafusion::physical_optimizer::limit_pushdown_past_window::LimitPushPastWindows;
use datafusion::physical_optimizer::limited_distinct_aggregation::LimitedDistinctAggregation;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_optimizer::pushdown_sort::PushdownSort;
use datafusion::physical_optimizer::sanity_checker::SanityCheckPlan;
use datafusion::physical_optimizer::topk_aggregation::TopKAggregation;
use datafusion::physical_optimizer::topk_repartition::TopKRepartition;
use datafusion::physical_optimizer::update_aggr_exprs::OptimizeAggregateOrder;
use datafusion::physical_optimizer::window_topn::WindowTopN;
use std::sync::Arc;

type Rules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// All rules. Without `copartitioned`, joins do not keep the partitions of the scans: a plan for which that is not valid is planned again
/// like this.
pub(super) fn physical_rules(copartitioned: bool) -> Rules {
    let mut rules = whole_plan_rules(copartitioned);
    rules.extend(exec::rules());
    rules.push(Arc::new(SanityCheckPlan::new()));
    rules
}

/// The rules for a plan that runs on a cluster: those of [`exec`] are left to its executors. With `broadcast` small sides of joins are sent to all tasks even where both
/// sides lie beside each other.
pub(super) fn cluster_rules(broadcast: bool) -> Rules {
    let mut rules = whole_plan_rules(true);
    // Before the rules that go by the partitions of joins.
    let orders = rules
        .iter()
        .position(|rule| rule.name() == "drop_join_ordering");
    let rule = match broadcast {
        true => broadcast_joins::EVERYWHERE,
        false => broadcast_joins::RULE,
    };
    rules.insert(orders.unwrap_or(0), Arc::new(rule));
    rules.push(Arc::new(SanityCheckPlan::new()));
    rules
}

/// Rules that need the whole plan. DataFusion's own stand in its order; its `FilterPushdown`, which takes columns by name, is replaced by
/// [`scan_filter`] and [`DynamicFilter`](crate::engine::exec::dynamic_filter::DynamicFilter).
fn whole_plan_rules(copartitioned: bool) -> Rules {
    let mut rules: Rules = vec![
        Arc::new(PLAIN_COLUMNS),
        Arc::new(OutputRequirements::new_add_mode()),
        Arc::new(AggregateStatistics::new()),
        Arc::new(JoinSelection::new()),
        switched(aggregate_build_side::RULE),
        Arc::new(LimitedDistinctAggregation::new()),
        switched(scan_filter::RULE),
        Arc::new(WindowTopN::new()),
        Arc::new(sort_fetch::DETACH_SORT_FETCH),
        Arc::new(drop_join_ordering::RULE),
        switched(constant_keys::RULE),
    ];
    if copartitioned {
        rules.push(switched(copartitioned_join::RULE));
    }
    let behind: Rules = vec![
        Arc::new(EnsureRequirements::new()),
        Arc::new(preceding_frames::RULE),
        Arc::new(sort_fetch::ATTACH_SORT_FETCH),
        Arc::new(CombinePartialFinalAggregate::new()),
        Arc::new(OptimizeAggregateOrder::new()),
        Arc::new(ProjectionPushdown::new()),
        Arc::new(OutputRequirements::new_remove_mode()),
        Arc::new(TopKAggregation::new()),
        Arc::new(LimitPushPastWindows::new()),
        Arc::new(HashJoinBuffering::new()),
        Arc::new(LimitPushdown::new()),
        Arc::new(TopKRepartition::new()),
        Arc::new(ProjectionPushdown::new()),
        Arc::new(PushdownSort::new()),
        Arc::new(EnsureCooperative::new()),
        Arc::new(group_limits::RULE),
    ];
    rules.extend(behind);
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

    fn names(rules: &Rules) -> Vec<String> {
        rules.iter().map(|rule| rule.name().to_string()).collect()
    }

    #[test]
    fn datafusions_rules_are_all_there_in_its_order_but_for_the_pushdown_of_filters() {
        let theirs: Vec<_> = names(&PhysicalOptimizer::new().rules)
            .into_iter()
            .filter(|name| !name.starts_with("FilterPushdown"))
            .collect();
        let all = names(&physical_rules(true));
        let kept: Vec<_> = all
            .iter()
            .filter(|name| theirs.contains(name))
            .cloned()
            .collect();
        assert_eq!(kept, theirs);
    }

    #[test]
    fn joins_keep_partitions_before_the_rule_that_repartitions_or_not_at_all() {
        let at = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let all = names(&physical_rules(true));
        assert_eq!(
            at(&all, "copartitioned_join").map(|at| at + 1),
            at(&all, "EnsureRequirements")
        );
        assert_eq!(
            at(&names(&physical_rules(false)), "copartitioned_join"),
            None
        );
        assert_eq!(all.last().unwrap(), "SanityCheckPlan");
    }
}
