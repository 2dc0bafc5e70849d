//! The DataFusion session: one function builds it, whoever asks the questions.

use super::logical_rules::{add_analyzer_rules, optimizer_rules};
use super::memory_pool::TieredPool;
use super::names::CATALOG;
use super::options::Options;
use super::physical_rules::{cluster_rules, physical_rules};
use crate::engine::functions::{AGGREGATE, SCALAR};
use crate::engine::logical::checked_arithmetic;
use crate::engine::rules::rule_findings::RuleFindings;
use crate::engine::rules::rule_sums::RuleSums;
use crate::engine::rules::sentence::RuleSentence;
use crate::engine::workarounds::aggregates;
use crate::engine::workarounds::count_distinct;
use crate::engine::workarounds::date_part::{DatePart, Extract};
use crate::engine::workarounds::date_trunc::UtcTrunc;
use crate::engine::workarounds::durations::DAYS_AND_TIME;
use crate::engine::workarounds::function_orders;
use crate::engine::workarounds::functional_dependencies::{
    DropFunctionalDependencies, OPTIMIZER_BARRIER, ORDER_BARRIER,
};
use crate::engine::workarounds::interval_order::LENGTH;
use crate::engine::workarounds::signed_counts;
use crate::engine::workarounds::subquery_nulls::MAYBE_NULL;
use crate::error::{Error, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// Threads of one query at most. All groups of a scan are read at once, and memory grows with them.
const THREADS_MAX: usize = 32;

/// Threads of a query: those asked for, else those of the machine. At least 2, for DataFusion plans a session of one
/// partition in another way, that holds the whole left side of every join.
///
/// Each scan has as many groups. Finer ones would even out what the threads have to do, but each group has its own readers,
/// hash tables and batches on the way: eight groups on two threads took up to twice the work.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    let machine = || std::thread::available_parallelism().map_or(2, |n| n.get());
    asked.unwrap_or_else(machine).clamp(2, THREADS_MAX)
}

/// Memory, spill files and object stores of a session.
///
/// # Errors
/// [`Error::Invalid`] if there is no place for spill files.
pub(crate) fn runtime(threads: usize, memory: Option<usize>) -> Result<Arc<RuntimeEnv>> {
    let builder = RuntimeEnvBuilder::new();
    let builder = match memory {
        Some(memory) => builder.with_memory_pool(Arc::new(TieredPool::new(memory, threads))),
        None => builder,
    };
    builder
        .build_arc()
        .map_err(|e| Error::Invalid(format!("cannot set up the query engine: {e}")))
}

/// The options of a session with so many threads and so much memory; names alone mean the schema `first`.
fn config(threads: usize, memory: Option<usize>, first: &str) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_default_catalog_and_schema(CATALOG, first)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(true)
        .with_collect_statistics(true);
    let options = config.options_mut();
    options.optimizer.subset_repartition_threshold =
        options.optimizer.subset_repartition_threshold.min(threads);
    options.extensions.insert(Options::new(memory.is_some()));
    // As in DuckDB and PostgreSQL's ASC. DataFusion's default would begin a listing of the largest with NULLs.
    options.sql_parser.default_null_ordering = "nulls_last".into();
    // DataFusion 55.2 takes the columns of these filters by name where one join lies above another, and so may lay the filter
    // of one table on the column of the same name of another, which loses rows without a word (its issues 25244 and
    // 25296). All our tables share job_id, log_id and names such as bytes_read.
    // [`crate::engine::exec::dynamic_filter`] finds them by their place.
    options.optimizer.enable_dynamic_filter_pushdown = false;
    options.optimizer.enable_join_dynamic_filter_pushdown = false;
    options.optimizer.enable_topk_dynamic_filter_pushdown = false;
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // Of a UNION of columns with different meanings the logical plan drops the `doc`, the physical one keeps that of the first:
    // with this check DataFusion would refuse such a query.
    options.execution.skip_physical_aggregate_schema_check = true;
    if let Some(memory) = memory {
        let set_aside = &mut options.execution.sort_spill_reservation_bytes;
        *set_aside = (*set_aside).min(TieredPool::set_aside(memory, threads));
    }
    config
}

/// The state of every session: functions, rules and options. It has no tables yet; [`crate::engine::catalog::lakes`] adds them.
pub(crate) fn session_state(
    threads: usize,
    memory: Option<usize>,
    first: &str,
    runtime: Arc<RuntimeEnv>,
) -> SessionState {
    let mut builder = SessionStateBuilder::new_with_default_features()
        .with_config(config(threads, memory, first))
        .with_runtime_env(runtime)
        .with_optimizer_rules(optimizer_rules())
        .with_physical_optimizer_rules(physical_rules(true));
    let mut window = builder.window_functions().take().unwrap_or_default();
    let scalar = builder.scalar_functions().get_or_insert_default();
    signed_counts::sign(scalar, &mut window);
    function_orders::correct(scalar);
    scalar.extend(SCALAR.iter().map(|function| Arc::new(function.udf())));
    scalar.extend(checked_arithmetic::functions());
    scalar.push(OPTIMIZER_BARRIER.clone());
    scalar.push(ORDER_BARRIER.clone());
    scalar.push(LENGTH.clone());
    scalar.push(MAYBE_NULL.clone());
    scalar.push(DAYS_AND_TIME.clone());
    scalar.push(Arc::new(UtcTrunc::default().into()));
    scalar.push(Arc::new(DatePart::default().into()));
    scalar.push(Arc::new(RuleSentence::default().into()));
    scalar.push(Arc::new(RuleFindings::default().into()));
    *builder.window_functions() = Some(window);
    let aggregate = builder.aggregate_functions().get_or_insert_default();
    aggregate.extend(AGGREGATE.iter().map(|function| Arc::new(function.udaf())));
    aggregates::correct(aggregate);
    aggregate.push(Arc::new(count_distinct::count()));
    aggregate.push(Arc::new(RuleSums::default().into()));
    add_analyzer_rules(builder.analyzer().get_or_insert_default());
    let expressions = builder.expr_planners().get_or_insert_default();
    expressions.insert(0, Arc::new(Extract));
    let planners = builder.relation_planners().get_or_insert_default();
    planners.push(Arc::new(DropFunctionalDependencies));
    builder.build()
}

