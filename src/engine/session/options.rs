//! The options of a session: `SET iolode.<rule> = off`, `SET iolode.fallback = 'error'`, and which of DataFusion's may be set.
//!
//! A rule with a switch changes what a question costs and never its rows; rules that keep rows right have none.

use crate::error::{Error, Result};
use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::common::{config_err, exec_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{LogicalPlan, Statement};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rules that can be switched off, and what each of them does.
pub const SWITCHES: &[(&str, &str)] = &[
    (
        "aggregate_build_side",
        "joins hold groups rather than the rows that they were made of",
    ),
    (
        "scan_filter",
        "scans skip row groups and pages by the filter above them",
    ),
    (
        "copartitioned_join",
        "joins on job_id and more keep the partitions of job_id",
    ),
    (
        "dynamic_filter",
        "the least and greatest keys of a join's build side bound the scan of its probe side",
    ),
    (
        "constant_keys",
        "groupings do not go by the order of keys that are one value",
    ),
    (
        "semi_join",
        "duplicates are dropped from the side of a semi or anti join that is only looked at",
    ),
    (
        "outer_to_anti",
        "an outer join of which only rows without a partner are kept is an anti join",
    ),
    (
        "push_down_semi_join",
        "a semi or anti join stands on the side of a join whose columns it looks at",
    ),
    (
        "extremes",
        "of EXISTS with an inequality the least and greatest values of each key are looked at",
    ),
    (
        "intersect",
        "duplicates are dropped from the rows that both sides of an INTERSECT have",
    ),
    (
        "null_safe_keys",
        "IS NOT DISTINCT FROM beside = is a key of a join",
    ),
    (
        "partial_topk",
        "the first rows of an order are found in each run of equal keys",
    ),
    (
        "group_runs",
        "groupings take rows of one key that stand together as one",
    ),
    (
        "radix_distinct",
        "different ids are told apart in parts that fit into a processor's cache",
    ),
    (
        "partition_values",
        "aggregates over whole partitions of a window are computed for many at once",
    ),
    (
        "compact_batches",
        "columns of text hold no more memory than their own",
    ),
];

/// DataFusion's options that may be set: they change how rows are shown or cut into batches, or which join is used.
const ALLOWED: &[&str] = &[
    "datafusion.execution.batch_size",
    "datafusion.optimizer.prefer_hash_join",
    "datafusion.optimizer.hash_join_single_partition_threshold",
    "datafusion.optimizer.hash_join_single_partition_threshold_rows",
];

/// The same, by the beginning of their names.
const ALLOWED_GROUPS: &[&str] = &["iolode.", "datafusion.explain.", "datafusion.format."];

/// Options that are set in another way, or lose rows: why not.
const REFUSED: &[(&str, &str)] = &[
    (
        "datafusion.execution.target_partitions",
        "the number of threads is fixed when a session begins; use --threads",
    ),
    (
        "datafusion.runtime.memory_limit",
        "the memory is fixed when a session begins; use --memory",
    ),
    (
        "datafusion.execution.parquet.pushdown_filters",
        "filters are pushed into the scans for which it pays",
    ),
    (
        "datafusion.optimizer.enable_dynamic_filter_pushdown",
        "it loses rows where two tables have columns of one name",
    ),
    (
        "datafusion.optimizer.enable_join_dynamic_filter_pushdown",
        "it loses rows where two tables have columns of one name",
    ),
    (
        "datafusion.optimizer.enable_topk_dynamic_filter_pushdown",
        "it loses rows where two tables have columns of one name",
    ),
    (
        "datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown",
        "it loses rows where two tables have columns of one name",
    ),
    (
        "datafusion.sql_parser.default_null_ordering",
        "NULLs come last; write NULLS FIRST where they shall not",
    ),
];

/// Refuses a statement that sets an option with which answers were never checked.
///
/// # Errors
/// [`Error::Invalid`], which says which options can be set.
pub(in crate::engine) fn check(plan: &LogicalPlan) -> Result<()> {
    let (name, value) = match plan {
        LogicalPlan::Statement(Statement::SetVariable(set)) => (&set.variable, Some(&set.value)),
        LogicalPlan::Statement(Statement::ResetVariable(reset)) => (&reset.variable, None),
        _ => return Ok(()),
    };
    check_name(name)?;
    let zero = value.is_some_and(|value| value.parse::<usize>() == Ok(0));
    match zero && name.eq_ignore_ascii_case("datafusion.execution.batch_size") {
        true => Err(Error::Invalid(format!(
            "`SET {name}`: expected a number above 0"
        ))),
        false => Ok(()),
    }
}

/// Refuses an option with which answers were never checked.
///
/// # Errors
/// [`Error::Invalid`], which says which options can be set.
pub(in crate::engine) fn check_name(name: &str) -> Result<()> {
    let name = name.to_lowercase();
    if ALLOWED.contains(&name.as_str()) || ALLOWED_GROUPS.iter().any(|of| name.starts_with(of)) {
        return Ok(());
    }
    let known = REFUSED.iter().find(|(refused, _)| *refused == name);
    Err(Error::Invalid(match known {
        Some((_, why)) => format!("`SET {name}` is refused: {why}"),
        None => format!(
            "`SET {name}` is refused: rows are not checked with it; what can be set: iolode.*, \
             datafusion.format.*, datafusion.explain.*, {}",
            ALLOWED.join(", ")
        ),
    }))
}

/// What a session may do when its first plan fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) enum Fallback {
    /// Plan once more without the rules that may be at fault.
    #[default]
    Replan,
    /// Give the error.
    Error,
}

