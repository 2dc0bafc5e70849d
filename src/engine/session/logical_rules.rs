//! The rules of the logical plan of every session: the analyzer's, which make answers right, and the optimizer's.
//!
//! The physical ones are in `physical_rules`.

use crate::engine::logical::anti_join::OuterToAnti;
use crate::engine::logical::bottom_up::BottomUp;
use crate::engine::logical::checked_arithmetic::CheckedArithmetic;
use crate::engine::logical::condition_values::ConditionValues;
use crate::engine::logical::correlated_first::CorrelatedFirst;
use crate::engine::logical::extremes::Extremes;
use crate::engine::logical::filter_equality::FilterEquality;
use crate::engine::logical::intersect::DistinctLast;
use crate::engine::logical::not_in::ThreeValuedIn;
use crate::engine::logical::null_safe_keys::NullSafeKeys;
use crate::engine::logical::semi_join_pushdown::PushDownSemiJoin;
use crate::engine::logical::time_texts::TimeTexts;
use crate::engine::logical::unsigned_division::UnsignedDivision;
use crate::engine::logical::utc_times::{UtcTexts, UtcTimes};
use crate::engine::logical::window_cost::BoundWindows;
use crate::engine::udf::InlineSqlUdfs;
use crate::engine::workarounds::all_sets::CountEqualRows;
use crate::engine::workarounds::boolean_case::BooleanCase;
use crate::engine::workarounds::cast_bounds::{CastBounds, CastsOfTimes};
use crate::engine::workarounds::comparisons::Comparisons;
use crate::engine::workarounds::date_intervals::DateArithmetic;
use crate::engine::workarounds::durations::PartsOfDurations;
use crate::engine::workarounds::emptied_unions::EmptiedUnions;
use crate::engine::workarounds::functional_dependencies::DropFunctionalDependencies;
use crate::engine::workarounds::in_lists::SeparateLists;
use crate::engine::workarounds::kept_nulls::KeptNulls;
use crate::engine::workarounds::keys_of_one_name;
use crate::engine::workarounds::literal_keys;
use crate::engine::workarounds::null_equality::KeysOfEqualsAlone;
use crate::engine::workarounds::order_twice::OrderOnce;
use crate::engine::workarounds::percentile_cont::ExactPercentileCont;
use crate::engine::workarounds::range_frames::RangeFrames;
use crate::engine::workarounds::subquery_nulls::SubqueryNulls;
use crate::engine::workarounds::to_char::ToCharPatterns;
use crate::engine::workarounds::total_filters::TotalFilters;
use crate::engine::workarounds::window_identity::WindowIdentity;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::{Analyzer, Optimizer, OptimizerRule};
use std::sync::Arc;

/// Rules of the logical optimizer: DataFusion's in their order, some of them corrected and one of ours among them; then ours.
pub(super) fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let corrected: [Arc<dyn OptimizerRule + Send + Sync>; 3] = [
        Arc::new(EmptiedUnions::default()),
        Arc::new(TotalFilters::default()),
        Arc::new(KeysOfEqualsAlone::default()),
    ];
    for rule in &mut rules {
        if let Some(ours) = corrected.iter().find(|ours| ours.name() == rule.name()) {
            *rule = ours.clone();
        }
    }
    keys_of_one_name::correct(&mut rules);
    literal_keys::keep(&mut rules);
    let outer = rules
        .iter()
        .position(|rule| rule.name() == EliminateOuterJoin::new().name());
    // Behind the rule that gives joins other keys, before those that believe them.
    rules.insert(
        outer.map_or(0, |outer| outer + 1),
        Arc::new(DropFunctionalDependencies),
    );
    rules.push(Arc::new(OuterToAnti));
    rules.push(Arc::new(BottomUp(&[
        &ExactPercentileCont,
        &Extremes,
        &NullSafeKeys,
        &PushDownSemiJoin,
        &CastBounds,
        &FilterEquality,
    ])));
    rules
}

/// Adds ours to the analyzer: rewrites of functions and operators, then rules, behind DataFusion's own.
pub(super) fn add_analyzer_rules(analyzer: &mut Analyzer) {
    // First, for what it writes out has had the others.
    analyzer.add_function_rewrite(Arc::new(InlineSqlUdfs));
    analyzer.add_function_rewrite(Arc::new(PartsOfDurations));
    analyzer.add_function_rewrite(Arc::new(Comparisons));
    analyzer.add_function_rewrite(Arc::new(DateArithmetic));
    analyzer.add_function_rewrite(Arc::new(BoundWindows));
    analyzer.add_function_rewrite(Arc::new(RangeFrames));
    analyzer.add_function_rewrite(Arc::new(TimeTexts));
    analyzer.add_function_rewrite(Arc::new(UtcTexts));
    analyzer.add_function_rewrite(Arc::new(ToCharPatterns));
    analyzer.add_function_rewrite(Arc::new(UnsignedDivision));
    analyzer.add_function_rewrite(Arc::new(BooleanCase));
    analyzer.add_function_rewrite(Arc::new(CorrelatedFirst));
    analyzer.add_function_rewrite(Arc::new(CastsOfTimes));
    // Before the rule that moves DISTINCT, by which INTERSECT is told from INTERSECT ALL.
    analyzer.rules.push(Arc::new(CountEqualRows));
    analyzer.rules.push(Arc::new(DistinctLast));
    analyzer.rules.push(Arc::new(DropFunctionalDependencies));
    analyzer.rules.push(Arc::new(OrderOnce));
    analyzer.rules.push(Arc::new(SubqueryNulls));
    // Behind the rule that gives both sides of an operator their type.
    analyzer.rules.push(Arc::new(UtcTimes));
    analyzer.rules.push(Arc::new(CheckedArithmetic));
    analyzer.rules.push(Arc::new(SeparateLists));
    analyzer.rules.push(Arc::new(KeptNulls));
    analyzer.rules.push(Arc::new(WindowIdentity));
    // Behind those that may make NULLs.
    analyzer.rules.push(Arc::new(ThreeValuedIn));
    analyzer.rules.push(Arc::new(ConditionValues));
}