/// Where memory is short, a sort that holds fewer bytes concatenates its batches and sorts them as one. A merge of the batches holds their keys as rows, which can take
/// more memory than the batches, and cannot spill.
const SORT_IN_PLACE: usize = 256 << 20;

/// The same session with sort-merge joins, which spill, and memory of its own: that of a query that failed is given back
/// only as its tasks end.
pub(crate) fn with_sort_merge_joins(
    state: SessionState,
    memory: Option<usize>,
) -> Result<SessionState> {
    let threads = state.config().target_partitions();
    let runtime = RuntimeEnvBuilder::from_runtime_env(state.runtime_env());
    let runtime = match memory {
        Some(memory) => runtime.with_memory_pool(Arc::new(TieredPool::new(memory, threads))),
        None => runtime,
    };
    let runtime = runtime
        .build_arc()
        .map_err(|e| Error::Invalid(format!("cannot set up the query engine: {e}")))?;
    let mut config = state.config().clone();
    let options = config.options_mut();
    options.optimizer.prefer_hash_join = false;
    options.execution.sort_in_place_threshold_bytes = SORT_IN_PLACE;
    Ok(SessionStateBuilder::new_from_existing(state)
        .with_config(config)
        .with_runtime_env(runtime)
        .build())
}

/// The same session, for plans that run on a cluster: a partition for each range of job ids, repartitions so wide, and nothing in a plan that cannot be sent to
/// another process. `configure` adds the options of who runs it.
pub(crate) fn for_cluster(
    state: SessionState,
    width: usize,
    configure: impl FnOnce(SessionConfig) -> SessionConfig,
) -> SessionState {
    let mut config = state.config().clone().with_target_partitions(width);
    let options = config.options_mut();
    let mine = Options::of(options).with_a_partition_each_range();
    options.extensions.insert(mine);
    options.optimizer.subset_repartition_threshold =
        options.optimizer.subset_repartition_threshold.min(width);
    // A partition is a task, and reads the files that it was given: none is cut by bytes, and none is taken from a neighbour.
    options.optimizer.repartition_file_scans = false;
    options.optimizer.enable_round_robin_repartition = false;
    options.execution.enable_file_stream_work_stealing = false;
    // Its node holds the subquery's plan and its value in memory.
    options
        .optimizer
        .enable_physical_uncorrelated_scalar_subquery = false;
    SessionStateBuilder::new_from_existing(state)
        .with_config(configure(config))
        .with_physical_optimizer_rules(cluster_rules(false))
        .build()
}

/// The session for a cluster, for a plan whose stages grew too large: each small side of a join is sent to all tasks, which ends a stage.
pub(crate) fn with_broadcasts(state: SessionState) -> SessionState {
    SessionStateBuilder::new_from_existing(state)
        .with_physical_optimizer_rules(cluster_rules(true))
        .build()
}

/// The same session without the rule that keeps the partitions of joins.
pub(crate) fn without_copartitioned_joins(state: SessionState) -> SessionState {
    SessionStateBuilder::new_from_existing(state)
        .with_physical_optimizer_rules(physical_rules(false))
        .build()
}

#[cfg(test)]
mod tests {
    use super::super::names::NO_LAKE;
    use super::*;

    #[test]
    fn target_partitions_never_exceed_the_groups_of_a_scan() {
        for asked in [
            None,
            Some(0),
            Some(1),
            Some(2),
            Some(7),
            Some(8),
            Some(9),
            Some(31),
            Some(32),
            Some(33),
            Some(512),
        ] {
            let threads = threads(asked);
            let state = session_state(threads, None, NO_LAKE, runtime(threads, None).unwrap());
            let options = state.config_options();
            assert!((2..=THREADS_MAX).contains(&threads));
            assert_eq!(options.execution.target_partitions, threads);
            assert!(options.optimizer.subset_repartition_threshold <= threads);
        }
    }

    /// They lose rows where two tables of a query have columns of one name: the long form of the random joins finds it within minutes.
    #[test]
    fn no_filter_is_made_while_a_query_runs() {
        for threads in [2, 32] {
            let state = session_state(threads, None, NO_LAKE, runtime(threads, None).unwrap());
            let optimizer = &state.config_options().optimizer;
            assert!(!optimizer.enable_dynamic_filter_pushdown);
            assert!(!optimizer.enable_join_dynamic_filter_pushdown);
            assert!(!optimizer.enable_topk_dynamic_filter_pushdown);
            assert!(!optimizer.enable_aggregate_dynamic_filter_pushdown);
        }
    }
}
