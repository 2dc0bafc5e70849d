//! Clauses that DataFusion 55.2 passes over without a word, or refuses in words of its insides, are refused with what to write instead.
//!
//! | clause | without this |
//! |---|---|
//! | `TABLESAMPLE`, `FOR SYSTEM_TIME AS OF`, `PARTITION`, `WITH ORDINALITY` behind a table | the whole table, of its newest version |
//! | `PREWHERE`, `CONNECT BY`, `GROUP BY .. WITH ROLLUP`, `* ILIKE` | as if they were not there |
//! | `JOIN` without `ON` | every pair of rows |
//! | `SIMILAR TO` | a regular expression that may match anywhere in the text |
//! | `OVER (w ..)` of a named window | a window without the terms of `w` |
//! | `DISTINCT`, `FILTER`, `OVER`, .. of a scalar function; `f(0.9)(x)` | as if they were not there |
//! | names of arguments behind `LATERAL` | taken by their place |
//! | `FETCH FIRST .. WITH TIES`, `LIMIT n BY`, `COLLATE`, `PIVOT`, `UNPIVOT`, `ASOF JOIN`, `APPLY`, `n'..'` | an error about syntax trees |
//!
//! Hints change no rows and stay.

use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArguments, GroupByExpr, Join, JoinConstraint,
    JoinOperator, LimitClause, Query, Select, SelectItem, TableFactor, Value, ValueWithSpan,
    Visitor, WildcardAdditionalOptions, WindowType,
};
use std::ops::ControlFlow;

/// Refuses such clauses, wherever they stand. `is_scalar` tells of a name in lower case whether it is a function of single rows.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(
    statement: &Statement,
    is_scalar: impl Fn(&str) -> bool,
) -> Result<()> {
    match super::visit::visit(statement, &mut Clauses { is_scalar }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Error::Invalid(why)),
    }
}

const SAMPLE: &str =
    "TABLESAMPLE is not supported; write `WHERE random() < 0.1` for about a tenth of the rows";
const NO_CONDITION: &str = "a JOIN without ON gives every pair of rows; write `ON a.key = b.key`, or CROSS JOIN if that is meant";
const ASOF: &str = "ASOF JOIN is not supported; write a join with `b.time <= a.time`, and keep the last row of each by \
     `QUALIFY row_number() OVER (PARTITION BY a.key ORDER BY b.time DESC) = 1`";
const APPLY: &str =
    "APPLY is not supported; write a JOIN with a subquery that groups by the columns to join on";
const PIVOT: &str = "PIVOT is not supported; write a column for each value: `sum(x) FILTER (WHERE kind = 'read') AS read`";
const UNPIVOT: &str =
    "UNPIVOT is not supported; write `SELECT 'read' AS kind, read AS x .. UNION ALL SELECT ..`";
const LIMIT_BY: &str = "LIMIT n BY is not supported; write `QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= n`";

struct Clauses<F> {
    is_scalar: F,
}

