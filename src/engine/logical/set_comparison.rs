//! `x >= ALL (SELECT ..)` and `x > ANY (SELECT ..)` as comparisons with the greatest or the least row.
//!
//! DataFusion 55.2 makes joins of them that visit every pair of rows: 7 s for the steps of a month beside each other. But x is above all rows if it is above the greatest one. `x >= ALL (S)` is
//!
//! ```sql
//! (SELECT count(*) = 0 FROM S) OR x >= (SELECT max(v) FROM S) AND (SELECT CASE WHEN count(*) = count(v) THEN true END FROM S)
//! ```
//!
//! true of no rows at all, and NULL if it would be true but for a row that is NULL. `x > ANY (S)` is `NOT x <= ALL (S)`. A subquery that depends on the row around it stays as it is, for
//! DataFusion makes joins of its aggregates under `=` alone.

use crate::engine::workarounds::aggregates;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::expr::{SetComparison, SetQuantifier};
use datafusion::logical_expr::{
    Expr, LogicalPlanBuilder, Operator, Subquery, binary_expr, lit, not, when,
};
use std::sync::Arc;

/// Such a comparison, the column of whose subquery has a name of its own; None of one that is `= ANY` or `<> ALL`, or that depends on the row around it.
pub(super) fn by_extremes(found: &SetComparison) -> Result<Option<Expr>> {
    let is_any = matches!(found.quantifier, SetQuantifier::Any);
    let operator = match is_any {
        true => found.op.negate(),
        false => Some(found.op),
    };
    let (is_largest, is_least) = match operator {
        Some(Operator::Gt | Operator::GtEq) => (true, false),
        Some(Operator::Lt | Operator::LtEq) => (false, true),
        Some(Operator::Eq) => (true, true),
        _ => return Ok(None),
    };
    let kind = found.subquery.subquery.schema().field(0).data_type();
    let is_ordered = kind.is_numeric() || kind.is_temporal() || kind.is_string();
    let is_fixed = found.subquery.outer_ref_columns.is_empty() && !found.expr.is_volatile();
    let (Some(operator), true) = (operator, is_ordered && is_fixed) else {
        return Ok(None);
    };
    let rows = &found.subquery;
    let (table, field) = rows.subquery.schema().qualified_field(0);
    let row = || Expr::Column((table, field).into());
    let mut functions = [max_udaf(), min_udaf()];
    aggregates::correct(&mut functions);
    let [max, min] = functions;
    let mut all = lit(true);
    for (extreme, is_asked) in [(max, is_largest), (min, is_least)] {
        if is_asked {
            let extreme = of_rows(rows, vec![extreme.call(vec![row()])], |mut found| {
                Ok(found.swap_remove(0))
            })?;
            all = all.and(binary_expr(Expr::clone(&found.expr), operator, extreme));
        }
    }
    if field.is_nullable() {
        let counts = vec![count(lit(1_i64)), count(row())];
        all = all.and(of_rows(rows, counts, |counts| {
            let null = lit(ScalarValue::Boolean(None));
            when(counts[0].clone().eq(counts[1].clone()), lit(true)).otherwise(null)
        })?);
    }
    let none = of_rows(rows, vec![count(lit(1_i64))], |mut found| {
        Ok(found.swap_remove(0).eq(lit(0_i64)))
    })?;
    let all = none.or(all);
    Ok(Some(match is_any {
        true => not(all),
        false => all,
    }))
}

/// A value of aggregates over all rows of a subquery.
fn of_rows(
    rows: &Subquery,
    aggregates: Vec<Expr>,
    value: impl FnOnce(Vec<Expr>) -> Result<Expr>,
) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(rows.subquery.clone());
    let plan = plan.aggregate(Vec::<Expr>::new(), aggregates)?;
    let columns = plan.schema().iter().map(|at| Expr::Column(at.into()));
    let value = value(columns.collect())?.alias("__all");
    let subquery = Arc::new(plan.project([value])?.build()?);
    Ok(Expr::ScalarSubquery(Subquery {
        subquery,
        ..rows.clone()
    }))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn rows_may_depend_on_the_row_they_are_compared_with() {
        const T: &str = "(VALUES ('a', 1), ('a', 2), ('b', 5), ('c', NULL)) AS";
        for (condition, rows) in [
            (
                "v >= ALL (SELECT u.v FROM {T} u(k, v) WHERE u.k = t.k)",
                vec!["a | 2", "b | 5"],
            ),
            (
                "v > ANY (SELECT u.v FROM {T} u(k, v) WHERE u.k = t.k)",
                vec!["a | 2"],
            ),
            (
                "v < ALL (SELECT u.v FROM {T} u(k, v) WHERE u.k > t.k AND u.v IS NOT NULL)",
                vec!["a | 1", "a | 2", "b | 5", "c | NULL"],
            ),
        ] {
            let sql = format!("SELECT k, v FROM {T} t(k, v) WHERE {condition} ORDER BY k, v")
                .replace("{T}", T);
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }

    /// `not_in.rs` has a test of every operator over rows with and without NULLs.
    #[test]
    fn no_pairs_of_rows_are_visited() {
        const T: &str = "(VALUES (1), (2), (NULL)) AS t(v)";
        for (condition, rows) in [
            (
                "v >= ALL (SELECT a FROM (VALUES (1), (2)) AS u(a))",
                vec!["2"],
            ),
            (
                "v < ANY (SELECT a FROM (VALUES (1), (2)) AS u(a))",
                vec!["1"],
            ),
            (
                "v <> ANY (SELECT a FROM (VALUES (1), (1)) AS u(a))",
                vec!["2"],
            ),
            (
                "v = ALL (SELECT a FROM (VALUES (1), (NULL)) AS u(a))",
                vec![],
            ),
            (
                "v > ALL (SELECT a FROM (VALUES (1.5e0), ('NaN'::double)) AS u(a))",
                vec![],
            ),
            (
                "v < ALL (SELECT a FROM (VALUES (1.5e0), ('NaN'::double)) AS u(a))",
                vec!["1"],
            ),
        ] {
            let sql = format!("SELECT v FROM {T} WHERE {condition}");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
            let plan = ask(&format!("EXPLAIN {sql}")).unwrap().join("\n");
            assert!(!plan.contains("NestedLoop"), "{plan}");
        }
        let sql = format!(
            "SELECT v >= ALL (SELECT a FROM (VALUES (2), (NULL)) AS u(a)) FROM {T} ORDER BY v"
        );
        assert_eq!(ask(&sql).unwrap(), ["false", "NULL", "NULL"]);
    }
}