/// The options `iolode.*`.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Options {
    /// The rules that are switched off.
    off: BTreeSet<&'static str>,
    pub(in crate::engine) fallback: Fallback,
    /// Scans have a partition for each range of job ids, rather than as many as threads.
    pub(in crate::engine) partition_each_range: bool,
}

impl Options {
    /// Those with which a session begins. Text is compacted only where memory is limited, for it costs a copy.
    pub(in crate::engine) fn new(is_memory_limited: bool) -> Self {
        let mut options = Self::default();
        if !is_memory_limited {
            options.off.insert("compact_batches");
        }
        options
    }

    /// Those of a session.
    pub(in crate::engine) fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// The options of a plan for a cluster: the rows of each range are a partition of their own.
    pub(in crate::engine) fn with_a_partition_each_range(self) -> Self {
        Self {
            partition_each_range: true,
            ..self
        }
    }

    /// Whether a rule is on.
    pub(in crate::engine) fn is_on(config: &ConfigOptions, rule: &str) -> bool {
        let options = config.extensions.get::<Self>();
        options.is_none_or(|options| !options.off.contains(rule))
    }
}

impl ConfigExtension for Options {
    const PREFIX: &'static str = "iolode";
}

impl ExtensionOptions for Options {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> datafusion::common::Result<()> {
        if key == "fallback" {
            self.fallback = match value {
                "replan" => Fallback::Replan,
                "error" => Fallback::Error,
                _ => return exec_err!("iolode.fallback: expected replan or error, not `{value}`"),
            };
            return Ok(());
        }
        let Some((rule, _)) = SWITCHES.iter().find(|(rule, _)| *rule == key) else {
            let near = crate::error::nearest(key, SWITCHES.iter().map(|(rule, _)| *rule));
            let hint = near.map_or("`SHOW ALL` lists them".into(), |near| {
                format!("did you mean `iolode.{near}`?")
            });
            return config_err!("there is no option `iolode.{key}`; {hint}");
        };
        match value {
            "on" | "true" => self.off.remove(rule),
            "off" | "false" => self.off.insert(rule),
            _ => return exec_err!("iolode.{rule}: expected on or off, not `{value}`"),
        };
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let fallback = ConfigEntry {
            key: "iolode.fallback".into(),
            value: Some(match self.fallback {
                Fallback::Replan => "replan".into(),
                Fallback::Error => "error".into(),
            }),
            description: "whether a plan that fails is made once more without the rules that may be at fault (replan), or its error is given (error)",
        };
        let switches = SWITCHES.iter().map(|(rule, what)| ConfigEntry {
            key: format!("iolode.{rule}"),
            value: Some(if self.off.contains(rule) { "off" } else { "on" }.into()),
            description: what,
        });
        std::iter::once(fallback).chain(switches).collect()
    }
}

/// A rule that does nothing while its switch is off.
pub(in crate::engine) fn switched(
    rule: impl PhysicalOptimizerRule + Send + Sync + 'static,
) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    Arc::new(Switched(Arc::new(rule)))
}

/// A physical optimizer rule with the switch of its name.
#[derive(Debug)]
struct Switched(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for Switched {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        match Options::is_on(config, self.name()) {
            true => self.0.optimize(plan, config),
            false => Ok(plan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};

    fn set(statement: &str) -> Result<(), String> {
        let engine = Engine::new(EngineOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let done = runtime.block_on(async { engine.run(statement).await?.collect().await });
        done.map(|_| ()).map_err(|e| e.to_string())
    }

    #[test]
    fn options_that_lose_rows_or_were_never_checked_are_refused_in_one_line() {
        for (name, _) in REFUSED {
            let error = set(&format!("SET {name} = true")).unwrap_err();
            assert!(
                error.starts_with(&format!("`SET {name}` is refused: ")),
                "{error}"
            );
        }
        for statement in [
            "SET datafusion.optimizer.max_passes = 0",
            "SET datafusion.execution.coalesce_batches = false",
            "RESET datafusion.optimizer.max_passes",
        ] {
            let error = set(statement).unwrap_err();
            assert!(
                error.contains("is refused") && !error.contains('\n'),
                "{error}"
            );
        }
        let error = set("SET datafusion.execution.batch_size = 0").unwrap_err();
        assert!(error.ends_with("expected a number above 0"), "{error}");
    }

    #[test]
    fn rules_have_switches_and_a_wrong_name_suggests_the_nearest() {
        for (rule, _) in SWITCHES {
            set(&format!("SET iolode.{rule} = off")).unwrap();
            set(&format!("SET iolode.{rule} = 'on'")).unwrap();
        }
        set("SET iolode.fallback = 'error'").unwrap();
        set("SET datafusion.execution.batch_size = 100").unwrap();
        set("SET datafusion.explain.show_statistics = true").unwrap();
        let error = set("SET iolode.group_run = off").unwrap_err();
        assert!(
            error.contains("did you mean `iolode.group_runs`?"),
            "{error}"
        );
        let error = set("SET iolode.group_runs = perhaps").unwrap_err();
        assert!(
            error.contains("expected on or off, not `perhaps`"),
            "{error}"
        );
    }

    /// Rules ask by [`Options::is_on`].
    #[test]
    fn a_rule_that_is_switched_off_is_not_on() {
        let mut options = Options::default();
        options.set("group_runs", "off").unwrap();
        let mut config = ConfigOptions::new();
        config.extensions.insert(options);
        assert!(!Options::is_on(&config, "group_runs"));
        assert!(Options::is_on(&config, "partial_topk"));
        let shown = config.entries();
        let shown = shown.iter().find(|entry| entry.key == "iolode.group_runs");
        assert_eq!(shown.unwrap().value.as_deref(), Some("off"));
    }
}
