//! Two physical optimizer rules: a limit stays above what it must not cut.
//!
//! DataFusion 55.2 keeps the limit of `ORDER BY .. LIMIT n` in the sort. While it enforces orders and distributions it takes the limit along
//! wherever it moves the sort, or finds that none is needed: below a window function over all rows, below the second stage of a DISTINCT, and
//! below a sort-merge join, each of which then sees n rows:
//!
//! ```sql
//! SELECT job_id, sum(nprocs) OVER () AS of_all, rank() OVER (PARTITION BY job_id ORDER BY log_id) AS r
//! FROM darshan_log ORDER BY job_id LIMIT 2      -- of_all is that of two rows
//! ```
//!
//! (Its issue 24927 is one of these.) [`DETACH_SORT_FETCH`] puts the limit into a node of its own before `EnsureRequirements`, and [`ATTACH_SORT_FETCH`] gives it to
//! the sort again behind it, if that still stands under it.
//!
//! Delete when sorts keep their limits above such nodes: `a_limit_passes_a_window` then fails.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use std::sync::Arc;

/// Sorts have no limit.
pub(in crate::engine) const DETACH_SORT_FETCH: NodeRewrite = NodeRewrite {
    name: "sort_without_fetch",
    instead: take_out,
};

/// Sorts have the limit that stands above them.
pub(in crate::engine) const ATTACH_SORT_FETCH: NodeRewrite = NodeRewrite {
    name: "sort_with_fetch",
    instead: put_back,
};

fn take_out(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(sort) = node.downcast_ref::<SortExec>() else {
        return Ok(None);
    };
    let Some(fetch) = sort.fetch().filter(|_| !sort.preserve_partitioning()) else {
        return Ok(None);
    };
    let whole = Arc::new(sort.with_fetch(None));
    let mut limit = GlobalLimitExec::new(whole, 0, Some(fetch));
    limit.set_required_ordering(Some(sort.expr().clone()));
    Ok(Some(Arc::new(limit)))
}

fn put_back(node: &Node, _: &ConfigOptions) -> Result<Option<Node>> {
    let Some(limit) = node.downcast_ref::<GlobalLimitExec>() else {
        return Ok(None);
    };
    match limit.fetch() {
        Some(fetch) if limit.skip() == 0 => with_fetch(limit.input(), fetch),
        _ => Ok(None),
    }
}

/// The same with a limit in its sort; None if no sort stands there, or what stands between gives other rows than it is given.
fn with_fetch(node: &Node, fetch: usize) -> Result<Option<Node>> {
    let least = Some(node.fetch().map_or(fetch, |known| known.min(fetch)));
    if node.is::<SortExec>() {
        return Ok(node.with_fetch(least));
    }
    let children = node.children();
    let [input] = children.as_slice() else {
        return Ok(None);
    };
    let below = with_fetch(input, fetch)?;
    if node.is::<SortPreservingMergeExec>() {
        let input = below.unwrap_or_else(|| Arc::clone(input));
        let merge = replace_children_if_necessary(node.clone(), vec![input])?;
        return Ok(merge.with_fetch(least));
    }
    let passes = node.supports_limit_pushdown()
        && matches!(node.cardinality_effect(), CardinalityEffect::Equal);
    match below.filter(|_| passes) {
        Some(input) => replace_children_if_necessary(node.clone(), vec![input]).map(Some),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    const WINDOWS: &str = "SELECT v, rank() OVER (PARTITION BY v ORDER BY v) AS r, count(*) OVER () AS n \
        FROM generate_series(1, 9) AS t(v) ORDER BY v LIMIT 2";

    /// By hand.
    #[test]
    fn a_limit_cuts_what_is_computed_and_not_what_it_is_computed_from() {
        for (sql, answer) in [
            (WINDOWS, ["1 | 1 | 9", "2 | 1 | 9"]),
            (
                "SELECT v, cume_dist() OVER (PARTITION BY v ORDER BY v), sum(v) OVER () FROM generate_series(1, 9) AS t(v) ORDER BY v LIMIT 2",
                ["1 | 1.0 | 45", "2 | 1.0 | 45"],
            ),
            (
                "SELECT DISTINCT v % 3, count(*) OVER () FROM generate_series(1, 9) AS t(v) ORDER BY 1 LIMIT 2",
                ["0 | 9", "1 | 9"],
            ),
            (
                "SELECT v, n FROM (SELECT v, count(*) OVER () AS n FROM generate_series(1, 9) AS t(v)) AS t WHERE v > 3 ORDER BY v LIMIT 2",
                ["4 | 9", "5 | 9"],
            ),
            (
                "SELECT a.v, b.v FROM generate_series(1, 9) AS a(v) JOIN generate_series(5, 9) AS b(v) ON a.v = b.v ORDER BY a.v LIMIT 2",
                ["5 | 5", "6 | 6"],
            ),
        ] {
            assert_eq!(ask(sql).unwrap(), answer, "{sql}");
        }
    }

    /// A sort of which only the first rows are wanted keeps no more of them.
    #[test]
    fn the_sort_has_the_limit_in_the_end() {
        let sql =
            "EXPLAIN SELECT v FROM (VALUES (3), (1), (2)) AS t(v) WHERE v <> 2 ORDER BY v LIMIT 1";
        let plan = ask(sql).unwrap().join("\n");
        assert!(plan.contains("SortExec: TopK(fetch=1)"), "{plan}");
        assert!(!plan.contains("GlobalLimitExec"), "{plan}");
    }

    #[test]
    fn a_limit_passes_a_window() {
        let alone = block_on(async { plain(2).sql(WINDOWS).await?.collect().await });
        assert_eq!(rows(&alone.unwrap()), ["1 | 1 | 2", "2 | 1 | 2"]);
    }
}
