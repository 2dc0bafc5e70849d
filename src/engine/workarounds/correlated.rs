//! What is said of a subquery that uses columns of the query around it and that DataFusion 55.2 cannot make a join of.
//!
//! It finds that while it optimizes, and then names columns and expressions of its own, as in "unknown column `b.column1`". A plan that could be
//! made has no unknown columns, so that such an error is never a mistake of the user.

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;

/// What can be written instead.
const WRITE: &str = "a subquery that uses columns of the query around it in this way; an aggregate without GROUP BY or an EXISTS can use them in the \
    conditions `=` of its WHERE; otherwise write a LEFT JOIN with GROUP BY, or `row_number() OVER (PARTITION BY .. ORDER BY ..) = 1` \
    for the first row of each; inside of an aggregate, a window function or GROUP BY take it from a subquery in FROM";

/// The same where a list is unnested.
const WRITE_UNNEST: &str = "unnest of a row's list in FROM; write it in the select list, `SELECT job_id, unnest(ost_list) AS ost FROM ..`, in a subquery if \
    more is asked of it";

/// Parts of the messages in which DataFusion speaks of such a subquery.
const MESSAGES: &[&str] = &[
    "does not support logical expression ScalarSubquery(",
    "scalar subquery must be aggregated to return at most one row",
    "clause in a scalar correlated subquery cannot contain non-correlated columns",
    "null_aware anti join only supports single column",
    "single expression required",
    "OuterReferenceColumn",
    "orrelated scalar subquery can only be used in",
    "orrelated scalar subquery in the GROUP BY clause",
    "should not contain a mixed of outer references and inner columns",
];

/// The error of a plan that could not be optimized, in these words if that is why.
pub(in crate::engine) fn named(error: DataFusionError, plan: &LogicalPlan) -> DataFusionError {
    let root = error.find_root();
    let text = root.message();
    let lost = matches!(root, DataFusionError::SchemaError(..))
        || MESSAGES.iter().any(|message| text.contains(message));
    match lost && has_correlated(plan) {
        true if has_list_of_row(plan) => DataFusionError::NotImplemented(WRITE_UNNEST.into()),
        true => DataFusionError::NotImplemented(WRITE.into()),
        false => error,
    }
}

/// Whether a list of the row around is unnested in FROM.
fn has_list_of_row(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let visited = plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Unnest(_)) && !node.all_out_ref_exprs().is_empty();
        Ok(TreeNodeRecursion::Continue)
    });
    visited.is_ok() && found
}

/// Whether a plan has a subquery that uses columns of the query around it, in an expression or behind LATERAL.
fn has_correlated(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let visited = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Subquery(subquery) = node {
            found |= !subquery.outer_ref_columns.is_empty();
        }
        Ok(TreeNodeRecursion::Continue)
    });
    visited.is_ok() && found
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const TABLES: &str = "WITH a(k, v) AS (VALUES (1, 10), (2, 20), (3, 30), (4, NULL), (NULL, 50)), \
         b(k, x) AS (VALUES (1, 5), (1, 7), (2, NULL), (3, 9), (NULL, 11), (5, 1)), c(k) AS (VALUES (1), (3), (7)) ";

    /// DuckDB answers all of these but the first.
    #[test]
    fn what_cannot_be_made_a_join_says_what_to_write() {
        for (condition, words) in [
            (
                "v > (SELECT x FROM b WHERE b.k = a.k)",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "v > (SELECT sum(x) FROM b WHERE b.x < a.v)",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "v > (SELECT max(x) FROM b WHERE b.k = a.k LIMIT 0)",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "v > (SELECT count(*) FROM (SELECT DISTINCT x FROM b WHERE b.k = a.k) t)",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "v > (SELECT max(b.x) OVER (ORDER BY a.v) FROM b LIMIT 1)",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "EXISTS (SELECT 1 FROM b WHERE EXISTS (SELECT 1 FROM c WHERE c.k = a.k))",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "EXISTS (SELECT 1 FROM (SELECT count(*) AS n FROM b WHERE b.k = a.k) AS t, c WHERE n = 0)",
                "write a LEFT JOIN with GROUP BY",
            ),
            (
                "EXISTS (SELECT 1 FROM b WHERE b.k = a.k OFFSET 1)",
                "cannot have a window function, LIMIT or HAVING",
            ),
            (
                "EXISTS (SELECT 1 FROM (SELECT x FROM b WHERE b.k = a.k ORDER BY x LIMIT 1) AS t WHERE x > 5)",
                "cannot have a window function, LIMIT or HAVING",
            ),
            (
                "v > (SELECT x FROM b)",
                "a subquery in brackets gave more than one row",
            ),
            ("v > (SELECT k, x FROM b)", "[NOT] EXISTS (SELECT 1 FROM"),
        ] {
            let error = ask(&format!("{TABLES} SELECT k FROM a WHERE {condition}")).unwrap_err();
            assert!(error.contains(words), "{condition}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    /// DuckDB answers it.
    #[test]
    fn a_lateral_subquery_that_cannot_be_made_a_join_says_what_to_write() {
        let sql = format!(
            "{TABLES} SELECT a.k, t.n FROM a, LATERAL (SELECT count(*) AS n FROM b WHERE b.x < a.v) AS t"
        );
        let error = ask(&sql).unwrap_err();
        assert!(error.contains("write a LEFT JOIN with GROUP BY"), "{error}");
    }

    /// By hand, and as DuckDB does.
    #[test]
    fn what_can_is_answered() {
        for (condition, answer) in [
            ("v > (SELECT max(x) FROM b WHERE b.k = a.k)", "1 3"),
            ("(SELECT count(*) FROM b WHERE b.k = a.k) = 0", "4 NULL"),
            ("EXISTS (SELECT 1 FROM b WHERE b.k = a.k LIMIT 1)", "1 2 3"),
            (
                "EXISTS (SELECT 1 FROM (SELECT x, k FROM b ORDER BY x LIMIT 3) AS t WHERE t.k = a.k)",
                "1",
            ),
            (
                "k IN (SELECT t.k FROM (SELECT x, k FROM b ORDER BY x LIMIT 3) AS t WHERE t.x < a.v)",
                "1",
            ),
        ] {
            let sql = format!("{TABLES} SELECT k FROM a WHERE {condition} ORDER BY k NULLS LAST");
            let found = ask(&sql).unwrap_or_else(|e| panic!("{condition}: {e}"));
            assert_eq!(found.join(" "), answer, "{condition}");
        }
    }

    #[test]
    fn lists_are_unnested_in_the_select_list() {
        const T: &str = "(VALUES (1, [1, 2]), (2, [3])) AS t(x, l)";
        for sql in [
            format!("SELECT t.x, u.v FROM {T}, unnest(t.l) AS u(v)"),
            format!("SELECT x, (SELECT sum(v) FROM unnest(l) AS u(v)) FROM {T}"),
        ] {
            let error = ask(&sql).unwrap_err();
            assert!(
                error.contains("write it in the select list"),
                "{sql}: {error}"
            );
        }
    }
}