impl<F: Fn(&str) -> bool> Visitor for Clauses<F> {
    type Break = String;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        let limit_by = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit_by, .. }) => !limit_by.is_empty(),
            _ => false,
        };
        if limit_by {
            return refuse(LIMIT_BY);
        }
        match &query.fetch {
            Some(fetch) if fetch.with_ties || fetch.percent => refuse(
                "FETCH FIRST with TIES or PERCENT is not supported; write `QUALIFY rank() OVER (ORDER BY ..) <= n`",
            ),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) =
            &select.group_by;
        if let Some(modifier) = modifiers.first() {
            return refuse(format!(
                "GROUP BY .. {modifier} is not supported; write `GROUP BY ROLLUP (a, b)`, CUBE or GROUPING SETS"
            ));
        }
        if select.prewhere.is_some() {
            return refuse("PREWHERE is not supported; write the condition in WHERE");
        }
        if !select.connect_by.is_empty() {
            return refuse(
                "CONNECT BY is not supported; write `WITH RECURSIVE t AS (.. UNION ALL ..)`",
            );
        }
        for item in &select.projection {
            if let SelectItem::Wildcard(WildcardAdditionalOptions {
                opt_ilike: Some(_), ..
            })
            | SelectItem::QualifiedWildcard(
                _,
                WildcardAdditionalOptions {
                    opt_ilike: Some(_), ..
                },
            ) = item
            {
                return refuse(
                    "* ILIKE is not supported; write the columns, or `* EXCLUDE (a, b)`",
                );
            }
        }
        select
            .from
            .iter()
            .flat_map(|from| &from.joins)
            .try_for_each(join)
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<String> {
        match table {
            TableFactor::Table {
                sample: Some(_), ..
            }
            | TableFactor::Derived {
                sample: Some(_), ..
            } => refuse(SAMPLE),
            TableFactor::Table {
                version: Some(_), ..
            } => refuse(
                "an older version of a table cannot be asked for here; ask it with `iolode sql --version N`",
            ),
            TableFactor::Table { partitions, .. } if !partitions.is_empty() => {
                refuse("PARTITION behind a table is not supported; write a condition on its rows")
            }
            TableFactor::Table {
                with_ordinality: true,
                ..
            } => refuse(
                "WITH ORDINALITY is not supported; number the rows with `row_number() OVER ()`",
            ),
            TableFactor::Function { name, args, .. } if args.iter().any(is_named) => {
                refuse(format!(
                    "arguments of {name} behind LATERAL have no names; write them in their order"
                ))
            }
            TableFactor::Pivot { .. } => refuse(PIVOT),
            TableFactor::Unpivot { .. } => refuse(UNPIVOT),
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => table_with_joins.joins.iter().try_for_each(join),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        match expr {
            Expr::Function(function) => self.function(function),
            Expr::Collate { .. } => refuse(
                "COLLATE is not supported, texts are compared byte by byte; compare `lower(a)` where case does not matter",
            ),
            Expr::SimilarTo { .. } => refuse(
                "SIMILAR TO is not supported; write LIKE, or `regexp_like(a, '^(pattern)$')` with a regular expression",
            ),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<String> {
        match &value.value {
            Value::NationalStringLiteral(text) => {
                refuse(format!("n'{text}' is not supported; write '{text}'"))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

impl<F: Fn(&str) -> bool> Clauses<F> {
    fn function(&self, function: &Function) -> ControlFlow<String> {
        let name = function.name.to_string();
        if function.parameters != FunctionArguments::None {
            return refuse(format!(
                "{name}(..)(..) is not supported; a function has one list of arguments"
            ));
        }
        if let Some(WindowType::WindowSpec(window)) = &function.over
            && let Some(named) = &window.window_name
        {
            return refuse(format!(
                "OVER ({named} ..) is not supported; write `OVER {named}`, or the whole window in the brackets"
            ));
        }
        if !(self.is_scalar)(&name.to_lowercase()) {
            return ControlFlow::Continue(());
        }
        let clause = match (&function.args, function) {
            (FunctionArguments::List(list), _) if list.duplicate_treatment.is_some() => "DISTINCT",
            (FunctionArguments::List(list), _) if !list.clauses.is_empty() => "ORDER BY",
            (_, function) if function.filter.is_some() => "FILTER",
            (_, function) if function.over.is_some() => "OVER",
            (_, function) if function.null_treatment.is_some() => "IGNORE NULLS",
            (_, function) if !function.within_group.is_empty() => "WITHIN GROUP",
            _ => return ControlFlow::Continue(()),
        };
        refuse(format!(
            "{name} is a function of single rows and takes no {clause}; aggregates such as max(..) do"
        ))
    }
}

fn refuse(why: impl Into<String>) -> ControlFlow<String> {
    ControlFlow::Break(why.into())
}

fn is_named(arg: &FunctionArg) -> bool {
    !matches!(arg, FunctionArg::Unnamed(_))
}

fn join(join: &Join) -> ControlFlow<String> {
    use JoinOperator as J;
    match &join.join_operator {
        J::AsOf { .. } => refuse(ASOF),
        J::CrossApply | J::OuterApply => refuse(APPLY),
        J::Join(constraint)
        | J::Inner(constraint)
        | J::Left(constraint)
        | J::LeftOuter(constraint)
        | J::Right(constraint)
        | J::RightOuter(constraint)
        | J::FullOuter(constraint)
            if *constraint == JoinConstraint::None =>
        {
            refuse(NO_CONDITION)
        }
        _ => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const T: &str = "WITH t AS (SELECT 1 AS v UNION ALL SELECT 2) ";

    #[test]
    fn what_would_be_passed_over_is_refused() {
        for (sql, words) in [
            (
                "SELECT v FROM t TABLESAMPLE BERNOULLI (10)",
                "random() < 0.1",
            ),
            ("SELECT v FROM t TABLESAMPLE (10 PERCENT)", "random() < 0.1"),
            (
                "SELECT v FROM (SELECT * FROM t) AS s TABLESAMPLE SYSTEM (1)",
                "random() < 0.1",
            ),
            (
                "SELECT * FROM generate_series(1, 3) WITH ORDINALITY",
                "row_number()",
            ),
            ("SELECT v FROM t PREWHERE v > 5", "WHERE"),
            (
                "SELECT v FROM t START WITH v = 2 CONNECT BY PRIOR v = v",
                "WITH RECURSIVE",
            ),
            (
                "SELECT v, count(*) FROM t GROUP BY v WITH ROLLUP",
                "GROUP BY .. WITH ROLLUP is not",
            ),
            ("SELECT v, count(*) FROM t GROUP BY v WITH CUBE", "CUBE"),
            ("SELECT v, count(*) FROM t GROUP BY v WITH TOTALS", "ROLLUP"),
            (
                "SELECT v, count(*) FROM t GROUP BY ALL WITH ROLLUP",
                "ROLLUP",
            ),
            ("SELECT * ILIKE 'w%' FROM t", "EXCLUDE"),
            ("SELECT count(*) FROM t AS a JOIN t AS b", "CROSS JOIN"),
            (
                "SELECT count(*) FROM t AS a INNER JOIN t AS b",
                "CROSS JOIN",
            ),
            ("SELECT count(*) FROM t AS a LEFT JOIN t AS b", "CROSS JOIN"),
            (
                "SELECT count(*) FROM (t AS a JOIN t AS b) CROSS JOIN t AS c",
                "CROSS JOIN",
            ),
            (
                "SELECT 1 WHERE EXISTS (SELECT 1 FROM t AS a FULL JOIN t AS b)",
                "CROSS JOIN",
            ),
            (
                "SELECT sum(v) OVER (w) FROM t WINDOW w AS (ORDER BY v)",
                "write `OVER w`",
            ),
            (
                "SELECT sum(v) OVER (w ORDER BY v) FROM t WINDOW w AS (PARTITION BY v)",
                "write `OVER w`",
            ),
            (
                "SELECT abs(DISTINCT v) FROM t",
                "abs is a function of single rows and takes no DISTINCT",
            ),
            ("SELECT abs(v) FILTER (WHERE v = 3) FROM t", "FILTER"),
            ("SELECT ABS(v) OVER (PARTITION BY v) FROM t", "OVER"),
            ("SELECT abs(v) IGNORE NULLS FROM t", "IGNORE NULLS"),
            ("SELECT abs(v ORDER BY v) FROM t", "ORDER BY"),
            (
                "SELECT abs(v) WITHIN GROUP (ORDER BY v) FROM t",
                "WITHIN GROUP",
            ),
            ("SELECT max(3)(v) FROM t", "one list of arguments"),
            (
                "SELECT * FROM LATERAL generate_series(stop => 3, start => 1)",
                "in their order",
            ),
            (
                "CREATE VIEW w AS SELECT v FROM (SELECT 1 AS v) AS t PREWHERE v > 5",
                "WHERE",
            ),
            ("EXPLAIN SELECT v FROM t PREWHERE v > 5", "WHERE"),
        ] {
            let sql = match sql.split_once("SELECT ") {
                // In front of the statement's own SELECT.
                Some((before, select)) => format!("{before}{T}SELECT {select}"),
                None => sql.to_string(),
            };
            let error = ask(&sql).unwrap_err();
            assert!(error.contains(words), "{sql}: {error}");
        }
    }

    #[test]
    fn what_is_not_supported_says_what_to_write() {
        for (sql, words) in [
            (
                "SELECT v FROM (SELECT 1 AS v) AS t ORDER BY v FETCH FIRST 1 ROWS WITH TIES",
                "QUALIFY rank()",
            ),
            ("SELECT v FROM (SELECT 1 AS v) AS t LIMIT 1 BY v", "QUALIFY"),
            ("SELECT 'a' COLLATE nocase = 'A'", "lower(a)"),
            ("SELECT 'abc' SIMILAR TO 'b'", "regexp_like"),
            (
                "SELECT * FROM (VALUES (1, 2)) AS t(a, b) PIVOT (sum(a) FOR b IN (1, 2))",
                "FILTER",
            ),
            (
                "SELECT * FROM (VALUES (1, 2)) AS t(a, b) UNPIVOT (x FOR y IN (a, b))",
                "UNION ALL",
            ),
            (
                "SELECT * FROM (VALUES (1)) AS t(a) CROSS APPLY (SELECT a + 1 AS b) AS s",
                "JOIN",
            ),
            (
                "SELECT * FROM (VALUES (1)) AS a(t) ASOF JOIN (VALUES (1)) AS b(t) MATCH_CONDITION (a.t >= b.t) ON a.t = b.t",
                "QUALIFY",
            ),
            ("SELECT n'a'", "write 'a'"),
        ] {
            let error = ask(sql).unwrap_err();
            assert!(error.contains(words), "{sql}: {error}");
            assert!(error.len() < 200, "{sql}: {error}");
        }
    }

    #[test]
    fn what_looks_like_it_is_answered() {
        for (sql, answer) in [
            (
                "SELECT v, sum(v) OVER w FROM t WINDOW w AS (ORDER BY v) ORDER BY v",
                vec!["1 | 1", "2 | 3"],
            ),
            (
                "SELECT count(*) FILTER (WHERE abs(v) > 1) FROM t",
                vec!["1"],
            ),
            ("SELECT sum(abs(v)) OVER () FROM t LIMIT 1", vec!["3"]),
            ("SELECT count(DISTINCT abs(v)) FROM t", vec!["2"]),
            ("SELECT count(*) FROM t AS a CROSS JOIN t AS b", vec!["4"]),
            (
                "SELECT count(*) FROM t AS a JOIN t AS b USING (v)",
                vec!["2"],
            ),
            ("SELECT count(*) FROM t AS a NATURAL JOIN t AS b", vec!["2"]),
            (
                "SELECT count(*) FROM t GROUP BY ROLLUP (v)",
                vec!["1", "1", "2"],
            ),
        ] {
            let mut rows = ask(&format!("{T}{sql}")).unwrap();
            if sql.contains("ROLLUP") {
                rows.sort();
            }
            assert_eq!(rows, answer, "{sql}");
        }
    }
}
